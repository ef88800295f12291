"""``posegen compose``: generate motion for a text, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.errors import PosegenError, UsageError

if TYPE_CHECKING:
    from posegen.composition import Composition


_ARRAYS = ".npz"
_MOST_SECONDS = 400.0


@click.command(
    epilog=example(
        'posegen compose "a person walks forward slowly, then sits down and waves with the left hand" -o out.gif',
        'posegen compose "a man jumps twice, then turns around" --seed 3 -o out.npz',
        'posegen compose "two people shake hands" -o out.gif',
    )
)
@click.argument("text", metavar="TEXT")
@click.option(
    "-o",
    "out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Output file: .gif (animation), .png (poses over time) or .npz (arrays).",
)
@click.option(
    "--seed", type=WHOLE, metavar="S", default=0, show_default=True, help="Random seed for what the text leaves open."
)
@click.option("--seconds", type=float, metavar="T", help="Duration in seconds.  [default: the natural duration of the actions]")
@click.option("--strict", is_flag=True, help="Fail if any word is not understood.")
@json_option
@quiet_option
def compose(text: str, out: Path, seed: int, seconds: float | None, strict: bool, as_json: bool, quiet: bool) -> None:
    """Generate the motion described by TEXT, which uses the words of captions, and report words that were not understood."""
    from posegen.captions.parser import explain_unknown, parse_caption
    from posegen.library.load import load_library
    from posegen.viewing.render import check_path

    if seconds is not None and not 0 < seconds <= _MOST_SECONDS:
        msg = f"--seconds must be above 0 and at most {_MOST_SECONDS:g} (got {seconds:g})"
        raise UsageError(msg)
    if out.suffix.lower() != _ARRAYS:
        check_path(out)
    if strict:
        unclear = explain_unknown(parse_caption(text, load_library()), load_library())
        if unclear:
            raise UsageError("\n".join(unclear))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.composition import compose as make

    made = make(text, seed=seed, seconds=seconds)
    _write(made, out)
    if as_json:
        segments = [
            {"actor": number} | {key: segment[key] for key in ("action", "start", "end", "text")}
            for number, actor in enumerate(made.row["actors"])
            for segment in actor["segments"]
        ]
        report = {"not_understood": list(made.not_understood), "notes": list(made.notes)}
        print_json({"path": str(out), "frames": made.joints.shape[1], "fps": made.fps, "segments": segments, **report})
        return
    for line in made.notes:
        note(line, quiet=False)
    note(f"wrote {out}", quiet=quiet)


def _write(made: Composition, out: Path) -> None:
    if out.suffix.lower() == _ARRAYS:
        try:
            _write_arrays(made, out)
        except OSError as error:
            msg = f"{out}: cannot be written ({error.strerror}). Choose a writable file with -o"
            raise PosegenError(msg) from error
        return
    from dataclasses import replace

    from posegen.viewing.clip import clip_of_sequence
    from posegen.viewing.render import render_all

    row = made.row | {"captions": made.row["captions"][:1]}
    clip = clip_of_sequence(made.joints, row, made.fps, action=made.action, contact=made.contact, names=made.names)
    render_all([replace(clip, title="composed")], out)


def _write_arrays(made: Composition, out: Path) -> None:
    import numpy as np

    from posegen.skeleton import CONTACTS, JOINTS, PARTS

    segments = [(number, segment) for number, actor in enumerate(made.row["actors"]) for segment in actor["segments"]]
    with out.open("wb") as file:
        np.savez_compressed(
            file,
            joints=made.joints,
            action=made.action,
            contact=made.contact,
            fps=made.fps,
            caption=made.text,
            joint_names=np.array(JOINTS),
            part_names=np.array(PARTS),
            contact_names=np.array(CONTACTS),
            action_names=np.array(made.names),
            segment_actor=np.array([number for number, _ in segments]),
            segment_action=np.array([segment["action"] for _, segment in segments]),
            segment_text=np.array([segment["text"] for _, segment in segments]),
            segment_start=np.array([segment["start"] for _, segment in segments]),
            segment_end=np.array([segment["end"] for _, segment in segments]),
        )

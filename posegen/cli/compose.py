"""``posegen compose``: generate motion for a text, without a model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from posegen.cli.options import Number, Output, command, motion_file_option, write_motion
from posegen.foundations.constants import MAX_SEED
from posegen.foundations.errors import UsageError


@command(
    'posegen compose "a person walks forward slowly, then sits down and waves with the left hand" -o out.gif',
    'posegen compose "a man jumps twice, then turns around" --seed 3 -o out.npz',
    'posegen compose "two people shake hands" -o out.gif',
)
@click.argument("text", metavar="TEXT")
@motion_file_option
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="S", default=0, help="Seed of details that the text omits.")
@click.option(
    "--seconds",
    type=Number(0, 400, min_open=True),
    metavar="T",
    help="Duration in seconds.  [default: the natural duration of the actions]",
)
@click.option("--strict", is_flag=True, help="Fail if any word is not understood.")
def compose(text: str, out: Path, seed: int, seconds: float | None, strict: bool, output: Output) -> None:
    """Generate the motion described by TEXT, which uses the words of captions, and report words that were not understood."""
    from posegen.captions.parser import explain_unknown, parse_caption, require_readable
    from posegen.foundations.skeleton import CONTACTS, PARTS
    from posegen.library.load import load_library

    require_readable(text)
    if strict:
        unclear = explain_unknown(parse_caption(text, load_library()), load_library())
        if unclear:
            raise UsageError("\n".join(unclear))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.synthesis.composition import compose as make
    from posegen.viewing.clip import clip_of_sequence
    from posegen.viewing.render import render_all

    made = make(text, seed=seed, seconds=seconds)
    segments = [
        {"actor": number} | {key: segment[key] for key in ("action", "start", "end", "text")}
        for number, actor in enumerate(made.row["actors"])
        for segment in actor["segments"]
    ]
    arrays = {
        "joints": made.joints,
        "action": made.action,
        "contact": made.contact,
        "fps": made.fps,
        "caption": made.text,
        "part_names": PARTS,
        "contact_names": CONTACTS,
        "action_names": made.names,
        **{f"segment_{key}": [segment[key] for segment in segments] for key in ("actor", "action", "text", "start", "end")},
    }
    row = made.row | {"captions": made.row["captions"][:1]}
    clip = clip_of_sequence(made.joints, row, made.fps, action=made.action, contact=made.contact, names=made.names)
    write_motion(out, arrays, partial(render_all, [replace(clip, title="composed")]))
    report = {"not_understood": made.not_understood, "notes": made.notes}
    if not output.as_json:
        for line in made.notes:
            output.warn(line)
    document = {"path": out, "frames": made.joints.shape[1], "fps": made.fps, "segments": segments, **report}
    output.summary(document, f"Wrote {out}.")

"""``posegen compose`` and ``posegen animate``: generate motion for texts, without a model and with a trained one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import PATH, WHOLE, Output, example, file_option, output_options
from posegen.errors import UsageError
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.composition import Composition
    from posegen.training.animation.animate import Animation


_ARRAYS = ".npz"
_SUFFIXES = (".gif", ".png", _ARRAYS)
_MOST_SECONDS = 400.0
_MOST_GUIDANCE = 20.0

_out_option = file_option("Output file: .gif (animation), .png (poses over time) or .npz (arrays).")


@click.command(
    epilog=example(
        'posegen compose "a person walks forward slowly, then sits down and waves with the left hand" -o out.gif',
        'posegen compose "a man jumps twice, then turns around" --seed 3 -o out.npz',
        'posegen compose "two people shake hands" -o out.gif',
    )
)
@click.argument("text", metavar="TEXT")
@_out_option
@click.option("--seed", type=WHOLE, metavar="S", default=0, help="Random seed of what the text leaves open.")
@click.option("--seconds", type=float, metavar="T", help="Duration in seconds.  [default: the natural duration of the actions]")
@click.option("--strict", is_flag=True, help="Fail if any word is not understood.")
@output_options
def compose(text: str, out: Path, seed: int, seconds: float | None, strict: bool, output: Output) -> None:
    """Generate the motion described by TEXT, which uses the words of captions, and report words that were not understood."""
    from posegen.captions.parser import explain_unknown, parse_caption
    from posegen.library.load import load_library

    if seconds is not None and not 0 < seconds <= _MOST_SECONDS:
        msg = f"--seconds must be above 0 and at most {_MOST_SECONDS:g} (got {seconds:g})"
        raise UsageError(msg)
    _check_path(out)
    if strict:
        unclear = explain_unknown(parse_caption(text, load_library()), load_library())
        if unclear:
            raise UsageError("\n".join(unclear))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.composition import compose as make

    made = make(text, seed=seed, seconds=seconds)
    segments = [
        {"actor": number} | {key: segment[key] for key in ("action", "start", "end", "text")}
        for number, actor in enumerate(made.row["actors"])
        for segment in actor["segments"]
    ]
    if out.suffix.lower() == _ARRAYS:
        _write_arrays(out, _composed_arrays(made, segments))
    else:
        _draw_composition(made, out)
    report = {"not_understood": made.not_understood, "notes": made.notes}
    if not output.as_json:
        for line in made.notes:
            click.echo(printable(line), err=True)
    document = {"path": out, "frames": made.joints.shape[1], "fps": made.fps, "segments": segments, **report}
    output.summary(document, f"Wrote {out}.")


@click.command(
    epilog=example(
        'posegen animate runs/motion-default-0-quick "a person walks forward, then waves" -o out.gif',
        'posegen animate runs/motion-default-0-quick "a man walks" "a man sits down" --seed 3 -o out.npz',
    )
)
@click.argument("run", type=PATH)
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@_out_option
@click.option("--seed", type=WHOLE, metavar="S", default=0, help="Random seed.")
@click.option("--whole", is_flag=True, help="Do not split a text that describes several actions one after another.")
@click.option("--seconds", type=float, metavar="T", help="Duration of the motion of each text.  [default: that of a clip]")
@click.option("--guidance", type=float, metavar="G", help="Classifier-free guidance scale (1 = off).  [default: 4]")
@click.option("--encoder", metavar="NAME|PATH", help="Text encoder of the training, if its name does not suffice to find it.")
@output_options
def animate(
    run: Path,
    texts: tuple[str, ...],
    out: Path,
    seed: int,
    guidance: float | None,
    encoder: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Generate motion from TEXT with the trained model of RUN. Several texts give one continuous motion.

    A text that describes several actions one after another, such as "walks, then waves", is split into one text per action.

    RUN is a run of `posegen train --task motion`. The same texts, seed and options give the same motion.
    """
    _check_path(out)
    if not 0 <= seed < 2**63:
        msg = f"--seed must be from 0 to 2^63 - 1 (got {seed})"
        raise UsageError(msg)
    if guidance is not None and not 0 <= guidance <= _MOST_GUIDANCE:
        msg = f"--guidance must be from 0 to {_MOST_GUIDANCE:g} (got {guidance:g})"
        raise UsageError(msg)
    # Imported after the checks, since torch takes seconds to load.
    from posegen.training.animation.animate import GUIDANCE, load_generator, load_text_encoder
    from posegen.training.animation.animate import animate as make

    trained = load_generator(run)
    scale = GUIDANCE if guidance is None else guidance
    made = make(trained, load_text_encoder(trained, encoder), texts, seed=seed, guidance=scale, **options)
    if out.suffix.lower() == _ARRAYS:
        _write_arrays(out, _animated_arrays(made))
    else:
        from posegen.pipeline.run import draw_animation

        draw_animation(made, out)
    frames = len(made.clip.joints)
    parts = [
        {"text": text, "start": start, "end": end} for text, start, end in zip(made.texts, made.starts, made.ends, strict=True)
    ]
    document = {"path": out, "frames": frames, "fps": made.fps, "seed": seed, "texts": parts}
    output.summary(document, f"Wrote {out}: {frames / made.fps:.1f} s.")


def _check_path(out: Path) -> None:
    """Raise UsageError if the output cannot be written, before anything is computed."""
    from posegen.viewing.render import check_path

    if out.suffix.lower() not in _SUFFIXES:
        msg = f"cannot write '{out}': the name must end in .gif, .png or .npz"
        raise UsageError(msg)
    if out.suffix.lower() != _ARRAYS:
        check_path(out)
    elif not out.parent.is_dir():
        msg = f"cannot write '{out}': the folder '{out.parent}' does not exist; create it first"
        raise UsageError(msg)


def _write_arrays(out: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    from posegen.skeleton import JOINTS

    with out.open("wb") as file:  # NumPy would add .npz to a name such as out.NPZ
        np.savez_compressed(file, joint_names=np.array(JOINTS), **arrays)


def _composed_arrays(made: Composition, segments: list[dict[str, Any]]) -> dict[str, Any]:
    from posegen.skeleton import CONTACTS, PARTS

    return {
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


def _animated_arrays(made: Animation) -> dict[str, Any]:
    from posegen.skeleton import CONTACTS

    return {
        "joints": made.clip.joints,
        "contact": made.clip.contact,
        "fps": made.fps,
        "contact_names": CONTACTS[: made.clip.contact.shape[1]],
        "texts": made.texts,
        "text_start": made.starts,
        "text_end": made.ends,
    }


def _draw_composition(made: Composition, out: Path) -> None:
    from dataclasses import replace

    from posegen.viewing.clip import clip_of_sequence
    from posegen.viewing.render import render_all

    row = made.row | {"captions": made.row["captions"][:1]}
    clip = clip_of_sequence(made.joints, row, made.fps, action=made.action, contact=made.contact, names=made.names)
    render_all([replace(clip, title="composed")], out)

"""``posegen compose`` and ``posegen animate``: motion for texts, without and with a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from posegen.cli.options import PATH, Number, Output, command, motion_file_option, write_motion
from posegen.foundations.constants import MAX_SEED

approximate_option = click.option(
    "--approximate",
    "approximated",
    is_flag=True,
    help="Replace unknown actions by the nearest known ones, and report these (extra embed).",
)


def _approximate(texts: Sequence[str], *, approximated: bool) -> tuple[tuple[str, ...], list[str]]:
    """Return texts without unknown actions, and a message for each replaced one; the texts themselves without --approximate."""
    if not approximated:
        return tuple(texts), []
    from posegen.embedding.approximation import approximate
    from posegen.library.load import load_library

    replaced = approximate(texts, load_library())
    return tuple(text for text, _ in replaced), [line for _, lines in replaced for line in lines]


@command(
    'posegen compose "a person walks forward slowly, then sits down and waves with the left hand" -o out.gif',
    'posegen compose "a man jumps twice, then turns around" --seed 3 -o out.npz',
    'posegen compose "two people shake hands" -o out.gif',
)
@click.argument("text", metavar="TEXT")
@motion_file_option
@approximate_option
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="S", default=0, help="Seed of details that the text omits.")
@click.option(
    "--seconds",
    type=Number(0, 400, min_open=True),
    metavar="T",
    help="Duration in seconds.  [default: the natural duration of the actions]",
)
def compose(text: str, out: Path, seed: int, seconds: float | None, output: Output, *, approximated: bool) -> None:
    """Generate the motion described by TEXT, which uses the words of captions, and report words that were not understood."""
    from posegen.captions.lexicon import require_readable
    from posegen.foundations.skeleton import CONTACTS, PARTS

    require_readable(text)
    (text,), notes = _approximate([text], approximated=approximated)
    # Imported after the checks, because kernels take a moment to load.
    from posegen.synthesis.composition import compose as make
    from posegen.viewing.clip import clip_of_sequence
    from posegen.viewing.render import render

    made = make(text, seed=seed, seconds=seconds)
    segments = [
        {"actor": number} | {key: segment[key] for key in ("action", "start", "end", "text")}
        for number, actor in enumerate(made.row["actors"])
        for segment in actor["segments"]
    ]
    arrays = {name: getattr(made, name) for name in ("joints", "action", "contact", "fps")} | {
        "caption": made.text,
        "part_names": PARTS,
        "contact_names": CONTACTS,
        "action_names": made.names,
        **{f"segment_{key}": [segment[key] for segment in segments] for key in ("actor", "action", "text", "start", "end")},
    }
    row = made.row | {"captions": made.row["captions"][:1]}
    clip = clip_of_sequence(made.joints, row, made.fps, action=made.action, contact=made.contact, names=made.names)
    write_motion(out, arrays, partial(render, replace(clip, title="composed")))
    report = {"not_understood": made.not_understood, "notes": [*notes, *made.notes]}
    if not output.as_json:
        for line in report["notes"]:
            output.warn(line)
    document = {"path": out, "frames": made.joints.shape[1], "fps": made.fps, "segments": segments, **report}
    output.summary(document, f"Wrote {out}.")


@command(
    'posegen animate runs/motion-default-0-quick "a person walks forward, then waves" -o out.gif',
    'posegen animate runs/motion-default-0-quick "a man walks" "a man sits down" --seed 3 -o out.npz',
)
@click.argument("run", type=PATH)
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@motion_file_option
@approximate_option
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="S", default=0, help="Random seed.")
@click.option("--whole", is_flag=True, help="Do not split a text that describes several actions one after another.")
@click.option("--seconds", type=float, metavar="T", help="Duration of the motion of each text.  [default: that of a clip]")
@click.option("--guidance", type=Number(0, 20), metavar="G", help="Classifier-free guidance scale (1 = off).  [default: 4]")
@click.option("--encoder", metavar="NAME|PATH", help="Path of the text encoder used in training, if its name finds none.")
def animate(
    run: Path,
    texts: tuple[str, ...],
    out: Path,
    guidance: float | None,
    encoder: str | None,
    output: Output,
    *,
    approximated: bool,
    **options: Any,
) -> None:
    """Generate motion from TEXT with the trained model of RUN. Several texts give one continuous motion.

    A text that describes several actions one after another, such as "walks, then waves", is split into one text per action.

    RUN is a run of `posegen train --task motion`. If it was trained on scenes of several people, such as those of the config
    pairs, it generates several. The same texts, seed and options give the same motion.
    """
    import numpy as np

    from posegen.captions.lexicon import require_readable, unknown_words
    from posegen.foundations.skeleton import CONTACTS
    from posegen.library.load import load_library
    from posegen.pipeline.stages import draw_animation
    from posegen.training.animate import GUIDANCE, load_text_encoder
    from posegen.training.animate import animate as make
    from posegen.training.trained_models import load_model

    for text in texts:
        require_readable(text)
    texts, notes = _approximate(texts, approximated=approximated)
    for line in notes:
        output.warn(line)
    trained = load_model(run, "generates_motion")
    unknown = unknown_words(" ".join(texts), load_library())
    if unknown:
        output.note(f"not in any caption that posegen writes: {', '.join(unknown)}; the motion may not show what they mean")
    scale = GUIDANCE if guidance is None else guidance
    made = make(trained, load_text_encoder(trained, encoder), texts, guidance=scale, **options)
    people, frames = len(made.clips), len(made.clips[0].joints)
    arrays = {name: np.stack([getattr(clip, name) for clip in made.clips]) for name in ("joints", "contact")}
    arrays = {name: values[0] if people == 1 else values for name, values in arrays.items()}
    points = CONTACTS[: arrays["contact"].shape[-1]]
    texts_at = {"texts": made.texts, "text_start": made.starts, "text_end": made.ends}
    write_motion(out, arrays | texts_at | {"fps": made.fps, "contact_names": points}, partial(draw_animation, made))
    parts = [dict(zip(("text", "start", "end"), part, strict=True)) for part in zip(*texts_at.values(), strict=True)]
    document = {"path": out, "people": people, "frames": frames, "fps": made.fps, "seed": options["seed"]}
    document |= {"texts": parts, "unknown_words": unknown}
    several = f", {people} people" if people > 1 else ""
    output.summary(document, f"Wrote {out}: {frames / made.fps:.1f} s{several}.")

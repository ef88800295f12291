"""``posegen animate``: generate motion for texts with a trained model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from posegen.cli.options import PATH, Number, Output, command, motion_file_option, write_motion
from posegen.foundations.constants import MAX_SEED


@command(
    'posegen animate runs/motion-default-0-quick "a person walks forward, then waves" -o out.gif',
    'posegen animate runs/motion-default-0-quick "a man walks" "a man sits down" --seed 3 -o out.npz',
)
@click.argument("run", type=PATH)
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@motion_file_option
@click.option("--seed", type=click.IntRange(0, MAX_SEED), metavar="S", default=0, help="Random seed.")
@click.option("--whole", is_flag=True, help="Do not split a text that describes several actions one after another.")
@click.option("--seconds", type=float, metavar="T", help="Duration of the motion of each text.  [default: that of a clip]")
@click.option("--guidance", type=Number(0, 20), metavar="G", help="Classifier-free guidance scale (1 = off).  [default: 4]")
@click.option("--encoder", metavar="NAME|PATH", help="Path of the text encoder used in training, if its name finds none.")
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

    RUN is a run of `posegen train --task motion`. If it was trained on scenes of several people, such as those of the config
    pairs, it generates several. The same texts, seed and options give the same motion.
    """
    import numpy as np

    from posegen.captions.parser import require_readable, unknown_words
    from posegen.foundations.skeleton import CONTACTS
    from posegen.library.load import load_library
    from posegen.pipeline.stages import draw_animation
    from posegen.training.animation.animate import GUIDANCE, load_text_encoder
    from posegen.training.animation.animate import animate as make
    from posegen.training.trained_models import load_model

    for text in texts:
        require_readable(text)
    trained = load_model(run, "generates_motion")
    unknown = unknown_words(" ".join(texts), load_library())
    if unknown:
        output.note(f"not in any caption that posegen writes: {', '.join(unknown)}; the motion may not show what they mean")
    scale = GUIDANCE if guidance is None else guidance
    made = make(trained, load_text_encoder(trained, encoder), texts, seed=seed, guidance=scale, **options)
    joints, contact = (np.stack([getattr(clip, name) for clip in made.clips]) for name in ("joints", "contact"))
    people, frames = joints.shape[:2]
    arrays = {
        "joints": joints[0] if people == 1 else joints,
        "contact": contact[0] if people == 1 else contact,
        "fps": made.fps,
        "contact_names": CONTACTS[: contact.shape[2]],
        "texts": made.texts,
        "text_start": made.starts,
        "text_end": made.ends,
    }
    write_motion(out, arrays, partial(draw_animation, made))
    parts = [
        {"text": text, "start": start, "end": end} for text, start, end in zip(made.texts, made.starts, made.ends, strict=True)
    ]
    document = {
        "path": out,
        "people": people,
        "frames": frames,
        "fps": made.fps,
        "seed": seed,
        "texts": parts,
        "unknown_words": unknown,
    }
    several = f", {people} people" if people > 1 else ""
    output.summary(document, f"Wrote {out}: {frames / made.fps:.1f} s{several}.")

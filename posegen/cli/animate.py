"""``posegen animate``: generate motion from texts with a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option
from posegen.errors import UsageError

if TYPE_CHECKING:
    from posegen.training.animation.animate import Animation


_ARRAYS = ".npz"
_PICTURES = (".gif", ".png")
_MOST_TEXTS = 100
_MOST_GUIDANCE = 20.0


@click.command(
    epilog=example(
        'posegen animate runs/motion-default-0-quick "a person walks forward, then waves" -o out.gif',
        'posegen animate runs/motion-default-0-quick "a man walks" "a man sits down" --seed 3 -o out.npz',
    )
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@click.option(
    "-o",
    "out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="A .gif (animation), .png (poses over time) or .npz (arrays).",
)
@click.option("--seed", type=WHOLE, metavar="S", default=0, show_default=True, help="Random seed.")
@click.option("--whole", is_flag=True, help="Do not split a text that describes several actions one after another.")
@click.option("--seconds", type=float, metavar="T", help="Duration of the motion of each text.  [default: that of a clip]")
@click.option(
    "--guidance",
    type=float,
    metavar="G",
    help="Classifier-free guidance scale (1 = off).  [default: 4]",
)
@click.option("--encoder", metavar="NAME|PATH", help="Text encoder of the training, if it is not found by its name.")
@json_option
@quiet_option
def animate(
    run: Path,
    texts: tuple[str, ...],
    out: Path,
    seed: int,
    whole: bool,
    seconds: float | None,
    guidance: float | None,
    encoder: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Generate motion from TEXT with the trained model of RUN. Several texts give one continuous motion.

    A text that describes several actions one after another, such as "walks, then waves", is split into one text per action.

    RUN is a run of `posegen train --task motion`. The same texts, seed and options give the same motion.
    """
    _check(texts, out, seed, guidance)
    # Imported after the checks, since torch takes seconds to load.
    from posegen.training.animation.animate import GUIDANCE, load_generator, load_text_encoder
    from posegen.training.animation.animate import animate as make

    trained = load_generator(run)
    scale = GUIDANCE if guidance is None else guidance
    made = make(trained, load_text_encoder(trained, encoder), texts, seconds=seconds, seed=seed, guidance=scale, whole=whole)
    _write(made, out)
    if as_json:
        parts = [
            {"text": text, "start": start, "end": end}
            for text, start, end in zip(made.texts, made.starts, made.ends, strict=True)
        ]
        print_json({"path": str(out), "frames": len(made.clip.joints), "fps": made.fps, "seed": seed, "texts": parts})
        return
    note(f"wrote {out}: {len(made.clip.joints) / made.fps:.1f} s", quiet=quiet)


def _check(texts: tuple[str, ...], out: Path, seed: int, guidance: float | None) -> None:
    """Raise UsageError for an invalid argument, before the model is loaded."""
    from posegen.viewing.render import check_path

    if out.suffix.lower() != _ARRAYS:
        if out.suffix.lower() not in _PICTURES:
            msg = f"cannot write '{out}': the name must end in .gif, .png or .npz"
            raise UsageError(msg)
        check_path(out)
    elif not out.parent.is_dir():
        msg = f"cannot write '{out}': the folder '{out.parent}' does not exist; create it first"
        raise UsageError(msg)
    if len(texts) > _MOST_TEXTS:
        msg = f"at most {_MOST_TEXTS} texts are allowed (got {len(texts)})"
        raise UsageError(msg)
    if not 0 <= seed < 2**63:
        msg = f"--seed must be from 0 to 2^63 - 1 (got {seed})"
        raise UsageError(msg)
    if guidance is not None and not 0 <= guidance <= _MOST_GUIDANCE:
        msg = f"--guidance must be from 0 to {_MOST_GUIDANCE:g} (got {guidance:g})"
        raise UsageError(msg)


def _write(made: Animation, out: Path) -> None:
    import numpy as np

    from posegen.skeleton import CONTACTS, JOINTS

    figure = made.clip
    if out.suffix.lower() == _ARRAYS:
        with out.open("wb") as file:
            np.savez_compressed(
                file,
                joints=figure.joints,
                contact=figure.contact,
                fps=made.fps,
                joint_names=np.array(JOINTS),
                contact_names=np.array(CONTACTS[: figure.contact.shape[1]]),
                texts=np.array(made.texts),
                text_start=np.array(made.starts),
                text_end=np.array(made.ends),
            )
        return
    from posegen.pipeline.results import draw_animation

    draw_animation(made, out)

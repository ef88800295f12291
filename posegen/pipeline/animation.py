"""The end of the road where a model makes motion: an animation of some texts, and beside it of what model and texts it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError

if TYPE_CHECKING:
    from posegen.training.animation.animate import Animation

__all__ = ["animated", "draw"]


def animated(run: Path, texts: tuple[str, ...], out: Path, say: Callable[[str], None]) -> tuple[bool, str]:
    """Have a trained model make the motion of texts, or find that it has.

    Parameters
    ----------
    run : Path
        Of the task motion.
    texts : tuple of str
        They follow one another.
    out : Path
        A .gif; the document beside it has its name and ends in .json.
    say : callable
        Is told why what is there does not stand.

    Returns
    -------
    stood : bool
        Whether there was nothing to do.
    told : str
        What there is, in a line.
    """
    from posegen.training.runs.folder import MODEL, read_document

    about = read_document(run, MODEL)
    of = {"model": None if about is None else about["xxh3"], "texts": list(texts)}
    receipt = out.with_suffix(".json")
    stood = out.is_file() and _told_of(receipt, say) == of
    if not stood:
        _make(run, texts, out)
        write_durably(receipt, seal({"of": of}), current_run())
    return stood, f"{'; '.join(texts)}: {out}"


def _told_of(receipt: Path, say: Callable[[str], None]) -> Any:
    if not receipt.is_file():
        return None
    try:
        return unseal(receipt.read_bytes(), Origin(str(receipt), "The animation is made anew"))["of"]
    except PosegenError as error:
        say(str(error))
        return None


def _make(run: Path, texts: tuple[str, ...], out: Path) -> None:
    from posegen.training.animation.animate import animate, load_generator, load_text_encoder

    trained = load_generator(run)
    draw(animate(trained, load_text_encoder(trained), texts), out)


def draw(made: Animation, out: Path) -> None:
    """Draw an animation as a .gif, or its poses over time as a .png, with its texts underneath."""
    from posegen.skeleton import CONTACTS
    from posegen.viewing.render import render

    figure = made.clip
    contacts = np.zeros((len(figure.joints), len(CONTACTS)), np.uint8)
    contacts[:, : figure.contact.shape[1]] = figure.contact
    render(figure.joints, "\n".join(made.texts), made.fps, out, contacts=contacts, title="animated")

"""The moving pictures at the top of the README and the site: six captions and their motion, on light and on dark paper.

``python -m docs.moving_picture docs`` draws them from the code.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from posegen.synthesis.composition import compose
from posegen.viewing.clip import Clip, make_clip
from posegen.viewing.pictures import draw_film

TEXTS = (
    "a person waves with the left hand",
    "a person walks in a circle clockwise",
    "a person kicks with the right leg",
    "a person does jumping jacks",
    "two people shake hands",
    "a person walks up the stairs",
)
SECONDS, PER_SECOND, SIZE, COLUMNS = 5.0, 10, 240, 3


def clip_of(text: str) -> Clip:
    """Return the motion of a text, with the text as its caption."""
    made = compose(text)
    if made.not_understood or made.notes:
        raise ValueError(f"{text!r} has words without motion: {made.not_understood} {made.notes}")
    labels = {"action": made.action, "contact": made.contact, "names": made.names, "seat_heights": [0.0] * len(made.joints)}
    return make_clip(made.joints, "\n".join(textwrap.wrap(text, 30)), float(made.fps), **labels)


def on_dark(picture: Image.Image) -> Image.Image:
    """Return a picture on dark paper: inverted, with every hue as before."""
    inverted = 255.0 - np.asarray(picture.convert("RGB"), np.float64)
    # Opposite hues of equal lightness: twice the mean of the largest and the smallest share, less the colour.
    turned: NDArray[np.float64] = (inverted.max(-1) + inverted.min(-1))[..., None] - inverted
    return Image.fromarray((turned * (1 - 24 / 255) + 22).clip(0, 255).astype(np.uint8))


def film() -> list[Image.Image]:
    """Return the frames, in each the six sequences."""
    films = []
    for text in TEXTS:
        clip = clip_of(text)
        moments = (np.arange(round(SECONDS * PER_SECOND)) * clip.fps / PER_SECOND).astype(int)
        shown = (max(0, clip.frames - round(SECONDS * clip.fps)) + moments) % clip.frames  # the end has what a text asks for
        films.append(list(draw_film(clip, shown, SIZE)))
    height = max(pictures[0].height for pictures in films)
    pages = []
    for moment in zip(*films, strict=True):
        page = Image.new("RGB", (COLUMNS * SIZE, len(films) // COLUMNS * height), "white")
        for number, picture in enumerate(moment):
            page.paste(picture, (number % COLUMNS * SIZE, number // COLUMNS * height))
        pages.append(page)
    return pages


if __name__ == "__main__":
    pages = film()
    for name, pictures in (("moving", pages), ("moving-dark", [on_dark(page) for page in pages])):
        options = {"duration": 1000 // PER_SECOND, "loop": 0, "quality": 55, "method": 4}
        pictures[0].save(Path(sys.argv[1]) / f"{name}.webp", save_all=True, append_images=pictures[1:], **options)

"""What a model is shown and asked, computed from a dataset's arrays: each array by a recipe, which is a pure function.

A recipe has a version, which rises whenever it gives other values for the same arrays; what is cached carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import ABSENT_ACTION
from posegen.skeleton import PARTS
from posegen.training.clips.features import FEATURES, VERSION, features_of

__all__ = ["ABSENT", "ACTION", "LENGTH", "MOTION", "Recipe", "View"]

Array = NDArray[Any]

ABSENT = -1
"""In labels: there is no such frame."""

_LEGS = PARTS.index("legs")
_LAID_OVER = tuple(PARTS.index(name) for name in ("right_arm", "left_arm", "trunk", "head"))


@dataclass(frozen=True)
class View:
    """How a model sees a dataset: every `stride`-th of its frames, of which there are `frames` then, at `fps`; names of
    actions; where it takes captions, the text encoder whose vectors they are, and how many numbers these have; what else its
    answers stand for.
    """

    frames: int
    fps: float
    stride: int
    actions: tuple[str, ...]
    text_encoder: str = ""
    text_dimension: int = 0
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """An array that is made of others.

    Attributes
    ----------
    name : str
    version : int
    fields : tuple of str
        Arrays of the dataset that it takes; ``rows`` stands for the rows that tell of the sequences, one for each clip.
    dtype : str
    inner : tuple of int or str
        Shape of one clip's values; ``"frame"`` stands for as many as the model sees.
    compute : callable
        Takes the fields [clip, actor, ...] by name and the view; gives the values [clip, ...].
    """

    name: str
    version: int
    fields: tuple[str, ...]
    dtype: str
    inner: tuple[int | str, ...]
    compute: Callable[[Mapping[str, Array], View], Array]

    def shape(self, view: View) -> tuple[int, ...]:
        """Shape of one clip's values."""
        return tuple(view.frames if size == "frame" else int(size) for size in self.inner)


def _motion(fields: Mapping[str, Array], view: View) -> Array:
    # Half precision keeps heights to half a millimetre, and takes half the disk and memory.
    return features_of(fields["joints"][:, 0, :: view.stride], view.fps).astype(np.float16)


def _length(fields: Mapping[str, Array], view: View) -> Array:
    there = ~np.isnan(fields["joints"][:, 0, :: view.stride, 0, 0])
    return np.asarray(there.sum(axis=-1), np.int32)


def _action(fields: Mapping[str, Array], view: View) -> Array:
    """One action for each frame: what is laid over the whole body's, if anything is, else that.

    Who walks and waves, waves. Of two that are laid over, the one with more of the body counts, then the right arm's.
    """
    parts = fields["action"][:, 0, :: view.stride]
    whole = parts[..., _LEGS]
    found, most = whole.astype(np.int16), np.zeros(whole.shape, np.int8)
    for part in _LAID_OVER:
        other = parts[..., part]
        count = (parts == other[..., None]).sum(axis=-1, dtype=np.int8) * (other != whole)
        found, most = np.where(count > most, other, found).astype(np.int16), np.maximum(count, most)
    return np.where(whole == ABSENT_ACTION, np.int16(ABSENT), found)


MOTION = Recipe("motion", VERSION, ("joints",), "float16", ("frame", FEATURES), _motion)
"""The features of the first actor's motion."""

LENGTH = Recipe("length", 1, ("joints",), "int32", (), _length)
"""How many frames of them there are."""

ACTION = Recipe("action", 1, ("action",), "int16", ("frame",), _action)
"""The first actor's action in each frame; see the page on training for what counts where several are done at once."""

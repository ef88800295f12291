"""Draws of a clip in a batch: a function of the seed, the number of the batch, the sample and the variant, of nothing else.

What a model sees of a motion: each frame as seen from the body, so that where somebody stands and faces does not matter.

Of each frame: the joints in the axes of the body (x to its left, y up, z ahead), with their height above the floor but from the
pelvis in the plane; how fast the pelvis moves in these axes; how fast the body turns. Nothing of it needs the rest of the
clip, but for the frame before, so that a clip may be cut anywhere.


What a model is shown and asked, computed from a dataset's arrays: each array by a recipe, which is a pure function.

A recipe has a version, which rises whenever it gives other values for the same arrays; what is cached carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import ABSENT_ACTION
from posegen.randomness import Stream, uniform
from posegen.skeleton import JOINTS, PARTS

__all__ = [
    "ABSENT",
    "ACTION",
    "CAPTION",
    "FEATURES",
    "GROUP",
    "LENGTH",
    "MOTION",
    "NOISE",
    "PARTNER",
    "SHARE",
    "SHUFFLE",
    "SKELETON",
    "STRETCH",
    "UNTOLD",
    "VERSION",
    "Recipe",
    "View",
    "draws_of",
    "features_of",
]

Array = NDArray[Any]

STRETCH, CAPTION, SKELETON, GROUP, PARTNER, SHUFFLE = 1, 2, 3, 4, 5, 6
"""What is drawn: which stretch of a clip is shown, which of its captions, on which skeleton; with which of a person's others it
goes, which ones it is held against, and whose a control takes it for.
"""

NOISE, SHARE, UNTOLD = 16, 17, 18
"""Where motion is made of noise: the noise in a clip, how much of it is motion, and whether its caption is left out."""

_VARIANTS = 16
_ATTEMPTS = 256


def draws_of(sample: Array, variant: Array, seed: int, number: int, what: int, count: int = 1) -> Array:
    """Draw for clips of batch `number`.

    Parameters
    ----------
    sample, variant : int64 [clip]
        Their samples, and the places of their variants.
    seed, number : int
    what : int
        :data:`STRETCH`, :data:`CAPTION` or :data:`SKELETON`.
    count : int
        How many draws each; one does not depend on how many there are.

    Returns
    -------
    float64 [clip, count]
        On [0, 1).
    """
    turn, attempt = divmod(number, _ATTEMPTS)
    which = sample * _VARIANTS + variant
    return uniform((seed + turn) % 2**64, which, Stream.AUGMENT, count, attempt=attempt, substream=what)


VERSION = 1
"""Rises whenever the same joints give other features: what was cached by an older one is then made anew."""

_PLANE = 3
FEATURES = len(JOINTS) * 3 + _PLANE
"""Numbers in a frame; two of them, the pelvis's own place in the plane, are always 0."""

_LEFT = tuple(JOINTS.index(name) for name in ("left_hip", "left_shoulder"))
_RIGHT = tuple(JOINTS.index(name) for name in ("right_hip", "right_shoulder"))
_LEAST = 1e-6


def features_of(joints: Array, fps: float) -> Array:
    """Compute the features of clips.

    Parameters
    ----------
    joints : float32 [..., frame, 22, 3]
        Metres, y up; NaN in frames that are not there, which must be the last ones.
    fps : float
        Frames a second.

    Returns
    -------
    float32 [..., frame, FEATURES]
        Metres, m/s, rad/s; 0 in frames that are not there.
    """
    across = (joints[..., _LEFT, :] - joints[..., _RIGHT, :]).sum(axis=-2)
    length = np.maximum(np.hypot(across[..., 0], across[..., 2]), _LEAST)
    # The way to the left in the plane is (cos, -sin) of the heading, which is 0 where the body faces +z.
    cos, sin = across[..., 0] / length, -across[..., 2] / length
    pelvis = joints[..., 0, :]
    moved = np.diff(pelvis, axis=-2, prepend=pelvis[..., :1, :]) * np.float32(fps)
    turned = np.arctan2(_before(cos) * sin - _before(sin) * cos, _before(cos) * cos + _before(sin) * sin) * np.float32(fps)
    out = np.empty((*joints.shape[:-2], FEATURES), np.float32)
    body = out[..., :-_PLANE].reshape(joints.shape)
    x, z = joints[..., 0] - pelvis[..., None, 0], joints[..., 2] - pelvis[..., None, 2]
    body[..., 0] = cos[..., None] * x - sin[..., None] * z
    body[..., 1] = joints[..., 1]
    body[..., 2] = sin[..., None] * x + cos[..., None] * z
    out[..., -3] = cos * moved[..., 0] - sin * moved[..., 2]
    out[..., -2] = sin * moved[..., 0] + cos * moved[..., 2]
    out[..., -1] = turned
    np.nan_to_num(out, copy=False, nan=0.0)
    return out


def _before(values: Array) -> Array:
    return np.concatenate([values[..., :1], values[..., :-1]], axis=-1)


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

"""Arrays that models read, computed from the arrays of a dataset, and the random draws that select a training batch.

A :class:`Recipe` is a pure, versioned function from dataset arrays to one array. The cache on disk is
:mod:`posegen.training.data.feature_cache`; recipes that only one task needs are defined beside that task.

Motion features do not depend on where a body stands and faces. Each frame has the joints in the axes of the body (x to its
left, y up, z ahead), relative to the pelvis in the ground plane and to the floor in height; the velocity of the pelvis in these
axes; and the turning rate. A frame depends only on itself and the frame before, so that a clip may be cropped anywhere.

The features of a scene are those of each of its actors, with the position and the heading relative to the first one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

import numpy as np
import torch

from posegen.foundations.arrays import Array
from posegen.foundations.constants import ABSENT_ACTION
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.skeleton import JOINTS, PARTS

ABSENT = -1
"""Value of labels in frames after the end of a clip."""

ACTOR = "actor"
"""Name of the axis of actors in the shape of a recipe."""

_PLANE = 3
FEATURES = len(JOINTS) * 3 + _PLANE
"""Numbers per frame. Two of them, the position of the pelvis in the ground plane, are always 0."""

RELATION = 5
"""Numbers per frame that relate an actor to the first one; see :func:`relations`."""
NEAR = 0.5
"""Units of length below which distances between actors are resolved finest."""

_VERSION = 1
_LEFT = tuple(JOINTS.index(name) for name in ("left_hip", "left_shoulder"))
_RIGHT = tuple(JOINTS.index(name) for name in ("right_hip", "right_shoulder"))
_LEAST_WIDTH = 1e-6
_LEGS = PARTS.index("legs")
_OVERLAYS = tuple(PARTS.index(name) for name in ("right_arm", "left_arm", "trunk", "head"))
_VARIANTS = 16
_ATTEMPTS = 256


class Draw(IntEnum):
    """What a random draw decides. The values select independent random streams."""

    CROP = 1
    """Which frames of a clip are shown."""
    CAPTION = 2
    """Which caption of a clip is shown."""
    SKELETON = 3
    """Which skeleton a clip is shown on."""
    GROUP = 4
    """Which clips of an identity share a batch."""
    PARTNER = 5
    """Which clips a clip is compared with."""
    SHUFFLE = 6
    """Which identity a clip is assigned to in the control with shuffled labels."""
    REAL = 7
    """In which order real clips train a model together with generated ones."""
    GENERATED = 8
    """In which order the generated ones do."""
    STRETCH = 9
    """Which stretch of a generated clip is shown beside shorter real clips."""
    CAMERA = 10
    """From where a clip is seen."""
    MOUNTING = 11
    """How a sensor is turned."""
    NOISE = 16
    """The noise added to a clip in flow matching."""
    TIME = 17
    """The time on the path from noise to motion."""
    DROP_CAPTION = 18
    """Whether the caption is dropped, for classifier-free guidance."""


def clip_draws(sample: Array, variant: Array, seed: int, number: int, what: Draw, count: int = 1) -> Array:
    """Draw random numbers for the clips of a batch: a function of the arguments only.

    Parameters
    ----------
    sample, variant : int64 [clip]
        Sample numbers and variant indices.
    seed, number : int
        Seed of the run and number of the batch.
    what : Draw
    count : int, optional
        Draws per clip. The first draws do not depend on `count`.

    Returns
    -------
    float64 [clip, count]
        On [0, 1).
    """
    turn, attempt = divmod(number, _ATTEMPTS)
    which = sample * _VARIANTS + variant
    return uniform((seed + turn) % 2**64, which, Stream.AUGMENT, count, attempt=attempt, substream=what)


@dataclass(frozen=True)
class View:
    """How a model reads a dataset.

    Attributes
    ----------
    frames : int
        Frames per clip after subsampling.
    fps : float
        Frames per second after subsampling.
    stride : int
        Every `stride`-th frame of the dataset is used.
    actions : tuple of str
        Names of the action labels.
    text_encoder : str
        Encoder of the caption embeddings; empty where the task takes no captions.
    text_dimension : int
        Length of these embeddings.
    actors : int
        Largest number of actors in a clip, where the task reads more than the first one.
    predicted : int or None
        How many of `actions`, the first ones, a model predicts; None: all. The others only train it.
    """

    frames: int
    fps: float
    stride: int
    actions: tuple[str, ...]
    text_encoder: str = ""
    text_dimension: int = 0
    actors: int = 1
    predicted: int | None = None


@dataclass(frozen=True)
class Recipe:
    """An array computed from dataset arrays.

    Attributes
    ----------
    name : str
    version : int
        Increases whenever the same input gives other values. Cached arrays carry it.
    fields : tuple of str
        Dataset arrays that are read; ``rows`` means the metadata rows of the sequences.
    dtype : str
    inner : tuple of int or str
        Shape of the values of one clip; ``"frame"`` and ``"actor"`` mean the numbers of frames and actors of the view.
    compute : callable
        Takes the fields [clip, actor, ...] by name and the view; returns the values [clip, ...].
    cache : str
        Name of the values in the cache; that of the recipe if empty.
    """

    name: str
    version: int
    fields: tuple[str, ...]
    dtype: str
    inner: tuple[int | str, ...]
    compute: Callable[[Mapping[str, Array], View], Array]
    cache: str = ""

    def shape(self, view: View) -> tuple[int, ...]:
        """Return the shape of the values of one clip."""
        sizes = {"frame": view.frames, ACTOR: view.actors}
        return tuple(size if isinstance(size, int) else sizes[size] for size in self.inner)

    def bytes(self, view: View) -> int:
        """Return the size of the values of one clip."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape(view))

    @property
    def is_by_actor(self) -> bool:
        """Return whether the values are those of each actor by itself, [actor, ...]."""
        return self.inner[:1] == (ACTOR,)


def by_actor(recipe: Recipe) -> Recipe:
    """Return the recipe that computes for each actor what a recipe computes for the first one: values [actor, ...]."""
    return replace(recipe, inner=(ACTOR, *recipe.inner), compute=partial(_by_actor, recipe), cache=f"{recipe.name}-by-actor")


def _by_actor(recipe: Recipe, fields: Mapping[str, Array], view: View) -> Array:
    single = ({name: values[:, actor : actor + 1] for name, values in fields.items()} for actor in range(view.actors))
    return np.stack([recipe.compute(own, view) for own in single], axis=1)


def features_of(joints: Array, fps: float) -> Array:
    """Compute the motion features of clips.

    Parameters
    ----------
    joints : float32 [..., frame, 22, 3]
        Metres, y up; NaN in absent frames, which must be the last ones.
    fps : float
        Frames per second.

    Returns
    -------
    float32 [..., frame, FEATURES]
        Metres, m/s and rad/s; 0 in absent frames.
    """
    across = (joints[..., _LEFT, :] - joints[..., _RIGHT, :]).sum(axis=-2)
    length = np.maximum(np.hypot(across[..., 0], across[..., 2]), _LEAST_WIDTH)
    # The direction to the left in the plane is (cos, -sin) of the heading, which is 0 where the body faces +z.
    cos, sin = across[..., 0] / length, -across[..., 2] / length
    pelvis = joints[..., 0, :]
    moved = np.diff(pelvis, axis=-2, prepend=pelvis[..., :1, :]) * np.float32(fps)
    cos_before, sin_before = _frame_before(cos), _frame_before(sin)
    turned = np.arctan2(cos_before * sin - sin_before * cos, cos_before * cos + sin_before * sin) * np.float32(fps)
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


def relations(joints: Array, unit: Array) -> Array:
    """Return where each actor of a scene stands and faces, relative to the first one.

    Parameters
    ----------
    joints : float [clip, actor, frame, 22, 3]
        Metres, y up; NaN where an actor is absent.
    unit : float [clip, actor]
        Unit of length in metres.

    Returns
    -------
    float32 [clip, actor, frame, RELATION]
        Position to the left and ahead of the first actor, whose distance r is replaced by log(1 + r / NEAR), so that it is
        finest where two can touch; cosine and sine of the heading relative to that of the first actor; 1. All 0 where an actor
        is absent.
    """
    with np.errstate(invalid="ignore"):  # NaN where an actor is absent
        place, heading = place_and_heading(joints)
        away = (place - place[:, :1]) / heading[:, :1] / unit[..., None]
        distance = np.abs(away)
        away = away * np.log1p(distance / NEAR) / np.maximum(distance, _LEAST_WIDTH)
        turned = heading / heading[:, :1]
    numbers = [away.imag, away.real, turned.real, turned.imag, np.where(np.isnan(distance), np.nan, 1.0)]
    return np.asarray(np.nan_to_num(np.stack(numbers, axis=-1), nan=0.0), np.float32)


def place_and_heading(joints: Array) -> tuple[Array, Array]:
    """Return the pelvis in the ground plane and the direction in which the hips face, complex128 [...] each.

    The real axis is +z and the imaginary axis +x. So a rotation about the vertical is a product, and a point to the left of a
    heading is in its imaginary direction.

    Parameters
    ----------
    joints : float [..., 22, 3]
    """
    pelvis = joints[..., 0, :].astype(np.float64)
    across = joints[..., _LEFT[0], :].astype(np.float64) - joints[..., _RIGHT[0], :]
    heading = across[..., 0] - 1j * across[..., 2]
    return pelvis[..., 2] + 1j * pelvis[..., 0], heading / np.maximum(np.abs(heading), _LEAST_WIDTH)


def scene_arrays(values: Array, view: View, absent: float) -> Array:
    """Return an array [clip, actor, frame, ...] with the actors and the frames of a view; `absent` fills missing actors."""
    shown = values[:, : view.actors, :: view.stride]
    missing = view.actors - shown.shape[1]
    return np.asarray(np.pad(shown, ((0, 0), (0, missing), *((0, 0),) * (shown.ndim - 2)), constant_values=absent))


def to_half(values: Array) -> Array:
    """Convert float32 to float16, which keeps heights to half a millimetre, and halves disk and memory.

    The result is that of NumPy, which takes up to seventy times as long: torch converts by vector instructions.
    """
    return torch.from_numpy(values).half().numpy()


def to_single(values: Array) -> Array:
    """Convert float16 to float32, by torch for the same reason."""
    return torch.from_numpy(values).float().numpy()


def _frame_before(values: Array) -> Array:
    return np.concatenate([values[..., :1], values[..., :-1]], axis=-1)


def _motion(fields: Mapping[str, Array], view: View) -> Array:
    return to_half(features_of(fields["joints"][:, 0, :: view.stride], view.fps))


def _scene_motion(fields: Mapping[str, Array], view: View) -> Array:
    joints = scene_arrays(fields["joints"], view, np.nan)
    related = relations(joints, np.ones(joints.shape[:2]))
    return to_half(np.concatenate([features_of(joints, view.fps), related], axis=-1).swapaxes(1, 2))


def _length(fields: Mapping[str, Array], view: View) -> Array:
    present = ~np.isnan(fields["joints"][:, 0, :: view.stride, 0, 0])
    return np.asarray(present.sum(axis=-1), np.int32)


def _action(fields: Mapping[str, Array], view: View) -> Array:
    """Return one action per frame: the overlaid action if there is one, else that of the whole body.

    A person who walks and waves is labelled as waving. Of two overlaid actions the one with more body parts counts, then that
    of the right arm.
    """
    parts = fields["action"][:, 0, :: view.stride]
    whole = parts[..., _LEGS]
    label, most = whole.astype(np.int16), np.zeros(whole.shape, np.int8)
    for part in _OVERLAYS:
        other = parts[..., part]
        count = (parts == other[..., None]).sum(axis=-1, dtype=np.int8) * (other != whole)
        label, most = np.where(count > most, other, label).astype(np.int16), np.maximum(count, most)
    return np.where(whole == ABSENT_ACTION, np.int16(ABSENT), label)


MOTION = Recipe("motion", _VERSION, ("joints",), "float16", ("frame", FEATURES), _motion)
"""Motion features of the first actor."""

SCENE_MOTION = Recipe(
    "motion", _VERSION, ("joints",), "float16", ("frame", ACTOR, FEATURES + RELATION), _scene_motion, "motion-scene"
)
"""Motion features of all actors, each with its relation to the first one."""

LENGTH = Recipe("length", 1, ("joints",), "int32", (), _length)
"""Number of frames of the clip."""

ACTION = Recipe("action", 1, ("action",), "int16", ("frame",), _action)
"""Action of the first actor in each frame."""

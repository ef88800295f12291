"""Read a body from its joint positions: joints by name, stature, centre of mass, anatomical angles, and frames of presence.

The rotation of a limb about its own axis, and that of the head, cannot be recovered from positions. The direction in which a
knee bends can, from the foot. Mocap joints are centres estimated by software, so an angle counts as outside its range of motion
only beyond a tolerance. What these quantities say about the motion is measured elsewhere in this package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.checks.ranges import ANGLES, BENT, PASSING_SECONDS, REST, angles_of
from posegen.evaluation.kernels.bodies import (
    AXES,
    COSINES,
    EXTRA,
    ROWS,
    SINES,
    TANGENTS,
    fill_angles,
    fill_soles,
)
from posegen.foundations.arrays import Array
from posegen.foundations.constants import DEGREES
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, JOINTS, PROPORTIONS
from posegen.library.channels import widest
from posegen.library.load import Library, load_library

# Part: joints at its near and far end, share of the mass, where between them its centre lies (Winter 2009, table 4.1).
# The trunk's ends are the middles of shoulders and hips. A hand lies at the wrist, a foot between ankle and ball.
_LIMBS = (
    ("hip", "knee", 0.100, 0.433),
    ("knee", "ankle", 0.0465, 0.433),
    ("ankle", "foot", 0.0145, 0.5),
    ("shoulder", "elbow", 0.028, 0.436),
    ("elbow", "wrist", 0.016, 0.430),
    ("wrist", "wrist", 0.006, 0.0),
)
_TRUNK, _HEAD = 0.497, 0.081


def _masses() -> Array:
    """Return the share of each joint in the centre of mass: float64 [22]."""
    shares = dict.fromkeys(JOINTS, 0.0) | {"head": _HEAD}
    for side in ("left_", "right_"):
        for joint in ("hip", "shoulder"):
            shares[side + joint] += _TRUNK / 4
        for near, far, share, along in _LIMBS:
            shares[side + near] += share * (1 - along)
            shares[side + far] += share * along
    masses = np.array([shares[name] for name in JOINTS])
    return np.asarray(masses / masses.sum())


_MASSES = _masses()
_ASIDE = np.sin(np.radians(60))
_KINDS = [angle.removeprefix("left_").removeprefix("right_") for angle in ANGLES]


def _rows(*names: str) -> list[int]:
    """Return the rows of angles, of the left and the right side where they have sides."""
    return [row for name in names for row, kind in enumerate(_KINDS) if kind == name]


# In the order of the results of `fill_angles`: turns by arc tangents, tilts by arc sines, bends by arc cosines.
_TURNS = _rows("trunk_rotation", "trunk_lateral", "neck_flexion", "hip_flexion", "shoulder_flexion")
_TILTS = _rows("trunk_flexion", "neck_lateral", "hip_abduction")
_BENDS = _rows("knee_flexion", "elbow_flexion", "ankle_dorsiflexion")
_ROWS = np.array([*_TURNS, *_TILTS, *_BENDS])
_SCALES = np.array([-DEGREES if _KINDS[row] in ("trunk_lateral", "ankle_dorsiflexion") else DEGREES for row in _ROWS])
_BASES = np.array([90.0 if _KINDS[row] == "ankle_dorsiflexion" else 0.0 for row in _ROWS])
_KNEES, _SHOULDERS = _rows("knee_flexion"), _rows("shoulder_flexion")
# Beyond vertical, flexion of the shoulder is indistinguishable from extension with the arm sideways.
_LIMITS = np.array([JOINT_LIMITS[kind] for kind in _KINDS]).T
_LIMITS[1, _SHOULDERS] = np.inf


def point(joints: Array, name: str) -> Array:
    """Return the positions of one joint: float [..., 3] of [..., 22, 3]."""
    return joints[..., JOINTS.index(name), :]


def unit(vectors: Array) -> Array:
    """Scale vectors to length 1; NaN where the length is 0."""
    length = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    return np.asarray(vectors / np.where(length > 0, length, np.nan))


def stature(joints: Array) -> Array:
    """Return the height of a body in metres, estimated from its left thigh and shank: float [...] of [..., 22, 3]."""
    leg = sum(
        np.sqrt(((point(joints, f"left_{near}") - point(joints, f"left_{far}")) ** 2).sum(-1))
        for near, far in (("hip", "knee"), ("knee", "ankle"))
    )
    return np.asarray(leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))


def centre_of_mass(joints: ArrayLike) -> Array:
    """Return the centre of mass.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [..., 3]
        Metres. Mass fractions are those of Winter, Biomechanics and Motor Control of Human Movement, and sum to 1.
    """
    return np.asarray(_MASSES @ np.asarray(joints, np.float64))


def centre_of_body(body: Array) -> Array:
    """Return :func:`centre_of_mass` of joints [22, 3, frame]: float64 [3, frame]."""
    return np.asarray(_MASSES @ body.reshape(len(JOINTS), -1)).reshape(body.shape[1:])


def true_intervals(flags: Array) -> list[slice]:
    """Return the intervals in which `flags`, bool [frame], is true.

    >>> true_intervals(np.array([True, False, True, True]))
    [slice(0, 1, None), slice(2, 4, None)]
    """
    padded = np.zeros(len(flags) + 2, bool)
    padded[1:-1] = flags
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def longest_present(joints: ArrayLike) -> slice:
    """Return the longest interval of frames of [frame, joint, axis] in which every joint is finite."""
    positions = np.asarray(joints)
    intervals = true_intervals(np.isfinite(positions).all((1, 2)))
    return max(intervals, key=lambda interval: interval.stop - interval.start, default=slice(0, 0))


def joint_angles(joints: ArrayLike, skeleton: str | Mapping[str, float] = DEFAULT_SKELETON) -> dict[str, Array]:
    """Return anatomical angles.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.
    skeleton : str or mapping of str to float
        One of :data:`foundations.skeleton.SKELETONS`, whose rest pose has the angles 0; or the degrees in the rest pose, as in
        :data:`posegen.checks.ranges.REST`.

    Returns
    -------
    dict of str to float64 [...]
        Degrees, with the signs of :mod:`foundations.skeleton`, by ``side_joint_angle``. Shoulder flexion is NaN where the upper
        arm is lifted sideways by 60 degrees or more.
    """
    positions = np.asarray(joints, np.float64)
    body = frames_last(positions)
    angles = angles_of_body(body, soles_of_body(body), skeleton)
    return {name: angle.reshape(positions.shape[:-2]) for name, angle in zip(ANGLES, angles, strict=True)}


def frames_last(joints: Array) -> Array:
    """Return joints as kernels read them: float64 [22, 3, frame] of [..., 22, 3]; not copied where they lie so in memory."""
    return np.ascontiguousarray(joints.reshape(-1, *joints.shape[-2:]).transpose(1, 2, 0), np.float64)


def soles_of_body(body: Array) -> Array:
    """Return :func:`posegen.foundations.skeleton.sole_points` of joints [22, 3, frame]: float64 [4, 3, frame]."""
    soles = np.empty((4, 3, body.shape[-1]))
    fill_soles(body, soles)
    return soles


def angles_of_body(body: Array, soles: Array, skeleton: str | Mapping[str, float]) -> Array:
    """Return :func:`joint_angles` of joints [22, 3, frame] with the soles [4, 3, frame]: float64 [angle, frame]."""
    frames = body.shape[-1]
    sides, angles = np.empty((ROWS, frames)), np.empty((len(ANGLES), frames))
    fill_angles(body, soles, np.empty((AXES, frames)), np.empty((4, 3, frames)), sides)
    radians, tilts, bends = np.empty((len(ANGLES), frames)), len(_TURNS), len(_TURNS) + len(_TILTS)
    np.arctan2(sides[TANGENTS:SINES:2], sides[TANGENTS + 1 : SINES : 2], out=radians[:tilts])
    np.arcsin(sides[SINES:COSINES], out=radians[tilts:bends])
    np.arccos(sides[COSINES:EXTRA], out=radians[bends:])
    rest = REST[skeleton] if isinstance(skeleton, str) else skeleton
    least = np.array([rest.get(_KINDS[row], 0.0) for row in _ROWS])
    angles[_ROWS] = _SCALES[:, None] * radians + (_BASES - least)[:, None]
    angles[_KNEES] *= np.where(sides[EXTRA : EXTRA + 2] < -BENT, -1.0, 1.0)
    # An arm behind the head is flexed far, not extended far.
    angles[_SHOULDERS] += np.where(angles[_SHOULDERS] < -90, 360.0, 0.0)
    angles[_SHOULDERS] = np.where(np.abs(sides[EXTRA + 2 :]) < _ASIDE, angles[_SHOULDERS], np.nan)
    return angles


def body_excess(angles: Array, ranges: Mapping[str, Array]) -> Array:
    """Return the greatest :func:`range_excess` of all angles, of which those that are unknown are ignored.

    float64 [frame] of [angle, frame].
    """
    limits = np.repeat(_LIMITS[..., None], angles.shape[1] if ranges else 1, axis=2)
    for name, (low, high) in ranges.items():
        limits[:, ANGLES.index(name)] = low, np.inf if name.endswith("shoulder_flexion") else high
    return np.asarray(np.fmax.reduce(np.maximum(limits[0] - angles, angles - limits[1]), axis=0, initial=0.0))


def range_excess(angles: Mapping[str, Array], ranges: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Return by how many degrees each angle of :func:`joint_angles` is outside its range; 0 inside, NaN if unknown.

    Parameters
    ----------
    angles : mapping of str to float [...]
        Degrees.
    ranges : mapping of str to float [2, ...], optional
        Least and greatest value of the angles whose range is not that of :data:`posegen.foundations.skeleton.JOINT_LIMITS`.
    """
    excess = {}
    for name, values in angles.items():
        usual = JOINT_LIMITS[name.removeprefix("left_").removeprefix("right_")]
        low, high = usual if ranges is None or name not in ranges else ranges[name]
        if name.endswith("shoulder_flexion"):
            high = np.inf  # beyond vertical it is indistinguishable from extension with the arm sideways
        excess[name] = np.maximum(np.maximum(low - values, values - high), 0.0)
    return excess


def library_of_config(config: Mapping[str, Any]) -> Library:
    """Return the library of a dataset's resolved config; the built-in one where the user's folder of actions is absent."""
    story = config.get("story")
    folder = story.get("library") if isinstance(story, Mapping) else None
    return load_library(Path(folder) if isinstance(folder, str) and os.path.isdir(folder) else None)


def frame_ranges(library: Library, names: Sequence[str], labels: Array, fps: float) -> dict[str, Array]:
    """Return, for each frame, the ranges of the angles that a labelled action widens.

    Parameters
    ----------
    library : Library
        Labels of actions that it does not contain are ignored.
    names : sequence of str
        The action of each number in `labels`.
    labels : int [frame, part]
        Action of each body part; numbers beyond `names` mean no action.
    fps : float
        Frames per second.

    Returns
    -------
    dict of str to float64 [2, frame]
        Least and greatest value in degrees, by ``side_joint_angle`` as in :func:`joint_angles`. Angles in their usual ranges
        throughout are omitted.
    """
    found: dict[str, Array] = {}
    reach, widens = int(PASSING_SECONDS * fps), _widens(library, tuple(names))
    wide = widens[np.minimum(labels, len(names))]
    for number in np.unique(labels[wide]).tolist() if wide.any() else ():
        for channel, range_ in library.action(names[number]).ranges.items():
            low, high = widest(channel, range_.min, range_.max)
            for angle, part in angles_of(channel):
                near = np.convolve(labels[:, part] == number, np.ones(2 * reach + 1))[reach : reach + len(labels)] > 0
                if near.any():
                    usual = np.repeat(np.array(JOINT_LIMITS[channel])[:, None], len(labels), axis=1)
                    row = found.setdefault(angle, usual)
                    row[0, near], row[1, near] = np.minimum(row[0, near], low), np.maximum(row[1, near], high)
    return found


@lru_cache(maxsize=8)
def _widens(library: Library, names: tuple[str, ...]) -> Array:
    """Return which of some actions of a library widen any range: bool [names + 1], the last one for no action."""
    known = [name in library.entries and bool(library.action(name).ranges) for name in names]
    return np.array([*known, False])

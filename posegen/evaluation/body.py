"""Read a body from its joint positions: joints by name, stature, centre of mass, anatomical angles, and frames of presence.

The rotation of a limb about its own axis, and that of the head, cannot be recovered from positions. The direction in which a
knee bends can, from the foot. Mocap joints are centres estimated by software, so an angle counts as outside its range of motion
only beyond a tolerance. What these quantities say about the motion is measured elsewhere in this package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.checks.ranges import BENT, PASSING_SECONDS, REST, angles_of
from posegen.library.channels import widest
from posegen.library.load import Library, load_library
from posegen.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, JOINTS, PROPORTIONS, sole_points

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
    positions = np.asarray(joints, np.float64)
    hips, shoulders = ((point(positions, f"left_{n}") + point(positions, f"right_{n}")) / 2 for n in ("hip", "shoulder"))
    total = _TRUNK * (hips + shoulders) / 2 + _HEAD * point(positions, "head")
    mass = _TRUNK + _HEAD
    for near, far, share, along in _LIMBS:
        for side in ("left_", "right_"):
            total = total + share * (point(positions, side + near) * (1 - along) + point(positions, side + far) * along)
            mass += share
    return np.asarray(total / mass)


def true_intervals(flags: Array) -> list[slice]:
    """Return the intervals in which `flags`, bool [frame], is true.

    >>> true_intervals(np.array([True, False, True, True]))
    [slice(0, 1, None), slice(2, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def longest_present(joints: ArrayLike) -> slice:
    """Return the longest interval of frames of [frame, joint, axis] in which every joint is finite."""
    intervals = true_intervals(np.isfinite(np.asarray(joints)).all((-2, -1)))
    return max(intervals, key=lambda interval: interval.stop - interval.start, default=slice(0, 0))


def joint_angles(joints: ArrayLike, skeleton: str = DEFAULT_SKELETON) -> dict[str, Array]:
    """Return anatomical angles.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.
    skeleton : str
        One of :data:`posegen.skeleton.SKELETONS`, whose rest pose has the angles 0.

    Returns
    -------
    dict of str to float64 [...]
        Degrees, with the signs of :mod:`posegen.skeleton`, by ``side_joint_angle``. Shoulder flexion is NaN where the upper
        arm is lifted sideways by 60 degrees or more.
    """
    positions, rest = np.asarray(joints, np.float64), REST[skeleton]
    hips = (point(positions, "left_hip") + point(positions, "right_hip")) / 2
    pelvis = _frame(point(positions, "left_hip") - point(positions, "right_hip"), point(positions, "spine1") - hips)
    collars = point(positions, "left_collar") - point(positions, "right_collar")
    chest = _frame(collars, point(positions, "neck") - point(positions, "spine3"))
    angles = _trunk(pelvis, chest)
    angles["trunk_flexion"] = angles["trunk_flexion"] - rest.get("trunk_flexion", 0.0)
    head = _seen_from(chest, unit(point(positions, "head") - point(positions, "neck")))
    angles["neck_flexion"] = np.degrees(np.arctan2(head[..., 2], head[..., 1])) - rest["neck_flexion"]
    angles["neck_lateral"] = np.degrees(np.arcsin(np.clip(head[..., 0], -1, 1)))
    soles = sole_points(positions)
    for side, outward, heel in (("left", 1.0, 0), ("right", -1.0, 2)):
        hip, knee, ankle, foot = (point(positions, f"{side}_{name}") for name in ("hip", "knee", "ankle", "foot"))
        shoulder, elbow, wrist = (point(positions, f"{side}_{name}") for name in ("shoulder", "elbow", "wrist"))
        thigh, upper_arm = _seen_from(pelvis, unit(knee - hip)), _seen_from(chest, unit(elbow - shoulder))
        angles[f"{side}_hip_flexion"] = np.degrees(np.arctan2(thigh[..., 2], -thigh[..., 1])) - rest["hip_flexion"]
        angles[f"{side}_hip_abduction"] = np.degrees(np.arcsin(np.clip(outward * thigh[..., 0], -1, 1)))
        angles[f"{side}_knee_flexion"] = _knee(hip, knee, ankle, foot)
        angles[f"{side}_ankle_dorsiflexion"] = 90 - _bend(knee - ankle, soles[..., heel + 1, :] - soles[..., heel, :])
        flexion = np.degrees(np.arctan2(upper_arm[..., 2], -upper_arm[..., 1])) - rest["shoulder_flexion"]
        # An arm behind the head is flexed far, not extended far.
        flexion = np.where(flexion < -90, flexion + 360, flexion)
        angles[f"{side}_shoulder_flexion"] = np.where(np.abs(upper_arm[..., 0]) < np.sin(np.radians(60)), flexion, np.nan)
        angles[f"{side}_elbow_flexion"] = _bend(elbow - shoulder, wrist - elbow)
    return angles


def range_excess(angles: Mapping[str, Array], ranges: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Return by how many degrees each angle of :func:`joint_angles` is outside its range; 0 inside, NaN if unknown.

    Parameters
    ----------
    angles : mapping of str to float [...]
        Degrees.
    ranges : mapping of str to float [2, ...], optional
        Least and greatest value of the angles whose range is not that of :data:`posegen.skeleton.JOINT_LIMITS`.
    """
    excess = {}
    for name, values in angles.items():
        usual = JOINT_LIMITS[name.removeprefix("left_").removeprefix("right_")]
        low, high = usual if ranges is None or name not in ranges else ranges[name]
        if name.endswith("shoulder_flexion"):
            high = np.inf  # beyond vertical it is indistinguishable from extension with the arm sideways
        excess[name] = np.maximum(np.maximum(low - values, values - high), 0.0)
    return excess


def _frame(left: Array, up: Array) -> Array:
    """Return the axes left, up and forward as rows: float [..., 3, 3]."""
    across = unit(left)
    above = unit(up - (up * across).sum(-1, keepdims=True) * across)
    return np.stack([across, above, np.cross(across, above)], axis=-2)


def _seen_from(frame: Array, vectors: Array) -> Array:
    return np.asarray((frame * vectors[..., None, :]).sum(-1))


def _trunk(pelvis: Array, chest: Array) -> dict[str, Array]:
    # The columns are the axes of the chest in those of the pelvis: rotation . flexion . lateral flexion.
    turned = (pelvis[..., :, None, :] * chest[..., None, :, :]).sum(-1)
    return {
        "trunk_flexion": np.degrees(np.arcsin(np.clip(-turned[..., 1, 2], -1, 1))),
        "trunk_rotation": np.degrees(np.arctan2(turned[..., 0, 2], turned[..., 2, 2])),
        "trunk_lateral": -np.degrees(np.arctan2(turned[..., 1, 0], turned[..., 1, 1])),
    }


def _bend(upper: Array, lower: Array) -> Array:
    return np.asarray(np.degrees(np.arccos(np.clip((unit(upper) * unit(lower)).sum(-1), -1, 1))))


def _knee(hip: Array, knee: Array, ankle: Array, foot: Array) -> Array:
    # Seen along the shank, a bent knee is on the side of the hip to which the toes point, however far the foot points down.
    shank = unit(ankle - knee)
    thigh, ahead = (v - (v * shank).sum(-1, keepdims=True) * shank for v in (unit(knee - hip), foot - ankle))
    before = (thigh * unit(ahead)).sum(-1)
    bend = _bend(knee - hip, ankle - knee)
    return np.where(before < -BENT, -bend, bend)


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
    reach = int(PASSING_SECONDS * fps)
    for number in np.unique(labels[labels < len(names)]):
        name = names[number]
        if name not in library.entries:
            continue
        for channel, range_ in library.action(name).ranges.items():
            low, high = widest(channel, range_.min, range_.max)
            for angle, part in angles_of(channel):
                near = np.convolve(labels[:, part] == number, np.ones(2 * reach + 1))[reach : reach + len(labels)] > 0
                if near.any():
                    usual = np.repeat(np.array(JOINT_LIMITS[channel])[:, None], len(labels), axis=1)
                    row = found.setdefault(angle, usual)
                    row[0, near], row[1, near] = np.minimum(row[0, near], low), np.maximum(row[1, near], high)
    return found

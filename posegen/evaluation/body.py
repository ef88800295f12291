"""Read a body from its joint positions: joints by name, centre of mass, anatomical angles, and frames of presence.

Positions do not determine the rotation of the head, or of a limb about its own axis. They determine in which direction a
knee bends, by the foot. Mocap joints are centres estimated by software, so an angle counts as outside its range of motion
only beyond a tolerance. Other modules of this package judge the motion by these quantities.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.checks.ranges import ANGLES, BENT, PASSING_SECONDS, REST, angles_of
from posegen.fields.momentum import SEGMENTS
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, JOINTS, sole_points
from posegen.library.channels import widest
from posegen.library.load import Library, load_library


def _masses() -> Array:
    """Return the share of each joint in the centre of mass: float64 [22]. Two hips or shoulders share an end of the trunk."""
    shares = dict.fromkeys((*JOINTS, "hips", "shoulders"), 0.0)
    for part in SEGMENTS:
        shares[part.near] += part.mass * (1 - part.centre)
        shares[part.far] += part.mass * part.centre
    for joint in ("hip", "shoulder"):
        for side in ("left_", "right_"):
            shares[side + joint] += shares[f"{joint}s"] / 2
    masses = np.array([shares[name] for name in JOINTS])
    return np.asarray(masses / masses.sum())


_MASSES = _masses()
_SIDEWAYS = np.sin(np.radians(60))
_BONES = (
    *(("right_hip", "left_hip"), ("right_collar", "left_collar"), ("neck", "head")),
    *(
        (f"{side}_{near}", f"{side}_{far}")
        for near, far in (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"), ("ankle", "foot"))
        for side in ("left", "right")
    ),
)
_NEAR, _FAR = ([JOINTS.index(bone[end]) for bone in _BONES] for end in (0, 1))
_HIPS, _SPINE = ([JOINTS.index(name) for name in names] for names in (("left_hip", "right_hip"), ("spine1", "spine3", "neck")))
_KINDS = [angle.removeprefix("left_").removeprefix("right_") for angle in ANGLES]


def point(joints: Array, name: str) -> Array:
    """Return the positions of one joint: float [..., 3] of [..., 22, 3]."""
    return joints[..., JOINTS.index(name), :]


def unit(vectors: Array) -> Array:
    """Scale vectors to length 1; NaN where the length is 0."""
    length = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    return np.asarray(vectors / np.where(length > 0, length, np.nan))


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
    soles, (spine1, spine3, neck) = soles_of_body(body), body[_SPINE]
    bones = _unit(body[_FAR] - body[_NEAR])
    thigh, shank, arm, forearm, foot = bones[3:].reshape(5, 2, 3, -1)
    pelvis, chest = _axes(bones[0], spine1 - body[_HIPS].mean(0)), _axes(bones[1], neck - spine3)
    twist, skull = _along(chest, pelvis), _along(bones[2], chest)
    thigh_ahead, arm_ahead = _along(thigh, pelvis), _along(arm, chest)
    flexion = np.arctan2(arm_ahead[:, 2], -arm_ahead[:, 1])
    # The hip lies on the side of the shank to which the toes point, unless the knee bends forward.
    toeward = _dot(_aside(thigh, shank), _unit(_aside(foot, shank)))
    bend = np.arccos(_cosine(thigh, shank))
    radians = {
        "trunk_flexion": -np.arcsin(twist[2, 1].clip(-1, 1)),
        "trunk_rotation": np.arctan2(twist[2, 0], twist[2, 2]),
        "trunk_lateral": -np.arctan2(twist[0, 1], twist[1, 1]),
        "neck_flexion": np.arctan2(skull[2], skull[1]),
        "neck_lateral": np.arcsin(skull[0].clip(-1, 1)),
        "hip_flexion": np.arctan2(thigh_ahead[:, 2], -thigh_ahead[:, 1]),
        "hip_abduction": np.arcsin((thigh_ahead[:, 0] * [[1], [-1]]).clip(-1, 1)),
        "knee_flexion": np.where(toeward < -BENT, -bend, bend),
        "ankle_dorsiflexion": -np.arcsin(_cosine(shank, _unit(soles[1::2] - soles[::2]))),
        "shoulder_flexion": np.where(np.abs(arm_ahead[:, 0]) < _SIDEWAYS, flexion, np.nan),
        "elbow_flexion": np.arccos(_cosine(arm, forearm)),
    }
    rest = REST[skeleton] if isinstance(skeleton, str) else skeleton
    degrees = {kind: np.degrees(np.atleast_2d(values)) - rest.get(kind, 0.0) for kind, values in radians.items()}
    shoulder = degrees["shoulder_flexion"]
    degrees["shoulder_flexion"] = np.where(shoulder < -90, shoulder + 360.0, shoulder)
    return {
        name: degrees[kind][int(name.startswith("right_"))].reshape(positions.shape[:-2])
        for name, kind in zip(ANGLES, _KINDS, strict=True)
    }


def frames_last(joints: Array) -> Array:
    """Return joints as measures read them: float64 [22, 3, frame] of [..., 22, 3]; not copied where they lie so in memory."""
    return np.ascontiguousarray(joints.reshape(-1, *joints.shape[-2:]).transpose(1, 2, 0), np.float64)


def soles_of_body(body: Array) -> Array:
    """Return :func:`posegen.foundations.skeleton.sole_points` of joints [22, 3, frame]: float64 [4, 3, frame]."""
    with np.errstate(invalid="ignore", divide="ignore"):  # an ankle and a foot may be one point
        return np.moveaxis(sole_points(np.moveaxis(body, -1, 0)), 0, -1)


def _dot(one: Array, other: Array) -> Array:
    """Return the inner product of vectors [..., 3, frame]: float64 [..., frame]."""
    return np.asarray(np.einsum("...cf,...cf->...f", one, other))


def _cosine(one: Array, other: Array) -> Array:
    """Return the cosine of the angle between unit vectors, which rounding does not put beyond 1."""
    return _dot(one, other).clip(-1, 1)


def _unit(vectors: Array) -> Array:
    """Scale vectors [..., 3, frame] to length 1; NaN where the length is 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(vectors / np.sqrt(_dot(vectors, vectors))[..., None, :])


def _aside(vectors: Array, axis: Array) -> Array:
    """Return the part of vectors that is orthogonal to a unit vector."""
    return np.asarray(vectors - _dot(vectors, axis)[..., None, :] * axis)


def _axes(left: Array, up: Array) -> Array:
    """Return the axes left, up and forward of a body part, float64 [3, 3, frame], by its axis to the left and any other up."""
    above = _unit(_aside(up, left))
    return np.stack([left, above, np.cross(left, above, axis=0)])


def _along(vectors: Array, axes: Array) -> Array:
    """Return the coordinates along three axes, float64 [..., 3, frame], of vectors [..., 3, frame]."""
    return np.asarray(np.einsum("acf,...cf->...af", axes, vectors))


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
    reach = int(PASSING_SECONDS * fps)
    for number in np.unique(labels).tolist():
        known = number < len(names) and names[number] in library.entries
        for channel, range_ in library.action(names[number]).ranges.items() if known else ():
            low, high = widest(channel, range_.min, range_.max)
            for angle, part in angles_of(channel):
                near = np.convolve(labels[:, part] == number, np.ones(2 * reach + 1))[reach : reach + len(labels)] > 0
                if near.any():
                    usual = np.repeat(np.array(JOINT_LIMITS[channel])[:, None], len(labels), axis=1)
                    row = found.setdefault(angle, usual)
                    row[0, near], row[1, near] = np.minimum(row[0, near], low), np.maximum(row[1, near], high)
    return found

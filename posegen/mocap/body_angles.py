"""The rest pose of a clip: the offsets of its joints from their parents while all angles are 0; and the angles of its arms.

Angles of collar, shoulder and elbow have no jumps and lead back to those of an arm that hangs, the inverse of
:mod:`posegen.motion.arms`. Not responsible for the other angles, see :mod:`posegen.mocap.pose_channels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posegen.evaluation.body import point, true_intervals, unit
from posegen.exchange.joint_rotations import about_axis, from_vectors
from posegen.fields.field import minimum_jerk
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import ANATOMICAL, JOINT_LIMITS, JOINTS, PARENTS, PROPORTIONS

LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
"""Share of stature; the stature of a clip is that of a body with legs of this share."""
LIMBS = ("knee", "ankle", "elbow", "wrist")
"""Joints of limbs, which hang straight down."""
MOST_COLLAR = 30.0
BENDING = np.array([-0.3, 0.2, 1.0])
"""Direction in which the forearm of a straight arm would bend: outward, up and ahead."""
CLEAR = 0.25
"""Sine of the angle from which the direction of a bent or lifted limb is well defined."""
MOST_BEHIND = np.radians(45.0)
"""How far behind the side an arm may pass as it circles, so that it can pass to the side instead."""
LEADING, BEHIND = np.radians(45.0), np.radians(130.0)
"""An arm that passes to the side leaves its course this far beyond the side, and this near to the flexion behind the body."""


class Spine(NamedTuple):
    """Rotations of pelvis, spine1, spine2, chest and head, float64 [frame, 3, 3]; their columns are left, up and forward."""

    pelvis: Array
    spine1: Array
    spine2: Array
    chest: Array
    head: Array


def spine_rotations(angles: Mapping[str, Array]) -> Spine:
    """Return the rotations of a body with these angles of pelvis, trunk and neck: degrees, float64 [frame]."""
    pelvis = _turned(angles["pelvis_rotation"], angles["pelvis_tilt"], angles["pelvis_obliquity"])
    third = _turned(*(angles[f"trunk_{name}"] / 3 for name in ("rotation", "flexion")), -angles["trunk_lateral"] / 3)
    spine1, spine2 = pelvis @ third, pelvis @ third @ third
    chest = spine2 @ third
    # Positions do not show how a head turns.
    neck = _turned(np.zeros(len(chest)), angles["neck_flexion"], -angles["neck_lateral"])
    return Spine(pelvis, spine1, spine2, chest, chest @ neck)


def _turned(*degrees: Array) -> Array:
    """Return rotations about the vertical axis . the one to the left . the one ahead: float64 [frame, 3, 3]."""
    y, x, z = (about_axis(axis, np.radians(angle)) for axis, angle in zip((1, 0, 2), degrees, strict=True))
    return np.asarray(y @ x @ z)


def seen_from(axes: Array, vectors: Array) -> Array:
    """Return vectors [frame, 3] in the axes of rotations [frame, 3, 3]."""
    return np.asarray((np.swapaxes(axes, -1, -2) @ vectors[..., None])[..., 0])


def from_girdle(vectors: Array, elevation: Array, protraction: Array) -> Array:
    """Return vectors in the axes of the left chest [frame, 3] in those of its shoulder girdle; angles are degrees [frame]."""
    s, c = np.sin(np.radians(elevation)), np.cos(np.radians(elevation))
    x, y, z = vectors.T
    x, y = c * x + s * y, c * y - s * x
    s, c = np.sin(np.radians(protraction)), np.cos(np.radians(protraction))
    return np.stack([c * x + s * z, y, c * z - s * x], axis=-1)


def rest_offsets(body: Array, angles: Mapping[str, Array], spine: Spine) -> Array:
    """Return the offset of each joint from its parent in the rest pose, symmetric: fractions of stature, float64 [22, 3].

    Parameters
    ----------
    body : float64 [frame, 22, 3]
        Joints in leg lengths in the axes of the angles.
    angles : mapping of str to float64 [frame]
        Degrees from the rest pose, of both shoulder girdles.
    spine : Spine
    """
    rest = ANATOMICAL.copy()
    axes = {"spine1": spine.pelvis, "spine2": spine.spine1, "spine3": spine.spine2, "neck": spine.chest, "head": spine.head}
    axes |= {"left_hip": spine.pelvis, "left_collar": spine.chest, "left_shoulder": spine.chest}
    for name, rotation in axes.items():
        sides = ("left", "right") if name.startswith("left_") else ("",)
        found = np.mean([_offset(body, angles, name.replace("left", side), rotation) for side in sides], axis=0)
        rest[JOINTS.index(name)] = LEG * (found if len(sides) > 1 else found * (0, 1, 1))
    for limb in LIMBS:
        bones = np.stack([_away(body, f"{side}_{limb}") for side in ("left", "right")])
        length = np.median(np.sqrt((bones**2).sum(-1)), axis=1).mean()
        rest[JOINTS.index(f"left_{limb}")] = 0.0, -LEG * length, 0.0
    for joint, name in enumerate(JOINTS):
        if name.startswith("right_"):
            rest[joint] = rest[JOINTS.index(name.replace("right", "left"))] * (-1, 1, 1)
    return rest


def _offset(body: Array, angles: Mapping[str, Array], name: str, axes: Array) -> Array:
    """Return the median offset of a joint in the axes of its parent, on the left side: [3]."""
    away = seen_from(axes, _away(body, name)) * ((-1, 1, 1) if name.startswith("right") else (1, 1, 1))
    if name.endswith("shoulder"):
        side = name.partition("_")[0]
        away = from_girdle(away, angles[f"{side}_collar_elevation"], angles[f"{side}_collar_protraction"])
    return np.asarray(np.median(away, axis=0))


def _away(body: Array, name: str) -> Array:
    return point(body, name) - body[:, PARENTS[JOINTS.index(name)]]


def arm_angles(body: Array, chest: Array, side: str, sign: float) -> dict[str, Array]:
    """Return the angles of one arm of a clip.

    Parameters
    ----------
    body : float64 [frame, 22, 3]
        Joints on the ground of the clip.
    chest : float64 [frame, 3, 3]
        Axes of the chest, which those angles are relative to.
    side : str
        ``left`` or ``right``.
    sign : float
        1 on the left, -1 on the right.

    Returns
    -------
    dict of str to float64 [frame]
        Degrees from the rest pose.
    """
    mirror = np.array([sign, 1.0, 1.0])
    collar, shoulder, elbow, wrist = (point(body, f"{side}_{name}") for name in ("collar", "shoulder", "elbow", "wrist"))
    girdle = seen_from(chest, unit(shoulder - collar)) * mirror
    upper, fore = seen_from(chest, unit(elbow - shoulder)) * mirror, seen_from(chest, unit(wrist - elbow)) * mirror
    # Skeletons place the collar at other heights, so that it counts from its lowest position.
    raised = np.degrees(np.arctan2(girdle[:, 1], girdle[:, 0]))
    elevation = np.clip(raised - np.percentile(raised, 10), 0, MOST_COLLAR)
    turned = np.degrees(np.arctan2(girdle[:, 2], girdle[:, 0]))
    protraction = np.clip(turned - np.median(turned), -MOST_COLLAR, MOST_COLLAR)
    upper, fore = (from_girdle(vectors, elevation, protraction) for vectors in (upper, fore))
    flexion, abduction = _continuous(upper, fore)
    through = _through_side(flexion, abduction)
    if through is not None:
        flexion, abduction = through
        fore = _carried(upper, _direction(flexion, abduction), fore)
    across, along, ahead = _seen_from_arm(fore, flexion, abduction)
    bent = np.sqrt(across**2 + ahead**2)
    # A straight arm shows no rotation. Its elbow would bend ahead and inward, as persons bend it by themselves.
    usual_across, _, usual_ahead = _seen_from_arm(np.tile(BENDING, (len(fore), 1)), flexion, abduction)
    weight = np.clip(bent / CLEAR, 0, 1) ** 2
    size = np.maximum(np.sqrt(usual_across**2 + usual_ahead**2), 1e-6)
    across_mixed = weight * across / np.maximum(bent, 1e-6) + (1 - weight) * usual_across / size
    ahead_mixed = weight * ahead / np.maximum(bent, 1e-6) + (1 - weight) * usual_ahead / size
    rotation = np.unwrap(np.arctan2(across_mixed, ahead_mixed))
    low, high = np.radians(JOINT_LIMITS["shoulder_rotation"])
    rotation = np.clip(rotation - 2 * np.pi * np.round((rotation.mean() - 0.5 * (low + high)) / (2 * np.pi)), low, high)
    return {
        f"{side}_collar_elevation": elevation,
        f"{side}_collar_protraction": protraction,
        f"{side}_shoulder_flexion": np.degrees(flexion),
        f"{side}_shoulder_abduction": np.degrees(abduction),
        f"{side}_shoulder_rotation": np.degrees(rotation),
        f"{side}_elbow_flexion": np.degrees(np.arctan2(bent, along)),
    }


def _turned_too_far(fore: Array, flexion: Array, abduction: Array) -> Array:
    """Return how far an upper arm with these angles turns beyond its range, in radians, as far as a bent elbow shows it."""
    across, _, ahead = _seen_from_arm(fore, flexion, abduction)
    low, high = np.radians(JOINT_LIMITS["shoulder_rotation"])
    middle = (low + high) / 2
    away = np.abs(np.angle(np.exp(1j * (np.arctan2(across, ahead) - middle))))
    return np.asarray(np.clip((across**2 + ahead**2) / CLEAR**2, 0, 1) * np.maximum(away - (high - low) / 2, 0))


def _seen_from_arm(fore: Array, flexion: Array, abduction: Array) -> tuple[Array, Array, Array]:
    """Return the components of directions across, along and ahead of an upper arm with these angles (radians), unrotated."""
    s, c = np.sin(flexion), np.cos(flexion)
    x, y, z = fore[:, 0], c * fore[:, 1] - s * fore[:, 2], s * fore[:, 1] + c * fore[:, 2]
    s, c = np.sin(abduction), np.cos(abduction)
    return c * x + s * y, s * x - c * y, z


def _continuous(upper: Array, fore: Array) -> tuple[Array, Array]:
    """Return flexion and abduction in radians of the direction of an upper arm without jumps, on its left side: [frame] each.

    Each direction has two pairs of angles, such as up: flexed by 180 degrees, or abducted by 180. The sequence of pairs with
    the smallest changes is chosen, counted from standing and back to it: an arm that was raised ahead and lowered at the side
    hangs again, and is not both flexed and abducted by 180 degrees. Where the arm points to the side, every flexion is right,
    and the nearest clear one is kept.
    """
    abduction = np.arcsin(np.clip(upper[:, 0], -1, 1))
    flexion = np.arctan2(upper[:, 2], -upper[:, 1])
    clear = np.sqrt(upper[:, 1] ** 2 + upper[:, 2] ** 2)
    pairs = [(flexion, abduction), (flexion + np.pi, np.pi - abduction)]
    limits = [np.radians(JOINT_LIMITS[f"shoulder_{name}"]) for name in ("flexion", "abduction")]
    options = []
    for first, second in pairs:
        turned = _turned_too_far(fore, first, second)
        for turns in (-1, 0, 1):
            moved = first + turns * 2 * np.pi
            outside = sum(
                np.maximum(low - values, 0) + np.maximum(values - high, 0)
                for values, (low, high) in zip((moved, second), limits, strict=True)
            )
            options.append((moved, second, np.asarray(outside + turned)))
    values = np.array([option[:2] for option in options])  # [option, angle, frame]
    cost = np.array([option[2] for option in options])
    total, back = cost[:, 0] + np.abs(values[..., 0]).sum(axis=1), []
    for f in range(1, len(upper)):
        step = np.abs(values[:, None, 0, f] - values[None, :, 0, f - 1]) * clear[f]
        step = step + np.abs(values[:, None, 1, f] - values[None, :, 1, f - 1]) + total[None]
        back.append(step.argmin(axis=1))
        total = step.min(axis=1) + 0.1 * cost[:, f]
    which = [int((total + np.abs(values[..., -1]).sum(axis=1)).argmin())]
    for choices in reversed(back):
        which.append(int(choices[which[-1]]))
    chosen = values[which[::-1], :, np.arange(len(upper))]
    return steady(chosen[:, 0], clear / CLEAR), chosen[:, 1]


def _through_side(flexion: Array, abduction: Array) -> tuple[Array, Array] | None:
    """Return flexion and abduction of an upper arm that circles and points exactly to the side in each round, or None.

    There its flexion may turn back by a round, which an arm that passes further behind cannot: the angles of an arm that hangs
    again are those of standing. None if it does not circle, or passes too far behind.

    Parameters
    ----------
    flexion, abduction : float64 [frame]
        Radians without jumps.
    """
    rounds = np.floor((flexion + np.pi / 2) / (2 * np.pi)).astype(np.int64)  # changes where the arm is behind
    if rounds[0] == rounds[-1]:
        return None
    aside = np.arccos(np.clip(np.abs(np.sin(abduction)), 0, 1))
    flexed, away = flexion - 2 * np.pi * rounds, abduction.copy()
    for f in np.flatnonzero(np.diff(rounds)):
        if abs(rounds[f + 1] - rounds[f]) > 1 or aside[f] > MOST_BEHIND:
            return None
        behind = 2 * np.pi * max(rounds[f], rounds[f + 1]) - np.pi / 2
        near = (aside < aside[f] + LEADING) & (np.abs(flexion - behind) < BEHIND)
        run = next(run for run in true_intervals(near) if run.start <= f < run.stop)
        first, last = run.start, max(run.stop - 1, f + 1)
        span, within = np.arange(first, last + 1), slice(first, last + 1)
        share = (span - first) / (last - first)
        flexed[within] = flexed[first] + (flexed[last] - flexed[first]) * minimum_jerk(share)
        away[within] += np.interp(span, [first, f, last], [0, 1, 0]) * (np.sign(away[f]) * np.pi / 2 - away[within])
    return flexed, away


def _direction(flexion: Array, abduction: Array) -> Array:
    """Return the directions of upper arms with these angles, on the left side: float64 [frame, 3]."""
    level = np.cos(abduction)
    return np.stack([np.sin(abduction), -level * np.cos(flexion), level * np.sin(flexion)], axis=-1)


def _carried(before: Array, behind: Array, carried: Array) -> Array:
    """Return directions turned by the shortest turn from one direction to another; float64 [frame, 3] each."""
    axis = np.cross(before, behind)
    sine = np.sqrt((axis**2).sum(-1))
    angle = np.arctan2(sine, (before * behind).sum(-1))
    turn = from_vectors(axis * (angle / np.maximum(sine, 1e-9))[:, None])
    return np.asarray((turn @ carried[..., None])[..., 0])


def steady(angle: Array, clearness: Array) -> Array:
    """Return an angle that follows its neighbours where it is not clear, and is 0 where it is nowhere clear; radians."""
    angle = np.unwrap(angle)
    weight = np.clip(clearness, 0.0, 1.0) ** 2
    clear = weight > 0.5
    if not clear.any():
        return np.zeros_like(angle)
    filled = np.interp(np.arange(len(angle)), np.flatnonzero(clear), angle[clear])
    return np.asarray(weight * angle + (1 - weight) * filled)

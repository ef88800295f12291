"""Rotations of joints, frame by frame with matrices, as the docstring of `posegen.fields.rotation` defines them."""

from __future__ import annotations

import numpy as np

from posegen.foundations.skeleton import JOINTS, PARENTS

AIMED_AT = {
    "hip": "knee", "knee": "ankle", "ankle": "foot", "collar": "shoulder", "shoulder": "elbow", "elbow": "wrist",
    "spine1": "spine2", "spine2": "spine3", "neck": "head",
}  # fmt: skip
STRAIGHT = 0.08


def joint_rotations(joints: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the matrices of all joints in the world, [frame, 22, 3, 3], of joints [frame, 22, 3] and offsets [22, 3]."""
    return np.stack([_of_frame(dict(zip(JOINTS, places, strict=True)), offsets) for places in joints.astype(np.float64)])


def _of_frame(places: dict[str, np.ndarray], offsets: np.ndarray) -> np.ndarray:
    rest = dict(zip(JOINTS, offsets.astype(np.float64), strict=True))
    turned: dict[str, np.ndarray] = {}
    reached: dict[str, np.ndarray] = {}
    for name, number in zip(JOINTS, PARENTS, strict=True):
        parent = turned[JOINTS[number]] if number >= 0 else np.eye(3)
        reached[name] = reached[JOINTS[number]] + parent @ rest[name] if number >= 0 else places[name]
        side, _, part = name.rpartition("_")
        child = "_".join(filter(None, (side, AIMED_AT.get(part, ""))))
        if name in ("pelvis", "spine3"):
            known = ("left_hip", "right_hip", "spine1") if name == "pelvis" else ("left_collar", "right_collar", "neck")
            turned[name] = _rigid(places, *known) @ _rigid(rest, *known).T
        elif part in AIMED_AT and part in ("collar", "neck"):
            bone = _unit(places[child] - reached[name])
            turned[name] = shortest(parent @ _unit(rest[child]), bone) @ parent
        elif part in AIMED_AT:
            bone = _unit(places[child] - reached[name])
            x = _across(name, side, part, bone, parent, places)
            turned[name] = orthogonal(bone, x) @ orthogonal(_unit(rest[child]), np.array([1.0, 0.0, 0.0])).T
        else:
            turned[name] = parent
    return np.stack([turned[name] for name in JOINTS])


def _across(name: str, side: str, part: str, bone: np.ndarray, parent: np.ndarray, places: dict[str, np.ndarray]) -> np.ndarray:
    """Return the direction of a joint's x axis, before it is made orthogonal to the bone."""
    if part in ("hip", "knee"):
        shank = _unit(places[f"{side}_ankle"] - places[f"{side}_knee"])
        plane = np.cross(_unit(places[f"{side}_foot"] - places[f"{side}_ankle"]), shank)
        return plane if part == "knee" else np.cross(bone, shank) + STRAIGHT * (plane - bone * (plane @ bone))
    if part == "shoulder":
        outward = 1.0 if side == "left" else -1.0
        forearm = _unit(places[f"{side}_wrist"] - places[f"{side}_elbow"])
        swing = shortest(outward * parent[:, 0], bone)
        return np.cross(forearm, bone) + STRAIGHT * swing @ (outward * parent[:, 1])
    if name in ("spine1", "spine2"):
        share = 1 / 3 if name == "spine1" else 1 / 2
        return (1 - share) * parent[:, 0] + share * _unit(places["left_collar"] - places["right_collar"])
    return parent[:, 0]


def _unit(a: np.ndarray) -> np.ndarray:
    return a / np.linalg.norm(a)


def _rigid(places: dict[str, np.ndarray], left: str, right: str, top: str) -> np.ndarray:
    return orthogonal(places[left] - places[right], places[top] - (places[left] + places[right]) / 2)


def orthogonal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the matrix whose first column lies along `first`, and whose second one is as near to `second` as possible."""
    x = _unit(first)
    y = _unit(second - x * (x @ second))
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def shortest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shortest rotation between unit vectors by Rodrigues' formula."""
    axis, cosine = np.cross(a, b), a @ b
    sine = np.linalg.norm(axis)
    if sine < 1e-12:
        return np.eye(3)
    x, y, z = axis / sine
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + sine * skew + (1 - cosine) * skew @ skew

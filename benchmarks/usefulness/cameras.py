"""Projections by virtual cameras: inputs and targets of a model that lifts 2D joints to 3D.

The camera follows the subject, as with the value ``track`` of the field ``camera``: at 3 to 5 m, .9 to 1.9 m high, from any
side, with the image size and focal length of Human3.6M, directed at the height of the pelvis. Its 2D joints have no error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posegen.exchange.camera import project
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS

SIZE, FOCAL = 1000, 1145.0
DISTANCE, HEIGHT, ZOOM = (3.0, 5.0), (0.9, 1.9), (0.95, 1.05)
PELVIS = JOINTS.index("pelvis")


@dataclass(frozen=True)
class Poses:
    """Frames of clips.

    Attributes
    ----------
    picture : float32 [n, 22 * 2]
        Joints from the pelvis, x to the right and y down, in units of their root mean square distance from it:
        it does not contain the distance of the camera.
    body : float32 [n, 22 * 3]
        Joints from the pelvis in the camera's axes (right, down, forward), metres.
    clip : int64 [n]
    """

    picture: Array
    body: Array
    clip: Array


def look_at(position: tuple[float, float, float], target: tuple[float, float, float]) -> Array:
    """Return the extrinsics [3, 4] of an upright camera at `position` with `target` in the centre of its image."""
    origin = np.array(position, np.float64)
    forward = np.array(target) - origin
    right = np.array([-forward[2], 0.0, forward[0]])
    forward, right = (axis / np.sqrt((axis * axis).sum()) for axis in (forward, right))
    rotation = np.stack([right, np.cross(forward, right), forward])
    return np.column_stack([rotation, -rotation @ origin])


def lens(focal: float, size: tuple[int, int]) -> Array:
    """Return the intrinsics [3, 3] of a camera with square pixels and its principal point in the centre of its image."""
    return np.array([[focal, 0.0, size[0] / 2], [0.0, focal, size[1] / 2], [0.0, 0.0, 1.0]])


def camera_at(joints: Array, draws: Array) -> tuple[Array, Array]:
    """Return the extrinsics and the intrinsics of a camera for a clip whose pelvis stays above the origin.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up.
    draws : float64 [4]
        On [0, 1): side, distance, height, focal length.
    """
    angle = 2 * np.pi * draws[0]
    distance, height, zoom = (
        low + draw * (high - low) for draw, (low, high) in zip(draws[1:], (DISTANCE, HEIGHT, ZOOM), strict=True)
    )
    watched = float(joints[:, PELVIS, 1].mean())
    camera = look_at((distance * np.sin(angle), height, distance * np.cos(angle)), (0.0, watched, 0.0))
    return camera, lens(FOCAL * zoom, (SIZE, SIZE))


def seen(joints: Array, clip: int, draws: Array) -> Poses:
    """Project a clip by a camera.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up.
    clip : int
        Its number.
    draws : float64 [4]
        As for :func:`camera_at`.
    """
    there = np.asarray(joints, np.float64).copy()
    there[..., [0, 2]] -= there[:, PELVIS, None][..., [0, 2]]
    camera, inner = camera_at(there, draws)
    pixels, _ = project(there, camera, inner)
    if not np.isfinite(pixels).all():
        msg = f"clip {clip} has joints that are not in front of a camera at {DISTANCE[0]:g} m from its pelvis"
        raise ValueError(msg)
    away = pixels - pixels[:, PELVIS, None]
    size = np.sqrt((away**2).sum(axis=-1).mean(axis=-1))
    body = (there - there[:, PELVIS, None]) @ camera[:, :3].T
    flat = len(there), -1
    picture = (away / size[:, None, None]).reshape(flat)
    return Poses(picture.astype(np.float32), body.reshape(flat).astype(np.float32), np.full(len(there), clip))


def joined(poses: list[Poses]) -> Poses:
    """Concatenate poses."""
    return Poses(
        np.concatenate([each.picture for each in poses]),
        np.concatenate([each.body for each in poses]),
        np.concatenate([each.clip for each in poses]),
    )

"""Features of a clip for a classifier: root-relative, heading-free joints in leg lengths, and statistics of them.

No set depends on the position, heading, duration or stature of a clip, or on captions and labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from posegen.evaluation.body import joint_angles, point, unit
from posegen.evaluation.plausibility import REACH, low_pass
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS

SHORTEST = 2 * REACH + 4
"""Smallest number of frames of a piece."""
ENDS = [
    JOINTS.index(name)
    for name in ("head", *(f"{s}_{j}" for s in ("left", "right") for j in ("wrist", "elbow", "knee", "ankle")))
]
OFF, TREMBLING = 0.03, 0.003
"""Noise of a joint in metres, constant over the clip and per frame (standard deviations)."""
RATES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Frequencies of the spectrum in hertz, independent of the length of the piece."""


def pieces(joints: Array, fps: float, seconds: float) -> list[Array]:
    """Cut a clip into equal pieces of limited duration."""
    parts = np.array_split(joints, -(-len(joints) // round(seconds * fps)))
    return [part for part in parts if len(part) >= SHORTEST]


def mirrored(joints: Array) -> Array:
    """Return the joints with left and right exchanged."""
    return joints[:, list(MIRROR_JOINTS)] * np.array([-1.0, 1.0, 1.0])


def roughened(joints: Array, draws: np.random.Generator) -> Array:
    """Add noise to each joint: one offset for all frames of a clip, and a smaller one per frame.

    Mocap joints follow the skeleton of the capture software, so a classifier must not depend on positions of joints to the
    centimetre.
    """
    return np.asarray(joints + draws.normal(0, OFF, (1, *joints.shape[1:])) + draws.normal(0, TREMBLING, joints.shape))


def _relative(joints: Array) -> Array:
    """Return the joints relative to the pelvis and to the mean heading of the hips, in leg lengths."""
    joints = np.asarray(joints, np.float64)
    left = unit((point(joints, "left_hip") - point(joints, "right_hip"))[:, [0, 2]].mean(0))
    turn = np.array([[left[0], -left[1]], [left[1], left[0]]])
    places = joints - point(joints, "pelvis")[:, None]
    places[..., [0, 2]] = places[..., [0, 2]] @ turn
    hip, knee, ankle = (point(joints, f"left_{name}") for name in ("hip", "knee", "ankle"))
    leg = sum(np.sqrt(((a - b) ** 2).sum(-1)).mean() for a, b in ((hip, knee), (knee, ankle)))
    return np.asarray(places / leg)


def _statistics(series: Array) -> Array:
    """Return mean, spread, 5th and 95th percentile over time of each column."""
    flat = series.reshape(len(series), -1)
    return np.concatenate([flat.mean(0), flat.std(0), *np.percentile(flat, [5, 95], axis=0)])


def ends(joints: Array, fps: float) -> Array:
    return _statistics(_relative(joints)[:, ENDS])


def angles(joints: Array, fps: float) -> Array:
    found = joint_angles(joints)
    # Rotations beyond upright have no angle of their own; the lean of the trunk is no joint angle, but is included.
    series = np.stack([np.nan_to_num(found[name], nan=90.0) for name in sorted(found)], axis=-1)
    lean = unit(point(joints, "neck") - point(joints, "pelvis"))[:, 1:2]
    return np.concatenate([_statistics(series / 90), _statistics(lean)])


def speeds(joints: Array, fps: float) -> Array:
    moving = np.diff(low_pass(_relative(joints)[:, 1:], fps), axis=0) * fps
    speed = np.sqrt((moving**2).sum(-1))
    return np.concatenate([np.log(0.05 + speed.mean(0)), np.log(0.05 + speed.max(0)), speed.std(0) / (0.05 + speed.mean(0))])


def spectra(joints: Array, fps: float) -> Array:
    places = _relative(joints)[:, ENDS].reshape(len(joints), -1)
    places = places - places.mean(0)
    times = np.arange(len(places)) / fps
    waves = np.exp(-2j * np.pi * np.array(RATES)[:, None] * times) / len(places)
    return np.log(1e-3 + np.abs(waves @ places)).ravel()


SETS: Mapping[str, Callable[[Array, float], Array]] = {"ends": ends, "angles": angles, "speeds": speeds, "spectra": spectra}
"""Feature sets of a piece, by name."""

FEATURES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in SETS},
    "ends and speeds": ("ends", "speeds"),
    "ends and angles": ("ends", "angles"),
    "angles and speeds": ("angles", "speeds"),
    "ends, speeds, spectra": ("ends", "speeds", "spectra"),
}
"""Feature sets that a classifier uses, by name."""

"""Stretches of the same length that clips are cut into, so that long and short ones compare, and what is said of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.body import centre_of_mass, point, unit
from posegen.evaluation.filtering import low_pass
from posegen.evaluation.geometry import geometric_features
from posegen.evaluation.kinetics import kinetic_features
from posegen.evaluation.limits import joint_angles
from posegen.evaluation.npss import power_spectrum
from posegen.evaluation.recording import Recording
from posegen.evaluation.smoothness import log_dimensionless_jerk, sparc

__all__ = ["SECONDS", "STATISTICS", "Windows", "describe_windows", "joined"]

Array = NDArray[Any]

SECONDS = 1.6

STATISTICS = (
    "pelvis speed", "wrist speed", "ankle speed", "acceleration", "jerk", "SPARC wrists", "SPARC ankles", "log jerk wrists",
    "log jerk ankles", "knee range", "hip range", "elbow range", "trunk lean", "rise of mass",
)  # fmt: skip
"""Speeds in m/s, acceleration and jerk in m/s^2 and m/s^3 (root mean square, 5 Hz low pass), ranges and lean in
degrees, rise in metres."""


@dataclass(frozen=True)
class Windows:
    """What is said of n windows.

    Attributes
    ----------
    person : str [n]
    shown : str [n]
        What is shown in the middle of each: the family of a captured clip, or the action of the legs.
    kinetic : float [n, 66]
    geometric : float [n, 32]
    statistics : float [n, statistic]
    power : float [n, frequency, coordinate]
        Power spectra of joints relative to the pelvis and the first heading.
    """

    person: Array
    shown: Array
    kinetic: Array
    geometric: Array
    statistics: Array
    power: Array

    def __len__(self) -> int:
        return len(self.person)

    def __getitem__(self, chosen: Array) -> Windows:
        return Windows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def describe_windows(recording: Recording) -> Iterator[Windows]:
    """Describe each full window of a clip; none of one that is too short."""
    length = round(SECONDS * recording.fps)
    for start in range(0, len(recording.joints) - length + 1, length):
        joints, fps = recording.joints[start : start + length], recording.fps
        described = (kinetic_features(joints, fps), geometric_features(joints, fps), _statistics(joints, fps), _power(joints))
        names = (np.array([name]) for name in (recording.person, recording.shown_at(start + length // 2)))
        yield Windows(*names, *(figures[None].astype(np.float32) for figures in described))


def joined(windows: Iterable[Windows]) -> Windows | None:
    """Put windows together; None if there are none."""
    parts = list(windows)
    if not parts:
        return None
    return Windows(*(np.concatenate([getattr(part, name) for part in parts]) for name in Windows.__dataclass_fields__))


def _power(joints: Array) -> Array:
    across = unit((point(joints, "left_hip") - point(joints, "right_hip"))[0, [0, 2]])
    turn = np.array([[across[0], -across[1]], [across[1], across[0]]])  # the first frame's left becomes x
    places = joints - point(joints, "pelvis")[:, None]
    places[..., [0, 2]] = places[..., [0, 2]] @ turn
    return power_spectrum((places - places.mean(0)).reshape(len(places), -1))


def _statistics(joints: Array, fps: float) -> Array:
    filtered = low_pass(joints, fps)
    motion = [np.diff(filtered, order, axis=0) * fps**order for order in (1, 2, 3)]
    speed, acceleration, jerk = (np.sqrt((m * m).sum(-1)) for m in motion)
    pairs = {name: speed[:, [joint, joint + 1]] for name, joint in (("ankle", 7), ("wrist", 20))}
    angles = joint_angles(joints)
    trunk = point(joints, "neck") - point(joints, "pelvis")

    def smooth(measure: Any, name: str) -> float:
        return float(np.mean([measure(pairs[name][:, side], fps) for side in (0, 1)]))

    def reach(name: str) -> float:
        return float(np.mean([np.ptp(angles[f"{side}_{name}_flexion"]) for side in ("left", "right")]))

    return np.array([
        speed[:, 0].mean(), pairs["wrist"].mean(), pairs["ankle"].mean(),
        np.sqrt((acceleration**2).mean()), np.sqrt((jerk**2).mean()),
        smooth(sparc, "wrist"), smooth(sparc, "ankle"),
        smooth(log_dimensionless_jerk, "wrist"), smooth(log_dimensionless_jerk, "ankle"),
        reach("knee"), reach("hip"), reach("elbow"),
        np.degrees(np.arccos(np.clip(unit(trunk)[:, 1], -1, 1))).mean(),
        np.ptp(centre_of_mass(joints)[:, 1]),
    ])  # fmt: skip

"""What comes of all the gait of a dataset: its walks and runs, and the mean curves of the leg's angles by speed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.cycles import PHASES, angle_cycles, straight_way, touch_downs
from posegen.evaluation.gait_report import RUNNING, WALKING, Run, Walk, run_of, steady, walk_of
from posegen.evaluation.normative import ANGLES, SPREAD, published_curve, speed_bin
from posegen.evaluation.recording import Recording

__all__ = ["Curve", "GaitTally"]

Array = NDArray[Any]

MOST_KEPT = 10_000
"""Walks, and runs, that are kept one by one: enough for a picture, and memory does not grow with the dataset."""


@dataclass(frozen=True)
class Curve:
    """The mean of an angle over the cycle, at one bin of speed, beside the published one.

    Attributes
    ----------
    angle, speed : str
        As :mod:`posegen.evaluation.normative` names them.
    cycles : int
        That the mean is of.
    mean : list of float
        Degrees at 50 phases from touch-down on.
    farthest, at : float or None
        The largest distance from the published curve, in standard deviations between people, and the phase of it; None where
        no curve is published.
    """

    angle: str
    speed: str
    cycles: int
    mean: list[float]
    farthest: float | None
    at: float | None


@dataclass
class GaitTally:
    """Takes clips one by one; what it keeps does not grow with them."""

    walks: list[Walk] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    sums: dict[str, tuple[int, Array]] = field(default_factory=dict)
    most: int = MOST_KEPT

    def add(self, recording: Recording) -> None:
        """Take the gait of a clip down."""
        for stretch in steady(recording, WALKING):
            walk = walk_of(stretch)
            if walk is not None:
                if len(self.walks) < self.most:
                    self.walks.append(walk)
                self.add_cycles(stretch, walk)
        for stretch in steady(recording, RUNNING):
            run = run_of(stretch)
            if run is not None and len(self.runs) < self.most:
                self.runs.append(run)

    def add_cycles(self, stretch: Recording, walk: Walk) -> None:
        """Take the angles of a stretch of walking down."""
        way = straight_way(stretch.joints, stretch.fps)
        if way is not None:
            cycles = angle_cycles(stretch.joints, touch_downs(stretch.joints, stretch.contact, way))
            speed = speed_bin(walk.speed, walk.leg)
            count, total = self.sums.get(speed, (0, np.zeros((len(ANGLES), len(PHASES)))))
            self.sums[speed] = count + len(cycles), total + cycles.sum(0)

    def curves(self) -> list[Curve]:
        """Give the mean curves beside the published ones."""
        return [
            _curve(angle, speed, count, total[k] / count)
            for speed, (count, total) in self.sums.items()
            if count
            for k, angle in enumerate(ANGLES)
        ]


def _curve(angle: str, speed: str, cycles: int, mean: Array) -> Curve:
    published = published_curve(angle, speed, PHASES)
    values = [round(float(value), 2) for value in mean]
    if published is None:
        return Curve(angle, speed, cycles, values, None, None)
    distance = np.abs(mean - published) / SPREAD[angle]
    return Curve(angle, speed, cycles, values, float(distance.max()), float(PHASES[distance.argmax()]))

"""Steady straight walking against the laws of gait, with contacts found from positions alone.

A heel touches down where it is farthest before the pelvis, and toes leave the floor where they are farthest behind it (Zeni
et al. 2008), between frames by the parabola through three. That is late for the toes by some 4 % of the cycle, of real walkers
as well, so the law of stance is held against the contact labels, and the stance from positions serves comparisons only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.body import point
from posegen.evaluation.recording import Recording
from posegen.skeleton import PROPORTIONS, sole_points

__all__ = ["Walk", "stance_of_labels", "walks", "walks_of_frames"]

Array = NDArray[Any]

EDGE = 0.6
"""Seconds left out at the ends of a segment, where it starts, stops and blends."""
STRAIGHT = 5.0
WALK_RATIO, USUAL_LEG = 0.0065, 0.9
WALKING = "walk"


@dataclass(frozen=True)
class Walk:
    """A stretch of steady straight walking.

    Attributes
    ----------
    speed : float
        m/s.
    cadence : float
        Steps a minute.
    step : float
        Metres.
    stance : float
        % of the cycle from touch-down to toe-off as found from positions; some 4 points too long.
    leg : float
        Height of the hip of a straight leg, metres.
    labelled_stance : float or None
        % of the cycle that heel or toe is labelled as touching; None without labels or a whole cycle of them.
    """

    speed: float
    cadence: float
    step: float
    stance: float
    leg: float
    labelled_stance: float | None = None

    @property
    def ratio_error(self) -> float:
        """Walk ratio, for a leg of .9 m, relative to .0065 m a step a minute, less 1."""
        return self.step / self.cadence * USUAL_LEG / self.leg / WALK_RATIO - 1

    @property
    def stance_error(self) -> float | None:
        """Points by which labelled stance exceeds 64.2 - 3.5 v (Kirtley et al. 1985)."""
        return None if self.labelled_stance is None else self.labelled_stance - (64.2 - 3.5 * self.speed)


def walks(recording: Recording) -> Iterator[Walk]:
    """Find the steady straight walks that a clip's labels tell of, and measure them."""
    edge = round(EDGE * recording.fps)
    for segment in recording.segments:
        if segment["action"] == WALKING and "legs" in segment["parts"] and abs(segment["turn"]) < STRAIGHT:
            steady = slice(segment["start"] + edge, segment["end"] - edge)
            walk = walks_of_frames(recording.joints[steady], recording.fps)
            if walk is not None:
                touching = None if recording.contact is None else stance_of_labels(recording.contact[steady])
                yield replace(walk, labelled_stance=touching)


def stance_of_labels(contact: Array) -> float | None:
    """Share of whole cycles in which a foot touches, in %: uint8 [frame, point]; None where there is no whole cycle."""
    shares = []
    for heel in (0, 2):
        down = (contact[:, heel : heel + 2] == 1).any(-1)
        starts = np.flatnonzero(down[1:] & ~down[:-1]) + 1
        if len(starts) > 1:
            shares.append(100 * float(down[starts[0] : starts[-1]].mean()))
    return float(np.mean(shares)) if shares else None


def walks_of_frames(joints: Array, fps: float) -> Walk | None:
    """Measure a stretch of walking straight on: float [frame, 22, 3]. None where it has no two strides of a side."""
    if len(joints) < 3:
        return None
    pelvis = point(joints, "pelvis")[:, [0, 2]]
    way = pelvis[-1] - pelvis[0]
    distance = float(np.sqrt((way * way).sum()))
    if distance == 0:
        return None
    speed = distance / (len(joints) - 1) * fps
    ahead = ((sole_points(joints)[..., [0, 2]] - pelvis[:, None]) * (way / distance)).sum(-1)
    strides, stances = [], []
    for side in (0, 1):
        contacts, leaves = _peaks(ahead[:, 2 * side]), _peaks(-ahead[:, 2 * side + 1])
        for start, stop in pairwise(contacts):
            between = leaves[(leaves > start) & (leaves < stop)]
            if len(between) == 1:
                strides.append((stop - start) / fps)
                stances.append(100 * (between[0] - start) / (stop - start))
    if len(strides) < 2:
        return None
    stride = float(np.mean(strides))
    return Walk(speed, 120 / stride, speed * stride / 2, float(np.mean(stances)), _leg(joints))


def _peaks(series: Array) -> Array:
    """Times of the local maxima in the upper half of a series, in frames."""
    middle = series[1:-1]
    high = (middle > series[:-2]) & (middle >= series[2:]) & (middle > (series.max() + series.min()) / 2)
    at = np.flatnonzero(high) + 1
    before, here, after = series[at - 1], series[at], series[at + 1]
    return np.asarray(at + 0.5 * (before - after) / (before - 2 * here + after))


def _leg(joints: Array) -> float:
    hip, knee, ankle = (point(joints, f"left_{name}") for name in ("hip", "knee", "ankle"))
    limb = sum(float(np.sqrt(((a - b) ** 2).sum(-1)).mean()) for a, b in ((hip, knee), (knee, ankle)))
    return limb * (1 + PROPORTIONS["ankle_height"] / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))

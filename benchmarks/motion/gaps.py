"""Medians of generated motion beside those of mocap, for each family with enough clips: how pelvis, trunk, limbs and path move.

A median counts as real where it lies between the 25th and the 75th percentile of mocap. One function measures both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import captured, fit, lacking
from benchmarks.motion.features import pieces
from benchmarks.motion.scripted import excerpts
from posegen.evaluation.body import point, unit
from posegen.evaluation.performances import ACTIONS
from posegen.evaluation.plausibility import low_pass
from posegen.foundations.arrays import Array
from posegen.library.load import load_library

SAMPLES, MOST, LONGEST = 100, 200, 4.0
TARGET = 0.8
UP = np.array([0.0, 1.0, 0.0])
BONES = [("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist")]


def measure(folder: Path) -> Iterator[Figure]:
    clips = captured()
    if clips is None:
        yield Figure("medians beside mocap", "not measured: POSEGEN_REFERENCE is not set", f"at least {TARGET:.0%} in its band")
        return
    library, families = load_library(), fit(clips)
    inside, rows = [], []
    for family, of_it in families.items():
        if family in lacking(families, library.actions):
            continue
        actions = [name for name in ACTIONS[family] if name in library.actions]
        each = MOST // len(actions)
        ours = (s for action in actions for s in islice(excerpts(library, action, scaled(SAMPLES, 20)), each))
        # Half of the clips of some families last less than a second and a half: pieces of both sides are as long.
        seconds = min(LONGEST, 1.2 * float(np.median([len(clip.joints) / clip.fps for clip in of_it])))
        real, made = table(((c.joints, c.fps) for c in of_it), seconds), table(((s.joints, s.fps) for s in ours), seconds)
        for name, values in made.items():
            low, middle, high = np.percentile(real[name], [25, 50, 75])
            median = float(np.median(values))
            inside.append(bool(low <= median <= high))
            mark = "" if inside[-1] else (" (below)" if median < low else " (above)")
            rows.append(Figure(f"{family}: {name}{mark}", f"{median:.3g}; mocap {middle:.3g}, {low:.3g} to {high:.3g}"))
    share = float(np.mean(inside))
    measured = f"{sum(inside)} of {len(inside)} medians, {share:.0%}"
    yield Figure("medians in the middle half of mocap", measured, f"at least {TARGET:.0%}", share >= TARGET)
    yield from rows


def table(clips: Iterable[tuple[Array, float]], seconds: float) -> dict[str, Array]:
    """Return each feature of the pieces of clips, which last that long at most."""
    found = [features(piece, fps) for joints, fps in clips for piece in pieces(joints, fps, seconds)]
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def _spread(values: Array) -> float:
    """Return the range from the 5th to the 95th percentile."""
    return float(np.ptp(np.percentile(values, [5, 95])))


def _degrees(vectors: Array, axis: Array) -> Array:
    """Return by how many degrees vectors rise towards an axis."""
    return np.degrees(np.arcsin(np.clip((unit(vectors) * axis).sum(-1), -1, 1)))


def features(joints: Array, fps: float) -> dict[str, float]:
    """Return angles in degrees, lengths in legs and seconds; the root is the middle of the hips."""
    joints = low_pass(np.asarray(joints, np.float64), fps)
    at = {f"{side} {name}": point(joints, f"{side}_{name}") for side in ("left", "right") for chain in BONES for name in chain}
    thigh, shank = (at[f"left {a}"] - at[f"left {b}"] for a, b in (("hip", "knee"), ("knee", "ankle")))
    leg = sum(np.sqrt((bone**2).sum(-1)).mean() for bone in (thigh, shank))
    hips, shoulders = at["left hip"] - at["right hip"], at["left shoulder"] - at["right shoulder"]
    root, left = 0.5 * (at["left hip"] + at["right hip"]) / leg, unit(hips * [1, 0, 1])
    ahead, trunk = np.cross(left, UP), point(joints, "neck") - root * leg
    twist = np.degrees(np.arctan2((unit(shoulders) * ahead).sum(-1), (unit(shoulders) * left).sum(-1)))
    bends = {}
    for upper, middle, lower in BONES:
        ends = [[unit(at[f"{s} {end}"] - at[f"{s} {middle}"]) for end in (upper, lower)] for s in ("left", "right")]
        bends[middle] = np.stack([180 - np.degrees(np.arccos(np.clip((a * b).sum(-1), -1, 1))) for a, b in ends])
    speeds = np.sqrt((np.diff(joints, axis=0) ** 2).sum(-1)) * fps / leg
    wrists, ankles = (np.stack([at[f"{s} {name}"] for s in ("left", "right")]) / leg for name in ("wrist", "ankle"))
    apart = np.abs(((ankles[0] - ankles[1]) * left).sum(-1))
    swings = np.stack([_degrees(at[f"{s} elbow"] - at[f"{s} shoulder"], ahead) for s in ("left", "right")])
    out = np.stack([_degrees(at[f"{s} elbow"] - at[f"{s} shoulder"], sign * left) for s, sign in (("left", 1), ("right", -1))])
    way = np.sqrt((np.diff(root[:, [0, 2]], axis=0) ** 2).sum(-1))
    return {
        "pelvis list": _spread(_degrees(hips, UP)),
        "shoulder list": _spread(_degrees(shoulders, UP)),
        "twist range": _spread(twist),
        "trunk lean": float(np.median(_degrees(trunk, ahead))),
        "trunk lean range": _spread(_degrees(trunk, ahead)),
        "trunk sideways range": _spread(_degrees(trunk, left)),
        "root height range": _spread(root[:, 1]),
        "root travel": float(np.sqrt((np.ptp(root[:, [0, 2]], axis=0) ** 2).sum())),
        "root speed": float(way.mean() * fps),
        "hip height": float(np.median(root[:, 1] - ankles[..., 1].min(0))),
        "knee mean": float(bends["knee"].mean()),
        "knee least": float(np.percentile(bends["knee"], 5)),
        "knee most": float(np.percentile(bends["knee"], 95)),
        "elbow mean": float(bends["elbow"].mean()),
        "elbow range": _spread(bends["elbow"][0]) / 2 + _spread(bends["elbow"][1]) / 2,
        "arm swing range": _spread(swings[0]) / 2 + _spread(swings[1]) / 2,
        "arms out": float(np.median(out)),
        "ankles apart": float(np.median(apart)),
        "wrist speed, fastest": float(np.percentile(np.sqrt((np.diff(wrists, axis=1) ** 2).sum(-1)), 95) * fps),
        "ankle speed, fastest": float(np.percentile(np.sqrt((np.diff(ankles, axis=1) ** 2).sum(-1)), 95) * fps),
        "ankle speed, slowest": float(np.percentile(np.sqrt((np.diff(ankles, axis=1) ** 2).sum(-1)), 20) * fps),
        "joint speed": float(np.median(speeds)),
    }

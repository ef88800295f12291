"""Plausibility of stored motion: bone lengths, floor contact and frozen frames of 2,000 samples in all variants."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate, slabs
from benchmarks.figures import Figure
from posegen.evaluation.body import frames_last
from posegen.evaluation.plausibility import contact_speeds, depth_of
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRID
from posegen.foundations.skeleton import PARENTS, sole_points

# Both ends of a bone are rounded by up to half a grid cell along three axes, in every frame.
BONE = 1e-5 + 2 * math.sqrt(3) * GRID
DEPTH = 0.01
SLIDE = 0.2
STATIC = 0.98
FROZEN_SECONDS = 0.1


def measure(folder: Path) -> Iterator[Figure]:
    path = generate(folder / "dataset", "--samples", "2000", "--workers", "2")
    fps = json.loads((path / "dataset.json").read_text(encoding="utf-8"))["fps"]
    bone, depth, frozen = 0.0, 0.0, 0
    speeds = []
    for slab in slabs(path):
        joints, contact = slab["joints"], slab["contact"]
        for variant in range(joints.shape[1]):
            bone = max(bone, bone_length_error(joints[:, variant]))
            depth = max(depth, depth_of(frames_last(sole_points(joints[:, variant]))))
            frozen = max(frozen, int(frozen_frames(joints[:, variant]).max()))
            speeds.append(sole_speeds(joints[:, variant], contact[:, variant], fps))
    speed = np.concatenate(speeds)
    static = float((speed < SLIDE).mean())
    yield Figure(
        "largest change of a bone's length as stored", f"{1000 * bone:.3f} mm", f"under {1000 * BONE:.3f}", bone < BONE
    )
    yield Figure(
        "deepest sole point below the floor", f"{1000 * depth:.1f} mm", f"at most {1000 * DEPTH:.0f} mm", depth <= DEPTH
    )
    value = f"{100 * static:.2f} %, 99th percentile {np.percentile(speed, 99):.3f} m/s"
    yield Figure(f"sole points in contact that move under {SLIDE} m/s", value, f"{100 * STATIC:.0f} %", static >= STATIC)
    seconds = frozen / fps
    yield Figure("longest frozen stretch", f"{seconds:.2f} s", f"under {FROZEN_SECONDS} s", seconds < FROZEN_SECONDS)


def bone_length_error(joints: Array) -> float:
    """Return the largest deviation, in metres, of any bone of bodies [..., frame, 22, 3] from its mean length in the clip."""
    bodies = joints[np.isfinite(joints).any((-3, -2, -1))].astype(np.float64)  # [body, frame, joint, axis]
    lengths = np.linalg.norm(bodies[:, :, 1:] - bodies[:, :, PARENTS[1:]], axis=-1)
    return float(np.nanmax(np.abs(lengths - np.nanmean(lengths, axis=1, keepdims=True))))


def sole_speeds(joints: Array, contact: Array, fps: float) -> Array:
    """Return the speeds, in m/s, of all sole points of bodies [..., frame, 22, 3] while they are labelled as in contact."""
    soles, touching = sole_points(joints), contact == 1
    bodies = zip(soles.reshape(-1, *soles.shape[-3:]), touching.reshape(-1, *touching.shape[-2:]), strict=True)
    return np.concatenate([contact_speeds(frames_last(own), labels, fps) for own, labels in bodies])


def frozen_frames(joints: Array, tolerance: float = 0.0) -> Array:
    """Return the length of the longest interval of frames without any movement.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.
    tolerance : float
        A frame is frozen if no coordinate of any joint differs from the previous frame by more than this.

    Returns
    -------
    int64 [...]
        Frames.
    """
    step = np.abs(np.diff(np.asarray(joints, np.float64), axis=-3)).max((-2, -1))
    frozen = step <= tolerance  # False where the figure is absent: comparisons with NaN are false
    longest = run = np.zeros(frozen.shape[:-1], np.int64)
    for frame in range(frozen.shape[-1]):
        run = np.where(frozen[..., frame], run + 1, 0)
        longest = np.maximum(longest, run)
    return longest

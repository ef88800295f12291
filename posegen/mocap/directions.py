"""Directions in which the performances of one action differ: principal components of the clips of one label.

Clips are aligned in time with one of them. The components of their differences are written into each key pose as offsets, so
that a performance is between the clips, or a little beyond them, instead of one of them. With two clips, the direction is that
from the one to the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINT_LIMITS
from posegen.library.stages import MOST_OFFSETS
from posegen.mocap.key_poses import curve_through
from posegen.motion.scene_arrays import NEUTRAL

POINTS = 41
"""Moments of the cycle at which clips are compared."""
SPREAD = 0.8
"""Standard deviations by which a person is away from a clip at most in each direction."""
ROOM = 3.0
"""Degrees that are left to the end of the range of a joint."""
LEAST = 0.5
"""Degrees below which an offset is left out."""
WARP = 6
"""Points by which two clips may be apart in time."""


def add_offsets(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of an action file with offsets.

    Feet and pelvis keep their places, since they depend on each other.

    Parameters
    ----------
    entries : sequence of mapping
        One for each clip of an action.
    """
    if len(entries) < 2:
        return [dict(entry) for entry in entries]
    tracks = [_tracks(entry) for entry in entries]
    names = sorted({name for track in tracks for name in track})
    values = np.array([[track.get(name, np.zeros(POINTS)) for name in names] for track in tracks])  # [clip, channel, point]
    if not names:
        return [dict(entry) for entry in entries]
    alignments = [_alignment(values[0], clip) for clip in values]
    aligned = np.array([clip[:, at] for clip, at in zip(values, alignments, strict=True)])
    away = (aligned - aligned.mean(axis=0)).reshape(len(aligned), -1)
    _, sizes, axes = np.linalg.svd(away, full_matrices=False)
    count = min(MOST_OFFSETS, len(entries) - 1, int((sizes > 1e-6 * max(float(sizes[0]), 1e-9)).sum()))
    spread = SPREAD / np.sqrt(max(len(entries) - 1, 1))
    components = [(axes[k] * sizes[k] * spread).reshape(len(names), POINTS) for k in range(count)]
    return [
        _with_offsets(entry, names, clip, _in_range(components, names, clip, at), at)
        for entry, clip, at in zip(entries, values, alignments, strict=True)
    ]


def _tracks(entry: Mapping[str, Any]) -> dict[str, Array]:
    """Return the channels of an action over its cycle, at :data:`POINTS` points, without those of feet and pelvis."""
    names = {name for pose in (entry["pose"], *(key["pose"] for key in entry["cycle_keys"])) for name in pose}
    tracks = {}
    for name in names:
        if "_foot_" in name or name.startswith(("root_", "pelvis_")):
            continue
        start = entry["pose"].get(name, 0.0)
        knots = [(0.0, start), *((key["at"], key["pose"][name]) for key in entry["cycle_keys"] if name in key["pose"])]
        if knots[-1][0] < 1:
            knots.append((1.0, start))
        at, values = np.array(knots).T
        tracks[name] = curve_through(at, values, np.linspace(0, 1, POINTS))
    return tracks


def _alignment(one: Array, other: Array) -> Array:
    """Return the points of the other clip that resemble each point of the one: ascending, by dynamic programming."""
    cost = ((one[:, :, None] - other[:, None, :]) ** 2).sum(axis=0)
    apart = np.abs(np.subtract.outer(np.arange(POINTS), np.arange(POINTS)))
    total = np.where(apart <= WARP, cost, np.inf)
    back = np.zeros((POINTS, POINTS), np.int64)
    for i in range(1, POINTS):
        for j in range(POINTS):
            options = total[i - 1, max(j - 2, 0) : j + 1]
            best = int(options.argmin())
            back[i, j] = max(j - 2, 0) + best
            total[i, j] += options[best]
    at = [POINTS - 1]
    for i in range(POINTS - 1, 0, -1):
        at.append(int(back[i, at[-1]]))
    return np.array(at[::-1])


def _in_range(components: Sequence[Array], names: Sequence[str], clip: Array, at: Array) -> list[Array]:
    """Return the components, as small as needed for all joints of a clip to stay in their ranges."""
    most = sum((np.abs(component) for component in components), np.zeros_like(clip))
    shares = np.ones(len(names))
    for c, name in enumerate(names):
        angle = name.removeprefix("near_").removeprefix("far_")
        if angle in JOINT_LIMITS:
            low, high = (limit - NEUTRAL.get(angle, 0.0) for limit in JOINT_LIMITS[angle])
            room = np.minimum(clip[c, at] - low, high - clip[c, at]) - ROOM
            shares[c] = float(np.clip(room / np.maximum(most[c], 1e-9), 0, 1).min())
    return [component * shares[:, None] for component in components]


def _with_offsets(
    entry: Mapping[str, Any], names: Sequence[str], clip: Array, components: Sequence[Array], at: Array
) -> dict[str, Any]:
    where = at / (POINTS - 1)

    def offsets(share: float, given: Sequence[str] | None) -> list[dict[str, float]]:
        found = []
        for component in components:
            pose = {}
            for c, name in enumerate(names):
                value = float(np.interp(share, where, component[c]))
                if (given is None or name in given) and abs(value) >= LEAST:
                    pose[name] = round(value, 1)
            found.append(pose)
        return found

    keys = [key | {"offsets": offsets(key["at"], list(key["pose"]))} for key in entry["cycle_keys"]]
    keys = [key if any(key["offsets"]) else {name: value for name, value in key.items() if name != "offsets"} for key in keys]
    return dict(entry) | {"offsets": offsets(0.0, None), "cycle_keys": keys}

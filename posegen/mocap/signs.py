"""Signs of an imported action: signals in the joints of its clips by which captions about its side and count are checked.

A sign is given only where every clip of the action shows it clearly. Without a sign, captions state neither side nor count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posegen.checks.evidence import fill_signal
from posegen.foundations.arrays import Array
from posegen.foundations.scene import BOTH, LEFT, RIGHT
from posegen.library.schema import SIGNALS, Signal
from posegen.mocap.clip_entry import ClipAction

SIDE_SIGNALS: tuple[Signal, ...] = ("hand_height", "foot_height", "hand_ahead", "foot_ahead", "hand_reach")
COUNT_SIGNALS: tuple[Signal, ...] = (
    "pelvis_height",
    "head_height",
    "hand_height",
    "hands_apart",
    "foot_height",
    "hand_ahead",
    "hand_reach",
    "foot_ahead",
    "feet_apart",
)
CLEAR = 0.04
"""Metres by which the means of both sides must differ; captions are checked for a quarter of this."""
RANGE = 0.15
"""Metres that a signal which is counted must rise and fall."""
PROMINENCES = (0.12, 0.2, 0.35, 0.5)
PASSES = 3


def _signal(joints: Array, name: Signal, side: int) -> Array:
    out = np.empty(len(joints))
    fill_signal(np.ascontiguousarray(joints, np.float32), SIGNALS.index(name), side, out)
    return out


def side_sign(clips: Sequence[ClipAction]) -> dict[str, str] | None:
    """Return the sign of the side, such as ``{"more": "foot_height"}``, or None if no signal shows it in all clips."""
    best: tuple[float, dict[str, str]] | None = None
    for name in SIDE_SIGNALS:
        ahead = [_ahead(clip, name) for clip in clips]
        for word, sign in (("more", 1.0), ("less", -1.0)):
            least = min(sign * value for value in ahead)
            if least > CLEAR and (best is None or least > best[0]):
                best = least, {word: name}
    return best[1] if best else None


def _ahead(clip: ClipAction, name: Signal) -> float:
    """Return by how much the mean of a signal is larger on the side that performs the action, over the whole action."""
    near, far = (LEFT, RIGHT) if clip.side == "left" else (RIGHT, LEFT)
    cycle, whole = clip.entry["cycle"], clip.entry["enter"] + clip.entry["cycle"] + clip.entry["exit"]
    return float((_signal(clip.joints, name, near) - _signal(clip.joints, name, far)).mean() * cycle / whole)


def count_sign(clips: Sequence[ClipAction]) -> dict[str, str] | None:
    """Return the sign of the count, such as ``{"dips": "pelvis_height"}``, or None if no signal shows it in all clips."""
    best: tuple[float, dict[str, str]] | None = None
    for name in COUNT_SIGNALS:
        for word, sign in (("peaks", 1.0), ("dips", -1.0)):
            rises = []
            for clip in clips:
                side = BOTH if not clip.side else LEFT if clip.side == "left" else RIGHT
                values = sign * _signal(clip.joints, name, side)
                # Repetitions between standing, which is about as the clip begins.
                rest = np.full(5, values[0])
                seen = np.concatenate([rest, np.tile(values, PASSES), rest])
                clear = all(_peaks(seen, share) == PASSES for share in PROMINENCES)
                rises.append(float(np.ptp(values)) if clear else 0.0)
            if min(rises) > RANGE and (best is None or min(rises) > best[0]):
                best = min(rises), {word: name}
    return best[1] if best else None


def _peaks(values: Array, share: float) -> int:
    """Return the number of peaks that exceed the valleys on both sides by a share of the range."""
    least, count, rising, turn = share * float(np.ptp(values)), 0, False, np.inf
    for value in values.tolist():
        if rising:
            turn = max(turn, value)
            if value < turn - least:
                count, rising, turn = count + 1, False, value
        else:
            turn = min(turn, value)
            if value > turn + least:
                rising, turn = True, value
    return count

"""Interactions of two people: whether their hands meet, and whether their bodies overlap.

Contact is measured in the frames of the interaction of both. The wrist, the last of SMPL's 22 joints of an arm, represents the
hand, as in signals, contacts and drawings. The distance of the centres of the palms is reported as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import blocks
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.story.encounters import overlap_of_two, palms
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.synthesis.synthesize import Batch
from tests.naive import segment_distance

SAMPLES = 1000
NEAR, FRAMES = 0.05, 3
"""Metres between the hands at contact, and for how many consecutive frames."""
DEPTH = 0.02
"""Largest overlap of capsules of two people, in metres."""
APART = 2.0
"""Metres between the hips of two people who cannot touch."""
FEWEST = 20
"""Least number of contacts at full size."""
PRESETS = ("pairs", "crowd")
PARTS = {"as one body's limbs": False, "upper arms, too": True}
"""Capsules that count: those of the measure of one body, and these with the upper arms."""
HANDS, BODY = "hands", "body"
MEETINGS = {
    ("shake_hands", "shake_hands"): ("handshake", HANDS),
    ("slap_hands", "slap_hands"): ("high five", HANDS),
    ("give", "take"): ("hand over", HANDS),
    ("take", "give"): ("hand over", HANDS),
    ("embrace", "embrace"): ("hug", BODY),
}
"""Interaction by the actions of both, and what the hands of both meet: the hands or the back of the other."""
_WRISTS = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]
_TRUNK = [JOINTS.index(name) for name in ("pelvis", "spine1", "spine2", "spine3", "neck")]
_TRUNK_DEPTH = 0.12
"""Metres from the line of the joints of the trunk to the back."""


@dataclass
class Met:
    """Contacts by interaction, each with the longest time of near hands, and penetration depths of two people."""

    contacts: dict[str, list[tuple[int, float, str]]] = field(default_factory=dict)
    palms: list[float] = field(default_factory=list)
    depths: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: {name: [] for name in PARTS})
    sequences: int = 0


def measure(folder: Path) -> Iterator[Figure]:
    found = Met()
    for preset in PRESETS:
        for batch in blocks(scaled(SAMPLES, 20), preset):
            take_down(batch, found)
    yield from figures(found, scaled(FEWEST, 1))


def take_down(batch: Batch, found: Met) -> None:
    """Measure all pairs of people of some samples."""
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    for clip, row in zip(joints, batch.rows, strict=True):
        found.sequences += 1
        people = len(row["actors"])
        for one in range(people):
            for other in range(one + 1, people):
                name = f"sample {row['sample']} {row['variant']}"
                pair = clip[[one, other], : row["length"]].astype(np.float64)
                for parts, upper_arms in PARTS.items():
                    found.depths[parts].append((deepest(pair, upper_arms=upper_arms), name))
                segments = [row["actors"][a]["segments"] for a in (one, other)]
                for action, frames, what in meetings(segments, row["length"]):
                    gaps = gap(pair[:, frames], what)
                    if what == HANDS:
                        found.palms.append(float(nearest(palms(pair[:, frames]))[gaps.argmin()]))
                    found.contacts.setdefault(action, []).append((longest_near(gaps), float(gaps.min()), name))


def meetings(segments: Sequence[Sequence[Mapping[str, Any]]], length: int) -> Iterator[tuple[str, slice, str]]:
    """Yield the complete interactions of two people: name, frames, and what their hands meet."""
    for a in segments[0]:
        for b in segments[1]:
            start, end = max(a["start"], b["start"]), min(a["end"], b["end"])
            meeting = MEETINGS.get((a["action"], b["action"]))
            if meeting and start < end < length:
                yield meeting[0], slice(start, end), meeting[1]


def gap(pair: Array, what: str) -> Array:
    """Return metres between hands and what they meet, float64 [frames], from joints [2, frames, 22, 3]."""
    hands = pair[:, :, _WRISTS]
    if what == HANDS:
        return nearest(hands)
    gaps = []
    for mine, other in ((0, 1), (1, 0)):
        trunk = pair[other][:, None, _TRUNK]
        hand = np.broadcast_to(hands[mine][:, :, None], (*hands.shape[1:3], len(_TRUNK) - 1, 3))
        gaps.append(segment_distance(hand, hand, trunk[:, :, :-1], trunk[:, :, 1:]).min((1, 2)) - _TRUNK_DEPTH)
    return np.maximum(*gaps)


def nearest(hands: Array) -> Array:
    """Return metres between the nearest hands of two people, float64 [frames], from positions [2, frames, 2, 3]."""
    between = hands[0][:, :, None] - hands[1][:, None]
    return np.asarray(np.sqrt((between * between).sum(-1)).min((1, 2)))


def longest_near(gaps: Array) -> int:
    """Return for how many consecutive frames the gap is within reach."""
    longest = here = 0
    for near in gaps <= NEAR:
        here = here + 1 if near else 0
        longest = max(longest, here)
    return longest


def deepest(pair: Array, *, upper_arms: bool) -> float:
    """Return the greatest penetration depth of two people, in metres."""
    hips = pair[:, :, 0]
    away = hips[0] - hips[1]
    close = np.sqrt((away * away).sum(-1)) < APART
    return float(np.nanmax(overlap_of_two(*pair[:, close], upper_arms=upper_arms), initial=0.0)) if close.any() else 0.0


def figures(found: Met, fewest: int) -> Iterator[Figure]:
    """Yield the figures of all interactions."""
    for kind, what in dict.fromkeys(MEETINGS.values()):
        contacts = sorted(found.contacts.get(kind, []))
        met = sum(frames >= FRAMES for frames, _, _ in contacts)
        result = f"{met:,} of {len(contacts):,}"
        if contacts:
            result += f"; fewest frames {contacts[0][0]}, nearest {100 * contacts[0][1]:.1f} cm ({contacts[0][2]})"
        if what == BODY:  # no published distance of a hand on a back
            yield Figure(f"{kind}: hands of both within {100 * NEAR:.0f} cm of the other's back", result, detail=contacts[:20])
            continue
        good = len(contacts) >= fewest and met == len(contacts)
        name, target = f"{kind}: hands within {100 * NEAR:.0f} cm", f"for {FRAMES} consecutive frames in each"
        yield Figure(name, result, target, good, contacts[:20])
    if found.palms:
        result = f"{100 * float(np.median(found.palms)):.1f} cm in the median"
        yield Figure("distance of palms (forearms extended) where hands are nearest", result)
    for parts, depths in found.depths.items():
        yield _deepest_of(parts, sorted(depths, reverse=True))


def _deepest_of(parts: str, depths: list[tuple[float, str]]) -> Figure:
    name, target = f"penetration of two people, {parts}", f"at most {1000 * DEPTH:.0f} mm"
    if not depths:
        return Figure(name, "nobody", target, False)
    over = sum(depth > DEPTH for depth, _ in depths)
    result = f"{1000 * depths[0][0]:.0f} mm at most ({depths[0][1]}), over that in {over:,} of {len(depths):,}"
    return Figure(name, result, target, over == 0, depths[:20])

"""Compare the claims of other people's captions with the joints of their clips: sides, turns, directions, counts, order.

Only claims that joints can show are found, by patterns of words. A claim that the joints neither show nor contradict is open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from posegen.evaluation.body import point, true_intervals
from posegen.evaluation.plausibility import low_pass
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.wording import counted, table
from posegen.foundations.yaml_files import read_yaml

KINDS = ("side", "turn", "direction", "steps", "jumps", "order")
_MOST_SHOWN = 10
_WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("claims.yaml"))
LIMBS: Mapping[str, Mapping[str, str]] = _WORDS["limbs"]
_NUMBERS = {word: number for number, word in enumerate(_WORDS["numbers"], 1)}
_NUMBER = rf"(?P<number>\d+|{'|'.join(_NUMBERS)})"
_PATTERNS = {name: re.compile(words.replace("{number}", _NUMBER)) for name, words in _WORDS["patterns"].items()}
_SIDE = {limb: re.compile(_WORDS["patterns"]["side"].replace("{limb}", each["words"])) for limb, each in LIMBS.items()}
_EVENT = re.compile("|".join(rf"(?P<{name}>\b(?:{words})\b)" for name, words in _WORDS["events"].items()))
_CLEARLY, _OTHERWISE = 0.6, 0.3
"""Shares of the way of both limbs that the named one goes: above, the claim is true; below, false."""
_TURNED, _STRAIGHT, _FULLY_TURNED = np.radians(30), np.radians(15), np.radians(60)
_FAR, _NEAR, _FULLY_GONE = 0.3, 0.15, 1.0
"""Metres that are seen as a direction, that are not, and of a body that goes away."""
_SWING_SPEED, _SWING_SECONDS, _STEP = 0.5, 0.12, 0.15
_FLIGHT, _FLIGHT_SECONDS, _RUN_FLIGHT_SECONDS, _LOW, _TRAVEL_SPEED = 0.04, 0.08, 0.2, 0.75, 0.4
_TURN_SECONDS, _TURNED_AT_ONCE = 2.0, 0.7
_FEWEST_FRAMES = 12
_APART = 0.3
"""Seconds between two events whose order is clear."""


@dataclass(frozen=True)
class Claim:
    """A claim of a caption.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    words : str
        Of the caption.
    verdict : bool or None
        Whether the joints show it; None if they decide nothing.
    evidence : str
        The measured values.
    """

    kind: str
    words: str
    verdict: bool | None
    evidence: str


class Movement:
    """Measures of a clip that claims are compared with.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, at least ten frames.
    fps : float
    """

    def __init__(self, joints: Array, fps: float) -> None:
        self.joints, self.fps = low_pass(joints.astype(np.float64), fps), fps

    @cached_property
    def ahead(self) -> Array:
        """Direction of hips and shoulders, float64 [frame, 2], along x and z."""
        across = sum(point(self.joints, f"left_{name}") - point(self.joints, f"right_{name}") for name in ("hip", "shoulder"))
        ahead = np.stack([-np.asarray(across)[:, 2], np.asarray(across)[:, 0]], axis=1)
        return np.asarray(ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-6))

    @cached_property
    def heading(self) -> Array:
        """Angle of :attr:`ahead`, radians [frame]; it grows in a turn to the left."""
        return np.asarray(np.unwrap(np.arctan2(self.ahead[:, 0], self.ahead[:, 1])))

    def turned(self) -> dict[str, float]:
        """Return the largest turns to the left and to the right within the clip, radians."""
        left = (self.heading - np.minimum.accumulate(self.heading)).max()
        right = (np.maximum.accumulate(self.heading) - self.heading).max()
        return {"left": float(left), "right": float(right)}

    def way(self, joint: str) -> float:
        """Return the metres that a joint goes, seen from the pelvis in the direction of the body."""
        apart = point(self.joints, joint) - point(self.joints, "pelvis")
        seen = np.stack([_along(apart, self.ahead), apart[:, 1], _across(apart, self.ahead)], axis=1)
        return float(np.linalg.norm(np.diff(seen, axis=0), axis=1).sum())

    @cached_property
    def travelled(self) -> dict[str, float]:
        """Metres that the pelvis goes in each direction of the body."""
        step = np.diff(point(self.joints, "pelvis"), axis=0)
        ahead, aside = _along(step, self.ahead[1:]), _across(step, self.ahead[1:])
        parts = {"forward": ahead, "backward": -ahead, "sideways": np.abs(aside), "left": aside, "right": -aside}
        return {name: float(values.clip(0).sum()) for name, values in parts.items()}

    def steps(self) -> list[float]:
        """Return the metres of the swings of a foot that end elsewhere, in the order in which they end."""
        swings = []
        for side in ("left", "right"):
            ankle = point(self.joints, f"{side}_ankle")[:, ::2]
            moving = np.linalg.norm(np.gradient(ankle, axis=0), axis=1) * self.fps > _SWING_SPEED
            for swing in true_intervals(moving):
                if swing.stop - swing.start >= _SWING_SECONDS * self.fps:
                    swings.append((swing.stop, float(np.linalg.norm(ankle[swing.stop - 1] - ankle[swing.start]))))
        return [metres for _, metres in sorted(swings) if metres > _STEP]

    def flights(self) -> list[slice]:
        """Return the intervals in which both feet are off the floor."""
        foot = np.minimum(point(self.joints, "left_foot")[:, 1], point(self.joints, "right_foot")[:, 1])
        high = true_intervals(foot - np.quantile(foot, 0.1) > _FLIGHT)
        return [each for each in high if each.stop - each.start >= _FLIGHT_SECONDS * self.fps]

    def jumps(self) -> list[slice]:
        """Return the flights that are longer than those of a run; in a squat on the toes, the pelvis is low."""
        pelvis = point(self.joints, "pelvis")[:, 1]
        high, longest = _LOW * np.quantile(pelvis, 0.9), _RUN_FLIGHT_SECONDS * self.fps
        return [each for each in self.flights() if each.stop - each.start > longest and pelvis[each].mean() > high]

    def shows(self, event: str) -> bool:
        """Return whether the clip shows an event, once or more often."""
        pelvis = point(self.joints, "pelvis")
        seen: dict[str, bool] = {
            "jump": bool(self.jumps()),
            "low": bool(pelvis[:, 1].min() < _LOW * np.quantile(pelvis[:, 1], 0.9)),
            "turn": max(self.turned().values()) > float(_FULLY_TURNED),
            "travel": float(np.linalg.norm(pelvis[-1, ::2] - pelvis[0, ::2])) > _FULLY_GONE,
        }
        return seen[event]

    def time_of(self, event: str) -> float | None:
        """Return the seconds at which an event is clearest; None if the clip does not show it once."""
        pelvis = point(self.joints, "pelvis")
        if event == "jump":
            return _middle(self.jumps(), self.fps)
        if event == "low":
            return float(pelvis[:, 1].argmin() / self.fps) if self.shows(event) else None
        if event == "turn":
            window = min(round(_TURN_SECONDS * self.fps), len(pelvis) - 1)
            turns = np.abs(self.heading[window:] - self.heading[:-window])
            at_once = turns.max() > _TURNED_AT_ONCE * max(self.turned().values())
            return float((turns.argmax() + window / 2) / self.fps) if at_once and self.shows(event) else None
        moving = np.linalg.norm(np.gradient(pelvis[:, ::2], axis=0), axis=1) * self.fps > _TRAVEL_SPEED
        return _middle([each for each in true_intervals(moving) if each.stop - each.start > self.fps], self.fps)


def _along(vectors: Array, ahead: Array) -> Array:
    return np.asarray(vectors[:, 0] * ahead[:, 0] + vectors[:, 2] * ahead[:, 1])


def _across(vectors: Array, ahead: Array) -> Array:
    """Return the metres to the left."""
    return np.asarray(vectors[:, 0] * ahead[:, 1] - vectors[:, 2] * ahead[:, 0])


def _middle(intervals: Sequence[slice], fps: float) -> float | None:
    """Return the seconds of the middle of a single interval, else None: of several, the order is not clear."""
    return (intervals[0].start + intervals[0].stop) / 2 / fps if len(intervals) == 1 else None


def _verdict(shown: float, other: float, far: float, near: float) -> bool | None:
    """Return True if the claimed movement is large, False if it is small and its opposite is large."""
    if shown >= far:
        return True
    return False if shown < near and other >= far else None


def check_caption(text: str, movement: Movement) -> list[Claim]:
    """Return the claims of a caption, with verdicts by the joints.

    Examples
    --------
    >>> joints = np.zeros((50, 22, 3))
    >>> [claim.kind for claim in check_caption("a person turns left and takes two steps", Movement(joints, 25))]
    ['turn', 'steps']
    """
    return list(_claims(" ".join(text.lower().split()), movement))


def _claims(text: str, movement: Movement) -> Iterator[Claim]:
    if not _PATTERNS["first"].search(text):  # otherwise limbs are used one after the other
        for limb, (side, words) in _named_sides(text).items():
            yield Claim("side", words, *side_shown(movement, limb, side))
    for match in _PATTERNS["turn"].finditer(text):
        side = {"left": "left", "right": "right", "clockwise": "right"}.get(match["way"], "left")
        yield Claim("turn", match[0], *turn_shown(movement, side))
    for match in _PATTERNS["direction"].finditer(text):
        yield Claim("direction", match[0], *direction_shown(movement, match["way"]))
    for kind, seen in (("steps", movement.steps), ("jumps", movement.flights)):
        for match in _PATTERNS[kind].finditer(text):
            found, count = match.groupdict(), len(seen())
            claimed = _WORDS["times"].get(found.get("times")) or _NUMBERS.get(found["number"]) or int(found["number"])
            apart = abs(count - claimed)
            # People count the last half step, or not.
            verdict = True if apart <= (claimed > 2) else None if apart <= 1 else False
            yield Claim(kind, match[0], verdict, f"{count} {kind}")
    joined = _PATTERNS["then"].search(text)
    parts = (text[: joined.start()], text[joined.end() :]) if joined else ()
    named = [[match.lastgroup for match in _EVENT.finditer(part)] for part in parts]
    if named and all(named) and not set(named[0]) & set(named[1]):
        first, second = str(named[0][-1]), str(named[1][0])
        yield Claim("order", f"{first}, then {second}", *order_shown(movement, first, second))


def side_shown(movement: Movement, limb: str, side: str) -> tuple[bool | None, str]:
    """Return whether the arm or leg of a side moves more than the other one, and what was measured."""
    joint = LIMBS[limb]["joint"]
    ways = {each: movement.way(f"{each}_{joint}") for each in ("left", "right")}
    share = ways[side] / max(sum(ways.values()), 1e-6)
    verdict = True if share > _CLEARLY else False if share < _OTHERWISE else None
    return verdict, f"{joint}s go {ways['left']:.1f} m left, {ways['right']:.1f} m right"


def turn_shown(movement: Movement, side: str) -> tuple[bool | None, str]:
    """Return whether a body turns to a side, and what was measured."""
    turned = movement.turned()
    other = "right" if side == "left" else "left"
    measured = ", ".join(f"{np.degrees(angle):.0f} degrees to the {each}" for each, angle in turned.items())
    return _verdict(turned[side], turned[other], _TURNED, _STRAIGHT), f"turns {measured}"


def direction_shown(movement: Movement, way: str) -> tuple[bool | None, str]:
    """Return whether a body goes forward, backward, sideways, left or right, and what was measured."""
    gone = movement.travelled
    opposite = {"forward": ["backward"], "backward": ["forward"], "left": ["right"], "right": ["left"]}
    other = max(gone[each] for each in opposite.get(way, ["forward", "backward"]))
    return _verdict(gone[way], other, _FAR, _NEAR), ", ".join(f"{metres:.1f} m {each}" for each, metres in gone.items())


def order_shown(movement: Movement, first: str, second: str) -> tuple[bool | None, str]:
    """Return whether an event is seen before another one, and what was measured."""
    times = movement.time_of(first), movement.time_of(second)
    if times[0] is None or times[1] is None:
        return None, "one of them is not seen once"
    apart = times[1] - times[0]
    return None if abs(apart) < _APART else apart > 0, f"at {times[0]:.1f} and {times[1]:.1f} s"


@dataclass(frozen=True)
class Audit:
    """Claims of captions, compared with their clips.

    Attributes
    ----------
    clips, captions : int
        Read clips with captions, and their captions.
    counts : dict of str to dict
        Claims by kind, and of each kind by ``true``, ``false`` and ``open``.
    contradicting, sided : int
        Limbs (arms or legs of a clip) whose captions name different sides, and limbs whose side two or more captions name.
    claims : list of dict
        Every claim: clip, caption, kind, words, verdict, evidence.
    """

    clips: int
    captions: int
    counts: dict[str, dict[str, int]]
    contradicting: int
    sided: int
    claims: list[dict[str, object]]


def audit_captions(clips: Iterable[Recording]) -> Audit:
    """Compare the captions of clips with their joints.

    Parameters
    ----------
    clips : iterable of Recording
        Read once. Clips without captions, or of less than half a second, are not counted.
    """
    counted: Counter[tuple[str, bool | None]] = Counter()
    found: list[dict[str, object]] = []
    numbers = Counter[str]()
    for clip in clips:
        if not clip.captions or len(clip.joints) < max(clip.fps / 2, _FEWEST_FRAMES):
            continue
        movement = Movement(clip.joints, clip.fps)
        numbers.update(clips=1, captions=len(clip.captions))
        for text in clip.captions:
            for claim in check_caption(text, movement):
                counted[claim.kind, claim.verdict] += 1
                found.append({"clip": clip.name, "caption": text} | vars(claim))
        sides = [_named_sides(text) for text in clip.captions]
        for limb in LIMBS:
            named = [each[limb][0] for each in sides if limb in each]
            numbers.update(sided=len(named) > 1, contradicting=len(set(named)) > 1)
    words = {True: "true", False: "false", None: "open"}
    counts = {kind: {word: counted[kind, verdict] for verdict, word in words.items()} for kind in KINDS}
    return Audit(numbers["clips"], numbers["captions"], counts, numbers["contradicting"], numbers["sided"], found)


def _named_sides(text: str) -> dict[str, tuple[str, str]]:
    """Return the side of each limb that a caption names, and the words, where it names one side only."""
    named = {limb: {match[1]: match[0] for match in pattern.finditer(text.lower())} for limb, pattern in _SIDE.items()}
    return {limb: sides.popitem() for limb, sides in named.items() if len(sides) == 1}


def describe_audit(audit: Audit, head: str) -> str:
    """Return an audit as text: a table of the kinds, contradictions, and the first claims that joints contradict."""
    rows = [(kind, *(f"{number:,}" for number in each.values())) for kind, each in audit.counts.items()]
    title = f"{head}: {counted(audit.captions, 'caption')} of {counted(audit.clips, 'clip')}\n"
    lines = [table(("claim", "true", "false", "open"), rows, title)]
    if audit.sided:
        share = 100 * audit.contradicting / audit.sided
        limbs = f"{audit.contradicting:,} of {audit.sided:,} limbs ({share:.0f} %)"
        lines += ["", f"captions of a clip name different sides: {limbs}"]
    wrong = [claim for claim in audit.claims if claim["verdict"] is False]
    for claim in wrong[:_MOST_SHOWN]:
        lines += ["", f"{claim['clip']}: {claim['caption']}", f"  {claim['words']!r}: {claim['evidence']}"]
    if len(wrong) > _MOST_SHOWN:
        lines += ["", f"and {len(wrong) - _MOST_SHOWN:,} more: --json lists all"]
    return "\n".join(lines)

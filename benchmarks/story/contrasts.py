"""The benchmark of text-to-motion: its judge beside labels of mocap, and `posegen compose` judged by it.

The names of clips of HDM05 and CMU state sides, counts, directions and speeds. A name and its contrast are two statements about
a clip: the judge agrees where it confirms the first, and where it does not confirm the second. Few names state an order or a
number of more than one: clips of one person are joined for these.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from posegen.dataset.clip_files import read_clip_archive
from posegen.evaluation.benchmark import Prompt, judge_motion, judge_prompts, make_prompts, wilson_interval
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.library.load import load_library
from posegen.synthesis.composition import compose

AGREEMENT = 0.95
PAIRS = 1000
FPS = 25.0
LABELS = {
    "depositFloorR": [("side", "pick_up", "right", "left")],
    "grabHighR": [("side", "arm", "right", "left")],
    "kickLFront1Reps": [("side", "leg", "left", "right"), ("count", "kick", "1", "2")],
    "squat1Reps": [("count", "squat", "1", "2")],
    "hopBothLegs1hops": [("count", "jump", "1", "2")],
    "jogLeftCircle4StepsRstart": [("direction", "turn", "left", "right"), ("count", "steps", "4", "2")],
    "sneak2StepsLStart": [("count", "steps", "2", "4"), ("direction", "travel", "forward", "backward")],
    "slow walk": [("speed", "walk", "slow", "fast")],
    "brisk walk": [("speed", "walk", "fast", "slow")],
    "run/jog": [("direction", "travel", "forward", "backward")],
    "walk": [("direction", "travel", "forward", "backward")],
    "basketball - forward dribble": [("direction", "travel", "forward", "backward")],
    "basketball - backward dribble": [("direction", "travel", "backward", "forward")],
    "basketball - sideways dribble": [("direction", "travel", "sideways", "backward")],
    "basketball - forward dribble, 90-degree left turns": [("direction", "turn", "left", "right")],
    "basketball - forward dribble, 90-degree right turns": [("direction", "turn", "right", "left")],
    "playground - forward jumps, turn around": [("order", "jump turn", "first", "second")],
}
"""Statements of labels: kind, what it is about, value and contrast."""
JOINED = {
    ("hopBothLegs1hops", "squat1Reps"): ("jump low", "first"),
    ("squat1Reps", "hopBothLegs1hops"): ("jump low", "second"),
    ("jogLeftCircle4StepsRstart", "hopBothLegs1hops"): ("jump travel", "second"),
    ("hopBothLegs1hops", "jogLeftCircle4StepsRstart"): ("jump travel", "first"),
    ("jogLeftCircle4StepsRstart", "squat1Reps"): ("low travel", "second"),
    ("squat1Reps", "jogLeftCircle4StepsRstart"): ("low travel", "first"),
}
"""Order of two labels whose clips are joined."""
REPEATED = {"kickLFront1Reps": "kick", "squat1Reps": "squat", "hopBothLegs1hops": "jump"}
"""Actions of labels whose clips are repeated two and three times."""


def clips() -> dict[str, list[Array]] | None:
    """Read the mocap clips by label; None if POSEGEN_REFERENCE names no folder."""
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        return None
    found = defaultdict(list)
    for file in sorted(Path(folder).glob("*.npz")):
        archive = read_clip_archive(file, [])
        for label, joints in zip(archive.actions, archive.joints, strict=True):
            found[label].append(joints)
    return found


def joined(parts: list[Array]) -> Array:
    """Return clips one after another, each where the one before ends and in its direction, with half a second between."""
    made = parts[0].astype(np.float64)
    for part in parts[1:]:
        end, begin = _pose(made[-1]), _pose(part[0])
        angle = end[1] - begin[1]
        turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
        moved = (part - begin[0]) @ turn.T + end[0]
        share = np.linspace(0, 1, int(FPS / 2))[:, None, None]
        made = np.concatenate([made, made[-1] * (1 - share) + moved[0] * share, moved])
    return np.asarray(made)


def _pose(joints: Array) -> tuple[Array, float]:
    """Return the level position of the pelvis, and the angle of the hips."""
    across = joints[1] - joints[2]
    return joints[0] * [1, 0, 1], float(np.arctan2(across[2], across[0]))


def statements(found: dict[str, list[Array]]) -> Iterator[tuple[str, str, str, str, Array]]:
    """Yield kind, what it is about, value, contrast and joints of all labelled and joined clips."""
    for label, stated in LABELS.items():
        yield from ((*each, clip) for each in stated for clip in found.get(label, ()))
    for (first, second), (about, value) in JOINED.items():
        pairs = zip(found.get(first, ()), found.get(second, ()), strict=False)
        yield from (("order", about, value, {"first": "second"}.get(value, "first"), joined([*pair])) for pair in pairs)
    for label, action in REPEATED.items():
        for times, other in ((2, "3"), (3, "2")):
            yield from (("count", action, str(times), other, joined([clip] * times)) for clip in found.get(label, ()))


def agreement(found: dict[str, list[Array]]) -> dict[str, list[bool]]:
    """Return for each kind whether the judge agrees with each statement and with each contrast."""
    library, agrees = load_library(), defaultdict(list)
    for kind, about, value, contrast, joints in statements(found):
        for stated in (value, contrast):
            prompt = Prompt.model_validate(
                {"id": "a", "kind": kind, "text": "", "contrast": "b", "about": about, "value": stated}
            )
            agrees[kind].append((judge_motion(prompt, joints, FPS, library) is True) == (stated == value))
    return agrees


def measure(folder: Path) -> Iterator[Figure]:
    del folder
    target, found = f">= {AGREEMENT:.0%}", clips()
    if found is None:
        yield Figure("judge: agreement with labels of mocap", "not measured: POSEGEN_REFERENCE is not set", target)
    else:
        by_kind = agreement(found)
        every = [each for own in by_kind.values() for each in own]
        for kind, own in [*sorted(by_kind.items()), ("all", every)]:
            low, high = wilson_interval(sum(own), len(own))
            value = f"{sum(own) / len(own):.1%} of {len(own):,} ({low:.1%} to {high:.1%})"
            passed = {"passed": sum(own) >= AGREEMENT * len(own), "target": target} if kind == "all" else {}
            yield Figure(f"judge: agreement with labels of mocap, {kind}", value, **passed)
    prompts = make_prompts()[: 2 * scaled(PAIRS, 10)]
    scores, _ = judge_prompts(prompts, {prompt.id: composed(prompt.text) for prompt in prompts}.get, FPS)
    for score in scores:
        low, high = score.interval
        yield Figure(f"compose: prompts shown, {score.kind}", f"{score.shown / score.prompts:.1%} ({low:.1%} to {high:.1%})")


def composed(text: str) -> Array | None:
    """Return the motion of :func:`compose`; None where it refuses the text."""
    try:
        joints = compose(text).joints
    except UsageError:
        return None
    return np.asarray(joints if len(joints) > 1 else joints[0])

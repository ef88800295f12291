"""Variety of motion beside that of mocap: performances of other people, windows, poses and transitions.

Two datasets of seeds that motion is not tuned on are measured: default samples, and samples that prefer the actions of the
mocap families, by few enough persons that each performs some of them twice.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import JOINTS_OF_MOCAP, ONE_VARIANT, SEED
from posegen.dataset.read import open_dataset
from posegen.evaluation.captions import SECONDS, find_uncaptioned, uncaptioned_shares
from posegen.evaluation.performances import ACTIONS
from posegen.evaluation.recording import Recording, dataset_recordings, read_reference
from posegen.evaluation.variety import FamilyVariety, MotionTally, SetVariety, compare_variety, describe_motion
from posegen.library.load import load_library

SAMPLES, SHOWN, PERSONS = 1000, 4000, 200
"""Default samples; samples that prefer the actions of the families, and the persons of their population."""
FAVOUR, RARE = 30, {"sneak": 100, "lie_down": 100, "walk": 3, "run": 3}
PEOPLE = 3
"""Least people of a family on both sides; families with fewer are reported only."""
WINDOWS = 600

Ratio = Callable[[FamilyVariety], float | None]


def measure(folder: Path) -> Iterator[Figure]:
    default = _dataset(folder / "default", SAMPLES, SEED)
    uncaptioned, motions = Counter[str](), MotionTally(())
    for recording in default:
        uncaptioned.update(find_uncaptioned(recording))
        motions.add(describe_motion(recording))
    found = uncaptioned_shares(uncaptioned)
    if found is None:
        yield Figure("clips with an uncaptioned action", "no labels", "0", False)
    else:
        shares = f"{found.any_part:.1%} of {found.clips:,}; of the legs {found.legs:.1%}"
        yield Figure(f"clips with {SECONDS} s or more of an action that no segment covers", shares, "0", found.any_part == 0)
    if not os.environ.get("POSEGEN_REFERENCE"):
        yield Figure("variety beside mocap", "not measured: POSEGEN_REFERENCE is not set", "that of mocap")
        return
    mocap = MotionTally()
    for recording in _reference(Path(os.environ["POSEGEN_REFERENCE"])):
        mocap.add(describe_motion(recording))
    poses = compare_variety(mocap, motions)
    yield from _poses(poses.generated, poses.reference)
    known = load_library().actions
    weights = {action: RARE.get(action, FAVOUR) for actions in ACTIONS.values() for action in actions if action in known}
    story = ", ".join(f"{action}: {weight}" for action, weight in weights.items())
    shown = MotionTally(mocap.performances)
    for recording in _dataset(folder / "shown", SHOWN, SEED + 1, f"story.actions={{{story}}}", f"population.persons={PERSONS}"):
        shown.add(describe_motion(recording))
    variety = compare_variety(mocap, shown)
    yield from judged(variety.generated, variety.reference)


def _dataset(path: Path, samples: int, seed: int, *overrides: str) -> Iterator[Recording]:
    count = str(scaled(samples, 40))
    keys = (part for override in (ONE_VARIANT, JOINTS_OF_MOCAP, *overrides) for part in ("--set", override))
    dataset = open_dataset(generate(path, "--samples", count, "--seed", str(seed), "--workers", "2", *keys))
    yield from dataset_recordings(dataset)


def _reference(folder: Path) -> Iterator[Recording]:
    for file in sorted(folder.glob("*.npz")):
        for recording in read_reference(file):
            yield replace(recording, name=f"{file.stem} {recording.name}")


def _poses(ours: SetVariety, theirs: SetVariety) -> Iterator[Figure]:
    yield Figure("frames within 6 cm of one standing pose", f"{ours.neutral:.2f}; mocap {theirs.neutral:.2f}")
    limit = theirs.commonest + 0.05
    shares = f"{ours.commonest:.2f}; mocap {theirs.commonest:.2f}"
    target = f"at most {limit:.2f}, .05 more than mocap"
    yield Figure("frames within 6 cm of the set's five commonest poses", shares, target, ours.commonest <= limit)
    share = ours.through_neutral
    shares = f"{share:.0%} of {ours.transitions:,}; ends of mocap clips {theirs.through_neutral:.0%} of {theirs.transitions:,}"
    yield Figure("transitions within half a second of the standing pose", shares, "at most 50 %", share <= 0.5)


def judged(ours: SetVariety, theirs: SetVariety) -> Iterator[Figure]:
    """Yield the figures of the families and of the windows of all; families of fewer than three people are not judged."""
    for family, one in ours.families.items():
        yield _family(family, one, theirs.families[family])
    some = {
        family: (one, theirs.families[family])
        for family, one in ours.families.items()
        if min(one.apart.people, theirs.families[family].apart.people) >= PEOPLE
    }

    def ratios(value: Ratio) -> dict[str, float]:
        values = {family: (value(one), value(other)) for family, (one, other) in some.items()}
        # Comparisons with NaN are false; a family without the figure in mocap is not judged.
        return {family: a / b for family, (a, b) in values.items() if a is not None and b is not None and b > 0}

    def coverage(name: str) -> Ratio:
        return lambda family: None if family.coverage is None else float(getattr(family.coverage, name))

    between = ratios(lambda family: family.apart.between)
    close = sum(ratio >= 0.6 for ratio in between.values())
    low = [family for family, ratio in between.items() if not ratio >= 0.6]
    high = [family for family, ratio in between.items() if ratio > 1.4]
    yield Figure(
        "between-person distance / mocap",
        f"{close} of {len(between)} families at .6 or more; below: {_named(between, low)}; over 1.4: {_named(between, high)}",
        "at least .6 in 10 of 12 families; at most 1.4",
        close >= 10 / 12 * len(between) and len(between) > 0 and not high,
        _rounded(between),
    )
    for name, value, least, most in (
        ("within-person distance", lambda family: family.apart.within, 0.5, 1.5),
        ("precision", coverage("precision"), 0.8, None),
        ("recall", coverage("recall"), 0.35, None),
        ("wrist jerk", lambda family: family.jerk, None, 1.3),
        ("components", lambda family: family.components, 0.85, None),
        ("leg asymmetry", lambda family: family.asymmetry, 0.5, None),
    ):
        yield _all_families(name, ratios(value), least, most)
    yield from _pooled(ours, theirs)


def _all_families(name: str, found: dict[str, float], least: float | None, most: float | None) -> Figure:
    wrong = [f for f, ratio in found.items() if not ((least is None or ratio >= least) and (most is None or ratio <= most))]
    measured = f"{len(found) - len(wrong)} of {len(found)} families; the others: {_named(found, wrong)}"
    target = " and ".join(f"at {word} {limit}" for word, limit in (("least", least), ("most", most)) if limit is not None)
    return Figure(f"{name} by family / mocap", measured, f"{target} in each", bool(found) and not wrong, _rounded(found))


def _rounded(found: dict[str, float]) -> dict[str, float | None]:
    return {family: round(ratio, 3) if ratio == ratio else None for family, ratio in found.items()}


def _named(found: dict[str, float], families: list[str]) -> str:
    return ", ".join(f"{family} {found[family]:.2f}" for family in families) or "none"


def _pooled(ours: SetVariety, theirs: SetVariety) -> Iterator[Figure]:
    one, other = ours.coverage, theirs.coverage
    if ours.components and theirs.components:
        counts, good = f"{ours.components}; mocap {theirs.components}", ours.components >= 0.85 * theirs.components
        yield Figure("components of the poses of all families", counts, "at least .85 of mocap's", good)
    if one is None or other is None:
        yield Figure("recall of windows of all families", "too few windows", "at least .7 of mocap's", False)
        return
    yield Figure("windows of all families on each side", str(one.windows), f"at least {WINDOWS}", one.windows >= WINDOWS)
    for name, share in (("recall", 0.7), ("precision", 0.9)):
        mine, real = getattr(one, name), getattr(other, name)
        figures = f"{mine:.2f}; other people in mocap {real:.2f}"
        yield Figure(f"{name} of windows of all families", figures, f"at least {share} of mocap's", mine >= share * real)


def _family(family: str, one: FamilyVariety, other: FamilyVariety) -> Figure:
    a, b = one.apart, other.apart
    parts = [
        f"{a.people} | {b.people} people, {a.pairs} | {b.pairs} pairs",
        f"between {a.between:.1f} | {b.between:.1f} cm, within {a.within:.1f} | {b.within:.1f} cm",
        f"legs {one.asymmetry:.1f} | {other.asymmetry:.1f} cm, components {one.components} | {other.components}",
        f"wrist jerk {one.jerk:.0f} | {other.jerk:.0f} m/s^3",
    ]
    if (c := one.coverage) and (d := other.coverage):
        shares = f"precision {c.precision:.2f} | {d.precision:.2f}, recall {c.recall:.2f} | {d.recall:.2f}"
        parts.append(f"{c.windows} windows: {shares}")
    return Figure(f"variety, {family}, generated/mocap", "; ".join(parts).replace(" | ", "/"))

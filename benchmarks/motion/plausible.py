"""Plausibility of 2,000 default samples in all variants: feet, floor, joint ranges, free fall, overlap; with the worst clips.

The samples have a seed that is not used in development. They are generated in small batches; a few numbers are kept of each
clip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import SEED, Captured, captured, segments
from posegen.checks.ranges import TOLERANCE
from posegen.dataset.read import open_dataset
from posegen.evaluation.body import frames_last, joint_angles, range_excess, soles_of_body
from posegen.evaluation.plausibility import FAST, LOW, body_overlap, contact_speeds, depth_of, flight_errors, foot_skate
from posegen.evaluation.recording import LEGS, Recording, dataset_recordings
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.foundations.arrays import Array
from posegen.library.load import Library, load_library

SAMPLES = 2000
SUSPENDED = "floor"
SLIDE, SLIDING = 0.2, 0.01
DEPTH, FALL, OVERLAP = 0.005, 0.02, 0.02
COMPARED = ("walk", "run")
"""Families whose skating is compared with that of mocap clips of the same name."""
NAMED = 5

PER_CLIP = ("skate of contacts", "depth, mm", "limits, degrees", "fall, relative", "overlap, mm", "skate by positions")


@dataclass
class Skating:
    """Number of frames, and of frames in which the detector finds skating from positions alone."""

    frames: int = 0
    skating: float = 0.0

    def add(self, joints: Array, fps: float) -> float:
        """Count a clip and return its own share."""
        share = foot_skate(joints, fps)["skate, GMD"]
        if len(joints) > 1 and np.isfinite(share):
            self.frames += len(joints) - 1
            self.skating += share * (len(joints) - 1)
        return share

    @property
    def share(self) -> float:
        return self.skating / self.frames if self.frames else float("nan")


@dataclass
class Found:
    """Values collected from all clips."""

    spread: SpreadTally = field(default_factory=lambda: SpreadTally(PER_CLIP))
    contacts: int = 0
    sliding: int = 0
    flights: int = 0
    violations: dict[str, int] = field(default_factory=dict)
    skating: dict[str, Skating] = field(default_factory=lambda: {name: Skating() for name in ("all", *COMPARED)})


def measure(folder: Path) -> Iterator[Figure]:
    samples = scaled(SAMPLES, 40)
    made = generate(folder / "dataset", "--samples", str(samples), "--seed", str(SEED), "--workers", "2")
    dataset = open_dataset(made)
    held = held_up(load_library())
    found = Found()
    for recording in dataset_recordings(dataset):
        take_down(recording, found, held)
    spreads = found.spread.spreads()
    yield _contacts(found, spreads["skate of contacts"], samples)
    yield from _skating(found, captured())
    yield _depth(spreads["depth, mm"])
    yield _limits(found, spreads["limits, degrees"])
    yield _falls(found, spreads["fall, relative"])
    overlap = spreads["overlap, mm"]
    measured = f"{overlap.worst_clips[0][1]:.0f} mm at most, worst 1 % of clips {overlap.worst:.0f}; {_worst(overlap)}"
    good = overlap.worst_clips[0][1] <= 1000 * OVERLAP
    yield Figure(
        "penetration between limbs of one body", measured, f"at most {1000 * OVERLAP:.0f} mm", good, overlap.worst_clips
    )


def held_up(library: Library) -> frozenset[str]:
    """Return the actions in which water, a wall or the floor supports the body at any height: swimming is no flight."""
    return frozenset(name for name in library.actions if library.action(name).support == SUSPENDED)


def take_down(recording: Recording, found: Found, held: frozenset[str] = frozenset()) -> None:
    """Measure a clip and add the values."""
    joints, fps, contact = recording.joints, recording.fps, recording.contact
    assert contact is not None
    body = frames_last(joints)
    soles = soles_of_body(body)
    speeds = contact_speeds(soles, contact == 1, fps)
    found.contacts += len(speeds)
    found.sliding += int((speeds > SLIDE).sum())
    touching = contact.copy()
    if recording.labels is not None:
        touching[np.isin(recording.labels[:, LEGS], [recording.number(action) for action in held]), 0] = 1
    falls = flight_errors(body, soles, fps, touching == 1)
    found.flights += len(falls)
    farthest = 0.0
    for name, values in range_excess(joint_angles(joints, recording.skeleton), recording.ranges).items():
        values = np.nan_to_num(values)
        frame = int(values.argmax())
        farthest = max(farthest, float(values[frame]))
        if values[frame] > TOLERANCE:
            angle = name.removeprefix("left_").removeprefix("right_")
            where = f"{angle} in {action_at(recording, frame)}"
            found.violations[where] = found.violations.get(where, 0) + 1
    for family in COMPARED:
        for stretch in segments(recording, [family]):
            found.skating[family].add(stretch.joints, fps)
    figures = (
        float((speeds > SLIDE).mean()) if len(speeds) else np.nan,
        1000 * max(depth_of(soles), depth_of(body)),
        farthest,
        float(falls.max()) if len(falls) else np.nan,
        1000 * float(body_overlap(joints).max()),
        found.skating["all"].add(joints, fps),
    )
    found.spread.add(recording.name, dict(zip(PER_CLIP, figures, strict=True)))


def action_at(recording: Recording, frame: int) -> str:
    """Return the action of the legs at a frame of a generated clip; empty for none."""
    if recording.labels is None:
        return ""
    number = int(recording.labels[frame, LEGS])
    return next((action for action, its in recording.actions.items() if its == number), "")


def _worst(spread: Spread) -> str:
    return "worst: " + (", ".join(f"{name} ({value:.3g})" for name, value in spread.worst_clips[:NAMED] if value) or "none")


def _contacts(found: Found, spread: Spread, samples: int) -> Figure:
    share = found.sliding / max(found.contacts, 1)
    measured = f"{100 * share:.3f} % of {found.contacts:,}, worst 1 % of clips {100 * spread.worst:.1f} %; {_worst(spread)}"
    name = f"sole points labelled as contact that move over {SLIDE} m/s, {samples:,} samples of seed {SEED}"
    return Figure(name, measured, f"under {100 * SLIDING:.0f} %", share < SLIDING, spread.worst_clips)


def _skating(found: Found, real: list[Captured] | None) -> Iterator[Figure]:
    detector = f"steps with a toe below {100 * LOW:.0f} cm faster than {FAST} m/s"
    for family, skating in found.skating.items():
        name, measured = f"{detector}, {family}", f"{100 * skating.share:.2f} %"
        if real is None:
            yield Figure(name, f"{measured}; mocap: not measured, POSEGEN_REFERENCE is not set")
            continue
        theirs = Skating()
        for clip in real:
            if family in ("all", clip.family):
                theirs.add(clip.joints, clip.fps)
        yield Figure(name, measured, f"at most {100 * theirs.share:.2f} %, as in mocap", skating.share <= theirs.share)


def _depth(spread: Spread) -> Figure:
    # The deepest frame of each clip: stricter than the percentile over all frames.
    deep = spread.percentile99
    measured = f"{deep:.1f} mm, {spread.worst_clips[0][1]:.1f} at most; {_worst(spread)}"
    target = f"under {1000 * DEPTH:.0f} mm"
    return Figure(
        "deepest joint or sole under the floor, 99th percentile", measured, target, deep < 1000 * DEPTH, spread.worst_clips
    )


def _limits(found: Found, spread: Spread) -> Figure:
    order = sorted(found.violations.items(), key=lambda item: -item[1])
    which = ", ".join(f"{where} ({count} clips)" for where, count in order[:NAMED]) or "none"
    measured = f"{spread.worst_clips[0][1]:.1f} degrees at most; {which}; {_worst(spread)}"
    target = f"none over {TOLERANCE:.0f} degrees, to which angles come back from positions"
    return Figure(
        "joint range violations", measured, target, not found.violations, {"where": dict(order), "worst": spread.worst_clips}
    )


def _falls(found: Found, spread: Spread) -> Figure:
    if not found.flights:
        return Figure("fall in flight", "no flights", "some", False)
    measured = f"{100 * spread.worst_clips[0][1]:.2f} % off at most in {found.flights} flights; {_worst(spread)}"
    good = spread.worst_clips[0][1] < FALL
    return Figure("fall in flight, 9.81 m/s^2", measured, f"under {100 * FALL:.0f} % off", good, spread.worst_clips)

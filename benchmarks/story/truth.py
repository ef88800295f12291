"""Truth of captions: whether the checker refuses negated statements, and whether 10,000 samples have false statements.

The share of refused statements counts all negated statements, including those that cannot be measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.datasets import blocks
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from posegen import load_config
from posegen.checks.statements import check_statement, observe_actors
from posegen.library.load import Library, load_library
from posegen.synthesis.synthesize import Batch

SAMPLES = 10_000
REFUSED = 0.99
JUDGED = ("side", "count", "order", "speed", "direction")
"""Kinds with a target; the other kinds with negations are reported."""
PRESETS, PRESET_SAMPLES = ("pairs", "crowd"), 1000
"""Presets with several people, who also interact."""
NAMED = 20
"""False statements that are listed in the results."""

OTHERS = {
    "side": ("left", "right"),
    "direction": ("left", "right", "around"),
    "path": ("straight", "left", "right"),
    "speed": ("slow", "normal", "fast"),
}
"""Values of a statement by its kind."""

Verdicts = Counter[tuple[str, bool | None]]


@dataclass
class Checked:
    """Verdicts by kind: of statements as captions have them, and negated; the first false ones; resampled samples."""

    stated: Verdicts = field(default_factory=Counter)
    negated: Verdicts = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    again: int = 0
    dropped: int = 0


def measure(folder: Path) -> Iterator[Figure]:
    found = checked("default", scaled(SAMPLES, 50))
    yield from refused(found)
    yield from false_figures("default", found)
    for preset in PRESETS:
        yield from false_figures(preset, checked(preset, scaled(PRESET_SAMPLES, 20)))


def checked(preset: str, samples: int) -> Checked:
    """Check the first samples of a preset."""
    config, found = load_config(preset), Checked()
    library = load_library(config.story.library)
    for batch in blocks(samples, preset):
        check_batch(batch, library, config.fps, found)
    return found


def check_batch(batch: Batch, library: Library, fps: float, found: Checked) -> None:
    """Check all statements of some samples, as they are and negated."""
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    seen = observe_actors(joints, [row["actors"] for row in batch.rows], library, fps)
    found.samples += len(batch.samples)
    for row, actors in zip(batch.rows, seen, strict=True):
        found.again += row["variant"] == batch.variants[0] and row.get("attempt", 0) > 0
        found.dropped += len(row.get("dropped", ()))
        for text, statement in row_statements(row):
            kind, verdict = statement["kind"], check_statement(statement, actors, library)
            found.stated[kind, verdict] += 1
            if verdict is False and len(found.false) < NAMED:
                found.false.append(f"sample {row['sample']} {row['variant']}: {_named(statement)}: {text}")
            for false in negations(statement, row):
                accepted = check_statement(false, actors, library)
                found.negated[kind, accepted] += 1
                if accepted is not False:
                    found.missed[f"{_named(false)}, {'not measurable' if accepted is None else 'accepted'}"] += 1


def row_statements(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield all statements of a row, each with its text: those of captions and of captions of segments."""
    segments = (segment for actor in row["actors"] for segment in actor["segments"] if "statements" in segment)
    for described in (*row["captions"], *segments):
        for statement in described["statements"]:
            yield described["text"], statement


def negations(statement: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all negations of a statement: another side, speed or path, one more, one less, the other order.

    The statement that one segment is after, or during, another one becomes the statement that the other one is after it.
    Statements of other kinds have no negation.
    """
    kind, value = statement["kind"], str(statement["value"])
    if kind in OTHERS:
        for other in OTHERS[kind]:
            if other != value:
                yield {**statement, "value": other}
    elif kind == "count" or (kind == "people" and statement["actor"] < 0):
        for other_number in (int(value) - 1, int(value) + 1):
            if other_number > 0:
                yield {**statement, "value": str(other_number)}
    elif kind == "order":
        other_segment = int(value.split()[1])
        action = row["actors"][statement["actor"]]["segments"][other_segment]["action"]
        yield {**statement, "segment": other_segment, "action": action, "value": f"after {statement['segment']}"}


def refused(found: Checked) -> Iterator[Figure]:
    """Yield the shares of negated statements that were refused."""
    kinds = [*JUDGED, *sorted({kind for kind, _ in found.negated} - set(JUDGED))]
    for kind in kinds:
        false, accepted, unmeasured = (found.negated[kind, verdict] for verdict in (False, True, None))
        total = false + accepted + unmeasured
        share = false / total if total else 0.0
        text = f"{100 * share:.2f} % of {total:,} refused, {accepted:,} accepted, {unmeasured:,} not measurable"
        judged = kind in JUDGED
        target = f"at least {100 * REFUSED:.0f} %" if judged else ""
        yield Figure(f"negated statements, {kind}", text, target, share >= REFUSED if judged else None)
    missed = dict(found.missed.most_common(NAMED))
    yield Figure("negated statements not refused, the most frequent", "; ".join(list(missed)[:5]) or "none", detail=missed)


def false_figures(preset: str, found: Checked) -> Iterator[Figure]:
    """Yield the numbers of false and of unmeasurable statements, and of resampled samples."""
    kinds = sorted({kind for kind, _ in found.stated})
    false = sum(found.stated[kind, False] for kind in kinds)
    by_kind = ", ".join(f"{kind} {found.stated[kind, False]:,}" for kind in kinds if found.stated[kind, False])
    shown = sum(found.stated[kind, True] for kind in kinds)
    unmeasured = ", ".join(f"{kind} {found.stated[kind, None]:,}" for kind in kinds if found.stated[kind, None])
    text = f"{false:,} ({by_kind or 'of no kind'}); {shown:,} shown by the joints"
    name = f"false statements in all variants of {found.samples:,} samples, {preset}"
    yield Figure(name, text, "none", false == 0 and shown > 0, found.false)
    yield Figure(f"statements that cannot be measured, {preset}", unmeasured or "none")
    resampled = f"{found.again:,} samples resampled, {found.dropped:,} statements dropped"
    yield Figure(f"resampling, {preset}", resampled)


def _named(statement: Any) -> str:
    return " ".join(str(statement[key]) for key in ("kind", "action", "value") if statement[key])

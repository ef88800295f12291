"""Render ``docs/usefulness.md`` from its template and the committed results: ``python -m benchmarks.usefulness.page``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, filled_page, machine_sentence
from benchmarks.usefulness import amplification_page, definitions, lifting
from benchmarks.usefulness.chart import draw
from benchmarks.usefulness.definitions import (
    COUNTS,
    GENERATED_ONLY,
    MEAN_POSE,
    NEW_CLASSIFIER,
    PRETRAINED,
    PRETRAINED_LONGER,
    REAL_LONGER,
    REAL_ONLY,
)
from benchmarks.usefulness.measured import MEASURES, Measure
from benchmarks.usefulness.results import AMPLIFICATION, PRETRAINING, Result, paired, read, summed_up, values_of

__all__ = ["PAGE", "PICTURE", "page", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "usefulness.md"
PICTURE = PAGE.with_suffix(".png")
UNMEASURED = "not measured yet: `make usefulness`"
TEMPLATE = Path(__file__).with_name("usefulness.template.md")


def page(folder: Path = RESULTS) -> str:
    """Return the page with the measured values."""
    document, results = read(PRETRAINING, folder)
    amplified = read(AMPLIFICATION, folder)
    parts = {
        "machine": _took("python -m benchmarks.usefulness --only usefulness", document, results),
        "amplified_machine": _took("python -m benchmarks.usefulness --only amplification", *amplified),
        **amplification_page.parts(amplified[0]["facts"], amplified[1]),
        "verdict": "\n".join(f"- {_verdict(results, measure)}" for measure in MEASURES[:2]),
        **{name: _table(results, measure) for name, measure in zip(("action", "mpjpe", "pa_mpjpe"), MEASURES, strict=True)},
        **_facts(document["facts"]),
        **{name: f"{getattr(definitions, name.upper()):,}" for name in ("steps", "batch", "lifting_steps", "lifting_batch")},
        "samples": f"{definitions.PRETRAINING_SAMPLES:,}",
        "folds": str(definitions.FOLDS),
        "cameras": str(definitions.CAMERAS),
        "longer": str(definitions.LONGER),
        "fine_tuning": f"{definitions.FINE_TUNING:g}",
        "weights": f"{sum(each.numel() for each in lifting.Lifter().parameters()):,}",
    }
    return filled_page(TEMPLATE, parts)


def write() -> list[Path]:
    """Write the page and its chart and return their paths."""
    PAGE.write_text(page(), encoding="utf-8")
    draw(read(PRETRAINING)[1], PICTURE)
    return [PAGE, PICTURE]


def _took(command: str, document: Mapping[str, Any], results: Sequence[Result]) -> str:
    # Those of the first method; some methods have fewer.
    first = Counter(result.count for result in results if result.task == results[0].task and result.way == results[0].way)
    low, high = min(first.values()), max(first.values())
    repetitions = f"{high} repetition{'s' * (high > 1)}" if low == high else f"{low} to {high} repetitions"
    machine = f"{machine_sentence(document['machine'])}, torch {document['machine']['torch']}"
    took = f"`{command}` took {document['seconds'] / 60:.0f} minutes of one core's time"
    return f"{took} for {repetitions}, with content version {document['facts']['content_version']}; {machine}."


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    families = facts["families"]
    return {
        "clips": str(sum(families.values())),
        "persons": str(facts["persons"]),
        "families": ", ".join(f"{family} {count}" for family, count in sorted(families.items())),
        "classes": str(len(families)),
        "chance": f"{100 / len(families):.1f} %",
        "parts": ", ".join(f"{part['clips']} clips of {part['persons']} persons" for part in facts["parts"]),
    }


def _verdict(results: Sequence[Result], measure: Measure) -> str:
    """Return a sentence with the gain of pre-training for each number of clips."""
    gained = []
    for count in COUNTS:
        gains = _gains(results, measure, PRETRAINED, count)
        if gains:
            mean, _ = summed_up(gains)
            name = "all clips" if count is None else f"{count} clip{'s' if count > 1 else ''} a class"
            better = sum(gain > 0 for gain in gains)
            gained.append(f"{measure.gain(mean)} with {name} (better in {better} of {len(gains)})")
    if not gained:
        return f"**{measure.name}**: {UNMEASURED}"
    return (
        f"**{measure.name}**: pre-training on generated motion gains {'; '.join(gained)} over real clips only."
        f"{_longer(results, measure)}"
    )


def _longer(results: Sequence[Result], measure: Measure) -> str:
    """Return a sentence with the gain of more steps on real clips, beside that of generated motion."""
    gained = []
    for count in COUNTS:
        gains, same = (_gains(results, measure, way, count) for way in (REAL_LONGER, PRETRAINED))
        if gains:
            # Longer training uses the first repetitions only.
            other = summed_up(same[: len(gains)])[0]
            name = "all" if count is None else str(count)
            gained.append(
                f"{measure.gain(summed_up(gains)[0])} with {name} (pre-training, same repetitions: {measure.gain(other)})"
            )
    if not gained:
        return ""
    return f" Real clips only with {definitions.LONGER} times as many steps gain {'; '.join(gained)}."


def _gains(results: Sequence[Result], measure: Measure, way: str, count: int | None) -> list[float]:
    """Return by how much a method is better than real clips only, in each repetition."""
    found, real = (values_of(results, measure.task, each, count, measure.key) for each in (way, REAL_ONLY))
    return [measure.sign * each for each in paired(found, real)]


def _table(results: Sequence[Result], measure: Measure) -> str:
    lines = [
        f"| real clips of a class (together) | {REAL_ONLY} | {PRETRAINED} | gain | better in |",
        "|---|---|---|---|---|",
    ]
    for count in COUNTS:
        real, after = (values_of(results, measure.task, way, count, measure.key) for way in (REAL_ONLY, PRETRAINED))
        gains = _gains(results, measure, PRETRAINED, count)
        if gains:
            better = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
            cells = [_count(results, measure, count), measure.reported(real.values()), measure.reported(after.values())]
            lines.append(f"| {' | '.join(cells)} | {measure.stated_gain(gains)} | {better} |")
    return "\n".join([*lines, "", *_beside(results, measure)]) if len(lines) > 2 else UNMEASURED


def _beside(results: Sequence[Result], measure: Measure) -> list[str]:
    """Return a table row for each of the other methods."""
    lines = ["| other methods | real clips of a class (together) | |", "|---|---|---|"]
    ways = [
        (GENERATED_ONLY, 0),
        (MEAN_POSE, None),
        *((NEW_CLASSIFIER, count) for count in COUNTS),
        *((way, count) for count in COUNTS for way in (REAL_LONGER, PRETRAINED_LONGER)),
    ]
    for way, count in ways:
        values = values_of(results, measure.task, way, count, measure.key)
        if values:
            lines.append(
                f"| {way} | {_count(results, measure, count, way)} | {_of_same(results, measure, way, count, values)} |"
            )
    return lines


def _of_same(results: Sequence[Result], measure: Measure, way: str, count: int | None, values: Mapping[int, float]) -> str:
    """Return a value, with that of real clips only in the same repetitions if the method has fewer of them."""
    text = measure.reported(values.values())
    real = values_of(results, measure.task, REAL_ONLY, count, measure.key)
    if way in (NEW_CLASSIFIER, REAL_LONGER, PRETRAINED_LONGER):
        same = [real[repetition] for repetition in values]
        text += f"; {REAL_ONLY} in the same {len(same)} repetitions {measure.reported(same)}"
    return text


def _count(results: Sequence[Result], measure: Measure, count: int | None, way: str = REAL_ONLY) -> str:
    clips = [r.clips for r in results if (r.task, r.way, r.count) == (measure.task, way, count)]
    if count == 0:
        return "none"
    low, high = min(clips), max(clips)
    return f"{'all' if count is None else count} ({low if low == high else f'{low} to {high}'})"


if __name__ == "__main__":
    print(*write(), sep="\n")

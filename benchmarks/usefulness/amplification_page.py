"""The part of the page about datasets from clips: tables of all methods, and gains over the clips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.usefulness import definitions
from benchmarks.usefulness.amplification import ACTION, LIFTING
from benchmarks.usefulness.definitions import (
    AMPLIFIED_COUNTS,
    AMPLIFIED_LONGER,
    AUGMENTED,
    AUGMENTED_AND_GENERATED,
    CLIPS,
    DEFAULT_THEN_CLIPS,
    FROM_CLIPS,
)
from benchmarks.usefulness.measured import MEASURES, Measure
from benchmarks.usefulness.results import Result, paired, summed_up, values_of
from benchmarks.usefulness.trials import AMPLIFIED, longer

__all__ = ["parts"]

_TASKS = {"action": ACTION, "lifting": LIFTING}
_MEASURES = tuple(replace(measure, task=_TASKS[measure.task]) for measure in MEASURES)
_EXPECTED = (1, 5)
"""Clips of a class with which a dataset generated from them was expected to be better than they, plain or augmented."""
_COMPARED = (
    (FROM_CLIPS, CLIPS),
    (FROM_CLIPS, AUGMENTED),
    (AUGMENTED_AND_GENERATED, AUGMENTED),
    (DEFAULT_THEN_CLIPS, CLIPS),
)
"""Methods whose gains over another one are reported."""
_TIMES = (1, AMPLIFIED_LONGER)


def parts(facts: Mapping[str, Any], results: Sequence[Result]) -> dict[str, str]:
    """Return the parts of the page by name."""
    names = ("amplified_action", "amplified_mpjpe", "amplified_pa_mpjpe")
    families = {family: facts["families"].get(family, 0) for family in facts["imported"]}
    others = [family for family in facts["families"] if family not in families]
    return {
        "amplified_verdict": "\n".join(_verdicts(results)),
        **{name: "\n".join(_table(results, measure)) for name, measure in zip(names, _MEASURES, strict=True)},
        "imported": ", ".join(f"{family} {count}" for family, count in families.items()),
        "left_out": f" Those of {', '.join(sorted(others))} are left out in training and test." if others else "",
        "imported_chance": f"{100 / len(families):.1f} %",
        "taken": _taken(results),
        "amplified_samples": str(definitions.AMPLIFIED_SAMPLES),
        "copies": str(definitions.AMPLIFIED_COPIES),
        "amplified_longer": str(AMPLIFIED_LONGER),
        "amplified_steps": f"{definitions.PHASES * definitions.STEPS:,}",
        "amplified_lifting_steps": f"{definitions.PHASES * definitions.LIFTING_STEPS:,}",
    }


def _table(results: Sequence[Result], measure: Measure) -> Iterator[str]:
    columns = [(times, count) for times in _TIMES for count in AMPLIFIED_COUNTS]
    yield f"| trained on | {' | '.join(longer(_clips(count), times) for times, count in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for way in AMPLIFIED:
        found = [values_of(results, measure.task, longer(way, times), count, measure.key) for times, count in columns]
        yield f"| {way} | {' | '.join(measure.reported(values.values()) if values else '' for values in found)} |"


def _verdicts(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table of the gains of datasets from clips, with the target."""
    yield f"| measure | clips of a class | {' | '.join(f'{way}, over {other}' for way, other in _COMPARED)} | target |"
    yield "|---" * (len(_COMPARED) + 3) + "|"
    for measure in _MEASURES[:2]:
        for times in _TIMES:
            for count in AMPLIFIED_COUNTS:
                gains = [_gain(results, measure, longer(way, times), longer(other, times), count) for way, other in _COMPARED]
                if all(gains):
                    cells = " | ".join(_stated(measure, each) for each in gains)
                    yield f"| {measure.name} | {longer(str(count), times)} | {cells} | {_outcome(gains[:2], count)} |"


def _stated(measure: Measure, gains: Sequence[float]) -> str:
    return f"{measure.gain(summed_up(gains)[0])} ({sum(gain > 0 for gain in gains)} of {len(gains)})"


def _outcome(gains: Sequence[Sequence[float]], count: int) -> str:
    if count not in _EXPECTED:
        return ""
    return f"first two above 0: {'pass' if all(summed_up(each)[0] > 0 for each in gains) else '**fail**'}"


def _gain(results: Sequence[Result], measure: Measure, way: str, other: str, count: int) -> list[float]:
    found, base = (values_of(results, measure.task, each, count, measure.key) for each in (way, other))
    return [measure.sign * each for each in paired(found, base)]


def _taken(results: Sequence[Result]) -> str:
    """Return the shares of clips that are imported."""
    shares = [
        f"{100 * summed_up(list(values.values()))[0]:.0f} % with {_clips(count)}"
        for count in AMPLIFIED_COUNTS
        if (values := values_of(results, ACTION, FROM_CLIPS, count, "imported"))
    ]
    return ", ".join(shares)


def _clips(count: int) -> str:
    return f"{count} clip{'s' if count > 1 else ''} a class"

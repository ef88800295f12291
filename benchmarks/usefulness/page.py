"""Render ``docs/usefulness.md`` from its template and the committed results: ``python -m benchmarks.usefulness.page``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, filled_page, machine_sentence
from benchmarks.usefulness import amplification, lifting
from benchmarks.usefulness import definitions as of
from benchmarks.usefulness.results import (
    AMPLIFICATION,
    MEASURES,
    PRETRAINING,
    Measure,
    Result,
    paired,
    read,
    summed_up,
    values_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "usefulness.md"
PICTURE = PAGE.with_suffix(".png")
TEMPLATE = Path(__file__).with_name("usefulness.template.md")
_TASKS = {"action": amplification.ACTION, "lifting": amplification.LIFTING}


@dataclass(frozen=True)
class Comparison:
    """An experiment as the page shows it.

    Attributes
    ----------
    ways : sequence of str
        Methods, the rows of its tables.
    columns : sequence of (int, int or None)
        Factor on the steps, and clips of a class.
    compared : sequence of (str, str)
        Methods whose gains over another one are shown, with as many clips each.
    rows : sequence of (int, int or None)
        Those of the table of gains, as `columns`.
    expected : sequence of int
        Clips of a class with which the first two gains were expected to be positive.
    measures : sequence of Measure
    """

    ways: Sequence[str]
    columns: Sequence[tuple[int, int | None]]
    compared: Sequence[tuple[str, str]]
    rows: Sequence[tuple[int, int | None]]
    expected: Sequence[int]
    measures: Sequence[Measure]


PRETRAINED_FIRST = Comparison(
    (of.REAL_ONLY, of.PRETRAINED, of.NEW_CLASSIFIER, of.GENERATED_ONLY, of.MEAN_POSE),
    [(1, 0), *((times, count) for times in (1, of.LONGER) for count in of.COUNTS)],
    (
        (of.PRETRAINED, of.REAL_ONLY),
        (of.NEW_CLASSIFIER, of.REAL_ONLY),
        (of.REAL_LONGER, of.REAL_ONLY),
        (of.PRETRAINED_LONGER, of.REAL_LONGER),
    ),
    [(1, count) for count in of.COUNTS],
    (),
    MEASURES,
)
FROM_OWN_CLIPS = Comparison(
    tuple(of.AMPLIFIED),
    [(times, count) for times in (1, of.AMPLIFIED_LONGER) for count in of.AMPLIFIED_COUNTS],
    (
        (of.FROM_CLIPS, of.CLIPS),
        (of.FROM_CLIPS, of.AUGMENTED),
        (of.AUGMENTED_AND_GENERATED, of.AUGMENTED),
        (of.DEFAULT_THEN_CLIPS, of.CLIPS),
    ),
    [(times, count) for times in (1, of.AMPLIFIED_LONGER) for count in of.AMPLIFIED_COUNTS],
    (1, 5),
    tuple(replace(measure, task=_TASKS[measure.task]) for measure in MEASURES),
)


COLOURS = {
    of.REAL_ONLY: "#d64030",
    of.PRETRAINED: "#1f6cc8",
    of.REAL_LONGER: "#eda79e",
    of.PRETRAINED_LONGER: "#8db6e6",
    of.NEW_CLASSIFIER: "#a06cc8",
}
"""Colours of the chart."""


def page(folder: Path = RESULTS) -> str:
    """Return the page with the measured values."""
    (document, results), (amplified, own) = read(PRETRAINING, folder), read(AMPLIFICATION, folder)
    parts = {
        "machine": _took("python -m benchmarks.usefulness --only usefulness", document, results),
        "amplified_machine": _took("python -m benchmarks.usefulness --only amplification", amplified, own),
        **_tables("", PRETRAINED_FIRST, results),
        **_tables("amplified_", FROM_OWN_CLIPS, own),
        **_facts(document["facts"]),
        **_imported(amplified["facts"], own),
        **{name: f"{getattr(of, name.upper()):,}" for name in _CONSTANTS},
        "together": ", ".join(f"{_together(results, count)} with {_clips(count)}" for count in of.COUNTS),
        "samples": f"{of.PRETRAINING_SAMPLES:,}",
        "fine_tuning": f"{of.FINE_TUNING:g}",
        "amplified_steps": f"{of.PHASES * of.STEPS:,}",
        "amplified_lifting_steps": f"{of.PHASES * of.LIFTING_STEPS:,}",
        "weights": f"{sum(each.numel() for each in lifting.Lifter().parameters()):,}",
    }
    return filled_page(TEMPLATE, parts)


_CONSTANTS = (
    "steps", "batch", "lifting_steps", "lifting_batch", "folds", "cameras", "longer", "amplified_samples", "amplified_copies",
    "amplified_longer",
)  # fmt: skip
"""Definitions that the page states."""


def write() -> list[Path]:
    """Write the page and its chart and return their paths."""
    PAGE.write_text(page(), encoding="utf-8")
    draw(read(PRETRAINING)[1], PICTURE)
    return [PAGE, PICTURE]


def draw(results: Sequence[Result], path: Path) -> None:
    """Write the chart as PNG: mean over repetitions, bars of one standard deviation."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, measure in zip(figure.subplots(1, 2), MEASURES[:2], strict=True):
        if not any(result.task == measure.task for result in results):
            axes.set_title(f"{measure.name}: not measured yet", fontsize=10)
            continue
        for way, colour in COLOURS.items():
            found = [values_of(results, measure.task, way, count, measure.key) for count in of.COUNTS]
            places = [place for place, values in enumerate(found) if values]
            if not places:
                continue
            middles, spreads = zip(*(summed_up(list(found[place].values())) for place in places), strict=True)
            tall, thick = ([measure.times * value for value in values] for values in (middles, spreads))
            axes.errorbar(places, tall, thick, color=colour, marker="o", capsize=3, label=way)
        alone = values_of(results, measure.task, of.GENERATED_ONLY, 0, measure.key)
        axes.axhline(
            measure.times * summed_up(list(alone.values()))[0], color="#404048", linestyle="--", label=of.GENERATED_ONLY
        )
        axes.set_xticks(range(len(of.COUNTS)), ["all" if count is None else str(count) for count in of.COUNTS])
        axes.set_xlabel("real clips of a class")
        axes.set_title(f"{measure.name} ({measure.unit})", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#dddddd")
        axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Software": None})


def _took(command: str, document: Mapping[str, Any], results: Sequence[Result]) -> str:
    # Those of the first method; some methods have fewer.
    first = Counter(result.count for result in results if result.task == results[0].task and result.way == results[0].way)
    repetitions = _range(list(first.values()))
    machine = f"{machine_sentence(document['machine'])}, torch {document['machine']['torch']}"
    took = f"`{command}` took {document['seconds'] / 60:.0f} minutes of one core's time"
    return f"{took} for {repetitions} repetitions, with content version {document['facts']['content_version']}; {machine}."


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


def _imported(facts: Mapping[str, Any], results: Sequence[Result]) -> dict[str, str]:
    """Return the parts about the families and clips that are imported."""
    families = {family: facts["families"].get(family, 0) for family in facts["imported"]}
    others = sorted(family for family in facts["families"] if family not in families)
    taken = []
    for count in of.AMPLIFIED_COUNTS:
        if shares := values_of(results, amplification.ACTION, of.FROM_CLIPS, count, "imported"):
            taken.append(f"{100 * summed_up(list(shares.values()))[0]:.0f} % with {_clips(count)}")
    return {
        "imported": ", ".join(f"{family} {count}" for family, count in families.items()),
        "left_out": f" Those of {', '.join(others)} are left out in training and test." if others else "",
        "imported_chance": f"{100 / len(families):.1f} %",
        "taken": ", ".join(taken),
    }


def _tables(prefix: str, comparison: Comparison, results: Sequence[Result]) -> dict[str, str]:
    """Return the table of gains, and one of all methods for each measure."""
    names = ("action", "mpjpe", "pa_mpjpe")
    tables = {name: _table(results, measure, comparison) for name, measure in zip(names, comparison.measures, strict=True)}
    gains = {"gains": _gains(results, comparison)}
    return {f"{prefix}{name}": "\n".join(lines) for name, lines in (tables | gains).items()}


def _table(results: Sequence[Result], measure: Measure, comparison: Comparison) -> Iterator[str]:
    columns = comparison.columns
    yield f"| trained on | {' | '.join(of.longer(_clips(count), times) for times, count in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for way in comparison.ways:
        found = [values_of(results, measure.task, of.longer(way, times), count, measure.key) for times, count in columns]
        if any(found):
            yield f"| {way} | {' | '.join(measure.reported(values.values()) if values else '' for values in found)} |"


def _gains(results: Sequence[Result], comparison: Comparison) -> Iterator[str]:
    heads = [f"{way}, over {other}" for way, other in comparison.compared] + ["target"] * bool(comparison.expected)
    yield f"| measure | clips of a class | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 2) + "|"
    for measure in comparison.measures[:2]:
        for times, count in comparison.rows:
            pairs = [(of.longer(way, times), of.longer(other, times)) for way, other in comparison.compared]
            gains = [_gain(results, measure, way, other, count) for way, other in pairs]
            cells = [of.longer("all" if count is None else str(count), times), *map(measure.gain, gains)]
            if comparison.expected:
                cells.append(_outcome(gains, count in comparison.expected))
            if any(gains):
                yield f"| {measure.name} | {' | '.join(cells)} |"


def _gain(results: Sequence[Result], measure: Measure, way: str, other: str, count: int | None) -> list[float]:
    """Return by how much a method is better than another one, in each repetition that both have."""
    found, base = (values_of(results, measure.task, each, count, measure.key) for each in (way, other))
    return [measure.sign * each for each in paired(found, base)]


def _outcome(gains: Sequence[Sequence[float]], is_expected: bool) -> str:
    if not (is_expected and all(gains[:2])):
        return ""
    return f"first two above 0: {'pass' if all(summed_up(each)[0] > 0 for each in gains[:2]) else '**fail**'}"


def _together(results: Sequence[Result], count: int | None) -> str:
    """Return how many clips the methods of a count are trained on, of all classes."""
    return _range([result.clips for result in results if (result.way, result.count) == (of.REAL_ONLY, count)])


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _clips(count: int | None) -> str:
    if not count:
        return "all clips" if count is None else "no real clips"
    return f"{count} clip{'s' if count > 1 else ''} a class"


if __name__ == "__main__":
    print(*write(), sep="\n")

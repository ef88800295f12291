"""``posegen train TABLE --pairs``: fine-tune a text encoder on pairs of texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from posegen.cli.options import Output, quoted
from posegen.foundations.errors import UsageError, require_known

if TYPE_CHECKING:
    from posegen.training.train import Result

_TITLES = {
    "r1": "recall@1",
    "r10": "recall@10",
    "spearman": "rank correlation",
    "auc": "AUC",
    "tar": "true accepts at 1 % false accepts",
    "hard_auc": "AUC, hard negatives",
    "hard_tar": "true accepts at 1 % false accepts, hard negatives",
}
_RATES = (0.001, 0.01)


def train_on_pairs(
    source: str,
    pairs: str,
    score: str | None,
    encoder: str | None,
    preset: str,
    out: Path | None,
    overrides: Sequence[str],
    lora: int | None,
    budget: float | None,
    only_estimate: bool,
    given: Mapping[str, object],
    output: Output,
) -> None:
    """Fine-tune an encoder on the pairs of a table, and print the measures; UsageError for options that have no effect."""
    from posegen.foundations.plugins import require_extra
    from posegen.training.settings import PAIR_PRESETS, PAIR_SETTINGS, load_settings, training_presets

    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} has no effect with --pairs. Remove it")
    if preset in training_presets():
        require_known("--pairs has no preset", preset, PAIR_PRESETS)
    for override in overrides:
        require_known("--pairs has no setting", override.partition("=")[0], PAIR_SETTINGS)
    own = [] if encoder is None else [f"text.encoder={json.dumps(encoder)}"]
    own += [] if lora is None else [f"adapter.rank={lora}"]
    settings = load_settings(preset, [*overrides, *own], "pairs")
    require_extra("train")
    progress = output.progress()
    with progress.working("load torch and sentence-transformers"):
        from posegen.training.text_pairs import PairRequest, train_pairs

    columns = tuple(name.strip() for name in pairs.split(","))
    request = PairRequest(Path(source), columns, score, preset, settings, out, budget, only_estimate)
    with output.resumable(request.run):
        result = train_pairs(request, progress)
    output.summary(asdict(result), _summary(result, source, only_estimate=only_estimate))


def _summary(result: Result, source: str, *, only_estimate: bool) -> str:
    from posegen.foundations.quantities import human_time
    from posegen.foundations.wording import table
    from posegen.training.run_folder import RESULT, format_measure, read_document

    if only_estimate and result.estimate is not None:
        needed = f"{human_time(result.estimate.seconds)} and {result.estimate.memory()} of memory"
        return f"Nothing was trained; training would take about {needed}."
    if result.stopped is not None:
        return f"Stopped after {result.steps:,} steps: {result.stopped}."
    work = "Nothing to do: complete" if result.nothing_to_do else f"Trained in {human_time(result.seconds)}"
    measures = result.measures
    rows = [
        (title, format_measure(measures.get(f"{name}_before")), format_measure(measures[name]))
        for name, title in _TITLES.items()
        if name in measures
    ]
    lines = [
        f"{work}, {result.steps:,} steps, in {result.run}.",
        table(("", "before", "after"), rows, f"On {measures['pairs']:,.0f} held-out pairs:"),
    ]
    stored = read_document(result.run, RESULT) or {"table": {"rates": []}}
    for rate in stored["table"]["rates"]:
        if rate["far"] in _RATES:
            accepted = f"{100 * rate['tar']:.1f} % of the right pairs exceed it"
            lines.append(f"threshold {rate['threshold']:.3f} at a false accept rate of {100 * rate['far']:g} %: {accepted}")
    return "\n".join([*lines, "Next:", f"  posegen embed {quoted(Path(source))} --encoder {quoted(result.run)}"])

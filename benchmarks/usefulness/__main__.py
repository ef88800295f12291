"""Run all trials, save the results and render the page: ``make usefulness``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.datasets import generate
from benchmarks.usefulness import action, amplification, lifting
from benchmarks.usefulness.clips import Clips, shared_clips
from benchmarks.usefulness.definitions import (
    AMPLIFIED_REPETITIONS,
    BODIES,
    IMPORTED,
    PRETRAINING_SAMPLES,
    REPETITIONS,
    Trial,
    amplified_trials,
    longer,
    trials,
)
from benchmarks.usefulness.results import AMPLIFICATION, PRETRAINING, Result, have, read, write
from posegen.config.schema import CONTENT_VERSION
from posegen.foundations.errors import UsageError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usefulness", description=__doc__)
    made = f"{PRETRAINING_SAMPLES:,} samples of the default config, where they are there already; generated again unless given"
    parser.add_argument("--dataset", type=Path, help=made)
    times = "of each way on each count, each with clips, draws and weights of its own"
    usual = f"(default: {REPETITIONS}; of own clips {AMPLIFIED_REPETITIONS})"
    parser.add_argument("--repetitions", type=int, help=f"{times} {usual}")
    parser.add_argument("--only", choices=(PRETRAINING, AMPLIFICATION), help="one of the two comparisons (default: both)")
    parser.add_argument("--missing", action="store_true", help="measure only what the kept results lack, and add it to them")
    options = parser.parse_args()
    sections = (options.only,) if options.only else (PRETRAINING, AMPLIFICATION)
    try:
        clips = shared_clips()
        kept = {section: _kept(_facts(clips, section), section) if options.missing else ([], 0.0) for section in sections}
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # Sums over several threads differ in their last bits.
    torch.set_num_threads(1)
    start, spent = time.monotonic(), 0.0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        samples = ("--samples", str(PRETRAINING_SAMPLES), *(part for key in BODIES for part in ("--set", key)))
        dataset = options.dataset or generate(folder / "dataset", *samples)
        for section in sections:
            results, before = kept[section]
            for result in _MEASURED[section](clips, results, options.repetitions, dataset, folder):
                results.append(result)
                _tell(result, start)
                write(section, results, _facts(clips, section), before + sum(os.times()[:4]) - spent)
            spent = sum(os.times()[:4])
    from benchmarks.usefulness import page

    print(*page.write(), sep="\n")
    return 0


def _pretraining(
    clips: Clips, results: Sequence[Result], repetitions: int | None, dataset: Path, folder: Path
) -> Iterator[Result]:
    def lacking(task: str) -> list[Trial]:
        return _lacking(trials(task, repetitions or REPETITIONS), results, task)

    if own := lacking(lifting.TASK):
        yield from lifting.measure(clips, lifting.pretrained(dataset), own)
    if own := lacking(action.TASK):
        yield from action.measure(clips, action.pretrained(dataset, folder), own)


def _amplification(
    clips: Clips, results: Sequence[Result], repetitions: int | None, dataset: Path, folder: Path
) -> Iterator[Result]:
    own = _lacking(amplified_trials(repetitions or AMPLIFIED_REPETITIONS), results, amplification.LIFTING)
    if own:
        yield from amplification.measure(clips, dataset, own, folder)


_MEASURED = {PRETRAINING: _pretraining, AMPLIFICATION: _amplification}


def _lacking(every: Iterator[Trial], results: Sequence[Result], task: str) -> list[Trial]:
    there = have(results, task)
    return [trial for trial in every if (longer(trial.way, trial.times), trial.count, trial.repetition) not in there]


def _kept(facts: Mapping[str, Any], section: str) -> tuple[list[Result], float]:
    """Return the saved results and their processor seconds."""
    try:
        document, results = read(section)
    except FileNotFoundError:
        return [], 0.0
    if document["facts"] != facts:
        msg = "the kept results are of other motion, mocap clips or families; measure all of it anew, without --missing"
        raise UsageError(msg)
    return results, float(document["seconds"])


def _facts(clips: Clips, section: str) -> dict[str, Any]:
    """Return the facts about the clips that the page shows."""
    facts: dict[str, Any] = {
        "content_version": CONTENT_VERSION,
        "families": dict(Counter(clips.families)),
        "persons": len(set(clips.persons)),
        "parts": [
            {"persons": len({p for p, of in zip(clips.persons, clips.part, strict=True) if of == i}), "clips": n}
            for i, n in sorted(Counter(clips.part.tolist()).items())
        ],
    }
    return facts | {"imported": list(IMPORTED)} if section == AMPLIFICATION else facts


def _tell(result: Result, start: float) -> None:
    count = "all" if result.count is None else result.count
    figures = ", ".join(f"{name} {value:.4g}" for name, value in result.measures.items())
    what = f"{result.task}, {result.way}, {count} a class, repetition {result.repetition}: {figures}"
    print(f"{(time.monotonic() - start) / 60:5.1f} minutes: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

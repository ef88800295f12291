"""Measure it all, keep the results and make the page: ``make usefulness``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch

from benchmarks.datasets import generate
from benchmarks.usefulness import action, lifting
from benchmarks.usefulness.clips import shared_clips
from benchmarks.usefulness.definitions import FOLDS, PRETRAINING_SAMPLES, REPETITIONS
from benchmarks.usefulness.results import Result, write
from posegen.errors import UsageError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usefulness", description=__doc__)
    made = f"{PRETRAINING_SAMPLES:,} samples of the default config, where they are there already; made anew unless given"
    parser.add_argument("--dataset", type=Path, help=made)
    times = "of each way on each count, each with clips, draws and weights of its own (default: %(default)s)"
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help=times)
    options = parser.parse_args()
    try:
        clips = shared_clips()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # Sums of several threads differ in their last bits.
    torch.set_num_threads(1)
    start = time.monotonic()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        samples = ("--samples", str(PRETRAINING_SAMPLES))
        dataset = options.dataset or generate(folder / "dataset", *samples)
        lifter = lifting.pretrained(dataset)
        _tell("lifting is pre-trained", start)
        results += _told(lifting.measure(clips, lifter, options.repetitions), start)
        classifier = action.pretrained(dataset, folder)
        _tell("action is pre-trained", start)
        results += _told(action.measure(clips, classifier, options.repetitions), start)
    facts = {
        "families": dict(Counter(clips.families)),
        "persons": len(set(clips.persons)),
        "parts": [
            {"persons": len({p for p, of in zip(clips.persons, clips.part, strict=True) if of == i}), "clips": n}
            for i, n in sorted(Counter(clips.part.tolist()).items())
        ],
    }
    assert len(facts["parts"]) == FOLDS
    print(write(results, facts, time.monotonic() - start))
    from benchmarks.usefulness import page

    for path in page.write():
        print(path)
    return 0


def _told(found: Iterable[Result], start: float) -> list[Result]:
    results = []
    for result in found:
        results.append(result)
        count = "all" if result.count is None else result.count
        figures = ", ".join(f"{name} {value:.4g}" for name, value in result.measures.items())
        _tell(f"{result.task}, {result.way}, {count} a class, repetition {result.repetition}: {figures}", start)
    return results


def _tell(what: str, start: float) -> None:
    print(f"{(time.monotonic() - start) / 60:5.1f} minutes: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""`posegen train` beside the published settings, on the same model, clips and machine, and what each of its choices gives.

A clip's time is reported from blocks of some hundred clips that are done in turns, so that a busy moment hits all ways alike;
what is reported is the median over the rounds of the ratio within a round. The first steps of a block, in which processes start
and queues are filled, are not timed. Then each way trains for as many clips, and for as long, and is held against the same
held-out ones.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from torch import nn

from benchmarks.figures import Figure
from benchmarks.motion.clips import scaled
from benchmarks.train.as_posegen import Posegen, begun, posegen_trains
from benchmarks.train.published import Held, Way, held, padding, train
from benchmarks.train.shared import dataset
from posegen.dataset.read import open_dataset
from posegen.training.data.features import ACTION, LENGTH, MOTION
from posegen.training.trained_models import evaluate_model

FASTER = {3: 1.5, 8: 1.1}
"""By how much a clip must go through `posegen train` faster than with the published settings and so large a batch."""
WORSE = 0.02
"""By how much the share of right clips may be less, after as many clips and in as much time."""
SAMPLES = 1500
"""That are trained on: as many as the published way has room for in memory."""
ROUNDS = scaled(5, 3)
BLOCK = scaled(192, 64)
"""Clips in a block."""
WARMING = 3
CLIPS = scaled(19_200, 320)
"""That each way sees until it is held against the others: as many as in all of quick."""

BASE = "published, batch 3"
PUBLISHED = {f"published, batch {batch}": Way(batch) for batch in FASTER}
ALL = "all of these"
POSEGEN = "posegen train"
BATCH, KEPT, NO_PROCESS, THREADS = "batches of 32", "features kept", "no process that only loads", "threads by measurement"
CHANGES: Mapping[str, dict[str, object]] = {
    BATCH: {"batch": 32},
    KEPT: {"kept": True},
    NO_PROCESS: {"workers": 0},
    THREADS: {},
}
"""What each choice of posegen's changes in the published way; threads are known when they are measured."""
STRETCHES = "stretches of 100 frames"

Seconds = dict[str, list[float]]


def ways_of(threads: int) -> dict[str, Way]:
    """Make the ways: as published, each choice alone, all of them, and all but one; of stretches only alone."""
    changes = {**CHANGES, THREADS: {"threads": threads}}
    published = PUBLISHED[BASE]
    ways = dict(PUBLISHED)
    ways |= {f"with {name}": replace(published, **change) for name, change in changes.items()}
    ways[f"with {STRETCHES}"] = replace(published, frames=100)
    for left_out in (None, *changes):
        way = published
        for name, change in changes.items():
            way = way if name == left_out else replace(way, **change)
        ways[ALL if left_out is None else f"without {left_out}"] = way
    return ways


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    ours = begun(path, scaled(SAMPLES, 200))
    source = ours.material.source((MOTION, LENGTH, ACTION), "training")
    clips = held(open_dataset(path), source.sample_numbers, ours.material.view)
    yield Figure(
        "padding of clips to the longest", f"{100 * padding(clips):.1f} % of the frames of {len(clips.kept['length']):,} clips"
    )
    seconds = _in_turns(ours, clips, folder)
    yield from _speeds(seconds, ours)
    yield from _qualities(ours, clips, folder)


def _in_turns(ours: Posegen, clips: Held, folder: Path) -> Seconds:
    """Time a clip in each way, and in posegen's own, in each of some rounds."""
    ways = ways_of(int(ours.chosen["threads"]))
    seconds: Seconds = {name: [] for name in (*ways, POSEGEN)}
    for number in range(ROUNDS):
        names = list(seconds)
        first = number * len(names) // ROUNDS
        for name in names[first:] + names[:first]:
            found = _published_block(ours, clips, ways[name]) if name in ways else _own_block(ours, folder / f"{number}")
            seconds[name].append(found)
    return seconds


def _published_block(ours: Posegen, clips: Held, way: Way) -> float:
    marks: list[float] = []
    steps = WARMING + max(3, BLOCK // way.batch)
    train(ours.model(), ours.task, clips, way, ours.settings, steps, lambda: marks.append(time.perf_counter()))
    return _each(marks, way.batch)


def _own_block(ours: Posegen, folder: Path) -> float:
    marks: list[float] = []
    batch = ours.settings.batch
    posegen_trains(ours, WARMING + max(3, BLOCK // batch), folder, lambda: marks.append(time.perf_counter()))
    return _each(marks, batch)


def _each(marks: list[float], batch: int) -> float:
    """Seconds of a clip, without the first steps."""
    return (marks[-1] - marks[WARMING - 1]) / (len(marks) - WARMING) / batch


def _speeds(seconds: Seconds, ours: Posegen) -> Iterator[Figure]:
    for name, found in seconds.items():
        value = f"{1000 * statistics.median(found):.2f} ms, {ratio(seconds, BASE, name):.2f} times as fast as {BASE}"
        beside = ratio(seconds, ALL, name)
        detail = {"seconds": found, "times": ratio(seconds, BASE, name), "beside all": beside}
        yield Figure(f"time of a clip: {name}", value, "", None, detail)
    settings = ", ".join(f"{name} {value}" for name, value in ours.chosen.items())
    for batch, least in FASTER.items():
        found = ratio(seconds, f"published, batch {batch}", POSEGEN)
        name = f"a clip by posegen train, beside the published settings with batch {batch}"
        yield Figure(name, f"{found:.2f} times as fast ({settings})", f"{least} times", found >= least)


def ratio(seconds: Mapping[str, list[float]], one: str, other: str) -> float:
    """Median over the rounds of the time of the one way by that of the other."""
    return statistics.median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def _qualities(ours: Posegen, clips: Held, folder: Path) -> Iterator[Figure]:
    """Hold what each way has learnt from as many clips, and in as much time, against all test clips of the dataset."""
    marks: list[float] = []
    steps = CLIPS // ours.settings.batch
    own = _top1(ours, posegen_trains(ours, steps, folder / "quality", lambda: marks.append(time.perf_counter())))
    seconds = _whole(marks)
    after_clips, in_time = {POSEGEN: (own, seconds)}, {POSEGEN: (own, seconds)}
    for name, way in PUBLISHED.items():
        steps = CLIPS // way.batch
        after_clips[name] = _learnt(ours, clips, way, steps)
        in_time[name] = _learnt(ours, clips, way, max(2, round(steps * seconds / after_clips[name][1])))
    yield _quality(f"top-1 of test clips after {CLIPS:,} clips", after_clips)
    yield _quality(f"top-1 of test clips in the time in which posegen train sees {CLIPS:,} clips", in_time)


def _learnt(ours: Posegen, clips: Held, way: Way, steps: int) -> tuple[float, float]:
    """Train in a published way; give the share of test clips that are right, and the seconds that it took."""
    marks: list[float] = []
    model = train(ours.model(), ours.task, clips, way, ours.settings, steps, lambda: marks.append(time.perf_counter()))
    return _top1(ours, model), _whole(marks)


def _top1(ours: Posegen, model: nn.Module) -> float:
    source = ours.whole.source(ours.task.recipes, "test")
    return evaluate_model(ours.task, model, source, None).measures()["clip_top1"]


def _whole(marks: list[float]) -> float:
    """Seconds that all steps took, from the ends of them."""
    return (marks[-1] - marks[0]) / (len(marks) - 1) * len(marks)


def _quality(name: str, found: Mapping[str, tuple[float, float]]) -> Figure:
    value = "; ".join(f"{way} {top1:.3f} in {seconds / 60:.1f} minutes" for way, (top1, seconds) in found.items())
    least = max(top1 for way, (top1, _) in found.items() if way != POSEGEN) - WORSE
    return Figure(name, value, f"at most {WORSE} less than published", found[POSEGEN][0] >= least, dict(found))

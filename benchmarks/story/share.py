"""The share of planning, captions and checks in the time of a run.

Shards are generated and committed in this process, as in a worker. The share is the time spent in `synthesize` without the time
spent in functions of motion.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import posegen
from benchmarks.figures import Figure
from benchmarks.guards import WORDS_SHARE
from posegen.config.schema import Config
from posegen.dataset.runs import current_run
from posegen.dataset.write import create
from posegen.generation.header import new_header
from posegen.generation.shard import ShardJob, make_shard
from posegen.library.load import load_library

SHARDS = 10
_MOTION = ("posegen.motion", "posegen.variants.copies")
"""Packages whose time counts as motion; copies of stored motion do, too."""
_CALLERS = ("posegen.synthesis.synthesize", "posegen.planning", "posegen.captions", "posegen.variants", "posegen.checks")


@dataclass
class Clock:
    """Seconds inside some functions, by processor and wall clock; nested calls count once."""

    processor: float = 0.0
    wall: float = 0.0
    inside: int = field(default=0, repr=False)

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with timing."""

        @wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            self.inside += 1
            processor, wall = time.process_time(), time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.inside -= 1
                if not self.inside:
                    self.processor += time.process_time() - processor
                    self.wall += time.perf_counter() - wall

        return run


def measure(folder: Path) -> Iterator[Figure]:
    config = posegen.load_config("default")
    whole, synthesis, motion = timed_run(config, folder, SHARDS)
    assert 0 < motion.wall < synthesis.wall < whole.wall
    for name in ("processor", "wall"):
        share = words_share(whole, synthesis, motion, name)
        sequences = SHARDS * config.store.shard * len(config.variants.names)
        each = {part: 1e6 * getattr(clock, name) / sequences for part, clock in (("all", whole), ("motion", motion))}
        of_it = f"{share * each['all']:.0f} us of {each['all']:.0f} us per sequence; motion {each['motion']:.0f} us"
        result = f"{100 * share:.1f} %: {of_it}"
        target = f"under {100 * WORDS_SHARE:.0f} %"
        yield Figure(f"planning, captions and checks, by {name} time", result, target, share < WORDS_SHARE)


def words_share(whole: Clock, synthesis: Clock, motion: Clock, name: str = "processor") -> float:
    """Return the share of planning, captions and checks in a kind of time."""
    found: float = (getattr(synthesis, name) - getattr(motion, name)) / getattr(whole, name)
    return found


def processor_share(folder: Path, shards: int) -> float:
    """Return the share of processor time for shards of the default config."""
    return words_share(*timed_run(posegen.load_config("default"), folder, shards))


def timed_run(config: Config, folder: Path, shards: int) -> tuple[Clock, Clock, Clock]:
    """Make and commit shards; return the time of all, of synthesis in it, and of motion in that."""
    library = load_library(config.story.library)
    header = new_header(config, library)
    header = header.with_samples((shards + 1) * header.shard)
    create(folder / "dataset", header)
    whole, synthesis, motion = Clock(), Clock(), Clock()
    shard = whole.timed(make_shard)
    gc.freeze()  # as a worker does
    for number in range(shards + 1):
        job = ShardJob(folder / "dataset", header, config, number, current_run())
        if number == 0:  # the first loads what all others have
            make_shard(job)
            continue
        with _timing(synthesis, motion):
            shard(job)
    return whole, synthesis, motion


@contextmanager
def _timing(synthesis: Clock, motion: Clock) -> Iterator[None]:
    """Time `synthesize`, and the functions of motion wherever stories and synthesis call them."""
    callers = [module for name, module in _modules() if name.startswith(_CALLERS)]
    places = [
        (module, name, motion)
        for module in callers
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__.startswith(_MOTION)
    ]
    places.append((sys.modules["posegen.synthesis.synthesize"], "synthesize", synthesis))
    kept = [getattr(module, name) for module, name, _ in places]
    try:
        for (module, name, clock), function in zip(places, kept, strict=True):
            setattr(module, name, clock.timed(function))
        yield
    finally:
        for (module, name, _), function in zip(places, kept, strict=True):
            setattr(module, name, function)


def _modules() -> list[tuple[str, Any]]:
    for package in ("posegen.planning", "posegen.captions", "posegen.variants", "posegen.checks"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    importlib.import_module("posegen.synthesis.synthesize")
    return [(name, module) for name, module in sys.modules.items() if name.startswith("posegen.")]

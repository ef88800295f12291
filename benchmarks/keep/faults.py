"""300 seeded faults during real runs of 20 shards: after one more run, each dataset equals that of an undisturbed run.

Also checks that an extension leaves complete shards unchanged. POSEGEN_JUDGE_SCALE=0.1 takes a tenth of everything, to test the
measure itself.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import posegen
from benchmarks.figures import Figure
from benchmarks.keep.strikes import SAMPLES, SHARDS, STRIKES, Struck, can_mount, disk_filled, small_disk
from benchmarks.measure import SCALE
from posegen.config.load import load_config
from posegen.config.schema import Config
from posegen.dataset.compare import compare
from tests.faults.forks import SETTINGS
from tests.faults.truth import files_of, shards_to_make

SEED = 3

Times = dict[str, tuple[int, int]]


@dataclass
class Tally:
    """Deviations over all faults; each entry names the fault."""

    struck: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    unequal: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    made_twice: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    missing: int = 0
    made: int = 0


def measure(folder: Path) -> Iterator[Figure]:
    config = load_config("smoke", SETTINGS)
    whole = folder / "whole"
    posegen.generate(config, samples=SAMPLES, workers=1, out=whole)
    mountable = can_mount(folder)
    if not mountable:
        yield Figure("a disk that fills up", "not measured: this user may not mount a disk in memory", "resumed")
    tally = Tally()
    for number, strike in enumerate(_schedule(mountable)):
        _strike(folder / "struck", f"{strike.__name__} {number}", strike, Random(1000 * SEED + number), config, whole, tally)
        if number % 10 == 9:
            print(f"{number + 1} faults, {sum(tally.struck.values())} struck", file=sys.stderr, flush=True)
    yield from _figures(tally)
    yield _extension(folder, config)


def _schedule(mountable: bool) -> list[Callable[..., Struck]]:
    """Return the faults in a reproducible random order."""
    chosen = {
        strike: max(1, round(times * SCALE)) for strike, times in STRIKES.items() if mountable or strike is not disk_filled
    }
    order = [strike for strike, times in chosen.items() for _ in range(times)]
    Random(SEED).shuffle(order)
    return order


def _strike(
    place: Path, name: str, strike: Callable[..., Struck], draw: Random, config: Config, whole: Path, tally: Tally
) -> None:
    """Cause a fault, run once more, and record deviations."""
    place.mkdir()
    path = place / "dataset"
    with small_disk(place) if strike is disk_filled else nullcontext():
        found = strike(path, draw)
        tally.faults[strike.__name__] += 1
        tally.struck[strike.__name__] += found.struck
        tally.complaints += [f"{name}: {complaint}" for complaint in found.complaints]
        missing, before = shards_to_make(path, SAMPLES), _times(path)
        result = posegen.generate(config, samples=SAMPLES, workers=1, out=path)
        tally.missing += missing
        tally.made += result.shards_made
        if result.shards_made != missing:
            tally.made_twice.append(f"{name}: {result.shards_made} made, {missing} missing")
        after = _times(path)
        tally.touched += [f"{name}: {file}" for file, stamp in before.items() if after.get(file) != stamp]
        tally.unequal += [f"{name}: {difference}" for difference in compare(whole, path, deep=True).differences]
        tally.orphans += [f"{name}: {file}" for file in sorted({*files_of(path)} ^ {*files_of(whole)})]
    shutil.rmtree(place)


def _times(path: Path) -> Times:
    """Return inode and modification time of every file of the shards with a receipt."""
    complete = {int(file.stem) for file in (path / "receipts").glob("[0-9]*.json")}
    return {
        name: ((path / name).lstat().st_ino, (path / name).lstat().st_mtime_ns)
        for name in files_of(path)
        for shard in [_shard(name)]
        if shard in complete and "temporary" not in name
    }


def _shard(name: str) -> int | None:
    """Return the shard of a file, by its name: `c.3.0.0`, `part-00003.parquet` or `00003.json`."""
    number = name.rpartition("/")[2].removeprefix("part-").removeprefix("c.").partition(".")[0]
    return int(number) if number.isdigit() else None


def _figures(tally: Tally) -> Iterator[Figure]:
    faults = sum(tally.faults.values())
    kinds = {kind: f"{tally.struck[kind]} of {times}" for kind, times in tally.faults.items()}
    struck = sum(tally.struck.values())
    yield Figure(
        f"faults during the run of {SHARDS} shards",
        f"{struck} of {faults}",
        "nine of ten",
        struck >= 0.9 * faults,
        kinds,
    )
    lists = {
        "after one more run, differences from an undisturbed run": (tally.unequal, "differences"),
        "orphan or missing files": (tally.orphans, "files"),
        "files of complete shards changed by the next run": (tally.touched, "files"),
        "runs with an unexpected exit code or no clear message": (tally.complaints, "runs"),
    }
    for name, (found, what) in lists.items():
        yield Figure(f"{faults} faults: {name}", f"{len(found)} {what}", "0", not found, found)
    yield Figure(
        f"{faults} faults: shards generated by the next run / shards without a receipt",
        f"{tally.made} and {tally.missing}",
        "equal each time",
        not tally.made_twice,
        tally.made_twice,
    )


def _extension(folder: Path, config: Config) -> Figure:
    """Extend a dataset whose last shard is partly filled, with several workers."""
    path = folder / "extended"
    posegen.generate(config, samples=SAMPLES // 2 + 2, workers=1, out=path)
    partial_shard = SAMPLES // 8
    before = {name: stamp for name, stamp in _times(path).items() if _shard(name) != partial_shard}
    posegen.generate(config, samples=SAMPLES, workers=2, out=path)
    after = _times(path)
    changed = [name for name, stamp in before.items() if after[name] != stamp]
    changed += [str(difference) for difference in compare(folder / "whole", path, deep=True).differences]
    value = f"{len(before) - len(changed)} of {len(before)} the same"
    return Figure(
        f"files of {partial_shard} complete shards after an extension: time and inode", value, "all", not changed, changed
    )

"""A thousand damages of a dataset: verify reports each, and reading the damaged part is an error.

Each damage is made in an intact dataset, and undone. It counts as found if `verify` names the damaged file or its shard and
nothing else, if reading the damaged file through `posegen.open` raises an error of posegen, and if all other files read as
written.
"""

from __future__ import annotations

import filecmp
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import posegen
from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, SCALE
from benchmarks.measure import posegen as command
from posegen.dataset.verify import Problem, verify
from posegen.foundations.errors import PosegenError

DAMAGES = max(40, round(1000 * SCALE))
THROUGH_THE_COMMAND_LINE = max(2, round(36 * SCALE))
SHARDS, SHARD = 24, 4
RUN = ("--samples", str(SHARDS * SHARD), "--workers", "1", "--set", f"store.shard={SHARD}", "--set", "store.chunk=2")
SHORT = ("--set", "frames=40")
COPY = "dataset.copy.json"
"""Not read on opening, so damage to it does not prevent reading."""


@dataclass(frozen=True)
class Place:
    """Input of damages: a dataset, another one of the same sizes, and the files of the first."""

    path: Path
    other: Path
    files: tuple[str, ...]


Damage = Callable[[Place, random.Random], list[str]]
"""Function that damages a dataset and returns the files that have changed."""


def measure(folder: Path) -> Iterator[Figure]:
    path = generate(folder / "sound", *RUN, *SHORT)
    other = generate(folder / "other", "--seed", "1", *RUN, *SHORT)
    place = Place(path, other, tuple(sorted(f.relative_to(path).as_posix() for f in path.rglob("*") if f.is_file())))
    dataset = posegen.open(path)
    sound = {name: _content(dataset, name) for name in place.files if _shard(name) is not None and "receipts/" not in name}
    found = [str(problem) for problem in verify(path)]
    yield Figure("verify of the undamaged dataset", f"{len(found)} problems", "0", not found, found)
    moments, kinds = random.Random(3), [kind for kind, (_, share) in KINDS.items() for _ in range(share)]
    counts, unnamed, unread, wrong = Counter[str](), [], [], []
    for number in range(DAMAGES):
        kind = kinds[number % len(kinds)]
        with _undone(place, kind, moments) as where:
            problems, read = verify(path), _read(place, where, sound)
        counts[kind] += 1
        label = f"{number} {kind} of {', '.join(where)}"
        unnamed += [f"{label}: {fault}" for fault in _unnamed(where, problems)]
        unread += [f"{label}: {fault}" for fault in read.unraised]
        wrong += [f"{label}: {fault}" for fault in read.unequal]
        if number % 100 == 99:
            print(f"{number + 1} of {DAMAGES} damages", file=sys.stderr, flush=True)
    what = f"{DAMAGES} damages of {len(place.files)} files in {SHARDS} shards"
    yield Figure(
        f"{what}: not reported by verify, or reported wrongly", str(len(unnamed)), "0", not unnamed, [dict(counts), unnamed]
    )
    yield Figure("of these, read through posegen.open without an error", str(len(unread)), "0", not unread, unread)
    yield Figure("of these, read with a wrong value", str(len(wrong)), "0", not wrong, wrong)
    yield Figure("kinds of damage", ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    yield from _through_the_command_line(place, moments, kinds)
    left = [str(problem) for problem in verify(path)]
    yield Figure("verify after restoring all files", f"{len(left)} problems", "0", not left, left)


@dataclass(frozen=True)
class Read:
    """Result of reading a damaged dataset: reads without an error, and reads of other values."""

    unraised: list[str]
    unequal: list[str]


@contextmanager
def _undone(place: Place, kind: str, moments: random.Random) -> Iterator[list[str]]:
    """Damage the dataset; yield the files that have changed, and restore them at the end."""
    whole = place.path.with_name("whole")
    if not whole.exists():
        shutil.copytree(place.path, whole)
    touched = KINDS[kind][0](place, moments)
    yield touched
    for name in touched:
        _remove(place.path / name)
        shutil.copy2(whole / name, place.path / name)


def _remove(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def _unnamed(where: list[str], problems: list[Problem]) -> Iterator[str]:
    """Return damaged files that no problem reports, and problems that report undamaged files."""
    shards = {_shard(name) for name in where} - {None}
    files = {problem.file for problem in problems}
    named = {problem.shard for problem in problems}
    for name in where:
        if name not in files and (_shard(name) is None or _shard(name) not in named):
            yield f"{name} is not named"
    for problem in problems:
        if problem.file not in where and problem.shard not in shards:
            yield f"also named: {problem}"


def _read(place: Place, where: list[str], sound: dict[str, Any]) -> Read:
    """Open the dataset and read everything, file by file."""
    touched = {name for name in where if name != COPY}
    try:
        dataset = posegen.open(place.path)
    except PosegenError:
        return Read([], [] if touched else ["does not open"])
    unraised, unequal = [] if all(_shard(name) is not None for name in touched) else ["opens"], []
    for name, expected in sound.items():
        try:
            values = _content(dataset, name)
        except PosegenError:
            unequal += [] if name in touched else [f"{name} is sound and cannot be read"]
            continue
        unraised += [name] if name in touched else []
        unequal += [] if _equal(values, expected) else [name]
    return Read(unraised, unequal)


def _equal(values: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return bool(values == expected)
    return np.array_equal(values, expected, equal_nan=expected.dtype.kind == "f")


def _content(dataset: Any, name: str) -> Any:
    """Read the content of a file of a shard."""
    shard = _shard(name)
    if name.startswith("sequences/"):
        return dataset.table(shard).to_pylist()
    return dataset.arrays(name.split("/")[1], slice(shard * SHARD, (shard + 1) * SHARD))


def _shard(name: str) -> int | None:
    last = name.rpartition("/")[2].removeprefix("part-").removeprefix("c.").partition(".")[0]
    return int(last) if last.isdigit() else None


def _any_file(place: Place, moments: random.Random) -> str:
    """Choose a file, each kind with the same probability, although there are few headers and many shards."""
    kinds = ("dataset.json", COPY, "/zarr.json", "receipts/", "sequences/", "joints/c.", "action/c.", "contact/c.")
    kind = moments.choice(kinds)
    return moments.choice([name for name in place.files if kind in name and (kind != "dataset.json" or name == kind)])


Change = Callable[[bytes, random.Random], bytes]
"""Function of the bytes of a file that returns other bytes."""


def _written(change: Change) -> Damage:
    """Return the damage that writes changed bytes to some file."""

    def damage(place: Place, moments: random.Random) -> list[str]:
        name = _any_file(place, moments)
        data = (place.path / name).read_bytes()
        while (changed := change(data, moments)) == data:
            pass
        (place.path / name).write_bytes(changed)
        return [name]

    return damage


def _flipped(data: bytes, moments: random.Random) -> bytes:
    at = moments.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << moments.randrange(8)]) + data[at + 1 :]


def _lengthened(data: bytes, moments: random.Random) -> bytes:
    return data + moments.choice([b"\n", b"\0", b" ", moments.randbytes(moments.randrange(1, 5000))])


def _zeroed(data: bytes, moments: random.Random) -> bytes:
    """Replace a range by zeros, as a bad sector does."""
    start, size = moments.randrange(len(data)), moments.choice([16, 512, 4096])
    return data[:start] + bytes(len(data[start : start + size])) + data[start + size :]


def _replaced(replace: Callable[[Path, Path], object]) -> Damage:
    """Return the damage that puts something else in the place of some file, given the file and an intact copy of it."""

    def damage(place: Place, moments: random.Random) -> list[str]:
        name = _any_file(place, moments)
        (place.path / name).unlink()
        replace(place.path / name, place.path.with_name("whole") / name)
        return [name]

    return damage


def _exchange(place: Place, one: str, two: str) -> list[str]:
    first, second = (place.path / name for name in (one, two))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    return [one, two]


def _exchanged_files(place: Place, moments: random.Random) -> list[str]:
    """Exchange the files of one kind between two shards."""
    kind = moments.choice(["sequences/", "joints/c.", "action/c.", "contact/c."])
    names = [name for name in place.files if kind in name]
    one, two = moments.sample(names, 2)
    while filecmp.cmp(place.path / one, place.path / two, shallow=False):  # contacts of standing people are equal
        one, two = moments.sample(names, 2)
    return _exchange(place, one, two)


def _exchanged_shards(place: Place, moments: random.Random) -> list[str]:
    """Exchange all files and receipts of two shards."""
    one, two = moments.sample(range(SHARDS), 2)
    pairs = zip(_files_of(place, one), _files_of(place, two), strict=True)
    return [name for pair in pairs for name in _exchange(place, *pair)]


def _exchanged(kind: str) -> Damage:
    """Return the damage that exchanges two files whose names contain a text."""
    return lambda place, moments: _exchange(place, *moments.sample([name for name in place.files if kind in name], 2))


def _foreign_file(place: Place, moments: random.Random) -> list[str]:
    """Replace a file by that of another dataset: a receipt, a header, metadata or a file of a shard."""
    # Metadata of arrays, and contacts of standing people, are the same in both.
    while filecmp.cmp(place.other / (name := _any_file(place, moments)), place.path / name, shallow=False):
        pass
    shutil.copy(place.other / name, place.path / name)
    return [name]


def _foreign_shard(place: Place, moments: random.Random) -> list[str]:
    names = _files_of(place, moments.randrange(SHARDS))
    for name in names:
        shutil.copy(place.other / name, place.path / name)
    return names


def _files_of(place: Place, shard: int) -> list[str]:
    return [name for name in place.files if _shard(name) == shard]


KINDS: dict[str, tuple[Damage, int]] = {
    "bit": (_written(_flipped), 9),
    "cut": (_written(lambda data, moments: data[: moments.randrange(1, len(data))]), 3),
    "emptied": (_written(lambda _data, _moments: b""), 1),
    "lengthened": (_written(_lengthened), 2),
    "zeros": (_written(_zeroed), 2),
    "gone": (_replaced(lambda _file, _whole: None), 2),
    "folder": (_replaced(lambda file, _whole: file.mkdir()), 1),
    "link": (_replaced(lambda file, whole: file.symlink_to(whole)), 1),
    "exchanged_files": (_exchanged_files, 2),
    "exchanged_shards": (_exchanged_shards, 1),
    "exchanged_receipts": (_exchanged("receipts/"), 1),
    "exchanged_descriptions": (_exchanged("zarr.json"), 1),
    "foreign_file": (_foreign_file, 2),
    "foreign_shard": (_foreign_shard, 1),
}
"""Each kind and its share."""


def _through_the_command_line(place: Place, moments: random.Random, kinds: list[str]) -> Iterator[Figure]:
    """Run `posegen verify`: it must report the file and end with code 1, without a traceback."""
    bad = []
    for number in range(THROUGH_THE_COMMAND_LINE):
        kind = moments.choice(kinds)
        with _undone(place, kind, moments) as where:
            run = subprocess.run(
                command("verify", place.path), cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
            )
        named = all(name in run.stdout or f"shard {_shard(name)}:" in run.stdout for name in where)
        if run.returncode != 1 or not named or "Traceback" in run.stdout + run.stderr:
            bad.append(f"{number} {kind} of {where}: {run.returncode} {run.stdout[-500:]} {run.stderr[-500:]}")
    value = f"{THROUGH_THE_COMMAND_LINE - len(bad)} of {THROUGH_THE_COMMAND_LINE}"
    yield Figure("posegen verify: exit code 1, file named, no traceback", value, "all", not bad, bad)

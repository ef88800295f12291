"""Guards of exports: time of the processor, beside the least that they take, to make the samples and write the same files.

Time on the clock depends on the disk, and on what else runs: its ratio was 1.7 and 5.8 within minutes. Beside writing
alone, an export took 2.9 times as long on one machine, and 4.8 times on another whose calls of the system are quicker.

On ext4, new files take longer for some minutes after many were deleted, since the file system does not use their numbers
again so soon: .2 to .5 ms of system time for a clip of humanml3d became .8 to 1.5 ms. So both sides write into new folders, and
nothing is deleted before the end. What else runs only adds time, by cold caches and a busy disk: the least of several times
is taken of either side.
"""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

import posegen
from benchmarks.datasets import generate
from benchmarks.guards import EXPORT, Guard
from benchmarks.measure import compare
from posegen.synthesis.synthesize import synthesize

SAMPLES = 200
PAIRS = 5


@pytest.mark.parametrize("form", EXPORT)
def test_exporting_takes_little_longer_than_making_and_writing(form: str, tmp_path: Path, guard: Guard) -> None:
    path = generate(tmp_path / "dataset", "--samples", str(SAMPLES))
    out, numbers = tmp_path / "out", count()
    clips = posegen.export(path, form, out, workers=1).clips
    config, samples = posegen.open(path).config, np.arange(SAMPLES)
    files = {file.relative_to(out): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}

    def folder(name: str) -> Path:
        return tmp_path / f"{name}-{next(numbers)}"

    def making_and_writing() -> None:
        synthesize(config, samples)
        copy = folder("copy")
        for name, content in files.items():
            file = copy / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def exporting() -> None:
        assert posegen.export(path, form, folder("export"), workers=1).clips == clips

    comparison = compare(exporting, making_and_writing, PAIRS, time.process_time)
    least, ratio = min(comparison.first), min(comparison.first) / min(comparison.second)
    print(f"\nexport to {form}: {clips / least:,.0f} clips a second of a core, {ratio:.2f} times as long as making and writing")
    rmtree(tmp_path)
    guard(f"export to {form}, by making and writing its clips", ratio, most=EXPORT[form])

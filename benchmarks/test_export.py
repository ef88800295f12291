"""Guards of exports: time of the processor, beside the least that they take, to make the samples and write the same files.

Time on the clock depends on the disk, and on what else runs: its ratio was 1.7 and 5.8 within minutes. Beside writing
alone, an export took 2.9 times as long on one machine, and 4.8 times on another whose calls of the system are quicker.

On ext4, new files take longer for some minutes after many were deleted, since the file system does not use their numbers
again so soon: .2 to .5 ms of system time for a clip of humanml3d became .8 to 1.5 ms. Measure rates in new folders, and delete
at the end.
"""

from __future__ import annotations

import time
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import posegen
from benchmarks.datasets import generate
from benchmarks.guards import EXPORT, Guard
from benchmarks.measure import compare
from posegen.synthesis.synthesize import synthesize

SAMPLES = 200
PAIRS = 3


@pytest.mark.parametrize("form", EXPORT)
def test_exporting_takes_little_longer_than_making_and_writing(
    form: str, benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard
) -> None:
    path = generate(tmp_path / "dataset", "--samples", str(SAMPLES))
    out, copy = tmp_path / "out", tmp_path / "copy"
    clips = posegen.export(path, form, out, workers=1).clips
    config, samples = posegen.open(path).config, np.arange(SAMPLES)
    files = {file.relative_to(out): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}

    def making_and_writing() -> None:
        synthesize(config, samples)
        rmtree(copy, ignore_errors=True)
        for name, content in files.items():
            file = copy / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def exporting() -> None:
        rmtree(out)
        assert posegen.export(path, form, out, workers=1).clips == clips

    compare(exporting, making_and_writing, 1)
    comparison = benchmark.pedantic(compare, args=(exporting, making_and_writing, PAIRS, time.process_time), rounds=1)
    rate = clips / float(np.median(comparison.first))
    benchmark.extra_info.update({"ratio": comparison.ratio, "clips_per_processor_second": rate})
    print(
        f"\nexport to {form}: {rate:,.0f} clips a second of a core, {comparison.ratio:.2f} times as long as making and writing"
    )
    guard(f"export to {form}, by making and writing its clips", comparison.ratio, most=EXPORT[form])

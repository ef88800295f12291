"""Encoders and decoders: posegen's own, zarr's pipeline, and zarrs', all with the same codecs.

A pipeline is chosen when a process starts, so each runs in one of its own: ``python -m benchmarks.packing.pipelines NAME``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.measure import module, printed_by, use_one_core
from benchmarks.packing.joints import Array, header_and_field, joints

FUSED, ZARRS = "zarr.core.codec_pipeline.FusedCodecPipeline", "zarrs.ZarrsCodecPipeline"
PIPELINES = {"posegen": "", "zarr": "", "zarr, fused": FUSED, "zarrs": ZARRS}
"""Pipelines by the class in zarr's configuration; empty for zarr's default. The fused one exists only in newer versions."""
READS = 30


def measure(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Run each installed pipeline in turns; return medians over the rounds."""
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, path in PIPELINES.items():
            if _is_there(path):
                found.setdefault(name, []).append(_apart(name, path, folder))
    return {name: {key: statistics.median(one[key] for one in runs) for key in runs[0]} for name, runs in found.items()}


def _is_there(path: str) -> bool:
    module, _, name = path.rpartition(".")
    if not path:
        return True
    if find_spec(module.partition(".")[0]) is None:
        return False
    return hasattr(__import__(module, fromlist=[name]), name)


def _apart(name: str, path: str, folder: Path) -> dict[str, float]:
    environment = {**os.environ, "ZARR_THREADING__MAX_WORKERS": "1", "RAYON_NUM_THREADS": "1"}
    if path:
        environment["ZARR_CODEC_PIPELINE__PATH"] = path
    return dict(printed_by(module("benchmarks.packing.pipelines", name, folder), environment))


def _timed(work: Callable[[], object]) -> float:
    # Other threads of this process count as well: zarr and zarrs have some even if configured to use one.
    began = time.process_time()
    work()
    return time.process_time() - began


def run(name: str, folder: Path) -> dict[str, float]:
    """Write a shard of joints, read all of it, and read random sequences; return MB/s and milliseconds."""
    import zarr

    use_one_core()
    array = joints()
    write = own_writer(folder) if name == "posegen" else zarr_writer(folder)
    write(array)
    writing = min(_timed(lambda: write(array)) for _ in range(3))
    stored = zarr.open_array(str(folder / "joints"), mode="r")
    np.testing.assert_array_equal(stored[:2], array[:2])
    reading = min(_timed(lambda: stored[:]) for _ in range(3))
    draw = np.random.default_rng(1)
    places = [(int(draw.integers(len(array))), int(draw.integers(array.shape[1]))) for _ in range(READS)]
    latencies = [_timed(lambda place=place: stored[(*place, 0)]) for place in places]
    size = sum(file.stat().st_size for file in (folder / "joints").rglob("*") if file.is_file() and file.name != "zarr.json")
    megabytes = array.nbytes / 1e6
    return {
        "write": megabytes / writing,
        "read": megabytes / reading,
        "latency": 1e3 * statistics.median(latencies),
        "size": size / array.nbytes,
    }


def zarr_writer(folder: Path) -> Callable[[Array], object]:
    """Return zarr's writer of a shard, with the codecs of posegen's arrays."""
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    from posegen.dataset.shard_codec import COMPRESSION

    header, field = header_and_field()
    blosc = BloscCodec(typesize=4, **COMPRESSION)

    def write(array: Array) -> None:
        stored = zarr.create_array(
            str(folder / "joints"),
            shape=array.shape,
            shards=(header.shard, *field.shape),
            chunks=(header.chunk, *field.chunk),
            dtype="float32",
            fill_value=float("nan"),
            compressors=[blosc, Crc32cCodec()],
            overwrite=True,
        )
        stored[:] = array

    return write


def own_writer(folder: Path) -> Callable[[Array], object]:
    """Return posegen's writer; zarr writes the metadata once."""
    from posegen.dataset.shard_codec import encode_shard

    header, field = header_and_field()
    zarr_writer(folder)(np.full((header.shard, *field.shape), np.nan, np.float32))
    place = folder / "joints" / "c" / "/".join("0" * (1 + len(field.shape)))

    def write(array: Array) -> None:
        pieces = encode_shard(field, array, header.shard, header.chunk)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            file.writelines(pieces)

    return write


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as place:
        print(json.dumps(run(sys.argv[1], Path(place))))

"""20,000 fuzzed files of clips: each is read or clearly refused, in bounded time and memory.

``python -m benchmarks.keep.clip_fuzz [N]`` prints the result of N files.
"""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.keep.fuzz import MORE_BYTES, SECONDS, Tally, figure_of, memory, read, time_limit
from benchmarks.keep.inputs import Kind
from benchmarks.keep.mutations import changed_bytes
from benchmarks.measure import SCALE
from posegen.foundations.skeleton import JOINTS
from posegen.mocap.sources import read_source
from tests.exchange.test_points import arranged, ntu_text, trc_text
from tests.mocap.bvh_of_joints import write_bvh
from tests.mocap.test_import import WRITE_C3D

INPUTS, SEED = 20_000, 5
SHARES = {"bvh": 30, "trc": 20, "skeleton": 20, "npy": 15, "npz": 13, "c3d": 2}
FRAMES, FPS = 12, 25.0
_SIZES = (0, 1, 2, 3, 4, 12, 17, 22, 24, 25, 32, 66, 75, 263, 272, 4000)
_TYPES = ("f4", "f8", "f2", "i4", "u1", "c16", "S3", "U2", "?", "M8[s]")
_VALUES = (np.nan, np.inf, -np.inf, 3e38, -1e20, 1e-45, 0.0)


def person() -> np.ndarray:
    """Return a person who lifts an arm: float64 [frame, 22, 3], metres."""
    from posegen.exchange.features263 import mean_offsets
    from posegen.foundations.skeleton import PARENTS

    offsets = mean_offsets()
    body = np.zeros((FRAMES, len(JOINTS), 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        body[:, joint] = body[:, parent] + offsets[joint]
    body[:, JOINTS.index("left_wrist"), 1] += 0.02 * np.arange(FRAMES)
    return body + np.array([0.0, 0.95, 0.0])


def good_files(folder: Path) -> dict[str, list[bytes]]:
    """Return valid files of a person by their endings."""
    body = person()
    write_bvh(folder / "a.bvh", body, FPS)
    named = {name: 1000 * body[:, number] for number, name in enumerate(JOINTS)}
    kinect = arranged("kinect25, NTU RGB+D", body)
    archive = io.BytesIO()
    np.savez(archive, joints=body, fps=FPS)
    np.save(
        folder / "points.npy", np.concatenate([np.moveaxis(1000 * body, 2, 0), np.ones((1, *body.shape[:2]))]).swapaxes(1, 2)
    )
    subprocess.run([sys.executable, "-c", WRITE_C3D, folder / "points.npy", folder / "a.c3d", *JOINTS], check=True)
    return {
        "bvh": [(folder / "a.bvh").read_bytes()],
        "trc": [trc_text(named).encode()],
        "skeleton": [ntu_text({"72057": (0, kinect), "72058": (3, kinect[:5])}, FRAMES).encode()],
        "npy": [_saved(body), _saved(np.zeros((FRAMES, 263), "f4"))],
        "npz": [archive.getvalue()],
        "c3d": [(folder / "a.c3d").read_bytes()],
    }


def _saved(values: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, values, allow_pickle=False)
    return out.getvalue()


def changed_array(draw: random.Random) -> bytes:
    """Return a file of an array of another shape or type, with values that no body has."""
    shape = tuple(draw.choice(_SIZES) for _ in range(draw.randrange(5)))
    values = np.resize(person().astype("f4"), shape if np.prod(shape, dtype=float) < 1e6 else (FRAMES, 22, 3))
    for _ in range(draw.randrange(4) if values.size else 0):
        values.flat[draw.randrange(values.size) :: draw.choice((1, 7, 10**6))] = draw.choice(_VALUES)
    with np.errstate(all="ignore"):
        return _saved(values.astype("f8").astype(draw.choice(_TYPES)) if draw.random() < 0.5 else values)


def clip_kinds(folder: Path) -> list[tuple[Kind, Callable[[random.Random], bytes]]]:
    """Return the kinds of files of clips, with what makes a damaged one."""
    found = []
    for ending, good in good_files(folder).items():
        file = folder / f"damaged.{ending}"

        def read_clip(data: bytes, file: Path = file) -> None:
            file.write_bytes(data)
            list(read_source(file, unstated_fps=FPS))

        def changed(draw: random.Random, good: list[bytes] = good, ending: str = ending) -> bytes:
            return changed_array(draw) if ending == "npy" and draw.random() < 0.7 else changed_bytes(good, draw)

        # Files of clips are input: each refusal has exit code 2, as for YAML.
        found.append((Kind(f"{ending} files of clips", SHARES[ending], [], True, read_clip), changed))
    return found


def fuzz_clips(kind: Kind, changed: Callable[[random.Random], bytes], inputs: int, chance: int) -> Tally:
    """Read damaged files of a kind."""
    tally, draw = Tally(), random.Random(chance)
    with time_limit():
        while tally.inputs < inputs:
            read(kind, changed(draw), tally)
    return tally


def measure(folder: Path, inputs: int = round(INPUTS * SCALE)) -> Iterator[Figure]:
    before, slowest = memory(), 0.0
    for number, (kind, changed) in enumerate(clip_kinds(folder)):
        tally = fuzz_clips(kind, changed, inputs * kind.share // 100, SEED + number)
        slowest = max(slowest, tally.slowest)
        yield figure_of(f"fuzzed {kind.name}", tally)
    more = memory() - before
    yield Figure("longest time to read one clip", f"{slowest:.2f} s", f"below {SECONDS:.0f} s", slowest < SECONDS)
    value, target = f"{more / 1e6:.0f} MB", f"below {MORE_BYTES / 1e6:.0f} MB"
    yield Figure("memory growth while reading clips", value, target, more < MORE_BYTES)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for result in measure(Path(scratch), int(sys.argv[1]) if len(sys.argv) > 1 else INPUTS):
            print(result)

"""Runs: content does not depend on workers, more samples extend, a repeated run does nothing, another dataset is refused."""

from __future__ import annotations

import io
import os
import re
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import psutil
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.load import load_config
from posegen.config.schema import Config
from posegen.dataset.header import load_header
from posegen.dataset.layout import Creation
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import LineProgress, Progress
from posegen.generation.run import default_path
from tests.generation.runs import assert_equal_content


class Recorder(Progress):
    """A progress display that records its calls."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.started: list[tuple[str, int, str]] = []
        self.updates: list[tuple[int, str]] = []
        self.stops = 0

    def log(self, text: str) -> None:
        self.messages.append(text)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0, keep: bool = True) -> None:
        self.started.append((task, total, unit))

    def update(self, done: int, details: str = "") -> None:
        self.updates.append((done, details))

    def stop(self) -> None:
        self.stops += 1


def state(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return modification time and content of every file."""
    return {str(f.relative_to(path)): (f.stat().st_mtime_ns, f.read_bytes()) for f in path.rglob("*") if f.is_file()}


def test_two_workers_make_the_same_as_one(small: Config, fourteen: Path, tmp_path: Path) -> None:
    recorder = Recorder()
    result = posegen.generate(small, samples=14, workers=2, out=tmp_path / "two", progress=recorder)
    assert (result.samples, result.sequences, result.shards_made, result.nothing_to_do) == (14, 70, 4, False)
    assert result.bytes == sum(len(data) for _, data in state(result.path).values())
    assert_equal_content(result.path, fourteen)
    assert recorder.started == [("generate", 14, "samples")]
    samples, details = recorder.updates[-1]
    assert samples == 14
    assert re.fullmatch(r"[\d,]+ sequences/s, .*B", details)
    assert recorder.stops == 1


@pytest.mark.slow
def test_more_workers_than_cores_are_not_started(small: Config, tmp_path: Path) -> None:
    """Two are started on one core, too, so that one that dies is not this process."""
    cores, stream, processes = os.sched_getaffinity(0), io.StringIO(), set[int]()

    class Watcher(LineProgress):
        def update(self, done: int, details: str = "") -> None:
            processes.update(child.pid for child in psutil.Process().children() if "popen_loky" in " ".join(child.cmdline()))

    os.sched_setaffinity(0, {min(cores)})
    try:
        posegen.generate(
            small,
            samples=40,
            workers=3,
            out=tmp_path / "motion",
            progress=Watcher(stream),
        )
    finally:
        os.sched_setaffinity(0, cores)
    assert 1 <= len(processes) <= 2
    assert "using 2 workers, not 3: more are slower on this machine (cores: 1)" in stream.getvalue()


def test_the_dataset_equals_the_synthesized_samples(small: Config, fourteen: Path) -> None:
    dataset = posegen.open(fourteen)
    batch = posegen.synthesize(small, [9, 2])
    assert len(dataset) == 14
    for position, sample in enumerate((9, 2)):
        assert dataset[sample].joints.tobytes() == batch.joints[position].tobytes()
        assert dataset[sample].action.tobytes() == batch.action[position].tobytes()


def test_more_samples_leave_complete_shards_untouched(small: Config, fourteen: Path, tmp_path: Path) -> None:
    path = tmp_path / "grown"
    posegen.generate(small, samples=6, workers=1, out=path)
    before = state(path)
    result = posegen.generate(small, samples=14, workers=1, out=path)
    assert result.shards_made == 3
    after = state(path)
    kept = [name for name in before if "00000" in name or "/c.0" in name]
    assert len(kept) == 5
    assert {name: before[name] for name in kept} == {name: after[name] for name in kept}
    assert_equal_content(path, fourteen)


def test_the_same_and_fewer_samples_do_nothing_and_report_it(small: Config, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    posegen.generate(small, samples=5, workers=1, out=path)
    before = state(path)
    again = posegen.generate(small, samples=5, out=path)
    recorder = Recorder()
    fewer = posegen.generate(small, samples=2, out=path, progress=recorder)
    assert again.nothing_to_do
    assert fewer.nothing_to_do
    assert (fewer.samples, fewer.shards_made) == (5, 0)
    assert "has 5 samples, more than the requested 2" in recorder.messages[0]
    assert state(path) == before


def test_another_dataset_in_the_same_folder_is_refused(fourteen: Path) -> None:
    before = state(fourteen)
    other = load_config("smoke", ["frames=40", "story.layering=0.5", "store.shard=40"], seed=1)
    with pytest.raises(UsageError, match=r"requested: seed: 0 -> 1; story\.layering: 0\.35 -> 0\.5\. Choose .* with --out"):
        posegen.generate(other, samples=14, out=fourteen)
    assert state(fourteen) == before


def test_a_full_disk_is_detected_before_anything_is_written(small: Config, tmp_path: Path) -> None:
    with pytest.raises(PosegenError, match=r"1,000,000,000 more samples need about .* free"):
        posegen.generate(small, samples=1_000_000_000, out=tmp_path / "deep" / "dataset")
    assert list(tmp_path.iterdir()) == []


def test_the_default_folder_is_named_after_the_config() -> None:
    assert default_path(load_config("smoke", seed=3)) == Path("data/smoke-3")


def test_who_created_it_and_when_is_in_no_identity_and_no_comparison(
    small: Config, fourteen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    posegen.generate(small, samples=7, workers=1, out=tmp_path / "resumed")
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    posegen.generate(small, samples=14, workers=1, out=tmp_path / "resumed")
    # The record is that of the first run, also after the header is restored from its copy.
    created = Creation(posegen.__version__, "1970-01-02T00:00:00Z")
    (tmp_path / "resumed" / "dataset.json").unlink()
    assert main(["verify", str(tmp_path / "resumed"), "--repair"]) == 0
    header, other = load_header(tmp_path / "resumed"), load_header(fourteen)
    assert header.created == created != other.created
    # From Python 3.13 on, headers with NaN as a fill value are never equal: their texts are compared.
    assert repr(replace(header, created=other.created)) == repr(other)
    assert main(["diff", str(tmp_path / "resumed"), str(fourteen)]) == 0
    capsys.readouterr()
    files = {path.relative_to(fourteen).as_posix() for path in fourteen.rglob("*") if path.is_file()}
    receipts = {name for name in files if name.startswith("receipts/")}  # which have the time that a shard took
    differ = {name for name in files - receipts if (tmp_path / "resumed" / name).read_bytes() != (fourteen / name).read_bytes()}
    assert differ == {"dataset.json", "dataset.copy.json", "croissant.json"}  # which state when it was created
    posegen.generate(small, samples=2, workers=1, out=tmp_path / "now")
    now = load_header(tmp_path / "now").created
    assert now is not None
    assert abs(datetime.fromisoformat(now.date).timestamp() - time.time()) < 3600


def test_fields_that_an_existing_dataset_does_not_get_are_reported(tmp_path: Path) -> None:
    def messages(samples: int, *options: str) -> list[str]:
        recorder = Recorder()
        config = posegen.load_config("smoke", ["frames=20", "store.shard=4", "store.chunk=2", *options])
        posegen.generate(config, samples=samples, workers=1, out=tmp_path / "x", progress=recorder)
        return [message for message in recorder.messages if "keep" in message or "none is added" in message]

    fewer = "store.fields=[joints, action, contact]"
    assert messages(4, fewer) == []
    assert messages(8, fewer) == []
    (message,) = messages(8, "store.fields=[joints, action, contact, velocity]", "store.shard=8")
    assert message.startswith(f"{tmp_path}/x: it has no velocity, acceleration, and none is added: use posegen derive")
    assert message.endswith("; its shards keep 4 samples")

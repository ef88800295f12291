"""Uploads to a server of the Hub in another process: what is there, what a second push sends, and what errors reveal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import posegen
from posegen.exchange.push import push
from posegen.foundations.errors import UsageError, without_secrets
from tests.exchange.servers import TOKEN, serving
from tests.once import generated_once

pytestmark = pytest.mark.slow  # each push is a command of its own

ROOT = Path(__file__).parents[2]
SAMPLES, VARIANTS = 20, 5


@dataclass(frozen=True)
class Place:
    """A repository on a server of this machine, the folder of the server, and the environment of the command."""

    folder: Path
    environment: dict[str, str]
    target: str = "me/motion"

    def push(self, dataset: Path, *options: str, code: int = 0, **environment: str) -> tuple[dict[str, object], str]:
        command = [sys.executable, "-m", "posegen", "push", str(dataset), self.target, "--json", "--workers", "1", *options]
        # Other tests forbid huggingface_hub to connect, in this process.
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "0", **self.environment, **environment}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else {}, done.stderr

    def file(self, name: str = "") -> Path:
        return self.folder / "repos" / self.target / name

    def names(self) -> set[str]:
        return {path.relative_to(self.file()).as_posix() for path in self.file().rglob("*") if path.is_file()}

    def requests(self) -> list[str]:
        lines = (self.folder / "log.txt").read_text().splitlines()
        return [line for line in lines if line.startswith("PUT")]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # A push writes beside the dataset: each process of the tests has a copy.
    made = generated_once(tmp_path_factory, "push", SAMPLES, "frames=60", "store.shard=10", "store.chunk=10")
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("push") / "motion"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    pytest.importorskip("huggingface_hub")
    folder = tmp_path / "server"
    with serving(folder) as address:
        variables = {"HF_ENDPOINT": address, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "home")}
        yield Place(folder, variables)


FILES = {"README.md", *(f"data/{split}-00000.parquet" for split in ("train", "validation", "test"))}


def test_a_push_is_complete_and_a_second_one_sends_nothing(place: Place, dataset: Path) -> None:
    result, shown = place.push(dataset)
    assert (result["clips"], result["files"], result["sent"]) == (SAMPLES * VARIANTS, 4, 4)
    assert place.names() == FILES
    rows = [pq.read_table(place.file(name)).num_rows for name in FILES if name.endswith(".parquet")]
    assert sum(rows) == SAMPLES * VARIANTS
    card = place.file("README.md").read_text(encoding="utf-8")
    assert f'load_dataset("{place.target}"' in card
    assert "uploading data/train-00000.parquet (" in shown
    assert not dataset.with_name("motion.push").exists()
    before = place.requests()
    again, _ = place.push(dataset)
    assert (again["files"], again["sent"], again["bytes_sent"]) == (4, 0, 0)
    assert place.requests() == before


def test_other_files_are_replaced_only_on_demand(place: Place, dataset: Path, tmp_path: Path) -> None:
    place.push(dataset)
    _, shown = place.push(dataset, "--split", "test", code=2)
    assert "holds other files: README.md, data/train-00000.parquet, data/validation-00000.parquet. Choose another" in shown
    assert place.names() == FILES
    result, _ = place.push(dataset, "--split", "test", "--replace")
    assert (result["sent"], result["removed"]) == (1, 2)
    assert place.names() == {"README.md", "data/test-00000.parquet"}
    assert "| train |" not in place.file("README.md").read_text(encoding="utf-8")


def test_a_repository_contains_parquet_files_only(place: Place, dataset: Path) -> None:
    _, shown = place.push(dataset, "--to", "bvh", code=2)
    assert "--to bvh: repositories of the Hub contain hf. Push other formats to a bucket" in shown


def test_an_interrupted_push_resumes_and_shows_no_secret(place: Place, dataset: Path) -> None:
    broken = place.folder / "broken"
    broken.touch()
    _, shown = place.push(dataset, code=1)
    assert "set HF_TOKEN" in shown
    for secret in (TOKEN, "f00d", "Signature="):
        assert secret not in shown
    assert not place.names() - {"README.md"}
    broken.unlink()
    (place.file("data/test-00000.parquet")).parent.mkdir(exist_ok=True)
    result, _ = place.push(dataset)
    assert place.names() == FILES
    assert result["sent"] == 4


def test_a_wrong_key_is_refused_in_one_line(place: Place, dataset: Path) -> None:
    wrong = "another-secret-of-mine"
    _, shown = place.push(dataset, code=1, HF_TOKEN=wrong)
    errors = [line for line in shown.splitlines() if line.startswith("posegen: error: ")]
    assert len(errors) == 1
    assert wrong not in shown
    assert "HF_TOKEN" in errors[0]
    assert not place.names()


def test_incomplete_datasets_are_not_pushed(place: Place, dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(dataset), str(copy)], check=True)
    next((copy / "receipts").glob("*1.json")).unlink()
    _, shown = place.push(copy, code=1)
    assert "receipts/00001.json: the receipt is missing, so the shard is not complete" in shown
    assert not (place.folder / "log.txt").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("motion", "Name a repository of the Hub, USER/NAME, or s3://BUCKET/PATH"),
        ("https://hub/me/motion", "Name a repository of the Hub"),
        ("s3://", "must be the address of a folder in a bucket, such as s3://BUCKET/PATH"),
        ("s3://key:word@bucket/motion", "must be the address of a folder in a bucket"),
    ],
)
def test_other_targets_are_refused(target: str, message: str) -> None:
    pytest.importorskip("obstore")
    with pytest.raises(UsageError, match=message) as caught:
        push("nowhere", target)
    assert "word" not in str(caught.value)


def test_messages_lose_signatures_and_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc123xyz")
    text = "Client error '403' for url 'https://bucket.example/a?X-Amz-Signature=12&b=c' with abc123xyz\nsecond"
    assert without_secrets(text) == "Client error '403' for url 'https://bucket.example/a' with ***"


LOAD = """
import json, sys
import datasets
found = datasets.load_dataset(sys.argv[1])
row = found["test"][0]
print(json.dumps({"rows": {split: len(rows) for split, rows in found.items()}, "name": row["name"], "joints": row["joints"]}))
"""


def test_a_pushed_dataset_is_loaded_by_its_name(place: Place, dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    place.push(dataset)
    variables = {**os.environ, **place.environment, "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}
    variables |= {"HF_HOME": str(tmp_path / "another"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, place.target], capture_output=True, text=True, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(found["rows"].values()) == SAMPLES * VARIANTS
    assert set(found["rows"]) == {"train", "validation", "test"}
    stored = posegen.open(dataset)[int(found["name"])].joints[0, 0]
    np.testing.assert_array_equal(np.array(found["joints"], np.float32), stored.reshape(len(stored), -1))

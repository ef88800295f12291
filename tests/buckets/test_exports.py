"""An export to a bucket has the objects that one to a folder has as files, also killed and beside others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.storage.object_store import open_store
from tests.buckets.servers import KEY, SECRET, Faults, Proxy, Server, finish
from tests.faults.forks import SETTINGS
from tests.faults.injection import needs_compiler
from tests.faults.steps import die_at
from tests.faults.truth import copy, files_of
from tests.once import generated_once

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 10 samples in three shards; read-only."""
    return generated_once(tmp_path_factory, "exported to buckets", 10, *SETTINGS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which files wait for their upload."""
    path = tmp_path / "waiting"
    path.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(path))
    monkeypatch.setenv("TMPDIR", str(path))
    return path


def start(dataset: Path, form: str, out: BucketPath, *options: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "posegen", "export", str(dataset), "--to", form, "-o", str(out), "--workers=1", *options]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.PIPE, text=True)


def assert_same(out: BucketPath, dataset: Path, form: str, folder: Path) -> None:
    """Assert that an export equals one to a folder, and that no file waits for its upload."""
    assert list(folder.iterdir()) == []
    whole = folder / "whole"
    posegen.export(dataset, form, whole, workers=1)
    assert files_of(out) == files_of(whole)
    for name in files_of(whole):
        data = (out / name).read()
        assert data == (whole / name).read_bytes()
        assert not any(secret.encode() in data for secret in (KEY, SECRET))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["bvh", "hf", "coco"])
def test_a_push_exports_what_one_run_exports_to_a_folder(
    form: str, dataset: Path, proxy: Proxy, bucket: BucketPath, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, source = bucket / "exported", bucket / "dataset"
    copy(dataset, source)
    shown = []
    for _ in range(2):
        proxy.take_log()
        assert main(["push", str(source), str(out), "--to", form, "--workers=1", "--json"]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0]["sent"] == shown[0]["files"] > 0
    assert (shown[1]["sent"], shown[1]["clips"]) == (0, 20)
    assert not any(line[0] == "PUT" for line in proxy.take_log())  # the last run
    assert main(["push", str(source), str(out), "--replace"]) == 2
    assert "--replace are for repositories of the Hub" in capsys.readouterr().err
    assert_same(out, dataset, form, folder)


def test_another_export_and_other_objects_are_kept(
    dataset: Path, bucket: BucketPath, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = bucket / "exported"
    posegen.export(dataset, "bvh", out, workers=1)
    assert main(["export", str(dataset), "--to=bvh", "-o", str(out), "--split=test"]) == 2
    assert f"{out}: holds the export of other sequences, or in another format, or .posegen-export" in capsys.readouterr().err
    assert main(["export", str(dataset), "--to=bvh", "-o", str(bucket)]) == 2
    assert f"{bucket}: is not empty" in capsys.readouterr().err
    assert_same(out, dataset, "bvh", folder)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("form", ["bvh", "hf"])
def test_an_export_survives_kills_and_requests_that_fail(
    form: str, dataset: Path, server: Server, bucket: BucketPath, folder: Path, tmp_path: Path
) -> None:
    out = bucket / "exported"
    with Proxy(server.address, tmp_path / "log.txt", Faults(share=0.05)) as proxy:
        for step in ("document_written#1", "document_written#3", "document_placed#2"):
            run = start(dataset, form, out, AWS_ENDPOINT_URL=proxy.address, **die_at(out, step))
            run.communicate()
            assert run.returncode == -signal.SIGKILL
        finish(start(dataset, form, out, AWS_ENDPOINT_URL=proxy.address))
    assert_same(out, dataset, form, folder)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["bvh", "hf"])
def test_exports_at_the_same_time_make_one(form: str, dataset: Path, bucket: BucketPath, folder: Path) -> None:
    out = bucket / "exported"
    finish(*[start(dataset, form, out) for _ in range(3)])
    posegen.export(dataset, form, out, workers=1)
    assert_same(out, dataset, form, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clips.jsonl", "csv"])
def test_objects_of_an_export_that_were_changed_are_exported_again(
    name: str, dataset: Path, bucket: BucketPath, folder: Path
) -> None:
    """Also if the other program has stored as many bytes."""
    import obstore

    out = bucket / "exported"
    posegen.export(dataset, "csv", out, workers=1)
    changed = next(out / each for each in sorted(out.list()) if each.endswith(name) and not each.startswith("."))
    content = changed.read()
    obstore.put(open_store(out.bucket), changed.key, content)  # the same content, but without its hash
    assert posegen.export(dataset, "csv", out, workers=1).nothing_to_do
    obstore.put(open_store(out.bucket), changed.key, bytes(len(content)))
    assert not posegen.export(dataset, "csv", out, workers=1).nothing_to_do
    assert changed.read() == content
    assert_same(out, dataset, "csv", folder)

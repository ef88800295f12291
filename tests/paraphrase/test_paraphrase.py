"""The command ``paraphrase``: what it keeps, what it refuses, what it asks for, and what remains after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import posegen
from posegen.cli.main import main
from tests.once import generated_once
from tests.paraphrase.servers import Bad, Received, serving

pytest.importorskip("httpx")
pytest.importorskip("tenacity")

SAMPLES, SHARD = 8, 4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated_once(tmp_path_factory, "paraphrase", SAMPLES, f"store.shard={SHARD}", f"store.chunk={SHARD}")


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "dataset"))


def reworded(caption: str, before: int = 0) -> str:
    """The same caption with a few more words; left becomes right."""
    text = caption.rstrip(".")
    return text.replace("left", "right") + ", as can be seen" if "left" in text else f"{text}, as it seems"


def slowly_reworded(caption: str, before: int) -> str:
    time.sleep(0.05)
    return reworded(caption)


def run(capsys: pytest.CaptureFixture[str], dataset: Path, received: Received, *more: str) -> tuple[int, dict[str, Any]]:
    code = main(["paraphrase", str(dataset), "--endpoint", received.url, "--model", "tiny/1", "--json", "--quiet", *more])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if code == 0 else {"error": printed.err}


def rows_of(dataset: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(dataset / "paraphrases" / "tiny-1" / "parts").to_pylist()
    return rows


def captions_of(dataset: Path, samples: int = SAMPLES) -> list[str]:
    rows = pq.read_table(dataset / "sequences").to_pylist()
    return [caption["text"] for row in rows if row["sample"] < samples for caption in row["captions"]]


def test_equivalent_paraphrases_are_kept_and_others_refused(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(reworded) as received:
        code, found = run(capsys, dataset, received)
    captions = captions_of(dataset)
    assert (code, found["shards"], found["written"], found["captions"]) == (0, 2, 2, len(captions))
    assert set(received.captions.values()) == {1}
    assert found["asked"] == len(received.captions) == len(set(captions))
    rows = rows_of(dataset)
    assert [row["text"] for row in rows] == captions
    reasons = Counter("side" if "left" in text else None for text in captions)
    assert reasons["side"] > 0
    assert Counter(row["reason"] for row in rows) == reasons
    assert (found["kept"], found["refused"]) == (reasons[None], {"side": reasons["side"]})
    for row in rows:
        assert row["paraphrase"] == (None if row["reason"] else reworded(row["text"]))
    assert posegen.open(dataset).header.samples == SAMPLES
    assert main(["verify", str(dataset), "--quiet"]) == 0


def test_complete_parts_are_not_asked_for_again(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(reworded) as received:
        assert run(capsys, dataset, received, "--limit", "2")[1]["captions"] == len(captions_of(dataset, 2))
        few = sum(received.captions.values())
        assert few == len(set(captions_of(dataset, 2)))
        run(capsys, dataset, received)
        assert set(received.captions.values()) == {1}
        files = {path: path.read_bytes() for path in (dataset / "paraphrases").rglob("*") if path.is_file()}
        code, found = run(capsys, dataset, received)
        assert (code, found["written"], found["asked"]) == (0, 0, 0)
        assert {path: path.read_bytes() for path in files} == files
        # A damaged part is written again from the stored answers.
        part = dataset / "paraphrases" / "tiny-1" / "parts" / "part-00001.parquet"
        whole = part.read_bytes()
        part.write_bytes(whole[:-1] + b"?")
        assert run(capsys, dataset, received)[1]["written"] == 1
        assert part.read_bytes() == whole
        assert set(received.captions.values()) == {1}


def test_paraphrases_by_other_options_are_not_mixed(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(reworded) as received:
        assert run(capsys, dataset, received, "--limit", "1")[0] == 0
        code, found = run(capsys, dataset, received, "--limit", "1", "--temperature", "1")
    assert code == 2
    assert "temperature nothing stored, 1.0 requested" in found["error"]


def test_a_failing_server_ends_the_run_and_answers_are_kept(
    dataset: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_API_KEY", "secret-key")
    refusing = [True]

    def answering(caption: str, before: int) -> str | Bad:
        return Bad(401) if refusing and len(received.captions) > 10 else reworded(caption)

    with serving(answering) as received:
        code, found = run(capsys, dataset, received, "--in-flight", "1")
        assert code == 1
        assert "answered 401. Put its key into the variable POSEGEN_API_KEY" in found["error"]
        assert "secret-key" not in found["error"]
        refusing.clear()
        assert run(capsys, dataset, received)[0] == 0
    # Only the refused caption is asked for twice.
    assert sorted(received.captions.values())[-2:] == [1, 2]
    assert received.headers["Authorization"] == "Bearer secret-key"
    held = b"".join(path.read_bytes() for path in (dataset / "paraphrases").rglob("*") if path.is_file())
    assert b"secret-key" not in held


def test_a_server_without_usable_answers_ends_the_run(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good: list[bool] = []

    def answering(caption: str, before: int) -> str | Bad:
        return reworded(caption) if good else Bad(body=b"no")

    with serving(answering) as received:
        code, found = run(capsys, dataset, received, "--attempts", "1")
        assert code == 1
        assert "20 times in a row not with a caption" in found["error"]
        good.append(True)
        assert run(capsys, dataset, received)[0] == 0
    assert all(row["reason"] in (None, "side") for row in rows_of(dataset))


def test_the_number_of_simultaneous_requests_is_kept(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(slowly_reworded) as received:
        assert run(capsys, dataset, received, "--limit", "2", "--in-flight", "3")[0] == 0
    assert 2 <= received.busiest <= 3


@pytest.mark.slow
def test_a_killed_run_loses_only_open_requests(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(slowly_reworded) as received:
        command = [sys.executable, "-m", "posegen", "paraphrase", str(dataset), "--endpoint", received.url, "--model", "tiny/1"]
        process = subprocess.Popen([*command, "--in-flight", "2"], stderr=subprocess.DEVNULL, env=os.environ.copy())
        try:
            deadline = time.monotonic() + 60
            while sum(received.captions.values()) < 12 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        asked = sum(received.captions.values())
        assert asked >= 12
        code, found = run(capsys, dataset, received)
    assert code == 0
    # Only the two open requests, and one answer that was being stored, may be asked for again.
    assert found["asked"] <= len(set(captions_of(dataset))) - asked + 3
    assert [row["text"] for row in rows_of(dataset)] == captions_of(dataset)


def test_a_link_instead_of_the_folder_is_refused(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (dataset / "paraphrases").symlink_to(tmp_path / "elsewhere")
    with serving(reworded) as received:
        code, found = run(capsys, dataset, received)
    assert code == 1
    assert "is a link" in found["error"]
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    "option", ["limit=0", "in-flight=0", "endpoint=nowhere", "model= ", "timeout=nan", "timeout=inf", "temperature=nan"]
)
def test_invalid_options_are_refused(dataset: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--endpoint=http://127.0.0.1:1/v1", "--model=m", f"--{option}"]
    assert main(["paraphrase", str(dataset), *arguments]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err
    assert not (dataset / "paraphrases").exists()


def test_the_command_sends_a_key_over_plain_http_only_with_insecure(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    arguments = ["paraphrase", str(dataset), "--endpoint", "http://192.0.2.1/v1", "--model", "m"]
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert "--insecure" in printed
    assert "secret-key" not in printed
    # With the option, the next check is that of the number of samples.
    assert main([*arguments, "--insecure", "--limit", "0"]) == 2
    assert "limit" in capsys.readouterr().err

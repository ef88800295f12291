"""Commands on a dataset in a bucket, beside one another and with a server that fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.header import load_header
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify
from posegen.embedding import open_embeddings
from posegen.embedding.models import HASHING
from posegen.generation.describe import find_status
from posegen.generation.repair import repair
from posegen.viewing.collection import collection_of_dataset
from tests.buckets.servers import KEY, SECRET, Faults, Proxy, Server, finish
from tests.faults.forks import SETTINGS
from tests.faults.truth import assert_same, copy
from tests.once import generated_once
from tests.paraphrase.servers import serving

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "posegen", "generate", "--config=smoke", *(f"--set={setting}" for setting in SETTINGS)]


@pytest.fixture(scope="session")
def config() -> Config:
    """A config with shards of 4 samples."""
    return posegen.load_config("smoke", SETTINGS)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 42 samples in a folder."""
    return generated_once(tmp_path_factory, "beside buckets", 42, *SETTINGS)


def start(path: BucketPath, *options: str, **environment: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "--samples=42", "--workers=1", "--quiet", f"--out={path}", *options]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_commands_work_on_a_bucket(
    bucket: BucketPath, whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bucket / "made"
    command = ["generate", "--config=smoke", *(f"--set={setting}" for setting in SETTINGS), "--samples=42", "--workers=1"]
    assert main([*command, f"--out={path}", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["path"], made["samples"], made["shards_made"]) == (str(path), 42, 11)
    assert made["bytes"] == sum(entry.size for entry in path.list().values())
    assert main([*command, f"--out={path}"]) == 0
    assert f"Nothing to do: {path} is complete." in capsys.readouterr().out
    assert main(["info", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "42 samples in 2 variants" in printed
    lines = printed.partition("Read it in Python:")[2].split("\n")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")  # which obstore itself asks for
    exec("\n".join(line.strip() for line in lines))
    assert capsys.readouterr().out == "(1, 20, 22, 3)\n"
    assert main(["status", str(path)]) == 0
    assert "11 of 11 shards are made" in capsys.readouterr().out
    assert main(["verify", str(path)]) == 0
    assert main(["verify", str(path), "--share=30%", "--deep"]) == 0
    assert_same(path, whole)
    for name in path.list():
        data = (path / name).read()
        assert not any(secret.encode() in data for secret in (KEY, SECRET)), name


def test_commands_that_do_not_work_on_buckets_say_so(bucket: BucketPath, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (f"run -c smoke --out {bucket}/x", f"mix {bucket}/x -o {bucket}/mix.json", f"import {bucket}/x -o library"):
        assert main(command.split()) == 2
        assert "is an address; name a local folder or file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_bucket_is_looked_at_and_mixed(
    bucket: BucketPath, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy(whole, bucket / "dataset")

    def printed(*command: str) -> str:
        assert main([*command, "--json"]) == 0
        return capsys.readouterr().out

    for source, name in ((path, "bucket.png"), (whole, "folder.png")):
        printed("show", str(source), "--sample", "3", "-o", str(tmp_path / name))
    assert (tmp_path / "bucket.png").read_bytes() == (tmp_path / "folder.png").read_bytes()
    measured = [printed("evaluate", str(source), "--samples", "4").replace(str(source), "") for source in (path, whole)]
    assert measured[0] == measured[1]
    longer = tmp_path / "longer"  # than the windows that a reference needs
    posegen.generate(posegen.load_config("smoke"), samples=4, workers=1, out=longer)
    pair = (copy(longer, bucket / "longer"), longer)
    compared = [printed("evaluate", str(each), "--reference", str(each)).replace(str(each), "") for each in pair]
    assert compared[0] == compared[1]
    printed("report", str(path), "--samples", "2", "--no-evaluation", "-o", str(tmp_path / "report.html"))
    assert str(path) in (tmp_path / "report.html").read_text(encoding="utf-8")
    mine, theirs = collection_of_dataset(path), collection_of_dataset(whole)
    assert mine.read_sample(5) == theirs.read_sample(5)
    assert mine.read_rows(0) == theirs.read_rows(0)
    printed("mix", str(path), str(whole), "--ratio", "1:3", "-o", str(tmp_path / "mix.json"))
    mixed = posegen.open_mix(tmp_path / "mix.json")
    np.testing.assert_array_equal(mixed[5].joints, mixed[42 + 5].joints)


@pytest.mark.slow
def test_captions_of_a_bucket_are_paraphrased(
    bucket: BucketPath, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("httpx", "tenacity"):
        pytest.importorskip(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    path, local = copy(whole, bucket / "dataset"), copy(whole, tmp_path / "local")
    with serving(lambda caption, before: f"{caption.rstrip('.')}, as it seems") as received:
        options = ["--endpoint", received.url, "--model", "tiny", "--limit", "8", "--json", "--quiet"]
        found = []
        for source in (path, local, path):
            assert main(["paraphrase", str(source), *options]) == 0
            found.append(json.loads(capsys.readouterr().out))
    assert found[0]["kept"] > 0
    assert [each["kept"] for each in found] == [found[0]["kept"]] * 3
    assert (found[0]["asked"], found[2]["asked"], found[2]["written"]) == (found[1]["asked"], 0, 0)
    part = "paraphrases/tiny/parts/part-00000.parquet"
    assert (path / part).read() == (local / part).read_bytes()
    assert verify(path) == []


@pytest.mark.slow
def test_a_bucket_is_embedded_and_searched(
    bucket: BucketPath, config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, local, options = (
        bucket / "embedded",
        tmp_path / "local",
        ["--encoder", HASHING, "--shard=12", "--no-cache", "--quiet"],
    )
    for each in (path, local):
        posegen.generate(config, samples=10, workers=1, out=each)
        for part in ("1/2", "2/2"):
            assert main(["embed", str(each), *options, "--part", part]) == 0
        assert main(["embed", str(each), *options]) == 0
    mine, theirs = open_embeddings(path), open_embeddings(local)
    assert mine.rows.equals(theirs.rows)
    np.testing.assert_array_equal(mine.vectors(), theirs.vectors())
    batches = [posegen.open(each).batches(4, seed=1, fields=["text_embedding"]) for each in (path, local)]
    for one, other in zip(*batches, strict=True):
        np.testing.assert_array_equal(one.text_embedding, other.text_embedding)
    capsys.readouterr()
    found = []
    for each in (path, local):
        assert main(["search", str(each), "a person walks", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["found"])
    assert found[0] == found[1]
    assert len(found[0]) > 0
    assert verify(path) == []


def test_parts_and_an_extension_equal_one_run(bucket: BucketPath, whole: Path, config: Config) -> None:
    path = bucket / "parts"
    posegen.generate(config, samples=10, workers=1, out=path)
    for number in (3, 1):
        posegen.generate(config, samples=42, workers=1, out=path, part=f"{number}/3")
    between = posegen.finish(str(path))
    assert (between.samples, between.parts, between.of_parts) == (16, [2], 3)
    assert find_status(path).target == 42
    posegen.generate(config, samples=42, workers=1, out=path, part="2/3")
    assert posegen.finish(path).missing == []
    assert_same(path, whole)


@pytest.mark.slow
def test_a_damaged_shard_is_made_again(bucket: BucketPath, whole: Path, config: Config) -> None:
    path = bucket / "damaged"
    posegen.generate(config, samples=42, workers=1, out=path)
    (path / "motion.zarr/joints/c.3.0.0.0.0.0").write(b"nonsense")
    (path / "dataset.json").remove()
    done = repair(path, verify(path), workers=1)
    assert (done.made, done.left) == ((3,), ())
    assert_same(path, whole)


@pytest.mark.slow
def test_runs_at_the_same_time_make_one_dataset(bucket: BucketPath, whole: Path) -> None:
    path = bucket / "together"
    runs = [start(path) for _ in range(3)]
    finish(*runs)
    assert load_header(path).samples == 42
    assert_same(path, whole)


@pytest.mark.slow
def test_a_run_survives_requests_that_fail(
    server: Server, bucket: BucketPath, whole: Path, tmp_path: Path, config: Config
) -> None:
    with Proxy(server.address, tmp_path / "log.txt", Faults(share=0.05)) as proxy:
        path = bucket / "failing"
        parts = [start(path, f"--part={n}/2", AWS_ENDPOINT_URL=proxy.address) for n in (1, 2)]
        finish(*parts)
        finish(start(path, AWS_ENDPOINT_URL=proxy.address))  # publishes
        log = proxy.take_log()
        assert sum(line[2] in (0, 500, 503) for line in log) > 5
    posegen.finish(path)
    assert_same(path, whole)


@pytest.mark.slow
def test_a_run_survives_a_server_that_is_stopped(server: Server, bucket: BucketPath, whole: Path, tmp_path: Path) -> None:
    with Proxy(server.address, tmp_path / "log.txt") as proxy:
        path = bucket / "stopped"
        run = start(path, AWS_ENDPOINT_URL=proxy.address)
        proxy.wait_for("receipts/00002.json")
        proxy.stop()
        time.sleep(20)
        assert run.poll() is None
        proxy.start()
        finish(run)
    assert_same(path, whole)


@pytest.mark.slow
def test_a_folder_needs_no_obstore(tmp_path: Path) -> None:
    code = (  # a thread of pyarrow may abort a process that ends otherwise
        "import os, sys; from posegen.cli.main import main; sys.modules['obstore'] = None; "
        "os._exit(main(sys.argv[1:]) or main(['info', sys.argv[-1]]))"
    )
    command = [sys.executable, "-c", code, *COMMAND[3:], "--samples=2", "--workers=1", "--quiet", "--out", str(tmp_path / "x")]
    subprocess.run(command, cwd=ROOT, check=True)


@pytest.mark.slow
def test_torch_reads_a_bucket(bucket: BucketPath, whole: Path, config: Config) -> None:
    torch = pytest.importorskip("torch")
    import posegen.torch

    path = bucket / "torch"
    posegen.generate(config, samples=10, workers=1, out=path)
    mine, theirs = (posegen.torch.Dataset(str(each), ["joints", "captions"], variants="base") for each in (path, whole))
    loader = torch.utils.data.DataLoader(
        mine, batch_size=5, num_workers=1, multiprocessing_context="spawn", collate_fn=posegen.torch.collate
    )
    read = [batch["joints"].numpy() for batch in loader]
    np.testing.assert_array_equal(np.concatenate(read), np.stack([theirs[index]["joints"].numpy() for index in range(10)]))
    forked = torch.utils.data.DataLoader(mine, num_workers=1, multiprocessing_context="fork", collate_fn=posegen.torch.collate)
    with pytest.raises(Exception, match="multiprocessing_context='spawn'"):
        next(iter(forked))

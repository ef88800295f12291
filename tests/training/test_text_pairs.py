"""Encoders are fine-tuned on pairs of a table: retrieval and verification before and after, resumption, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("sentence_transformers")

from posegen.cli.main import main  # noqa: E402
from posegen.embedding import load_encoder  # noqa: E402
from posegen.foundations.errors import UsageError  # noqa: E402
from posegen.training.data.pairs import read_pairs  # noqa: E402
from tests.embedding import tiny_encoder  # noqa: E402
from tests.once import own_copy  # noqa: E402

pytestmark = pytest.mark.slow

TOPICS = 24
WORDS = [f"{letter}{topic}" for topic in range(TOPICS) for letter in "abcdef"]
_SETTINGS = ("batch=16", "machine.threads=1", "checks.times=2", "optimiser.rate=2e-3")
FEW = ("--preset", "best", *(part for setting in _SETTINGS for part in ("--set", setting)))


def _text(topic: int, half: int, drawn: np.random.Generator) -> str:
    """Return two of the three words of a half of a topic: the halves share no word."""
    return " ".join(WORDS[6 * topic + 3 * half + i] for i in drawn.permutation(3)[:2])


def write_pairs(folder: Path, count: int = 240) -> Path:
    """Write pairs of texts of one topic, with negatives of another, and with labels and scores."""
    drawn = np.random.default_rng(0)
    topics = drawn.integers(0, TOPICS, count)
    others = (topics + drawn.integers(1, TOPICS, count)) % TOPICS
    same = drawn.random(count) < 0.5
    table: dict[str, Any] = {
        "a": [f"{_text(topic, 0, drawn)} x{row}" for row, topic in enumerate(topics)],
        "b": [f"{_text(topic, 1, drawn)} y{row}" for row, topic in enumerate(topics)],
        "c": [f"{_text(other, 1, drawn)} z{row}" for row, other in enumerate(others)],
        "either": [
            f"{_text(t if is_same else o, 1, drawn)} w{row}"
            for row, (t, o, is_same) in enumerate(zip(topics, others, same, strict=True))
        ],
        "same": np.where(same, "similar", "different").tolist(),
        "score": np.where(same, 0.9, 0.1) + 0.05 * drawn.random(count),
    }
    pq.write_table(pa.table(table), folder / "pairs.parquet")
    return folder / "pairs.parquet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        tiny_encoder.make(folder, WORDS, longest=16)
        write_pairs(folder)

    return own_copy(tmp_path_factory, "text pairs", make)


def train(folder: Path, out: Path, *options: str) -> int:
    source, encoder = str(folder / "pairs.parquet"), str(folder / "tiny")
    return main(["train", source, "--encoder", encoder, "--out", str(out), *FEW, "--json", *options])


@pytest.fixture
def measured(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda: json.loads(capsys.readouterr().out)["measures"]


def test_triplets_improve_retrieval_and_the_encoder_embeds(folder: Path, tmp_path: Path, measured: Any) -> None:
    assert train(folder, tmp_path / "run", "--pairs", "a,b,c", "--set", "steps=120") == 0
    found = measured()
    assert found["r10"] > found["r10_before"] + 0.15
    assert found["hard_auc"] > found["hard_auc_before"]
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["table"]["rates"][-1]["far"] == 0.1
    assert 0 <= result["table"]["rates"][-1]["hard_far"] <= 1
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<td>hard_auc_before</td>" in page
    assert "<th>false accepts of hard pairs</th>" in page
    texts = ["a0 b0 c0", "a5 b5"]
    before, after = (load_encoder(str(path)).encode(texts) for path in (folder / "tiny", tmp_path / "run"))
    assert np.abs(before - after).max() > 0.01
    # Nothing of a checkpoint is unpickled.
    for file in (tmp_path / "run" / "checkpoints").glob("*/*.pt"):
        torch.load(file, weights_only=True)
    assert not list((tmp_path / "run").rglob("training_args.bin"))
    assert main(["embed", str(folder / "pairs.parquet"), "--column", "a", "--encoder", str(tmp_path / "run"), "--no-cache",
                 "-o", str(tmp_path / "out.parquet")]) == 0  # fmt: skip
    assert main(["runs", str(tmp_path), "--json"]) == 0


@pytest.mark.parametrize(("column", "measure"), [("same", "auc"), ("score", "spearman")])
def test_labels_and_scores_are_learned(folder: Path, tmp_path: Path, column: str, measure: str, measured: Any) -> None:
    options = ("--pairs", "a,either", "--score", column, "--set", "steps=100")
    assert train(folder, tmp_path / "run", *options, "--set", "machine.micro_batch=8") == 0
    found = measured()
    assert found[measure] > found[f"{measure}_before"] + 0.05
    assert ("hard_auc" in found) == (column == "same")


def test_a_stopped_run_resumes_to_the_same_bytes(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--pairs", "a,b", "--set", "steps=40", "--set", "checks.times=4", "--lora", "4")
    assert train(folder, tmp_path / "whole", *options) == 0
    from posegen.training import text_pairs

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    # The run ends behind its checkpoints of 40 steps; the later ones are lost, and a damaged one is skipped.
    with monkeypatch.context() as patch:
        patch.setattr(text_pairs, "_finish", killed)
        assert train(folder, tmp_path / "stopped", *options) == 130
    checkpoints = sorted((tmp_path / "stopped" / "checkpoints").glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
    assert len(checkpoints) >= 2
    damaged = checkpoints[-1] / "weights.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert train(folder, tmp_path / "stopped", *options) == 0
    one, other = ((tmp_path / name / "encoder" / "model.safetensors").read_bytes() for name in ("whole", "stopped"))
    assert one == other


def test_checkpointing_changes_no_measure(folder: Path, tmp_path: Path, measured: Any) -> None:
    options = ("--pairs", "a,b", "--set", "steps=6")
    assert train(folder, tmp_path / "one", *options) == 0
    plain = measured()
    assert train(folder, tmp_path / "two", *options, "--set", "machine.checkpointing=true") == 0
    assert measured() == pytest.approx(plain, abs=1e-6)


def test_the_estimate_trains_nothing_and_a_budget_refuses(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, tmp_path / "run", "--pairs", "a,b", "--estimate") == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["step_seconds"] > 0
    assert not (tmp_path / "run").exists()
    assert train(folder, tmp_path / "run", "--pairs", "a,b", "--budget", "1s") == 2
    assert "the budget is 1s" in capsys.readouterr().err


def test_splits_share_no_text(folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(folder / "pairs.parquet").to_pydict()
    # The anchors of four rows in a row are one text.
    table["a"] = [table["a"][row // 4 * 4] for row in range(240)]
    pq.write_table(pa.table(table), tmp_path / "shared.parquet")
    pairs = read_pairs(tmp_path / "shared.parquet", ["a", "b"], None)
    texts = {split: {pairs.texts[name][row] for name in pairs.texts for row in rows} for split, rows in pairs.splits.items()}
    assert sum(len(rows) for rows in pairs.splits.values()) == 240
    assert not texts["training"] & (texts["test"] | texts["validation"])
    assert not texts["test"] & texts["validation"]
    # Where all pairs hang together, training pairs go.
    table["b"] = [table["b"][row % 121] for row in range(240)]
    pq.write_table(pa.table(table), tmp_path / "shared.parquet")
    pairs = read_pairs(tmp_path / "shared.parquet", ["a", "b"], None)
    (note,) = pairs.notes
    assert f"{240 - sum(map(len, pairs.splits.values()))} training pairs are left out" in note
    table["b"] = [table["b"][0]] * 240
    pq.write_table(pa.table(table), tmp_path / "shared.parquet")
    with pytest.raises(UsageError, match="each pair shares a text with a validation or test pair"):
        read_pairs(tmp_path / "shared.parquet", ["a", "b"], None)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--pairs", "a"], "--pairs takes two columns of texts"),
        (["--pairs", "a,d"], "has no column of texts 'd'"),
        (["--pairs", "a,b,c", "--score", "score"], "three without --score"),
        (["--pairs", "a,b", "--score", "c"], "is neither a number nor a label"),
        (["--pairs", "a,b", "--task", "text"], "--task has no effect with --pairs"),
        (["--pairs", "a,b", "--set", "model.size=large"], "--pairs has no setting 'model.size'"),
        (["--pairs", "a,b", "--preset", "fast"], "--pairs has no preset 'fast'"),
        (["--task", "text", "--score", "score"], "--score has no effect with a TABLE"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, tmp_path: Path, options: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = [] if "--task" in options and "--pairs" not in options else ["--encoder", str(folder / "tiny")]
    assert main(["train", str(folder / "pairs.parquet"), "--out", str(tmp_path / "run"), *encoder, *options]) == 2
    assert reported in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

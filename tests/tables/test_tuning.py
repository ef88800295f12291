"""The encoder of a table is fine-tuned on the label where that is better, resumed after a kill, and stored as weights only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from posegen.cli.main import main  # noqa: E402
from posegen.foundations.errors import PosegenError  # noqa: E402
from posegen.tables.model import predict_table  # noqa: E402
from posegen.tables.run import train_table  # noqa: E402
from posegen.tables.settings import TableRequest, load_table_settings  # noqa: E402
from tests.embedding import tiny_encoder  # noqa: E402
from tests.tables.pricing import is_killed  # noqa: E402

pytestmark = pytest.mark.slow

KINDS = ("kuda", "tilo"), ("mepa", "suno")
FILLERS = [first + vowel + "ven" for first in "bdfg" for vowel in "aeiou"]
FEW = ("tuning.members=2", "tuning.epochs=60", "tuning.rank=null", "tuning.rate=3e-3", "tuning.checks=2", "machine.threads=1")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder.make(tmp_path_factory.mktemp("encoder"), [*FILLERS, *KINDS[0], *KINDS[1]])


@pytest.fixture(scope="module")
def agreement(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose label is whether two words are of one kind: no sum over words shows it."""
    drawn = np.random.default_rng(0)
    kinds = drawn.integers(0, 2, (400, 2))
    labels = ["one" if first == second else "other" for first, second in kinds]
    file = tmp_path_factory.mktemp("agreement") / "own.csv"
    fillers = drawn.choice(FILLERS, (400, 2))
    texts = [f"{KINDS[0][a]} {one} {KINDS[1][b]} {two}" for (a, b), (one, two) in zip(kinds, fillers, strict=True)]
    pc.write_csv(pa.table({"text": texts, "label": labels, "n": drawn.normal(size=400)}), file)
    return file


def request(table: Path, label: str, encoder: Path, out: Path, *overrides: str) -> TableRequest:
    given = [f"table.label={label}", f"table.encoder={encoder}", *FEW, *overrides]
    return TableRequest(table, load_table_settings("balanced", given), out)


def predicted(run: Path, table: Path, out: Path) -> list[Any]:
    predict_table(run, table, out)
    return pq.read_table(out)["probability"].to_pylist()  # type: ignore[no-any-return]


def test_a_killed_run_ends_with_the_same_predictions(agreement: Path, encoder: Path, tmp_path: Path) -> None:
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    result = train_table(request(agreement, "label", encoder, straight))
    assert result.chosen.endswith("averaged with fine-tuned encoders: 2")
    assert result.measures["accuracy"] > result.measures["accuracy_linear"] + 0.1
    assert sorted(path.suffix for path in (straight / "tuning").iterdir()) == [".safetensors"] * 2
    command = [
        sys.executable, "-m", "posegen", "train", str(agreement), "--label", "label", "--preset", "balanced", "--encoder",
        str(encoder), *(part for each in FEW for part in ("--set", each)), "--out", str(killed), "--quiet",
    ]  # fmt: skip
    for _ in range(2):
        is_killed(command, lambda: any(killed.glob("tuning/*")), 1)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    one, other = (predicted(run, agreement, tmp_path / f"{run.name}.parquet") for run in (straight, killed))
    assert one == other
    damaged = straight / "tuning" / "1-1.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0\1")
    with pytest.raises(PosegenError, match=r"1-1.safetensors: checksum mismatch"):
        predicted(straight, agreement, tmp_path / "again.parquet")


def test_noise_keeps_the_other_model_and_a_number_is_learned(agreement: Path, encoder: Path, tmp_path: Path) -> None:
    result = train_table(request(agreement, "n", encoder, tmp_path / "noise", "tuning.epochs=2", "tuning.rank=4"))
    assert json.loads((tmp_path / "noise" / "model.json").read_text())["tuned"] is None
    assert "fine-tuned" not in result.chosen
    table = pc.read_csv(agreement)
    price = [10.0 + (5 if label == "one" else 0) for label in table["label"].to_pylist()]
    pc.write_csv(table.drop_columns(["label", "n"]).append_column("price", pa.array(price)), tmp_path / "price.csv")
    result = train_table(request(tmp_path / "price.csv", "price", encoder, tmp_path / "price", "tuning.members=1"))
    assert "fine-tuned" in result.chosen
    assert result.measures["smape"] < result.measures["smape_linear"]


def test_an_encoder_is_needed(agreement: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", str(agreement), "--label", "label", "--preset", "balanced", "--set", "table.encoder=null"]
    assert main(command) == 2
    assert "fine-tune one. Use --preset quick" in capsys.readouterr().err

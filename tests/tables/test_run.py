"""Models of a table: chosen by cross-validation, resumed, trained again on more rows, and used on other tables."""

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

from posegen.cli.main import main
from posegen.foundations.errors import PosegenError, UsageError
from posegen.tables.model import predict_table
from posegen.tables.run import train_table
from posegen.tables.settings import TableRequest, load_table_settings
from posegen.training.run_folder import Result
from posegen.training.trained_models import load_model
from tests.tables.pricing import is_killed, write_prices
from tests.training import tiny


def learn(table: Path, label: str, out: Path, *overrides: str, progress: Any = None, **options: Any) -> Result:
    settings = load_table_settings("quick", [f"table.label={label}", "table.encoder=null", *overrides])
    return train_table(TableRequest(table, settings, out, **options), progress)


def predicted(run: Path, table: Path, out: Path) -> pa.Table:
    predict_table(run, table, out)
    return pq.read_table(out)


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prices(tmp_path_factory.mktemp("prices") / "prices.csv", 400)


@pytest.fixture(scope="module")
def trained(prices: Path) -> Path:
    learn(prices, "price", prices.parent / "run")
    return prices.parent / "run"


def test_a_price_is_learned_beside_the_baseline_and_a_constant(trained: Path) -> None:
    result = json.loads((trained / "result.json").read_text())
    measures = result["measures"]
    assert next(iter(measures)) == "smape"
    assert measures["smape"] < 0.5 * measures["smape_constant"]
    assert measures["smape"] <= measures["smape_linear"]
    assert [model[0] for model in result["table"]["models"]][:2] == ["constant", "linear baseline"]
    assert all(low <= value <= high for _, value, low, high in result["table"]["models"])
    page = (trained / "report.html").read_text()
    assert "linear baseline" in page
    assert "95 % interval" in page


def test_predictions_do_not_depend_on_the_label_or_the_other_rows(prices: Path, trained: Path, tmp_path: Path) -> None:
    everything = predicted(trained, prices, tmp_path / "all.parquet")
    true = pc.read_csv(prices)
    pc.write_csv(true.slice(7, 2).drop_columns(["price"]), tmp_path / "two.csv")
    two = predicted(trained, tmp_path / "two.csv", tmp_path / "two.parquet")
    np.testing.assert_allclose(two["price"], np.array(everything["price"])[7:9], rtol=1e-6)
    assert "price" in two.column_names
    pc.write_csv(true.drop_columns(["brand"]), tmp_path / "less.csv")
    with pytest.raises(UsageError, match="which the model reads"):
        predict_table(trained, tmp_path / "less.csv", tmp_path / "less.parquet")
    with pytest.raises(UsageError, match="is a model of a table"):
        load_model(trained)


def test_shuffled_labels_are_not_learned(prices: Path, tmp_path: Path) -> None:
    result = learn(prices, "price", tmp_path / "run", "data.shuffle_labels=true")
    assert result.measures["smape"] > 0.85 * result.measures["smape_constant"]


def test_categories_have_calibrated_probabilities_and_one_row_is_enough(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    mood = drawn.integers(2, size=300)
    words = [f"{('bad', 'good')[m if drawn.random() < 0.8 else 1 - m]} number {i}" for i, m in enumerate(mood.tolist())]
    names = [("minus", "plus")[m] for m in mood.tolist()]
    pc.write_csv(pa.table({"text": [*words, "one more"], "mood": [*names, "once"]}), tmp_path / "moods.csv")
    result = learn(tmp_path / "moods.csv", "mood", tmp_path / "run")
    assert result.measures["accuracy"] > 0.65
    rows = predicted(tmp_path / "run", tmp_path / "moods.csv", tmp_path / "out.parquet")
    right = np.array(rows["mood"].to_pylist()[:300]) == np.array(names)
    assert abs(float(np.mean(rows["probability"].to_pylist()[:300])) - right.mean()) < 0.1


def test_pairs_of_vectors_train_and_have_thresholds(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    one = drawn.normal(size=(600, 8))
    same = drawn.integers(2, size=600)
    other = np.where(same[:, None] == 1, one + drawn.normal(0, 0.5, one.shape), drawn.normal(size=one.shape))
    pq.write_table(pa.table({"a": one.tolist(), "b": other.tolist(), "same": same}), tmp_path / "pairs.parquet")
    result = learn(tmp_path / "pairs.parquet", "same", tmp_path / "run")
    assert result.measures["auc"] > 0.9
    rates = json.loads((tmp_path / "run" / "result.json").read_text())["table"]["rates"]
    assert [rate[0] for rate in rates] == [0.01]
    # The most similar wrong pairs are accepted more often than the others.
    assert rates[0][4] >= rates[0][2]
    assert 0.5 < result.measures["hard_auc"] < result.measures["auc"]
    assert "false accepts of hard pairs" in (tmp_path / "run" / "report.html").read_text()


def test_numbers_alone_and_noise_train(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    numbers = {name: drawn.normal(size=200) for name in "ab"}
    pc.write_csv(pa.table({**numbers, "y": numbers["a"] ** 2 + drawn.normal(0, 0.1, 200)}), tmp_path / "numbers.csv")
    found = learn(tmp_path / "numbers.csv", "y", tmp_path / "run")
    assert found.measures["mae"] < 0.6 * found.measures["mae_linear"]
    pc.write_csv(pa.table({**numbers, "y": drawn.normal(size=200)}), tmp_path / "noise.csv")
    noise = learn(tmp_path / "noise.csv", "y", tmp_path / "noise")
    assert noise.measures["mae"] < 1.1 * noise.measures["mae_constant"]


def test_more_rows_and_init_state_what_changed(tmp_path: Path) -> None:
    write_prices(tmp_path / "prices.csv", 200)
    learn(tmp_path / "prices.csv", "price", tmp_path / "run")
    assert learn(tmp_path / "prices.csv", "price", tmp_path / "run").nothing_to_do
    write_prices(tmp_path / "prices.csv", 260)
    recorder = tiny.Recorder()
    learn(tmp_path / "prices.csv", "price", tmp_path / "run", progress=recorder)
    assert any(line.startswith("the table had 200 rows and has 260") for line in recorder.said)
    assert main(["runs", str(tmp_path)]) == 0
    recorder = tiny.Recorder()
    learn(tmp_path / "prices.csv", "price", tmp_path / "other", init=tmp_path / "run", progress=recorder)
    assert any("other candidates are not compared" in line for line in recorder.said)
    with pytest.raises(UsageError, match="holds another run"):
        learn(tmp_path / "prices.csv", "weight", tmp_path / "run")


def test_a_budget_and_a_limit_of_memory_are_kept(prices: Path, tmp_path: Path) -> None:
    estimate = learn(prices, "price", tmp_path / "run", only_estimate=True).estimate
    assert estimate is not None
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match=r"an estimated .* are needed.* --budget"):
        learn(prices, "price", tmp_path / "run", budget=1e-6)
    with pytest.raises(UsageError, match="of memory are needed"):
        learn(prices, "price", tmp_path / "run", "memory.limit=1MB")


def test_a_read_only_table_trains_elsewhere(prices: Path, tmp_path: Path) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "own.csv").write_bytes(prices.read_bytes())
    folder.chmod(0o555)
    learn(folder / "own.csv", "price", tmp_path / "run", "data.samples=60")
    assert [path.name for path in folder.iterdir()] == ["own.csv"]


def test_a_changed_model_is_refused(prices: Path, tmp_path: Path) -> None:
    learn(prices, "price", tmp_path / "run", "data.samples=60")
    path = tmp_path / "run" / "model.skops"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(PosegenError, match="checksum mismatch"):
        predict_table(tmp_path / "run", prices, tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ([], "a table needs the column that is predicted. Name it with --label COLUMN"),
        (["--task", "motion", "--label", "price"], "a table is no source of the task motion"),
        (["--label", "price", "--lora", "4"], "tuning.rank has no effect, as no encoder is fine-tuned"),
        (["--label", "price", "--set", "steps=10"], "steps: unknown key"),
        (["--label", "price", "--set", "text.encoder=x"], "text: unknown key"),
        (["--label", "price", "--preset", "gpu"], "a table is trained with balanced, best, quick"),
    ],
)
def test_the_command_reports_what_does_not_fit(
    prices: Path, arguments: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(prices), *arguments]) == 2
    assert reported in capsys.readouterr().err


def test_the_command_trains_and_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_prices(tmp_path / "prices.csv", 80)
    run = str(tmp_path / "run")
    command = ["train", str(tmp_path / "prices.csv"), "--label", "price", "--set", "table.encoder=null", "--out", run]
    assert main(command) == 0
    assert "test rows: smape" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nothing_to_do"]
    out = str(tmp_path / "out.parquet")
    assert main(["predict", run, str(tmp_path / "prices.csv"), "-o", out]) == 0
    assert len(pq.read_table(out)) == 80


@pytest.mark.slow
def test_vectors_of_an_encoder_are_read_and_missing_texts_have_none(tmp_path: Path) -> None:
    kinds = ["red coat", "blue shirt", "", "grey scarf"] * 30
    texts = [f"{kind} {i}" if kind else "" for i, kind in enumerate(kinds)]
    pc.write_csv(pa.table({"text": texts, "kind": kinds, "n": list(range(120))}), tmp_path / "own.csv")
    settings = load_table_settings("quick", ["table.label=kind", "table.encoder=hashing-for-tests"])
    train_table(TableRequest(tmp_path / "own.csv", settings, tmp_path / "run"))
    assert len(predicted(tmp_path / "run", tmp_path / "own.csv", tmp_path / "out.parquet")) == 120


@pytest.mark.slow
def test_killed_at_random_times_it_gives_equal_predictions(prices: Path, trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = ["--label", "price", "--set", "table.encoder=null", "--out", str(run)]
    command = [sys.executable, "-m", "posegen", "train", str(prices), *given]
    # A fast machine ends before the first random time.
    seconds = iter([0.0, *np.random.default_rng(0).uniform(1, 8, 9)])
    assert is_killed(command, (run / "run.json").exists, next(seconds))
    while not (run / "result.json").exists() and (more := next(seconds, None)):
        is_killed(command, lambda: True, more)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = (predicted(each, prices, tmp_path / f"{i}.parquet")["price"].to_pylist() for i, each in enumerate((trained, run)))
    assert next(found) == next(found)


def formula(number: int) -> tuple[dict[str, Any], str]:
    """Return a small table that follows a formula, and its label."""
    drawn = np.random.default_rng(number)
    rows = (40, 80, 150, 300)[number % 4]
    x, z = drawn.normal(size=rows), drawn.normal(size=rows)
    words = [f"item{i} colour{j}" for i, j in zip(drawn.integers(8, size=rows), drawn.integers(5, size=rows), strict=True)]
    if number % 5 == 0:
        return {"x": x, "z": z, "y": np.where(x + drawn.normal(0, 0.5, rows) > 1.2, "rare", "often")}, "y"
    if number % 5 == 1:
        return {"x": x, "z": z, "y": x * z + drawn.normal(0, 0.3, rows)}, "y"
    if number % 5 == 2:
        return {"text": words, "x": x, "y": [word.split()[0] for word in words]}, "y"
    if number % 5 == 3:
        return {"text": words, "x": x, "y": drawn.normal(size=rows)}, "y"
    typed = [word[:3] + word[4:] if drawn.random() < 0.5 else word for word in words]
    value = np.exp([len(word) + int(word[4]) / 4 for word in words] + drawn.normal(0, 0.2, rows))
    return {"text": typed, "x": x, "y": value}, "y"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_no_model_is_below_the_baseline_by_more_than_its_interval(tmp_path: Path, number: int) -> None:
    columns, label = formula(number)
    pc.write_csv(pa.table(columns), tmp_path / "own.csv")
    learn(tmp_path / "own.csv", label, tmp_path / "run")
    table = json.loads((tmp_path / "run" / "result.json").read_text())["table"]
    _, _, low, high = table["models"][1]
    value = table["models"][-1][1]
    assert value >= low if table["measure"] == "accuracy" else value <= high

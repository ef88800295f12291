"""A user's table with a label: reading, splits, training, resuming, predictions and exported models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posegen.cli.main import main
from posegen.dataset import table_files
from posegen.dataset.splits import SPLITS
from posegen.embedding.own_texts import embed_texts
from posegen.errors import UsageError
from posegen.training.cautions import chance_warning
from posegen.training.data.columns import Columns
from posegen.training.data.features import View
from posegen.training.data.tables import decode_label, encode_label, read_labelled_rows, row_arrays
from posegen.training.measures import repeated_errors
from posegen.training.model_formats import export_model
from posegen.training.models.rows import RowModel
from posegen.training.predictions import predict_table
from posegen.training.settings import Model, Table, load_settings
from posegen.training.setup import FEWEST_EVALUATED, Request, split_groups
from posegen.training.tasks.labels import CATEGORY, NUMBER, label_task
from posegen.training.train import Result, train
from posegen.training.trained_models import load_model
from tests.training import tiny
from tests.training.pricing import write_prices

FEW = (
    "log=[]", "saving.steps=5", "machine.threads=1", "machine.micro_batch=32", "machine.workers=0", "machine.precision=32-true",
    "checks.times=2", "batch=32",
)  # fmt: skip
ENOUGH = ("steps=80", "optimiser.rate=4e-3", "saving.steps=15")
"""With three seeds the skill was .64, .64 and .68."""


def learn(table: Path, label: str, out: Path, *overrides: str, task: str = "text", progress: Any = None) -> Result:
    settings = load_settings("quick", [*FEW, f"table.label={label}", *overrides], "label")
    return train(Request(str(table), task, "quick", settings, out), progress)


def write_table(path: Path, **columns: list[Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prices(tmp_path_factory.mktemp("prices") / "prices.csv", 600)


@pytest.fixture(scope="module")
def trained(prices: Path) -> Path:
    learn(prices, "price", prices.parent / "run", *ENOUGH)
    return prices.parent / "run"


def test_texts_numbers_and_vectors_are_inputs(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "own.parquet",
        title=["a red coat", None, "boots"], weight=[1.5, None, 2.0], new=[True, False, None], price=[3, 4, None],
        vector=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], when=pa.array([1, 2, 3], pa.date32()),
    )  # fmt: skip
    rows = read_labelled_rows(path, Table(label="price"))
    assert (rows.columns.texts, rows.columns.numbers) == (("title",), ("weight", "new"))
    assert rows.columns.vectors == (("vector", 2),)
    assert rows.categories == ()
    assert rows.arrays["label"].tolist() == [3, 4]
    assert rows.arrays["words"].shape == (2, 1, 3)
    # A row without text has one word, and a missing number is not 0.
    assert (rows.arrays["words"] > 0).sum(axis=2).tolist() == [[3], [1]]
    np.testing.assert_array_equal(rows.arrays["values"], np.array([[1.5, 1, 1, 2], [np.nan, 0, 3, 4]], np.float32))
    assert rows.notes[0] == "price: numbers"
    assert [note.partition(": ")[2] for note in rows.notes[1:]] == [
        "the column when is ignored: it has the type date32[day]",
        "1 of 3 rows have no price and are left out",
    ]
    only = read_labelled_rows(path, Table(label="price", inputs=("title",)))
    assert only.columns.inputs == ("title",)
    assert only.identity != rows.identity


def test_texts_and_truth_values_are_categories(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "own.parquet", text=["a", "b", "c"], kind=["x", "y", "x"], good=[True, False, None], n=[2, 7, 2]
    )
    assert read_labelled_rows(path, Table(label="kind")).categories == ("x", "y")
    assert read_labelled_rows(path, Table(label="good")).categories == ("False", "True")
    assert read_labelled_rows(path, Table(label="n", target="category")).arrays["label"].tolist() == [0, 1, 0]


def test_the_first_vector_may_be_missing(tmp_path: Path) -> None:
    path = write_table(tmp_path / "own.parquet", text=["a", "b", "c"], price=[1, 2, 3], v=[None, [1.0, 2.0], [3.0, 4.0]])
    rows = read_labelled_rows(path, Table(label="price"))
    assert rows.columns.vectors == (("v", 2),)
    np.testing.assert_array_equal(rows.arrays["values"], [[np.nan, np.nan], [1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"text,y,y\nred,1,2\n", "has 2 columns 'y'. Rename or remove all but one"),
        ("text,y\ngroße,1\n".encode("latin1"), "the column 'text' is not UTF-8"),
        ("größe,y\nred,1\n".encode("latin1"), "a name of a column is not UTF-8"),
    ],
)
def test_damaged_csv_files_are_refused(tmp_path: Path, content: bytes, reported: str) -> None:
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(UsageError, match=reported):
        read_labelled_rows(tmp_path / "own.csv", Table(label="y"))


def test_long_texts_of_a_csv_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.csv").write_text("text,y\n" + "".join(f"{'word ' * 300_000},{i}\n" for i in range(3)))
    assert len(read_labelled_rows(tmp_path / "own.csv", Table(label="y"))) == 3
    monkeypatch.setattr(table_files, "_BLOCKS", pc.ReadOptions(block_size=100))
    with pytest.raises(UsageError, match="a row has more than 64 MB, or a quote is not closed"):
        read_labelled_rows(tmp_path / "own.csv", Table(label="y"))


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (["1,5", "2,5", "3"] * 2, "look like numbers, such as 1,5"),
        (["1,100.5", "2,200.5"] * 2, "look like numbers, such as 1,100.5"),
        (["1.5", "2.5"] * 2, "look like numbers, such as 1.5"),
        (["2024-01-31", "2024-02-01"] * 2, "look like dates, such as 2024-01-31"),
        (["31.1.2024", "1.2.2024"] * 2, "look like dates"),
        (["a", "b", "c", "c"], "2 of the 3 categories of kind occur once"),
        (["1", "2"] * 2, None),
        (["no. 1,5", "b"] * 2, None),
    ],
)
def test_numbers_and_dates_as_texts_are_reported(tmp_path: Path, labels: list[str], warned: str | None) -> None:
    path = write_table(tmp_path / "own.parquet", text=[str(i) for i in range(len(labels))], kind=labels)
    first, *others = read_labelled_rows(path, Table(label="kind")).notes
    assert first == f"kind: {len(set(labels))} categories"
    if warned is None:
        assert not others
    else:
        (warning,) = others
        assert warned in warning
    if warned and "once" not in warned:
        assert len(read_labelled_rows(path, Table(label="kind", target="category")).notes) == 1


@pytest.mark.parametrize(
    ("settings", "columns", "reported"),
    [
        ({"label": "prise"}, {}, r"has no column 'prise'; did you mean 'price'"),
        ({"label": "price", "group": "user"}, {}, "has no column 'user'"),
        ({"label": "price"}, {"price": [1.0, 1.0, None]}, "all rows have the same price"),
        ({"label": "price"}, {"price": [1.0, float("inf"), 2.0]}, "row 1 has an infinite price"),
        ({"label": "price", "inputs": ["weight"]}, {}, "has no column of texts beside price"),
        ({"label": "price", "inputs": ["text", "price"]}, {}, "is the label and cannot be an input"),
        ({"label": "text", "target": "number"}, {}, "the label text has the type string, which is no number"),
        (
            {"label": "price", "inputs": ["text", "when"]},
            {"when": pa.array([1, 2, 3], pa.date32())},
            r"numbers nor vectors: when",
        ),
        ({"label": "price"}, {"vector": [[1.0], [1.0, 2.0], [1.0]]}, "row 1 has 2 numbers in vector; the others have 1"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path, settings: Any, columns: Any, reported: str) -> None:
    path = write_table(
        tmp_path / "own.parquet", **{"text": ["a", "b", "c"], "weight": [1, 2, 3], "price": [1, 2, 3], **columns}
    )
    with pytest.raises(UsageError, match=reported):
        read_labelled_rows(path, Table(**settings))


@given(st.lists(st.integers(0, 40), min_size=9, max_size=300), st.integers(0, 5))
def test_a_group_is_in_one_split(groups: list[int], seed: int) -> None:
    own = np.array(groups)
    splits = split_groups(own, seed)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(own)))
    for one in SPLITS:
        others = np.concatenate([samples for split, samples in splits.items() if split != one])
        assert not set(own[splits[one]].tolist()) & set(own[others].tolist())
    if len(set(groups)) >= 3:
        assert all(len(samples) for samples in splits.values())


def test_few_rows_are_evaluated_on_a_fifth_and_many_on_a_tenth() -> None:
    assert [len(own) for own in split_groups(np.arange(40), 0).values()] == [8, 8, 24]
    many = split_groups(np.arange(400), 0)
    assert FEWEST_EVALUATED < len(many["test"]) < 60


@given(st.lists(st.floats(0.01, 1e6), min_size=1), st.floats(-5, 5), st.floats(0.1, 10), st.booleans())
def test_labels_are_decoded(labels: list[float], typical: float, scale: float, is_ratio: bool) -> None:
    columns = Columns("price", ("text",), typical=typical, scale=1.0 if is_ratio else scale, is_ratio=is_ratio)
    np.testing.assert_allclose(decode_label(encode_label(np.array(labels), columns), columns), labels, rtol=1e-6)


@pytest.mark.parametrize("answers", [3, 40])
def test_padding_and_missing_numbers_do_not_change_other_rows(answers: int) -> None:
    columns = Columns("price", ("one", "other"), ("weight",), (("vector", 2),), 5, *[(0.5, 1.0, 2.0)] * 2, (0.0,), (1.0,))
    torch.manual_seed(0)
    model = RowModel(columns, answers, Model()).eval()
    torch.nn.init.normal_(model.answer.weight)
    words, values = torch.randint(1, 100, (4, 2, 5)), torch.randn(4, 3)
    expected = model(words, values)
    values[2] = torch.nan
    longer = torch.cat([words, torch.zeros(4, 2, 7, dtype=torch.long)], dim=2)
    outputs = model(longer, values)
    torch.testing.assert_close(outputs[[0, 1, 3]], expected[[0, 1, 3]])
    assert outputs[2].isfinite().all()
    assert not torch.allclose(outputs[2], expected[2])


def test_the_floor_is_the_error_of_rows_with_equal_inputs() -> None:
    drawn = np.random.default_rng(0)
    inputs = np.repeat(np.arange(60), 20)
    expected = np.exp(drawn.normal(0, 1, 60))[inputs]
    true = expected * np.exp(drawn.normal(0, 0.2, len(inputs)))
    found = repeated_errors(expected, true, inputs, is_ratio=True)
    assert found["repeated_rows"] == 1200
    # The floor is estimated from 19 other rows: at most a few per cent above the error of the true expectation.
    assert found["repeated"] < found["floor"] < 1.05 * found["repeated"]
    assert repeated_errors(expected, true, np.arange(len(true)), is_ratio=True) == {}


@pytest.mark.slow
def test_a_price_is_learned_and_shuffled_prices_are_not(prices: Path, trained: Path, tmp_path: Path) -> None:
    measures = json.loads((trained / "result.json").read_text())["measures"]
    assert measures["skill"] > 0.5
    assert measures["smape"] < 0.5 * measures["smape_constant"]
    control = learn(prices, "price", tmp_path / "control", *ENOUGH, "data.shuffle_labels=true").measures
    assert control["skill"] < 0.1


@pytest.mark.slow
def test_a_stopped_run_resumes_with_the_same_weights(prices: Path, tmp_path: Path) -> None:
    class Interrupted(tiny.Recorder):
        def update(self, done: int, details: str = "") -> None:
            if done == 11:
                raise UsageError("interrupted")

    learn(prices, "price", tmp_path / "whole", "steps=12")
    with pytest.raises(UsageError, match="interrupted"):
        learn(prices, "price", tmp_path / "run", "steps=12", progress=Interrupted())
    recorder = tiny.Recorder()
    learn(prices, "price", tmp_path / "run", "steps=12", progress=recorder)
    assert "resuming from step 10" in recorder.said
    whole, resumed = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run"))
    assert resumed == whole
    assert learn(prices, "price", tmp_path / "run", "steps=12").nothing_to_do
    with pytest.raises(UsageError, match="holds another run"):
        learn(prices, "weight", tmp_path / "run", "steps=12")


@pytest.mark.slow
def test_loading_processes_give_the_same_weights(prices: Path, tmp_path: Path) -> None:
    runs = [tmp_path / "own", tmp_path / "other"]
    recorder = tiny.Recorder()
    for workers, run in enumerate(runs):
        learn(prices, "price", run, "steps=4", f"machine.workers={workers}", progress=recorder)
    assert not [line for line in recorder.said if "loading processes failed" in line]
    assert runs[0].joinpath("model.safetensors").read_bytes() == runs[1].joinpath("model.safetensors").read_bytes()


@pytest.mark.slow
def test_predictions_do_not_depend_on_the_label_or_the_other_rows(prices: Path, trained: Path, tmp_path: Path) -> None:
    assert predict_table(trained, prices, tmp_path / "all.parquet") == 600
    everything = pq.read_table(tmp_path / "all.parquet")
    true = pc.read_csv(prices)
    predicted = np.array(everything["price"])
    assert np.median(np.abs(np.log(predicted / np.array(true["price"])))) < 0.4
    pc.write_csv(true.slice(7, 2).drop_columns(["price"]), tmp_path / "two.csv")
    predict_table(trained, tmp_path / "two.csv", tmp_path / "two.parquet")
    two = pq.read_table(tmp_path / "two.parquet")
    assert two.column_names == ["row", "brand", "title", "condition", "weight", "age", "price"]
    np.testing.assert_allclose(two["price"], predicted[7:9], rtol=1e-5)
    numeric = true.slice(0, 2).drop_columns(["brand", "age"]).append_column("brand", pa.array([501, None]))
    pq.write_table(numeric.append_column("age", pa.nulls(2)), tmp_path / "numeric.parquet")
    predict_table(trained, tmp_path / "numeric.parquet", tmp_path / "numbers.parquet")
    assert np.isfinite(pq.read_table(tmp_path / "numbers.parquet")["price"]).all()
    pc.write_csv(true.drop_columns(["brand"]), tmp_path / "less.csv")
    with pytest.raises(UsageError, match="has no column brand, which the model reads"):
        predict_table(trained, tmp_path / "less.csv", tmp_path / "less.parquet")


@pytest.mark.slow
def test_an_exported_model_returns_prices(prices: Path, trained: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    export_model(trained, "onnx", tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    columns = load_model(trained).view.columns
    assert columns is not None
    table = pc.read_csv(prices).slice(0, 50)
    (output,) = session.run(None, row_arrays(table, columns))
    predict_table(trained, prices, tmp_path / "all.parquet")
    np.testing.assert_allclose(output[:, 0], np.array(pq.read_table(tmp_path / "all.parquet")["price"])[:50], rtol=1e-4)
    about = json.loads(session.get_modelmeta().custom_metadata_map["posegen"])
    assert (about["output"], about["columns"]["texts"]) == ("price, in its unit", ["brand", "title", "condition"])


@pytest.mark.slow
def test_categories_are_learned(prices: Path, tmp_path: Path) -> None:
    measures = learn(prices, "condition", tmp_path / "run", "steps=2", task="attribute").measures
    assert measures["chance"] == 0.25
    pc.write_csv(
        pa.table({"text": [f"{word} number {i}" for i in range(80) for word in ("good", "bad")], "mood": ["+", "-"] * 80}),
        tmp_path / "moods.csv",
    )
    found = learn(tmp_path / "moods.csv", "mood", tmp_path / "moods", "steps=40", "optimiser.average=0.8")
    assert found.measures["balanced_accuracy"] == 1
    predict_table(tmp_path / "moods", tmp_path / "moods.csv", tmp_path / "out.parquet")
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["mood"] for row in rows[:2]] == ["+", "-"]
    assert all(0.5 < row["probability"] <= 1 for row in rows)


def test_few_rows_train_with_warnings(tmp_path: Path) -> None:
    path = write_table(tmp_path / "few.parquet", text=[f"word {i}" for i in range(12)], price=[float(i) for i in range(-4, 8)])
    recorder = tiny.Recorder()
    measures = learn(path, "price", tmp_path / "run", "steps=2", progress=recorder).measures
    assert measures["rows"] == 3
    assert "smape" not in measures
    warnings = [line for line in recorder.said if line.startswith("warning")]
    assert "6 train, 3 select the weights, and 3 test the model. One row is 33.3 %" in warnings[0]
    assert warnings[1] == "warning: batches of 6 instead of 32, since only 6 rows train"
    short = write_table(tmp_path / "two.parquet", text=["a", "b"], price=[1.0, 2.0])
    with pytest.raises(UsageError, match="has 2 groups of rows, and each of the three splits needs one"):
        learn(short, "price", tmp_path / "two")
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--task", "text"], "a table needs the column that is predicted. Name it with --label COLUMN"),
        (["--task", "motion", "--label", "price"], "a table of texts and numbers is no source of the task motion"),
        (["--task", "text", "--label", "price", "--set", "adapter.rank=4"], "a model of a table starts afresh"),
        (["--task", "text", "--label", "price", "--set", "machine.checkpointing=true"], "Remove machine.checkpointing"),
    ],
)
def test_the_command_reports_what_does_not_fit(
    prices: Path, arguments: list[str], reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(prices), *arguments]) == 2
    assert reported in capsys.readouterr().err


@pytest.mark.slow
def test_embedded_pairs_of_texts_are_read(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    words = ("red coat", "blue shirt", "green boots", "grey scarf")
    pairs = drawn.integers(len(words), size=(300, 2))
    columns = {name: [f"a {words[i]}" for i in pairs[:, j].tolist()] for j, name in enumerate(("one", "other"))}
    same = (pairs[:, 0] == pairs[:, 1]).tolist()
    # Rows would have few different inputs, and so few groups, without the number.
    pc.write_csv(pa.table({**columns, "id": drawn.normal(size=300), "same": same}), tmp_path / "pairs.csv")
    embed_texts(tmp_path / "pairs.csv", tmp_path / "pairs.parquet", "hashing-for-tests", cached=False)
    found = learn(tmp_path / "pairs.parquet", "same", tmp_path / "run", "steps=40", "optimiser.average=0.8")
    assert found.measures["balanced_accuracy"] == 1
    columns_read = load_model(tmp_path / "run").view.columns
    assert columns_read is not None
    assert columns_read.vectors == (("one_vector", 64), ("other_vector", 64))
    with pytest.raises(UsageError, match="has no column one_vector, other_vector, which the model reads"):
        predict_table(tmp_path / "run", tmp_path / "pairs.csv", tmp_path / "out.parquet")
    assert predict_table(tmp_path / "run", tmp_path / "pairs.parquet", tmp_path / "out.parquet") == 300


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6)), min_size=9, max_size=300), st.integers(0, 5))
def test_a_group_with_several_categories_is_in_one_split(rows: list[tuple[int, int]], seed: int) -> None:
    groups, categories = (np.array(each) for each in zip(*rows, strict=True))
    splits = split_groups(groups, seed, categories.astype(str))
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(groups)))
    assert sum(len(np.unique(groups[own])) for own in splits.values()) == len(np.unique(groups))


@given(st.lists(st.integers(0, 8), min_size=9, max_size=300), st.integers(0, 5))
def test_each_split_has_each_category(labels: list[int], seed: int) -> None:
    categories, groups = np.array(labels).astype(str), np.arange(len(labels))
    splits = split_groups(groups, seed, categories)
    names, counts = np.unique(categories, return_counts=True)
    for own in splits.values():
        assert set(names[counts >= 3].tolist()) <= set(categories[own].tolist())
    usual = split_groups(groups, seed)
    if all(set(categories[own].tolist()) == set(names.tolist()) for own in usual.values()):
        assert {split: own.tolist() for split, own in splits.items()} == {split: own.tolist() for split, own in usual.items()}


def test_chance_counts_the_categories_that_are_tested() -> None:
    view = View(0, 25, 1, (), answers=("a", "b", "c"), columns=Columns("y", ("text",)))
    tally = label_task("text", CATEGORY).tally(view)
    tally.add(torch.eye(3)[[0, 0, 0, 0]], {"target": torch.tensor([0.0, 0, 2, 2])})
    measures = tally.measures()
    assert (measures["balanced_accuracy"], measures["chance"]) == (0.5, 0.5)


@pytest.mark.slow
def test_categories_that_are_too_rare_to_test_are_reported(tmp_path: Path) -> None:
    kinds = ["often"] * 80 + ["rare"] * 3 + ["once"]
    path = write_table(tmp_path / "own.parquet", text=[f"{kind} {i}" for i, kind in enumerate(kinds)], kind=kinds)
    recorder = tiny.Recorder()
    result = learn(path, "kind", tmp_path / "run", "steps=10", progress=recorder)
    warnings = json.loads((tmp_path / "run" / "result.json").read_bytes())["warnings"]
    (warning,) = (each for each in warnings if "lacks" in each)
    assert warning in recorder.said
    assert "once" in warning
    assert "rare" not in warning.partition(",")[0]
    assert result.measures["chance"] in (1 / 2, 1 / 3)


def test_measures_of_equal_numbers_are_undefined() -> None:
    tally = label_task("text", NUMBER).tally(View(0, 25, 1, (), columns=Columns("y", ("text",))))
    tally.add(torch.ones(2, 1), {"target": torch.full((2,), 3.0), "inputs": torch.arange(2)})
    measures = tally.measures()
    assert np.isnan([measures["skill"], measures["r2"]]).all()
    assert measures["mae"] == 2
    warning = chance_warning(label_task("text", NUMBER), measures, 2)
    assert warning is not None
    assert "skill is undefined: the answers of all 2 tested are equal" in warning


@pytest.mark.slow
def test_undefined_measures_are_null_in_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_table(tmp_path / "own.parquet", text=["a b", "c d", "e f", "g h", "i j"], y=[1, 2, 3, 4, 5])
    run = str(tmp_path / "run")
    overrides = [part for each in (*FEW, "steps=4") for part in ("--set", each)]
    command = ["train", str(path), "--task", "text", "--label", "y", "--out", run, *overrides]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "skill undefined" in printed.out
    assert "r2 undefined" in printed.out
    assert "step 4: skill undefined on the validation split" in printed.err
    result = json.loads((tmp_path / "run" / "result.json").read_bytes())
    assert (result["measures"]["skill"], result["measures"]["r2"]) == (None, None)
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["nothing_to_do"], document["measures"]["skill"]) == (True, None)
    assert main(["runs", str(tmp_path)]) == 0

"""The report of a run shows its measures, curves, times and memory, and what they are worth."""

from __future__ import annotations

import re

import numpy as np
import pytest

from posegen.training.report import chance_warning, draw_curves, label_notes, validation_warning, write_report
from posegen.training.settings import learning_rate, load_settings
from posegen.training.task import find_task

NAMES = ["bow", "wave & nod", "walk"]
CONFUSION = [[3, 1, 0], [0, 0, 0], [0, 2, 8]]
RATE = {"far": 0.01, "threshold": 0.51234, "test_far": 0.012, "test_tar": 0.876, "hard_far": 0.25}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = tmp_path_factory.mktemp("run <b>")
    estimate = {"epoch_steps": 3, "sequences": 24, "parameters": 1000, "choosing_seconds": 9.0, "step_seconds": 0.2}
    record = {
        "data": {"name": "data"},
        "reasons": [],
        "settings": {"steps": 4},
        "estimate": {**estimate, "memory_bytes": 2 * 10**9},
        "rounds": [{"samples": 60, "first": 0}],
    }
    result = {
        "task": "action",
        "steps": 4,
        "best_step": 4,
        "seconds": 2.0,
        "measures": {"clip_top1": 11 / 14, "clips": 14.0},
        "losses": [(1, 4.0), (2, 3.0), (4, 1.0)],
        "checks": [{"step": 2.0, "clip_top1": 0.5, "loss": 2.0}, {"step": 4.0, "clip_top1": 1.0, "loss": 3.0}],
        "times": {"seconds": 0.25, "shares": {"data": 0.1, "forward": 0.5, "backward": 0.3, "optimiser": 0.1}},
        "memory": {"peak": 1_900_000_000, "gpu_peak": 4 * 10**9, "gpu_utilisation": 0.75},
        "warnings": ["warning: it <learned> nothing"],
        "conditions": {"precision": "32-true", "threads": 2},
        "table": {"names": NAMES, "confusion": CONFUSION, "rates": [RATE]},
    }
    write_report(run, record, result, "clip_top1")
    return (run / "report.html").read_text(encoding="utf-8")


def test_the_matrix_has_a_cell_for_each_prediction(page: str) -> None:
    cells = re.findall(r'<rect x="(\d+)" y="(\d+)"[^>]*fill-opacity="([\d.]+)"><title>([^<]*)</title>', page)
    assert cells == [
        ("140", "140", "0.79", "bow predicted as bow: 3 of 4"),
        ("156", "140", "0.36", "bow predicted as wave &amp; nod: 1 of 4"),
        # No clip shows waving, so there is no row.
        ("156", "156", "0.32", "walk predicted as wave &amp; nod: 2 of 10"),
        ("172", "156", "0.83", "walk predicted as walk: 8 of 10"),
    ]


def test_columns_are_named_and_those_of_classes_that_do_not_occur_are_left_out(page: str) -> None:
    names = re.findall(r'<text transform="translate\((\d+) [^>]*>([^<]*)</text>', page)
    assert names == [("152", "bow"), ("168", "wave &amp; nod"), ("184", "walk")]
    assert min(map(int, re.findall(r'font-size="(\d+)"', page))) >= 12


def test_the_most_frequent_confusion_comes_first(page: str) -> None:
    number = r'<td class="number">(\d+)'
    rows = re.findall(rf"<tr><td>(\w[^<]*)</td><td>([^<]*)</td>{number}</td>{number} %</td></tr>", page)
    assert rows == [("walk", "wave &amp; nod", "2", "20"), ("bow", "wave &amp; nod", "1", "25")]


def test_the_curve_passes_through_the_checks(page: str) -> None:
    curves = re.findall(r'<polyline points="([^"]*)"', page)
    measure, training, validation, rate = ([tuple(map(float, at.split(","))) for at in curve.split()] for curve in curves)
    # Half of the width and height, then the right end at the top.
    assert measure == [(320.0, 120.0), (588.0, 52.0)]
    assert (training[0], training[-1]) == ((186.0, 52.0), (588.0, 154.0))
    assert validation == [(320.0, 120.0), (588.0, 86.0)]
    assert [x for x, _ in rate] == [186.0, 320.0, 454.0, 588.0]
    assert "<b>" not in page


def test_times_epochs_and_memory_are_stated(page: str) -> None:
    rows = dict(re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", page))
    assert rows["epochs"] == "1.3 of 24 training sequences"
    assert rows["step"] == "250 ms, estimated 200 ms"
    assert rows["memory at most"] == "1.9 GB, estimated 2 GB"
    assert (rows["GPU memory at most"], rows["GPU utilised"]) == ("4 GB", "75 %")
    assert re.findall(r'<td>(\w[^<]*)</td><td class="number">(\d+) %</td>', page) == [
        ("waiting for data", "10"),
        ("forward", "50"),
        ("backward", "30"),
        ("optimiser", "10"),
    ]


def test_classes_have_their_true_and_predicted_counts(page: str) -> None:
    rows = re.findall(
        r'<td>(\w[^<]*)</td><td class="number">(\d+)</td><td><svg[^>]*>.*?</svg></td><td class="number">(\d+)</td>', page
    )
    assert rows == [("walk", "10", "8"), ("bow", "4", "3"), ("wave &amp; nod", "0", "3")]


def test_thresholds_have_their_rates_and_those_of_hard_pairs(page: str) -> None:
    assert "<th>false accepts of hard pairs</th>" in page
    assert "</td>".join(f'<td class="number">{value}' for value in ("1 %", "0.5123", "1.20 %", "87.6 %", "25.0 %")) in page


def test_warnings_and_conditions_are_shown_without_scripts(page: str) -> None:
    assert '<p class="warning">warning: it &lt;learned&gt; nothing</p>' in page
    assert "only under the same conditions:\nprecision 32-true, threads 2." in page
    assert """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""" in page


def test_negative_values_and_constants_are_drawn() -> None:
    (curve,) = draw_curves({"skill": [(5, -1.0), (10, 1.0)]})["curves"]
    assert [float(y) for _, y, _ in curve["points"]] == [188.0, 52.0]
    assert draw_curves({"zero": [(1, 0.0)]})["curves"][0]["points"][0][1] == "188.0"
    assert draw_curves({})["curves"] == []


def test_the_learning_rate_starts_again_in_each_round() -> None:
    settings = load_settings("quick", ["steps=100"])
    assert learning_rate(0, settings) < learning_rate(4, settings) > learning_rate(99, settings)


@pytest.mark.parametrize(
    ("task", "measures", "samples", "warns"),
    [
        ("action", {"clip_top1": 0.2, "commonest": 0.14}, 60, True),
        ("action", {"clip_top1": 0.2, "commonest": 0.14}, 600, False),
        ("retrieval", {"r3": 0.03, "chance_r3": 0.012}, 600, False),
        ("identity", {"auc": 0.52}, 600, True),
        ("attribute", {"agreement": 0.81, "agreement_constant": 0.80}, 10**6, True),
        ("attribute", {"agreement": 0.97, "agreement_constant": 0.80}, 50, False),
    ],
)
def test_results_within_chance_are_reported(task: str, measures: dict[str, float], samples: int, warns: bool) -> None:
    warning = chance_warning(find_task(task), measures, samples)
    assert (warning is not None) == warns


def test_motion_that_does_not_follow_its_text_is_reported() -> None:
    task = find_task("motion")
    warning = chance_warning(task, {"explained": 0.41, "explained_by_others": 0.40}, 600)
    assert warning is not None
    assert "follows its text little" in warning
    assert chance_warning(task, {"explained": 0.6, "explained_by_others": 0.4}, 600) is None


def test_a_small_validation_split_is_reported() -> None:
    assert validation_warning(100, "samples") is None
    assert "less than 16 %" in str(validation_warning(39, "clips"))


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (["1,5", "2,5", "3"] * 2, "look like numbers, such as 1,5"),
        (["2024-01-31", "2024-02-01"] * 2, "look like dates, such as 2024-01-31"),
        (["31.1.2024", "1.2.2024"] * 2, "look like dates"),
        (["a", "b", "c", "c"], "2 of the 3 categories of kind occur once"),
        (["no. 1,5", "b"] * 2, None),
    ],
)
def test_numbers_and_dates_as_texts_are_reported(labels: list[str], warned: str | None) -> None:
    categories, numbers = np.unique(labels, return_inverse=True)
    first, *others = label_notes("kind", numbers, categories.tolist(), None)
    assert first == f"kind: {len(categories)} categories"
    assert [warned in other for other in others] == [True] if warned else not others

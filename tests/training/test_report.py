"""The report of a run shows its measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from posegen.training.run_folder import write_report

NAMES = ["bow", "wave & nod", "walk"]
CONFUSION = [[3, 1, 0], [0, 0, 0], [0, 2, 8]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = tmp_path_factory.mktemp("run <b>")
    record = {"data": {"name": "data"}, "reasons": [], "settings": {"steps": 4}}
    result = {
        "task": "action",
        "steps": 4,
        "best_step": 4,
        "seconds": 2.0,
        "measures": {"clip_top1": 11 / 14, "clips": 14.0},
        "checks": [{"step": 2.0, "clip_top1": 0.5}, {"step": 4.0, "clip_top1": 1.0}],
        "conditions": {"precision": "32-true", "threads": 2},
        "table": {"names": NAMES, "confusion": CONFUSION},
    }
    return write_report(Path(run), record, result, "clip_top1").read_text(encoding="utf-8")


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
    rows = re.findall(r"<td>(\w[^<]*)</td><td>predicted as</td><td>([^<]*)</td>", page)
    assert rows == [("walk", "wave &amp; nod"), ("bow", "wave &amp; nod")]


def test_the_conditions_of_equal_weights_are_stated(page: str) -> None:
    assert "only under the same conditions:\nprecision 32-true, threads 2." in page


def test_scripts_and_foreign_content_are_refused_by_the_page(page: str) -> None:
    assert """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""" in page


def test_the_curve_passes_through_the_checks(page: str) -> None:
    (points,) = re.findall(r'<polyline points="([^"]*)"', page)
    (first, last) = (tuple(map(float, point.split(","))) for point in points.split())
    # Half of the width and height, then the right end at the top.
    assert first == (320.0, 120.0)
    assert last == (596.0, 44.0)
    assert "<b>" not in page

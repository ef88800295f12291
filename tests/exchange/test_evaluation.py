"""Exports are measured as the dataset that they were made of: `evaluate` finds no fault that the export has put in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.foundations.plugins import EXPORTS
from tests.exchange.datasets import short_clips

UNREADABLE = ("pyskl", "coco", "csv", "glb", "hf", "holosoma", "imu", "imu-parquet", "unimts", "strides")
"""Formats that hold other joints, or none, or that only other programs read; holosoma's archives state no frame rate."""


@pytest.mark.parametrize("name", [name for name in EXPORTS.names() if name not in UNREADABLE])
def test_no_export_is_judged_to_fail(
    name: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = short_clips(tmp_path_factory, 12)
    assert main(["export", str(dataset.path), "--to", name, "-o", str(tmp_path), "--variant", "base", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["refused"], found["clips"]) == ([], sum(len(dataset[i].joints[0]) for i in range(12)))
    assert [finding for finding in found["verdict"] if finding["passes"] is False] == []
    assert {finding["name"] for finding in found["verdict"] if finding["passes"]} >= {"depth under the floor, 95 % of clips"}

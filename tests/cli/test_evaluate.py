"""`posegen evaluate`: its output, and the references that it refuses."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.evaluation import evaluate as evaluation
from posegen.evaluation.evaluate import SAMPLES_PER_JOB
from posegen.evaluation.realism import Reference
from posegen.evaluation.recording import read_reference
from posegen.evaluation.text import draw_chart, judge
from posegen.foundations.progress import Progress
from tests.evaluation.figures import wandering
from tests.exchange.bvh_files import bvh_text
from tests.once import generated_once

FEW_VARIANTS = ["variants={speed: null, position: null, scale: null, mirror: false}"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated_once(tmp_path_factory, "evaluate", 4)


@pytest.fixture
def arrays() -> dict[str, Any]:
    """A reference of four clips of two subjects."""
    joints = np.concatenate([wandering(seed, 80) for seed in range(4)]).astype(np.float32)
    return {"joints": joints, "offsets": np.arange(0, 321, 80), "subjects": np.array(list("aabb")), "fps": np.float32(25)}


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["evaluate", *map(str, arguments), "--json", "--quiet"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_measures_of_a_dataset(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = evaluated(capsys, dataset)
    assert (document["samples"], document["clips"], document["realism"]) == (4, 20, None)
    assert document["measures"].keys() == document["meanings"].keys()
    assert document["measures"]["bone length"]["median"] < 1
    worst = document["measures"]["jerk"]["worst_clips"]
    assert len(worst) == 1
    assert worst[0][0].split()[2] in {"base", "speed", "position", "scale", "mirror"}
    fewer = evaluated(capsys, dataset, "--samples", 2)
    assert fewer["clips"] == 10


def test_distance_to_a_reference(
    dataset: Path, arrays: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "reference.npz", **arrays)
    realism = evaluated(capsys, dataset, "--reference", tmp_path / "reference.npz")["realism"]
    assert (realism["dataset"]["windows"], realism["split"]["windows"], realism["split"]["others"]) == (8, 4, 4)
    assert realism["dataset"]["fid_kinetic"] > realism["split"]["fid_kinetic"]
    itself = evaluated(capsys, dataset, "--reference", dataset)["realism"]["dataset"]
    assert itself["fid_kinetic"] == pytest.approx(0, abs=1e-6)
    assert itself["npss"] == pytest.approx(0, abs=1e-9)
    assert min(itself["inside"].values()) > 0.7


def test_variety_beside_that_of_a_reference(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = evaluated(capsys, dataset, "--reference", dataset)
    variety = document["realism"]["variety"]
    assert variety["generated"] == variety["reference"]
    family = next(iter(variety["generated"]["families"].values()))
    assert {"apart", "coverage", "asymmetry", "components", "jerk"} == set(family)
    assert document["uncaptioned"]["clips"] == 20
    assert main(["evaluate", str(dataset), "--reference", str(dataset), "--quiet", "--all"]) == 0
    _, _, tables = capsys.readouterr().out.partition("Distance of performances, cm (generated | reference)")
    assert "transitions near the standing pose" in tables
    assert max(map(len, tables.splitlines())) <= 80


def test_a_folder_of_bvh_files(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "captured"
    folder.mkdir()
    for name in ("07_01", "07_02", "08_01"):
        wave = [{"left_shoulder": (0.0, -40 * math.sin(frame / 9), 0.0)} for frame in range(200)]
        (folder / f"{name}.bvh").write_text(bvh_text(wave), encoding="utf-8")
    assert main(["evaluate", str(dataset), "--reference", str(folder), "--json", "--samples", "2"]) == 0
    printed = capsys.readouterr()
    assert "07_02.bvh: BVH, left_hip 'mixamorig:LeftUpLeg', left_shoulder 'mixamorig:LeftArm', centimetres, y up" in printed.err
    realism = json.loads(printed.out)["realism"]
    # 200 frames at 50 FPS are 100 at 25, two windows of 40 each; two persons.
    assert (realism["dataset"]["windows"], realism["split"]["windows"]) == (6, 4)
    (folder / "bad.bvh").write_text("HIERARCHY\nROOT\n", encoding="utf-8")
    assert main(["evaluate", str(dataset), "--reference", str(folder)]) == 2
    assert "bad.bvh, line 2" in capsys.readouterr().err


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    posegen.generate(posegen.load_config("smoke", FEW_VARIANTS), samples=2 * SAMPLES_PER_JOB + 6, workers=1, out=path)
    held: dict[int, int] = {}

    class Memory(Progress):
        def update(self, done: int, details: str = "") -> None:
            gc.collect()  # cycles that wait for the collector do not count
            held[done] = tracemalloc.get_traced_memory()[0]

    evaluation.evaluate(path, samples=2)  # imports modules and fills caches, which are held, too
    tracemalloc.start()
    evaluation.evaluate(path, progress=Memory(), workers=1)
    tracemalloc.stop()
    # The joints of a job's samples, as they are measured, are 5 MB.
    assert held[2 * SAMPLES_PER_JOB] - held[SAMPLES_PER_JOB] < 5e5


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    # Three jobs of short clips: comparing performances takes most of the time, and more than in proportion to their frames.
    config = posegen.load_config("smoke", ["population.persons=7", *FEW_VARIANTS, "frames=60"])
    posegen.generate(config, samples=2 * SAMPLES_PER_JOB + 6, workers=1, out=path)
    mocap = Reference("reference", list(read_reference(path))[:20])
    one, two = (evaluation.evaluate(path, mocap, workers=workers) for workers in (1, 2))
    assert one.clips == two.clips > 2 * SAMPLES_PER_JOB
    np.testing.assert_equal(dataclasses.asdict(one), dataclasses.asdict(two))


def test_table_and_figure(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["evaluate", str(dataset), "--samples", "1", "--all", "--figure", str(tmp_path / "a.png")]) == 0
    out = capsys.readouterr().out
    assert "1 sample, 5 clips" in out
    assert "Steady straight walking:" in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": np.array(["a"])}, "one subject for each of the 4 clips"),
        ({"fps": np.float32(60)}, "has 60 frames a second, the dataset 25"),
        ({"joints": np.full((320, 22, 3), np.nan)}, "holds too little"),
    ],
)
def test_invalid_references(
    change: dict[str, Any],
    message: str,
    dataset: Path,
    arrays: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "reference.npz"
    np.savez(path, **{name: array for name, array in (arrays | change).items() if array is not None})
    assert main(["evaluate", str(dataset), "--reference", str(path), "--samples", "1"]) == 2
    assert message in capsys.readouterr().err


def test_paths_that_are_not_references(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.npz").write_text("mine")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "captured").mkdir()
    for name, message in {"text.npz": "plain arrays", "cut.npz": "plain arrays", "none": "no such", "captured": ".bvh"}.items():
        assert main(["evaluate", str(dataset), "--reference", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err
    assert main(["evaluate", str(dataset), "--samples", "0"]) == 2
    assert main(["evaluate", str(dataset), "--figure", str(tmp_path / "a.txt")]) == 2


def test_the_verdict_comes_first_and_everything_on_request(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(dataset), "--quiet"]) == 0
    short = capsys.readouterr().out
    assert main(["evaluate", str(dataset), "--quiet", "--all"]) == 0
    whole = capsys.readouterr().out
    verdict = evaluated(capsys, dataset)["verdict"]
    assert len(short.splitlines()) < 20
    assert whole.startswith(short.partition("--all prints")[0])
    assert "Worst clips:" in whole
    assert "Worst clips:" not in short
    assert f"Verdict: all {len(verdict)} targets met" in short
    assert all(finding["name"] in short and finding["passes"] is not False for finding in verdict)
    assert max(map(len, short.replace(str(dataset), "dataset").splitlines())) <= 80


def test_a_fault_fails_the_verdict(dataset: Path) -> None:
    found = evaluation.evaluate(dataset)
    contacts = dataclasses.replace(found.measures["skate of contacts"], high=0.02)
    wrong = dataclasses.replace(found, measures=found.measures | {"skate of contacts": contacts})
    failed = [finding.name for finding in judge(wrong) if finding.passes is False]
    assert failed == ["foot contacts that slide, 95 % of clips"]


def test_clips_without_labels_have_no_verdict_on_what_labels_decide(dataset: Path) -> None:
    found = evaluation.evaluate(dataset)
    names = {
        "limits": "frames outside joint ranges",
        "flight": "error of the fall in flight",
        "overlap": "frames with overlapping",
    }
    wrong = {name: dataclasses.replace(found.measures[name], clips=9, high=0.3) for name in names}
    unlabelled = dataclasses.replace(found.measures["skate of contacts"], clips=0)
    findings = judge(dataclasses.replace(found, measures=found.measures | wrong | {"skate of contacts": unlabelled}))
    passes = {name: next(each.passes for each in findings if each.name.startswith(text)) for name, text in names.items()}
    assert passes == {"limits": None, "flight": None, "overlap": False}


def test_the_chart_has_bars_of_faults_and_bands(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    found = evaluation.evaluate(dataset, Reference("itself", read_reference(dataset)))
    for evaluated, panels in ((found, 2), (dataclasses.replace(found, reference=None, realism=None), 1)):
        draw_chart(evaluated, tmp_path / "chart.png")
        assert len(drawn[-1].axes) == panels
        for axes in drawn[-1].axes:
            assert axes.get_title()
            assert axes.get_xlabel().endswith("%")
            assert axes.patches

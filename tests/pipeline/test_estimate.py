"""Estimates of a pipeline: growth with the samples, invalid requests, and a real pilot run."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.cli.main import main
from posegen.pipeline.estimate import UNCERTAINTY, Cost, PipelineEstimate, TrainingMeasures, distinct_texts, feature_seconds

torch = pytest.importorskip("torch")

from posegen.training.estimate import Estimate  # noqa: E402
from posegen.training.settings import load_settings  # noqa: E402
from tests.pipeline.killed_runs import PRESET  # noqa: E402
from tests.training import tiny  # noqa: E402

pytestmark = pytest.mark.slow

SMALL = ["--config", "smoke", "--workers=1", "--repeats=1", "--samples=30"]
SETTINGS = ["--set", "frames=40", "--set", "store.shard=4", "--set", "store.chunk=2"]


@pytest.fixture
def trained() -> TrainingMeasures:
    """Return a run with 3 s of start-up, 0.36 s a step, 12 ms a tested clip, 20 ms a validation loss, 0.2 s a sample."""
    settings = load_settings("quick", ["steps=600", "batch=10", "checks.times=4", "checks.clips=70"])
    estimate = Estimate(1.5, 1.0, 0.36, 0.012, 0.02, 20, 1, 50, 40, 50, 1, 1, 1, 1)
    return TrainingMeasures(
        task="action",
        settings=settings,
        estimate=estimate,
        samples=100,
        variants=5,
        loss_clips=40,
        tests=1,
        features=(1.0, 0.2),
        seconds=3 + 20 * 0.36 + 0.012 * (50 + 50) + 0.02 * 40,
        feature_bytes=4000,
        run_bytes=2150,
    )


def test_distinct_texts_grow_as_a_power_of_the_samples() -> None:
    for power in (0.4, 0.75, 1.0):
        found = distinct_texts(round(1e6 * 50**power), round(1e6 * 100**power), 100, 6400)
        assert found == pytest.approx(1e6 * 6400**power, rel=1e-4)
    assert distinct_texts(7, 7, 100, 10**6) == 7
    assert distinct_texts(0, 5, 1, 10) == 50


def test_training_cost_is_the_sum_of_its_parts(trained: TrainingMeasures) -> None:
    for samples in (20, 100, 5000, 10**6):
        held_out = samples // 10 * 5
        checks, tested = 4 * min(70, held_out), min(10_000, held_out)
        expected = 3 + 600 * 0.36 + 0.012 * (checks + tested) + 4 * 0.02 * min(40, held_out) + 1 + 0.2 * samples
        cost = trained.cost(samples)
        assert cost.seconds == pytest.approx(expected)
        assert cost.bytes == pytest.approx(40 * samples + 3 * 700 + 50)
        assert (cost.low, cost.high) == pytest.approx((expected / (1 + UNCERTAINTY), expected * (1 + UNCERTAINTY)))
    again = replace(trained, settings=load_settings("quick", ["steps=20", "batch=10", "checks.times=1", "checks.clips=70"]))
    assert again.cost(100).seconds == pytest.approx(trained.seconds + 1 + 0.2 * 100)
    person = replace(trained, tests=2)  # thresholds are calibrated on the validation split
    assert person.cost(100).seconds - trained.cost(100).seconds == pytest.approx(0.012 * 50)


@given(st.integers(1, 4), st.lists(st.integers(1, 400), min_size=2, max_size=12), st.floats(0, 60), st.floats(1e-3, 1))
def test_what_features_take_once_is_not_counted_per_sample(threads: int, shards: list[int], once: float, each: float) -> None:
    """Threads that compute shards of one size in waves, after libraries were loaded."""
    waves, size = len(shards), shards[0]
    ends = [once + each * size * (wave + 1) for wave in range(waves) for _ in range(threads)]
    found_once, found_each = feature_seconds(ends, [size] * len(ends))
    if waves % 2 == 0:
        assert found_each == pytest.approx(each / threads)
        assert found_once == pytest.approx(once, abs=1e-9 + 1e-6 * ends[-1])
    assert found_once + found_each * size * len(ends) == pytest.approx(ends[-1])


def test_features_that_another_task_has_computed_cost_nothing() -> None:
    assert feature_seconds([], [40, 40]) == (0.0, 0.0)


def test_errors_of_stages_are_independent() -> None:
    total = PipelineEstimate(1, (Cost("a", 100, 70, 140, 5), Cost("b", 10, 6, 40, 7)), 1, 0).total
    assert (total.seconds, total.bytes) == (110, 12)
    assert (total.low, total.high) == pytest.approx((110 - math.hypot(30, 4), 110 + math.hypot(40, 30)))


def test_invalid_requests_are_refused_before_anything_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, reason in (
        (["--through", "embed", "--task", "action"], "none of its tasks uses captions"),
        (["--through", "animate", "--task", "action"], "none of its tasks generates motion"),
        (["--through", "train", "--task", "acton"], "there is no task 'acton'"),
        (["--through", "train", "--preset", "quik"], "unknown preset 'quik'"),
        (["--through", "sell"], "sell"),
    ):
        assert main(["profile", *SMALL, "--out", str(tmp_path / "new"), *options]) == 2
        error = capsys.readouterr().err
        assert reason in error
        assert "measuring" not in error
    quotas = ["profile", "--config", "quotas", "--through", "train", "--out", str(tmp_path / "new")]
    assert main(quotas) == 2
    assert "quotas" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_a_pilot_run_gives_estimates_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "disk").mkdir()
    preset = tmp_path / "small.yaml"
    preset.write_text(PRESET)
    options = ["--target", "60,120", "--through", "train", "--task", "action", "--preset", str(preset), "--budget", "1s"]
    out = ["--out", str(tmp_path / "disk" / "pipeline")]
    assert main(["profile", *SMALL, *SETTINGS, "--set", f"story.actions={tiny.ACTIONS}", *options, *out, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    small, large = document["pipelines"]
    assert (small["samples"], large["samples"], small["pilot_samples"]) == (60, 120, 120)
    for pipeline, target in zip(document["pipelines"], document["targets"], strict=True):
        generated, trained = pipeline["stages"]
        assert [generated["name"], trained["name"]] == ["generate", "train action"]
        assert [generated["seconds"], generated["bytes"]] == [target["seconds"], target["bytes"]]
        assert pipeline["seconds"] == pytest.approx(generated["seconds"] + trained["seconds"])
        assert pipeline["low"] < pipeline["seconds"] < pipeline["high"]
        assert pipeline["fits"] is False
    # Most of the growth is features: every 4th of 40 frames, 69 numbers and labels each, in 5 variants.
    grown = (large["stages"][1]["bytes"] - small["stages"][1]["bytes"]) / 60
    assert grown == pytest.approx(5 * 10 * (69 * 2 + 2), rel=0.3)
    assert [*(tmp_path / "disk").iterdir()] == []

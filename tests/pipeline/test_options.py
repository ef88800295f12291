"""Options of the trainings of a pipeline: presets, settings, encoder and budget."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import posegen
from posegen.cli.options import split_by_task
from posegen.embedding.models import DEFAULT, relative_cost
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.generation.profile.estimate import most_samples
from posegen.pipeline.estimate import Cost, PipelineEstimate, missing_encoder
from posegen.pipeline.stages import Request, list_stages, run_pipeline

pytest.importorskip("torch")


def request(tmp_path: Path, **changed: object) -> Request:
    config = posegen.load_config("smoke", samples=10, workers=1)
    return Request(config, tmp_path / "out", ("retrieval", "motion"), **changed)  # type: ignore[arg-type]


def test_presets_and_settings_belong_to_their_task(tmp_path: Path) -> None:
    chosen = request(tmp_path, preset="fast", presets={"motion": "balanced"}, overrides={"motion": ("steps=7",)})
    assert (chosen.settings_of("motion").steps, chosen.settings_of("motion").optimiser.average) == (7, 0.998)
    assert (chosen.settings_of("retrieval").steps, chosen.preset_of("retrieval")) == (1200, "fast")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"presets": {"text": "quick"}}, "--preset text: is for a task that is not trained"),
        ({"overrides": {"action": ("steps=7",)}}, "--set action: is for a task that is not trained"),
        ({"overrides": {"motion": ("stepz=7",)}}, "stepz"),
    ],
)
def test_wrong_options_are_refused_before_the_first_stage(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list_stages(request(tmp_path, **changed))


def test_values_of_the_config_are_not_taken_for_those_of_a_task() -> None:
    given = ["story.actions={walk: 50}", "motion:model.size=medium", "motion:steps=3"]
    assert split_by_task(given) == (given[:1], {"motion": ("model.size=medium", "steps=3")})


def test_nothing_begins_after_the_deadline(tmp_path: Path) -> None:
    with pytest.raises(PosegenError, match="generate: the budget is used up"):
        list(run_pipeline(request(tmp_path, deadline=time.monotonic()), Progress()))
    assert not (tmp_path / "out").exists()


def test_an_encoder_that_is_absent_is_estimated_from_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    assert missing_encoder(request(tmp_path, encoder=DEFAULT)) is None
    # 24 layers of 1,024 numbers beside 6 of 384.
    found = missing_encoder(request(tmp_path, encoder="BAAI/bge-large-en-v1.5"))
    assert found == pytest.approx((24 * 1024**2 / (6 * 384**2), 1024 / 384))
    assert relative_cost(DEFAULT) == (1, 1)
    with pytest.raises(UsageError, match="is not on this machine"):
        missing_encoder(request(tmp_path, encoder="someone/unknown-model"))


def test_samples_that_fit_are_counted_through_each_stage() -> None:
    def estimate(samples: int) -> PipelineEstimate:
        costs = (Cost("generate", samples, samples, samples, 3 * samples), Cost("embed", 100, 100, 100, samples))
        return PipelineEstimate(samples, costs, 10, 4000)

    def most(stages: int, budget: float) -> int:
        return most_samples(lambda samples: estimate(samples).through(stages).fits(budget), 10**9)

    assert (most(1, 500), most(2, 500)) == (500, 400)
    # The disk is full before the time is over.
    assert (most(1, 10**6), most(2, 10**6)) == (1333, 1000)
    assert most(2, 99) == 0

"""The stage as a whole: it learns, goes on after kills as if nothing had been, and says what it does."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from posegen.errors import UsageError
from posegen.training.hardware import Estimate, check_budget, count_micro_batches
from posegen.training.settings import load_settings, training_presets
from tests.once import made_once
from tests.running import Programs
from tests.training import tiny


@pytest.fixture(scope="module")
def told(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> tuple[Path, dict[str, Any]]:
    def make(folder: Path) -> None:
        programs.run(folder, "tests.training.sittings", shutil.copytree(dataset, folder / "dataset"), folder)

    folder = made_once(tmp_path_factory, "sittings", make)
    return folder, json.loads((folder / "told.json").read_text())


def test_it_learns_and_says_how_well(told: tuple[Path, dict[str, Any]]) -> None:
    whole = told[1]["whole"]
    assert whole["steps"] == 12
    assert whole["shown"] == list(range(1, 13))
    assert sum(whole["losses"][-3:]) < sum(whole["losses"][:3])
    assert 0 < whole["measures"]["frame_top1"] <= 1
    assert whole["reasons"]["accumulation"] == "2"
    assert [text for text in whole["said"] if text.startswith("step 6: clip_top1")]


def test_it_puts_back_the_threads_of_its_process(told: tuple[Path, dict[str, Any]]) -> None:
    found = told[1]
    assert {name: found[name]["threads"] for name in ("whole", "short", "refused")} == dict.fromkeys(
        ("whole", "short", "refused"), tiny.THREADS + 1
    )


def test_steps_are_those_of_a_naive_loop(told: tuple[Path, dict[str, Any]]) -> None:
    naive = told[1]["naive"]
    assert naive["clipped"] >= 3
    assert naive["moved"] > 0.01
    for what in ("weights", "average"):
        assert naive[what] < 2e-5, what


def test_killed_twice_it_ends_with_equal_weights(told: tuple[Path, dict[str, Any]]) -> None:
    folder, found = told
    assert [found[f"killed {i}"] for i in (0, 1)] == [{"signal": signal.SIGKILL}] * 2
    # Killed at step 3, before the first checkpoint; then at step 8, behind that of step 6 (a check, the best so far) or 5.
    first = found["killed"]["shown"][0]
    assert first in (6, 7)
    assert f"resuming from step {first - 1}" in found["killed"]["said"]
    whole, killed = (folder / run / "model.safetensors" for run in ("whole", "killed"))
    last = folder / "whole" / "checkpoints" / "00000012.safetensors"
    assert last.read_bytes() == (folder / "killed" / "checkpoints" / "00000012.safetensors").read_bytes()
    assert found["killed"]["measures"] == found["whole"]["measures"]
    assert whole.is_file()
    assert killed.is_file()


def test_a_finished_run_does_nothing_and_another_one_is_refused(told: tuple[Path, dict[str, Any]]) -> None:
    assert told[1]["again"]["nothing"] is True
    assert told[1]["again"]["shown"] == []
    assert "optimiser.rate was 0.002 and is 0.001" in told[1]["otherwise"]["error"]


def test_short_memory_halves_micro_batches_and_changes_nothing_else(told: tuple[Path, dict[str, Any]]) -> None:
    folder, found = told
    assert found["short choices"]["micro_batch"] == 2
    assert any("continuing with micro-batches of 2 clips" in text for text in found["short"]["said"])
    assert found["short"]["shown"] == list(range(1, 13))
    one, other = (load_file(folder / run / "model.safetensors") for run in ("whole", "short"))
    # Dropout draws for each micro-batch, so weights are near, not equal.
    assert all(torch.allclose(one[name].float(), other[name].float(), atol=0.05) for name in one)


def test_a_step_that_is_torn_is_made_anew_from_the_last_checkpoint(told: tuple[Path, dict[str, Any]]) -> None:
    folder, found = told
    # The checkpoint before is that of step 6 or 5; the step that was half done is not told of.
    shown = found["torn"]["shown"]
    assert shown[:7] == list(range(1, 8))
    assert shown[7:] in (list(range(6, 13)), list(range(7, 13)))
    one, other = (load_file(folder / run / "model.safetensors") for run in ("torn", "not torn"))
    assert all(torch.allclose(one[name].float(), other[name].float(), atol=1e-3) for name in one)


def test_processes_together_teach_what_one_alone_does(told: tuple[Path, dict[str, Any]]) -> None:
    """Each micro-batch has the clips and the draws that it has in one process; only sums are added up in another order."""
    folder, found = told
    assert found["two"] == {"signal": signal.SIGKILL}
    assert found["one, then two"]["shown"][-1] == found["two, then one"]["shown"][-1] == 12
    assert found["one, then two"]["shown"][0] in (6, 7)
    whole = load_file(folder / "whole" / "model.safetensors")
    for run in ("one", "two"):
        weights = load_file(folder / run / "model.safetensors")
        assert all(torch.allclose(whole[name].float(), weights[name].float(), atol=1e-3) for name in whole), run


def test_who_trains_along_with_a_killed_process_ends(told: tuple[Path, dict[str, Any]]) -> None:
    numbers = told[1]["children"]
    assert len(numbers) == 1
    assert not any(psutil.pid_exists(number) for number in numbers)


def test_a_grown_dataset_is_trained_on(told: tuple[Path, dict[str, Any]]) -> None:
    grown = told[1]["grown"]
    assert grown["steps"] == 24
    assert grown["shown"] == list(range(13, 25))
    assert any("had 60 samples and has 80" in text for text in grown["said"])


def test_it_ends_early_when_nothing_gets_better(told: tuple[Path, dict[str, Any]]) -> None:
    # Checks at steps 2, 4 and 6, all alike.
    assert told[1]["patient"]["steps"] == 6
    assert any("stopped early: no improvement in 2 checks since step 2" in text for text in told[1]["patient"]["said"])


def test_a_damaged_last_checkpoint_is_passed_over(told: tuple[Path, dict[str, Any]]) -> None:
    folder, found = told
    damaged = found["damaged"]
    assert damaged["last"] > 6
    assert any("using the checkpoint before" in text for text in damaged["said"])
    assert damaged["shown"] == list(range(damaged["shown"][0], 13))
    assert damaged["shown"][0] <= damaged["last"]
    whole, other = (folder / run / "checkpoints" / "00000012.safetensors" for run in ("whole", "damaged"))
    assert whole.read_bytes() == other.read_bytes()


def test_a_run_of_another_version_is_refused_in_words(told: tuple[Path, dict[str, Any]]) -> None:
    assert "missing or unknown: init" in told[1]["older"]["error"]
    assert "--out" in told[1]["older"]["error"]


def test_micro_batches_divide_a_batch() -> None:
    assert [count_micro_batches(32, micro) for micro in (64, 32, 16, 12, 5, 1)] == [1, 1, 2, 4, 8, 32]
    assert count_micro_batches(30, 8) == 5


def test_what_is_refused_leaves_nothing(told: tuple[Path, dict[str, Any]]) -> None:
    refused = told[1]["refused"]
    assert "the budget is" in refused["error"]
    assert refused["folder"] is False


def test_a_budget_is_refused_with_what_would_fit() -> None:
    found = Estimate(0.5, 1.0, 1000, 9, 100, 3200, 10)
    check_budget(found, 510, load_settings("quick"))
    with pytest.raises(UsageError, match="--set steps=180 would fit"):
        check_budget(found, 100, load_settings("quick"))


@pytest.mark.parametrize("preset", training_presets())
def test_presets_are_valid(preset: str) -> None:
    assert load_settings(preset).steps >= 600


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.size=huge", "model.size"),
        ("machine.precision=16-mixed", "machine.precision"),
        ("memory.limit=much", "amount of memory such as"),
        ("stepz=3", "steps"),
    ],
)
def test_what_cannot_be_is_told_by_its_key(override: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_settings("quick", [override])

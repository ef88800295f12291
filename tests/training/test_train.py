"""Training as a whole: it learns, resumes after kills with equal results, and reports what it does."""

from __future__ import annotations

import re
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from posegen.cli.main import main
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import Memory
from posegen.training import hardware
from posegen.training.estimate import Estimate, check_budget
from posegen.training.hardware import Choices, check_machine, choose_for_run, split_batch
from posegen.training.settings import Machine, load_settings, training_presets
from posegen.training.setup import Request, open_setup
from posegen.training.train import train
from tests.running import Programs, run_once
from tests.training import tiny

Reports = tuple[Path, dict[str, Any]]


def _reports(name: str, dataset: Path, factory: pytest.TempPathFactory, programs: Programs) -> Reports:
    def prepare(folder: Path) -> None:
        shutil.copytree(dataset, folder / "dataset")

    return run_once(factory, programs, f"{name}-runs", "tests.training.forked_runs", name, prepare=prepare)


@pytest.fixture(scope="module")
def quick(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> Reports:
    """Folder and reports of the runs that take a few seconds."""
    return _reports("quick", dataset, tmp_path_factory, programs)


@pytest.fixture(scope="module")
def slow(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> Reports:
    """Folder and reports of the other runs."""
    return _reports("slow", dataset, tmp_path_factory, programs)


@pytest.mark.slow
def test_training_lowers_the_loss_and_reports_measures(quick: Reports) -> None:
    whole = quick[1]["whole"]
    assert whole["steps"] == 12
    assert whole["shown"] == list(range(1, 13))
    assert sum(whole["losses"][-3:]) < sum(whole["losses"][:3])
    assert 0 < whole["measures"]["frame_top1"] <= 1
    assert whole["reasons"]["accumulation"] == "2"
    assert [text for text in whole["said"] if text.startswith("step 6: clip_top1")]


@pytest.mark.slow
def test_killed_twice_it_ends_with_equal_weights(quick: Reports) -> None:
    folder, reports = quick
    assert [reports[f"killed {i}"] for i in (0, 1)] == [{"signal": signal.SIGKILL}] * 2
    # Killed at step 3, before the first checkpoint; then at step 8, after the checkpoint of step 6 (the best check) or 5.
    first = reports["resumed"]["shown"][0]
    assert first in (6, 7)
    assert f"resuming from step {first - 1}" in reports["resumed"]["said"]
    last = folder / "whole" / "checkpoints" / "00000012.safetensors"
    assert last.read_bytes() == (folder / "killed" / "checkpoints" / "00000012.safetensors").read_bytes()
    assert reports["resumed"]["measures"] == reports["whole"]["measures"]
    assert all((folder / run / "model.safetensors").is_file() for run in ("whole", "killed"))


@pytest.mark.slow
def test_a_finished_run_does_nothing_and_other_settings_are_refused(quick: Reports) -> None:
    reports = quick[1]
    assert reports["again"]["nothing"] is True
    assert reports["again"]["shown"] == []
    assert "optimiser.rate was 0.002 and is 0.001" in reports["other settings"]["error"]


@pytest.mark.slow
def test_a_refused_run_leaves_no_folder(quick: Reports) -> None:
    refused = quick[1]["over budget"]
    assert "the budget is" in refused["error"]
    assert refused["folder"] is False


@pytest.mark.slow
def test_the_number_of_threads_is_restored(quick: Reports) -> None:
    names = ("whole", "resumed", "over budget")
    assert [quick[1][name]["threads"] for name in names] == [tiny.THREADS + 1] * 3


@pytest.mark.slow
def test_steps_are_those_of_a_naive_loop(slow: Reports) -> None:
    naive = slow[1]["naive"]
    assert naive["clipped"] >= 3
    assert naive["moved"] > 0.01
    for what in ("weights", "average"):
        assert naive[what] < 2e-5, what


@pytest.mark.slow
def test_out_of_memory_halves_micro_batches_and_repeats_from_the_last_checkpoint(slow: Reports) -> None:
    folder, reports = slow
    assert reports["short choices"]["micro_batch"] == 2
    assert any("continuing with micro-batches of 2 clips" in text for text in reports["short"]["said"])
    assert reports["short"]["threads"] == tiny.THREADS + 1
    # The last checkpoint is that of step 6 or 5; the failed step is not reported.
    shown = reports["short"]["shown"]
    assert shown[:7] == list(range(1, 8))
    assert shown[7:] in (list(range(6, 13)), list(range(7, 13)))
    one, other = (load_file(folder / run / "model.safetensors") for run in ("short", "no dropout"))
    assert all(torch.allclose(one[name].float(), other[name].float(), atol=1e-3) for name in one)


@pytest.mark.slow
def test_a_grown_dataset_is_trained_for_another_round(slow: Reports) -> None:
    grown = slow[1]["grown"]
    assert grown["steps"] == 24
    assert grown["shown"] == list(range(13, 25))
    assert any("had 60 samples and has 80" in text for text in grown["said"])


@pytest.mark.slow
def test_training_stops_early_without_improvement(slow: Reports) -> None:
    # The checks at steps 2, 4 and 6 are equal.
    patience = slow[1]["patience"]
    assert patience["steps"] == 6
    assert any("stopped early: no improvement in 2 checks since step 2" in text for text in patience["said"])


@pytest.mark.slow
def test_a_damaged_last_checkpoint_is_skipped(slow: Reports) -> None:
    folder, reports = slow
    damaged = reports["damaged"]
    assert damaged["last"] > 6
    assert any("using the checkpoint before" in text for text in damaged["said"])
    assert damaged["shown"] == list(range(damaged["shown"][0], 13))
    assert damaged["shown"][0] <= damaged["last"]
    whole, other = (folder / run / "checkpoints" / "00000012.safetensors" for run in ("whole", "damaged"))
    assert whole.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_a_run_of_another_version_is_refused(slow: Reports) -> None:
    error = slow[1]["other version"]["error"]
    assert "missing or unknown: init" in error
    assert "--out" in error


@pytest.mark.slow
def test_a_loss_that_is_no_number_ends_the_training_with_a_way_on(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diverging = ("optimiser.rate=1e6", "optimiser.clip=1e6", "optimiser.decay=1e6", "steps=40")
    settings = [part for setting in (*tiny.SETTINGS, *diverging) for part in ("--set", setting)]
    command = ["train", str(shutil.copytree(dataset, tmp_path / "data")), "--task", "action", "--preset", "quick", *settings]
    assert main([*command, "--out", str(tmp_path / "run"), "--quiet"]) == 1
    message = capsys.readouterr().err
    assert re.search(r"the loss is (nan|inf) at step \d+ with a learning rate of 1e\+06: training diverged", message)
    assert "Train into another folder with --out and a lower rate (--set optimiser.rate=1e+05)" in message
    assert "JSON" not in message
    settings = [part for setting in tiny.SETTINGS for part in ("--set", setting)]
    assert main([*command[:6], *settings, "--out", str(tmp_path / "other"), "--quiet"]) == 0


def test_micro_batches_divide_a_batch() -> None:
    assert [split_batch(32, micro) for micro in (64, 32, 16, 12, 5, 1)] == [1, 1, 2, 4, 8, 32]
    assert split_batch(30, 8) == 5


def test_choices_follow_from_the_machine_alone(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from durations, which other programs change, and with them the last bits of the weights."""
    settings = load_settings("quick", ["batch=16", "data.stride=4", "machine.checkpointing=true"])
    setup = open_setup(Request(str(dataset), "action", "quick", settings))
    setup.data.prepare(setup.task.recipes, lambda done, total: None)

    def chosen(cores: int, free: int, features: tuple[str, ...]) -> Choices:
        monkeypatch.setattr(hardware, "available_cores", lambda: cores)
        monkeypatch.setattr(hardware, "available_memory", lambda: Memory(10**12, free))
        monkeypatch.setattr(hardware, "get_host_cpu_features", lambda: dict.fromkeys(features, True))
        monkeypatch.setattr(hardware, "_trial_bytes", lambda *given: 10**6)
        return choose_for_run(setup)[0]

    assert chosen(2, 10**12, ()) == Choices("cpu", "32-true", 2, 16, 0, True)
    assert chosen(64, 10**7, ("amx-bf16",)) == Choices("cpu", "bf16-mixed", 16, 4, 0, True)
    monkeypatch.undo()
    assert 0 < hardware._trial_bytes(setup, "cpu", 1, "32-true") < 10**8


def test_a_budget_is_refused_with_the_number_of_steps_that_fit() -> None:
    estimate = Estimate(20.0, 5.0, 0.5, 0.25, 1000, 9, 4, 24, 100, 3200, 10, 10**9)
    assert estimate.seconds == 20 + 5 + 500 + 9 * 1 + 6
    check_budget(estimate, 540)
    with pytest.raises(UsageError, match="--set steps=120 would fit"):
        check_budget(estimate, 100)
    with pytest.raises(UsageError, match="Raise the budget"):
        check_budget(estimate, 40)


@pytest.mark.parametrize("preset", training_presets())
def test_presets_are_valid(preset: str) -> None:
    assert load_settings(preset).steps >= 600


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.size=huge", "model.size"),
        ("machine.precision=16-true", "machine.precision"),
        ("memory.limit=much", "amount of memory such as"),
        ("stepz=3", "steps"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_key(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_settings("quick", [override])


@pytest.mark.parametrize(
    ("device", "gpus", "precision", "problem"),
    [
        ("cuda", 0, None, "torch finds no GPU"),
        ("cpu", 1, "16-mixed", "needs a GPU"),
        (None, 0, "16-mixed", "needs a GPU"),
        ("cuda", 1, "16-mixed", None),
        (None, 1, "16-mixed", None),
        ("cpu", 0, "bf16-mixed", None),
    ],
)
def test_a_device_that_is_absent_or_lacks_the_precision_is_refused(
    device: Any, gpus: int, precision: Any, problem: str | None
) -> None:
    expected = nullcontext() if problem is None else pytest.raises(UsageError, match=problem)
    with expected:
        check_machine(Machine(device=device, precision=precision), gpus)


def test_an_absent_device_is_refused_before_the_data_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UsageError, match="torch finds no GPU"):
        train(Request(str(tmp_path / "missing"), "action", "gpu", load_settings("gpu")))

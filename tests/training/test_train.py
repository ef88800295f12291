"""Training as a whole: it learns, resumes after kills with equal results, and reports what it does."""

from __future__ import annotations

import re
import shutil
import signal
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from posegen.cli.main import main
from posegen.foundations.errors import UsageError
from posegen.training.estimate import Estimate, check_budget
from posegen.training.hardware import check_devices, choose_device, clearly_faster, loading_workers, split_batch
from posegen.training.settings import load_settings, training_presets
from posegen.training.setup import Request
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
def test_out_of_memory_halves_micro_batches_and_changes_nothing_else(slow: Reports) -> None:
    folder, reports = slow
    assert reports["short choices"]["micro_batch"] == 2
    assert any("continuing with micro-batches of 2 clips" in text for text in reports["short"]["said"])
    assert reports["short"]["shown"] == list(range(1, 13))
    assert reports["short"]["threads"] == tiny.THREADS + 1
    one, other = (load_file(folder / run / "model.safetensors") for run in ("whole", "short"))
    # Dropout draws for each micro-batch, so weights are close, not equal.
    assert all(torch.allclose(one[name].float(), other[name].float(), atol=0.05) for name in one)


@pytest.mark.slow
def test_a_failed_step_is_repeated_from_the_last_checkpoint(slow: Reports) -> None:
    folder, reports = slow
    # The last checkpoint is that of step 6 or 5; the failed step is not reported.
    shown = reports["short inside step"]["shown"]
    assert shown[:7] == list(range(1, 8))
    assert shown[7:] in (list(range(6, 13)), list(range(7, 13)))
    one, other = (load_file(folder / run / "model.safetensors") for run in ("short inside step", "no dropout"))
    assert all(torch.allclose(one[name].float(), other[name].float(), atol=1e-3) for name in one)


@pytest.mark.slow
def test_two_processes_train_as_one_does(slow: Reports) -> None:
    """Each micro-batch has the same clips and random numbers as in one process; only the order of sums differs."""
    folder, reports = slow
    assert reports["two"] == {"signal": signal.SIGKILL}
    assert reports["one, then two"]["shown"][-1] == reports["two, then one"]["shown"][-1] == 12
    assert reports["one, then two"]["shown"][0] in (6, 7)
    whole = load_file(folder / "whole" / "model.safetensors")
    for run in ("one", "two"):
        weights = load_file(folder / run / "model.safetensors")
        assert all(torch.allclose(whole[name].float(), weights[name].float(), atol=1e-3) for name in whole), run


@pytest.mark.slow
def test_processes_end_when_the_first_one_is_killed(slow: Reports) -> None:
    [(number, start)] = slow[1]["children"]
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(number)
        # Another process may have got the number since, and an ended one keeps it until the system's first process asks for it.
        assert found.create_time() != start or found.status() == psutil.STATUS_ZOMBIE


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
    assert [split_batch(32, 1, micro) for micro in (64, 32, 16, 12, 5, 1)] == [1, 1, 2, 4, 8, 32]
    assert split_batch(30, 1, 8) == 5


@pytest.mark.parametrize(
    ("gain", "chosen"), [(0.7, "32-true"), (0.9, "32-true"), (1.0, "32-true"), (1.3, "bf16-mixed"), (2.0, "bf16-mixed")]
)
def test_load_does_not_change_the_precision(gain: float, chosen: str) -> None:
    """The load of the machine varies by a factor of five from round to round, and the time of a step by 20 %."""
    noise, load, calls = np.random.default_rng(1), 1.0, 0

    def measure(precision: str) -> float:
        nonlocal load, calls
        if calls % 2 == 0:
            load = noise.uniform(1, 5)
        calls += 1
        return load * noise.uniform(1, 1.2) / (gain if precision == "bf16-mixed" else 1)

    assert {clearly_faster("32-true", "bf16-mixed", measure)[0] for _ in range(50)} == {chosen}


def test_one_slow_step_does_not_change_the_precision() -> None:
    seconds = iter([9.0, 9.0, *[1.0, 1.05] * 4, 50.0, 1.05, *[1.0, 1.05] * 4])
    chosen, medians = clearly_faster("32-true", "bf16-mixed", lambda precision: next(seconds))
    assert (chosen, medians) == ("32-true", {"32-true": 1.0, "bf16-mixed": 1.05})


def test_a_budget_is_refused_with_the_number_of_steps_that_fit() -> None:
    estimate = Estimate(20.0, 5.0, 0.5, 0.25, 0.125, 1000, 9, 2, 4, 24, 100, 3200, 10, 10**9)
    assert estimate.seconds == 20 + 5 + 500 + 9 * (0.5 + 0.5) + 6
    check_budget(estimate, 540)
    with pytest.raises(UsageError, match="--set steps=120 would fit"):
        check_budget(estimate, 100)
    with pytest.raises(UsageError, match="Raise the budget"):
        check_budget(estimate, 40)


@given(loading=st.floats(0.001, 10), cores=st.integers(1, 64), lanes=st.integers(1, 16))
def test_loading_processes_share_no_window(loading: float, cores: int, lanes: int) -> None:
    count = loading_workers(loading, 0.1, cores, lanes)[0]
    assert count <= cores
    if cores > 1 and loading >= 0.1:
        # Batch k has lane k % lanes and process k % count: no lane is read by two processes.
        assert len({(k % lanes, k % count) for k in range(lanes * count)}) == lanes
    more = loading_workers(2 * loading, 0.1, cores, lanes)[0]
    assert more >= count


def test_an_apple_gpu_is_used_on_request_only() -> None:
    device, why = choose_device(0, mps=True)
    assert device == "cpu"
    assert "machine.device=mps" in why
    assert choose_device(2, mps=True)[0] == "cuda"


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


def test_an_absent_device_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    settings = load_settings("gpu", ["machine.devices=64"])
    with pytest.raises(UsageError, match="64, but torch finds"):
        train(Request(str(tmp_path / "missing"), "action", "gpu", settings))


@pytest.mark.parametrize(
    ("device", "devices", "mps", "precision", "problem"),
    [
        ("mps", 1, False, None, "no Apple GPU"),
        ("mps", 2, True, None, "one such device"),
        ("cuda", 2, False, None, "torch finds 1 GPUs"),
        ("cpu", 1, False, "16-mixed", "needs a GPU"),
        ("mps", 1, True, "16-mixed", None),
        ("cuda", 1, False, "16-mixed", None),
        ("cpu", 2, False, "bf16-mixed", None),
    ],
)
def test_devices_that_are_absent_or_lack_the_precision_are_refused(
    device: str, devices: int, mps: bool, precision: str | None, problem: str | None
) -> None:
    expected = nullcontext() if problem is None else pytest.raises(UsageError, match=problem)
    with expected:
        check_devices(device, devices, 1, mps=mps, precision=precision)

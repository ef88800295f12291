"""Resources of a run: swapping, GPU use, and settings of torch that are restored."""

from __future__ import annotations

import time
from types import SimpleNamespace

import psutil
import pytest
import torch

from posegen.training.hardware import SwapMonitor, describe_gpu_use, is_out_of_memory, matrix_attention
from posegen.training.loop.timing import StepTimer
from posegen.training.train import restored_torch_settings

MB = 2**20


def set_swapped(monkeypatch: pytest.MonkeyPatch, *values: tuple[int, int]) -> None:
    """Let psutil report bytes read back from swap and written to it, one pair at a time."""
    remaining = (SimpleNamespace(sin=read, sout=written) for read, written in values)
    monkeypatch.setattr(psutil, "swap_memory", lambda: next(remaining))


def test_swapping_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    set_swapped(monkeypatch, (900 * MB, 900 * MB), (901 * MB, 2000 * MB), (1001 * MB, 2000 * MB), (3000 * MB, 3000 * MB))
    monitor = SwapMonitor()
    # Memory that is written once and never read back slows nothing down.
    assert monitor.warning(limit=None, micro_batch=8) is None
    warning = monitor.warning(limit=None, micro_batch=8)
    assert warning is not None
    assert "is swapping" in warning
    assert "machine.micro_batch=4" in warning
    assert monitor.warning(limit=None, micro_batch=8) is None


def test_the_hint_for_a_limited_run_is_a_lower_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    set_swapped(monkeypatch, (0, 0), (100 * MB, 5 * MB))
    warning = SwapMonitor().warning(limit="4GB", micro_batch=1)
    assert warning is not None
    assert "a lower --set memory.limit than 4GB" in warning


def test_an_idle_gpu_is_reported_with_a_hint() -> None:
    values, line = describe_gpu_use(0.25, 61 * 10**9, 122 * 10**9, 256)
    assert values == {"gpu/utilisation": 0.25, "gpu/memory": 0.5}
    assert "idle 75 % of the time" in line
    assert "--set batch=512" in line
    assert describe_gpu_use(0.93, 10**9, 4 * 10**9, 256)[1] == "GPU 93 % utilised, 1 GB of 4 GB used"
    assert describe_gpu_use(None, 10**9, 4 * 10**9, 256) == ({"gpu/memory": 0.25}, "GPU 1 GB of 4 GB used")


def test_phases_of_some_steps_wait_for_the_device() -> None:
    """A device that computes 20 ms of each forward pass beside the program."""
    timer, queued, waits = StepTimer(), [0.0], [0]

    def wait() -> None:
        time.sleep(queued[0])
        queued[0], waits[0] = 0.0, waits[0] + 1

    timer.wait = wait
    for _ in range(30):
        timer.end_phase("data")
        queued[0] = 0.02
        for phase in ("forward", "backward", "optimiser"):
            timer.end_phase(phase)
        queued[0] = 0.0
        timer.end_step()
    times = timer.times()
    assert times is not None
    assert times.shares["forward"] > 0.5
    assert waits[0] == 8, "four phases in two of thirty steps"
    assert times.seconds < 0.02, "the usual step does not wait"


def test_bursts_of_waiting_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fourth step waits 30 ms for data, and none of those that are split into phases; all compute 5 ms."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    timer = StepTimer()
    timer.wait = lambda: None
    for step in range(40):
        clock[0] += 0.03 * (step % 4 == 0)
        timer.end_phase("data")
        clock[0] += 0.005
        for phase in ("forward", "backward", "optimiser"):
            timer.end_phase(phase)
        timer.end_step()
    times, waiting = timer.times(), 0.03 * 9 / 37  # the first three steps do not count
    assert times is not None
    assert times.shares["data"] == pytest.approx(waiting / (waiting + 0.005))
    assert times.mean == pytest.approx(waiting + 0.005)
    assert times.seconds == pytest.approx(0.005), "the median does not show them"


def test_attention_is_restored() -> None:
    def is_flash() -> bool:
        return bool(torch.backends.cuda.flash_sdp_enabled())

    def inside(device: str) -> bool:
        with matrix_attention(device):
            return is_flash()

    before = is_flash()
    during = inside("cpu"), inside("cuda")
    with pytest.raises(KeyError), matrix_attention("cpu"):
        raise KeyError
    assert before
    assert during == (False, True)
    assert is_flash()


def test_threads_are_restored() -> None:
    before = torch.get_num_threads()
    with restored_torch_settings():
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA out of memory"), True),
        (RuntimeError("-- Process 0 terminated with the following error: ... MemoryError: limit"), True),
        (RuntimeError("shapes do not match"), False),
    ],
)
def test_out_of_memory_is_recognised(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected

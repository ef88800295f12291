"""Resources of a run: GPU use, and settings of torch that are restored."""

from __future__ import annotations

import time

import pytest
import torch

from posegen.training.hardware import describe_gpu_use, is_out_of_memory, matrix_attention
from posegen.training.loop import StepTimer


def test_an_idle_gpu_is_reported_with_a_hint() -> None:
    values, line = describe_gpu_use(0.25, 61 * 10**9, 122 * 10**9, 256)
    assert values == {"gpu/utilisation": 0.25, "gpu/memory": 0.5}
    assert "idle 75 % of the time" in line
    assert "--set batch=512" in line
    assert describe_gpu_use(0.93, 10**9, 4 * 10**9, 256)[1] == "GPU 93 % utilised, 1 GB of 4 GB used"
    assert describe_gpu_use(None, 10**9, 4 * 10**9, 256) == ({"gpu/memory": 0.25}, "GPU 1 GB of 4 GB used")


def test_bursts_of_waiting_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fourth step waits 30 ms for data; all compute 5 ms."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    timer = StepTimer()
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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA out of memory"), True),
        (RuntimeError("shapes do not match"), False),
    ],
)
def test_out_of_memory_is_recognised(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected

"""A machine that swaps is told of, once, with what helps."""

from __future__ import annotations

from collections.abc import Callable

from posegen.training.resources import SwapMonitor, swapped_bytes

MB = 2**20


def watching(*looks: tuple[int, int]) -> Callable[[], tuple[int, int]]:
    rest = iter(looks)
    return lambda: next(rest)


def test_what_is_read_back_between_two_looks_is_told_once() -> None:
    watch = SwapMonitor(watching((900 * MB, 900 * MB), (901 * MB, 2000 * MB), (1001 * MB, 2000 * MB), (3000 * MB, 3000 * MB)))
    # Written out once and never read back: that slows nothing down.
    assert watch.warning(limit=None, micro_batch=8) is None
    told = watch.warning(limit=None, micro_batch=8)
    assert told is not None
    assert "is swapping" in told
    assert "machine.micro_batch=4" in told
    assert watch.warning(limit=None, micro_batch=8) is None


def test_with_a_limit_a_lower_one_is_the_cure() -> None:
    told = SwapMonitor(watching((0, 0), (100 * MB, 5 * MB))).warning(limit="4GB", micro_batch=1)
    assert told is not None
    assert "a lower --set memory.limit than 4GB" in told


def test_what_the_machine_tells_never_falls() -> None:
    before, after = swapped_bytes(), swapped_bytes()
    assert after[0] >= before[0] >= 0
    assert after[1] >= before[1] >= 0

"""Cores, memory and disk: what the process may use, with and without limits of a container."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from posegen.machine import available_cores, available_memory, free_disk, process_memory

V1 = "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"
V2 = "memory.max", "memory.current", "memory.stat", "inactive_file"


def cgroup(folder: Path, version: tuple[str, str, str, str], limit: str, used: int, cache: int) -> Path:
    limit_file, used_file, statistics, name = version
    (folder / limit_file).parent.mkdir(exist_ok=True)
    (folder / limit_file).write_text(f"{limit}\n")
    (folder / used_file).write_text(f"{used}\n")
    (folder / statistics).write_text(f"anon 5\n{name} {cache}\n")
    return folder


def test_cores_are_those_of_the_machine_at_most() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("version", [V1, V2])
def test_memory_is_bounded_by_the_control_group(tmp_path: Path, version: tuple[str, str, str, str]) -> None:
    memory = available_memory(cgroup(tmp_path, version, "1000000", 400_000, 100_000))
    assert (memory.total, memory.free) == (1_000_000, 700_000)
    assert available_memory(cgroup(tmp_path, version, "1000000", 1_100_000, 0)).free == 0


@pytest.mark.parametrize(("version", "limit"), [(V2, "max"), (V1, str(2**63 - 4096))])
def test_memory_is_that_of_the_machine_without_a_limit(tmp_path: Path, version: tuple[str, str, str, str], limit: str) -> None:
    memory = available_memory(cgroup(tmp_path, version, limit, 1, 0))
    assert memory.total == psutil.virtual_memory().total
    assert 0 < memory.free <= memory.total


def test_memory_is_that_of_the_machine_without_control_groups(tmp_path: Path) -> None:
    assert available_memory(tmp_path).total == psutil.virtual_memory().total


def test_process_memory_and_disk_are_counted(tmp_path: Path) -> None:
    assert process_memory() > 1 << 20
    assert free_disk(tmp_path) > 0

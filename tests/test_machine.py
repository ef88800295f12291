"""Cores, memory and disk: what the process may use, with and without limits of a container."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import available_memory, private_folder


def cgroup(folder: Path, limit: str, used: int, cache: int) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cache}\n")
    return folder


def test_memory_is_bounded_by_the_control_group(tmp_path: Path) -> None:
    memory = available_memory(cgroup(tmp_path, "1000000", 400_000, 100_000))
    assert (memory.total, memory.free) == (1_000_000, 700_000)
    assert available_memory(cgroup(tmp_path, "1000000", 1_100_000, 0)).free == 0


def test_memory_is_bounded_by_the_groups_around_the_own_one(tmp_path: Path) -> None:
    own, root = tmp_path / "own", tmp_path / "cgroup"
    own.write_text("0::/user/job\n")
    cgroup(root / "user", "1000000", 400_000, 100_000)
    memory = available_memory(root, own)
    assert (memory.total, memory.free) == (1_000_000, 700_000)
    assert available_memory(root, tmp_path / "absent").total == psutil.virtual_memory().total


def test_memory_is_that_of_the_machine_without_a_limit(tmp_path: Path) -> None:
    memory = available_memory(cgroup(tmp_path, "max", 1, 0))
    assert memory.total == psutil.virtual_memory().total
    assert 0 < memory.free <= memory.total


def test_memory_that_is_held_for_a_moment_counts_as_the_peak() -> None:
    # In a process of its own: one that has freed much memory takes it from what it still holds.
    script = """
import psutil
from posegen.foundations.machine import PeakMemory, lifetime_peak, process_memory
size = lifetime_peak() - psutil.Process().memory_info().rss + 100_000_000
with PeakMemory() as memory:
    before = process_memory()
    len(bytearray(b"1") * size)
    print(memory.peak - before - size)
"""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    assert abs(int(done.stdout)) < 10_000_000


def test_a_private_folder_is_created_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "posegen" / "kernels"
    assert private_folder(folder, own=2) == folder.resolve()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700, 0o700]
    (folder / "file").touch(0o666)
    assert private_folder(folder, own=2) == folder.resolve()  # nobody else can reach the file


def test_a_private_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir(0o755)
    link.symlink_to(real)
    assert private_folder(link / "kernels", own=2) == (real / "kernels").resolve()


@pytest.mark.parametrize("changed", ["parent", "folder", "within", "file", "link"])
def test_a_folder_that_others_can_change_is_refused(tmp_path: Path, changed: str) -> None:
    parent, elsewhere = tmp_path / "posegen", tmp_path / "elsewhere"
    folder, within = parent / "kernels", parent / "kernels" / "motion"
    within.mkdir(parents=True)
    for path in (parent, folder, within):
        path.chmod(0o755)
    elsewhere.touch()
    files = {"parent": parent, "folder": folder, "within": within, "file": within / "index", "link": within / "link"}
    if changed == "link":
        folder.chmod(0o700)  # the link itself is refused, not its mode
        files[changed].symlink_to(elsewhere)
    else:
        files["file"].touch(0o644)
        private_folder(folder, own=2)
        files[changed].chmod(0o777)
    with pytest.raises(PosegenError, match="other users can change it") as caught:
        private_folder(folder, own=2)
    assert str(caught.value).startswith(f"{files[changed]}: ")
    assert str(caught.value).endswith(f"chmod go-w {parent}" if changed == "parent" else f"rm -r {folder}")


@pytest.mark.parametrize("own", [1, 2])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int) -> None:
    folder = tmp_path / "posegen" / "kernels"
    private_folder(folder, own=own)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(PosegenError, match=f"owner {tmp_path.stat().st_uid}, mode drwx------"):
        private_folder(folder, own=own)


def test_a_sticky_parent_is_accepted(tmp_path: Path) -> None:
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(0o1777)
    assert private_folder(parent / "own", own=2) == (parent / "own").resolve()

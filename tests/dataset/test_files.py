from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from posegen.dataset.files import read_file, remove_durably, write_all_durably, write_durably
from posegen.dataset.lock import LOCK_FILE, locked
from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.storage.folder import Folder, remove_temporary_files, temporary_run
from posegen.foundations.errors import PosegenError


@pytest.fixture(scope="module")
def dead() -> str:
    """The run of a process that has ended."""
    return subprocess.check_output([sys.executable, "-c", PRINT_RUN], input="", text=True).strip()


def leave_temporary(path: Path, run: str) -> Path:
    """Write a temporary file in a process that dies before it renames the file."""
    child = os.fork()
    if child == 0:
        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
        write_durably(path, b"half", run)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    (left,) = [file for file in path.parent.iterdir() if path.name in file.name and file != path]
    return left


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file.json"
    for data in (b"one", b"", b"two" * 1000):
        write_durably(path, data, "run")
        assert path.read_bytes() == data
        assert os.listdir(path.parent) == ["file.json"]


def test_a_failed_write_keeps_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_durably(path, b"old", "run")

    def fill_up(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(OSError, match="No space"):
        write_all_durably([(path, [b"ne", b"w"]), (tmp_path / "other", [b"new"])], "run")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_removed_if_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for _ in range(2):
        remove_durably(tmp_path / "a")
        assert os.listdir(tmp_path) == []


def test_only_the_temporary_files_of_ended_runs_are_removed(tmp_path: Path, dead: str) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / ".hidden.temporary").touch()
    kept = [leave_temporary(tmp_path / f"file{i}", run) for i, run in enumerate([current_run(), "not a run", "far_b_1_1"])]
    gone = [leave_temporary(tmp_path / "receipts" / "00001.json", dead), leave_temporary(tmp_path / "file9", dead)]
    assert all(temporary_run(path.name) for path in kept + gone)
    remove_temporary_files(tmp_path)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)
    assert (tmp_path / ".hidden.temporary").exists()
    remove_temporary_files(tmp_path, current_run())
    assert [path.exists() for path in kept] == [False, True, True]


def test_links_are_not_followed_when_removing_temporary_files(tmp_path: Path, dead: str) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    left = leave_temporary(outside / "file", dead)
    (inside / "link").symlink_to(outside)
    remove_temporary_files(inside)
    assert left.exists()


def test_a_run_has_ended_if_its_machine_restarted_or_its_process_is_gone(dead: str) -> None:
    assert has_ended(dead)
    host, boot, process, start = current_run().split("_")
    assert not has_ended(current_run())
    assert has_ended(f"{host}_0ther-boot_{process}_{start}")
    assert has_ended(f"{host}_{boot}_{process}_{int(start) + 100_000}")
    assert not has_ended(f"other-{host}_{boot}_{process}_{int(start) + 100_000}")
    assert not has_ended("anything else")


PRINT_RUN = "from posegen.dataset.runs import current_run; print(current_run(), flush=True); import sys; sys.stdin.read()"


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", PRINT_RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdin
        run = child.stdout.readline().strip()
        assert not has_ended(run)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(run)


def test_reading_refuses_links_pipes_and_large_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert read_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(PosegenError, match="larger"):
        read_file(tmp_path / "file", 4)
    for name in ("link", "pipe", "folder"):
        with pytest.raises(PosegenError, match="plain files"):
            read_file(tmp_path / name, 5)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nothing", 5)


HOLD = """
import sys
from pathlib import Path
from posegen.dataset.lock import locked
with locked(Path(sys.argv[1]), "their-run"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_holds_the_lock_until_it_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(PosegenError, match=rf"written by process {holder.pid} \(run their-run\)"), locked(tmp_path, "mine"):
            pass
        holder.kill()
        holder.wait()
    assert (tmp_path / LOCK_FILE).exists()  # a killed process cannot remove it
    with locked(tmp_path, "mine"):
        assert b"mine" in (tmp_path / LOCK_FILE).read_bytes()
        with pytest.raises(PosegenError, match="Wait until it has ended"), locked(tmp_path, "also mine"):
            pass
    assert os.listdir(tmp_path) == []
    with locked(tmp_path, "mine"):
        pass


@pytest.mark.parametrize("kind", ["hard link", "link", "pipe", "folder"])
def test_only_a_plain_file_with_one_name_is_used_as_the_lock(kind: str, tmp_path: Path) -> None:
    """Another name of a file would be emptied."""
    (tmp_path / "dataset").mkdir()
    target, lock = tmp_path / "target", tmp_path / "dataset" / LOCK_FILE
    target.write_bytes(b"keep")
    if kind == "hard link":
        lock.hardlink_to(target)
    elif kind == "link":
        lock.symlink_to(target)
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(PosegenError, match=r"\.lock: .*Remove it"), locked(tmp_path / "dataset", "mine"):
        pass
    assert target.read_bytes() == b"keep"
    assert os.path.lexists(lock)


ANOTHER_NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


def test_only_a_run_of_the_same_boot_and_namespace_ends_with_its_process() -> None:
    host, boot, _, start = current_run().split("_")
    restart, _, namespace = boot.partition("-")
    gone = f"{2**22}_{start}"  # above the largest number of a process
    assert has_ended(f"{host}_{restart}-{namespace}_{gone}")
    assert has_ended(f"{host}_0ther-{namespace}_{gone}")
    assert has_ended(f"{host}_0ther-1{namespace}_{gone}")
    assert not has_ended(f"{host}_{restart}-1{namespace}_{gone}")
    assert not has_ended(f"{host}_{restart}-unknown_{gone}")


@pytest.mark.parametrize("own_proc", [True, False])
def test_a_run_in_another_namespace_counts_as_running(own_proc: bool, tmp_path: Path) -> None:
    command = [*ANOTHER_NAMESPACE, *(["--mount-proc"] if own_proc else []), sys.executable, "-c"]
    if subprocess.run([*command, ""], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not permit process namespaces")
    with subprocess.Popen([*command, PRINT_RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        run = child.stdout.readline().strip()
        left = tmp_path / f".00003.json~{run}~7.temporary"
        left.touch()
        assert not has_ended(run)
        remove_temporary_files(tmp_path)
        assert left.exists()
    ask = f"from posegen.dataset.runs import *; print(has_ended({current_run()!r}), has_ended(current_run()))"
    assert subprocess.run([*command, ask], capture_output=True, text=True, check=True).stdout == "False False\n"


def test_a_file_that_goes_while_a_folder_is_listed_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").write_bytes(b"12")
    (tmp_path / "temporary").write_bytes(b"")

    def is_file(path: Path) -> bool:
        """Look at a file, after which another run renames the temporary one."""
        found = os.path.isfile(path)
        if path.name == "temporary":
            path.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", is_file)
    assert {name: entry.size for name, entry in Folder(tmp_path).list().items()} == {"kept": 2}

"""The end of a run is proved by another boot, or by a missing process of the same process namespace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.storage.folder import remove_temporary_files

PRINT_RUN = "from posegen.dataset.runs import current_run; print(current_run(), flush=True); import sys; sys.stdin.read()"
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
        assert remove_temporary_files(tmp_path) == []
        assert left.exists()
    ask = f"from posegen.dataset.runs import *; print(has_ended({current_run()!r}), has_ended(current_run()))"
    assert subprocess.run([*command, ask], capture_output=True, text=True, check=True).stdout == "False False\n"

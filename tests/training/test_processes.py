"""Training by torchrun: two machines, each with its own disk, give the weights that two devices of one machine give."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.measure import kill_family, posegen
from posegen.training.cluster import Member, member
from tests.training.tiny import SETTINGS

STEPS = 60


def arguments(*overrides: str) -> list[str]:
    given = [word for key in (*SETTINGS, f"steps={STEPS}", "checks.times=4", *overrides) for word in ("--set", key)]
    return ["train", "data", "--task", "action", "--out", "run", "--quiet", *given]


def start(folder: Path, rank: int, port: int, *overrides: str) -> subprocess.Popen[str]:
    torchrun = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(rank),
        "--master-addr", "127.0.0.1", "--master-port", str(port),
    ]  # fmt: skip
    command = [*torchrun, *posegen(*arguments(*overrides))[1:]]
    return subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_the_place_of_a_process_is_that_of_torchrun() -> None:
    started = {"TORCHELASTIC_RUN_ID": "none", "RANK": "5", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
    assert member(started) == Member(rank=5, processes=8, local=4)
    assert member({**started, "WORLD_SIZE": "1"}) is None
    assert member({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}) is None, "another launcher's variables"


@pytest.mark.slow
def test_two_machines_train_as_two_devices_do_also_after_a_kill(dataset: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second", "alone")]
    for folder in folders:
        shutil.copytree(dataset, folder / "data")
    subprocess.run(posegen(*arguments("machine.devices=2")), cwd=folders[2], check=True)
    port = free_port()
    killed = [start(folder, rank, port) for rank, folder in enumerate(folders[:2])]
    while not list((folders[0] / "run").glob("checkpoints/*.safetensors")):
        assert killed[0].poll() is None, killed[0].communicate()[0]
        time.sleep(0.05)
    for process in killed:
        kill_family(process)
        process.communicate()
    assert not (folders[0] / "run" / "result.json").exists(), "it was killed too late"
    port = free_port()
    runs = [start(folder, rank, port) for rank, folder in enumerate(folders[:2])]
    said = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    together, alone = ((folder / "run" / "model.safetensors").read_bytes() for folder in (folders[0], folders[2]))
    assert together == alone
    assert not (folders[1] / "run").exists(), "only the first process writes"


@pytest.mark.slow
def test_another_number_of_devices_than_processes_is_refused(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(dataset)
    port = free_port()
    runs = [start(tmp_path, rank, port, "machine.devices=3") for rank in (0, 1)]
    said = [run.communicate(timeout=120)[0] for run in runs]
    assert [run.returncode for run in runs] == [1, 1], "the exit code of torchrun"
    assert "machine.devices is 3, but torchrun started 2 processes: leave the setting out" in said[0]

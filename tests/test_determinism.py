"""Samples do not depend on the processor, on how kernels are compiled, or on other packages in the process."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.config.load import load_config
from posegen.synthesis.synthesize import synthesize
from tests.golden import golden
from tests.masking import machine_arithmetic, masked_environment

ROOT = Path(__file__).parent.parent


def hashes_in(environment: Mapping[str, str], *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.golden", *options]
    finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def assert_golden(found: dict[str, Any]) -> None:
    expected = golden()
    assert found["content_version"] == expected["content_version"], "rewrite tests/golden.json: python -m tests.golden --write"
    changed = [name for name, value in expected["samples"].items() if found["samples"].get(name) != value]
    assert not changed, f"{changed} changed. If this is intended, raise CONTENT_VERSION and run: python -m tests.golden --write"
    assert found["samples"].keys() == expected["samples"].keys()


def test_samples_equal_the_golden_hashes() -> None:
    assert_golden(hashes_in(os.environ))


@pytest.mark.slow
def test_tables_of_the_library_do_not_depend_on_the_order_of_sets() -> None:
    """Strategies of climbing took turns or not by the order of a set, which was another one in one process of eight."""
    program = (
        "import pickle, hashlib; from posegen.library.load import load_library; "
        "from posegen.motion.library_tables import library_tables, strategy_tables; library = load_library(); "
        "print(hashlib.sha256(pickle.dumps((library_tables(library), strategy_tables(library)))).hexdigest())"
    )
    found = set()
    for seed in ("0", "1", "2"):  # with 1, the words near and far are in the order in which they came into the set
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        finished = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        found.add(finished.stdout)
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="masking is implemented for x86 only")
def test_samples_do_not_depend_on_the_processor() -> None:
    found = hashes_in(masked_environment())
    machine = machine_arithmetic()
    assert found["machine"]["sine"] != machine["sine"], "masking had no effect"
    assert_golden(found)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_samples_do_not_depend_on_torch_in_the_process() -> None:
    assert_golden(hashes_in(os.environ, "--torch"))


@pytest.mark.slow
def test_samples_stay_in_bounds() -> None:
    """Compiled code does not check the bounds of arrays by default. `.ci/run` uses these kernels in more tests."""
    environment = {"NUMBA_BOUNDSCHECK": "1", "POSEGEN_KERNEL_CACHE": str(ROOT / ".cache" / "kernels-checked")}
    assert_golden(hashes_in(os.environ | environment))


@pytest.mark.slow
def test_values_do_not_depend_on_linking_of_kernels(tmp_path: Path) -> None:
    """Plain numba, as with a version that posegen/foundations/kernel_linking.py was not tested with, computes the same.

    One kernel with others inside stands for all: plain numba takes minutes for those of motion.
    """
    np.save(tmp_path / "joints.npy", synthesize(load_config("default"), range(2)).joints[:, 0, 0])
    program = (
        "import sys, hashlib, numpy as np; from posegen.fields.rotation import joint_rotations; "
        "from posegen.foundations.kernels import is_linked; joints = np.load(sys.argv[1]); "
        "offsets = np.abs(joints[:, 0]); local, pelvis = joint_rotations(joints, offsets); "
        "print(is_linked(), hashlib.sha256(local.tobytes() + pelvis.tobytes()).hexdigest())"
    )

    def printed(**environment: str) -> list[str]:
        settings = os.environ | {"POSEGEN_KERNEL_CACHE": str(tmp_path / "kernels")} | environment
        command = [sys.executable, "-c", program, str(tmp_path / "joints.npy")]
        finished = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.split()

    linked, plain = printed(), printed(POSEGEN_PLAIN_KERNELS="1")
    assert (linked[0], plain[0]) == ("True", "False")
    assert linked[1] == plain[1]

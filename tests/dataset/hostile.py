"""Datasets whose every hash fits, and which are meant to do harm: what a sound one becomes in the hands of a forger."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from posegen.dataset.descriptions import descriptions
from posegen.dataset.documents import Source
from posegen.dataset.headers import header_bytes
from posegen.dataset.layout import Header
from posegen.dataset.receipts import Receipt, StoredFile
from posegen.hashing import byte_hash

ROOM = 1 << 30
"""Bytes of address space that reading may take beside what the interpreter and its libraries take."""


def forge_receipt(dataset: Path, shard: int, files: Mapping[str, StoredFile] = {}, **changes: object) -> None:
    """Have the receipt of a shard tell of other files, or of something else."""
    name = dataset / f"receipts/{shard:05}.json"
    receipt = Receipt.from_bytes(name.read_bytes(), Source("receipt", ""))
    told = dataclasses.replace(receipt, files={**receipt.files, **files}, **changes)  # type: ignore[arg-type]
    name.write_bytes(told.to_bytes())


def forge_file(dataset: Path, shard: int, name: str, data: bytes) -> None:
    """Put other bytes in the place of a shard's file, and have the receipt tell of them."""
    (dataset / name).write_bytes(data)
    forge_receipt(dataset, shard, {name: StoredFile(len(data), byte_hash([data]))})


def forge_header(dataset: Path, header: Header) -> None:
    """Make another header that of the dataset, in every file that tells of it."""
    (dataset / "dataset.json").write_bytes(header_bytes(header))
    for name, data in descriptions(header).items():
        (dataset / name).parent.mkdir(exist_ok=True)
        (dataset / name).write_bytes(data)


def in_little_memory(code: str, dataset: Path) -> str:
    """Run code over `dataset` in a process that may take little memory; give what it prints, or fail with its traceback."""
    whole = f"""
import resource, sys
import numpy, numba, psutil, pyarrow.parquet, zarr
from pathlib import Path
import posegen
from posegen.errors import PosegenError
from posegen.dataset.compare import compare
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import verify
dataset = Path(sys.argv[1])
taken = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (taken + {ROOM}, taken + {ROOM}))
{code}
"""
    run = subprocess.run([sys.executable, "-c", whole, str(dataset)], capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout

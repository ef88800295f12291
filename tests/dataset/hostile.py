"""Datasets whose hashes all match but which are meant to do harm, made from intact ones."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from posegen.dataset.documents import Origin, read_sealed, seal
from posegen.dataset.header import header_metadata
from posegen.dataset.layout import Header
from posegen.dataset.receipts import Receipt, StoredFile
from posegen.foundations.hashing import byte_hash

EXTRA_BYTES = 1 << 30
"""Address space that reading may take besides that of the interpreter and its libraries."""


def forge_receipt(dataset: Path, shard: int, files: Mapping[str, StoredFile] = {}, **changes: object) -> None:
    """Change files or other entries of a shard's receipt."""
    path = dataset / f"receipts/{shard:05}.json"
    receipt = read_sealed(Receipt, path.read_bytes(), Origin("receipt", ""))
    forged = dataclasses.replace(receipt, files={**receipt.files, **files}, **changes)  # type: ignore[arg-type]
    path.write_bytes(seal(forged))


def forge_file(dataset: Path, shard: int, name: str, data: bytes) -> None:
    """Replace a shard's file, and its hash in the receipt."""
    (dataset / name).write_bytes(data)
    forge_receipt(dataset, shard, {name: StoredFile(len(data), byte_hash([data]))})


def forge_header(dataset: Path, header: Header) -> None:
    """Replace the header of a dataset, and all files that are a function of it."""
    (dataset / "dataset.json").write_bytes(header.to_bytes())
    for name, data in header_metadata(header).items():
        (dataset / name).parent.mkdir(exist_ok=True)
        (dataset / name).write_bytes(data)


def run_in_little_memory(code: str, dataset: Path) -> str:
    """Run code on `dataset` in a process with limited memory. Return its output; fail with its traceback."""
    script = f"""
import resource, sys
import numpy, numba, psutil, pyarrow.parquet, zarr
from pathlib import Path
import posegen
from posegen.foundations.errors import PosegenError
from posegen.dataset.compare import compare
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import verify
dataset = Path(sys.argv[1])
taken = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (taken + {EXTRA_BYTES}, taken + {EXTRA_BYTES}))
{code}
"""
    run = subprocess.run([sys.executable, "-c", script, str(dataset)], capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout

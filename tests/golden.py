"""What samples hash to: the same on every machine, until the content version changes.

``python -m tests.golden`` prints the hashes as JSON, ``--write`` keeps them in ``golden.json`` beside this file, and
``--torch`` imports torch before anything is made.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xxhash

from posegen.config.load import load_config
from posegen.config.schema import CONTENT_VERSION
from posegen.fields.field import Sequences, compute_fields
from posegen.foundations.hashing import canonical
from posegen.foundations.plugins import FIELDS
from posegen.library.load import load_library
from posegen.synthesis.synthesize import Batch, synthesize
from tests.masking import machine_arithmetic

GOLDEN = Path(__file__).with_name("golden.json")

CASES: dict[str, tuple[str, list[str], list[int]]] = {
    "default": ("default", [], [0, 1, 2, 3, 4, 5]),
    "crowd": ("crowd", [], [0, 1, 2, 3, 4, 5]),
    "short clips": ("smoke", ["fps=60", "length.min=30", "length.max=90"], [0, 3, 7]),
    "large numbers": ("smoke", ["seed=9007199254740993"], [0, 2**32 + 5, 2**40]),
}
"""Preset, changes to it, and samples."""


def golden() -> dict[str, Any]:
    """Read the hashes that are kept."""
    kept: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return kept


def batch_hash(batch: Batch) -> str:
    """Hash all that a batch holds."""
    digest = xxhash.xxh3_128()
    for values in (batch.samples, batch.joints, batch.action, batch.contact):
        digest.update(f"{values.dtype.str}{values.shape}".encode())
        digest.update(canonical(values).tobytes())
    digest.update(json.dumps(batch.rows, sort_keys=True).encode())
    return digest.hexdigest()


def fields_hash(preset: str, samples: Sequence[int]) -> str:
    """Hash all fields beside the motion that samples have."""
    config = load_config(preset)
    batch, library = synthesize(config, samples), load_library(config.story.library)
    held = Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
    digest = xxhash.xxh3_128()
    for name, values in compute_fields(held, FIELDS.names()).items():
        digest.update(f"{name}{values.dtype.str}{values.shape}".encode())
        digest.update(canonical(values).tobytes())
    return digest.hexdigest()


def compute() -> dict[str, Any]:
    """Make the samples of every case and hash them."""
    hashes = {
        name: batch_hash(synthesize(load_config(preset, overrides), samples))
        for name, (preset, overrides, samples) in CASES.items()
    }
    hashes["fields of the crowd"] = fields_hash("crowd", [0, 1, 2])
    return {"content_version": CONTENT_VERSION, "samples": hashes}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args(arguments)
    if options.torch:
        import torch

        # torch changes how this process rounds very small numbers, on some versions as soon as it computes.
        torch.ones(8, 8) @ torch.ones(8, 8)
    found = compute()
    if options.write:
        GOLDEN.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({**found, "machine": machine_arithmetic()}))


if __name__ == "__main__":
    main()

"""Measure all choices and write `benchmarks/results/packing.md` and `.json`."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.packing import measured, written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="folder on the disk to measure; default: that of temporary files")
    parser.add_argument("--json", action="store_true", help="print only, write no files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measured.measure(Path(folder), options.rounds)
    print(json.dumps(found) if options.json else written.write(found))


if __name__ == "__main__":
    main()

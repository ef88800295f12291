"""Run the measurements behind the promises of README and docs at full size: ``make judge [SECTION=generate]``.

A section is a module with `TITLE` and `MEASURES`. A measure is a module with a function ``measure(folder)``, which gets an
empty folder and yields figures. Results are committed in ``results/``; a section may also list `PAGES` of ``docs/`` that are
rendered from them. The exit code is 1 if any figure fails its target.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from benchmarks import embed, generate, keep, motion, speed, story, tasks, train
from benchmarks.figures import Figure, update, write

SECTIONS = {
    section.__name__.rpartition(".")[2]: section for section in (embed, generate, keep, motion, speed, story, tasks, train)
}


def judge(section: str, names: list[str], folder: Path | None, *, rerun: bool = False) -> bool:
    """Run the measures of a section, or only those named, and return whether no target was missed."""
    module = SECTIONS[section]
    selected = [measure for measure in module.MEASURES if not names or measure.__name__.rpartition(".")[2] in names]
    figures: list[Figure] = []
    start = time.monotonic()
    for measure in selected:
        with tempfile.TemporaryDirectory(dir=folder) as path:
            for figure in measure.measure(Path(path)):
                figures.append(figure)
                print(f"{figure.name}: {figure.value}{' FAIL' if figure.passed is False else ''}", flush=True)
    if (rerun or not names) and "POSEGEN_JUDGE_SCALE" not in os.environ:
        record = update if rerun else write
        print(record(section, module.TITLE, figures, time.monotonic() - start))
        for page in getattr(module, "PAGES", []):
            print(import_module(page).write())
    return all(figure.passed is not False for figure in figures)


def main() -> int:
    """Parse the command line, run the sections and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("section", choices=["all", *SECTIONS], default="all", nargs="?")
    parser.add_argument("--only", action="append", default=[], help="run only this measure; results are not written")
    parser.add_argument("--rerun", action="store_true", help="with --only: replace these figures in the stored results")
    parser.add_argument("--folder", type=Path, help="parent of the working folders; default: the system's temporary folder")
    options = parser.parse_args()
    if options.rerun and not options.only:
        parser.error("--rerun requires --only")
    sections = list(SECTIONS) if options.section == "all" else [options.section]
    passed = [judge(section, options.only, options.folder, rerun=options.rerun) for section in sections]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Every measure at full size: ``make judge``, or ``make judge SECTION=generate``.

A section is a module with a title and a list of measures; a measure gets an empty folder and gives figures. The results are
written to ``results/`` and committed, and so are the pages of ``docs/`` that a section makes of them. The exit code is 1 if
any figure is bad.
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
from benchmarks.figures import Figure, write, write_again

SECTIONS = {
    "embed": embed,
    "generate": generate,
    "keep": keep,
    "motion": motion,
    "speed": speed,
    "story": story,
    "tasks": tasks,
    "train": train,
}


def judge(section: str, names: list[str], folder: Path | None, *, again: bool = False) -> bool:
    """Take the measures of a section, all unless some are named; tell whether none was bad."""
    module = SECTIONS[section]
    chosen = [measure for measure in module.MEASURES if not names or measure.__name__.rpartition(".")[2] in names]
    figures: list[Figure] = []
    start = time.monotonic()
    for measure in chosen:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            for figure in measure.measure(Path(place)):
                figures.append(figure)
                print(f"{figure.name}: {figure.found}{' BAD' if figure.good is False else ''}", flush=True)
    if (again or not names) and "POSEGEN_JUDGE_SCALE" not in os.environ:
        record = write_again if again else write
        print(record(section, module.TITLE, figures, time.monotonic() - start))
        for page in getattr(module, "PAGES", []):
            print(import_module(page).write())
    return all(figure.good is not False for figure in figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("section", choices=["all", *SECTIONS], default="all", nargs="?")
    parser.add_argument("--only", action="append", default=[], help="a measure by name; nothing is written then")
    parser.add_argument("--again", action="store_true", help="write what --only measured into the results there are, saying so")
    parser.add_argument("--folder", type=Path, help="on the disk that is meant; that of temporary files unless given")
    options = parser.parse_args()
    if options.again and not options.only:
        parser.error("--again goes with --only")
    sections = list(SECTIONS) if options.section == "all" else [options.section]
    good = [judge(section, options.only, options.folder, again=options.again) for section in sections]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

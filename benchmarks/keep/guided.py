"""Coverage-guided fuzzing with atheris.

Atheris takes over the process that it works in, so that it gets one of its own; what came of the inputs is left in a file.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from benchmarks.keep.tally import Tally, read, time_limit, written
from benchmarks.measure import ROOT

__all__ = ["KINDS", "guided", "is_possible", "work"]

KINDS = ("configs", "action files", "word files", "dataset.json files")
RESULT = "tally.json"

# Atheris instruments modules during import, so this comes first. Numba cannot compile instrumented modules.
START = """
import sys, atheris
from pathlib import Path
from posegen.foundations import kernels
package = Path(kernels.__file__).parent
files = [file.relative_to(package) for file in package.rglob("*.py") if "kernel" in file.read_text()]
compiled = [".".join(["posegen", *file.with_suffix("").parts]) for file in files]
with atheris.instrument_imports(include=["posegen"], exclude=compiled):
    from benchmarks.keep.guided import work
work(*sys.argv[1:])
"""


def is_possible() -> bool:
    """Return whether atheris is installed."""
    return find_spec("atheris") is not None


def guided(folder: Path, name: str, inputs: int) -> Tally:
    """Fuzz a kind in a separate process.

    Parameters
    ----------
    folder : Path
        An empty one.
    name : str
        Of the kind.
    inputs : int
        How many.
    """
    command = [sys.executable, "-c", START, str(folder), name, str(inputs)]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    result = folder / RESULT
    if not result.exists():
        msg = f"atheris ended with {done.returncode}:\n{done.stderr[-2000:]}"
        raise RuntimeError(msg)
    return Tally(**json.loads(result.read_text("utf-8")))


def work(place: str, name: str, count: str) -> None:
    """Run the fuzzer of :func:`guided`; this ends the process."""
    import atheris

    from benchmarks.keep.inputs import kinds

    folder, inputs = Path(place), int(count)
    kind = next(kind for kind in kinds(folder) if kind.name == name)
    examples = folder / "examples"
    examples.mkdir()
    for number, document in enumerate(kind.documents):
        (examples / str(number)).write_bytes(written(kind, document, random.Random(number)))
    tally = Tally()

    def one(data: bytes) -> None:
        read(kind, data, tally)
        if tally.inputs == inputs:
            (folder / RESULT).write_text(json.dumps(asdict(tally)), "utf-8")

    # A few more than requested, because the examples may count.
    options = [f"-runs={inputs + len(kind.documents) + 10}", "-seed=3", "-max_len=20000", "-rss_limit_mb=4000", "-verbosity=0"]
    with time_limit():
        atheris.Setup(["fuzz", *options, str(examples)], one)
        atheris.Fuzz()

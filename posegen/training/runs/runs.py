"""The folder of a run: what it was started with, what came of it, and the runs that there are.

::

    RUN/
      run.json            settings, what it is trained on, the choices for the machine; sealed, written before the first step
      checkpoints/        see :mod:`posegen.training.runs.checkpoints`
      tensorboard/
      model.safetensors   the best averaged weights
      model.json          what makes a model of them again; sealed
      result.json         measures; written last: the run is complete
      report.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError

__all__ = ["MODEL", "RESULT", "RUN", "WEIGHTS", "flattened", "read_document", "runs_in", "write_document"]

_LISTED = {"task", "source", "settings", "rounds"}
RUN, RESULT, MODEL, WEIGHTS = "run.json", "result.json", "model.json", "model.safetensors"


def write_document(run: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write one of a run's documents; when this returns, it is safe."""
    write_durably(run / name, seal(content, indent=2), current_run())


def read_document(run: Path, name: str) -> dict[str, Any] | None:
    """Read one of a run's documents; None if it is not there, PosegenError if it is damaged."""
    path = run / name
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    cure = "Put the file back, or train into another folder with --out"
    return unseal(data, Origin(str(path), cure))


def runs_in(folder: Path) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any] | None]]:
    """Go through the runs in a folder: their places, what they were started with, and what came of them if they are
    complete.
    """
    for path in sorted(folder.glob(f"**/{RUN}")):
        try:
            started = read_document(path.parent, RUN)
            if started is not None and started.keys() >= _LISTED:
                yield path.parent, started, read_document(path.parent, RESULT)
        except PosegenError:
            continue


def flattened(settings: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """List nested settings by their dotted keys.

    >>> flattened({"steps": 3, "model": {"size": "small"}})
    [('steps', 3), ('model.size', 'small')]
    """
    pairs: list[tuple[str, Any]] = []
    for key, value in settings.items():
        pairs += flattened(value, f"{before}{key}.") if isinstance(value, dict) else [(f"{before}{key}", value)]
    return pairs

"""Read and write the JSON documents of a training run, and find runs.

::

    RUN/
      run.json            settings, training data and choices for the machine; written before the first step
      checkpoints/        see :mod:`posegen.training.runs.checkpoints`
      tensorboard/
      model.safetensors   averaged weights of the best check
      model.json          description from which the model is built
      result.json         measures; written last: the run is complete
      report.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.errors import PosegenError

_LISTED = {"task", "form", "source", "settings", "rounds"}
RUN, RESULT, MODEL, WEIGHTS = "run.json", "result.json", "model.json", "model.safetensors"


def write_document(run: Path, name: str, content: Mapping[str, Any]) -> None:
    """Write a document of a run durably."""
    write_durably(run / name, seal(content, indent=2))


def read_document(run: Path, name: str) -> dict[str, Any] | None:
    """Return a document of a run; None if it is absent, PosegenError if it is damaged."""
    path = run / name
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return unseal(data, Origin(str(path), "Restore the file, or train into another folder with --out"))


def find_runs(folder: Path) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any] | None]]:
    """Yield the path of each run in a folder, its run.json, and its result.json or None."""
    for path in sorted(folder.glob(f"**/{RUN}")):
        try:
            record = read_document(path.parent, RUN)
            if record is not None and record.keys() >= _LISTED:
                yield path.parent, record, read_document(path.parent, RESULT)
        except PosegenError:
            continue


def flatten_settings(settings: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return nested settings as pairs of dotted key and value.

    Examples
    --------
    >>> flatten_settings({"steps": 3, "model": {"size": "small"}})
    [('steps', 3), ('model.size', 'small')]
    """
    pairs: list[tuple[str, Any]] = []
    for key, value in settings.items():
        pairs += flatten_settings(value, f"{prefix}{key}.") if isinstance(value, dict) else [(f"{prefix}{key}", value)]
    return pairs

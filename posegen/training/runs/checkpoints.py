"""Write and read checkpoints, each the complete state of a run after a step.

``RUN/checkpoints/00001200.safetensors`` holds the tensors. The receipt ``00001200.json``, written last, holds the checksum of
these bytes and the progress of the run, so a kill at any instant leaves intact checkpoints. The last two are kept, and the best
one that each of them refers to. A damaged checkpoint is skipped in favour of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import xxhash
from safetensors.torch import load, save
from torch import Tensor

from posegen.dataset.documents import STRICT, Origin, read_sealed, seal
from posegen.dataset.files import remove_durably, write_durably
from posegen.errors import PosegenError

FOLDER = "checkpoints"
_NAME = re.compile(r"([0-9]{8})\.json")
_KEPT = 2
_HINT = "Remove it to resume from the checkpoint before"


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run.

    Attributes
    ----------
    step : int
        Completed steps.
    best_step, best : int and float, or None
        Step and watched measure of the best check.
    checks : list of dict
        Step and measures of each check.
    seconds : float
        Training time of all sessions.
    """

    step: int = 0
    best_step: int | None = None
    best: float | None = None
    checks: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class State:
    """State of a run after a step: tensors by group and name, and progress."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    progress: RunProgress


@dataclass(frozen=True)
class _Receipt:
    """Receipt of a checkpoint."""

    __pydantic_config__ = STRICT

    xxh3: str
    progress: RunProgress


def write(run: Path, state: State) -> None:
    """Write a checkpoint durably."""
    flat = {f"{group}/{name}": tensor for group, tensors in state.tensors.items() for name, tensor in tensors.items()}
    step, folder = state.progress.step, run / FOLDER
    receipt = _Receipt(write_tensors(folder / f"{step:08d}.safetensors", flat), state.progress)
    write_durably(folder / f"{step:08d}.json", seal(receipt))


def read(run: Path, step: int) -> State:
    """Return the checkpoint of a step.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    """
    receipt = _read_receipt(run, step)
    groups: dict[str, dict[str, Tensor]] = {}
    for name, tensor in read_tensors(run / FOLDER / f"{step:08d}.safetensors", receipt.xxh3, _HINT).items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    return State(groups, receipt.progress)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors durably to a safetensors file, and return the checksum of its bytes."""
    data = save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})
    write_durably(path, data)
    return xxhash.xxh3_128_hexdigest(data)


def read_tensors(path: Path, xxh3: str, hint: str) -> dict[str, Tensor]:
    """Read a safetensors file; PosegenError with a hint if it is missing or does not have the checksum."""
    source = Origin(str(path), hint)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise source.error("is missing") from None
    if xxhash.xxh3_128_hexdigest(data) != xxh3:
        raise source.error("checksum mismatch")
    return load(data)


def latest(run: Path, log: Callable[[str], None]) -> State | None:
    """Return the last intact checkpoint, or None; damaged ones are logged."""
    for step in reversed(_steps(run)):
        try:
            return read(run, step)
        except PosegenError as error:
            log(f"{error}; using the checkpoint before")
    return None


def newest_progress(run: Path) -> RunProgress:
    """Return the progress of the newest checkpoint whose receipt is intact; its tensors are not read."""
    for step in reversed(_steps(run)):
        with suppress(PosegenError):
            return _read_receipt(run, step).progress
    return RunProgress()


def remove_old(run: Path) -> None:
    """Remove all checkpoints except the last two and the best ones that these refer to."""
    steps = _steps(run)
    kept: set[int | None] = set(steps[-_KEPT:])
    for step in steps[-_KEPT:]:
        with suppress(PosegenError):
            kept.add(_read_receipt(run, step).progress.best_step)
    for step in steps:
        if step not in kept:
            # The receipt first: tensors without a receipt are ignored.
            remove_durably(run / FOLDER / f"{step:08d}.json")
            remove_durably(run / FOLDER / f"{step:08d}.safetensors")


def _read_receipt(run: Path, step: int) -> _Receipt:
    path = run / FOLDER / f"{step:08d}.json"
    source = Origin(str(path), _HINT)
    try:
        return read_sealed(_Receipt, path.read_bytes(), source)
    except FileNotFoundError:
        raise source.error("is missing") from None


def _steps(run: Path) -> list[int]:
    folder = run / FOLDER
    names = [_NAME.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for match in names if match)

"""Checkpoints: the state of a run after a step, of which a kill at any instant leaves a whole one.

``RUN/checkpoints/00001200.safetensors`` holds tensors only; ``00001200.json``, written last and sealed, holds the hash of these
bytes and what is no tensor. The last two are kept, and the best that each of them knows of. One that is damaged is passed
over for the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import xxhash
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import remove_durably, write_durably
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError

__all__ = ["FOLDER", "Progress", "State", "keep", "latest", "newest_progress", "read", "write"]

FOLDER = "checkpoints"
_NAME = re.compile(r"([0-9]{8})\.json")
_KEPT = 2
_CURE = "Remove it, and the run goes on from the checkpoint before"


@dataclass(frozen=True)
class Progress:
    """How far a run is, apart from its tensors.

    Attributes
    ----------
    step : int
        Steps that are done.
    best_step, best : int and float, or None
        At which check the watched measure was best, and what it was.
    checks : list of dict
        Step and measures of each check so far.
    seconds : float
        That training took so far, in all sessions.
    """

    step: int = 0
    best_step: int | None = None
    best: float | None = None
    checks: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class State:
    """A run after a step: its tensors, by group and name, and its progress."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    progress: Progress


def write(run: Path, state: State) -> None:
    """Write a checkpoint; when this returns, it is safe."""
    flat = {f"{group}/{name}": tensor for group, tensors in state.tensors.items() for name, tensor in tensors.items()}
    data = save({name: tensor.detach().contiguous().cpu() for name, tensor in flat.items()})
    step, folder = state.progress.step, run / FOLDER
    write_durably(folder / f"{step:08d}.safetensors", data, current_run())
    about = {"xxh3": xxhash.xxh3_128_hexdigest(data), "progress": asdict(state.progress)}
    write_durably(folder / f"{step:08d}.json", seal(about), current_run())


def read(run: Path, step: int) -> State:
    """Read a checkpoint.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    """
    path = run / FOLDER / f"{step:08d}.safetensors"
    source = Origin(str(path), _CURE)
    about = _about(run, step)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise source.error("is missing") from None
    if xxhash.xxh3_128_hexdigest(data) != about["xxh3"]:
        raise source.error("does not have the bytes that were written")
    try:
        flat = load(data)
    except SafetensorError as error:
        raise source.error(f"cannot be read ({error})") from error
    groups: dict[str, dict[str, Tensor]] = {}
    for name, tensor in flat.items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    return State(groups, Progress(**about["progress"]))


def latest(run: Path, say: Callable[[str], None]) -> State | None:
    """Read the last checkpoint that is whole, saying which are not; None if there is none."""
    for step in reversed(_steps(run)):
        try:
            return read(run, step)
        except PosegenError as error:
            say(f"{error}; going on from the checkpoint before")
    return None


def newest_progress(run: Path) -> Progress:
    """Tell how far a run is by its newest checkpoint that can be read, without reading its tensors."""
    for step in reversed(_steps(run)):
        try:
            return Progress(**_about(run, step)["progress"])
        except PosegenError:
            continue
    return Progress()


def keep(run: Path) -> None:
    """Remove what is neither of the last two nor the best that one of them knows of."""
    steps = _steps(run)
    wanted = set(steps[-_KEPT:])
    for step in steps[-_KEPT:]:
        try:
            wanted.add(_about(run, step)["progress"]["best_step"])
        except PosegenError:
            continue
    for step in steps:
        if step not in wanted:
            # The receipt first: without it the tensors are nothing.
            remove_durably(run / FOLDER / f"{step:08d}.json")
            remove_durably(run / FOLDER / f"{step:08d}.safetensors")


def _about(run: Path, step: int) -> dict[str, Any]:
    path = run / FOLDER / f"{step:08d}.json"
    try:
        return unseal(path.read_bytes(), Origin(str(path), _CURE))
    except FileNotFoundError:
        msg = f"{path}: is missing. {_CURE}"
        raise PosegenError(msg) from None


def _steps(run: Path) -> list[int]:
    folder = run / FOLDER
    names = [_NAME.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for match in names if match)

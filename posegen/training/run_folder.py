"""The folder of a training run: its JSON documents and its checkpoints.

::

    RUN/
      run.json            settings, training data and choices for the machine; written before the first step
      checkpoints/        each the complete state of the run after a step
      tensorboard/
      model.safetensors   averaged weights of the best check
      model.json          description from which the model is built
      result.json         measures; written last: the run is complete
      report.html

``checkpoints/00001200.safetensors`` holds the tensors. The receipt ``00001200.json``, written last, holds the checksum of these
bytes and the progress of the run, so a kill at any instant leaves intact checkpoints. The last two are kept, and the best one
that each of them refers to. A damaged checkpoint is skipped in favour of the one before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash
from safetensors.torch import load, save
from torch import Tensor

from posegen.dataset.documents import STRICT, Origin, read_sealed, seal, unseal
from posegen.dataset.files import remove_durably, write_durably
from posegen.dataset.lock import locked
from posegen.foundations.errors import PosegenError, UsageError

if TYPE_CHECKING:
    from posegen.tables.run import TableEstimate
    from posegen.training.estimate import Estimate
    from posegen.training.hardware import Reason

_LISTED = {"task", "form", "source", "settings", "rounds"}
RUN, RESULT, MODEL, WEIGHTS = "run.json", "result.json", "model.json", "model.safetensors"
TABLE_TASK = "table"
"""What documents of a run on a user's table have as their task; its model is the matter of :mod:`posegen.tables`."""
_CHECKPOINTS = "checkpoints"
_NAME = re.compile(r"([0-9]{8})\.json")
_KEPT = 2
_HINT = "Remove it to resume from the checkpoint before"


@dataclass(frozen=True)
class Result:
    """Result of a request.

    Attributes
    ----------
    run : Path
    task : str
    steps : int
        Completed steps.
    stopped : str or None
        Why the run is not complete.
    nothing_to_do : bool
        Whether the run was complete before.
    measures : dict of str to float
        Measures on the test split, or on the test rows of a table, if the run is complete; NaN where they are undefined.
    seconds : float
        Training time of all sessions.
    estimate : Estimate or TableEstimate, or None
        If only that was requested, or if this request started the run.
    reasons : list of Reason
        The hardware and the choices made for it.
    warnings : list of str
        Why the measures may be worth little.
    chosen : str
        Of a table: what the model that predicts is.
    """

    run: Path
    task: str
    steps: int = 0
    stopped: str | None = None
    nothing_to_do: bool = False
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    estimate: Estimate | TableEstimate | None = None
    reasons: list[Reason] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    chosen: str = ""


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


def write_result(run: Path, result: Mapping[str, Any]) -> None:
    """Write the document that states that a run is complete. Undefined measures are null in it."""
    measures = {name: None if math.isnan(value) else value for name, value in result["measures"].items()}
    write_document(run, RESULT, {**result, "measures": measures})


def read_result(run: Path) -> dict[str, Any] | None:
    """Return the result of a run, with NaN for undefined measures; None if it is not complete."""
    result = read_document(run, RESULT)
    if result is not None:
        result["measures"] = {name: math.nan if value is None else value for name, value in result["measures"].items()}
    return result


@contextmanager
def run_folder(run: Path) -> Iterator[None]:
    """Create and lock the folder of a run; remove it again if the request is refused."""
    is_new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        with locked(run):
            yield
    except UsageError:
        if is_new and not any(run.iterdir()):
            run.rmdir()
        raise


def refuse_other_run(run: Path, changed: Sequence[tuple[str, Any, Any]]) -> None:
    """Raise UsageError if a folder holds another run: `changed` has the name, the old and the new value of what differs."""
    if changed:
        listed = ", ".join(f"{key} was {old!r} and is {new!r}" for key, old, new in changed[:5])
        raise UsageError(f"{run}: holds another run: {listed}. Use the same settings, or train into another folder with --out")


def predicts_table(run: Path) -> bool:
    """Return whether a folder holds the model of a user's table."""
    document = read_document(run, MODEL)
    return document is not None and document.get("task") == TABLE_TASK


def find_runs(folder: Path, log: Callable[[str], None]) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any] | None]]:
    """Yield the path of each run in a folder, its run.json, and its result.json or None; damaged ones are logged."""
    for path in sorted(folder.glob(f"**/{RUN}")):
        try:
            record = read_document(path.parent, RUN)
            if record is not None and record.keys() >= _LISTED:
                yield path.parent, record, read_document(path.parent, RESULT)
        except PosegenError as error:
            log(str(error))


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
    losses : list of (int, float)
        Points of the curve of the training loss: the mean since the point before, by step.
    memory, gpu_memory : int or None
        Most bytes of memory that a session used, and most bytes that tensors took on a GPU.
    utilisation : float or None
        Mean share of the time in which the GPU computed.
    """

    step: int = 0
    best_step: int | None = None
    best: float | None = None
    checks: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    losses: list[tuple[int, float]] = field(default_factory=list)
    memory: int | None = None
    gpu_memory: int | None = None
    utilisation: float | None = None


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


def write_checkpoint(run: Path, state: State) -> None:
    """Write a checkpoint durably."""
    flat = {f"{group}/{name}": tensor for group, tensors in state.tensors.items() for name, tensor in tensors.items()}
    step, folder = state.progress.step, run / _CHECKPOINTS
    receipt = _Receipt(write_tensors(folder / f"{step:08d}.safetensors", flat), state.progress)
    write_durably(folder / f"{step:08d}.json", seal(receipt))


def checkpoint_bytes(run: Path) -> int:
    """Return the size of the largest checkpoint of a run."""
    return max((path.stat().st_size for path in (run / _CHECKPOINTS).iterdir()), default=0)


def read_checkpoint(run: Path, step: int) -> State:
    """Return the checkpoint of a step.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    """
    receipt = _read_receipt(run, step)
    groups: dict[str, dict[str, Tensor]] = {}
    data = read_checked(run / _CHECKPOINTS / f"{step:08d}.safetensors", receipt.xxh3, _HINT)
    for name, tensor in load(data).items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    return State(groups, receipt.progress)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors durably to a safetensors file, and return the checksum of its bytes."""
    data = save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})
    write_durably(path, data)
    return xxhash.xxh3_128_hexdigest(data)


def read_checked(path: Path, xxh3: str, hint: str) -> bytes:
    """Return the content of a file; PosegenError with a hint if it is missing or does not have the checksum."""
    source = Origin(str(path), hint)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise source.error("is missing") from None
    if xxhash.xxh3_128_hexdigest(data) != xxh3:
        raise source.error("checksum mismatch")
    return data


def latest_checkpoint(run: Path, log: Callable[[str], None]) -> State | None:
    """Return the last intact checkpoint, or None; damaged ones are logged."""
    for step in reversed(_steps(run)):
        try:
            return read_checkpoint(run, step)
        except PosegenError as error:
            log(f"{error}; using the checkpoint before")
    return None


def newest_progress(run: Path) -> RunProgress:
    """Return the progress of the newest checkpoint whose receipt is intact; its tensors are not read."""
    return next(_intact_progress(run), RunProgress())


def _intact_progress(run: Path) -> Iterator[RunProgress]:
    """Yield the progress of each checkpoint whose receipt is intact, the newest first."""
    for step in reversed(_steps(run)):
        try:
            receipt = _read_receipt(run, step)
        except PosegenError:
            continue
        yield receipt.progress


def remove_old_checkpoints(run: Path) -> None:
    """Remove all checkpoints except the last two with intact receipts and the best ones that these refer to.

    If fewer are intact, none is removed: a damaged receipt does not count as the checkpoint to resume from.
    """
    last = list(islice(_intact_progress(run), _KEPT))
    kept = {step for progress in last for step in (progress.step, progress.best_step)}
    for step in _steps(run) if len(last) == _KEPT else ():
        if step not in kept:
            # The receipt first: tensors without a receipt are ignored.
            remove_durably(run / _CHECKPOINTS / f"{step:08d}.json")
            remove_durably(run / _CHECKPOINTS / f"{step:08d}.safetensors")


def _read_receipt(run: Path, step: int) -> _Receipt:
    path = run / _CHECKPOINTS / f"{step:08d}.json"
    source = Origin(str(path), _HINT)
    try:
        return read_sealed(_Receipt, path.read_bytes(), source)
    except FileNotFoundError:
        raise source.error("is missing") from None


def _steps(run: Path) -> list[int]:
    folder = run / _CHECKPOINTS
    names = [_NAME.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for match in names if match)


def format_measure(value: float | None) -> str:
    """Return counts as whole numbers, shares and errors with three decimals, and None or NaN as undefined.

    >>> [format_measure(value) for value in (1200.0, 0.5, float("nan"))]
    ['1,200', '0.500', 'undefined']
    """
    if value is None or math.isnan(value):
        return "undefined"
    return f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.3f}"

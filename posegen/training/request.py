"""What a user asks of training, what is told on the way, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from posegen.training.hardware.estimate import Estimate
from posegen.training.hardware.machine import Reason
from posegen.training.settings import Settings
from posegen.training.steps.timing import StepTimes

__all__ = ["Reporter", "Request", "Result", "default_run"]


class Reporter(Protocol):
    """What a run tells about itself."""

    def say(self, text: str) -> None:
        """Tell something in words."""

    def table(self, reasons: Sequence[Reason]) -> None:
        """Show the machine and what was chosen."""

    def expect(self, found: Estimate) -> None:
        """Show what the run will take."""

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """A step is done."""

    def stop(self) -> None:
        """The work is over, for whatever reason."""


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes
    ----------
    source : str
        Folder of a dataset, name of a config, or its path.
    task, preset : str
    settings : Settings
    out : Path or None
    budget : float or None
        Seconds that the run may take.
    only_estimate : bool
    init : Path or None
        Run whose model this one begins with.
    """

    source: str
    task: str
    preset: str
    settings: Settings
    out: Path | None = None
    budget: float | None = None
    only_estimate: bool = False
    init: Path | None = None


@dataclass(frozen=True)
class Result:
    """What came of a run.

    Attributes
    ----------
    run : Path
    task : str
    steps : int
        That are done.
    stopped : str or None
        Why it is not complete.
    nothing_to_do : bool
    measures : dict of str to float
        On the test split, if it is complete.
    seconds : float
        That training took, in all sittings.
    estimate : Estimate or None
        Where only that was asked for.
    reasons : list of Reason
        The machine and what was chosen.
    """

    run: Path
    task: str
    steps: int
    stopped: str | None = None
    nothing_to_do: bool = False
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    estimate: Estimate | None = None
    reasons: list[Reason] = field(default_factory=list)


def default_run(request: Request) -> Path:
    """Tell where a run goes unless asked otherwise."""
    source = Path(request.source)
    name = source.resolve().name if source.is_dir() else source.stem
    return Path("runs") / f"{request.task}-{name}-{Path(request.preset).stem}"

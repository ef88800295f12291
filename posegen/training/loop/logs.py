"""Measure the phases of training steps, and log the curves of a run to TensorBoard and Weights & Biases."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from posegen.plugins import require_extra
from posegen.training.settings import Settings

_MOST_POINTS = 1000
"""Points of a curve."""

PHASES = ("data", "forward", "backward", "optimiser")
_RECENT = 200
_WARMUP = 3


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of recent steps, and the share of each phase in all steps."""

    seconds: float
    shares: dict[str, float]


class StepTimer:
    """Add up the time of each phase; to be called at the end of each phase."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._now = dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_RECENT)
        self._total = dict.fromkeys(PHASES, 0.0)
        self._count = 0

    def end_phase(self, phase: str | None) -> None:
        """Add the time since the last call to a phase; None if it belongs to no step."""
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def end_step(self) -> None:
        """Complete a step. The first ones are not counted, since caches and lazy initialisation slow them down."""
        self._count += 1
        if self._count > _WARMUP:
            self._steps.append(sum(self._now.values()))
            self._total = {phase: seconds + self._now[phase] for phase, seconds in self._total.items()}
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Return the times of the steps so far; None before the first counted step."""
        total = sum(self._total.values())
        if not self._steps or not total:
            return None
        return StepTimes(median(self._steps), {phase: seconds / total for phase, seconds in self._total.items()})


class Logs(ExitStack):
    """The loggers that the settings name; a context that closes them.

    Parameters
    ----------
    run : Path
    settings : Settings
    step : int
        Step that the run resumes from. TensorBoard hides what was logged after it.
    """

    def __init__(self, run: Path, settings: Settings, step: int) -> None:
        super().__init__()
        self._every = -(-settings.steps // _MOST_POINTS)
        self._board: Any = None
        self._wandb: Any = None
        if "tensorboard" in settings.log:
            from torch.utils.tensorboard import SummaryWriter

            self._board = self.enter_context(SummaryWriter(str(run / "tensorboard"), purge_step=step + 1))
        if "wandb" in settings.log:
            self._wandb = self.enter_context(_start_wandb(run, settings))

    def step(self, step: int, loss: float, times: StepTimes | None) -> None:
        """Log a step if it is at the interval of logging."""
        if step % self._every == 0:
            shares = {f"time/{phase}": share for phase, share in times.shares.items()} if times else {}
            self.values(step, {"loss": loss, **shares})

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Log values by name."""
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)
        if self._wandb is not None:
            self._wandb.log(dict(values), step=step)


def _start_wandb(run: Path, settings: Settings) -> Any:
    require_extra("wandb")
    import wandb

    # Without credentials the run is stored locally; `wandb sync` uploads it later.
    configured = any(os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_MODE"))
    mode: Any = None if configured else "offline"
    # Silent, since standard output is reserved for the document of --json.
    options = wandb.Settings(silent=True)
    return wandb.init(
        project="posegen", dir=str(run), name=run.name, config=settings.model_dump(mode="json"), mode=mode, settings=options
    )

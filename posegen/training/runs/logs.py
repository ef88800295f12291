"""Where a run writes its curves: TensorBoard, and Weights & Biases where it is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from posegen.errors import UsageError
from posegen.training.settings import Settings, logged_every
from posegen.training.steps.timing import StepTimes

__all__ = ["Logs"]


class Logs:
    """The curves of a run, from a step on.

    Parameters
    ----------
    run : Path
    settings : Settings
    step : int
        What was logged behind it, before a kill, is no longer shown.
    """

    def __init__(self, run: Path, settings: Settings, step: int) -> None:
        self._run, self._settings, self._step = run, settings, step
        self._every = logged_every(settings)
        self._board: Any = None
        self._wandb: Any = None

    def __enter__(self) -> Self:
        """Open them."""
        if "tensorboard" in self._settings.log:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self._run / "tensorboard"), purge_step=self._step + 1)
        if "wandb" in self._settings.log:
            self._wandb = _begin_wandb(self._run, self._settings)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close them."""
        if self._board is not None:
            self._board.close()
        if self._wandb is not None:
            self._wandb.finish()

    def step(self, step: int, loss: float, times: StepTimes | None) -> None:
        """Log a step, if it is time for it."""
        if step % self._every == 0:
            shares = {f"time/{phase}": share for phase, share in times.shares.items()} if times else {}
            self._write(step, {"loss": loss, **shares})

    def check(self, step: int, measures: Mapping[str, float]) -> None:
        """Log what a check found."""
        self._write(step, {f"validation/{name}": value for name, value in measures.items()})

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Log other values."""
        self._write(step, values)

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)
        if self._wandb is not None:
            self._wandb.log(dict(values), step=step)


def _begin_wandb(run: Path, settings: Settings) -> Any:
    try:
        import wandb
    except ModuleNotFoundError:
        msg = "log names wandb, which is not installed: pip install 'posegen[wandb]', or leave it out"
        raise UsageError(msg) from None
    # Who has not logged in anywhere, and has not said otherwise, gets files that `wandb sync` takes later.
    known = any(os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_MODE"))
    mode: Any = None if known else "offline"
    # Silent, as standard output may be a document.
    options = wandb.Settings(silent=True)
    return wandb.init(project="posegen", dir=str(run), name=run.name, config=settings.as_data(), mode=mode, settings=options)

"""Log the curves of a run to TensorBoard and Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from posegen.plugins import require_extra
from posegen.training.loop.timing import StepTimes
from posegen.training.settings import Settings, log_interval


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
        self._every = log_interval(settings)
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

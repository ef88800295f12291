"""What a run will take, told before it is begun."""

from __future__ import annotations

import math
from dataclasses import dataclass

from posegen.errors import UsageError
from posegen.quantities import human_time
from posegen.training.settings import Settings

__all__ = ["Estimate", "refuse_budget"]


@dataclass(frozen=True)
class Estimate:
    """What a run will take.

    Attributes
    ----------
    step_seconds : float
        Of a step, measured.
    check_seconds : float
        Of a check, from what a clip takes.
    steps, checks : int
    epoch_steps : int
        Steps in which all training sequences are shown once.
    sequences : int
        Training sequences.
    parameters : int
        Numbers that are trained.
    """

    step_seconds: float
    check_seconds: float
    steps: int
    checks: int
    epoch_steps: int
    sequences: int
    parameters: int

    @property
    def seconds(self) -> float:
        """Of the whole run, without computing the features."""
        return self.step_seconds * self.steps + self.check_seconds * (self.checks + 1)


def refuse_budget(found: Estimate, budget: float | None, settings: Settings) -> None:
    """Refuse a run that will not fit.

    Raises
    ------
    UsageError
        Says how many steps would.
    """
    if budget is None or found.seconds <= budget:
        return
    steps = math.floor((budget - found.check_seconds * (found.checks + 1)) / found.step_seconds)
    cure = f"--set steps={steps} would fit" if steps > 0 else "Give it more time"
    msg = (
        f"{settings.steps:,} steps will take {human_time(found.seconds)} ({1000 * found.step_seconds:.0f} ms each), and the "
        f"budget is {human_time(budget)}. {cure}"
    )
    raise UsageError(msg)

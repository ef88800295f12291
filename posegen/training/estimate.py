"""The estimated time and memory of a training run, and its budget.

The measurements that it consists of are the matter of :mod:`posegen.training.pilot`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from posegen.foundations.errors import UsageError
from posegen.foundations.quantities import human_bytes, human_time


@dataclass(frozen=True)
class Estimate:
    """Estimated size, time and memory of a run.

    Attributes
    ----------
    choosing_seconds : float
        Time in which the settings for the machine were chosen and the pilot run was measured.
    start_seconds : float
        From there to the first usual step: initialisation, loading processes, slow first steps.
    step_seconds : float
        Duration of a step.
    clip_seconds, loss_seconds : float
        Duration of the evaluation of a clip, and of its part of a validation loss.
    steps, checks : int
    checked_clips, loss_clips : int
        Clips of the validation split that a check evaluates, and those of its validation loss.
    tested_clips : int
        Clips that are evaluated behind the last step.
    epoch_steps : int
        Steps in which each training sequence is shown once.
    sequences : int
        Training sequences.
    parameters : int
        Trained parameters.
    memory_bytes : int
        Most memory of all processes of the run together.
    gpu_bytes : int or None
        Most memory that tensors take on a GPU; None without a GPU.
    """

    choosing_seconds: float
    start_seconds: float
    step_seconds: float
    clip_seconds: float
    loss_seconds: float
    steps: int
    checks: int
    checked_clips: int
    loss_clips: int
    tested_clips: int
    epoch_steps: int
    sequences: int
    parameters: int
    memory_bytes: int
    gpu_bytes: int | None = None

    @property
    def evaluation_seconds(self) -> float:
        """Duration of all checks and of the test."""
        check = self.clip_seconds * self.checked_clips + self.loss_seconds * self.loss_clips
        return check * self.checks + self.clip_seconds * self.tested_clips

    @property
    def once_seconds(self) -> float:
        """Duration of everything but the steps. Features are computed before, once for a dataset."""
        return self.choosing_seconds + self.start_seconds + self.evaluation_seconds

    @property
    def seconds(self) -> float:
        """Duration of the whole run, without computing the features."""
        return self.once_seconds + self.step_seconds * self.steps

    def summary(self) -> tuple[str, str]:
        """Return a line about the time of the run, and one about its memory."""
        epochs, epoch = self.steps / self.epoch_steps, human_time(self.epoch_steps * self.step_seconds)
        checks = human_time(self.evaluation_seconds)
        setup = human_time(self.choosing_seconds + self.start_seconds)
        return (
            f"{self.steps:,} steps of {1000 * self.step_seconds:.0f} ms, {self.sequences:,} sequences ({epochs:.1f} epochs of "
            f"{epoch}), {self.parameters:,} weights: about {human_time(self.seconds)}, of these {setup} for the setup and "
            f"{checks} for checks and the test",
            f"memory at most {self.memory()}",
        )

    def memory(self) -> str:
        """Return the most memory as text."""
        on_gpu = "" if self.gpu_bytes is None else f", and {human_bytes(self.gpu_bytes)} on the GPU"
        return f"{human_bytes(self.memory_bytes)}{on_gpu}"


def check_budget(estimate: Estimate, budget: float | None) -> None:
    """Raise UsageError if a run is estimated to exceed its budget in seconds; the message says how many steps fit."""
    if budget is None or estimate.seconds <= budget:
        return
    steps = math.floor((budget - estimate.once_seconds) / estimate.step_seconds)
    hint = f"--set steps={steps} would fit" if steps > 0 else "Raise the budget"
    msg = (
        f"{estimate.steps:,} steps take an estimated {human_time(estimate.seconds)} "
        f"({1000 * estimate.step_seconds:.0f} ms each), and the budget is {human_time(budget)}. {hint}"
    )
    raise UsageError(msg)

"""How training tells of itself: a table at the start, then a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from posegen.quantities import human_time

if TYPE_CHECKING:
    from posegen.training.hardware.estimate import Estimate
    from posegen.training.hardware.machine import Reason
    from posegen.training.steps.timing import StepTimes
    from posegen.training.train import Reporter

__all__ = ["Lines", "Silence", "reporter", "step_line"]

_SECONDS_BETWEEN_LINES = 5.0


class Silence:
    """Says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def table(self, reasons: Sequence[Reason]) -> None:
        """Say nothing."""

    def expect(self, found: Estimate) -> None:
        """Say nothing."""

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """Say nothing."""

    def stop(self) -> None:
        """Say nothing."""


class Lines:
    """Plain lines; how far it is every few seconds, or as a bar where the stream is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console

        self._stream = stream or sys.stderr
        self._console = Console(file=self._stream)
        self._last = float("-inf")
        self._progress: Any = None
        self._bar: Any = None

    def say(self, text: str) -> None:
        """Print `text`, above the bar if there is one."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def table(self, reasons: Sequence[Reason]) -> None:
        """Show the machine and what was chosen, a line each."""
        name, value = (max(len(getattr(reason, part)) for reason in reasons) for part in ("name", "value"))
        for reason in reasons:
            self.say(f"{reason.name:{name}}  {reason.value:{value}}  {reason.why}".rstrip())

    def expect(self, found: Estimate) -> None:
        """Show what the run will take."""
        epochs = found.steps / found.epoch_steps
        epoch = human_time(found.epoch_steps * found.step_seconds)
        self.say(
            f"{found.steps:,} steps of {1000 * found.step_seconds:.0f} ms, {found.sequences:,} sequences ({epochs:.1f} epochs "
            f"of {epoch}), {found.parameters:,} weights: about {human_time(found.seconds)}"
        )

    def step(self, step: int, steps: int, loss: float, times: StepTimes | None, left: float | None) -> None:
        """Show how far it is, if it is time for it."""
        if self._console.is_terminal:
            self._move(step, steps, step_line(loss, times, left))
        elif time.monotonic() - self._last > _SECONDS_BETWEEN_LINES or step == steps:
            self._last = time.monotonic()
            self.say(f"step {step:,} of {steps:,}, {step_line(loss, times, left)}")

    def stop(self) -> None:
        """Leave the bar as it is."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _move(self, step: int, steps: int, text: str) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        if self._progress is None:
            column = TextColumn("step {task.completed:,.0f} of {task.total:,.0f}, {task.fields[figures]}")
            self._progress = Progress(BarColumn(bar_width=24), column, console=self._console)
            self._bar = self._progress.add_task("", total=steps, figures="")
            self._progress.start()
        self._progress.update(self._bar, completed=step, figures=text)


def step_line(loss: float, times: StepTimes | None, left: float | None) -> str:
    """Tell of a step in one line: loss, rate, where the time goes, and the time left."""
    if times is None or left is None:
        return f"loss {loss:.3f}"
    shares = ", ".join(f"{phase} {100 * share:.0f}%" for phase, share in times.shares.items())
    return f"loss {loss:.3f}, {1000 * times.seconds:.0f} ms a step ({shares}), {human_time(left)} left"


def reporter(*, quiet: bool = False) -> Reporter:
    """Make what suits the terminal, or silence."""
    return Silence() if quiet else Lines()

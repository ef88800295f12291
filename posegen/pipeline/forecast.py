"""What the whole road will cost, stage by stage, before it is walked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from posegen.errors import UsageError
from posegen.generation.profile.measurement import disk_folder, temporary_folder
from posegen.generation.profile.profile import Profile, Target
from posegen.generation.session import explain_disk_errors, interruptible
from posegen.machine import free_disk
from posegen.pipeline import short_road
from posegen.pipeline.run import Request, stages_of
from posegen.pipeline.scaling import Cost, total_of

__all__ = ["Forecast", "forecasts", "road_through"]

_MOST = 300
"""Samples of a short road."""
_CLIPS = 2
"""Samples for each person there, where a task is about persons: with fewer, nobody comes twice."""


@dataclass(frozen=True)
class Forecast:
    """What a road will cost.

    Attributes
    ----------
    samples : int
    stages : tuple of Cost
        In the order in which they are walked.
    measured : int
        Samples of the short road by which it is told.
    disk_free : int
        Bytes.
    """

    samples: int
    stages: tuple[Cost, ...]
    measured: int
    disk_free: int

    @property
    def total(self) -> Cost:
        """All stages together."""
        return total_of(self.stages)

    def fits(self, budget: float | None) -> bool:
        """Tell whether there is room on the disk, and whether it surely ends within so many seconds."""
        return self.total.bytes <= self.disk_free and (budget is None or self.total.high <= budget)


def road_through(request: Request, last: str) -> list[str]:
    """Name the stages of a road through a stage.

    Raises
    ------
    UsageError
        If the road has no such stage, or what is asked for is not known.
    """
    names = [stage.name for stage in stages_of(request)]
    there = [place for place, name in enumerate(names) if name.partition(" ")[0] == last]
    if not there:
        why = {
            "embed": "no task on it takes captions. Name one that does: --task retrieval",
            "animate": "no task on it makes motion. Name it: --task motion",
        }
        msg = f"--through {last}: the road has no such stage: {why.get(last, 'name a --task')}"
        raise UsageError(msg)
    return names[: there[-1] + 1]


def forecasts(request: Request, found: Profile, names: Sequence[str], say: Callable[[str], None]) -> list[Forecast]:
    """Tell what a road costs for each target of a profile: its dataset as the profile says, all else by a short road.

    Parameters
    ----------
    request : Request
        The road as it would be walked.
    found : Profile
        Of its dataset.
    names : sequence of str
        Its stages; see :func:`road_through`.
    say : callable
        Is told what is measured.

    Raises
    ------
    UsageError, PosegenError
        As the stage says that cannot be walked.
    """
    samples = [target.samples for target in found.targets]
    with interruptible(), explain_disk_errors(disk_folder(request.out)), temporary_folder(request.out) as folder:
        free = free_disk(folder)
        few = min(max(samples), _short(request))
        costs = _measured(short_road.shortened(request, folder / "road", few), names, say)
    told = []
    for target in found.targets:
        behind = (cost(target.samples) for cost in costs)
        told.append(Forecast(target.samples, (_generated(target), *behind), few, free))
    return told


def _short(request: Request) -> int:
    from posegen.training.task import find_task

    people = any(find_task(name).by_identity for name in request.tasks)
    return max(_MOST, _CLIPS * request.config.population.persons if people else 0)


def _generated(target: Target) -> Cost:
    told = target.estimate
    return Cost("generate", told.seconds, told.low, told.high, target.bytes)


def _measured(request: Request, names: Sequence[str], say: Callable[[str], None]) -> list[Callable[[int], Cost]]:
    """Walk a short road; gives for each stage behind the first what tells its cost from the number of samples."""
    costs: list[Callable[[int], Cost]] = []
    if len(names) > 1:
        short_road.generating(request, say)
    for name in names[1:]:
        stage, _, task = name.partition(" ")
        if stage == "embed":
            costs.append(short_road.embedding(request, say).cost)
        elif stage == "train":
            costs.append(short_road.training(request, task, say).cost)
        elif stage == "evaluate":
            costs.append(short_road.evaluating(request, say))
        else:
            costs.append(_always(short_road.animating(request, say)))
    return costs


def _always(cost: Cost) -> Callable[[int], Cost]:
    return lambda samples: cost

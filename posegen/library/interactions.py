"""The schema of interactions of two actors: the pydantic models of ``interactions.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from posegen.library.actions import Counts, Durations, Share, Weight
from posegen.validation import StrictModel

Metres = Annotated[float, Field(ge=0, le=20)]

SIGHTS = ("hands", "chests", "facing", "behind")
"""Signals that an action involves the partner: hands meet, chests are close, one actor faces the other or walks behind."""


class Throw(StrictModel):
    """An object that flies from the hands of one actor to the hands of the other.

    Attributes
    ----------
    by : the actor who throws
    release, caught : share of the thrower's and of the catcher's cycle at which it leaves and reaches the hands
    speed : horizontal speed in metres per second, which determines the time of flight
    """

    by: Literal["first", "second"]
    release: Share
    caught: Share
    speed: Annotated[float, Field(ge=1, le=40)]


class Beat(StrictModel):
    """Simultaneous actions of the two actors.

    Attributes
    ----------
    first, second : names of their actions
    later : delay of the second actor in seconds at tempo 1
    thrown : an object that flies between them, which determines when the catcher begins
    """

    first: str
    second: str
    later: Annotated[float, Field(ge=0, le=10)] = 0.0
    thrown: Throw | None = None


class Interaction(StrictModel):
    """An interaction of two actors.

    Attributes
    ----------
    seen : signal in the joints that they interact
    arms, metres : distance between them: a multiple of the summed length of both arms, plus a range in metres
    aside : lateral offset of each from the other's near hand, in summed lengths of both arms
    unlike : largest ratio of their statures
    behind : whether the second actor walks behind the first
    beats : consecutive pairs of actions
    rounds : range of the number of times that all beats are performed
    hold : range of seconds at tempo 1 of actions without repetitions
    weight : relative frequency
    """

    seen: Literal["hands", "chests", "facing", "behind"]
    arms: Annotated[float, Field(ge=0, le=5)] = 0.0
    metres: tuple[Metres, Metres] = (0.0, 0.0)
    aside: Annotated[float, Field(ge=-1, le=1)] = 0.0
    unlike: Annotated[float, Field(ge=1, le=10)] = 10.0
    behind: Annotated[bool, Field(strict=True)] = False
    beats: Annotated[list[Beat], Field(min_length=1, max_length=8)]
    rounds: Counts = (1, 1)
    hold: Durations = (1.0, 2.0)
    weight: Weight = 1.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.metres[0] > self.metres[1] or self.rounds[0] > self.rounds[1] or self.hold[0] > self.hold[1]:
            msg = "`metres`, `rounds` and `hold` run from the smaller to the larger"
            raise ValueError(msg)
        if not self.arms and not self.metres[0]:
            msg = "give the distance between the actors by `arms` or `metres`"
            raise ValueError(msg)
        return self

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions of both actors, each once."""
        return tuple(dict.fromkeys(name for beat in self.beats for name in (beat.first, beat.second)))

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the actions of the first and of the second actor, each once, in the order of the beats."""
        return tuple(dict.fromkeys(beat.first for beat in self.beats)), tuple(dict.fromkeys(beat.second for beat in self.beats))


class InteractionFile(StrictModel):
    """The file of interactions."""

    interactions: dict[str, Interaction]

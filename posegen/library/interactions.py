"""What two people do with one another, as data: the models that ``interactions.yaml`` is checked by."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from posegen.library.models import Counts, Durations, Weight
from posegen.library.strict import Strict

__all__ = ["SIGHTS", "Beat", "Interaction", "InteractionFile"]

Share = Annotated[float, Field(ge=0, le=1)]
Metres = Annotated[float, Field(ge=0, le=20)]

SIGHTS = ("hands", "chests", "facing", "behind")
"""By what it is seen that an action is done with somebody: hands meet, chests are near, one faces the other or walks behind."""


class Throw(Strict):
    """Something that flies from the hands of one to the hands of the other.

    Attributes
    ----------
    by : who throws it
    release, caught : share of the thrower's and of the catcher's cycle at which it leaves and reaches the hands
    speed : metres a second over the floor, which says how long it flies
    """

    by: Literal["first", "second"]
    release: Share
    caught: Share
    speed: Annotated[float, Field(ge=1, le=40)]


class Beat(Strict):
    """What the two do at one time.

    Attributes
    ----------
    first, second : names of their actions
    later : seconds at tempo 1 by which the second one begins later
    thrown : what flies between them, which decides when the catcher begins
    """

    first: str
    second: str
    later: Annotated[float, Field(ge=0, le=10)] = 0.0
    thrown: Throw | None = None


class Interaction(Strict):
    """Something that two people do with one another.

    Attributes
    ----------
    seen : by what it is seen that they do it together
    arms, metres : how far apart they are: lengths of both arms together, and metres in addition, from the least to the most
    aside : by how much each is to the side of the other's near hand, in lengths of both arms together
    unlike : how many times as tall as the other one may be at most
    behind : whether the second one walks behind the first one
    beats : what they do, one thing after another
    rounds : how often they do all of it
    hold : seconds at tempo 1 for which actions without repetitions are held
    weight : how often the story picks it, relative to others
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
            msg = "say how far apart they are, by `arms` or `metres`"
            raise ValueError(msg)
        return self

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of all that either of them does, each once."""
        return tuple(dict.fromkeys(name for beat in self.beats for name in (beat.first, beat.second)))

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of what the first one does, and of what the second one does, each once, in the order of the beats."""
        return tuple(dict.fromkeys(beat.first for beat in self.beats)), tuple(dict.fromkeys(beat.second for beat in self.beats))


class InteractionFile(Strict):
    """The file of interactions."""

    interactions: dict[str, Interaction]

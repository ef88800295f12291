"""Where it shows in the joints on which side, and how often, an action is done: data that an action carries.

Captions claim sides and counts. A claim is believed when the joints say the same, so each action tells which distance to look
at: a hand that is higher than the other one, a head that goes down as often as was said.
"""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, model_validator

__all__ = ["SIGNALS", "CountSign", "SideSign", "Signal", "Signs"]

Signal = Literal[
    "pelvis_height",
    "head_height",
    "head_aside",
    "travel_aside",
    "hands_apart",
    "feet_apart",
    "hand_height",
    "hand_ahead",
    "hand_reach",
    "foot_height",
    "foot_ahead",
]
"""Distances in metres.

Heights of pelvis, head and foot (its ankle) are over the floor, that of a hand (its wrist) over the middle of the shoulders;
`aside` is towards the side that is looked at, of the head from the pelvis, or of the pelvis from where it was first; `ahead` is
as the shoulders face from their middle, or for a foot as the hips face from the pelvis; `reach` is from wrist to shoulder.
"""

SIGNALS: tuple[Signal, ...] = get_args(Signal)


class SideSign(BaseModel):
    """What is more, or less, on the side that the action is done with, in the mean over its frames."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    more: Signal | None = None
    less: Signal | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.more is None) == (self.less is None):
            msg = "name one signal, as `more` or as `less`"
            raise ValueError(msg)
        return self


class CountSign(BaseModel):
    """What goes up and down again, or down and up again, once for each repetition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    peaks: Signal | None = None
    dips: Signal | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.peaks is None) == (self.dips is None):
            msg = "name one signal, as `peaks` or as `dips`"
            raise ValueError(msg)
        return self


class Signs(BaseModel):
    """How an action shows in the joints; what is left out cannot be checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    side: SideSign | None = None
    count: CountSign | None = None

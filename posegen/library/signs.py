"""Where it shows in the joints on which side, and how often, an action is done: data that an action carries.

Captions claim sides and counts. A claim is believed when the joints say the same, so each action tells which distance to look
at: a hand that is higher than the other one, a head that goes down as often as was said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar, get_args

from pydantic import model_validator

from posegen.library.strict import Strict

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

Sign = TypeVar("Sign", bound=Strict)


def _one_of(one: str, other: str) -> Callable[[Sign], Sign]:
    def check(sign: Sign) -> Sign:
        if (getattr(sign, one) is None) == (getattr(sign, other) is None):
            msg = f"name one signal, as `{one}` or as `{other}`"
            raise ValueError(msg)
        return sign

    return check


class SideSign(Strict):
    """What is more, or less, on the side that the action is done with, in the mean over its frames."""

    more: Signal | None = None
    less: Signal | None = None

    _one = model_validator(mode="after")(_one_of("more", "less"))


class CountSign(Strict):
    """What goes up and down again, or down and up again, once for each repetition."""

    peaks: Signal | None = None
    dips: Signal | None = None

    _one = model_validator(mode="after")(_one_of("peaks", "dips"))


class Signs(Strict):
    """How an action shows in the joints; what is left out cannot be checked."""

    side: SideSign | None = None
    count: CountSign | None = None

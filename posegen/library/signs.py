"""The signals in the joints that show the side and the repetitions of an action."""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import model_validator

from posegen.foundations.validation import StrictModel

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
    "foot_stance",
]
"""Distances in metres.

Heights of pelvis, head and foot (its ankle) are above the floor, the height of a hand (its wrist) is relative to the middle of
the shoulders. `aside` is towards the tested side: of the head from the pelvis, or of the pelvis from its first position.
`ahead` is in the direction that the shoulders face, from their middle, or for a foot in the direction of the hips, from the
pelvis. `reach` is from wrist to shoulder. `foot_stance` is .2 m while the foot moves back from frame to frame in the
direction of the hips, as it does in a stance, and otherwise 0.
"""
SIGNALS: tuple[Signal, ...] = get_args(Signal)


class _OneSignal(StrictModel):
    @model_validator(mode="after")
    def _one(self) -> Self:
        names = tuple(type(self).model_fields)
        if len(names) - [getattr(self, name) for name in names].count(None) != 1:
            raise ValueError(f"name one signal, as `{names[0]}` or as `{names[1]}`")
        return self


class SideSign(_OneSignal):
    """The signal whose mean is larger, or smaller, on the side that performs the action."""

    more: Signal | None = None
    less: Signal | None = None


class CountSign(_OneSignal):
    """The signal with one peak, or one dip, per repetition."""

    peaks: Signal | None = None
    dips: Signal | None = None


class Signs(StrictModel):
    """Signals in the joints that show the side and the repetitions of an action; without them, no claim is checked."""

    side: SideSign | None = None
    count: CountSign | None = None

"""How an action moves within its stages, and the signals in the joints that show its side and its repetitions.

It moves by key poses, steps, contacts and travel, and in stances that combine with strategies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from posegen.foundations.validation import StrictModel
from posegen.library.channels import check_pose


def measured(unit: str, least: float, most: float) -> Any:
    """Return the field of a number with a unit, which the schema of the files states, and bounds that refuse other units."""
    return Field(ge=least, le=most, json_schema_extra={"unit": unit})


LEG_LENGTHS = "leg lengths"
"""Unit of lengths that scale with the body. Objects, and paths in the world, are in metres."""
MOST_TRAVEL_KEYS = 40
Share = Annotated[float, measured("share", 0, 1)]
Stage = Literal["enter", "cycle", "exit"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Offsets = Annotated[list[dict[str, float]], Field(max_length=3)]


class Key(StrictModel):
    """A key pose: values of channels at one moment.

    `at` is the share of the stage's duration. Between keys a channel moves by minimum jerk. With `through`, it does not stop at
    this key. With `turns`, it does not rest where it turns back: it is slowed down and sped up at once, as in a squat. See
    :class:`posegen.library.schema.Action` for `offsets`.
    """

    at: Share
    pose: dict[str, float]
    through: bool = False
    turns: bool = False
    offsets: Offsets = []

    @model_validator(mode="after")
    def _channels(self) -> Self:
        for pose in (self.pose, *self.offsets):
            check_pose(pose)
        return self


class _Interval(StrictModel):
    stage: Stage = "cycle"
    begin: Share
    end: Share

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.begin >= self.end:
            raise ValueError(f"begin must be before end (got {self.begin:g} and {self.end:g})")
        return self


class Lift(_Interval):
    """An interval of a stage in which a foot is off the ground, as shares of the stage's duration.

    The foot moves to the position that its channels `foot_forward` and `foot_aside` have at the landing, in leg lengths from
    its position before. If an action has none of a foot's channels, the angles of the leg decide. `body` is both feet, while
    nothing carries the body: its centre of mass then falls freely.
    """

    foot: Literal["near", "far", "left", "right", "both", "body"]


class Touch(_Interval):
    """An interval of a stage, in shares, in which a hand, a knee or the seat touches a surface or the other hand."""

    point: Literal["near_hand", "far_hand", "both_hand", "near_knee", "far_knee", "both_knee", "seat"]


_Rate = Annotated[float, measured(f"{LEG_LENGTHS} per second", -15, 15)]


class Travel(StrictModel):
    """How fast a body travels at one moment of the cycle: between these moments the rates change smoothly.

    Attributes
    ----------
    at : share of the cycle
    forward, aside : leg lengths per second along the heading, and to the left of it, or to the near side
    turn : degrees per second of the heading, positive to the left, or to the near side
    """

    at: Share
    forward: _Rate = 0.0
    aside: _Rate = 0.0
    turn: Annotated[float, measured("degrees per second", -1080, 1080)] = 0.0


_STEP_WEIGHT = 0.035
"""Leg lengths that the pelvis moves over the foot that stands while the other one steps into a stance."""


class Stance(StrictModel):
    """A step with one foot into a stance that strategies of an action may be performed in.

    They are those that neither place that foot nor lift the other one in the same stage.

    Attributes
    ----------
    out, back : lifts with which that foot leaves its place, and returns
    forward, aside : where it stands in between, in leg lengths from its place; the pelvis follows by half
    weight : share of the performances of such a strategy
    """

    out: Lift
    back: Lift
    forward: Annotated[float, measured(LEG_LENGTHS, -0.5, 0.5)] = 0.0
    aside: Annotated[float, measured(LEG_LENGTHS, -0.1, 0.3)] = 0.0
    weight: Annotated[float, Field(gt=0, le=0.5)] = 0.2

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.out.foot not in ("near", "far") or self.out.foot != self.back.foot:
            raise ValueError("`out` and `back` lift the same foot, near or far")
        if (self.out.stage, self.back.stage) not in (("enter", "exit"), ("cycle", "cycle")) or (
            self.out.stage == "cycle" and self.out.end >= self.back.begin
        ):
            raise ValueError("`out` is in the stage `enter` and `back` in `exit`, or both are in the cycle and `out` is first")
        return self

    def allows(self, moved: Set[str], lifts: Sequence[Lift]) -> bool:
        """Return whether an action that moves these channels, and lifts its feet so, may be performed in this stance."""
        places = {f"{side}_foot_{axis}" for side in (self.out.foot, "both") for axis in ("forward", "aside", "up")}
        lifted = {lift.foot for lift in lifts} | {lift.stage for lift in lifts}
        return not moved & places and not lifted & {self.out.foot, "both", "left", "right", self.out.stage, self.back.stage}

    def applied(self, pose: Mapping[str, float], keys: Mapping[str, Sequence[Key]], lifts: Sequence[Lift]) -> dict[str, Any]:
        """Return the fields of an action that differ when it is performed in this stance.

        Parameters
        ----------
        pose, lifts
            Those of the action.
        keys : mapping of str to sequence of Key
            Of each of its stages.
        """
        foot, side = self.out.foot, 1 if self.out.foot == "near" else -1
        stands: dict[str, float] = {f"{foot}_foot_forward": self.forward, f"{foot}_foot_aside": self.aside}
        pelvis: dict[str, float] = {"root_forward": self.forward / 2, "root_lateral": side * self.aside / 2}
        always, lifted = self.out.stage == "enter", f"{'far' if foot == 'near' else 'near'}_foot_forward"

        def moved(pose: dict[str, float]) -> dict[str, float]:
            # The other foot moves with the pelvis while it is in the air, and lands where it stood.
            return {lifted: self.forward / 2} if pose.get(lifted) else {}

        first, last = (0.0, 1.0) if always else (self.out.end, self.back.begin)
        stood = {stage: list(each) for stage, each in keys.items()}
        stood["cycle"] = [
            key.model_copy(update={"pose": _added(key.pose, pelvis | moved(key.pose))}) if first <= key.at <= last else key
            for key in keys["cycle"]
        ]
        home = dict.fromkeys(stands, 0.0)
        free = {name: value for name, value in pelvis.items() if not any(name in key.pose for key in stood["cycle"])}
        over = {"root_lateral": -side * _STEP_WEIGHT} if "root_lateral" in free else {}
        there = stands if always else stands | free
        for lift, begin, end in ((self.out, home | over, there), (self.back, there, home | dict.fromkeys(free, 0.0))):
            new = [Key(at=lift.begin, pose=begin), Key(at=lift.end, pose=end)]
            stood[lift.stage] = sorted(stood[lift.stage] + new, key=lambda key: key.at)
        changed: dict[str, Any] = {f"{stage}_keys": each for stage, each in stood.items() if each}
        changed["lifts"] = [*lifts, self.out, self.back]
        if always:
            changed["pose"] = _added({**pose, **{name: pose.get(name, 0.0) for name in pelvis}}, pelvis) | stands
        return changed


def _added(pose: Mapping[str, float], more: dict[str, float]) -> dict[str, float]:
    return {name: value + more.get(name, 0.0) for name, value in pose.items()}


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

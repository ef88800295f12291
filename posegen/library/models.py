"""What an action is, as data: the models that action files are checked by.

Units in the files are those that a person thinks in: degrees, seconds, metres a second, leg lengths. An action names its
channels for the *near* side (the side that it is done with) and the *far* side, or for ``left`` and ``right``.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from posegen.library.channels import check_channels, check_hand, check_hand_of_layer, check_pose
from posegen.library.objects import Object
from posegen.library.ranges import check_range
from posegen.library.signs import Signs
from posegen.library.strict import Strict

__all__ = ["Action", "ActionFile", "Harmonics", "Key", "Lift", "Manner", "Range", "Theme", "Touch"]

Speeds = tuple[Annotated[float, Field(ge=0, le=15)], Annotated[float, Field(ge=0, le=15)]]
Angles = tuple[Annotated[float, Field(ge=-720, le=720)], Annotated[float, Field(ge=-720, le=720)]]
Seconds = Annotated[float, Field(ge=0, le=60)]
Durations = tuple[Annotated[float, Field(ge=0.1, le=600)], Annotated[float, Field(ge=0.1, le=600)]]
Counts = tuple[Annotated[int, Field(ge=1, le=1000)], Annotated[int, Field(ge=1, le=1000)]]
Coefficients = Annotated[list[Annotated[float, Field(ge=-360, le=360)]], Field(max_length=4)]
Weight = Annotated[float, Field(ge=0, le=1000)]
"""Bounds keep out units that are not meant (milliseconds, centimetres) and what would take for ever."""

Share = Annotated[float, Field(ge=0, le=1)]
Stage = Literal["enter", "cycle", "exit"]
Part = Literal["legs", "trunk", "left_arm", "right_arm", "near_arm", "far_arm", "head"]


class Harmonics(Strict):
    """One channel as a series over the action's cycle: sum of cos[k] cos(2 pi (k + 1) x) + sin[k] sin(2 pi (k + 1) x)."""

    cos: Coefficients = []
    sin: Coefficients = []


Anchor = Literal["chest", "head", "floor", "meeting", "partner"]


class Anchors(Strict):
    """What the places of the near and of the far hand are told from; see :data:`posegen.library.channels.ANCHORS`."""

    near: Anchor = "chest"
    far: Anchor = "chest"


class Key(Strict):
    """A key pose: where the named channels are at one moment.

    `at` counts from the start of the stage, as a share of its duration. Between keys a channel moves by minimum jerk. With
    `through`, it does not come to rest at this key.
    """

    at: Share
    pose: dict[str, float]
    through: bool = False

    @model_validator(mode="after")
    def _channels(self) -> Self:
        check_pose(self.pose)
        return self


class Lift(Strict):
    """A stretch of a stage in which a foot is off the ground, as shares of the stage's duration.

    Between lift and landing the foot goes to where its channels `foot_forward` and `foot_aside` have it at the landing, in leg
    lengths from where it stood; where an action names none of a foot's channels, the angles of the leg have it.
    """

    foot: Literal["near", "far", "left", "right", "both"]
    stage: Stage = "cycle"
    begin: Share
    end: Share

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order(self.begin, self.end)
        return self


class Touch(Strict):
    """A stretch of a stage in which a point of the body that is no foot touches something, as shares of the stage's duration.

    That is a surface, or the other hand.
    """

    point: Literal["near_hand", "far_hand", "both_hand", "near_knee", "far_knee", "both_knee", "seat"]
    stage: Stage = "cycle"
    begin: Share
    end: Share

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order(self.begin, self.end)
        return self


def _check_order(begin: float, end: float) -> None:
    if begin >= end:
        msg = f"begin must be before end (got {begin:g} and {end:g})"
        raise ValueError(msg)


class Manner(Strict):
    """How the steps of a gait differ from plain ones.

    Attributes
    ----------
    direction : where the path leads, seen by who walks it; backward runs the stride backwards in time, sideways leads to the
        near side
    cadence : factor on strides a second
    step : metres from one print to the next, which sets the cadence, as on stairs
    stance : share of the stride that a foot is on the ground each time, instead of the gait's own law
    clearance : metres between sole and floor in mid swing, at least
    width : metres by which the feet are further apart than in walking
    limp : share of the stride by which the near, bad leg hurries over its stance
    rise : metres that each step leads up, or down where negative
    holds : parts that keep the pose instead of swinging with the gait
    """

    direction: Literal["forward", "backward", "sideways"] = "forward"
    cadence: Annotated[float, Field(ge=0.3, le=3)] = 1.0
    step: Annotated[float, Field(ge=0.1, le=1)] | None = None
    stance: Annotated[float, Field(ge=0.08, le=0.8)] | None = None
    clearance: Annotated[float, Field(ge=0, le=0.4)] = 0.034
    width: Annotated[float, Field(ge=-0.3, le=0.3)] = 0.0
    limp: Annotated[float, Field(ge=0, le=0.1)] = 0.0
    rise: Annotated[float, Field(ge=-0.25, le=0.25)] = 0.0
    holds: list[Part] = []


class Range(Strict):
    """A joint's range of motion where an action needs a wider one than is usual, in degrees, and the publication that has it.

    An end that is not given is the usual one.
    """

    min: Annotated[float, Field(ge=-360, le=360)] | None = None
    max: Annotated[float, Field(ge=-360, le=360)] | None = None
    source: Annotated[str, Field(min_length=1, max_length=256)]


class Action(Strict):
    """One action.

    An action passes through three stages: `enter` (from standing into its pose), the cycle, repeated or held, and `exit`
    (back). Keys within a stage shape it; at the end of `enter` and through the cycle the channels stand at `pose`.

    Attributes
    ----------
    parts : parts of the body that it moves and is labelled on
    layered : whether it may lie over another action that leaves its parts free; it then fades in during `enter` and out during
        `exit`, and comes from its own first pose and ends in its last one instead of standing
    sided : whether it is done with one side; channels are then named near and far
    support : what carries the body: `gait` (steps along a path), `planted` (both feet stay), `flight` (both feet leave the
        ground in each cycle), `seat` (sits down on a seat), `floor` (kneels, lies; -1 in `root_height` is the floor,
        and neither root nor feet go further when the action is done larger)
    gait : the pattern of steps, where support is gait
    manner : how its steps differ from plain ones, where support is gait; `pose` and `harmonics` then add to the gait's own
        curves, and harmonics run over the stride: those of a leg or arm from the contact of the foot on its side, those of the
        trunk from that of the near foot. `hop` (on the near foot) and `skip` have no curves but these
    speed : demanded speed, m/s, where support is gait; on the floor (or above it) that of crawling, swimming and the like
    turn : how far one slot may turn the heading, degrees
    duration : seconds that a slot without repetitions lasts at tempo 1
    enter, exit : seconds
    cycle : seconds of one repetition at tempo 1; 0 where there are none
    repetitions : how many
    pose : the channels while the action is on, relative to standing
    harmonics : what repeats in each cycle
    enter_keys, cycle_keys, exit_keys : key poses within a stage
    anchors : what the hand channels of the near and of the far hand are told from; in a gait a hand holds its place
    flight : seconds in the air, and the share of the cycle at which a flight begins; a third number begins a second one
    lifts : when a foot leaves the ground
    touches : when hands, knees or seat touch something, besides what `support` says
    signs : where it shows in the joints which side it is done with, and how often
    ranges : joints that it bends further than usual, by angle; see :data:`posegen.skeleton.JOINT_LIMITS`
    object : what it uses, which the field `objects` has the places of
    weight : how often the story picks it, relative to others
    """

    parts: list[Part]
    layered: bool = False
    sided: bool = False
    support: Literal["gait", "planted", "flight", "seat", "floor"] = "planted"
    gait: Literal["walk", "run", "step", "hop", "skip"] | None = None
    manner: Manner | None = None
    speed: Speeds | None = None
    turn: Angles = (0.0, 0.0)
    duration: Durations | None = None
    enter: Seconds = 0.0
    exit: Seconds = 0.0
    cycle: Seconds = 0.0
    repetitions: Counts | None = None
    pose: dict[str, float] = {}
    harmonics: dict[str, Harmonics] = {}
    enter_keys: list[Key] = []
    cycle_keys: list[Key] = []
    exit_keys: list[Key] = []
    anchors: Anchors = Anchors()
    flight: tuple[Seconds, Share] | tuple[Seconds, Share, Share] | None = None
    lifts: Annotated[list[Lift], Field(max_length=64)] = []
    touches: Annotated[list[Touch], Field(max_length=64)] = []
    signs: Signs = Signs()
    ranges: dict[str, Range] = {}
    object: Object | None = None
    weight: Weight = 1.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_pose(self.pose)
        check_channels(list(self.harmonics))
        for channel, range_ in self.ranges.items():
            check_range(channel, range_.min, range_.max)
        keys = bool(self.enter_keys or self.cycle_keys or self.exit_keys)
        problems = {
            "a gait needs `gait` and `speed`": (self.support == "gait") != (self.gait is not None)
            or (self.gait is not None and self.speed is None),
            "`speed` goes with support: gait or floor": self.speed is not None and self.support not in ("gait", "floor"),
            "`flight` goes with support: flight": (self.support == "flight") != (self.flight is not None),
            "`repetitions` needs a `cycle` of at least 0.1": self.repetitions is not None and self.cycle < 0.1,
            "`lifts` are for actions that stand, jump or lie, on base slots": bool(
                self.lifts and (self.gait or self.support == "seat" or self.layered)
            ),
            "a gait takes no keys, only `pose`, `harmonics` and `manner`": bool(self.gait and keys),
            "`manner` goes with a gait": self.manner is not None and self.gait is None,
            "a gait to one side, on one foot or with a limp is `sided`": not self.sided
            and (
                self.gait == "hop"
                or (self.manner is not None and (self.manner.direction == "sideways" or self.manner.limp > 0))
            ),
            "`layered` needs `enter` and `exit` longer than 0": self.layered and not (self.enter > 0 and self.exit > 0),
            "give either `duration` or `repetitions`": (self.duration is None) == (self.repetitions is None),
            "ranges run from the smaller to the larger": any(
                r is not None and r[0] > r[1] for r in (self.speed, self.turn, self.duration, self.repetitions)
            ),
        }
        for reason, wrong in problems.items():
            if wrong:
                raise ValueError(reason)
        stages = (*self.enter_keys, *self.cycle_keys, *self.exit_keys)
        moved = {*self.pose, *self.harmonics, *(channel for key in stages for channel in key.pose)}
        for hand in ("near", "far"):
            check_hand(hand, set(self.pose), moved)
            if self.layered:
                check_hand_of_layer(hand, moved, set(self.parts))
        return self


class ActionFile(Strict):
    """A file of actions that belong together."""

    family: Annotated[str, Field(min_length=1, max_length=64)]
    actions: dict[str, Action]


class Theme(Strict):
    """A setting: which actions fit it, and how often."""

    actions: dict[str, Weight]
    weight: Weight = 1.0

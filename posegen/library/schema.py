"""The schema of the library: the pydantic models of its files of actions, themes, styles and interactions.

Units in the files are degrees, seconds, metres per second and leg lengths. An action names its channels for the *near* side
(the side that performs it) and the *far* side, or for ``left`` and ``right``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, Field, ValidationError, model_validator

from posegen.foundations.validation import StrictModel
from posegen.library.channels import (
    MOVED_BELOW,
    SIDED_CHANNELS,
    Anchor,
    check_angles,
    check_channels,
    check_hand,
    check_hand_of_layer,
    check_pose,
    check_range,
    widest,
)
from posegen.library.stages import MOST_TRAVEL_KEYS, Key, Lift, Offsets, Share, Stance, Touch, Travel

Pair = TypeVar("Pair", tuple[float, float], tuple[int, int])


def _ascending(pair: Pair) -> Pair:
    if pair[0] > pair[1]:
        raise ValueError(f"ranges run from the smaller to the larger (got {pair[0]:g}, {pair[1]:g})")
    return pair


_Speed = Annotated[float, Field(ge=0, le=15)]
_Angle = Annotated[float, Field(ge=-720, le=720)]
_Duration = Annotated[float, Field(ge=0.1, le=600)]
_Count = Annotated[int, Field(ge=1, le=1000)]
_Metres = Annotated[float, Field(ge=0, le=20)]
Speeds = Annotated[tuple[_Speed, _Speed], AfterValidator(_ascending)]
Angles = Annotated[tuple[_Angle, _Angle], AfterValidator(_ascending)]
Durations = Annotated[tuple[_Duration, _Duration], AfterValidator(_ascending)]
Counts = Annotated[tuple[_Count, _Count], AfterValidator(_ascending)]
Distances = Annotated[tuple[_Metres, _Metres], AfterValidator(_ascending)]
Seconds = Annotated[float, Field(ge=0, le=60)]
Coefficients = Annotated[list[Annotated[float, Field(ge=-360, le=360)]], Field(max_length=4)]
Weight = Annotated[float, Field(ge=0, le=1000)]
"""The bounds refuse wrong units (milliseconds, centimetres) and durations that cannot be generated."""

MOST_STRATEGIES, MOST_PERFORMANCES = 16, 32
Part = Literal["legs", "trunk", "left_arm", "right_arm", "near_arm", "far_arm", "head"]


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


Kind = Literal["bag", "ball", "bat", "book", "box", "chair", "cup", "food"]
OBJECTS: tuple[str, ...] = get_args(Kind)
"""Kinds of objects."""


class Object(StrictModel):
    """An object that an action uses.

    Attributes
    ----------
    kind : kind of object
    at : body part that uses it
    use : `held` throughout; released once per repetition (`thrown`); arrives and is then held (`caught`, or `fielded` with low
        hands); bounces between hand and floor (`bounced`); lies before the foot and flies from it (`kicked`); lies until the
        hand is lowest and is then held (`taken`), or the reverse (`left`); stands (`sat_on`)
    """

    kind: Kind
    at: Literal["near_hand", "far_hand", "both_hands", "near_foot", "seat"] = "near_hand"
    use: Literal["held", "thrown", "caught", "fielded", "bounced", "kicked", "taken", "left", "sat_on"] = "held"


class Harmonics(StrictModel):
    """One channel as a harmonic series over the cycle: sum of cos[k] cos(2 pi (k + 1) x) + sin[k] sin(2 pi (k + 1) x)."""

    cos: Coefficients = []
    sin: Coefficients = []

    @property
    def most(self) -> float:
        """A value that the series exceeds in neither direction."""
        return sum(math.hypot(*both) for both in zip_longest(self.cos, self.sin, fillvalue=0.0))


class Anchors(StrictModel):
    """Reference points of the near and the far hand; see :data:`posegen.library.channels.ANCHORS`."""

    near: Anchor = "chest"
    far: Anchor = "chest"


class GaitOptions(StrictModel):
    """Differences between the steps of a gait and plain ones.

    Attributes
    ----------
    direction : direction of the path relative to the body; backward reverses the stride in time, sideways is to the near side
    cadence : factor on strides per second
    step : metres between footprints, which determines the cadence, as on stairs
    stance : share of the stride for which a foot is on the ground; replaces the default of the gait
    clearance : smallest distance in metres between sole and floor in mid swing
    width : metres added to the distance between the feet
    limp : share of the stride by which the stance of the near, injured leg is shorter
    rise : metres that each step climbs; negative descends
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


class Range(StrictModel):
    """A range of motion in degrees for a joint that an action bends further than usual, and the publication that measured it.

    An end that is not given keeps its usual value.
    """

    min: Annotated[float, Field(ge=-360, le=360)] | None = None
    max: Annotated[float, Field(ge=-360, le=360)] | None = None
    source: Annotated[str, Field(min_length=1, max_length=256)]


class Strategy(StrictModel):
    """Another way to perform an action: what it gives replaces that of the action.

    `weight` is its frequency relative to the action as written, which has 1.
    """

    weight: Weight = 1.0
    pose: dict[str, float] | None = None
    offsets: Offsets | None = None
    harmonics: dict[str, Harmonics] | None = None
    enter_keys: list[Key] | None = None
    cycle_keys: list[Key] | None = None
    exit_keys: list[Key] | None = None
    anchors: Anchors | None = None
    flight: tuple[Seconds, Share] | tuple[Seconds, Share, Share] | None = None
    lifts: Annotated[list[Lift], Field(max_length=64)] | None = None
    touches: Annotated[list[Touch], Field(max_length=64)] | None = None
    travel: Annotated[list[Travel], Field(max_length=MOST_TRAVEL_KEYS)] | None = None


class Action(StrictModel):
    """One action.

    An action has three stages: `enter` (from standing into its pose), the cycle, repeated or held, and `exit` (back to
    standing). Keys shape a stage; at the end of `enter` and during the cycle the channels have the values of `pose`.

    Attributes
    ----------
    parts : body parts that it moves, and that are labelled with it
    layered : whether it may be a layer over another action that leaves its parts free; it then fades in during `enter` and out
        during `exit`, and starts and ends in its own pose instead of standing
    sided : whether it is performed with one side; its channels are then named near and far
    support : what supports the body: `gait` (steps along a path), `planted` (both feet stay), `flight` (both feet leave the
        ground in each cycle), `seat` (sits down on a seat), `floor` (kneels, lies; -1 in `root_height` is the floor,
        and the amplitude does not scale the movement of root and feet)
    gait : pattern of steps, if support is gait
    manner : options of the gait; `pose` and `harmonics` then add to the curves of the gait, and the cycle of harmonics is the
        stride: for a leg or arm from the contact of the foot on its side, for the trunk from that of the near foot. `hop` (on
        the near foot) and `skip` have no other curves
    speed : range of speeds in m/s; for support gait, and for crawling
    turn : range of the turn of the heading in one segment, degrees, positive to the left; on the spot, a range of positive
        numbers is a turn to either side
    duration : range of seconds of a segment without repetitions at tempo 1
    enter, exit : seconds
    cycle : seconds of one repetition at tempo 1; 0 without repetitions
    repetitions : range of their number
    pose : values of channels during the cycle, relative to standing
    offsets : what is added to `pose`, and to the pose of each key, in proportion to up to three numbers from -1 to 1 that each
        person draws: directions in which performances differ
    harmonics : movement that repeats in each cycle; in parts that a layer does not have, it is added to what they do
    enter_keys, cycle_keys, exit_keys : key poses within a stage
    anchors : reference points of the hand channels; during a gait a hand keeps its position
    flight : seconds in the air, and the share of the cycle at which the flight begins; a third number begins a second flight
    lifts : intervals in which a foot is off the ground
    touches : intervals in which hands, knees or seat touch something, beside those that follow from `support`
    travel : how fast the body travels and turns during the cycle, without a gait; root and feet are then relative to that path,
        and the amplitude scales none of them
    signs : signals in the joints that show its side and its repetitions
    ranges : wider ranges of motion by angle; see :data:`posegen.foundations.skeleton.JOINT_LIMITS`
    object : object that it uses, whose positions the field `objects` contains
    weight : relative frequency in its themes
    strategies : other ways to perform it, by name
    stances : steps into a stance that it may be performed in, by name
    usual : share of performances in which a person takes its usual strategy instead of any
    freedom : factor on the differences between persons, and between repetitions
    """

    parts: list[Part]
    layered: bool = False
    sided: bool = False
    support: Literal["gait", "planted", "flight", "seat", "floor"] = "planted"
    gait: Literal["walk", "run", "step", "hop", "skip"] | None = None
    manner: GaitOptions | None = None
    speed: Speeds | None = None
    turn: Angles = (0.0, 0.0)
    duration: Durations | None = None
    enter: Seconds = 0.0
    exit: Seconds = 0.0
    cycle: Seconds = 0.0
    repetitions: Counts | None = None
    pose: dict[str, float] = {}
    offsets: Offsets = []
    harmonics: dict[str, Harmonics] = {}
    enter_keys: list[Key] = []
    cycle_keys: list[Key] = []
    exit_keys: list[Key] = []
    anchors: Anchors = Anchors()
    flight: tuple[Seconds, Share] | tuple[Seconds, Share, Share] | None = None
    lifts: Annotated[list[Lift], Field(max_length=64)] = []
    touches: Annotated[list[Touch], Field(max_length=64)] = []
    travel: Annotated[list[Travel], Field(max_length=MOST_TRAVEL_KEYS)] = []
    signs: Signs = Signs()
    ranges: dict[str, Range] = {}
    object: Object | None = None
    weight: Weight = 1.0
    strategies: dict[str, Strategy] = {}
    stances: dict[str, Stance] = {}
    usual: Share = 0.7
    freedom: Annotated[float, Field(ge=0, le=2)] = 1.0

    @cached_property
    def performances(self) -> tuple[Action, ...]:
        """The action as written, then as performed by each strategy, then each of these in each stance that it allows."""
        stood = (
            self._performed(f"stances.{name}", stance.applied(one.pose, one.keys, one.lifts), one)
            for _, one, name, stance in self._stood
        )
        return (*self._plain, *stood)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The frequency of each performance, relative to the action as written with and without stances."""
        plain = [1.0, *(each.weight for each in self.strategies.values())]
        stood = [plain[k] * stance.weight for k, _, _, stance in self._stood]
        left = [1.0 - sum(stance.weight for i, _, _, stance in self._stood if i == k) for k in range(len(plain))]
        return (*(weight * share for weight, share in zip(plain, left, strict=True)), *stood)

    @property
    def keys(self) -> dict[str, list[Key]]:
        """The key poses of each stage."""
        return {"enter": self.enter_keys, "cycle": self.cycle_keys, "exit": self.exit_keys}

    @property
    def moved(self) -> set[str]:
        """The channels that it moves."""
        return {*self.pose, *self.harmonics, *(channel for keys in self.keys.values() for key in keys for channel in key.pose)}

    @cached_property
    def _plain(self) -> tuple[Action, ...]:
        others = (
            (name, each.model_dump(exclude_none=True, exclude_unset=True, exclude={"weight"}))
            for name, each in self.strategies.items()
        )
        return (self, *(self._performed(f"strategies.{name}", changes, self) for name, changes in others))

    @cached_property
    def _stood(self) -> tuple[tuple[int, Action, str, Stance], ...]:
        return tuple(
            (k, one, name, stance)
            for k, one in enumerate(self._plain)
            for name, stance in self.stances.items()
            if stance.allows(one.moved, one.lifts)
        )

    def _performed(self, name: str, changes: Mapping[str, Any], action: Action) -> Action:
        own = action.model_dump(exclude_unset=True, exclude={"strategies", "stances"})
        try:
            return Action.model_validate(own | dict(changes))
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]
            raise ValueError(f"{name}: {reason.get('ctx', {}).get('error', reason['msg'])}") from None

    def _travels(self) -> bool:
        if not self.travel:
            return True
        at = [key.at for key in self.travel]
        plain = self.repetitions is not None and self.gait is None and not self.layered and self.speed is None
        return plain and at[0] == 0 and at[-1] == 1 and all(a < b for a, b in pairwise(at))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.strategies) >= MOST_STRATEGIES:
            msg = f"an action has at most {MOST_STRATEGIES - 1} strategies (got {len(self.strategies)})"
            raise ValueError(msg)
        for pose in (self.pose, *self.offsets):
            check_pose(pose)
        check_channels(list(self.harmonics))
        for channel, range_ in self.ranges.items():
            check_range(channel, range_.min, range_.max)
        wider = {channel: widest(channel, range_.min, range_.max) for channel, range_ in self.ranges.items()}
        still = dict.fromkeys(self.harmonics, 0.0) | self.pose
        for pose in (still, *(key.pose for keys in self.keys.values() for key in keys)):
            check_angles(pose, wider)
            moved = {channel: (pose[channel], series.most) for channel, series in self.harmonics.items() if channel in pose}
            check_angles({channel: middle + most for channel, (middle, most) in moved.items()}, wider)
            check_angles({channel: middle - most for channel, (middle, most) in moved.items()}, wider, MOVED_BELOW)
        keys = any(self.keys.values())
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
            "`travel` needs `repetitions` and `at` that ascends from 0 to 1; a gait or a layer takes none": not self._travels(),
            "`manner` goes with a gait": self.manner is not None and self.gait is None,
            "a gait to one side, on one foot or with a limp is `sided`": not self.sided
            and (
                self.gait == "hop"
                or (self.manner is not None and (self.manner.direction == "sideways" or self.manner.limp > 0))
            ),
            "`layered` needs `enter` and `exit` longer than 0": self.layered and not (self.enter > 0 and self.exit > 0),
            "give either `duration` or `repetitions`": (self.duration is None) == (self.repetitions is None),
        }
        for reason, wrong in problems.items():
            if wrong:
                raise ValueError(reason)
        for hand in ("near", "far"):
            check_hand(hand, set(self.pose), self.moved)
            if self.layered:
                check_hand_of_layer(hand, self.moved, set(self.parts))
        if sum(stance.weight for stance in self.stances.values()) >= 1:
            raise ValueError("the weights of `stances` add up to less than 1")
        if len(self.performances) > MOST_PERFORMANCES:  # each must be consistent
            msg = (
                f"an action has at most {MOST_PERFORMANCES} strategies, with and without stances (got {len(self.performances)})"
            )
            raise ValueError(msg)
        return self


class Theme(StrictModel):
    """A setting: its actions with their relative frequencies."""

    actions: dict[str, Weight]
    weight: Weight = 1.0


NEUTRAL = "neutral"
"""Name of the style of actions as written; it has no entry in a file."""

Factor = Annotated[float, Field(ge=0.5, le=1.5)]
_POSTURE = (
    "pelvis_tilt",
    "trunk_flexion",
    "neck_flexion",
    *(f"both_{c}" for c in SIDED_CHANNELS if not c.startswith("foot_")),
)
_FLAT = {"both_hip_flexion": 1, "both_ankle_dorsiflexion": 1, "both_knee_flexion": -1, "pelvis_tilt": -1}
_STEEPEST = 45.0


class Style(StrictModel):
    """Differences between a person with this style and one without.

    Attributes
    ----------
    tempo, amplitude : factors on the pace and the size of every action
    speed : factor on the speed of locomotion, within the limits of the gait
    cadence : factor on the steps per minute of a walk at the same speed
    arm_swing : factor on the swing of the arms in walking and running
    sway : factor on the sway in standing
    bounce : leg lengths added to the vertical amplitude of the pelvis in each step of a walk; may be negative
    sideways : leg lengths added to the lateral amplitude of the pelvis in a walk
    width : metres added to the distance between the feet in walking
    stance : share of the stride added to the stance of each foot in walking
    clearance : metres added to the height of swinging feet in walking
    posture : degrees added to channels in standing, sitting and locomotion; the feet stay flat
    from_age : lowest age in years; the style becomes more frequent with each year above
    """

    tempo: Factor = 1.0
    amplitude: Factor = 1.0
    speed: Factor = 1.0
    cadence: Factor = 1.0
    arm_swing: Annotated[float, Field(ge=0, le=2)] = 1.0
    sway: Annotated[float, Field(ge=0, le=3)] = 1.0
    bounce: Annotated[float, Field(ge=-0.01, le=0.02)] = 0.0
    sideways: Annotated[float, Field(ge=-0.02, le=0.04)] = 0.0
    width: Annotated[float, Field(ge=-0.05, le=0.15)] = 0.0
    stance: Annotated[float, Field(ge=-0.05, le=0.08)] = 0.0
    clearance: Annotated[float, Field(ge=0, le=0.1)] = 0.0
    posture: dict[str, float] = Field(default_factory=dict)
    from_age: Annotated[float, Field(ge=0, le=100)] = 0.0

    @model_validator(mode="after")
    def _posture(self) -> Self:
        check_pose(self.posture)
        for name, value in self.posture.items():
            if name not in _POSTURE:
                msg = f"{name} is not a posture; use an angle that is equal on both sides, one of {', '.join(_POSTURE)}"
                raise ValueError(msg)
            if abs(value) > _STEEPEST:
                raise ValueError(f"{name} must be between -{_STEEPEST:g} and {_STEEPEST:g} degrees (got {value:.15g})")
        tilted = sum(sign * self.posture.get(name, 0.0) for name, sign in _FLAT.items())
        if abs(tilted) > 1e-9:
            off = f"(off by {tilted:.15g} degrees)"
            raise ValueError(f"the feet would not be flat: hip and ankle must compensate for knee and pelvis tilt {off}")
        return self


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
    metres: Distances = (0.0, 0.0)
    aside: Annotated[float, Field(ge=-1, le=1)] = 0.0
    unlike: Annotated[float, Field(ge=1, le=10)] = 10.0
    behind: Annotated[bool, Field(strict=True)] = False
    beats: Annotated[list[Beat], Field(min_length=1, max_length=8)]
    rounds: Counts = (1, 1)
    hold: Durations = (1.0, 2.0)
    weight: Weight = 1.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.arms and not self.metres[0]:
            raise ValueError("give the distance between the actors by `arms` or `metres`")
        return self

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions of both actors, each once."""
        return tuple(dict.fromkeys(name for beat in self.beats for name in (beat.first, beat.second)))

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the actions of the first and of the second actor, each once, in the order of the beats."""
        return tuple(dict.fromkeys(beat.first for beat in self.beats)), tuple(dict.fromkeys(beat.second for beat in self.beats))


Terms = Annotated[str, Field(min_length=1, max_length=500)]


class ActionFile(StrictModel):
    """A file with a family of actions.

    `licence` and `source` are those of the clips from which its actions are made; a file written by hand has none.
    """

    family: Annotated[str, Field(min_length=1, max_length=64)]
    licence: Terms | None = None
    source: Terms | None = None
    actions: dict[str, Action]


class ThemeFile(StrictModel):
    """The file of themes."""

    themes: dict[str, Theme]


class StyleFile(StrictModel):
    """The file of styles."""

    styles: dict[str, Style]


class InteractionFile(StrictModel):
    """The file of interactions."""

    interactions: dict[str, Interaction]

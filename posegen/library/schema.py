"""The schema of actions: the pydantic models of the library's action files.

The schema states the unit of each number. An action names its channels for the *near* side
(the side that performs it) and the *far* side, or for ``left`` and ``right``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from posegen.foundations.validation import StrictModel
from posegen.library.channels import Anchor, check_angles, check_channels, check_hand, check_pose, check_range, widest
from posegen.library.stages import MOST_TRAVEL_KEYS, STAGES, Key, Lift, Offsets, Share, Signs, Stance, Touch, Travel, measured

Pair = TypeVar("Pair", tuple[float, float], tuple[int, int])


def _ascending(pair: Pair) -> Pair:
    if pair[0] > pair[1]:
        raise ValueError(f"ranges run from the smaller to the larger (got {pair[0]:g}, {pair[1]:g})")
    return pair


_Speed = Annotated[float, measured("metres per second", 0, 15)]
_Angle = Annotated[float, measured("degrees", -720, 720)]
_Duration = Annotated[float, measured("seconds", 0.1, 600)]
_Count = Annotated[int, Field(ge=1, le=1000)]
_Metres = Annotated[float, measured("metres", 0, 20)]
Speeds = Annotated[tuple[_Speed, _Speed], AfterValidator(_ascending)]
Angles = Annotated[tuple[_Angle, _Angle], AfterValidator(_ascending)]
Durations = Annotated[tuple[_Duration, _Duration], AfterValidator(_ascending)]
Counts = Annotated[tuple[_Count, _Count], AfterValidator(_ascending)]
Distances = Annotated[tuple[_Metres, _Metres], AfterValidator(_ascending)]
Seconds = Annotated[float, measured("seconds", 0, 60)]
Coefficients = Annotated[list[Annotated[float, Field(ge=-360, le=360)]], Field(max_length=4)]
Weight = Annotated[float, Field(ge=0, le=1000)]
"""The bounds refuse wrong units (milliseconds, centimetres) and durations that cannot be generated."""

MOST_STRATEGIES, MOST_PERFORMANCES = 16, 32
Part = Literal["legs", "trunk", "left_arm", "right_arm", "near_arm", "far_arm", "head"]


class Renamed(StrictModel):
    """A model whose keys had other names.

    The serialization alias of a field is its former name. Identities of datasets are computed with these names, so that a
    dataset of an earlier version is extended as before.
    """


def formerly(name: str) -> Any:
    """Return the field of a key with a former name."""
    return Field(serialization_alias=name)


Flight = tuple[Seconds, Share] | tuple[Seconds, Share, Share]
_LACKING: dict[str, Any] = {"gait": None, "gait_style": None, "speed": None, "flight": None, "lifts": [], "travel": []}
_LACKING |= {f"{stage}_keys": [] for stage in STAGES}
"""Values of the keys that some actions lack."""

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


class GaitStyle(Renamed):
    """Differences between the steps of a gait and plain ones.

    Attributes
    ----------
    direction : direction of the path relative to the body; backward reverses the stride in time, sideways is to the near side
    cadence : factor on strides per second
    step : metres between footprints, which determines the cadence, as on stairs
    stance : share of the stride for which a foot is on the ground; replaces the default of the gait
    clearance : smallest distance in metres between sole and floor in mid swing
    width : metres added to the distance between the feet
    limp : share of the stride that the stance of the near, injured leg lacks
    rise : metres that each step climbs; negative descends
    fixed_parts : parts that keep the pose instead of swinging with the gait
    """

    direction: Literal["forward", "backward", "sideways"] = "forward"
    cadence: Annotated[float, Field(ge=0.3, le=3)] = 1.0
    step: Annotated[float, measured("metres", 0.1, 1)] | None = None
    stance: Annotated[float, Field(ge=0.08, le=0.8)] | None = None
    clearance: Annotated[float, measured("metres", 0, 0.4)] = 0.034
    width: Annotated[float, measured("metres", -0.3, 0.3)] = 0.0
    limp: Annotated[float, Field(ge=0, le=0.1)] = 0.0
    rise: Annotated[float, measured("metres", -0.25, 0.25)] = 0.0
    fixed_parts: Annotated[list[Part], formerly("holds")] = []


class Range(StrictModel):
    """A range of motion in degrees for a joint that an action bends further than usual, and the publication that measured it.

    An end that is not given keeps its usual value.
    """

    min: Annotated[float, measured("degrees", -360, 360)] | None = None
    max: Annotated[float, measured("degrees", -360, 360)] | None = None
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
    flight: Flight | None = None
    lifts: Annotated[list[Lift], Field(max_length=64)] | None = None
    touches: Annotated[list[Touch], Field(max_length=64)] | None = None
    travel: Annotated[list[Travel], Field(max_length=MOST_TRAVEL_KEYS)] | None = None


class Action(Renamed):
    """One action: the keys of all actions. `support` selects the class below with the other keys.

    An action has three stages: `enter` (from standing into its pose), the cycle, repeated or held, and `exit` (back to
    standing). Keys shape a stage; at the end of `enter` and during the cycle the channels have the values of `pose`.

    Attributes
    ----------
    parts : body parts that it moves, and that are labelled with it
    layered : whether it may be a layer over another action that leaves its parts free; it then fades in during `enter` and out
        during `exit`, and starts and ends in its own pose instead of standing
    sided : whether it is performed with one side; its channels are then named near and far
    support : what supports the body: `gait` (steps along a path), `planted` (both feet stay; the default), `flight` (both feet
        leave the ground in each cycle), `seat` (sits down on a seat), `floor` (kneels, lies; -1 in `root_height` is the floor,
        and the amplitude does not scale the movement of root and feet)
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
    anchors : reference points of the hand channels; during a gait a hand keeps its position
    touches : intervals in which hands, knees or seat touch something, beside those that follow from `support`
    signs : signals in the joints that show its side and its repetitions
    ranges : wider ranges of motion by angle; see :data:`posegen.foundations.skeleton.JOINT_LIMITS`
    limbs_cross : whether limbs of most bodies cross in it, a flaw of the clip that it was imported from; samples are then not
        resampled for that, and list it as `flaw` under `dropped`
    object : object that it uses, whose positions the field `objects` contains
    weight : relative frequency in its themes
    strategies : other ways to perform it, by name
    stances : steps into a stance that it may be performed in, by name
    habit_share : share of performances in which a person takes its habitual strategy instead of any
    variation : factor on the differences between persons, and between repetitions
    """

    parts: list[Part]
    layered: bool = False
    sided: bool = False
    support: Literal["planted", "gait", "flight", "seat", "floor"] = "planted"
    turn: Angles = (0.0, 0.0)
    duration: Durations | None = None
    enter: Seconds = 0.0
    exit: Seconds = 0.0
    cycle: Seconds = 0.0
    repetitions: Counts | None = None
    pose: dict[str, float] = {}
    offsets: Offsets = []
    harmonics: dict[str, Harmonics] = {}
    anchors: Anchors = Anchors()
    touches: Annotated[list[Touch], Field(max_length=64)] = []
    signs: Signs = Signs()
    ranges: dict[str, Range] = {}
    limbs_cross: bool = False
    object: Object | None = None
    weight: Weight = 1.0
    strategies: dict[str, Strategy] = {}
    stances: dict[str, Stance] = {}
    habit_share: Annotated[Share, formerly("usual")] = 0.7
    variation: Annotated[float, Field(ge=0, le=2), formerly("freedom")] = 1.0

    @model_validator(mode="wrap")
    @classmethod
    def _by_support(cls, data: Any, validate: ModelWrapValidatorHandler[Action]) -> Action:
        """Validate as the class of the support, if there is one of that name."""
        support = data.get("support", "planted") if isinstance(data, Mapping) else None
        if cls is not Action or support not in KINDS:
            return validate(data)
        for key in data:
            homes = [name for name, kind in KINDS.items() if key in kind.model_fields]
            if homes and support not in homes:
                raise ValueError(f"`{key}` goes with support: {' or '.join(homes)}")
        return KINDS[support].model_validate(data)

    if TYPE_CHECKING:  # keys that some actions lack
        gait: str | None = None
        gait_style: GaitStyle | None = None
        speed: tuple[float, float] | None = None
        flight: tuple[float, ...] | None = None
        lifts: list[Lift] = []
        travel: list[Travel] = []
        enter_keys: list[Key] = []
        cycle_keys: list[Key] = []
        exit_keys: list[Key] = []
    else:

        def __getattr__(self, name: str) -> Any:
            """Return the value that stands for none of a key that this action lacks."""
            return _LACKING[name] if name in _LACKING else super().__getattr__(name)

    def as_data(self) -> dict[str, Any]:
        """Return plain data for the identity of a dataset: with all keys that any action has, by their former names."""
        absent = {{"gait_style": "manner"}.get(name, name): value for name, value in _LACKING.items()}
        # Without a flaw, the identity is that of before there was this key.
        return absent | self.model_dump(mode="json", by_alias=True, exclude=None if self.limbs_cross else {"limbs_cross"})

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
        return {stage: getattr(self, f"{stage}_keys") for stage in STAGES}

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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for pose in (self.pose, *self.offsets):
            check_pose(pose)
        check_channels(list(self.harmonics))
        self._check_ranges()
        style = self.gait_style
        one_sided = self.gait == "hop" or (style is not None and (style.direction == "sideways" or style.limp > 0))
        at, plain = [key.at for key in self.travel], self.repetitions is not None and not self.layered and self.speed is None
        odd = bool(at) and not (plain and at[0] == 0 and at[-1] == 1 and all(a < b for a, b in pairwise(at)))
        problems = {
            "`repetitions` needs a `cycle` of at least 0.1": self.repetitions is not None and self.cycle < 0.1,
            "`lifts` are for actions on base slots: a layer takes none": bool(self.lifts and self.layered),
            "`travel` needs `repetitions` and `at` that ascends from 0 to 1; with `speed`, and in a layer, there is none": odd,
            "a gait to one side, on one foot or with a limp is `sided`": one_sided and not self.sided,
            "`layered` needs `enter` and `exit` longer than 0": self.layered and not (self.enter > 0 and self.exit > 0),
            "give either `duration` or `repetitions`": (self.duration is None) == (self.repetitions is None),
            "the weights of `stances` add up to less than 1": sum(stance.weight for stance in self.stances.values()) >= 1,
            f"an action has at most {MOST_STRATEGIES - 1} strategies": len(self.strategies) >= MOST_STRATEGIES,
        }
        for reason, found in problems.items():
            if found:
                raise ValueError(reason)
        for hand in ("near", "far"):
            check_hand(hand, set(self.pose), self.moved, set(self.parts) if self.layered else None)
        if len(self.performances) > MOST_PERFORMANCES:  # each must be consistent
            raise ValueError(f"an action has at most {MOST_PERFORMANCES} strategies, with and without stances")
        return self

    def _check_ranges(self) -> None:
        """Refuse poses and movements outside the ranges of joints, and ranges that are not wider."""
        for channel, range_ in self.ranges.items():
            check_range(channel, range_.min, range_.max)
        wider = {channel: widest(channel, range_.min, range_.max) for channel, range_ in self.ranges.items()}
        still = dict.fromkeys(self.harmonics, 0.0) | self.pose
        for pose in (still, *(key.pose for keys in self.keys.values() for key in keys)):
            check_angles(pose, wider)
            moved = {channel: (pose[channel], series.most) for channel, series in self.harmonics.items() if channel in pose}
            check_angles({channel: middle + most for channel, (middle, most) in moved.items()}, wider)
            check_angles({channel: middle - most for channel, (middle, most) in moved.items()}, wider, moves=True)


class _Keyed(Action):
    """An action without a gait.

    Attributes
    ----------
    enter_keys, cycle_keys, exit_keys : key poses within a stage
    travel : how fast the body travels and turns during the cycle; root and feet are then relative to that path, and the
        amplitude scales none of them
    """

    enter_keys: list[Key] = []
    cycle_keys: list[Key] = []
    exit_keys: list[Key] = []
    travel: Annotated[list[Travel], Field(max_length=MOST_TRAVEL_KEYS)] = []


class _Lifting(_Keyed):
    """An action that may lift its feet.

    Attributes
    ----------
    lifts : intervals in which a foot is off the ground
    """

    lifts: Annotated[list[Lift], Field(max_length=64)] = []


class PlantedAction(_Lifting):
    """An action on both feet."""

    support: Literal["planted"] = "planted"


class SeatAction(_Keyed):
    """An action on a seat."""

    support: Literal["seat"]


class FloorAction(_Lifting):
    """An action on the floor.

    Attributes
    ----------
    speed : range of speeds in m/s, for crawling
    """

    support: Literal["floor"]
    speed: Speeds | None = None


class FlightAction(_Lifting):
    """An action with a flight in each cycle.

    Attributes
    ----------
    flight : seconds in the air, and the share of the cycle at which the flight begins; a third number begins a second flight
    """

    support: Literal["flight"]
    flight: Flight


class GaitAction(Action):
    """An action with steps along a path. `pose` and `harmonics` add to the curves of the gait.

    Attributes
    ----------
    gait : pattern of steps; `hop` (on the near foot) and `skip` have no other curves
    gait_style : differences from plain steps; the cycle of harmonics is the stride: for a leg or arm from the contact of the
        foot on its side, for the trunk from that of the near foot
    speed : range of speeds in m/s
    """

    support: Literal["gait"]
    gait: Literal["walk", "run", "step", "hop", "skip"]
    gait_style: Annotated[GaitStyle | None, formerly("manner")] = None
    speed: Speeds


KINDS: dict[str, type[Action]] = {
    "planted": PlantedAction,
    "gait": GaitAction,
    "flight": FlightAction,
    "seat": SeatAction,
    "floor": FloorAction,
}
"""The class of an action by its support."""


Terms = Annotated[str, Field(min_length=1, max_length=500)]


class ActionFile(StrictModel):
    """A file with a family of actions.

    `licence` and `source` are those of the clips from which its actions are made; a file written by hand has none.
    """

    family: Annotated[str, Field(min_length=1, max_length=64)]
    licence: Terms | None = None
    source: Terms | None = None
    actions: dict[str, Action]

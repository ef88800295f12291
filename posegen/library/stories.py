"""The schema of themes, styles and interactions: the pydantic models of the library's other files.

The schema states the unit of each number; see :func:`posegen.library.stages.measured`.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from posegen.foundations.validation import StrictModel
from posegen.library.channels import SIDED_CHANNELS, check_pose
from posegen.library.schema import Counts, Distances, Durations, Renamed, Weight, formerly
from posegen.library.stages import LEG_LENGTHS, Share, measured


class Theme(StrictModel):
    """A setting: its actions with their relative frequencies."""

    actions: dict[str, Weight]
    weight: Weight = 1.0


NEUTRAL = "neutral"
"""Name of the style of actions as written; it has no entry in a file."""

Factor = Annotated[float, Field(ge=0.5, le=1.5)]
_POSTURE = ("pelvis_tilt", "trunk_flexion", "neck_flexion", *(f"both_{c}" for c in SIDED_CHANNELS if not c.startswith("foot_")))
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
    bounce: Annotated[float, measured(LEG_LENGTHS, -0.01, 0.02)] = 0.0
    sideways: Annotated[float, measured(LEG_LENGTHS, -0.02, 0.04)] = 0.0
    width: Annotated[float, measured("metres", -0.05, 0.15)] = 0.0
    stance: Annotated[float, Field(ge=-0.05, le=0.08)] = 0.0
    clearance: Annotated[float, measured("metres", 0, 0.1)] = 0.0
    posture: dict[str, float] = Field(default_factory=dict)
    from_age: Annotated[float, measured("years", 0, 100)] = 0.0

    @model_validator(mode="after")
    def _posture(self) -> Self:
        check_pose(self.posture)
        for name, value in self.posture.items():
            if name not in _POSTURE:
                raise ValueError(f"{name} is not a posture; use an angle of both sides, one of {', '.join(_POSTURE)}")
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
    speed: Annotated[float, measured("metres per second", 1, 40)]


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
    later: Annotated[float, measured("seconds", 0, 10)] = 0.0
    thrown: Throw | None = None


class Interaction(Renamed):
    """An interaction of two actors.

    Attributes
    ----------
    checked_by : signal in the joints that shows that they interact
    arms, metres : distance between them: a multiple of the summed length of both arms, plus a range in metres
    aside : lateral offset of each from the other's near hand, in summed lengths of both arms
    max_stature_ratio : largest ratio of their statures
    behind : whether the second actor walks behind the first
    beats : consecutive pairs of actions
    rounds : range of the number of times that all beats are performed
    hold : range of seconds at tempo 1 of actions without repetitions
    weight : relative frequency
    """

    checked_by: Annotated[Literal["hands", "chests", "facing", "behind"], formerly("seen")]
    arms: Annotated[float, measured("lengths of both arms", 0, 5)] = 0.0
    metres: Distances = (0.0, 0.0)
    aside: Annotated[float, measured("lengths of both arms", -1, 1)] = 0.0
    max_stature_ratio: Annotated[float, Field(ge=1, le=10), formerly("unlike")] = 10.0
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


class ThemeFile(StrictModel):
    """The file of themes."""

    themes: dict[str, Theme]


class StyleFile(StrictModel):
    """The file of styles."""

    styles: dict[str, Style]


class InteractionFile(StrictModel):
    """The file of interactions."""

    interactions: dict[str, Interaction]

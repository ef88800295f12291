"""What a style is, as data: how a person moves, whatever the action; the model that ``styles.yaml`` is checked by."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from posegen.library.channels import SIDED_CHANNELS, check_pose
from posegen.library.strict import Strict

__all__ = ["NEUTRAL", "Style", "StyleFile"]

NEUTRAL = "neutral"
"""The style of who has none: the actions as they are written. It is no entry of a file."""

Factor = Annotated[float, Field(ge=0.5, le=1.5)]
_POSTURE = (
    "pelvis_tilt",
    "trunk_flexion",
    "neck_flexion",
    *(f"both_{c}" for c in SIDED_CHANNELS if not c.startswith("foot_")),
)
_FLAT = {"both_hip_flexion": 1, "both_ankle_dorsiflexion": 1, "both_knee_flexion": -1, "pelvis_tilt": -1}
_STEEPEST = 45.0


class Style(Strict):
    """How a person differs from one without a style.

    Attributes
    ----------
    tempo, amplitude : factors on the pace and the size of every action
    speed : factor on the speed of getting along, as far as the gait allows
    cadence : factor on the steps a minute of a walk at the same speed: above 1 they are shorter
    arm_swing : factor on the swing of the arms in walking and running
    sway : factor on the wandering of who stands
    bounce : leg lengths by which the pelvis rises and falls more about its middle in each step of a walk, or less
    sideways : leg lengths by which the pelvis swings further to either side in a walk
    width : metres by which the feet are further apart in walking
    stance : share of the stride that a foot is longer on the ground in walking
    clearance : metres that swinging feet are lifted higher in walking
    posture : degrees by which channels differ from the usual posture, standing, sitting and moving along; the feet stay flat
    from_age : years from which on somebody may have it; it becomes likelier with every year more
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
                msg = f"{name} is no posture: take an angle that is alike on both sides, one of {', '.join(_POSTURE)}"
                raise ValueError(msg)
            if abs(value) > _STEEPEST:
                msg = f"{name} is in degrees from the usual posture, at most {_STEEPEST:g} either way (got {value:.15g})"
                raise ValueError(msg)
        tilted = sum(sign * self.posture.get(name, 0.0) for name, sign in _FLAT.items())
        if abs(tilted) > 1e-9:
            off = f"(off by {tilted:.15g} degrees)"
            msg = f"the feet would not be flat: hip and ankle must make up for knee and pelvis tilt {off}"
            raise ValueError(msg)
        return self


class StyleFile(Strict):
    """A file of styles."""

    styles: dict[str, Style]

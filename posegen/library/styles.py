"""The schema of styles, which modify every action of a person: the pydantic model of ``styles.yaml``."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from posegen.library.channels import SIDED_CHANNELS, check_pose
from posegen.validation import StrictModel

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
                msg = f"{name} must be between -{_STEEPEST:g} and {_STEEPEST:g} degrees (got {value:.15g})"
                raise ValueError(msg)
        tilted = sum(sign * self.posture.get(name, 0.0) for name, sign in _FLAT.items())
        if abs(tilted) > 1e-9:
            off = f"(off by {tilted:.15g} degrees)"
            msg = f"the feet would not be flat: hip and ankle must compensate for knee and pelvis tilt {off}"
            raise ValueError(msg)
        return self


class StyleFile(StrictModel):
    """A file of styles."""

    styles: dict[str, Style]

"""The personal gait of a walker or runner: how its curves differ from the mean curves of many people.

The standard deviations are about those between healthy adults (Schwartz et al. 2008 for legs and pelvis, CGM 2.3 normative data
for trunk and arms). Both legs of a person differ a little.
"""

from __future__ import annotations

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.scene import Habit
from posegen.library.channels import CHANNELS, channels_named
from posegen.motion.gait import steps
from posegen.motion.gait.curves import HARMONICS

TRUNK_FLEXION, TILT = CHANNELS.index("trunk_flexion"), CHANNELS.index("pelvis_tilt")
TURNED = (CHANNELS.index("pelvis_rotation"), CHANNELS.index("pelvis_obliquity"), CHANNELS.index("trunk_rotation"))
HIPS, KNEES, ANKLES, SHOULDERS, ELBOWS = (
    tuple(channels_named(name))
    for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion", "shoulder_flexion", "elbow_flexion")
)
SWING_BEND = 0.1762, (-0.1272, -0.1645, 0.1391, -0.0046, -0.0263, 0.0071), (-0.2940, 0.1751, 0.0501, -0.0738, 0.0134, 0.0059)
"""A knee that bends further in its swing: ((1 + cos) / 2)^10 about 68.5 per cent of the stride, 1 at its peak."""
MORE_BEND, MORE_RUNNING_BEND, FASTER_BEND = 5.0 / 360, 9.0 / 360, 2.7 / 360
"""Turns by which the knee of each person bends further in its swing than the mean of many, which is flatter since their peaks
differ in time: in walking, in running at 3 m/s, and by how much less for each m/s above.
"""
CROUCH, MEAN_CROUCH, LEAST_CROUCH = 3.0 / 360, 0.5 / 360, -2.5 / 360
"""Standard deviation of the flexion of a knee throughout the stride, what is taken off it so that the mean is 0, and its least
value: legs are nearly straight already.
"""
SWING_KNEE = 4.0 / 360
"""Standard deviation of the additional bend of a swinging knee."""
STRIDE, PUSH = 0.04, 0.1
"""Standard deviations of the size of the curves of hips and ankles."""
TILTED, SHOULDER, ELBOW = 2.5 / 360, 3.0 / 360, 6.0 / 360
"""Standard deviations of the offsets of pelvic tilt, shoulders and elbows."""
TURNING, NODDING = 0.25, 0.45
"""Standard deviations of the size of the swing of pelvis and trunk, and of the nodding of the trunk."""
UNLIKE = 1.2 / 360, 2.0 / 360, 0.05
"""Standard deviation of each leg from the mean of both (chosen): the offset of the hip, the additional bend of a
swinging knee, and the size of the curve of the ankle.
"""
FIRST = int(Habit.GAIT)
_BEND_ZERO, _BEND_COS, _BEND_SIN = SWING_BEND


@kernel
def _scale(series: Array, factor: Scalar) -> None:
    for n in range(1, len(series)):
        series[n] *= factor


@kernel
def _bend_swing(series: Array, size: Scalar, side: int) -> None:
    """Add `size` turns of bend in the swing; on the right side (1) half a stride later."""
    series[0] += size * _BEND_ZERO
    for n in range(len(_BEND_COS)):
        sign = -1.0 if side == 1 and n % 2 == 0 else 1.0
        series[1 + n] += sign * size * _BEND_COS[n]
        series[1 + HARMONICS + n] += sign * size * _BEND_SIN[n]


@kernel
def vary_series(gait: int, speed: Scalar, channel: int, habits: Array, legs: Array, series: Array) -> None:
    """Change the series of one channel of a walk or run into that of a person.

    Parameters
    ----------
    gait : int
        WALK or RUN.
    speed : float
        Metres per second.
    channel : int
    habits, legs : float [HABITS], float [3]
        Of the person; see :class:`posegen.motion.workspace.Person`.
    series : float32 [1 + 2 * HARMONICS], changed
    """
    running = gait == steps.RUN
    bend = MORE_RUNNING_BEND - FASTER_BEND * max(speed - 3.0, 0.0) if running else MORE_BEND
    crouch = max(CROUCH * habits[FIRST] - MEAN_CROUCH, LEAST_CROUCH)
    tilted = TILTED * habits[FIRST + 1]
    if channel == TILT:
        series[0] += tilted
    elif channel == TRUNK_FLEXION:
        # The back compensates a tilted pelvis.
        series[0] -= 0.8 * tilted
        _scale(series, max(1.0 + NODDING * habits[FIRST + 2], 0.2))
    elif channel in TURNED:
        _scale(series, max(1.0 + TURNING * habits[FIRST + 3], 0.3))
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        if channel == HIPS[side]:
            # The thigh keeps its direction, and the foot its pitch.
            series[0] += tilted + 0.5 * crouch + UNLIKE[0] * sign * legs[0]
            _scale(series, 1.0 + STRIDE * habits[FIRST + 4])
        elif channel == KNEES[side]:
            series[0] += crouch
            own = UNLIKE[1] * sign * legs[1]
            _bend_swing(series, max(bend + SWING_KNEE * habits[FIRST + 5] + own, 0.0), side)
        elif channel == ANKLES[side]:
            series[0] += 0.5 * crouch
            own = UNLIKE[2] * sign * legs[2]
            _scale(series, max(1.0 + PUSH * habits[FIRST + 6] + own, 0.6))
        elif channel == SHOULDERS[side]:
            series[0] += SHOULDER * habits[FIRST + 7]
        elif channel == ELBOWS[side]:
            series[0] += ELBOW * habits[FIRST + 8]

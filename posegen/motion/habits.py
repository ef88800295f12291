"""The personal way in which a person performs an action: sizes and offsets of its key poses, and lags between limbs.

Each number is a function of the key of a person or a scene, the name of the action, a purpose and a number within the purpose,
such as that of the channel. So a person performs an action alike in every scene, two persons do not, and no action changes the
habits in another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.randomness import keyed_normal
from posegen.foundations.scene import RIGHT
from posegen.foundations.trigonometry import sin_turns
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.library_tables import FLIPPED, FLOOR, channel_row
from posegen.motion.workspace import Segment

SIZE, OFFSET, VARIANT, LAG, PACE, STRATEGY, NEAR_SIDE = range(7)
"""Purposes of the numbers of a person for an action. A new purpose has a new value."""
UNEVEN, RESIZED, SHIFTED, TARGETED, WAVERS, TURNS_TAKEN = range(7, 13)
"""Purposes of the numbers of one performance of an action."""
STANDING, TODAY, SWAYS, WEIGHT, WANDERS, REST, REST_CHANGE, WOBBLES, TIPS = range(13, 22)
"""Purposes of the numbers of an actor in a scene."""
PERSONAL = 0.825
"""Correlation of two performances of one person; the rest of the variance is drawn anew in each scene."""
PASSING = float(np.sqrt(1.0 - PERSONAL * PERSONAL))
"""Weight of what is drawn anew."""
EVEN, FLAT = 0.3, 0.38
"""Squares in the denominator that spreads the numbers of persons: fewer are average, none deviates by more than 1.6, since
what few people do would be a collision in most actions."""
OFFSETS = channel_row(
    {
        "pelvis_tilt": 3.0,
        "pelvis_obliquity": 1.5,
        "pelvis_rotation": 3.0,
        "trunk_flexion": 4.0,
        "trunk_lateral": 2.0,
        "trunk_rotation": 3.0,
        "neck_flexion": 5.0,
        "neck_lateral": 3.0,
        "neck_rotation": 6.0,
        "collar_elevation": 2.5,
        "collar_protraction": 2.5,
        "shoulder_flexion": 13.0,
        "shoulder_abduction": 7.0,
        "shoulder_rotation": 12.0,
        "elbow_flexion": 16.0,
    }
)
"""Standard deviations between persons of the offset of each channel during an action."""
SIZE_SPREAD = 0.14
"""Standard deviation between persons of the factor on the key poses of a channel."""
MOST_BENT = 1.06
"""Largest factor on pelvis tilt and trunk flexion: key poses of deep bends are near the end of the range of the hips."""
LAG_SPREAD = 0.05
"""Standard deviation between persons of the lag of a limb behind the legs, as a share of the stage."""
MOST_LAG = 2.0
"""Largest number of a person that counts for a lag: the key poses must stay in order, also at an uneven pace."""
ALIKE, UNLIKE = 0.8, 0.6
"""Weights of the numbers of the near and of the own side in those of the far side; the sum of their squares is 1."""
IDLE, LYING = 0.5, 0.4
"""Share of the offsets in channels that the action does not move, and on the floor."""
HANGING, RAISED = 0.35, 40.0 / 360
"""Share of an offset to the back in an arm that hangs, and turns of flexion from which all of it counts."""
MOST_NUMBER = 1.6
"""Number of a person from which an offset counts in full."""
_FLIPPED = np.array([c in FLIPPED for c in CHANNELS])


@kernel
def near_channel(c: int, right: bool) -> int:
    """Return the channel of the left side that equals channel `c` of an action performed with the right side."""
    if not right or c < rows.FIRST_LEFT or c >= rows.FIRST_HAND:
        return c
    return c + rows.SIDED if c < rows.FIRST_LEFT + rows.SIDED else c - rows.SIDED


def spread(own: Any, today: Any) -> Any:
    """Return the number of a person in a scene, about standard normal, from that of the person and that of the scene."""
    number = PERSONAL * own + PASSING * today
    return number / np.sqrt(EVEN + FLAT * number * number)


_spread = kernel(spread)


@kernel
def own_number(segment: Segment, purpose: int, number: int) -> Scalar:
    """Return a number of the person for the action of a segment, mostly alike in all scenes; about standard normal."""
    return _spread(keyed_normal(segment.way, purpose, number), keyed_normal(segment.moment, purpose, number))


@kernel
def habit(segment: Segment, c: int, purpose: int) -> Scalar:
    """Return a number of the person for a channel of the action of a segment; about standard normal, 0 for the hands.

    What the left arm does, the right arm does similarly, as far as the action has both do the same.
    """
    if c >= rows.FIRST_HAND:
        return 0.0
    own = near_channel(c, segment.kind % 2 == RIGHT)
    number = own_number(segment, purpose, own)
    if own >= rows.FIRST_LEFT + rows.SIDED:
        number = ALIKE * own_number(segment, purpose, own - rows.SIDED) + UNLIKE * number
    return segment.personal * number


@kernel
def habit_size(segment: Segment, c: int) -> Scalar:
    """Return the person's factor on the key poses of a channel."""
    size = 1.0 + SIZE_SPREAD * habit(segment, c, SIZE)
    return min(size, MOST_BENT) if c in (rows.PELVIS_TILT, rows.TRUNK_FLEXION) else size


@kernel
def habit_offset(segment: Segment, c: int, used: bool) -> Scalar:
    """Return the person's offset of a channel during an action, in turns; `used` is whether the action moves the channel."""
    sign = -1.0 if _FLIPPED[c] and segment.kind % 2 == RIGHT else 1.0
    share = 1.0 if used else IDLE
    if segment.support == FLOOR:
        share *= LYING
    return sign * share * OFFSETS[c] * habit(segment, c, OFFSET)


@kernel
def hanging_offset(offset: Scalar, c: int, pose: Scalar) -> Scalar:
    """Return the offset of a channel at a key pose, in turns: less where it would hold a hanging arm behind the body."""
    if offset >= 0 or not (c == rows.SHOULDER_FLEXION[0] or c == rows.SHOULDER_FLEXION[1]):
        return offset
    return offset * min(max(HANGING + (1.0 - HANGING) * pose / RAISED, HANGING), 1.0)


@kernel
def drawn_offset(segment: Segment, offsets: Array, at: int, c: int) -> Scalar:
    """Return what a person adds to a channel of a pose in the directions in which performances of the action differ.

    `offsets` is float [offsets, poses, channels]; `at` is the pose.
    """
    if not segment.drawn or c >= rows.FIRST_HAND:
        return 0.0  # few actions have offsets, and their tables are large
    more = 0.0
    for k in range(len(offsets)):
        number = own_number(segment, VARIANT, k) / MOST_NUMBER
        more += min(max(number, -1.0), 1.0) * offsets[k, at, c]
    return segment.personal * more


@kernel
def habit_lag(segment: Segment, c: int, at: Scalar) -> Scalar:
    """Return by which share of its stage a key pose at the share `at` is late; 0 at the ends of the stage and for the legs."""
    most = most_lag(segment, c)
    return most * sin_turns(0.5 * at) if most != 0 else 0.0


@kernel
def most_lag(segment: Segment, c: int) -> Scalar:
    """Return by which share of a stage a key pose in its middle is late."""
    if c >= rows.FIRST_HAND:
        return 0.0
    if c < rows.FIRST_LEFT:
        if c < rows.FIRST_LEFT - 6:
            return 0.0
        limb = 0 if c < rows.FIRST_LEFT - 3 else 1
    else:
        if (c - rows.FIRST_LEFT) % rows.SIDED < rows.FIRST_ARM or (c - rows.FIRST_LEFT) % rows.SIDED >= rows.FIRST_ARM + 6:
            return 0.0
        limb = 2 + (near_channel(c, segment.kind % 2 == RIGHT) - rows.FIRST_LEFT) // rows.SIDED
    number = own_number(segment, LAG, limb)
    return LAG_SPREAD * min(max(number, -MOST_LAG), MOST_LAG)

"""Indices of the rows and entries of the arrays that kernels share.

The arrays are allocated in :mod:`posegen.motion.workspace`. Each row of `root`, `legs` and `channels` covers the frames.
"""

from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS, HAND_CHANNELS, SIDED_CHANNELS, channels_named

# Rows of the root.
SPEED, ASIDE_SPEED, ACCELERATION, TURNING = range(4)
"""
SPEED, ASIDE_SPEED : m/s along the heading, and to the left of it
ACCELERATION : m/s^2 along the heading, in gaits
TURNING : turns per second, positive to the left
"""
RATE, PHASE, DUTY, LIMPING, WARP, BEATS, LONE_FOOT = range(4, 11)
"""
RATE : strides per second
PHASE : strides; the left foot lands at whole numbers, the right foot half a stride later
DUTY : fraction of the stride in which a foot is in contact
LIMPING : fraction of the stride by which the phase leads; positive: the left leg is affected
WARP : strides; see :func:`posegen.motion.gaits.warp_phase`
BEATS : contacts per stride of a gait with flights
LONE_FOOT : 1: hops on the left foot, -1: on the right foot
"""
GAIT_WEIGHT, RUN_WEIGHT, STEP_WEIGHT, RUN_PERIOD, RUN_CONTACT, RUN_HEIGHT = range(11, 17)
"""
GAIT_WEIGHT : 0 standing, 1 in full gait
RUN_WEIGHT, STEP_WEIGHT : the same of gaits with flights, and of stepping on the spot
RUN_PERIOD, RUN_CONTACT : s from one contact to the next in gaits with flights, and of a contact; both times RUN_WEIGHT
RUN_HEIGHT : m; pelvis above the floor in the middle of such a contact, times RUN_WEIGHT
"""
HEADING, HEADING_SIN, HEADING_COS, PATH_X, PATH_Z, ODOMETER = range(17, 23)
"""
HEADING, HEADING_SIN, HEADING_COS : turns, and their sine and cosine
PATH_X, PATH_Z : m; path of the body
ODOMETER : m travelled, including turning
"""
HEIGHT, ROOT_X, ROOT_Z, LOWERING = range(23, 27)
"""
HEIGHT : m; pelvis above the floor
ROOT_X, ROOT_Z : m; pelvis
LOWERING : m; lowering of the pelvis that keeps stance feet in reach
"""
GUIDED, LIFT, APART, RISING, BEND = range(27, 32)
"""
GUIDED : placement of the feet by the action: RETURNED or PLACED; 0: by gait
LIFT : m; clearance of swinging feet
APART : m; distance of each foot from the path, beyond that in walking
RISING : m of height gained per step
BEND : turns by which the action widens the range of dorsiflexion
"""
# Scratch rows of the root: a stage writes its own before it reads them, and no other stage reads them.
TRACK, SUMS, LAYER_WEIGHT, STANDING, RESTING, EASED = range(32, 38)
"""
TRACK : values of one channel over a segment
SUMS : a series, before its weight
LAYER_WEIGHT : weight of a segment over those below it
STANDING, RESTING : how much a person stands, and how much of a resting posture shows
EASED : passage from one resting posture to the next
"""
FACING, SMOOTHED, LEAN, IS_STRAIGHT, KEPT_X, KEPT_Z = range(38, 44)
"""
FACING : turns; heading of the pelvis
SMOOTHED : m; pelvis height or its lowering, over a window
LEAN, IS_STRAIGHT : lean of a shank in turns, and whether a leg is safely straight
KEPT_X, KEPT_Z : m; ankle in the world, while the leg is in the frame of the path
"""
ANGLE, STILL, GAP = range(44, 47)
"""
ANGLE : turns; an angle with another sign or limit
STILL : 0
GAP : m; distance of a forearm from an obstacle
"""
ROOT_ROWS = 47
# Rotations of the joints that other stages read.
PELVIS, CHEST, HEAD = range(3)
TURNS = 9
"""Number of rotations; those behind the first three are scratch, named below for each stage."""
TRUNK_THIRD, LOWER_SPINE, MIDDLE_SPINE, NODDED = range(3, 7)
"""Scratch of spine and neck: a third of the trunk's angles, rotations of two spine joints, the neck's angles."""
RAISED, PROTRACTED, COLLAR_ANGLES, COLLAR, ARM_ANGLES, UPPER_ARM = range(3, 9)
FOREARM_ANGLES, FOREARM = RAISED, COLLAR_ANGLES
"""Scratch of an arm: rotations relative to the parent (raised, protracted, angles) and in the world."""
ANCHOR_AXES, ANCHOR_ORIGIN, GOAL, OTHER_GOAL = range(3, 7)
"""Scratch of hands: axes and origin of an anchor, goals of both wrists; positions are the first three rows."""
# Rows of each leg.
THIGH, SHANK, FORWARD, DOWN, PITCH, LOWEST = range(6)
"""
THIGH, SHANK : turns forward of the vertical
FORWARD, DOWN : m; nominal ankle from the hip along the heading, and below the hip
PITCH : turns, toes up
LOWEST : m; nominal depth of the lowest point of the sole below the hip
"""
ANKLE_X, ANKLE_Y, ANKLE_Z, YAW = range(6, 10)
"""Place of the ankle in metres, and yaw of the foot in turns."""
HIP_X, HIP_Y, HIP_Z, BALL_X, BALL_Y, BALL_Z, KNEE_X, KNEE_Y, KNEE_Z = range(10, 19)
HEEL_HEIGHT, TOE_HEIGHT, GROUND = range(19, 22)
"""Heights in metres; GROUND is the surface under the foot."""
LEG_ROWS = 22
FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT, EARLY, LATE = range(8)
"""Entries of a stance: first frame; frame behind the last one; footprint of the ankle on the floor in metres, yaw in turns;
height above the ground in metres; and the frames, between 0 and 1, by which the foot lands before the first frame and lifts off
behind the last frame. They make a step equal at any frame rate.
"""
FOOT_HEEL, FOOT_BALL, FOOT_BALL_HEIGHT, FOOT_ANKLE_HEIGHT = range(4)
"""Entries of a foot in metres: heel behind the ankle, ball before it, heights of ball joint and ankle above the sole."""
FOOT_X, FOOT_Y, FOOT_Z, FOOT_YAW = range(4)
"""Rows of the nominal course of a foot: ankle in metres, yaw in turns."""
FOOT_FORWARD, FOOT_ASIDE, FOOT_UP, FOOT_PITCH = range(4)
"""Channels of a foot, in leg lengths and turns."""
POINT_X, POINT_Y, POINT_Z, POINT_SIN, POINT_COS, POINT_UNIT, PARTNER_Y, PARTNER_UNIT = range(8)
"""Entries of a meeting point: position in metres, sine and cosine of the direction of the partner, and the unit of hand targets
in metres (0 without a partner). The last two are height and unit for hands that hold the partner.
"""
POINT_SIZE = 8
START_PHASE, START_HEADING, START_X, START_Z, SEAT_HEIGHT = range(5)
"""Entries of the start of an actor: strides, turns, position and height of the seat in metres."""
RISE_BEGIN, RISE_END, FALL_BEGIN, FALL_END = range(4)
"""Entries of a ramp, in seconds: begin and end of its rise and of its fall."""
# Channels, in the order of :data:`posegen.library.channels.CHANNELS`; one of both sides is a pair, left and right.
ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL, PELVIS_TILT, OBLIQUITY, PELVIS_ROTATION = range(6)
TRUNK_FLEXION, TRUNK_LATERAL, TRUNK_ROTATION, NECK_FLEXION, NECK_LATERAL, NECK_ROTATION = range(6, len(CENTRAL_CHANNELS))
FIRST_LEFT, SIDED = len(CENTRAL_CHANNELS), len(SIDED_CHANNELS)
"""First channel of the left leg and arm, and the number of channels from there to those of the right side."""
FIRST_ARM = SIDED_CHANNELS.index("collar_elevation")
"""Position of the first channel of an arm among those of a side."""
FIRST_HAND = len(CHANNELS) - 2 * len(HAND_CHANNELS)
"""First of the channels of the hands; they are the last channels."""
HIP_FLEXION, HIP_ROTATION, KNEE_FLEXION, DORSIFLEXION, FOOT_CHANNELS = (
    tuple(channels_named(name))
    for name in ("hip_flexion", "hip_rotation", "knee_flexion", "ankle_dorsiflexion", "foot_forward")
)
COLLAR_ELEVATION, SHOULDER_FLEXION, SHOULDER_ABDUCTION, SHOULDER_ROTATION, ELBOW_FLEXION = (
    tuple(channels_named(name))
    for name in ("collar_elevation", "shoulder_flexion", "shoulder_abduction", "shoulder_rotation", "elbow_flexion")
)

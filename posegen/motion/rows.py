"""Indices of the rows and entries of the arrays that kernels share.

The arrays are allocated in :mod:`posegen.motion.workspace`. Each row of `root` and `legs` covers the frames.
"""

# Rows of the root.
(
    SPEED,  # m/s along the heading
    TURNING,  # turns per second, positive to the left
    RATE,  # strides per second
    PHASE,  # strides; the left foot lands at whole numbers, the right foot half a stride later
    DUTY,  # fraction of the stride in which a foot is in contact
    GAIT_WEIGHT,  # 0 standing, 1 in full gait
    RUN_WEIGHT,
    STEP_WEIGHT,  # stepping on the spot
    HEADING,  # turns
    HEADING_SIN,
    HEADING_COS,
    PATH_X,  # m; path of the body
    PATH_Z,
    ODOMETER,  # m travelled, including turning
    HEIGHT,  # m; pelvis above the floor
    ROOT_X,  # m; pelvis
    ROOT_Z,
    LOWERING,  # m; lowering of the pelvis that keeps stance feet in reach
    GUIDED,  # placement of the feet by the action: RETURNED or PLACED; 0: by gait
    WORK,
    WORK2,
    ASIDE_SPEED,  # m/s to the left of the heading
    LIMPING,  # fraction of the stride by which the phase leads; positive: the left leg is affected
    LONE_FOOT,  # 1: hops on the left foot, -1: on the right foot
    BEATS,  # contacts per stride of a gait with flights
    LIFT,  # m; clearance of swinging feet
    APART,  # m; distance of each foot from the path, beyond that in walking
    RUN_PERIOD,  # s from one contact to the next in gaits with flights, times RUN_WEIGHT
    RUN_CONTACT,  # s of a contact, times RUN_WEIGHT
    RISING,  # m of height gained per step
    WARP,  # strides; see posegen.motion.gait.curves.warp_phase
    RUN_HEIGHT,  # m; pelvis above the floor in the middle of such a contact, times RUN_WEIGHT
    BEND,  # turns by which the action widens the range of dorsiflexion
    ACCELERATION,  # m/s^2 along the heading, in gaits
) = range(34)
ROOT_ROWS = 34
# Rows of each leg.
(
    THIGH,  # turns forward of the vertical
    SHANK,
    FORWARD,  # m; nominal ankle from the hip, along the heading
    DOWN,  # m; nominal ankle below the hip
    PITCH,  # turns, toes up
    LOWEST,  # m; nominal depth of the lowest point of the sole below the hip
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    YAW,  # turns
    HIP_X,
    HIP_Y,
    HIP_Z,
    BALL_X,
    BALL_Y,
    BALL_Z,
    KNEE_X,
    KNEE_Y,
    KNEE_Z,
    HEEL_HEIGHT,
    TOE_HEIGHT,
    GROUND,  # m; the surface under the foot
) = range(22)
LEG_ROWS = 22
FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT, EARLY, LATE = range(8)
"""Entries of a stance: first frame; frame behind the last one; footprint of the ankle on the floor in metres, yaw in turns;
height above the ground in metres; and the frames, between 0 and 1, by which the foot lands before the first frame and lifts off
behind the last frame. They make a step equal at any frame rate.
"""
FOOT_HEEL, FOOT_BALL, FOOT_BALL_HEIGHT, FOOT_ANKLE_HEIGHT = range(4)
"""Entries of a foot in metres: heel behind the ankle, ball before it, heights of ball joint and ankle above the sole."""
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

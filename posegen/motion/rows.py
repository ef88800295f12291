"""Indices of the rows of the arrays `root` and `legs` of a workspace; each row covers the frames.

The arrays are allocated in :mod:`posegen.motion.workspace`.
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
    WARP,  # strides; see posegen.motion.gait.running.warp_phase
    RUN_HEIGHT,  # m; pelvis above the floor in the middle of such a contact, times RUN_WEIGHT
    BEND,  # turns by which the action widens the range of dorsiflexion
) = range(33)
ROOT_ROWS = 33
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

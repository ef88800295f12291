"""A trial of imported actions: other bodies perform each of them, and their joints, limbs and feet are checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posegen.checks.capsules import PAIR_ENDS, PAIR_RADII, PAIRS, rods_gap, stature_of_legs
from posegen.checks.limits import CROSSES, LEAVES, check_limits
from posegen.evaluation.body import frame_ranges, joint_angles, range_excess
from posegen.evaluation.plausibility import body_overlap, foot_skate
from posegen.foundations.arrays import Array
from posegen.foundations.constants import STANDING
from posegen.foundations.scene import BOTH, LEFT, Scenes, empty_scenes
from posegen.library.load import Library
from posegen.motion.engine import animate

STATURES = (1.5, 1.6, 1.7, 1.8, 1.9)
"""Metres of the bodies that perform each action."""
FPS = 25
BEFORE, AFTER = 0.4, 0.8
"""Seconds of standing before and after an action."""
MOST_SKATE = 0.06
"""Maximum share of frames with low toes in which a toe moves, on average: twice that of a good import."""
LIMBS_CROSS = "limbs of other bodies pass through each other"


def find_failure(library: Library, name: str) -> str | None:
    """Return the reason why most bodies cannot perform an action once; None if they can."""
    scenes = scenes_of(library, name, STATURES)
    motion = animate(scenes, library, int(scenes.length.max()), FPS)
    joints, labels = motion.joints[:, None], motion.action[:, None]
    bits = check_limits(joints, labels, 0, scenes, library, FPS).bodies[:, 0]
    shown = [(i, 0, slice(scenes.length[i])) for i in range(len(bits))]
    leaves, crosses = ([shown[i] for i in np.flatnonzero(bits & flaw)] for flaw in (LEAVES, CROSSES))
    if 2 * len(leaves) > len(bits):
        return _worst_joint(library, [(motion.joints[where], motion.action[where]) for where in leaves])
    if 2 * len(crosses) > len(bits):
        return LIMBS_CROSS + _deepest([motion.joints[where] for where in crosses])
    skate = np.mean([foot_skate(motion.joints[where].astype(np.float64), FPS)["skate, strict"] for where in shown])
    return f"feet of other bodies slide in {skate:.0%} of the time" if skate > MOST_SKATE else None


def _worst_joint(library: Library, bodies: Sequence[tuple[Array, Array]]) -> str:
    """Return which joint leaves its range the furthest, by how much and when, of the body that is the median in this.

    Each of `bodies` is joints, float [frame, 22, 3], with the actions of the parts, int [frame, part]. The side is not said: it
    may be another one than in the clip.
    """
    found = []
    for joints, labels in bodies:
        ranges = frame_ranges(library, library.actions, labels, FPS)
        excess = range_excess(joint_angles(joints.astype(np.float64)), ranges)
        known = ((np.nan_to_num(values), angle) for angle, values in excess.items())
        found.append(max((float(values.max()), angle, int(values.argmax())) for values, angle in known))
    degrees, angle, frame = sorted(found)[len(found) // 2]
    joint = angle.removeprefix("left_").removeprefix("right_").replace("_", " ")
    return f"{joint} of other bodies leaves its range by {degrees:.0f} degrees{_after(frame)}"


def _deepest(bodies: Sequence[Array]) -> str:
    """Return which limbs are deepest in each other, how deep and when, of the body that is the median in this.

    Each of `bodies` is joints, float [frame, 22, 3]. Limbs that only pass each other between two frames have no depth.
    """
    depths = sorted(((body_overlap(joints), i) for i, joints in enumerate(bodies)), key=lambda found: float(found[0].max()))
    depth, body = depths[len(depths) // 2]
    frame = int(depth.argmax())
    if not depth[frame] > 0:
        return ""
    joints = bodies[body][frame].astype(np.float64)
    stature = stature_of_legs(joints[None])
    by_pair = [radius * stature - rods_gap(joints, joints, *ends) for ends, radius in zip(PAIR_ENDS, PAIR_RADII, strict=True)]
    one, other = (name.replace("_", " ") for name in PAIRS[int(np.argmax(by_pair))])
    return f": {one} and {other}, {100 * depth[frame]:.0f} cm deep{_after(frame)}"


def _after(frame: int) -> str:
    return f", {max(0.0, frame / FPS - BEFORE):.1f} s after they begin"


def scenes_of(library: Library, name: str, statures: Sequence[float], before: float = BEFORE) -> Scenes:
    """Return scenes in which neutral bodies stand, perform an action once, and stand.

    Parameters
    ----------
    library : Library
    name : str
    statures : sequence of float
        Metres, of the body of each scene.
    before : float
        Seconds of standing before the action.
    """
    action, stand = library.action(name), library.index(STANDING)
    scenes = empty_scenes(len(statures), 1, 3)
    scenes.persons.stature[:, 0] = statures
    end = before + action.enter + action.cycle + action.exit
    spans = [(stand, -2.0, before), (library.index(name), before, end), (stand, end, end + 10.0)]
    if action.layered:
        spans = [(stand, -2.0, end + 10.0), spans[1]]
        scenes.layered[:, 0, 1] = True
    for k, (what, start, stop) in enumerate(spans):
        scenes.action[:, 0, k], scenes.start[:, 0, k], scenes.end[:, 0, k] = what, start, stop
    scenes.repetitions[:, 0, 1] = 1
    scenes.side[:, 0, 1] = LEFT if action.sided else BOTH
    scenes.length[:] = int(np.ceil((end + AFTER) * FPS))
    return scenes

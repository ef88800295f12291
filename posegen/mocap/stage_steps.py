"""Steps in the first and in the last stage of an action: from standing to the first footprints, and back from the last ones.

While the body starts or stops, the feet step in turn; a foot that stands near enough to its place stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posegen.mocap.steps import STANCE_HALF_WIDTH, STEP_UP, FootTrack
from posegen.mocap.travel import Course

SAME_PLACE = 0.08
"""Maximum distance of a foot from its place in quiet standing without a step, in leg lengths."""
STRIDE = 0.75
"""Leg lengths that the body moves on in a step at most."""
STILL = 0.3
"""Maximum distance of the body in a stage without alternating steps, in leg lengths."""
LIFT_OFF, LANDING = 0.1, 0.85
"""Shares of the time of a step from which, and to which, its foot is in the air."""
TURNED, ASIDE = 45.0, 0.25
"""Degrees that the body turns, and leg lengths that it moves aside, from which the foot of that side steps first, so that no
leg crosses the other one."""
RISEN = 0.09
"""Leg lengths that a foot rises before it moves on: toes that are lower would slide."""
RISES, STAYS = 0.16, 0.28
"""Shares of a step until its foot has risen so far, and until it leaves the place above its footprint."""
SIDES = (1.0, -1.0)


class StageSteps(NamedTuple):
    """Intervals in which feet are lifted, and values of their channels at shares of the stage, as in an action file."""

    lifts: list[dict[str, Any]]
    keys: list[dict[str, Any]]


class _Swing(NamedTuple):
    foot: int
    begin: float
    end: float


def standing(foot: int) -> complex:
    """Return where a foot stands in quiet standing: how far ahead of the body, + i times to its left, in leg lengths."""
    return 1j * SIDES[foot] * STANCE_HALF_WIDTH


def stage_steps(feet: Sequence[FootTrack], words: Sequence[str], course: Course, entering: bool) -> StageSteps:
    """Return the steps of the first or of the last stage.

    Parameters
    ----------
    feet : sequence of FootTrack
        Left and right, over the cycle.
    words : sequence of str
        What they are called in the action.
    course : Course
        Of the stage.
    entering : bool
        Whether it is the first stage.
    """
    at, edge, rest = (0, -1, 0) if entering else (-1, 0, -1)
    places = [course.placed(foot.place(number)[at], edge) for number, foot in enumerate(feet)]
    home = [course.placed(standing(number), rest) for number in (0, 1)]
    here, goal = (home, places) if entering else (places, home)
    air = [number for number, foot in enumerate(feet) if not foot.contact[at]]
    far = [abs(place - there) / course.leg > SAME_PLACE for place, there in zip(places, home, strict=True)]
    moved = [number for number, foot in enumerate(feet) if foot.contact[at] and far[number]]
    swings = _swings(feet, moved, air, course, entering)
    lifts: list[dict[str, Any]] = []
    keys: dict[float, dict[str, float]] = {}
    for k, swing in enumerate(swings):
        name, foot = words[swing.foot], swing.foot
        later = next((other for other in swings[k + 1 :] if other.foot == foot), None)
        free = k == len(swings) - 1 and foot in air if entering else k == 0 and foot in air
        target = goal[foot]
        if later is not None:
            # A foot lands where the body is in the middle of its stance.
            target = course.placed(standing(foot), _index(course, (swing.end + later.begin) / 2))
        stage = "enter" if entering else "exit"
        lifts.append({"stage": stage, "foot": name, "begin": round(swing.begin, 3), "end": round(swing.end, 3)})
        for share, where, up in _flight(here[foot], target, swing, free, entering):
            seen = course.seen(where, _index(course, share))
            pose = keys.setdefault(round(share, 3), {})
            pose[f"{name}_foot_forward"] = round(float(seen.real), 3)
            pose[f"{name}_foot_aside"] = round(float(SIDES[foot] * seen.imag) - STANCE_HALF_WIDTH, 3)
            pose[f"{name}_foot_up"] = up
            if entering or share > swing.begin:
                pose[f"{name}_foot_pitch"] = 0.0  # a foot steps flat, whatever its pitch in the clip
        here[foot] = target
    return StageSteps(lifts, [{"at": share, "through": True, "pose": pose} for share, pose in sorted(keys.items())])


def _swings(
    feet: Sequence[FootTrack], moved: Sequence[int], air: Sequence[int], course: Course, entering: bool
) -> list[_Swing]:
    needed = sorted({*moved, *air})
    if not needed:
        return []
    at = 0 if entering else -1
    ahead = sorted(needed, key=lambda number: float(feet[number].forward[at]))
    nearest = air[0] if air else ahead[-1 if entering else 0]  # the foot whose step is next to the cycle
    far = float(abs(course.place[0] - course.place[-1])) / course.leg
    steps = len(needed)
    side = _side(course)
    if side is not None and steps == 2:
        first = 1 - side if entering else side
        if air and nearest != first:
            steps = 3  # a foot that is in the air comes down at first where its leg does not cross the other one
        else:
            nearest = first
    if moved and far > STILL:
        steps = max(steps, int(np.ceil(far / STRIDE)) + 1)
    order = [(nearest + k) % 2 for k in range(steps)]
    if steps == len(needed) == 1:
        order = needed
    if entering:
        order.reverse()
    swings = []
    edges = _edges(course, len(order), far)
    for k, number in enumerate(order):
        begin, end = (edges[k] + share * (edges[k + 1] - edges[k]) for share in (LIFT_OFF, LANDING))
        if number in air and entering and k == len(order) - 1:
            begin, end = (begin if len(order) > 1 else 0.3), 1.0
        if number in air and not entering and k == 0:
            begin, end = 0.0, (end if len(order) > 1 else 0.7)
        swings.append(_Swing(number, begin, end))
    return swings


def _side(course: Course) -> int | None:
    """Return the foot of the side to which the body turns or moves aside; None if it does so by little."""
    turned = float(np.degrees(course.heading[-1] - course.heading[0]))
    # A straight way is aside neither at its begin nor at its end, so it is seen from half of the turn.
    begin, end = course.seen(course.place[[0, -1]], len(course.heading) // 2).imag
    size = turned / TURNED + (end - begin) / ASIDE
    return None if abs(size) < 1 else int(size < 0)


def _edges(course: Course, steps: int, far: float) -> list[float]:
    """Return the shares of the stage between which each step is: equal distances, or equal times if the body moves little."""
    even = np.linspace(0, 1, steps + 1)
    if far <= STILL:
        return [float(edge) for edge in even]
    # The first and the last step are halves: one begins or ends beside the other foot, the other continues in the cycle.
    even = np.concatenate([[0.0], np.arange(steps - 1) + 0.5, [steps - 1.0]]) / max(steps - 1, 1) if steps > 1 else even
    gone = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(course.place)))])
    return [float(edge) for edge in np.interp(even * gone[-1], gone, np.linspace(0, 1, len(gone)))]


def _flight(here: Any, there: Any, swing: _Swing, free: bool, entering: bool) -> list[tuple[float, Any, float]]:
    """Return shares of the stage, and where a foot is then; `free` is whether the step continues in the cycle."""
    early, late = (swing.begin + RISES * (swing.end - swing.begin), swing.end - RISES * (swing.end - swing.begin))
    leaves, arrives = (swing.begin + STAYS * (swing.end - swing.begin), swing.end - STAYS * (swing.end - swing.begin))
    rising = [(swing.begin, here, 0.0), (early, here, RISEN), (leaves, here, STEP_UP)]
    landing = [(arrives, there, STEP_UP), (late, there, RISEN), (swing.end, there, 0.0)]
    if free:
        return rising if entering else landing
    return [*rising, ((swing.begin + swing.end) / 2, (here + there) / 2, STEP_UP), *landing]


def _index(course: Course, share: float) -> int:
    return round(share * (len(course.heading) - 1))

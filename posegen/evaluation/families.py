"""Families: names of mocap classes, and the actions of the library with the same content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ACTIONS: Mapping[str, Sequence[str]] = {
    "walk": ("walk",),
    "run": ("run",),
    "jump": ("jump",),
    "dance": ("ballet", "dance", "salsa"),
    "kick": ("kick",),
    "crouch": ("squat",),
    "exercise": ("elbow_to_knee", "arm_circles", "jumping_jack", "lunge", "stretch"),
    "pick_up": ("put_down", "pick_up"),
    "reach": ("reach",),
    "lie": ("lie_down",),
    "sneak": ("sneak",),
    "throw": ("shooting",),
    "climb": ("climb", "climbing"),
    "dribble": ("dribble", "dribbling"),
    "punch": ("punch",),
    "swing": ("batting",),
}
"""Actions of the library for each class of the reference, as far as they exist.

Clips of the class crouch are quick, deep squats; pick_up puts an object on the floor; throw is a basketball shot; kick is a
front kick; jump hops with both legs; reach grasps an object overhead; exercise is elbows to knees, arm circles and a medley;
the dances are salsa and ballet. Acrobatics, balance, martial (whole kata) and wash have no counterpart in the library.
"""

PERIODIC = frozenset({"climb", "dance", "dribble", "punch", "run", "sneak", "walk", "wave"})
"""Families without a begin and an end: windows of two performances are compared instead of their whole courses."""

_FAMILIES = {action: family for family, actions in ACTIONS.items() for action in actions}


def family_of(name: str) -> str:
    """Return the family of a mocap class or an action; a name without an entry is a family of its own.

    >>> family_of("squat"), family_of("crouch"), family_of("bow")
    ('crouch', 'crouch', 'bow')
    """
    return name if name in ACTIONS else _FAMILIES.get(name, name)

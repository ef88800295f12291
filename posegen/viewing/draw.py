"""Draw figures, floor and seats on a Pillow canvas.

Left limbs are blue, right limbs are red, the trunk is dark. Figures throw their shadow straight down on the floor (y = 0),
so that flight and sinking show; the floor's grid stays where it is in the world, so that a sliding foot shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from posegen.skeleton import CONTACTS, JOINTS, PARENTS, sole_points
from posegen.viewing.clip import Seat
from posegen.viewing.view import Placement

__all__ = ["COLOURS", "draw_figures", "draw_floor", "draw_seats"]

Array = NDArray[Any]
Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "left": (31, 108, 200),
    "right": (214, 64, 48),
    "middle": (64, 64, 72),
    "shadow": (222, 221, 224),
    "floor": (205, 207, 214),
    "contact": (20, 150, 70),
    "seat": (190, 160, 120),
    "seat_side": (161, 136, 102),
}

GRID = 0.5
"""Spacing of the floor's lines in metres."""

HEAD_RADIUS = 0.095
LIMB_WIDTH = 0.05
ACTOR_SHADES = (0.0, 0.45, 0.25, 0.6)
"""How much lighter each further actor is drawn than the first."""

# Joints of the hand, knee and seat points; the first four contact points are those of the soles.
_CONTACT_JOINTS = {"left_hand": "left_wrist", "right_hand": "right_wrist", "seat": "pelvis"}


def draw_floor(canvas: ImageDraw.ImageDraw, placement: Placement, centre: Array, reach: tuple[float, float]) -> None:
    """Lines of the floor's grid around `centre`, as far as `reach` metres (across the picture, into it)."""
    view = placement.view
    across = np.array([view.right[0], 0.0, view.right[2]])
    into = np.array([-view.right[2], 0.0, view.right[0]])
    radius = float(np.hypot(*reach))
    width = max(1, round(placement.scale * 0.008))
    for axis in (0, 2):
        first = np.ceil((centre[axis] - radius) / GRID) * GRID
        direction = np.zeros(3)
        direction[2 - axis] = 1.0
        for place in np.arange(first, centre[axis] + radius, GRID):
            start = centre * np.array([1.0, 0.0, 1.0])
            start[axis] = place
            span = _inside(start - centre, direction, ((across, reach[0]), (into, reach[1])))
            if span is not None:
                ends = np.stack([start + direction * span[0], start + direction * span[1]])
                _line(canvas, placement.pixels(ends, centre), COLOURS["floor"], width)


def _inside(start: Array, direction: Array, slabs: Sequence[tuple[Array, float]]) -> tuple[float, float] | None:
    """Stretch of a line that lies inside all slabs |axis . point| <= reach."""
    low, high = -np.inf, np.inf
    for axis, reach in slabs:
        place, slope = float(start @ axis), float(direction @ axis)
        if abs(slope) < 1e-9:
            if abs(place) > reach:
                return None
            continue
        ends = sorted(((-reach - place) / slope, (reach - place) / slope))
        low, high = max(low, ends[0]), min(high, ends[1])
    return (low, high) if low < high else None


def draw_seats(canvas: ImageDraw.ImageDraw, placement: Placement, centre: Array, seats: Sequence[Seat]) -> None:
    """Seats as boxes that stand on the floor, treads and rungs as slabs, the far ones first."""
    for seat in sorted(seats, key=lambda seat: float(placement.depth(np.array(seat.top)))):
        half = seat.size / 2
        corners = np.array([[-half, -half], [half, -half], [half, half], [-half, half]])
        top = np.array([[seat.top[0] + x, seat.top[1], seat.top[2] + z] for x, z in corners])
        bottom = top * np.array([1.0, 0.0, 1.0]) if seat.thickness is None else top - np.array([0.0, seat.thickness, 0.0])
        sides = [np.stack([top[i], top[i - 1], bottom[i - 1], bottom[i]]) for i in range(4)]
        for side in sorted(sides, key=lambda side: float(placement.depth(side.mean(0)))):
            _polygon(canvas, placement.pixels(side, centre), COLOURS["seat_side"])
        _polygon(canvas, placement.pixels(top, centre), COLOURS["seat"])


def draw_figures(
    canvas: ImageDraw.ImageDraw,
    placement: Placement,
    centre: Array,
    joints: Array,
    contacts: Array | None = None,
) -> None:
    """All figures of one frame, the far limbs first.

    Parameters
    ----------
    canvas : ImageDraw
    placement : Placement
    centre : float [3]
        The point in the world that the camera looks at.
    joints : float [actors, 22, 3]
        Figures with NaN in them are left out.
    contacts : [actors, 9] or None
        Points that touch get a green dot.
    """
    present = [actor for actor in range(len(joints)) if np.isfinite(joints[actor]).all()]
    width = max(1, round(LIMB_WIDTH * placement.scale))
    for actor in present:
        shadow = placement.pixels(joints[actor] * np.array([1.0, 0.0, 1.0]), centre)
        for joint, parent in enumerate(PARENTS[1:], start=1):
            _line(canvas, shadow[[parent, joint]], COLOURS["shadow"], width)
    strokes: list[tuple[float, Array, Colour]] = []
    for actor in present:
        strokes += _strokes(joints[actor], placement, centre, ACTOR_SHADES[actor % len(ACTOR_SHADES)])
    for _, pixels, colour in sorted(strokes, key=lambda stroke: stroke[0]):
        if len(pixels) == 1:
            _dot(canvas, pixels[0], HEAD_RADIUS * placement.scale, colour)
        else:
            _line(canvas, pixels, colour, width)
            for end in (pixels[0], pixels[-1]):
                _dot(canvas, end, width / 2 - 0.5, colour)
    if contacts is not None:
        for actor in present:
            touching = contact_points(joints[actor])[contacts[actor] == 1]
            for point in placement.pixels(touching, centre):
                _dot(canvas, point, 0.7 * width, COLOURS["contact"])


def contact_points(figure: Array) -> Array:
    """Where the points of :data:`posegen.skeleton.CONTACTS` are drawn [9, 3] on a figure [22, 3]."""
    others = [figure[JOINTS.index(_CONTACT_JOINTS.get(name, name))] for name in CONTACTS[4:]]
    return np.concatenate([sole_points(figure), np.stack(others)])


def _strokes(figure: Array, placement: Placement, centre: Array, lighter: float) -> list[tuple[float, Array, Colour]]:
    """Depth, pixels and colour of each line of a figure, and of its head (one pixel position)."""
    pixels, depth = placement.pixels(figure, centre), placement.depth(figure)
    strokes = []
    for joint, parent in enumerate(PARENTS[1:], start=1):
        colour = _lighten(_side_colour(JOINTS[joint]), lighter)
        strokes.append((float(depth[joint] + depth[parent]) / 2, pixels[[parent, joint]], colour))
    soles = sole_points(figure)
    for side, heel in (("left", 0), ("right", 2)):
        ankle, ball = figure[JOINTS.index(f"{side}_ankle")], figure[JOINTS.index(f"{side}_foot")]
        outline = np.stack([ankle, soles[heel], soles[heel + 1], ball])
        where = float(placement.depth(outline.mean(0)))
        strokes.append((where, placement.pixels(outline, centre), _lighten(COLOURS[side], lighter)))
    neck, head = figure[JOINTS.index("neck")], figure[JOINTS.index("head")]
    crown = head + 0.7 * (head - neck)
    strokes.append((float(placement.depth(crown)), placement.pixels(crown, centre)[None], _lighten(COLOURS["middle"], lighter)))
    return strokes


def _side_colour(joint: str) -> Colour:
    side = joint.partition("_")[0]
    return COLOURS.get(side, COLOURS["middle"])


def _lighten(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(c + (235 - c) * share) for c in colour)
    return red, green, blue


def _line(canvas: ImageDraw.ImageDraw, pixels: Array, colour: Colour, width: int) -> None:
    canvas.line([(float(x), float(y)) for x, y in pixels], fill=colour, width=width, joint="curve")


def _polygon(canvas: ImageDraw.ImageDraw, pixels: Array, colour: Colour) -> None:
    canvas.polygon([(float(x), float(y)) for x, y in pixels], fill=colour)


def _dot(canvas: ImageDraw.ImageDraw, at: Array, radius: float, colour: Colour) -> None:
    x, y = float(at[0]), float(at[1])
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

"""Draw figures, floor and seats on a Pillow canvas, through an orthographic camera.

Left limbs are blue, right limbs are red, the trunk is dark. Shadows are the vertical projection onto the floor (y = 0), so that
flight and sinking are visible; the floor's grid is fixed in the world, so that a sliding foot is visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians, sin

import numpy as np
from PIL import Image, ImageDraw

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, sole_points
from posegen.viewing.clip import CONTACT_JOINTS, Clip, Seat


@dataclass(frozen=True)
class Placement:
    """A projection by :func:`view_from`: the camera's target is drawn at pixel `at`, with `scale` pixels per metre."""

    view: Array
    scale: float
    at: tuple[float, float]

    def pixels(self, points: Array, centre: Array) -> Array:
        """Return pixels [..., 2] of points [..., 3]; the camera's target `centre` broadcasts against them."""
        right, up, _ = self.view
        away = points - centre
        return np.stack([self.at[0] + self.scale * (away * right).sum(-1), self.at[1] - self.scale * (away * up).sum(-1)], -1)

    def depth(self, points: Array) -> Array:
        """Return the coordinate of points [..., 3] towards the viewer; larger is nearer."""
        return np.asarray((points * self.view[2]).sum(-1))


def view_from(azimuth: float, elevation: float, heading: float = 0.0) -> Array:
    """Return the axes of a camera that looks at a figure.

    Parameters
    ----------
    azimuth : float
        Degrees from the front of the figure; positive is towards its left side.
    elevation : float
        Degrees above the horizon.
    heading : float
        Heading of the figure in radians, counter-clockwise from +z seen from above.

    Returns
    -------
    float64 [3, 3]
        Unit vectors: right and up in the picture, and out of it towards the viewer.
    """
    turn, tilt = radians(azimuth) + heading, radians(elevation)
    right = (cos(turn), 0.0, -sin(turn))
    up = (-sin(turn) * sin(tilt), cos(tilt), -cos(turn) * sin(tilt))
    toward = (sin(turn) * cos(tilt), sin(tilt), cos(turn) * cos(tilt))
    return np.array([right, up, toward])


def facing(joints: Array) -> float:
    """Return the heading in radians of the first figure in `joints` [actors, frames, 22, 3], by hips and shoulders."""
    figures = joints.reshape(-1, *joints.shape[-2:])
    there = np.asarray(np.isfinite(figures).all((1, 2)))
    figure = figures[there][0]
    hips, shoulders = (
        figure[JOINTS.index(f"left_{name}")] - figure[JOINTS.index(f"right_{name}")] for name in ("hip", "shoulder")
    )
    left = hips + shoulders
    # A figure that faces +z has its left at +x.
    return float(np.arctan2(-left[2], left[0]))


def middle(joints: Array) -> Array:
    """Return the point on the floor [frames, 3] between all pelvises; frames without actors repeat the last one."""
    pelvis = joints[:, :, 0]
    there = np.asarray(np.isfinite(pelvis).all(-1))
    count = there.sum(0)
    total = np.where(there[..., None], pelvis, 0.0).sum(0)
    centre = np.zeros((len(count), 3))
    centre[count > 0] = total[count > 0] / count[count > 0, None]
    last = np.maximum.accumulate(np.where(count > 0, np.arange(len(count)), 0))
    centre = centre[last]
    centre[:, 1] = 0.0
    return centre


FINER = 2
"""Supersampling factor, which smooths edges."""
PAPER = (255, 255, 255)


def draw_frame(
    clip: Clip, frame: int, placement: Placement, centre: Array, size: tuple[int, int], reach: tuple[float, float]
) -> Image.Image:
    """Return a picture of the floor, seats and figures of one frame.

    Parameters
    ----------
    clip : Clip
    frame : int
    placement : Placement
        In pixels that are :data:`FINER` times smaller.
    centre : float [3]
        Target of the camera.
    size : (int, int)
        Width and height in pixels.
    reach : (float, float)
        Metres of floor across the picture and into it.
    """
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), PAPER)
    canvas = ImageDraw.Draw(picture)
    draw_floor(canvas, placement, centre, reach)
    draw_seats(canvas, placement, centre, clip.seats)
    draw_figures(canvas, placement, centre, clip.joints[:, frame], None if clip.contacts is None else clip.contacts[:, frame])
    return picture.reduce(FINER)


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
"""Spacing of the floor's grid lines in metres."""
_PARALLEL = 1e-9

HEAD_RADIUS = 0.095
LIMB_WIDTH = 0.05
ACTOR_SHADES = (0.0, 0.45, 0.25, 0.6)
"""Share by which the colours of each actor are lightened."""


def draw_floor(canvas: ImageDraw.ImageDraw, placement: Placement, centre: Array, reach: tuple[float, float]) -> None:
    """Draw the floor's grid around `centre`, `reach` metres wide (across the picture, into it)."""
    right = placement.view[0]
    # Across the picture and into it, on the floor.
    axes = np.array([[right[0], 0.0, right[2]], [-right[2], 0.0, right[0]]])
    radius, limits = float(np.hypot(*reach)), np.array(reach)
    width = max(1, round(placement.scale * 0.008))
    for axis in (0, 2):
        first = np.ceil((centre[axis] - radius) / GRID) * GRID
        direction = np.zeros(3)
        direction[2 - axis] = 1.0
        slope = axes @ direction
        slope = np.where(np.abs(slope) < _PARALLEL, _PARALLEL, slope)
        for position in np.arange(first, centre[axis] + radius, GRID):
            start = centre * np.array([1.0, 0.0, 1.0])
            start[axis] = position
            offset = axes @ (start - centre)
            ends = np.sort([(-limits - offset) / slope, (limits - offset) / slope], axis=0)
            low, high = ends[0].max(), ends[1].min()
            if low < high:
                _line(canvas, placement.pixels(start + np.outer([low, high], direction), centre), COLOURS["floor"], width)


def draw_seats(canvas: ImageDraw.ImageDraw, placement: Placement, centre: Array, seats: Sequence[Seat]) -> None:
    """Draw seats as boxes on the floor, and treads and rungs as slabs, far ones first."""
    for seat in sorted(seats, key=lambda seat: float(placement.depth(np.array(seat.top)))):
        half = seat.size / 2
        corners = np.array([[-half, -half], [half, -half], [half, half], [-half, half]])
        top = np.array([[seat.top[0] + x, seat.top[1], seat.top[2] + z] for x, z in corners])
        bottom = top * np.array([1.0, 0.0, 1.0]) if seat.thickness is None else top - np.array([0.0, seat.thickness, 0.0])
        sides = [np.stack([top[i], top[i - 1], bottom[i - 1], bottom[i]]) for i in range(4)]
        for side in sorted(sides, key=lambda side: float(placement.depth(side.mean(0)))):
            canvas.polygon(placement.pixels(side, centre).ravel().tolist(), fill=COLOURS["seat_side"])
        canvas.polygon(placement.pixels(top, centre).ravel().tolist(), fill=COLOURS["seat"])


def draw_figures(
    canvas: ImageDraw.ImageDraw,
    placement: Placement,
    centre: Array,
    joints: Array,
    contacts: Array | None = None,
) -> None:
    """Draw all figures of one frame, far limbs first.

    Parameters
    ----------
    canvas : ImageDraw
    placement : Placement
    centre : float [3]
        Target of the camera.
    joints : float [actors, 22, 3]
        Figures with NaN are not drawn.
    contacts : [actors, 9] or None
        A green dot marks each point in contact.
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
            canvas.circle(pixels[0].tolist(), HEAD_RADIUS * placement.scale, fill=colour)
        else:
            _line(canvas, pixels, colour, width)
            for end in (pixels[0], pixels[-1]):
                canvas.circle(end.tolist(), width / 2 - 0.5, fill=colour)
    if contacts is not None:
        for actor in present:
            touching = contact_points(joints[actor])[contacts[actor] == 1]
            for point in placement.pixels(touching, centre):
                canvas.circle(point.tolist(), 0.7 * width, fill=COLOURS["contact"])


def contact_points(figure: Array) -> Array:
    """Return where the points of :data:`posegen.foundations.skeleton.CONTACTS` are drawn [9, 3] on a figure [22, 3]."""
    others = [figure[JOINTS.index(CONTACT_JOINTS.get(name, name))] for name in CONTACTS[4:]]
    return np.concatenate([sole_points(figure), np.stack(others)])


def _strokes(figure: Array, placement: Placement, centre: Array, lighter: float) -> list[tuple[float, Array, Colour]]:
    """Return depth, pixels and colour of each line of a figure, and of its head (a single pixel)."""
    pixels, depth = placement.pixels(figure, centre), placement.depth(figure)
    strokes = []
    for joint, parent in enumerate(PARENTS[1:], start=1):
        colour = _lighten(COLOURS.get(JOINTS[joint].partition("_")[0], COLOURS["middle"]), lighter)
        strokes.append((float(depth[joint] + depth[parent]) / 2, pixels[[parent, joint]], colour))
    soles = sole_points(figure)
    for side, heel in (("left", 0), ("right", 2)):
        ankle, ball = figure[JOINTS.index(f"{side}_ankle")], figure[JOINTS.index(f"{side}_foot")]
        outline = np.stack([ankle, soles[heel], soles[heel + 1], ball])
        depth_of_foot = float(placement.depth(outline.mean(0)))
        strokes.append((depth_of_foot, placement.pixels(outline, centre), _lighten(COLOURS[side], lighter)))
    spine, neck, head = (figure[JOINTS.index(name)] for name in ("spine3", "neck", "head"))
    # SMPL's head joint lies ahead of the neck and low in the head.
    crown = head + 0.61 * (head - neck) + 0.2 * (neck - spine)
    strokes.append((float(placement.depth(crown)), placement.pixels(crown, centre)[None], _lighten(COLOURS["middle"], lighter)))
    return strokes


def _lighten(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(c + (235 - c) * share) for c in colour)
    return red, green, blue


def _line(canvas: ImageDraw.ImageDraw, pixels: Array, colour: Colour, width: int) -> None:
    canvas.line(pixels.ravel().tolist(), fill=colour, width=width, joint="curve")

"""Draw figures, floor and seats on Matplotlib axes, through an orthographic camera.

A figure has 72 dots per inch, so that points are pixels; the axes of a view count metres. Shadows are the vertical projection
onto the floor (y = 0), so that flight and sinking are visible. The floor's grid is fixed in the world, so that a sliding foot
is visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, sole_points
from posegen.viewing.clip import CONTACT_JOINTS, Seat, fill_absent
from posegen.viewing.palette import CONTACT, GRID, MIDDLE, PAPER, SEAT, SEAT_SIDE, SHADOW, SIDES

_DPI = 72
_TO_FLOOR = np.array([1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Camera:
    """An orthographic camera.

    Attributes
    ----------
    view : float [3, 3]
        Unit vectors of :func:`view_from`.
    target : float [3]
        The point that is shown at (0, 0).
    """

    view: Array
    target: Array

    def project(self, points: Array) -> Array:
        """Return metres to the right of the target and above it in the picture [..., 2], of points [..., 3]."""
        return np.asarray((points - self.target) @ self.view[:2].T)

    def depth(self, points: Array) -> Array:
        """Return the coordinate of points [..., 3] towards the viewer; larger is nearer."""
        return np.asarray(points @ self.view[2])


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
    figure = joints[np.isfinite(joints).all((2, 3))][0]
    sides = (figure[[JOINTS.index(f"{side}_{name}") for name in ("hip", "shoulder")]] for side in ("left", "right"))
    left = np.subtract(*sides).sum(0)
    # A figure that faces +z has its left at +x.
    return float(np.arctan2(-left[2], left[0]))


def middle(joints: Array) -> Array:
    """Return the point on the floor [frames, 3] between all pelvises; frames without actors repeat the last one."""
    centre = np.ma.masked_invalid(joints[:, :, :1]).mean(0).filled(np.nan)
    return np.asarray(fill_absent(centre)[:, 0] * _TO_FLOOR)


def new_page(width: int, height: int) -> Figure:
    """Return an empty figure, in pixels."""
    figure = Figure((width / _DPI, height / _DPI), dpi=_DPI, facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Add axes over a box: left, top, width and height in pixels."""
    left, top, width, height = box
    whole = figure.bbox
    return figure.add_axes(
        (left / whole.width, 1.0 - (top + height) / whole.height, width / whole.width, height / whole.height)
    )


def add_view(figure: Figure, box: tuple[float, float, float, float], bounds: Sequence[float], most: float = 1e6) -> Axes:
    """Add axes in metres with `bounds` (left, right, lower, upper) in the middle of a box in pixels.

    `most` limits the pixels per metre.
    """
    left, right, low, high = bounds
    axes = add_axes(figure, box)
    half = np.array(box[2:]) / 2 / min(box[2] / (right - left), box[3] / (high - low), most)
    x, y = (left + right) / 2, (low + high) / 2
    axes.set(xlim=(x - half[0], x + half[0]), ylim=(y - half[1], y + half[1]))
    axes.set_axis_off()
    return axes


def draw_lines(axes: Axes, lines: Iterable[Array], colours: Any, widths: Any) -> None:
    """Draw lines [point, 2] with round ends; widths are in the units of the axes."""
    pixels = np.asarray(widths) * axes.bbox.width / np.ptp(axes.get_xlim())
    drawn = LineCollection(list(lines), colors=colours, linewidths=pixels, capstyle="round", joinstyle="round", snap=False)
    axes.add_collection(drawn, autolim=False)


SPACING = 0.5
"""Spacing of the floor's grid lines in metres."""

HEAD_RADIUS = 0.095
LIMB_WIDTH = 0.05
ACTOR_SHADES = (0.0, 0.45, 0.25, 0.6)
"""Share of white in the colours of each actor."""
_DOT = np.array([[0.0, 0.0], [1e-4, 0.0]])
"""A line so short that its round ends are a dot."""


def draw_floor(axes: Axes, camera: Camera, radius: float) -> None:
    """Draw the floor's grid, as a disc around the target of the camera."""
    lines = []
    for axis in (0, 2):
        centre = float(camera.target[axis])
        for position in np.arange(np.ceil((centre - radius) / SPACING) * SPACING, centre + radius, SPACING):
            ends = np.tile(camera.target * _TO_FLOOR, (2, 1))
            ends[:, axis] = position
            ends[:, 2 - axis] += np.array([-1.0, 1.0]) * np.sqrt(max(radius * radius - (position - centre) ** 2, 0.0))
            lines.append(camera.project(ends))
    draw_lines(axes, lines, GRID, 0.008)


def draw_seats(axes: Axes, camera: Camera, seats: Sequence[Seat]) -> None:
    """Draw seats as boxes on the floor, and treads and rungs as slabs, far faces first."""
    faces = []
    for seat in seats:
        corners = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]) * seat.size / 2
        top = corners + seat.top
        bottom = top - [0.0, seat.top[1] if seat.thickness is None else seat.thickness, 0.0]
        faces += [(np.stack([top[i], top[i - 1], bottom[i - 1], bottom[i]]), SEAT_SIDE) for i in range(4)]
        faces.append((top, SEAT))
    faces.sort(key=lambda face: float(camera.depth(face[0].mean(0))))
    polygons = [camera.project(corners) for corners, _ in faces]
    axes.add_collection(PolyCollection(polygons, facecolors=[colour for _, colour in faces]), autolim=False)


def draw_figures(axes: Axes, camera: Camera, joints: Array, contacts: Array | None = None) -> None:
    """Draw all figures of one frame, far limbs first.

    Parameters
    ----------
    axes : Axes
        See :func:`add_view`.
    camera : Camera
    joints : float [actors, 22, 3]
        Figures with NaN are not drawn.
    contacts : [actors, 9] or None
        A green dot marks each point in contact.
    """
    present = np.flatnonzero(np.isfinite(joints).all((1, 2)))
    bones = np.array([[parent, joint] for joint, parent in enumerate(PARENTS) if parent >= 0])
    draw_lines(axes, camera.project(joints[present] * _TO_FLOOR)[:, bones].reshape(-1, 2, 2), SHADOW, LIMB_WIDTH)
    shades = ((actor, ACTOR_SHADES[actor % len(ACTOR_SHADES)]) for actor in present)
    strokes = [stroke for actor, shade in shades for stroke in _strokes(joints[actor], camera, shade)]
    strokes.sort(key=lambda stroke: stroke[0])
    draw_lines(axes, *([stroke[i] for stroke in strokes] for i in (1, 2, 3)))
    if contacts is not None:
        touching = [contact_points(joints[actor])[contacts[actor] == 1] for actor in present]
        draw_lines(axes, [_DOT + camera.project(point) for points in touching for point in points], CONTACT, 1.4 * LIMB_WIDTH)


def contact_points(figure: Array) -> Array:
    """Return where the points of :data:`posegen.foundations.skeleton.CONTACTS` are drawn [9, 3] on a figure [22, 3]."""
    others = [figure[JOINTS.index(CONTACT_JOINTS.get(name, name))] for name in CONTACTS[4:]]
    return np.concatenate([sole_points(figure), np.stack(others)])


def _strokes(figure: Array, camera: Camera, lighter: float) -> list[tuple[Any, ...]]:
    """Return depth, line, colour and width of each limb of a figure, and of its head."""
    colours: dict[str, Any] = {
        side: tuple(tone + (0.92 - tone) * lighter for tone in to_rgb(colour))
        for side, colour in (*SIDES.items(), ("middle", MIDDLE))
    }
    limbs = [(figure[[parent, joint]], JOINTS[joint].partition("_")[0]) for joint, parent in enumerate(PARENTS) if parent >= 0]
    soles = sole_points(figure).reshape(2, 2, 3)
    for side, sole in zip(("left", "right"), soles, strict=True):
        ankle, ball = figure[JOINTS.index(f"{side}_ankle")], figure[JOINTS.index(f"{side}_foot")]
        limbs.append((np.stack([ankle, *sole, ball]), side))
    strokes = [
        (float(camera.depth(limb.mean(0))), camera.project(limb), colours.get(side, colours["middle"]), LIMB_WIDTH)
        for limb, side in limbs
    ]
    spine, neck, head = (figure[JOINTS.index(name)] for name in ("spine3", "neck", "head"))
    # SMPL's head joint lies ahead of the neck and low in the head.
    crown = head + 0.61 * (head - neck) + 0.2 * (neck - spine)
    return [*strokes, (float(camera.depth(crown)), camera.project(crown) + _DOT, colours["middle"], 2 * HEAD_RADIUS)]

"""The figure of `docs/skeleton.md`: rest pose, joint numbers, and the positive direction of every angle.

``python -m docs.skeleton_figure docs/skeleton.png`` draws it from the definitions in the code.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, sole_points
from posegen.viewing.canvas import Camera, add_view, draw_figures, draw_floor, draw_lines, new_page, view_from
from posegen.viewing.palette import CONTACT, INK, LEFT, PAPER, RIGHT
from posegen.viewing.pictures import image_of

__all__ = ["ANGLES", "Angle", "convention_figure", "posed", "rotation"]

Array = NDArray[Any]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Angle:
    """One anatomical angle: its positive rotation and how it is drawn.

    Attributes
    ----------
    name : str
    meaning : str
        Direction of a positive value.
    joint, axis : str
        The joint that turns (the left one of a pair) and its axis.
    sign : int
        Sign of the right-handed rotation.
    tip : str
        The joint whose path is drawn.
    azimuth, elevation : float
        Direction of the camera in degrees.
    before : mapping of str to (axis, degrees)
        Rotations of other joints that make the angle visible.
    against : tuple of str
        Joints that turn back, so that the limbs below them do not move.
    close : bool
        Whether only the surroundings of the tip are drawn, enlarged.
    """

    name: str
    meaning: str
    joint: str
    axis: str
    sign: int
    tip: str
    azimuth: float
    elevation: float = 8.0
    before: Mapping[str, tuple[str, float]] | None = None
    against: tuple[str, ...] = ()
    close: bool = False

    def turns(self, degrees: float) -> dict[str, Array]:
        """Return the rotations [3, 3] of the joints by name for a value of the angle."""
        turns = {joint: rotation(axis, angle) for joint, (axis, angle) in (self.before or {}).items()}
        turns |= {joint: rotation(self.axis, -self.sign * degrees) for joint in self.against}
        return turns | {self.joint: rotation(self.axis, self.sign * degrees)}


_SIDE, _FRONT = 75.0, 0.0
_HIPS = ("left_hip", "right_hip")

ANGLES = (
    Angle("hip flexion", "limb forward", "left_hip", "x", -1, "left_ankle", _SIDE),
    Angle("hip abduction", "limb outward", "left_hip", "z", 1, "left_ankle", _FRONT),
    Angle("hip external rotation", "toes outward", "left_hip", "y", 1, "left_foot", 10.0, 40.0, close=True),
    Angle("knee flexion", "heel back", "left_knee", "x", 1, "left_ankle", _SIDE),
    Angle("ankle dorsiflexion", "toes up", "left_ankle", "x", -1, "left_foot", _SIDE, close=True),
    Angle("shoulder flexion", "limb forward", "left_shoulder", "x", -1, "left_wrist", _SIDE),
    Angle("shoulder abduction", "limb outward", "left_shoulder", "z", 1, "left_wrist", _FRONT),
    Angle(
        *("shoulder ext. rotation", "forearm outward", "left_shoulder", "y", 1, "left_wrist", 10.0, 40.0),
        before={"left_elbow": ("x", -80.0)},
    ),
    Angle("elbow flexion", "hand forward", "left_elbow", "x", -1, "left_wrist", _SIDE),
    Angle("trunk, neck flexion", "forward", "spine1", "x", 1, "head", _SIDE),
    Angle("trunk, neck lateral flexion", "to the left", "spine1", "z", -1, "head", _FRONT),
    Angle("trunk, neck rotation", "to the left", "spine1", "y", 1, "right_shoulder", 10.0, 40.0),
    Angle("pelvis tilt", "forward", "pelvis", "x", 1, "head", _SIDE, against=_HIPS),
    Angle("pelvis obliquity", "left side up", "pelvis", "z", 1, "left_hip", _FRONT, against=_HIPS),
)
"""The angles of the table in :mod:`posegen.foundations.skeleton`, by body part."""


def posed(turns: Mapping[str, Array] | None = None) -> Array:
    """Return the joints [22, 3] of an average person, 1.7 m tall, standing on the floor.

    Parameters
    ----------
    turns : mapping of str to float [3, 3]
        Rotation of a joint by its name; the pelvis keeps its position.
    """
    offsets = np.asarray(body_offsets(empty_scenes(1, 1, 1).persons)[0, 0], np.float64)
    standing = np.zeros((len(JOINTS), 3))
    figure = np.zeros((len(JOINTS), 3))
    rotations = np.zeros((len(JOINTS), 3, 3))
    for joint, (name, parent) in enumerate(zip(JOINTS, PARENTS, strict=True)):
        own = (turns or {}).get(name, np.eye(3))
        if parent < 0:
            rotations[joint] = own
            continue
        rotations[joint] = rotations[parent] @ own
        figure[joint] = figure[parent] + rotations[parent] @ offsets[joint]
        standing[joint] = standing[parent] + offsets[joint]
    figure[:, 1] -= sole_points(standing)[:, 1].min()
    return figure


def rotation(axis: str, degrees: float) -> Array:
    """Return the right-handed rotation [3, 3] about one of the axes x, y, z."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[i, i], matrix[j, j], matrix[i, j], matrix[j, i] = c, c, -s, s
    return matrix


GREY = "#96969c"
SHOWN_DEGREES = 40.0
_WIDTH, _HEIGHT = 1400, 1240
_ORIGIN = np.zeros(3)


def convention_figure() -> Image.Image:
    """Return the figure: rest pose with numbered joints, soles and axes, and a drawing of each angle."""
    page = new_page(_WIDTH, _HEIGHT)
    _front_panel(page, (10, 34, 680, 640))
    _side_panel(page, (700, 34, 300, 640))
    _foot_panel(page, (1000, 34, 390, 330))
    _legend(page, (1010, 382))
    columns, size = 7, (197, 270)
    for number, angle in enumerate(ANGLES):
        box = (10 + number % columns * size[0], 684 + number // columns * size[1], *size)
        _angle_panel(page, angle, box)
    for at, title in (
        ((10, 8), "Rest pose from the front: joints"),
        ((700, 8), "From its left side"),
        ((1000, 8), "Left foot from its left side: points of the sole"),
        (
            (10, 660),
            f"Positive angles (the rest pose in grey, the left limb or the trunk turned by {SHOWN_DEGREES:.0f} degrees)",
        ),
    ):
        _write(page, at, title, 15)
    return image_of(page)


def _write(page: Figure, at: tuple[float, float], text: str, size: int, colour: str = INK, ha: str = "left") -> None:
    """Write text below a place in pixels from the upper left corner."""
    page.text(at[0], _HEIGHT - at[1], text, transform=None, fontsize=size, color=colour, ha=ha, va="top")


def _front_panel(page: Figure, box: Box) -> None:
    figure, camera = posed(), Camera(view_from(0.0, 8.0), _ORIGIN)
    axes = add_view(page, box, (-1.0, 1.0, -0.15, 1.85))
    draw_floor(axes, camera, 0.8)
    draw_figures(axes, camera, figure[None])
    _draw_axes(axes, camera, np.array([0.45, 0.22, 0.0]), {"x left": 0, "y up": 1})
    places = camera.project(figure)
    for names, x, side in (
        ([i for i, name in enumerate(JOINTS) if not name.startswith("left")], -1.0, "left"),
        ([i for i, name in enumerate(JOINTS) if name.startswith("left")], 1.0, "right"),
    ):
        rows = _spread([float(places[i, 1]) for i in names], 0.062)
        for joint, y in zip(names, rows, strict=True):
            text = f"{joint} {JOINTS[joint]}" if side == "left" else f"{JOINTS[joint]} {joint}"
            line = {"arrowstyle": "-", "color": "#bebec4", "shrinkA": 2}
            axes.annotate(
                text, places[joint], (x, y), arrowprops=line, fontsize=13, color=INK, ha=side, va="center_baseline", zorder=2.5
            )
    for joint, place in enumerate(places):
        badge = {"boxstyle": "circle,pad=0.3", "facecolor": PAPER, "edgecolor": INK}
        axes.text(*place, str(joint), bbox=badge, fontsize=8, color=INK, ha="center", va="center", zorder=4)


def _spread(heights: list[float], least: float) -> list[float]:
    """Return the rows nearest to `heights`, in the same order, at least `least` apart."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    rows = [heights[i] for i in order]
    for _ in range(200):
        for i in range(1, len(rows)):
            overlap = least - (rows[i] - rows[i - 1])
            if overlap > 0:
                rows[i - 1] -= overlap / 2
                rows[i] += overlap / 2
    spread = [0.0] * len(rows)
    for row, i in zip(rows, order, strict=True):
        spread[i] = row
    return spread


def _side_panel(page: Figure, box: Box) -> None:
    camera = Camera(view_from(90.0, 0.0), _ORIGIN)
    axes = add_view(page, box, (-0.47, 0.47, -0.15, 1.85))
    draw_floor(axes, camera, 0.4)
    draw_figures(axes, camera, posed()[None])
    _draw_axes(axes, camera, np.array([0.0, 0.3, 0.22]), {"y up": 1, "z ahead": 2})


def _draw_axes(axes: Axes, camera: Camera, start: Array, names: Mapping[str, int]) -> None:
    for name, axis in names.items():
        tail, tip = camera.project(start + np.outer([0.0, 0.18], np.eye(3)[axis]))
        _arrow(axes, tail, tip, INK)
        away = (tip - tail) * 0.2
        axes.text(
            *(tip + away - [0.0, 0.05 if abs(away[0]) > abs(away[1]) else 0.0]), name, fontsize=13, color=INK, ha="center"
        )


def _arrow(axes: Axes, tail: Array, tip: Array, colour: str) -> None:
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, tail, arrowprops=line, annotation_clip=False)


def _foot_panel(page: Figure, box: Box) -> None:
    figure = posed()
    ankle = figure[JOINTS.index("left_ankle")]
    camera = Camera(view_from(90.0, 0.0), np.array([ankle[0], 0.0, ankle[2] + 0.05]))
    axes = add_view(page, box, (-0.178, 0.178, -0.08, 0.22))
    axes.axhline(0.0, color=GREY, linewidth=1.5)
    points = {"left_ankle (7)": ankle, "left_foot (10), the ball": figure[JOINTS.index("left_foot")]}
    points |= {f"contact {CONTACTS[i]}": point for i, point in enumerate(sole_points(figure)[:2])}
    outline = camera.project(np.stack([points[name] for name in points]))[[0, 2, 3, 1, 0]]
    knee = camera.project(ankle + np.array([0.0, 0.12, 0.0]))
    axes.plot(*np.stack([knee, *outline]).T, color=LEFT, linewidth=5, solid_joinstyle="round")
    for (name, point), away in zip(points.items(), ((60, 46), (-10, 56), (-40, -40), (46, -40)), strict=True):
        place = camera.project(point)
        colour = CONTACT if name.startswith("contact") else PAPER
        axes.plot(*place, "o", markersize=12, color=colour, markeredgecolor=INK)
        line = {"arrowstyle": "-", "color": GREY}
        axes.annotate(name, place, away, textcoords="offset points", arrowprops=line, fontsize=13, color=INK, ha="center")


def _legend(page: Figure, at: tuple[int, int]) -> None:
    lines = (
        (LEFT, "blue: the figure's left side"),
        (RIGHT, "red: its right side"),
        (CONTACT, "green: points that touch a surface"),
        (INK, "x to the figure's left, y up, z ahead; metres"),
        (INK, "rest pose: every joint's axes along the world's,"),
        (INK, "every angle 0"),
        (INK, "right-handed turns; the right side mirrors"),
        (INK, "turns about y and z"),
        (INK, "grid: 0.5 m"),
    )
    for i, (colour, text) in enumerate(lines):
        _write(page, (at[0], at[1] + 27 * i), text, 15, colour)


def _angle_panel(page: Figure, angle: Angle, box: Box) -> None:
    left, top, width, height = box
    target = np.array([posed()[JOINTS.index(angle.tip), 0] if angle.close else 0.0, 0.0, 0.0])
    camera, scale = Camera(view_from(angle.azimuth, angle.elevation), target), 290.0 if angle.close else 108.0
    high = (height - 60) / scale
    low = -(50 if angle.close else 18) / scale
    axes = add_view(page, (left, top + 42, width, height - 60), (-width / 2 / scale, width / 2 / scale, low, low + high))
    places = camera.project(posed(angle.turns(0.0)))
    bones = [places[[parent, child]] for child, parent in enumerate(PARENTS) if parent >= 0]
    draw_lines(axes, bones, "#c4c4ca", 1 / 24)
    draw_figures(axes, camera, posed(angle.turns(SHOWN_DEGREES))[None])
    _arrow_of_motion(axes, camera, angle)
    middle, text = left + width / 2, f"{angle.joint.removeprefix('left_')}: {'+' if angle.sign > 0 else '-'}{angle.axis}"
    _write(page, (middle, top + 4), angle.name, 13, ha="center")
    _write(page, (middle, top + 22), f"+ {angle.meaning}", 12, GREY, ha="center")
    _write(page, (middle, top + height - 16), text, 11, GREY, ha="center")


def _arrow_of_motion(axes: Axes, camera: Camera, angle: Angle) -> None:
    """Draw the path of the end of the limb with an arrow at its tip."""
    path = np.stack([posed(angle.turns(degrees))[JOINTS.index(angle.tip)] for degrees in np.linspace(0.0, SHOWN_DEGREES, 12)])
    places = camera.project(path)
    axes.plot(*places[:-1].T, color=CONTACT, linewidth=2)
    _arrow(axes, places[-3], places[-1], CONTACT)


if __name__ == "__main__":
    convention_figure().save(sys.argv[1])

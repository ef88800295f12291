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
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import CONTACTS, JOINTS, PARENTS, sole_points
from posegen.viewing.canvas import COLOURS, Placement, draw_figures, draw_floor, view_from
from posegen.viewing.pictures import INK, typeface

__all__ = ["ANGLES", "Angle", "convention_figure", "posed", "rotation"]

Array = NDArray[Any]


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


FINER = 2
PAPER = (255, 255, 255)
GREY = (150, 150, 156)
SHOWN_DEGREES = 40.0


def convention_figure() -> Image.Image:
    """Return the figure: rest pose with numbered joints, soles and axes, and a drawing of each angle."""
    page = Image.new("RGB", (1400, 1240), PAPER)
    page.paste(_front_panel((680, 640)), (10, 34))
    page.paste(_side_panel((300, 640)), (700, 34))
    page.paste(_foot_panel((390, 330)), (1000, 34))
    page.paste(_legend_panel((390, 300)), (1000, 374))
    columns, size = 7, (197, 270)
    for number, angle in enumerate(ANGLES):
        page.paste(_angle_panel(angle, size), (10 + number % columns * size[0], 684 + number // columns * size[1]))
    canvas = ImageDraw.Draw(page)
    for at, title in (
        ((10, 8), "Rest pose from the front: joints"),
        ((700, 8), "From its left side"),
        ((1000, 8), "Left foot from its left side: points of the sole"),
        (
            (10, 660),
            f"Positive angles (the rest pose in grey, the left limb or the trunk turned by {SHOWN_DEGREES:.0f} degrees)",
        ),
    ):
        canvas.text(at, title, fill=INK, font=typeface(16))
    return page


def _panel(
    size: tuple[int, int], placement: Placement, centre: Array, figures: Array, reach: tuple[float, float]
) -> Image.Image:
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), PAPER)
    canvas = ImageDraw.Draw(picture)
    draw_floor(canvas, placement, centre, reach)
    draw_figures(canvas, placement, centre, figures)
    return picture


def _placement(azimuth: float, elevation: float, scale: float, at: tuple[float, float]) -> Placement:
    return Placement(view_from(azimuth, elevation), scale * FINER, (at[0] * FINER, at[1] * FINER))


def _front_panel(size: tuple[int, int]) -> Image.Image:
    figure, centre = posed(), np.zeros(3)
    placement = _placement(0.0, 8.0, 318.0, (size[0] / 2, size[1] - 50))
    picture = _panel(size, placement, centre, figure[None], (0.8, 0.5))
    start = np.array([0.45, 0.22, 0.0])
    _axes(ImageDraw.Draw(picture), placement, start, centre, ("x", "y"))
    picture = picture.reduce(FINER)
    canvas = ImageDraw.Draw(picture)
    for name, offset in (("x left", (0.1, -0.05, 0.0)), ("y up", (0.0, 0.21, 0.0))):
        x, y = placement.pixels(start + np.array(offset), centre) / FINER
        canvas.text((float(x), float(y)), name, fill=INK, font=typeface(14), anchor="mm")
    places = placement.pixels(figure, centre) / FINER
    for names, x, anchor in (
        ([i for i, name in enumerate(JOINTS) if not name.startswith("left")], 8, "lm"),
        ([i for i, name in enumerate(JOINTS) if name.startswith("left")], size[0] - 8, "rm"),
    ):
        rows = _spread([float(places[i, 1]) for i in names], 21.0)
        for joint, y in zip(names, rows, strict=True):
            text = f"{joint} {JOINTS[joint]}" if anchor == "lm" else f"{JOINTS[joint]} {joint}"
            inner = x + (typeface(14).getlength(text) + 5) * (1 if anchor == "lm" else -1)
            canvas.line((inner, y, *map(float, places[joint])), fill=(190, 190, 196), width=1)
            canvas.text((x, y), text, fill=INK, font=typeface(14), anchor=anchor)
    for joint, (px, py) in enumerate(places):
        _badge(canvas, (float(px), float(py)), str(joint))
    return picture


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


def _badge(canvas: ImageDraw.ImageDraw, at: tuple[float, float], text: str) -> None:
    x, y = at
    canvas.ellipse((x - 8, y - 8, x + 8, y + 8), fill=PAPER, outline=INK)
    canvas.text((x, y), text, fill=INK, font=typeface(10), anchor="mm")


def _side_panel(size: tuple[int, int]) -> Image.Image:
    figure, centre = posed(), np.zeros(3)
    placement = _placement(90.0, 0.0, 318.0, (size[0] / 2, size[1] - 50))
    picture = _panel(size, placement, centre, figure[None], (0.4, 0.5))
    canvas = ImageDraw.Draw(picture)
    _axes(canvas, placement, np.array([0.0, 0.3, 0.22]), centre, ("y", "z"))
    picture = picture.reduce(FINER)
    canvas = ImageDraw.Draw(picture)
    for name, offset in (("y up", (0.0, 0.52, 0.22)), ("z ahead", (0.0, 0.26, 0.32))):
        x, y = placement.pixels(np.array(offset), centre) / FINER
        canvas.text((float(x), float(y)), name, fill=INK, font=typeface(14), anchor="mm")
    return picture


def _axes(canvas: ImageDraw.ImageDraw, placement: Placement, start: Array, centre: Array, names: tuple[str, ...]) -> None:
    for name in names:
        direction = np.zeros(3)
        direction["xyz".index(name)] = 0.18
        tail, tip = placement.pixels(np.stack([start, start + direction]), centre)
        _arrow(canvas, tail, tip, INK)


def _arrow(canvas: ImageDraw.ImageDraw, tail: Array, tip: Array, colour: tuple[int, int, int]) -> None:
    along = tip - tail
    along = along / max(float(np.hypot(*along)), 1e-9)
    across = np.array([-along[1], along[0]])
    base = tip - 14 * along
    canvas.line((*map(float, tail), *map(float, base)), fill=colour, width=4)
    canvas.polygon([tuple(map(float, p)) for p in (tip, base + 7 * across, base - 7 * across)], fill=colour)


def _foot_panel(size: tuple[int, int]) -> Image.Image:
    figure = posed()
    ankle = figure[JOINTS.index("left_ankle")]
    centre = np.array([ankle[0], 0.0, ankle[2] + 0.05])
    placement = _placement(90.0, 0.0, 1100.0, (size[0] / 2, size[1] - 90))
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), PAPER)
    canvas = ImageDraw.Draw(picture)
    _, floor = placement.pixels(np.zeros(3), centre)
    canvas.line((0, float(floor), size[0] * FINER, float(floor)), fill=GREY, width=3)
    points = {"left_ankle (7)": ankle, "left_foot (10), the ball": figure[JOINTS.index("left_foot")]}
    points |= {f"contact {CONTACTS[i]}": point for i, point in enumerate(sole_points(figure)[:2])}
    outline = placement.pixels(np.stack([points[name] for name in points]), centre)[[0, 2, 3, 1, 0]]
    knee = placement.pixels(ankle + np.array([0.0, 0.12, 0.0]), centre)
    canvas.line([tuple(map(float, p)) for p in (knee, *outline)], fill=COLOURS["left"], width=10, joint="curve")
    picture = picture.reduce(FINER)
    canvas = ImageDraw.Draw(picture)
    for (name, point), (dx, dy) in zip(points.items(), ((70, -46), (-10, -56), (-40, 40), (46, 40)), strict=True):
        x, y = map(float, placement.pixels(point, centre) / FINER)
        canvas.ellipse(
            (x - 6, y - 6, x + 6, y + 6), fill=COLOURS["contact"] if name.startswith("contact") else PAPER, outline=INK
        )
        canvas.line((x, y, x + dx, y + dy), fill=GREY)
        canvas.text((x + dx, y + dy), name, fill=INK, font=typeface(14), anchor="mb" if dy < 0 else "mt")
    return picture


def _legend_panel(size: tuple[int, int]) -> Image.Image:
    picture = Image.new("RGB", size, PAPER)
    canvas = ImageDraw.Draw(picture)
    lines = (
        (COLOURS["left"], "blue: the figure's left side"),
        (COLOURS["right"], "red: its right side"),
        (COLOURS["contact"], "green: points that touch a surface"),
        (INK, "x to the figure's left, y up, z ahead; metres"),
        (INK, "rest pose: every joint's axes along the world's,"),
        (INK, "every angle 0"),
        (INK, "right-handed turns; the right side mirrors"),
        (INK, "turns about y and z"),
        (INK, "grid: 0.5 m"),
    )
    for i, (colour, text) in enumerate(lines):
        canvas.text((10, 8 + 27 * i), text, fill=colour, font=typeface(16))
    return picture


def _angle_panel(angle: Angle, size: tuple[int, int]) -> Image.Image:
    scale = 290.0 if angle.close else 108.0
    centre = np.zeros(3)
    if angle.close:
        centre[0] = posed()[JOINTS.index(angle.tip), 0]
    placement = _placement(angle.azimuth, angle.elevation, scale, (size[0] / 2, size[1] - (70 if angle.close else 38)))
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), PAPER)
    canvas = ImageDraw.Draw(picture)
    places = placement.pixels(posed(angle.turns(0.0)), centre)
    for child, parent in enumerate(PARENTS[1:], start=1):
        canvas.line([tuple(map(float, places[i])) for i in (parent, child)], fill=(196, 196, 202), width=round(scale / 12))
    draw_figures(canvas, placement, centre, posed(angle.turns(SHOWN_DEGREES))[None])
    _arrow_of_motion(canvas, placement, centre, angle)
    picture = picture.reduce(FINER)
    canvas = ImageDraw.Draw(picture)
    canvas.rectangle((0, 0, size[0], 40), fill=PAPER)
    canvas.rectangle((0, size[1] - 18, *size), fill=PAPER)
    canvas.text((size[0] / 2, 4), angle.name, fill=INK, font=typeface(14), anchor="ma")
    canvas.text((size[0] / 2, 21), f"+ {angle.meaning}", fill=GREY, font=typeface(13), anchor="ma")
    text = f"{angle.joint.removeprefix('left_')}: {'+' if angle.sign > 0 else '-'}{angle.axis}"
    canvas.text((size[0] / 2, size[1] - 4), text, fill=GREY, font=typeface(12), anchor="ms")
    return picture


def _arrow_of_motion(canvas: ImageDraw.ImageDraw, placement: Placement, centre: Array, angle: Angle) -> None:
    """Draw the path of the end of the limb with an arrow at its tip."""
    path = np.stack([posed(angle.turns(degrees))[JOINTS.index(angle.tip)] for degrees in np.linspace(0.0, SHOWN_DEGREES, 12)])
    places = placement.pixels(path, centre)
    canvas.line([tuple(map(float, p)) for p in places[:-1]], fill=COLOURS["contact"], width=4, joint="curve")
    _arrow(canvas, places[-3], places[-1], COLOURS["contact"])


if __name__ == "__main__":
    convention_figure().save(sys.argv[1])

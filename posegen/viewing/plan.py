"""The path from above: where each actor goes, where it faces, where its feet stand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from posegen.skeleton import JOINTS, sole_points
from posegen.viewing.clip import Clip
from posegen.viewing.draw import COLOURS
from posegen.viewing.lettering import typeface
from posegen.viewing.view import Placement, view_from

__all__ = ["draw_plan"]

Array = NDArray[Any]

FINER = 2
ABOVE = 90.0


def draw_plan(clip: Clip, chosen: Array, size: tuple[int, int], heading: float) -> Image.Image:
    """Picture of `size` of the paths of a sequence, seen from above, with up in the picture along `heading`.

    A dot and a short line towards the front stand for each chosen frame, a ring for the first. Lines in the colour of
    their side are the soles that stand still (where the sequence has contacts). The grey bar is one metre long.
    """
    view = view_from(180.0, ABOVE, heading)
    pelvis = clip.joints[:, :, 0]
    flat = Placement(view, 1.0, (0.0, 0.0)).pixels(pelvis, np.zeros(3))
    there = flat[np.isfinite(flat).all(-1)]
    low, high = there.min(0) - 0.45, there.max(0) + 0.45
    scale = FINER * min((size[0] - 4) / (high[0] - low[0]), (size[1] - 16) / (high[1] - low[1]), 60.0)
    at = np.array(size) * FINER / 2 - scale * (low + high) / 2
    placement = Placement(view, scale, (float(at[0]), float(at[1])))
    picture = Image.new("RGB", (size[0] * FINER, size[1] * FINER), (250, 250, 251))
    canvas = ImageDraw.Draw(picture)
    for actor in range(len(pelvis)):
        _draw_soles(canvas, clip, actor, placement)
        _draw_path(canvas, clip, actor, chosen, placement)
    bottom = size[1] * FINER - 5
    canvas.line((6, bottom, 6 + scale, bottom), fill=(150, 150, 156), width=4)
    picture = picture.reduce(FINER)
    text = ImageDraw.Draw(picture)
    text.text((5 + scale / FINER + 3, size[1] - 9), "1 m", fill=(120, 120, 126), font=typeface(10), anchor="lm")
    text.text((3, 2), "from above", fill=(120, 120, 126), font=typeface(10))
    return picture


def _draw_path(canvas: ImageDraw.ImageDraw, clip: Clip, actor: int, chosen: Array, placement: Placement) -> None:
    pelvis = clip.joints[actor, :, 0]
    there = np.isfinite(clip.joints[actor]).all((1, 2))
    path = placement.pixels(pelvis[there], np.zeros(3))
    canvas.line([(float(x), float(y)) for x, y in path], fill=COLOURS["middle"], width=2)
    left, right = (clip.joints[actor, :, JOINTS.index(f"{side}_hip")] for side in ("left", "right"))
    across = left - right
    for frame in chosen[there[chosen]]:
        # The front is a quarter turn to the right of the line from the right hip to the left one, seen from above.
        ahead = np.array([-across[frame, 2], 0.0, across[frame, 0]])
        ahead /= max(float(np.sqrt((ahead * ahead).sum())), 1e-9)
        start, end = placement.pixels(np.stack([pelvis[frame], pelvis[frame] + 0.3 * ahead]), np.zeros(3))
        canvas.line((*map(float, start), *map(float, end)), fill=COLOURS["middle"], width=3)
        radius = 6 if frame == chosen[0] else 3.5
        box = (float(start[0]) - radius, float(start[1]) - radius, float(start[0]) + radius, float(start[1]) + radius)
        canvas.ellipse(
            box, fill=(255, 255, 255) if frame == chosen[0] else COLOURS["middle"], outline=COLOURS["middle"], width=2
        )


def _draw_soles(canvas: ImageDraw.ImageDraw, clip: Clip, actor: int, placement: Placement) -> None:
    if clip.contacts is None:
        return
    soles = placement.pixels(sole_points(clip.joints[actor]), np.zeros(3))
    for side, heel in (("left", 0), ("right", 2)):
        flat = (clip.contacts[actor, :, heel : heel + 2] == 1).all(-1) & np.isfinite(soles[:, heel : heel + 2]).all((1, 2))
        for pair in soles[flat, heel : heel + 2]:
            canvas.line([(float(x), float(y)) for x, y in pair], fill=COLOURS[side], width=4)

"""Points of a body as our joints: arrays in the order of another project's skeleton, and points with names.

``point_layouts.yaml`` lists the skeletons. Several have as many points; the lengths of the bones decide
which one an array has: only with the right names are they those of a person, equal on both sides, and constant.

Markers on the skin become joint centres by published formulas; ``marker_names.yaml`` lists what programs call the markers.

======== ====================================================================================================================
joint    centre
======== ====================================================================================================================
hip      regression on width and depth of the pelvis between its spines (Harrington et al. 2007, J. Biomech. 40:595, table 3)
knee,    middle of both epicondyles or malleoli (Wu et al. 2002, J. Biomech. 35:543); with the outer marker alone, at half the
ankle    width of the joint from it, where the lines to the marker and to the joint above are perpendicular (Davis et al. 1991,
         Hum. Mov. Sci. 10:575), away from the side that the pelvis gives
shoulder below the acromion by .17 of the distance of both (Rab et al. 2002, Gait Posture 15:258)
elbow    middle of both epicondyles; with the outer marker alone, as the knee, along the axis about which the elbow bends
wrist    middle of both markers
======== ====================================================================================================================

Centres that the file names are used as they are. Widths of joints, which files do not state, are shares of the bone below,
measured on outputs of Plug-in Gait. The neck is between C7 and the notch of the sternum, and the head half way from it to its
markers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from posegen.exchange.rig import NEEDED, SIDES, Body, Rig, Tree, figure, find_rig, length, unit
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS, T_POSE
from posegen.foundations.wording import shown
from posegen.foundations.yaml_files import read_yaml

FARTHEST = 1e6
"""Largest coordinate, in any unit."""
_BONES = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
_EXAMINED = 200
"""Maximum number of frames in which bones are measured."""
_MOST_UNLIKE = 0.55
"""Greatest unlikeness of the bones of a person. That of 431 recordings of Kinect is .38 at most, of wrong orders .81."""
_PIXELS = 20.0
"""Ratio of image coordinates and a score, from which points are two-dimensional."""
_DATA = read_yaml(Path(__file__).with_name("point_layouts.yaml"))
_SUMS: list[Mapping[str, Mapping[str, float]]] = _DATA["sums"]
_NEAR = {
    ("left_hip", "right_hip"): 1.0,
    ("left_shoulder", "right_shoulder"): 1.0,
    ("pelvis", "left_hip"): 1.5,
    ("neck", "left_shoulder"): 1.5,
    ("head", "neck"): 1.0,
}
"""Joints that are nearer to each other than the length of the thigh divided by a number."""
_SIDES = {"l": "left", "r": "right", "left": "left", "right": "right"}
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_METRES = (1.0, 0.01, 0.001)
_PELVIS_WIDTH = 0.24
"""Metres between the anterior spines of an adult, which show the unit of a file: the regression is in millimetres."""
_KNEE, _ANKLE, _ELBOW = 0.14, 0.105, 0.16
"""Half the width of a joint and the radius of a marker, by the length from the marker to that of the next joint."""
_BELOW_ACROMION, _HEAD_SHARE, _BENT = 0.17, 0.5, 0.3
_NEEDED_MARKERS = {
    "hip": "asis and psis or sacrum", "knee": "knee out", "ankle": "ankle out", "shoulder": "shoulder",
    "elbow": "elbow out", "wrist": "wrist thumb and wrist finger",
}  # fmt: skip
"""Markers that give each joint that is needed."""
Points = dict[str, Array]


@dataclass(frozen=True)
class PointLayout:
    """A skeleton as an array has it.

    Attributes
    ----------
    points : str
        Names of the points, in order.
    fps : float
        Of the sensor; 0 if it has none of its own.
    open : bool
        Whether other points may follow.
    """

    points: str
    fps: float = 0.0
    open: bool = False

    def fits(self, count: int) -> bool:
        """Return whether an array of this number of points may have this layout."""
        own = len(self.points.split())
        return own == count or (self.open and own < count)


POINT_LAYOUTS = TypeAdapter(dict[str, PointLayout]).validate_python(_DATA["layouts"])
"""Layouts by name."""


def clips_of_array(values: Array, where: str) -> Iterator[Array]:
    """Yield the clips of an array as points [frame, point, 3], NaN where unknown.

    Parameters
    ----------
    values : float [frame, point, 3], [frame, 3 point], or [clip, frame, point, 3]
        Or, as MDM writes it, [clip, point, 3, frame]. A fourth coordinate is a score; points of score 0 are unknown.
    where : str
        For messages.

    Raises
    ------
    UsageError
        If it is none of these.
    """
    given = f"(got {values.dtype} {list(values.shape)})"
    if values.dtype.kind not in "fiu" or not 2 <= values.ndim <= 4 or 0 in values.shape:
        raise UsageError(f"{where}: joints must be float [frames, joints, 3] {given}. Store the positions of the joints")
    if values.ndim == 2 and values.shape[1] % 3 == 0:
        values = values.reshape(len(values), -1, 3)
    if values.ndim >= 3 and values.shape[-1] not in (3, 4) and values.shape[-2] == 3:
        values = np.moveaxis(values, -1, -3)
    if values.ndim == 2 or values.shape[-1] not in (3, 4):
        hint = "Two-dimensional keypoints must be lifted first" if values.shape[-1] == 2 else "Store positions of joints"
        raise UsageError(f"{where}: joints must be float [frames, joints, 3] {given}. {hint}")
    for points in values if values.ndim == 4 else (values,):
        known = np.asarray(points[..., :3], np.float64)
        if (np.abs(known) > FARTHEST).any():  # false for NaN, true for infinity
            raise UsageError(f"{where}: some joints are infinite, or farther than {FARTHEST:,.0f} away. Remove these frames")
        if points.shape[-1] == 4:
            known = np.where(points[..., 3:] > 0, known, np.nan)
        yield known


def body_of_points(points: Array, where: str, names: Mapping[str, str] | None = None) -> Body:
    """Return our joints of points in the order of a known skeleton.

    Parameters
    ----------
    points : float64 [frame, point, 3]
    where : str
        For messages.
    names : mapping of str to str, optional
        Numbers of points by our joints, from 0, for an order that is not known.

    Raises
    ------
    UsageError
        If the order is not known, or the points are those of an image.
    """
    count = points.shape[1]
    size = np.nanmax(np.abs(points), axis=(0, 1), initial=0.0) if np.isfinite(points).any() else np.zeros(3)
    if size[2] <= 1 and size[:2].min() > _PIXELS:
        fix = "Lift them first, for example with `posegen train --task lifting`"
        raise UsageError(f"{where}: has pixels and scores of an image, and joints in three dimensions are needed. {fix}")
    if names:
        return named_body([str(number) for number in range(count)], points, where, names)
    fitting = {name: layout for name, layout in POINT_LAYOUTS.items() if layout.fits(count)}
    bodies = {name: _arranged(layout, points) for name, layout in fitting.items()}
    unlike = {name: _unlikeness(joints) for name, (joints, _) in bodies.items()}
    best = min(unlike, key=lambda name: unlike[name], default="")
    if not best or (unlike[best] > _MOST_UNLIKE and np.isfinite(points).any()):
        known = f"and their bones do not fit {' or '.join(fitting)}" if fitting else "and no known skeleton has so many"
        fix = "Name them by their numbers, from 0, in a YAML file with --names, such as `left_hip: 1`"
        raise UsageError(f"{where}: has {count} points, {known}. {fix}")
    joints, notes = bodies[best]
    return Body(joints, f"{count} points as {best}", POINT_LAYOUTS[best].fps, notes)


def named_body(names: Sequence[str], points: Array, where: str, given: Mapping[str, str] | None = None) -> Body:
    """Return our joints of points with names: joint centres, or markers on the skin, see :mod:`posegen.exchange.points`.

    Parameters
    ----------
    names : sequence of str
    points : float64 [frame, point, 3]
    where : str
        For messages.
    given : mapping of str to str, optional
        Names of points by our joints; see :func:`posegen.exchange.rig.read_names`.

    Raises
    ------
    UsageError
        If they are not recognised.
    """
    others: tuple[str, ...] = ()
    if not given:
        names, points, others = _first_subject(names, points)
    if not given and (found := joint_centres(names, points)) is not None:
        centres, lacking = found
        if lacking:
            known = ", ".join(map(shown, names))
            raise UsageError(f"{where}: its markers give no {', '.join(lacking)}. It has {known:.600}. Add them")
        joints, notes = _with_estimates([*centres], np.stack([*centres.values()], axis=1))
        return Body(joints, "joint centres of markers", notes=(*others, *notes))
    rig = find_rig(Tree(tuple(names), (-1,) * len(names)), points[0], given, where)
    return Body(figure(rig, points), "named points", notes=(*others, *rig.notes))


def _first_subject(names: Sequence[str], points: Array) -> tuple[Sequence[str], Array, tuple[str, ...]]:
    """Return the points of the first of several subjects, named as prefixes of the points, and a note about the subjects."""
    prefixes = [name.rpartition(":")[0] for name in names]
    subjects = [name for name, count in Counter(prefixes).items() if name and count >= 2 * len(NEEDED)]
    if len(subjects) < 2:
        return names, points, ()
    own = [number for number, prefix in enumerate(prefixes) if prefix == subjects[0]]
    note = f"the file has the subjects {', '.join(map(shown, subjects))}: the first one is used"
    return [names[number] for number in own], points[:, own], (note,)


def _arranged(layout: PointLayout, points: Array) -> tuple[Array, tuple[str, ...]]:
    """Return our joints of points in the order of a layout, and notes."""
    names = layout.points.split()
    seen = without_zeros(points[:, : len(names)], names.index("pelvis") if "pelvis" in names else -1)
    names = [name if np.isfinite(seen[:, number]).any() else "x" for number, name in enumerate(names)]
    for joint, parts in (item for entry in _SUMS for item in entry.items()):
        if joint not in names and {*parts} <= {*names}:
            place = sum((weight * seen[:, names.index(name)] for name, weight in parts.items()), np.zeros((len(seen), 3)))
            names, seen = [*names, joint], np.concatenate([seen, place[:, None]], axis=1)
    return _with_estimates(names, seen)


def _with_estimates(names: Sequence[str], points: Array) -> tuple[Array, tuple[str, ...]]:
    """Return our joints of points with our names, and a note about those that are estimated."""
    if {*JOINTS} <= {*names}:
        return points[:, [names.index(name) for name in JOINTS]], ()
    joints = {name: names.index(name) for name in JOINTS if name in names}
    lacking = [name for name in JOINTS if name not in joints and not name.startswith(("right_", "spine"))]
    spine = [number for number, name in enumerate(names) if name.startswith("spine_")]
    plain = ", ".join(name.removeprefix("left_") for name in lacking)
    notes = (f"the file has no {plain}: estimated",) if lacking else ()
    return figure(Rig(joints, [joints.get("pelvis", -1), *spine]), points), notes


def without_zeros(points: Array, pelvis: int) -> Array:
    """Return points that are unknown where an array has 0, 0, 0; the pelvis may be there."""
    at_zero = (points == 0).all(-1)
    if pelvis >= 0:
        at_zero[:, pelvis] = False
    return np.where(at_zero[..., None], np.nan, points)


def _unlikeness(joints: Array) -> float:
    """Return how much the bones of joints [frame, 22, 3] differ from a person's: in ratio, between sides, and over time."""
    frames = joints[:: max(1, len(joints) // _EXAMINED)]

    def lengths(one: str, other: str) -> Array:
        away = frames[:, JOINTS.index(one)] - frames[:, JOINTS.index(other)]
        return np.asarray(np.sqrt((away**2).sum(-1)))

    bones = [[lengths(f"{side}_{a}", f"{side}_{b}") for a, b in _BONES] for side in ("left", "right")]
    expected = [float(np.sqrt(np.sum(np.square(T_POSE[f"left_{b}"])))) for _, b in _BONES]
    widths = [most * lengths(*ends) for ends, most in _NEAR.items()]
    if np.isnan([*bones[0], *bones[1], *widths]).all(axis=-1).any():
        return np.inf
    with np.errstate(all="ignore"):
        median: Array = np.nanmedian(bones, axis=-1)
        spread = np.mean(np.nanstd(bones, axis=-1) / median)
        apart = np.abs(np.log(median[0] / median[1])).mean()
        ratio = np.log(median.mean(axis=0) / expected)
        thigh = median[:, 0].mean()
        wide = np.nanmedian(widths, axis=-1) / thigh
        found = float(spread + apart + np.abs(ratio - np.median(ratio)).mean() + np.log(np.maximum(wide, 1)).sum())
    return found if np.isfinite(found) else np.inf


_MARKERS: Mapping[str, str] = {
    word: marker for marker, words in read_yaml(Path(__file__).with_name("marker_names.yaml")).items() for word in words
}


def marker(name: str) -> tuple[str, str]:
    """Return the side and the marker that a name states, each empty if it states none.

    >>> marker("LASI"), marker("Ann:R.Knee.Lat"), marker("WaistLFront"), marker("C7"), marker("R_FLE")
    (('left', 'asis'), ('right', 'knee_out'), ('left', 'asis'), ('', 'c7'), ('right', 'knee_out'))
    """
    words = [word.lower() for part in re.split(r"[^A-Za-z0-9]+", name.rpartition(":")[2]) for word in _WORD.findall(part)]
    sides = [word for word in words if word in _SIDES]
    joined = "".join(words)
    options = [("".join(word for word in words if word not in _SIDES), _SIDES[sides[0]])] if sides else []
    options += [(joined.removeprefix(side), found) for side, found in _SIDES.items() if joined.startswith(side)]
    options += [(joined.removesuffix(side), found) for side, found in _SIDES.items() if joined.endswith(side)]
    options.append((joined, ""))
    return next(((side, _MARKERS[word]) for word, side in options if word in _MARKERS), ("", ""))


def joint_centres(names: Sequence[str], points: Array) -> tuple[dict[str, Array], list[str]] | None:
    """Return joint centres by our names, float64 [frame, 3], and the markers that others lack; None if there are no markers.

    Parameters
    ----------
    names : sequence of str
    points : float64 [frame, point, 3]
        In any unit; NaN where unknown.
    """
    subject = next((name.rpartition(":")[0] for name in names if marker(name)[1] in ("asis", "hip_centre")), "")
    own = [number for number, name in enumerate(names) if name.rpartition(":")[0] == subject]
    seen = [("_".join(filter(None, marker(names[i]))), points[:, i]) for i in own if np.isfinite(points[:, i]).any()]
    at: Points = dict(reversed(seen))
    has_pelvis = {"left_asis", "right_asis"} <= at.keys()
    if not has_pelvis and "left_hip_centre" not in at:
        return None
    found = {name.removesuffix("_centre"): place for name, place in at.items() if name.endswith("_centre")}
    if has_pelvis and (back := _mean(at, "left_psis", "right_psis", "sacrum", "psis")) is not None:
        found = _hips(at["left_asis"], at["right_asis"], back) | found
    for side in SIDES:
        found = _leg(at, side, found) | found
        found = _arm(at, side, found) | found
    if (neck := _mean(at, "c7", "chest_top", least=2)) is not None:
        found["neck"] = neck
        if heads := [place for name, place in seen if name == "head"]:
            found["head"] = neck + _HEAD_SHARE * (np.mean(heads, axis=0) - neck)
    if (trunk := _mean(at, "chest", "back", least=2)) is not None:
        found["spine_mid"] = trunk
    needed = ((side, part, markers) for side in SIDES for part, markers in _NEEDED_MARKERS.items())
    return found, [f"{side} {part} ({markers})" for side, part, markers in needed if f"{side}_{part}" not in found]


def _mean(at: Points, *names: str, least: int = 1) -> Array | None:
    """Return the middle of the markers that exist, or None if these are fewer than `least`."""
    held = [at[name] for name in names if name in at]
    return np.asarray(np.mean(held, axis=0)) if len(held) >= least else None


def _hips(left: Array, right: Array, back: Array) -> dict[str, Array]:
    """Return the centres of the hips from the anterior spines and the middle of the posterior ones."""
    front = (left + right) / 2
    width, depth = (float(np.nanmedian(length(away))) for away in (left - right, front - back))
    millimetres = 1000 * min(_METRES, key=lambda metres: abs(np.log(max(width, 1e-12) * metres / _PELVIS_WIDTH)))
    width, depth = width * millimetres, depth * millimetres
    to_right = unit(right - left)
    ahead = unit((front - back) - ((front - back) * to_right).sum(-1, keepdims=True) * to_right)
    up = np.cross(to_right, ahead)
    middle = front + ((-0.24 * depth - 9.9) * ahead + (-0.30 * width - 10.9) * up) / millimetres
    aside = (0.33 * width + 7.3) / millimetres * to_right
    return {"left_hip": middle - aside, "right_hip": middle + aside}


def _leg(at: Points, side: str, found: Points) -> Points:
    """Return the centres of knee and ankle, and the ball of the foot, of a side."""
    new: Points = {}
    out, low = at.get(f"{side}_knee_out"), at.get(f"{side}_ankle_out")
    hip = found.get(f"{side}_hip")
    if hip is not None and out is not None and low is not None:
        outward = (found["left_hip"] - found["right_hip"]) * (1 if side == "left" else -1)
        shank = length(out - low)
        own = _middle(at, f"{side}_knee", _chord(hip, out, outward, _KNEE * shank))
        knee = new[f"{side}_knee"] = found.get(f"{side}_knee", own)
        new[f"{side}_ankle"] = _middle(at, f"{side}_ankle", _chord(knee, low, outward, _ANKLE * shank))
    toe = at.get(f"{side}_toe", _mean(at, f"{side}_toe_in", f"{side}_toe_out"))
    return new if toe is None else new | {f"{side}_foot": toe}


def _arm(at: Points, side: str, found: Points) -> Points:
    """Return the centres of shoulder, elbow and wrist of a side."""
    new: Points = {}
    top, middle = at.get(f"{side}_shoulder"), _mean(at, "left_shoulder", "right_shoulder", least=2)
    if top is not None and middle is not None and "left_hip" in found:
        hips = (found["left_hip"] + found["right_hip"]) / 2
        new[f"{side}_shoulder"] = top + 2 * _BELOW_ACROMION * length(top - middle) * unit(hips - middle)
    wrist = _mean(at, f"{side}_wrist_thumb", f"{side}_wrist_finger")
    wrist = wrist if wrist is not None else at.get(f"{side}_wrist")
    if wrist is not None:
        new[f"{side}_wrist"] = wrist
    shoulder, out = (found | new).get(f"{side}_shoulder"), at.get(f"{side}_elbow_out")
    if shoulder is not None and out is not None and wrist is not None:
        axis = np.cross(unit(out - shoulder), unit(wrist - out)) * (-1 if side == "left" else 1)
        bent = np.clip(length(axis) / _BENT, 0, 1)
        width = _ELBOW * length(wrist - out)
        inside = out + bent * (_chord(shoulder, out, axis, width) - out)  # a straight arm shows no axis
        new[f"{side}_elbow"] = _middle(at, f"{side}_elbow", inside)
    return new


def _middle(at: Points, joint: str, otherwise: Array) -> Array:
    """Return the middle of the outer and the inner marker of a joint, or without an inner one another centre."""
    middle = _mean(at, f"{joint}_out", f"{joint}_in", least=2)
    return otherwise if middle is None else middle


def _chord(above: Array, marker: Array, outward: Array, width: Array) -> Array:
    """Return the point at a distance from a marker, inwards of it, from which marker and joint above are at a right angle."""
    along, size = unit(marker - above), length(marker - above)
    inward = -unit(outward - (outward * along).sum(-1, keepdims=True) * along)
    share = np.minimum(width / np.maximum(size, 1e-12), 1.0)
    return np.asarray(marker + width * (np.sqrt(1 - share**2) * inward - share * along))

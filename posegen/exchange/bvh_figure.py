"""From the joints of a .bvh file, by the names that programs give them, to the 22 joints in metres.

Names are compared in small letters, without what stands before a colon (``mixamorig:``), spaces, ``_``, ``-`` and ``.``. Of the
conventions below the first counts of which all joints are there:

=============== ============= ============= ============= ============
joint           CMU, Mixamo   ASF (HDM05)   Biovision     SMPL
=============== ============= ============= ============= ============
pelvis          Hips          root, Hips    Hips          pelvis
hip             LeftUpLeg     lfemur        LeftHip       left_hip
knee            LeftLeg       ltibia        LeftKnee      left_knee
ankle           LeftFoot      lfoot         LeftAnkle     left_ankle
foot            LeftToeBase   ltoes         LeftToe       left_foot
neck            Neck          lowerneck     Neck          neck
head            Head          head          Head          head
collar          LeftShoulder  lclavicle     LeftCollar    left_collar
shoulder        LeftArm       lhumerus      LeftShoulder  left_shoulder
elbow           LeftForeArm   lradius       LeftElbow     left_elbow
wrist           LeftHand      lwrist        LeftWrist     left_wrist
=============== ============= ============= ============= ============

Spines have any number of joints, so spine1 to spine3 are taken from the line that leads from the pelvis through them to the
neck, at the shares of its length at which our skeleton has them. A foot whose last joint is the ankle ends at its End Site. A
collar that lies at the neck, as ASF has it, is put a third of the way to the shoulder.

The unit is guessed by the legs, which in people are .45 to 1.3 long in metres: metres, centimetres, or the unit of CMU's ASF
files (5.644 cm). The floor is put where the lowest percent of the feet's points are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.exchange.bvh import END_SITE, BvhJoint, BvhMotion, joint_places, read_bvh
from posegen.skeleton import JOINTS, sole_points

__all__ = ["UNITS", "BvhFigure", "read_bvh_figure"]

Array = NDArray[Any]

UNITS: Mapping[str, float] = {"metres": 1.0, "centimetres": 0.01, "CMU's units": 0.0564444}
SHORTEST_LEG, LONGEST_LEG = 0.45, 1.3
FRAMES_AT_ONCE = 1000
AT_NECK = 0.02
"""Metres."""

_PARTS = ("hip", "knee", "ankle", "foot", "collar", "shoulder", "elbow", "wrist")
_CENTRE = ("pelvis", "neck", "head")
_SPINE = {"spine1": 0.22, "spine2": 0.48, "spine3": 0.59}
"""Shares of the line from pelvis to neck."""

# Names of the centre, then of the left side's parts; other names of the same joint after a bar.
_CONVENTIONS: Mapping[str, tuple[str, str]] = {
    "CMU or Mixamo": (
        "hips neck head",
        "leftupleg leftleg leftfoot lefttoebase leftshoulder leftarm leftforearm lefthand",
    ),
    "ASF": ("root|hips lowerneck|neck head", "lfemur ltibia lfoot ltoes lclavicle lhumerus lradius lwrist|lhand"),
    "SMPL": (
        "pelvis neck head",
        "lefthip leftknee leftankle leftfoot leftcollar leftshoulder leftelbow leftwrist",
    ),
    "Biovision": (
        "hips|hip|pelvis neck head",
        "lefthip leftknee leftankle lefttoe leftcollar leftshoulder leftelbow leftwrist",
    ),
}


@dataclass(frozen=True)
class BvhFigure:
    """A figure out of a file: float64 [frame, 22, 3] in metres, y up, floor at 0; and what the file was taken for."""

    joints: Array
    fps: float
    convention: str
    unit: str


def read_bvh_figure(path: Path) -> BvhFigure:
    """Read the figure of a .bvh file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    BvhFigure

    Raises
    ------
    UsageError
        If the file is unsound, its joints have names of no known convention, or its size is nobody's.
    """
    motion = read_bvh(path)
    convention, numbers = _numbers(path, motion.joints)
    spine = _spine(motion.joints, numbers["pelvis"], numbers["neck"])
    unit = _unit(path, motion, numbers)
    parts = []
    for first in range(0, len(motion.values), FRAMES_AT_ONCE):
        some = BvhMotion(motion.joints, motion.values[first : first + FRAMES_AT_ONCE], motion.fps)
        parts.append(_figure(UNITS[unit] * joint_places(some), numbers, spine))
    joints = np.concatenate(parts)
    lowest = np.minimum(joints[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")], 1].min(-1), _soles(joints))
    joints[..., 1] -= np.percentile(lowest, 1)
    return BvhFigure(joints, motion.fps, convention, unit)


def _soles(joints: Array) -> Array:
    return np.asarray(sole_points(joints)[..., 1].min(-1))


def _plain(name: str) -> str:
    return "".join(char for char in name.rpartition(":")[2].lower() if char not in " _-.")


def _numbers(path: Path, joints: Sequence[BvhJoint]) -> tuple[str, dict[str, int]]:
    """Find the number of each joint but those of the spine."""
    named = {_plain(joint.name): number for number, joint in reversed(list(enumerate(joints))) if joint.name != END_SITE}
    fewest: list[str] | None = None
    for convention, (centre, left) in _CONVENTIONS.items():
        asked = dict(zip(_CENTRE, centre.split(), strict=True))
        for part, names in zip(_PARTS, left.split(), strict=True):
            asked[f"left_{part}"] = names
            asked[f"right_{part}"] = "|".join(_right(name) for name in names.split("|"))
        found = {ours: _first(named, names) for ours, names in asked.items()}
        for side in ("left", "right"):
            ankle = found[f"{side}_ankle"]
            if found[f"{side}_foot"] is None and ankle is not None:
                found[f"{side}_foot"] = _end(joints, ankle)
        missing = [asked[ours].partition("|")[0] for ours, number in found.items() if number is None]
        if not missing:
            return convention, {ours: number for ours, number in found.items() if number is not None}
        if fewest is None or len(missing) < len(fewest):
            fewest = missing
    msg = f"{path}: its joints are named by no convention that is known; the nearest lacks {', '.join(fewest or [])}"
    raise UsageError(msg)


def _right(left: str) -> str:
    return "right" + left.removeprefix("left") if left.startswith("left") else "r" + left.removeprefix("l")


def _first(named: Mapping[str, int], names: str) -> int | None:
    return next((named[name] for name in names.split("|") if name in named), None)


def _end(joints: Sequence[BvhJoint], parent: int) -> int | None:
    return next((n for n, joint in enumerate(joints) if joint.parent == parent and joint.name == END_SITE), None)


def _spine(joints: Sequence[BvhJoint], pelvis: int, neck: int) -> list[int]:
    """Give the joints from the pelvis to the neck."""
    chain = [neck]
    while chain[-1] != pelvis and joints[chain[-1]].parent >= 0:
        chain.append(joints[chain[-1]].parent)
    return chain[::-1]


def _unit(path: Path, motion: BvhMotion, numbers: Mapping[str, int]) -> str:
    places = joint_places(BvhMotion(motion.joints, motion.values[:1], motion.fps))[0]
    hip, knee, ankle = (places[numbers[f"left_{part}"]] for part in ("hip", "knee", "ankle"))
    leg = sum(float(np.sqrt(((a - b) ** 2).sum())) for a, b in ((hip, knee), (knee, ankle)))
    for name, metres in UNITS.items():
        if SHORTEST_LEG <= leg * metres <= LONGEST_LEG:
            return name
    msg = f"{path}: legs {leg:.3g} long are a person's neither in metres nor in centimetres; scale the file"
    raise UsageError(msg)


def _figure(places: Array, numbers: Mapping[str, int], spine: Sequence[int]) -> Array:
    joints = np.full((len(places), len(JOINTS), 3), np.nan)
    for name, number in numbers.items():
        joints[:, JOINTS.index(name)] = places[:, number]
    line = places[:, spine]
    lengths = np.sqrt((np.diff(line, axis=1) ** 2).sum(-1))
    ends = np.concatenate([np.zeros((len(line), 1)), np.cumsum(lengths, axis=1)], axis=1)
    for name, share in _SPINE.items():
        joints[:, JOINTS.index(name)] = _along(line, ends, share * ends[:, -1])
    neck = joints[:, JOINTS.index("neck")]
    for side in ("left", "right"):
        collar, shoulder = JOINTS.index(f"{side}_collar"), JOINTS.index(f"{side}_shoulder")
        at_neck = np.sqrt(((joints[:, collar] - neck) ** 2).sum(-1)) < AT_NECK
        joints[at_neck, collar] = neck[at_neck] + (joints[at_neck, shoulder] - neck[at_neck]) / 3
    return joints


def _along(line: Array, ends: Array, wanted: Array) -> Array:
    """Places on broken lines [frame, point, 3] at lengths `wanted` [frame] from their begin."""
    rows = np.arange(len(line))
    after = np.clip((ends <= wanted[:, None]).sum(-1), 1, line.shape[1] - 1)
    span = ends[rows, after] - ends[rows, after - 1]
    share = (wanted - ends[rows, after - 1]) / np.where(span > 0, span, 1)
    return np.asarray(line[rows, after - 1] + share[:, None] * (line[rows, after] - line[rows, after - 1]))

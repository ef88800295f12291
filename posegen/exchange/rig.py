"""Find our joints in the rig of any program: by words in the names of its joints, by sides in any position, and by the tree.

A leg ends at a foot or ankle and begins below the lowest joint that both legs have above them, the pelvis; between these, words
decide which joint is the hip and which is the knee, or else the two longest bones do. Arms likewise, from the hands up to the
chest. A rig with unknown names is read by its shape: the two longest pairs of equal chains are legs and arms, and toes
point forward.

Joints that a rig lacks are estimated: a neck between shoulders and head, a head above the neck, toes in front of the ankle,
and collars between neck and shoulder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.wording import shown
from posegen.foundations.yaml_files import read_yaml

SIDES = ("left", "right")
CENTRE, LIMBS = ("pelvis", "neck", "head"), ("hip", "knee", "ankle", "foot", "collar", "shoulder", "elbow", "wrist")
NEEDED = ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
"""Joints of each side that are not estimated."""

_SIDE_WORDS = dict.fromkeys(("l", "left", "lft", "左"), "left") | dict.fromkeys(("r", "right", "rgt", "右"), "right")
_WORDS: Mapping[str, str] = {
    word: part for part, words in reversed(read_yaml(Path(__file__).with_name("rig_words.yaml")).items()) for word in words
}
_SPLIT = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[左右])")
_IGNORED = "ignored"
_SAME_LENGTH = 0.03
_SHORTEST_BONE = 1e-6
"""Relative difference of the bones of two sides that are equal, and the length of a bone, by that of its limb, that is none."""
_LONGEST_LIMB = 40
"""Most joints of a limb that is recognised by its shape: all choices of three joints are compared."""
_SPINE = {"spine1": 0.214, "spine2": 0.472, "spine3": 0.584}
"""Shares of the chain from pelvis to neck."""
_SAME_SPINE = 0.1
"""Difference of these shares up to which three joints of a file are ours, so that its chest stays rigid."""
_NECK_SHARE, _NECK_ON_TRUNK, _HEAD_SHARE, _HEAD_ON_TRUNK, _TOE_SHARE, _PELVIS_RISE = 0.35, 0.13, 0.45, 0.22, 0.3, 0.24
"""Where joints that a rig lacks are: the neck between shoulders and head, or above the shoulders by a share of the trunk; the
head between the neck and its top, or above the neck by a share of the trunk; the length of the foot by that of the shin; and
the pelvis above the hips by a share of the thigh. Chosen by posegen's skeleton."""
_AT_NECK = 0.05
"""Distance of a collar from the neck, by the length of the upper arm, below which it is moved towards the shoulder."""


@dataclass(frozen=True)
class Tree:
    """Named joints with their parents.

    Attributes
    ----------
    names : tuple of str
    parents : tuple of int
        -1 for a root; a parent precedes its children. Points of a body without a tree are all roots.
    ends : frozenset of int
        Joints without a name: ends of bones.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    ends: frozenset[int] = frozenset()

    def above(self, joint: int) -> list[int]:
        """Return a joint and all above it, upwards."""
        chain = [joint]
        while self.parents[chain[-1]] >= 0:
            chain.append(self.parents[chain[-1]])
        return chain

    def children(self, joint: int) -> list[int]:
        """Return the joints right below a joint."""
        return [number for number, parent in enumerate(self.parents) if parent == joint]


@dataclass(frozen=True)
class Rig:
    """Our joints in a tree.

    Attributes
    ----------
    joints : dict of str to int
        By our names; without those of the spine, and without joints that the rig lacks.
    spine : list of int
        Joints from the pelvis up to the neck, or up to the last one below the head.
    head_top : int or None
        The end of the head, where the rig has no joint of the head.
    notes : tuple of str
    """

    joints: dict[str, int]
    spine: list[int]
    head_top: int | None = None
    notes: tuple[str, ...] = ()


class Body(NamedTuple):
    """Our joints as a file has them.

    Attributes
    ----------
    joints : float64 [frame, 22, 3]
        In the unit and axes of the file.
    form : str
        Content of the file.
    fps : float
        Frames per second; 0 if neither the file nor its kind states them.
    notes : tuple of str
        Unusual properties.
    """

    joints: Array
    form: str
    fps: float = 0.0
    notes: tuple[str, ...] = ()


_Named = Mapping[tuple[str, str], Sequence[int]]
"""Joints by side and by the meaning of their names, in the order of the tree."""


def _first(named: _Named, side: str, among: Sequence[int], *parts: str) -> int | None:
    """Return the first joint of a side, among some in order, with a name that means one of these parts; earlier parts first."""
    return next((joint for part in parts for joint in among if joint in named.get((side, part), ())), None)


def meaning(name: str) -> tuple[str, str]:
    """Return the side and the part that the name of a joint states, each empty if it states none.

    >>> meaning("mixamorig:LeftUpLeg"), meaning("Bip01 R Calf"), meaning("upper_arm.L"), meaning("lfemur"), meaning("Spine2")
    (('left', 'thigh'), ('right', 'shin'), ('left', 'upper_arm'), ('left', 'thigh'), ('', ''))
    """
    plain = re.split(r"[:|]", name)[-1]
    tokens = [token.lower() for part in _SPLIT.split(plain) for token in re.findall(r"[^\W\d_]+", part)]
    side, words = "", list[str]()
    for token in tokens:
        if token in _SIDE_WORDS:
            side = side or _SIDE_WORDS[token]
        else:
            words.append(token)
    if not side:
        joined = "".join(words)
        for written, found in (("left", "left"), ("right", "right"), ("l", "left"), ("r", "right")):
            cut = joined.removeprefix(written) if joined.startswith(written) else joined.removesuffix(written)
            if cut != joined and _WORDS.get(cut, "pelvis") != "pelvis":
                side, words = found, [cut]
    runs = sorted(("".join(words[a:b]) for a, b in combinations(range(len(words) + 1), 2)), key=len)
    part = next((_WORDS[run] for run in reversed(runs) if _WORDS.get(run, _IGNORED) != _IGNORED), "")
    if part != "neck" and any(_WORDS.get(run) == _IGNORED for run in runs):  # a neck may consist of joints that twist
        return side, _IGNORED
    return side, "hip" if part == "pelvis" and side else part


def find_rig(tree: Tree, positions: Array, given: Mapping[str, str] | None = None, where: str = "") -> Rig:
    """Find our joints in a tree.

    Parameters
    ----------
    tree : Tree
    positions : float64 [joint, 3]
        In any pose.
    given : dict of str to str, optional
        Names of joints in the file by our names; a name of a joint on the left, `hip`, also finds the one on the right.
    where : str
        For messages.

    Raises
    ------
    UsageError
        If they are not found; the message lists the names of the file.
    """
    named = _named(tree)
    every = range(len(tree.names))
    trunk = {part: joint for part in CENTRE if (joint := _first(named, "", every, part)) is not None}
    joints = trunk | _limbs(tree, named, positions) | _given(tree, given or {}, where)
    notes: list[str] = []
    if _lacking(joints) and (shaped := _by_shape(tree, positions)):
        joints = shaped | joints
        notes.append("joints were recognised by the shape of the rig, since not all names are known")
    if lacking := _lacking(joints):
        names = ", ".join(shown(name) for i, name in enumerate(tree.names) if i not in tree.ends)
        hint = "Name them in a YAML file with --names, such as `hip: LeftUpLeg`"
        raise UsageError(f"{where}: found no {', '.join(lacking)} among its joints {names[:600]}. {hint}")
    return _with_trunk(tree, named, joints, given or {}, notes)


def read_names(path: Path) -> dict[str, str]:
    """Read a YAML file with names of joints by ours, such as ``hip: LeftUpLeg`` or ``left_hip: Bone7``.

    Raises
    ------
    UsageError
        If it names no joint of ours.
    """
    data = read_yaml(path)
    known = {*CENTRE, *LIMBS, *(f"{side}_{part}" for side in SIDES for part in LIMBS)}
    names_ours = isinstance(data, dict) and data and not set(data) - known
    if not names_ours or not all(isinstance(name, str | int) for name in data.values()):
        parts = ", ".join((*CENTRE, *LIMBS))
        example = "such as `hip: LeftUpLeg` for both sides, or `left_hip: Bone7`"
        raise UsageError(f"{path}: must name joints among {parts}, {example}")
    return {part: str(name) for part, name in data.items()}


def figure(rig: Rig, positions: Array) -> Array:
    """Return our joints, float64 [frame, 22, 3], of positions of all joints of the rig, float64 [frame, joint, 3]."""
    joints = np.full((len(positions), len(JOINTS), 3), np.nan)
    at = {name: joints[:, number] for number, name in enumerate(JOINTS)}
    for name, number in rig.joints.items():
        at[name][:] = positions[:, number]
    shoulders = (at["left_shoulder"] + at["right_shoulder"]) / 2
    if "pelvis" not in rig.joints:
        hips, thigh = (at["left_hip"] + at["right_hip"]) / 2, at["left_knee"] - at["left_hip"]
        at["pelvis"][:] = hips + _PELVIS_RISE * length(thigh) * unit(shoulders - hips)
    if "neck" not in rig.joints and "head" not in rig.joints and len(rig.spine) < 2:
        at["neck"][:] = shoulders + _NECK_ON_TRUNK * (shoulders - at["pelvis"])
    elif "neck" not in rig.joints:
        top = at["head"] if "head" in rig.joints else positions[:, rig.spine[-1]]
        at["neck"][:] = shoulders + _NECK_SHARE * (top - shoulders)
    if "head" not in rig.joints and rig.head_top is None:
        at["head"][:] = at["neck"] + _HEAD_ON_TRUNK * (at["neck"] - at["pelvis"])
    elif "head" not in rig.joints:
        at["head"][:] = at["neck"] + _HEAD_SHARE * (positions[:, rig.head_top] - at["neck"])
    line = np.concatenate([at["pelvis"][:, None], positions[:, rig.spine[1:]], at["neck"][:, None]], axis=1)
    ends = np.cumsum(length(np.diff(line[0], axis=0))[:, 0])
    off = ends[:-1] - ends[-1] * np.array([*_SPINE.values()]) if len(ends) == 1 + len(_SPINE) else np.inf
    is_same = bool((np.abs(off) < _SAME_SPINE * ends[-1]).all())
    for number, (name, share) in enumerate(_SPINE.items(), 1):
        at[name][:] = line[:, number] if is_same else _along(line, share)
    for side in SIDES:
        hip, knee, ankle, foot = (at[f"{side}_{part}"] for part in ("hip", "knee", "ankle", "foot"))
        if np.isnan(foot).all():
            shin = ankle - knee
            forward = unit(np.cross(at["left_hip"] - at["right_hip"], ankle - hip))
            foot[:] = ankle - _TOE_SHARE * length(shin) * forward + 0.1 * shin
    _separate_collars(at)
    return joints


def _separate_collars(at: Mapping[str, Array]) -> None:
    """Move collars that are unknown, at the neck or at one point a third of the way to the shoulder."""
    collars = [at[f"{side}_collar"] for side in SIDES]
    for collar in collars:
        unknown = np.isnan(collar).any(-1)
        collar[unknown] = at["neck"][unknown]
    least = _AT_NECK * length(at["left_elbow"] - at["left_shoulder"])
    together = length(collars[0] - collars[1]) < least
    for collar, side in zip(collars, SIDES, strict=True):
        near = together | (length(collar - at["neck"]) < least)
        collar += near * (at[f"{side}_shoulder"] - collar) / 3


def unit(vectors: Array) -> Array:
    """Return vectors [..., 3] of length 1; 0 stays 0."""
    return np.asarray(vectors / np.maximum(length(vectors), 1e-12))


def length(vectors: Array) -> Array:
    """Return the lengths of vectors [..., 3]: [..., 1]."""
    return np.asarray(np.sqrt((vectors**2).sum(-1, keepdims=True)))


def _along(line: Array, share: float) -> Array:
    """Return the point of each polyline [frame, point, 3] at a share of its length."""
    ends = np.concatenate([np.zeros((len(line), 1)), np.cumsum(length(np.diff(line, axis=1))[..., 0], axis=1)], axis=1)
    target, rows = share * ends[:, -1], np.arange(len(line))
    after = np.clip((ends <= target[:, None]).sum(-1), 1, line.shape[1] - 1)
    span = ends[rows, after] - ends[rows, after - 1]
    part = (target - ends[rows, after - 1]) / np.where(span > 0, span, 1)
    return np.asarray(line[rows, after - 1] + part[:, None] * (line[rows, after] - line[rows, after - 1]))


def _named(tree: Tree) -> _Named:
    found: dict[tuple[str, str], list[int]] = {}
    for number, name in enumerate(tree.names):
        if number not in tree.ends:
            found.setdefault(meaning(name), []).append(number)
    return found


def _lacking(joints: Mapping[str, int]) -> list[str]:
    return [f"{side}_{part}" for side in SIDES for part in NEEDED if f"{side}_{part}" not in joints]


def _limbs(tree: Tree, named: _Named, positions: Array) -> dict[str, int]:
    """Return the joints of the limbs with known names."""
    found: dict[str, int | None] = {}
    every = range(len(tree.names))
    has_tree = any(parent >= 0 for parent in tree.parents)
    feet = {side: _first(named, side, every, "ankle", "foot") for side in SIDES}
    hands = {
        side: _first(named, side, every, "hand") or _end_below(tree, _first(named, side, every, "forearm")) for side in SIDES
    }
    for ends, limb in ((feet, _leg), (hands, _arm)):
        if (left := ends["left"]) is None or (right := ends["right"]) is None:
            continue
        for side, end in (("left", left), ("right", right)):
            other = tree.above(right if side == "left" else left)
            chain = [joint for joint in reversed(tree.above(end)[1:]) if joint not in other] if has_tree else [*every]
            found |= {f"{side}_{part}": joint for part, joint in limb(tree, named, side, chain, end, positions).items()}
    return {name: joint for name, joint in found.items() if joint is not None}


def _leg(tree: Tree, named: _Named, side: str, chain: Sequence[int], ankle: int, positions: Array) -> dict[str, int | None]:
    knee = _first(named, side, chain, "shin")
    hip = _first(named, side, chain, "thigh", "hip", *(("leg",) if knee is not None else ()))
    if knee is None:
        knee = _first(named, side, [joint for joint in chain if joint != hip], "leg", "thigh")
    if hip is None or knee is None or hip == knee:
        hip, knee, _ = _two_bones(((*pair, ankle) for pair in combinations(chain, 2)), positions) or (None, None, ankle)
    every = range(len(tree.names))
    below = [joint for joint in every if joint != ankle and ankle in tree.above(joint)]
    toe = _first(named, side, below or every, "toe", "foot")
    toe = toe if toe not in (None, ankle) else _end_below(tree, ankle)
    return {"hip": hip, "knee": knee, "ankle": ankle, "foot": toe}


def _arm(tree: Tree, named: _Named, side: str, chain: Sequence[int], wrist: int, positions: Array) -> dict[str, int | None]:
    elbow = _first(named, side, chain, "forearm")
    shoulder = _first(named, side, chain, "upper_arm", "arm", "shoulder")
    if elbow is None or shoulder is None:
        shoulder, elbow, _ = _two_bones(((*pair, wrist) for pair in combinations(chain, 2)), positions) or (None, None, wrist)
    collar = _first(named, side, [joint for joint in chain if joint != shoulder], "collar", "shoulder")
    if collar is None and shoulder in chain and tree.parents[wrist] >= 0:
        collar = next(iter(reversed(chain[: chain.index(shoulder)])), None)
    return {"collar": collar, "shoulder": shoulder, "elbow": elbow, "wrist": wrist}


def _two_bones(choices: Iterable[tuple[int, ...]], positions: Array) -> tuple[int, ...]:
    """Return the three joints of two bones, among some choices: those with the longest shorter bone; none without choices."""
    return max(choices, key=lambda joints: length(np.diff(positions[[*joints]], axis=0)).min(), default=())


def _end_below(tree: Tree, joint: int | None) -> int | None:
    """Return the first joint or end below a joint."""
    return None if joint is None else next(iter(tree.children(joint)), None)


def _by_shape(tree: Tree, positions: Array) -> dict[str, int]:
    """Return the joints of the limbs of a rig by its shape; empty if it is not that of a person."""
    leaves = [joint for joint in range(len(tree.names)) if not tree.children(joint)]
    pairs: list[tuple[float, int, list[int], list[int]]] = []
    for one, other in combinations(leaves, 2):
        up, down = tree.above(one), tree.above(other)
        fork = next(joint for joint in up if joint in down) if set(up) & set(down) else -1
        if fork < 0:
            continue
        first, second = (chain[: chain.index(fork) + 1][::-1] for chain in (up, down))
        one_side, other_side = (length(np.diff(positions[chain], axis=0))[:, 0] for chain in (first, second))
        least = _SHORTEST_BONE * one_side.sum()
        if 4 <= len(first) == len(second) <= _LONGEST_LIMB and np.allclose(one_side, other_side, rtol=_SAME_LENGTH, atol=least):
            pairs.append((float(one_side.sum()), fork, first[1:], second[1:]))
    chosen: list[tuple[float, int, list[int], list[int]]] = []
    for pair in sorted(pairs, key=lambda each: -each[0]):
        if not any({*pair[2], *pair[3]} & {*other[2], *other[3]} for other in chosen):
            chosen.append(pair)
    if len(chosen) < 2:
        return {}
    # The fork of the legs is nearer to the root of the tree.
    legs, arms = sorted(chosen[:2], key=lambda pair: (len(tree.above(pair[1])), -pair[0]))
    found: dict[str, int] = {}
    for pair, parts in ((legs, ("hip", "knee", "ankle", "foot")), (arms, ("shoulder", "elbow", "wrist", ""))):
        for side, chain in zip(SIDES, pair[2:], strict=True):
            middle = _two_bones(combinations(chain, 3), positions)
            begin, last = chain.index(middle[0]), chain.index(middle[2])
            found |= {
                f"{side}_{part}": joint for part, joint in zip(parts, (*middle, *chain[last + 1 :][:1]), strict=False) if part
            }
            if pair is arms and begin:
                found[f"{side}_collar"] = chain[begin - 1]
    taken = {*arms[2], *arms[3], *legs[2], *legs[3]}
    heads = [tree.above(leaf)[::-1] for leaf in leaves if arms[1] in tree.above(leaf) and not taken & {*tree.above(leaf)}]
    above = ([joint for joint in chain[chain.index(arms[1]) + 1 :] if joint not in tree.ends] for chain in heads)
    if len(head := max(above, key=len, default=[])) > 1:
        found |= dict(zip(("neck", "head"), head, strict=False))
    return _sided(found, positions, arms[1])


def _sided(found: dict[str, int], positions: Array, chest: int) -> dict[str, int]:
    """Return joints with the sides that toes, which point forward, give them."""
    if "left_foot" not in found:
        return {}
    place = {name: positions[joint] for name, joint in found.items()}
    hips = (place["left_hip"] + place["right_hip"]) / 2
    forward = sum(place[f"{side}_foot"] - place[f"{side}_ankle"] for side in SIDES)
    left = np.cross(positions[chest] - hips, forward)
    swapped: dict[str, int] = {part: found[part] for part in ("neck", "head") if part in found}
    for pair in (("hip", "knee", "ankle", "foot"), ("shoulder", "elbow", "wrist", "collar")):
        flip = float(left @ (place[f"left_{pair[0]}"] - place[f"right_{pair[0]}"])) < 0
        for side, other in zip(SIDES, SIDES[::-1] if flip else SIDES, strict=True):
            swapped |= {f"{other}_{part}": found[f"{side}_{part}"] for part in pair if f"{side}_{part}" in found}
    return swapped


def _given(tree: Tree, given: Mapping[str, str], where: str) -> dict[str, int]:
    """Return the joints that a user names."""
    numbers = {name: number for number, name in reversed([*enumerate(tree.names)])}
    found: dict[str, int] = {}
    for part, name in given.items():
        if name not in numbers:
            problem = f"{where}: has no joint {shown(name)}, which --names gives as {part}"
            raise UsageError(f"{problem}. It has {', '.join(numbers)}"[:900])
        if part in LIMBS:
            other = _other_side(name, numbers)
            if other is None:
                raise UsageError(f"{where}: no joint is {shown(name)} on the right. Name both: left_{part} and right_{part}")
            found |= {f"left_{part}": numbers[name], f"right_{part}": other}
        else:
            found[part] = numbers[name]
    return found


def _other_side(name: str, numbers: Mapping[str, int]) -> int | None:
    """Return the joint with the same name but the other side."""
    swaps = (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"), ("L", "R"), ("l", "r"), ("左", "右"))
    for left, right in swaps:
        for found in re.finditer(left, name):
            other = name[: found.start()] + right + name[found.end() :]
            if other in numbers and meaning(other)[0] != meaning(name)[0]:
                return numbers[other]
    return None


def _with_trunk(tree: Tree, named: _Named, joints: dict[str, int], given: Mapping[str, str], notes: list[str]) -> Rig:
    """Return a rig with its pelvis and its spine."""
    has_tree = any(parent >= 0 for parent in tree.parents)
    legs, arms = (
        next((joint for joint in tree.above(joints[f"left_{part}"]) if joint in tree.above(joints[f"right_{part}"])), None)
        for part in ("hip", "shoulder")
    )
    if legs is not None and "pelvis" not in given:
        named_pelvis = _first(named, "", tree.above(legs), "pelvis")
        joints["pelvis"] = legs if named_pelvis is None else named_pelvis
    top = joints.get("neck", tree.parents[joints["head"]] if "head" in joints and has_tree else arms)
    head_top = None if "head" in joints else _end_below(tree, joints.get("neck"))
    chain, pelvis = tree.above(top) if has_tree and top is not None else [], joints.get("pelvis", -1)
    spine = chain[: chain.index(pelvis) + 1][::-1] if pelvis in chain else [pelvis]
    if "neck" in joints and len(spine) > 1:
        spine = spine[:-1]
    words = {"pelvis": "pelvis", "neck": "neck", "head": "head", "left_foot": "toes", "left_collar": "collars"}
    if lacking := [word for part, word in words.items() if part not in joints]:
        notes.append(f"the file has no {' and no '.join(lacking)}: estimated")
    return Rig(joints, spine, head_top, tuple(notes))

"""Naive NumPy oracles of kernels, in double precision and without vectorised shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks import paths
from posegen.checks.capsules import PARTS
from posegen.foundations.constants import DEGREES, SHAPES
from posegen.foundations.scene import LEFT
from posegen.foundations.skeleton import JOINTS, PARENTS, PROPORTIONS
from posegen.library.channels import CHANNELS

Array = NDArray[Any]

TURN = 2 * np.pi


def philox(counter: Any, key: Any) -> Array:
    """Philox4x32-10 of uint32 words: counter [..., 4], key [..., 2]."""
    words, keys = np.asarray(counter, np.uint32).astype(np.uint64), np.asarray(key, np.uint32).astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c0, c1, c2, c3 = (words[..., i] for i in range(4))
    k0, k1 = keys[..., 0], keys[..., 1]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (second >> half) ^ c1 ^ k0, second & low, (first >> half) ^ c3 ^ k1, first & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1).astype(np.uint32)


def cos_turns(x: Any) -> Any:
    return np.cos(TURN * x)


def sin_turns(x: Any) -> Any:
    return np.sin(TURN * x)


def atan_turns(x: Any) -> Any:
    return np.arctan(x) / TURN


def smooth_step(x: Any) -> Any:
    """Minimum jerk from 0 at 0 to 1 at 1."""
    x = np.clip(x, 0, 1)
    return 10 * x**3 - 15 * x**4 + 6 * x**5


def about_x(turns: float) -> Array:
    c, s = cos_turns(turns), sin_turns(turns)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_y(turns: float) -> Array:
    c, s = cos_turns(turns), sin_turns(turns)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def about_z(turns: float) -> Array:
    c, s = cos_turns(turns), sin_turns(turns)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def trunk_rotation(about: tuple[float, float, float], share: float) -> Array:
    """Rotation Ry . Rx . Rz of `share` times the turns about y, x and z."""
    y, x, z = about
    product: Array = about_y(share * y) @ about_x(share * x) @ about_z(share * z)
    return product


def limb_rotation(side: str, flexion: float = 0.0, abduction: float = 0.0, rotation: float = 0.0) -> Array:
    """Flexion . abduction . rotation; the right side mirrors y and z."""
    sign = 1 if side == "left" else -1
    product: Array = about_x(-flexion) @ about_z(sign * abduction) @ about_y(sign * rotation)
    return product


def central_rotation(rotation: float, flexion: float, lateral: float) -> Array:
    """Rotation . flexion . lateral flexion of trunk or neck."""
    return trunk_rotation((rotation, flexion, -lateral), 1.0)


def forward_kinematics(angles: Array, pelvis: Array, root: Array, offsets: Array) -> Array:
    """All joints of the upper body from the channels of one frame in turns; [22, 3], with the legs at 0."""
    channel = dict(zip(CHANNELS, angles, strict=True))
    trunk = [channel[f"trunk_{c}"] / 3 for c in ("rotation", "flexion", "lateral")]
    own = {"pelvis": pelvis}
    for joint in ("spine1", "spine2", "spine3"):
        own[joint] = central_rotation(*trunk)
    own["neck"] = central_rotation(*(channel[f"neck_{c}"] for c in ("rotation", "flexion", "lateral")))
    for side in ("left", "right"):
        arm = {c.removeprefix(f"{side}_"): channel[c] for c in CHANNELS if c.startswith(side)}
        elevation = limb_rotation(side, abduction=arm["collar_elevation"])
        own[f"{side}_collar"] = elevation @ limb_rotation(side, rotation=-arm["collar_protraction"])
        angles_of_shoulder = (arm["shoulder_flexion"], arm["shoulder_abduction"], arm["shoulder_rotation"])
        own[f"{side}_shoulder"] = limb_rotation(side, *angles_of_shoulder)
        own[f"{side}_elbow"] = limb_rotation(side, arm["elbow_flexion"])
    rotations, positions = np.zeros((22, 3, 3)), np.zeros((22, 3))
    for j, name in enumerate(JOINTS):
        rotation = own.get(name, np.eye(3))
        parent = PARENTS[j]
        if any(part in name for part in ("hip", "knee", "ankle", "foot")):
            continue
        rotations[j] = rotation if parent < 0 else rotations[parent] @ rotation
        positions[j] = root if parent < 0 else positions[parent] + rotations[parent] @ offsets[j]
    return positions


def warp_phase(phase: Any, warp: Any) -> Any:
    return phase + 0.5 * warp * (1 - np.cos(2 * TURN * phase))


def gait_angle(series: Array, phase: float) -> float:
    """Value of a series (constant, cosines, sines) at a phase."""
    count = len(series) // 2
    angles = TURN * phase * np.arange(1, count + 1)
    return float(series[0] + (series[1 : 1 + count] * np.cos(angles) + series[1 + count :] * np.sin(angles)).sum())


def mirror_channel(channel: str) -> str:
    """Name of the channel of the other side."""
    side, _, rest = channel.partition("_")
    return {"left": "right_", "right": "left_"}[side] + rest if side in ("left", "right") else channel


def rotate_shortest(vector: Array, before: Array, after: Array) -> Array:
    """Rotate a vector by the shortest rotation from one direction to another (Rodrigues)."""
    axis = np.cross(before, after)
    sine, cosine = np.sqrt((axis**2).sum()), (before * after).sum()
    axis /= sine
    product = cosine * vector + sine * np.cross(axis, vector) + (1 - cosine) * (axis * vector).sum() * axis
    return np.asarray(product)


def solve_elbow(upper: float, fore: float, shoulder: Array, elbow: Array, wrist: Array, goal: Array) -> Array:
    """Elbow [3, frames] by the cosine rule; the goal is within reach and the elbow off the line to the wrist."""
    elbows = []
    for f in range(goal.shape[1]):
        here, old_elbow = shoulder[:, f].astype(np.float64), elbow[:, f].astype(np.float64)
        line = goal[:, f] - here
        distance = np.sqrt((line**2).sum())
        line /= distance
        cosine = (upper**2 + distance**2 - fore**2) / (2 * upper * distance)
        before = wrist[:, f] - here
        before /= np.sqrt((before**2).sum())
        aside = rotate_shortest(old_elbow - here - ((old_elbow - here) * before).sum() * before, before, line)
        aside /= np.sqrt((aside**2).sum())
        elbows.append(here + upper * (cosine * line + np.sqrt(1 - cosine**2) * aside))
    return np.stack(elbows, -1)


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Shortest distance of the segments a-b and c-d, [..., 3] each, whose ends may coincide.

    It is the smallest of the four distances of an end from the other segment and, where the shortest connection of the two
    lines meets both segments, of its length.
    """

    def end_distance(p: Array, q: Array, r: Array) -> Array:
        along = r - q
        squared = (along * along).sum(-1)
        share = np.clip(((p - q) * along).sum(-1) / np.where(squared > 0, squared, 1), 0, 1)
        return np.asarray(np.linalg.norm(p - q - share[..., None] * along, axis=-1))

    u, v, w = b - a, d - c, a - c
    normal = np.cross(u, v)
    squared = (normal * normal).sum(-1)
    safe = np.where(squared > 0, squared, 1)
    s = (np.cross(v, w) * normal).sum(-1) / safe
    t = (np.cross(u, w) * normal).sum(-1) / safe
    crossing = (squared > 1e-12) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    lines = np.abs((w * normal).sum(-1)) / np.sqrt(safe)
    ends = np.minimum.reduce([end_distance(a, c, d), end_distance(b, c, d), end_distance(c, a, b), end_distance(d, a, b)])
    return np.asarray(np.where(crossing, lines, ends))


def people_overlap(one: Array, other: Array) -> Array:
    """Deepest overlap of all pairs of capsules of two bodies in each frame, in metres."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    statures = []
    for body in (one[0], other[0]):
        hip, knee, ankle = (body[JOINTS.index(f"left_{name}")] for name in ("hip", "knee", "ankle"))
        leg = np.linalg.norm(hip - knee) + np.linalg.norm(knee - ankle)
        statures.append(leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))
    deepest = np.zeros(len(one))
    for first, last, radius in PARTS:
        for third, fourth, other_radius in PARTS:
            ends = (*(one[:, JOINTS.index(j)] for j in (first, last)), *(other[:, JOINTS.index(j)] for j in (third, fourth)))
            thickness = radius * statures[0] + other_radius * statures[1]
            deepest = np.maximum(deepest, thickness - segment_distance(*ends))
    return deepest


def signal(joints: Array, name: str, side: int) -> Array:
    """Signal of one side of a body, float [frames]; `joints` is [frames, 22, 3]."""
    word = "left" if side == LEFT else "right"
    sign = 1.0 if side == LEFT else -1.0

    def joint(joint_name: str) -> Array:
        return joints[:, JOINTS.index(joint_name)].astype(np.float64)

    def left(pair: str) -> Array:
        way = (joint(f"left_{pair}") - joint(f"right_{pair}")) * [1, 0, 1]
        return np.asarray(way / np.linalg.norm(way, axis=-1, keepdims=True))

    def ahead(pair: str) -> Array:
        return np.cross(left(pair), [0.0, 1.0, 0.0])

    def along(a: Array, b: Array) -> Array:
        return np.asarray((a * b).sum(-1))

    pelvis, head, wrist, ankle = joint("pelvis"), joint("head"), joint(f"{word}_wrist"), joint(f"{word}_ankle")
    shoulders = 0.5 * (joint("left_shoulder") + joint("right_shoulder"))
    moved = np.diff(pelvis, axis=0, prepend=pelvis[:1])
    values = {
        "pelvis_height": pelvis[:, 1],
        "head_height": head[:, 1],
        "head_aside": sign * along(head - pelvis, left("hip")),
        "travel_aside": sign * np.cumsum(along(moved, left("hip"))),
        "hands_apart": np.linalg.norm(joint("left_wrist") - joint("right_wrist"), axis=-1),
        "feet_apart": np.linalg.norm(joint("left_ankle") - joint("right_ankle"), axis=-1),
        "hand_height": (wrist - shoulders)[:, 1],
        "hand_ahead": along(wrist - shoulders, ahead("shoulder")),
        "hand_reach": np.linalg.norm(wrist - joint(f"{word}_shoulder"), axis=-1),
        "foot_height": ankle[:, 1],
        "foot_ahead": along(ankle - pelvis, ahead("hip")),
        "foot_stance": np.where(np.diff(along(ankle - pelvis, ahead("hip")), prepend=-np.inf) < 0, 0.2, 0.0),
    }
    return np.asarray(values[name])


def canonical(array: Array) -> Array:
    """Canonical form of an array, value by value: little-endian, one NaN, no negative zero."""
    out = np.empty(array.shape, array.dtype.newbyteorder("<"))
    for index in np.ndindex(array.shape):
        value = array[index]
        out[index] = np.nan if value != value else 0 if value == 0 else value
    return out


def choose_fitting(draw: float, weights: Array, fits: Array, lessened: Array, factors: Array) -> int:
    """Index chosen by a draw among the choices that fit, or -1."""
    weights = weights * fits
    for choice, factor in zip(lessened, factors, strict=True):
        weights[choice] *= factor if choice >= 0 else 1.0
    total = np.cumsum(weights)
    return int(np.argmax(total > draw * total[-1])) if total[-1] > 0 else -1


def path_shapes(hips: Array, pelvis: Array, fps: float) -> Array:
    """Shapes of the path of a pelvis [frames, 2], with the vectors [frames, 2] from the right hip to the left one."""
    shapes = dict.fromkeys(SHAPES, False)
    if len(hips) < paths.SHORTEST * fps:
        return np.array(list(shapes.values()))
    heading = path_headings(hips)
    steps = pelvis[1:] - pelvis[:-1]
    length = float(np.cumsum(np.sqrt(steps[:, 0] * steps[:, 0] + steps[:, 1] * steps[:, 1]))[-1])
    way = pelvis[-1] - pelvis[0]
    size = float(np.sqrt(way[0] * way[0] + way[1] * way[1]))
    closed = size < paths.CLOSED * length
    narrow = is_narrow(pelvis, hips[0])
    end, middle = float(heading[-1]), float(heading[len(heading) // 2])
    for side, sign in (("left", 1.0), ("right", -1.0)):
        even = 90.0 < sign * middle < 270.0
        shapes[f"{side}_circle"] = closed and even and not narrow and paths.ROUND[0] < sign * end < paths.ROUND[1]
        # Across the initial heading, to the left, and along it.
        one = hips[0] / max(np.sqrt(hips[0, 0] * hips[0, 0] + hips[0, 1] * hips[0, 1]), paths.SMALLEST)
        aside, ahead = sign * float(way[0] * one[0] + way[1] * one[1]), float(way[1] * one[0] - way[0] * one[1])
        late = sign * heading[len(heading) // 2 :]
        steady = bool((late > paths.DIAGONAL[0]).all() and (late < paths.DIAGONAL[1]).all())
        shapes[f"{side}_diagonal"] = steady and 0.35 * ahead < aside < 1.8 * ahead
    loops = max(float(heading.max()), -float(heading.min()))
    shapes["figure_eight"] = closed and loops > paths.LOOP and abs(end) < paths.RESIDUE
    shapes["zigzag"] = not closed and loops < paths.BACK and path_swings(heading) >= 3
    around = np.abs(heading - 360.0 * np.rint(heading / 360.0))
    turned = bool((around < paths.AHEAD).mean() > paths.SHARE and (around > paths.BACK).mean() > paths.SHARE)
    shapes["back_and_forth"] = turned and size < 0.6 * length and not shapes["figure_eight"] and narrow
    return np.array(list(shapes.values()))


def path_headings(hips: Array) -> Array:
    """Return the heading relative to the first frame in degrees, left positive, whole turns included."""
    size = np.maximum(np.sqrt(hips[:, 0] * hips[:, 0] + hips[:, 1] * hips[:, 1]), paths.SMALLEST)
    x, z = hips[:, 0] / size, hips[:, 1] / size
    # A frame turns by few degrees: arcsine by its series, as in posegen.checks.evidence.
    s = z[:-1] * x[1:] - x[:-1] * z[1:]
    return np.concatenate([[0.0], np.cumsum(s + s * s * s / 6.0)]) * DEGREES


def path_swings(heading: Array) -> int:
    """Count the changes of heading by more than paths.SWING degrees, each in the other direction than the one before."""
    count, low, high, sense = 0, heading[0], heading[0], 0
    for value in heading.tolist():
        low, high = min(low, value), max(high, value)
        if sense >= 0 and value < high - paths.SWING:
            count, sense, low, high = count + 1, -1, value, value
        elif sense <= 0 and value > low + paths.SWING:
            count, sense, low, high = count + 1, 1, value, value
    return count


def is_narrow(pelvis: Array, left: Array) -> bool:
    """Return whether a path extends less to the sides than ahead; `left` is the first vector of the hips."""
    aside = pelvis[:, 0] * left[0] + pelvis[:, 1] * left[1]
    ahead = pelvis[:, 1] * left[0] - pelvis[:, 0] * left[1]
    return bool(aside.max() - aside.min() < 0.8 * (ahead.max() - ahead.min()))


ORACLES: dict[str, Callable[..., Any]] = {
    "posegen.foundations.trigonometry.cos_turns": cos_turns,
    "posegen.foundations.trigonometry.sin_turns": sin_turns,
    "posegen.foundations.trigonometry.atan_turns": atan_turns,
    "posegen.foundations.trigonometry.smooth_step": smooth_step,
    "posegen.motion.trunk.limb_rotation": limb_rotation,
    "posegen.motion.trunk.place_arm": forward_kinematics,
    "posegen.motion.trunk.place_upper_body": forward_kinematics,
    "posegen.motion.gaits.warp_phase": warp_phase,
    "posegen.foundations.vectors.along_times_span": solve_elbow,
    "posegen.foundations.vectors.middle_joint": solve_elbow,
    "posegen.motion.arms.solve_elbow": solve_elbow,
    "posegen.motion.arms.elbow_direction": solve_elbow,
    "posegen.motion.clearance.forearm_gap": segment_distance,
    "posegen.checks.capsules.rods_gap": segment_distance,
    "posegen.checks.capsules.pair_overlap": people_overlap,
    "posegen.checks.capsules.overlap_of_all": people_overlap,
    "posegen.checks.evidence.left_of": signal,
    "posegen.checks.evidence.ahead_of": signal,
    "posegen.checks.evidence.offset_along": signal,
    "posegen.checks.evidence.distance": signal,
    "posegen.checks.evidence.limb_signal": signal,
    "posegen.checks.evidence.fill_signal": signal,
    "posegen.checks.paths.fill_headings": path_shapes,
    "posegen.checks.paths.count_swings": path_shapes,
    "posegen.checks.paths.spread_along": path_shapes,
    "posegen.checks.paths.fill_shapes": path_shapes,
    "posegen.foundations.canonical_floats.fill_canonical": canonical,
    "posegen.foundations.randomness._block": philox,
    "posegen.foundations.randomness._fill_blocks": philox,
    "posegen.foundations.randomness._fill_choices": choose_fitting,
}
"""Oracle of each kernel that has one; parts of a kernel share its oracle."""

"""Naive NumPy oracles of the kernels, in double precision and without vectorised shortcuts.

`ORACLES` maps each kernel that has an oracle to it. ``tests/test_oracles.py`` lists the other kernels and the reason for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks import paths
from posegen.checks.capsules import PARTS
from posegen.foundations.constants import DEGREES, SHAPES
from posegen.foundations.scene import LEFT
from posegen.foundations.skeleton import JOINTS, PARENTS, PROPORTIONS, sole_points
from posegen.library.channels import CHANNELS
from posegen.motion.library_tables import CYCLE, FLOOR, SEAT

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


def triangular_mean(row: Array, radius: int) -> Array:
    frames = np.arange(len(row))
    weights = np.maximum(radius + 1 - np.abs(frames[:, None] - frames), 0)
    return np.asarray(weights @ row.astype(np.float64) / weights.sum(1))


def frame_window(first: float, step: float, begin: float, end: float, frames: int) -> tuple[int, int]:
    seconds = first + step * np.arange(-10 * frames, 10 * frames)
    indices = np.arange(-10 * frames, 10 * frames)
    return max(0, int(indices[seconds >= begin][0])), min(frames, int(indices[seconds >= end][0]))


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


def compose_rotations(parent: Array, child: Array) -> Array:
    """Product of matrices [frames, 3, 3]."""
    return np.asarray(parent @ child)


def place_child(rotation: Array, offset: Array, parent: Array) -> Array:
    """Positions [frames, 3] of a child joint; rotations are [frames, 3, 3]."""
    return np.asarray(parent + rotation @ offset)


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


def fill_waves(phase: Array, count: int) -> Array:
    """Cosines of 1 to `count` times the phase, then the sines; [2 * count, frames]."""
    angles = TURN * np.arange(1, count + 1)[:, None] * (phase.astype(np.float64) % 1)
    return np.concatenate([np.cos(angles), np.sin(angles)])


def gait_angle(series: Array, phase: float) -> float:
    """Value of a series (constant, cosines, sines) at a phase."""
    count = len(series) // 2
    angles = TURN * phase * np.arange(1, count + 1)
    return float(series[0] + (series[1 : 1 + count] * np.cos(angles) + series[1 + count :] * np.sin(angles)).sum())


def add_harmonics(
    seconds: Array,
    cosines: Array,
    sines: Array,
    size: float,
    late: float,
    times: tuple[float, ...],
    cycle: float,
    wander: float,
) -> Array:
    """Harmonics of a segment over the frames; `times` are its start, the ends of its first two stages, and its end."""
    begin, enter_end, exit_begin, end = times
    fade_in, fade_out = 0.6 * (enter_end - begin) + 1e-3, 0.6 * (end - exit_begin) + 1e-3
    out = np.zeros(len(seconds))
    for f, t in enumerate(seconds):
        if begin <= t < end:
            x = (t - enter_end) / cycle - late
            series = 0.0
            for k, (a, b) in enumerate(zip(cosines, sines, strict=True), 1):
                series += a * np.cos(TURN * k * x) + b * np.sin(TURN * k * x)
            fade = smooth_step((t - enter_end + fade_in) / fade_in) * smooth_step((exit_begin + fade_out - t) / fade_out)
            out[f] = size * fade * (1 + 0.16 * np.sin(TURN * (0.37 * x + wander))) * series
    return out


def is_hand(channel: str) -> bool:
    return "_hand_" in channel


def mirror_channel(channel: str) -> str:
    """Name of the channel of the other side."""
    side, _, rest = channel.partition("_")
    return {"left": "right_", "right": "left_"}[side] + rest if side in ("left", "right") else channel


def near_channel(channel: str, right: bool) -> str:
    return mirror_channel(channel) if right and not is_hand(channel) else channel


def habit(habits: Array, row: int, right: bool, channel: str, which: int) -> float:
    """Number of a person for a channel of an action that is performed with the left or right side."""

    def number(name: str) -> float:
        return float(habits[(17 * row + 31 * which + 5 * CHANNELS.index(name)) % len(habits)])

    own = near_channel(channel, right)
    if own.startswith("right_") and not is_hand(own):
        return 0.8 * number(mirror_channel(own)) + 0.6 * number(own)
    return number(own)


def habit_offset(habits: Array, row: int, right: bool, channel: str, spread: float, used: bool, lying: bool) -> float:
    central = not channel.startswith(("left_", "right_"))
    sign = -1 if right and central and channel.endswith(("_lateral", "_rotation", "_obliquity")) else 1
    return sign * spread * (1 if used else 0.5) * (0.4 if lying else 1) * habit(habits, row, right, channel, 1)


def habit_lag(habits: Array, row: int, right: bool, channel: str, at: float) -> float:
    """Share of a stage by which trunk, neck or an arm is late."""
    own = near_channel(channel, right)
    arm = ("collar", "shoulder", "elbow")
    limbs = ("trunk", "neck", *(tuple(f"{side}_{part}" for part in arm) for side in ("left", "right")))
    for limb, parts in enumerate(limbs):
        if own.startswith(parts):
            return float(0.05 * np.clip(habits[(17 * row + 3 * limb + 11) % len(habits)], -2, 2) * np.sin(np.pi * at))
    return 0.0


def warped(warp: float, at: float) -> float:
    """Share of a repetition whose pace is 1 + warp cos(2 pi at)."""
    return float(at + warp * np.sin(TURN * at) / TURN)


def key_size(
    amplitude: float,
    support: int,
    habits: Array,
    draws: Array,
    row: int,
    right: bool,
    channel: str,
    stage: int,
    number: int,
    last: bool,
    travels: bool,
) -> float:
    """Factor on a key pose of a repetition; `last` is whether it is at the end of its stage."""
    foot, cycles = "_foot_" in channel, stage == CYCLE and not last
    if travels and (foot or channel.startswith("root_")):
        return 1.0
    if support in (SEAT, FLOOR) and channel in ("root_height", "root_forward"):
        return 1.0
    if support == FLOOR and (foot or channel == "pelvis_tilt"):
        return 1.0
    if is_hand(channel):
        return float(1 + 0.05 * (draws[(5 * number + CHANNELS.index(channel)) % len(draws)] - 0.5)) if cycles else 1.0
    together = foot or channel.startswith("root_")
    own = CHANNELS[0] if together else channel
    personal = 1 + 0.14 * habit(habits, row, right, own, 0)
    personal = min(personal, 1.06) if own in ("pelvis_tilt", "trunk_flexion") else personal
    if not cycles:
        return amplitude * (1.0 if together else personal)
    width = 0.3 if together else 0.45
    size = float(amplitude * (1 + width * (draws[(5 * number + CHANNELS.index(own)) % len(draws)] - 0.5)) * personal)
    return 1 + 0.5 * (size - 1) if together else size


def add_layer(below: Array, seconds: Array, pose: Array, owned: Array, times: tuple[float, ...]) -> Array:
    """Channels [channels, frames] under a layer without key poses: its pose fades in and out over those that it owns."""
    begin, enter_end, exit_begin, end = times
    out = below.astype(np.float64)
    for f, t in enumerate(seconds):
        if begin <= t < end:
            weight = smooth_step((t - begin) / (enter_end - begin)) * smooth_step((end - t) / (end - exit_begin))
            out[:, f] += np.where(owned, weight * (pose - out[:, f]), 0)
    return out


def shift_weight(seconds: Array, standing: Array, stagger: float, begin: float) -> Array:
    """Way of the pelvis to the left [frames] of who stands with the left foot `stagger` ahead: mostly over the other foot."""
    return np.asarray(standing * stagger * (0.5 * sin_turns(0.06 * seconds + begin) - 1))


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


def unit(vectors: Array) -> Array:
    """Vectors of length 1: float [..., 3]."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def between(one: Array, other: Array) -> Array:
    """Degrees between vectors: float [...] of [..., 3]."""
    return np.degrees(np.arccos(np.clip((unit(one) * unit(other)).sum(-1), -1, 1)))


def rotation_of(left: Array, up: Array) -> Array:
    """Axes left, up and forward of a body part as rows: float [frames, 3, 3]."""
    above = unit(up - (up * unit(left)).sum(-1, keepdims=True) * unit(left))
    return np.stack([unit(left), above, np.cross(unit(left), above)], axis=1)


def body_angles(joints: Array) -> dict[str, Array]:
    """Anatomical angles in degrees with those of the rest pose: float [frames] of each, of [frames, 22, 3]."""
    at = {name: joints[:, number].astype(np.float64) for number, name in enumerate(JOINTS)}
    hips = (at["left_hip"] + at["right_hip"]) / 2
    pelvis = rotation_of(at["left_hip"] - at["right_hip"], at["spine1"] - hips)
    chest = rotation_of(at["left_collar"] - at["right_collar"], at["neck"] - at["spine3"])
    turned = pelvis @ chest.transpose(0, 2, 1)
    head = (chest @ unit(at["head"] - at["neck"])[..., None])[..., 0]
    angles = {
        "trunk_flexion": np.degrees(np.arcsin(-turned[:, 1, 2])),
        "trunk_rotation": np.degrees(np.arctan2(turned[:, 0, 2], turned[:, 2, 2])),
        "trunk_lateral": -np.degrees(np.arctan2(turned[:, 1, 0], turned[:, 1, 1])),
        "neck_flexion": np.degrees(np.arctan2(head[:, 2], head[:, 1])),
        "neck_lateral": np.degrees(np.arcsin(head[:, 0])),
    }
    soles = sole_points(joints.astype(np.float64))
    for side, outward, heel in (("left", 1, 0), ("right", -1, 2)):
        hip, knee, ankle, ball, shoulder, elbow, wrist = (
            at[f"{side}_{name}"] for name in ("hip", "knee", "ankle", "foot", "shoulder", "elbow", "wrist")
        )
        thigh = (pelvis @ unit(knee - hip)[..., None])[..., 0]
        arm = (chest @ unit(elbow - shoulder)[..., None])[..., 0]
        shank = unit(ankle - knee)
        across, toes = (v - (v * shank).sum(-1, keepdims=True) * shank for v in (unit(knee - hip), ball - ankle))
        forward = (across * unit(toes)).sum(-1) < -0.02
        bend, flexion = between(knee - hip, ankle - knee), np.degrees(np.arctan2(arm[:, 2], -arm[:, 1]))
        angles |= {
            f"{side}_hip_flexion": np.degrees(np.arctan2(thigh[:, 2], -thigh[:, 1])),
            f"{side}_hip_abduction": np.degrees(np.arcsin(outward * thigh[:, 0])),
            f"{side}_knee_flexion": np.where(forward, -bend, bend),
            f"{side}_ankle_dorsiflexion": 90 - between(knee - ankle, soles[:, heel + 1] - soles[:, heel]),
            f"{side}_shoulder_flexion": np.where(np.abs(arm[:, 0]) < np.sqrt(0.75), flexion, np.nan),
            f"{side}_elbow_flexion": between(elbow - shoulder, wrist - elbow),
        }
    return angles


def body_overlap(joints: Array, pairs: Any) -> Array:
    """Deepest overlap of pairs of a body's capsules in each frame, metres; each capsule is two joints and a radius."""
    at = {name: joints[:, number].astype(np.float64) for number, name in enumerate(JOINTS)}
    hip, knee, ankle = (at[f"left_{name}"] for name in ("hip", "knee", "ankle"))
    stature = (np.linalg.norm(hip - knee, axis=-1) + np.linalg.norm(knee - ankle, axis=-1)) / (
        PROPORTIONS["thigh"] + PROPORTIONS["shank"]
    )
    depths = [
        (radius + other_radius) * stature - segment_distance(at[a], at[b], at[c], at[d])
        for (a, b, radius), (c, d, other_radius) in pairs
    ]
    return np.maximum.reduce([np.zeros(len(joints)), *depths])


def hull_distance(points: Array, position: Array) -> float:
    """Distance of a position from the convex hull of points, [n, 2] each of metres, in the farthest of 72 directions."""
    directions = [(np.cos(turn), np.sin(turn)) for turn in np.arange(72) * TURN / 72]
    return max(float(position @ way - max(point @ way for point in points)) for way in directions)


def arc_length(speed: Array, fps: float) -> float:
    """Negative length of the curve of a speed's spectrum up to 10 Hz, from its first to its last strong frequency."""
    length = 16 * 2 ** math.ceil(math.log2(len(speed)))
    spectrum, frequencies = np.abs(np.fft.rfft(speed, length)), np.fft.rfftfreq(length, 1 / fps)
    scaled = (spectrum / spectrum.max())[frequencies <= 10]
    strong = np.flatnonzero(scaled >= 0.05)
    kept = slice(strong[0], strong[-1] + 1)
    across = np.diff(frequencies[kept]) / (frequencies[strong[-1]] - frequencies[strong[0]])
    return -float(np.hypot(across, np.diff(scaled[kept])).sum())


def quiet_standing(centre: Array, soles: Array, fps: float, limits: tuple[float, float, float]) -> tuple[Array, Array]:
    """Soles [n, 4, 2] and extrapolated centre of mass [n, 2] in frames of quiet standing, of [frame, 3] and [frame, 4, 3]."""
    tall, low, slow = limits
    velocity = np.gradient(centre, 1 / fps, axis=0)
    moving = np.linalg.norm(np.gradient(soles, 1 / fps, axis=0), axis=-1).max(1)
    quiet = (centre[:, 1] > tall) & (soles[..., 1] < low).all(1) & (np.maximum(moving, np.linalg.norm(velocity, axis=1)) < slow)
    ahead = centre + velocity / np.sqrt(9.81 / centre[:, 1:2])
    return soles[quiet][..., [0, 2]], ahead[quiet][:, [0, 2]]


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
    "posegen.motion.trigonometry.cos_turns": cos_turns,
    "posegen.motion.trigonometry.sin_turns": sin_turns,
    "posegen.motion.trigonometry.atan_turns": atan_turns,
    "posegen.motion.trigonometry.smooth_step": smooth_step,
    "posegen.motion.workspace.triangular_mean": triangular_mean,
    "posegen.motion.workspace.frame_window": frame_window,
    "posegen.motion.habits.near_channel": near_channel,
    "posegen.motion.habits.habit": habit,
    "posegen.motion.habits.habit_size": habit,
    "posegen.motion.habits.habit_offset": habit_offset,
    "posegen.motion.habits.habit_lag": habit_lag,
    "posegen.motion.key_poses.warped": warped,
    "posegen.motion.key_poses.key_size": key_size,
    "posegen.motion.trunk.trunk_rotation": trunk_rotation,
    "posegen.motion.trunk.limb_rotation": limb_rotation,
    "posegen.motion.trunk.compose_rotations": compose_rotations,
    "posegen.motion.trunk.place_child": place_child,
    "posegen.motion.trunk.place_arm": forward_kinematics,
    "posegen.motion.trunk.place_upper_body": forward_kinematics,
    "posegen.motion.gait.curves.warp_phase": warp_phase,
    "posegen.motion.channels.fill_waves": fill_waves,
    "posegen.motion.channels.add_series": gait_angle,
    "posegen.motion.channels.add_harmonics": add_harmonics,
    "posegen.motion.channels.add_layer": add_layer,
    "posegen.motion.channels.shift_weight": shift_weight,
    "posegen.motion.arms.solve_elbow": solve_elbow,
    "posegen.motion.arms.elbow_direction": solve_elbow,
    "posegen.motion.arms.forearm_gap": segment_distance,
    "posegen.motion.arms.is_near_thigh": segment_distance,
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
    "posegen.evaluation.kernels.bodies.fill_filtered": np.convolve,
    "posegen.evaluation.kernels.bodies.fill_jerk": np.diff,
    "posegen.evaluation.kernels.bodies.fill_soles": sole_points,
    "posegen.evaluation.kernels.bodies.fill_axes": body_angles,
    "posegen.evaluation.kernels.bodies.fill_dots": body_angles,
    "posegen.evaluation.kernels.bodies.fill_bone": body_angles,
    "posegen.evaluation.kernels.bodies.fill_bend": body_angles,
    "posegen.evaluation.kernels.bodies.fill_knee_side": body_angles,
    "posegen.evaluation.kernels.bodies.fill_angles": body_angles,
    "posegen.evaluation.kernels.bodies.fill_rods": segment_distance,
    "posegen.evaluation.kernels.bodies.fill_gaps": segment_distance,
    "posegen.evaluation.kernels.bodies.clipped": segment_distance,
    "posegen.evaluation.kernels.bodies.fill_overlap": body_overlap,
    "posegen.evaluation.kernels.balance.fill_hull_distances": hull_distance,
    "posegen.evaluation.kernels.balance.rate": np.gradient,
    "posegen.evaluation.kernels.balance.fill_standing": quiet_standing,
    "posegen.foundations.canonical_floats.fill_canonical": canonical,
    "posegen.foundations.randomness._block": philox,
    "posegen.foundations.randomness._fill_blocks": philox,
    "posegen.foundations.randomness._fill_choices": choose_fitting,
}
"""Oracle of each kernel that has one; parts of a kernel share its oracle."""

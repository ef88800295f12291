"""Two ways to move the root, measured: carried by the stance leg, or served by planned footsteps (what posegen does).

Both get the same demand, body and published curves. The carried root is written here in plain NumPy: forward kinematics of both
legs from the pelvis, which is as high as the lowest point of the soles asks, and advances by as much as that point moves back.

    python -m benchmarks.root_choice
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.bodies import body_offsets
from posegen.library.channels import CHANNELS
from posegen.library.load import load_library
from posegen.motion.channels import gait_series
from posegen.motion.engine import animate
from posegen.motion.gait.curves import HARMONICS
from posegen.motion.gait.steps import WALK, gait_tables, stride_rate
from posegen.motion.library_tables import style_tables
from posegen.motion.scene_arrays import person_arrays
from posegen.scene import Scenes, empty_scenes
from posegen.skeleton import JOINTS, sole_points

Array = NDArray[Any]

FPS = 60
SECONDS = 12
STATURE = 1.75
TOUCHING = 0.005
WALK_RATIO = 0.0065
GAITS = gait_tables()
PUBLISHED_SD = {"hip_flexion": 6.1, "knee_flexion": 6.3}
RESULT = Path(__file__).parent / "results" / "root_choice.md"
SIDES = ("left", "right")


class Demand(NamedTuple):
    """Walking at `speed` (m/s) while turning by `turn` (turns) from `begin` to `end` (seconds), standing before and behind."""

    name: str
    speed: float
    begin: float = -3.0
    end: float = SECONDS + 3.0
    turn: float = 0.0

    @property
    def steady(self) -> bool:
        return self.begin < 0 and self.end > SECONDS


DEMANDS = (
    *(Demand(f"straight, {speed} m/s", speed) for speed in (0.7, 1.0, 1.3, 1.6)),
    Demand("curve of 180 degrees in 18 s, 1.2 m/s", 1.2, turn=0.5),
    Demand("start and stop, 1.2 m/s", 1.2, 1.0, 10.0),
)


class Walk(NamedTuple):
    """Joints [frame, joint, axis], which sole points touch [frame, point], which feet are to be planted [frame, side]."""

    joints: Array
    contact: Array
    planted: Array


def scene_of(demand: Demand) -> Scenes:
    library = load_library()
    cuts = [-4.0, demand.begin, demand.end, SECONDS + 4.0]
    actions = ["stand", "walk", "stand"]
    if demand.steady:
        cuts, actions = cuts[1:3], ["walk"]
    scenes = empty_scenes(1, 1, len(actions))
    scenes.length[:], scenes.persons.stature[:] = SECONDS * FPS, STATURE
    for k, action in enumerate(actions):
        scenes.action[0, 0, k] = library.index(action)
        scenes.start[0, 0, k], scenes.end[0, 0, k] = cuts[k], cuts[k + 1]
        if action == "walk":
            scenes.speed[0, 0, k], scenes.turn[0, 0, k] = demand.speed, 2 * np.pi * demand.turn
    return scenes


def planned_walk(demand: Demand, stride: Array) -> Walk:
    """Walk as posegen does."""
    motion = animate(scene_of(demand), load_library(), SECONDS * FPS, FPS)
    return Walk(motion.joints[0, 0].astype(np.float64), motion.contact[0, 0, :, :4] == 1, stance(demand, stride))


def stance(demand: Demand, stride: Array) -> Array:
    """Which feet the published duty has on the ground, by the phase of the stride."""
    duty = 0.642 - 0.035 * demand.speed
    return np.stack([(stride + 0.5 * side) % 1 < duty for side in range(2)], -1)


def gait_weight(demand: Demand) -> Array:
    """Rise and fall of the gait, by minimum jerk over .7 s on the inner side of the demand's ends."""
    seconds = np.arange(SECONDS * FPS) / FPS
    x = np.clip(np.minimum(seconds - demand.begin, demand.end - seconds) / 0.7, 0, 1)
    return np.asarray(x**3 * (10 - 15 * x + 6 * x**2))


def leg_length(offsets: Array) -> float:
    return -float(offsets[4, 1] + offsets[7, 1])


def phase(demand: Demand, weight: Array, leg: float) -> Array:
    """Strides since the first frame."""
    rate = stride_rate(WALK, demand.speed, leg, 0.0, 10.0)
    return np.asarray(np.concatenate([[0.0], np.cumsum(weight[1:] * rate / FPS)]))


def published(channel: str, speed: float, leg: float, stride: Array) -> Array:
    """Published curve of a channel in turns."""
    series = np.zeros(1 + 2 * HARMONICS, np.float32)
    gait_series(WALK, speed, leg, GAITS, CHANNELS.index(channel), series)
    angles = 2 * np.pi * np.arange(1, HARMONICS + 1)[:, None] * stride
    return np.asarray(series[0] + series[1 : 1 + HARMONICS] @ np.cos(angles) + series[1 + HARMONICS :] @ np.sin(angles))


def about(axis: int, turns: Array) -> Array:
    """Rotations [frame, 3, 3] about an axis."""
    c, s = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    out = np.zeros((len(turns), 3, 3))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    out[:, axis, axis] = 1
    out[:, first, first] = out[:, second, second] = c
    out[:, first, second], out[:, second, first] = -s, s
    return out


def carried_walk(demand: Demand, stride: Array) -> Walk:
    """Walk with a root carried by the stance leg."""
    scenes = scene_of(demand)
    offsets = body_offsets(scenes.persons)[0, 0].astype(np.float64)
    neutral = person_arrays(scenes, style_tables(load_library())).neutral[0, 0]
    weight, leg = gait_weight(demand), leg_length(offsets)
    span = demand.end - demand.begin
    turning = weight / weight.sum() * demand.turn * (SECONDS / span if demand.steady else 1.0)

    def angle(channel: str) -> Array:
        rest = float(neutral[CHANNELS.index(channel)])
        return rest + weight * (published(channel, demand.speed, leg, stride) - rest)

    heading = np.cumsum(turning) - turning[0]
    pelvis = about(1, heading + angle("pelvis_rotation")) @ about(0, angle("pelvis_tilt")) @ about(2, angle("pelvis_obliquity"))
    joints = np.zeros((len(weight), len(JOINTS), 3))
    joints[:, 3] = pelvis @ offsets[3]
    for side, name in enumerate(SIDES):
        sign = 1 - 2 * side
        thigh = pelvis @ about(0, -angle(f"{name}_hip_flexion")) @ about(2, sign * angle(f"{name}_hip_abduction"))
        shank = thigh @ about(0, angle(f"{name}_knee_flexion"))
        foot = shank @ about(0, -angle(f"{name}_ankle_dorsiflexion"))
        for parent, joint, turn in ((0, 1, pelvis), (1, 4, thigh), (4, 7, shank), (7, 10, foot)):
            joints[:, joint + side] = (joints[:, parent + side] if parent else 0) + turn @ offsets[joint + side]
    place = carried_path(sole_points(joints))
    joints += place[:, None]
    return Walk(joints, sole_points(joints)[..., 1] < TOUCHING, stance(demand, stride))


def carried_path(soles: Array) -> Array:
    """Where the pelvis is, from the points of the soles as seen from it: [frame, axis] from [frame, point, axis]."""
    frames = len(soles)
    lowest = np.argmin(soles[:-1, :, 1] + soles[1:, :, 1], -1)
    back = soles[np.arange(1, frames), lowest] - soles[np.arange(frames - 1), lowest]
    place = np.concatenate([np.zeros((1, 3)), np.cumsum(-back, 0)])
    place[:, 1] = -soles[..., 1].min(-1)
    return place


def stride_mean(row: Array, frames: int) -> Array:
    """Mean over a window of a stride, along the first axis; shorter by the window."""
    total = np.cumsum(np.concatenate([np.zeros((1, *row.shape[1:])), row]), 0)
    return np.asarray((total[frames:] - total[:-frames]) / frames)


def leg_angles(joints: Array, side: int) -> tuple[Array, Array]:
    """Flexion of hip and knee in degrees, from the joints alone."""
    across = joints[:, 1] - joints[:, 2]
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    rest = body_offsets(empty_scenes(1, 1, 1).persons)[0, 0, 3]
    spine = joints[:, 3] - joints[:, 0]
    ahead = np.cross(across, spine)
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    up = np.cross(ahead, across)
    lean = np.arctan2(rest[2], rest[1])  # the spine's first joint lies a little behind the pelvis
    forward, upward = ahead * np.cos(lean) + up * np.sin(lean), up * np.cos(lean) - ahead * np.sin(lean)
    thigh, shank = joints[:, 4 + side] - joints[:, 1 + side], joints[:, 7 + side] - joints[:, 4 + side]
    hip = np.arctan2((thigh * forward).sum(-1), -(thigh * upward).sum(-1))
    straight = (thigh * shank).sum(-1) / np.linalg.norm(thigh, axis=-1) / np.linalg.norm(shank, axis=-1)
    return np.degrees(hip), np.degrees(np.arccos(np.clip(straight, -1, 1)))


class Angles(NamedTuple):
    """Root mean square distance of hip and knee from the published curves, in their SDs; the knee's lag, % of a stride."""

    hip: float
    knee: float
    lag: float


def angle_errors(walk: Walk, demand: Demand, stride: Array, leg: float) -> Angles:
    errors: dict[str, list[float]] = {name: [] for name in PUBLISHED_SD}
    lags = []
    for side, name in enumerate(SIDES):
        for channel, found in zip(PUBLISHED_SD, leg_angles(walk.joints, side), strict=True):
            expected = 360 * published(f"{name}_{channel}", demand.speed, leg, stride)
            errors[channel].append(float(((found - expected) ** 2).mean()))
        shifts = np.arange(-0.1, 0.1001, 0.002)
        apart = [((found - 360 * published(f"{name}_knee_flexion", demand.speed, leg, stride - s)) ** 2).mean() for s in shifts]
        lags.append(100 * float(shifts[int(np.argmin(apart))]))
    hip, knee = (float(np.sqrt(np.mean(errors[channel]))) / sd for channel, sd in PUBLISHED_SD.items())
    return Angles(hip, knee, float(np.mean(lags)))


def cadence(walk: Walk) -> float:
    """Steps a minute, from the landings of the heels."""
    steps = []
    for heel in (0, 2):
        landed = np.flatnonzero(np.diff(walk.contact[:, heel].astype(int)) == 1)
        landed = landed[np.concatenate([[True], np.diff(landed) > 0.4 * FPS])]
        steps.append(120 * FPS * (len(landed) - 1) / (landed[-1] - landed[0]))
    return float(np.mean(steps))


NOTHING = "-"
COLUMNS = (
    "demand", "root", "speed, % of demand", "sole speed in contact, mean / p98 (m/s)", "stance without contact (%)",
    "pelvis speed, SD (% of mean)", "pelvis acceleration, p98 (m/s2)", "steps per minute", "walk ratio (% of published)",
    "pelvis up and down (cm)", "side to side (cm)", "hip error (SD)", "knee error (SD)", "knee lag (% of stride)",
)  # fmt: skip


def measured(walk: Walk, demand: Demand, stride: Array, leg: float) -> Iterator[str]:
    pelvis = walk.joints[:, 0]
    speed = np.linalg.norm(np.diff(pelvis[:, [0, 2]], axis=0), axis=-1) * FPS
    frames = round(FPS / stride_rate(WALK, demand.speed, leg, 0.0, 10.0))
    centre = stride_mean(pelvis, frames)
    pace = np.linalg.norm(np.diff(centre[:, [0, 2]], axis=0), axis=-1) * FPS
    at_pace = pace[max(0, round((demand.begin + 1.5) * FPS)) : round((demand.end - 1.5) * FPS) - frames]
    yield f"{100 * at_pace.mean() / demand.speed:.1f}"
    soles = np.linalg.norm(np.diff(sole_points(walk.joints), axis=0), axis=-1) * FPS
    touching = walk.contact[1:] & walk.contact[:-1]
    slide = soles[touching & np.repeat(walk.planted, 2, 1)[1:]] if demand.steady else soles[touching]
    yield f"{slide.mean():.3f} / {np.percentile(slide, 98):.3f}"
    down = walk.contact[:, 0::2] | walk.contact[:, 1::2]
    yield f"{100 * (1 - down[walk.planted].mean()):.1f}" if demand.steady else NOTHING
    push = np.linalg.norm(np.diff(pelvis, 2, axis=0), axis=-1) * FPS**2
    acceleration = f"{np.percentile(push, 98):.1f}"
    if not demand.steady:
        yield from (NOTHING, acceleration, *[NOTHING] * 7)
        return
    steps = cadence(walk)
    yield f"{100 * speed.std() / speed.mean():.0f}"
    yield acceleration
    yield f"{steps:.0f}"
    yield f"{100 * 60 * pace.mean() / steps**2 / (WALK_RATIO * leg / 0.9):.0f}"
    around = pelvis[frames // 2 : frames // 2 + len(centre)] - centre
    ahead = np.gradient(centre[:, [0, 2]], axis=0)
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    aside = around[:, 0] * ahead[:, 1] - around[:, 2] * ahead[:, 0]
    strides = len(aside) // frames * frames
    yield from (f"{100 * np.ptp(row[:strides].reshape(-1, frames), axis=1).mean():.1f}" for row in (around[:, 1], aside))
    angles = angle_errors(walk, demand, stride, leg)
    yield from (f"{angles.hip:.2f}", f"{angles.knee:.2f}", f"{angles.lag:+.1f}")


def table() -> str:
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    leg = leg_length(body_offsets(scene_of(DEMANDS[0]).persons)[0, 0])
    for demand in DEMANDS:
        stride = phase(demand, gait_weight(demand), leg)
        for name, way in (("carried", carried_walk), ("planned", planned_walk)):
            rows.append([demand.name, name, *measured(way(demand, stride), demand, stride, leg)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    text = (
        "# How the root moves: carried by the stance leg, or by planned footsteps\n\n"
        f"`python -m benchmarks.root_choice`: a body of {STATURE} m, {SECONDS} s at {FPS} frames a second. Both get the same\n"
        "demand and the same published curves. Figures are of joints and contacts alone, walking from end to end but in the\n"
        "last demand, where the speed is that between the change of speed at either end.\n\n"
        f"{table()}\n"
    )
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

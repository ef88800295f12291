"""The field `imu`: readings of inertial sensors that are worn at placements of :data:`PLACEMENTS`.

An accelerometer reads R^T (a - g), in m/s^2: +9.81 upwards at rest. A gyroscope reads the angular velocity, in rad/s. Both
are in the axes of the sensor: z points away from the skin, y along the bone (up in the rest pose; on the foot, to the toes),
and x is y cross z. Reading r of frame f is at f / fps + r / (4 fps) seconds: 80, 100 or 120 Hz at 20, 25 or 30 frames per
second.

Generated sequences are computed from their scenes at the rate of the sensor and before joints are rounded
(:mod:`posegen.fields.scene_joints`). Joints are then smoothed by a bell curve with a standard deviation of :data:`SMOOTHING`
seconds; the first and the last frame stay. Recordings are interpolated linearly and smoothed over a frame, if that is longer;
their sensors are on the bones, since errors of recorded joints change the twist of straight limbs, which would move a sensor
on the skin by centimetres. Rotations, and thus the twist of forearms and head, are those of :mod:`posegen.fields.rotation`.

Each person wears sensors that are turned against the limb and have offsets of their own. A reading has white noise, saturates
at the range of the sensor and is rounded to its step. ``placements.yaml`` has the numbers and their sources.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posegen.fields.field import DerivedField, FieldArray, Sequences
from posegen.fields.rotation import actor_identities, bone_offsets, joint_rotations
from posegen.fields.scene_joints import have_scenes, scene_joints
from posegen.fields.vectors import Vector, cross, dot, vector
from posegen.fields.velocity import differences, second_differences
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.foundations.yaml_files import read_yaml

READINGS = 4
"""Readings of a frame."""
SMOOTHING = 0.01
"""Seconds. The scene is continuous, but where contacts begin its second derivative is not."""
LOWEST_RATE, HIGHEST_RATE = 25, 480
"""Readings per second."""
COMPONENTS = tuple(f"{kind}_{axis}" for kind in ("acceleration", "angular_velocity") for axis in "xyz")


class Placement(NamedTuple):
    """Where a sensor is worn: indices of the joints at both ends of the bone, and the vectors of ``placements.yaml``."""

    bone: int
    end: int
    along: float
    skin: Array
    axes: Array


_DATA = read_yaml(Path(__file__).with_name("placements.yaml"))
_NOISE, _BIAS, _RANGE, _STEP = (np.repeat(_DATA["sensor"][name], 3) for name in ("noise", "bias", "range", "step"))
_TURNED: float = _DATA["sensor"]["turned"]


def _placements() -> dict[str, Placement]:
    placements = {}
    for name, entry in _DATA["placements"].items():
        for side in ("left_", "right_") if name.startswith("*") else ("",):
            # The mirror image of a vector; its axes are again right-handed, as x is the cross product of both others.
            sign = np.array([-1.0 if side == "right_" else 1.0, 1.0, 1.0])
            out, up = np.array(entry["out"], float) * sign, np.array(entry["up"], float) * sign
            bone, end = (JOINTS.index(side + entry[key]) for key in ("bone", "end"))
            axes = np.stack([cross(up, out), up, out])
            placements[side + name.removeprefix("*")] = Placement(bone, end, entry["along"], entry["skin"] * sign, axes)
    return placements


PLACEMENTS = _placements()
"""Placements by name."""


def ideal_readings(
    joints: Array, offsets: Array, stature: float, rate: float, smoothing: float = SMOOTHING, *, skin: bool = True
) -> Array:
    """Return the readings of sensors without errors, with the nominal axes of their placements.

    Parameters
    ----------
    joints : float [time, 22, 3]
        Metres, at the rate of the sensors.
    offsets : float64 [22, 3]
        Offset of each joint from its parent in the rest pose, metres.
    stature : float
        Metres.
    rate : float
        Readings per second.
    smoothing : float
        Standard deviation of the bell curve by which joints are smoothed, seconds.
    skin : bool
        Whether sensors are on the skin, or else on the line between both joints.

    Returns
    -------
    float64 [time, placement, 6]
        m/s^2, then rad/s.
    """
    smooth = np.asarray(joints, np.float64)
    for _ in range(round(2 * (smoothing * rate) * (smoothing * rate))):
        inner = ((smooth[:-2] + smooth[2:]) + 2.0 * smooth[1:-1]) * 0.25
        smooth = np.concatenate([smooth[:1], inner, smooth[-1:]])
    columns = _world_axes(joint_rotations(smooth, offsets)[0])
    at = np.stack([_position(place, smooth, columns[place.bone], stature * skin) for place in PLACEMENTS.values()])
    force = second_differences(at, rate, 2) + np.array([[0.0], [GRAVITY], [0.0]])
    spins = {bone: _spin(columns[bone], rate) for bone in {place.bone: None for place in PLACEMENTS.values()}}
    readings = np.empty((len(PLACEMENTS), 2, 3, len(smooth)))
    for number, place in enumerate(PLACEMENTS.values()):
        both = np.stack([[dot(axis, force[number]) for axis in columns[place.bone]], spins[place.bone]])
        for k, own in enumerate(place.axes):
            readings[number, :, k] = (own[0] * both[:, 0] + own[1] * both[:, 1]) + own[2] * both[:, 2]
    return np.moveaxis(readings.reshape(len(PLACEMENTS), 6, -1), -1, 0)


def _position(place: Placement, joints: Array, axes: Vector, stature: float) -> Vector:
    """Return where a sensor is, of joints [time, 22, 3] and the axes of its bone; with stature 0, on the bone."""
    near, far = vector(joints[:, place.bone]), vector(joints[:, place.end])
    x, y, z = place.skin * stature
    return np.asarray(near + (far - near) * place.along + ((axes[0] * x + axes[1] * y) + axes[2] * z))


def _spin(axes: Vector, rate: float) -> Vector:
    """Return the angular velocity of a bone in its own axes [axis, component, time]: that of the one axis along the other."""
    turns = differences(axes, rate, 2)
    return np.stack([0.5 * (dot(axes[k - 1], turns[k - 2]) - dot(axes[k - 2], turns[k - 1])) for k in range(3)])


def _world_axes(local: Array) -> list[Vector]:
    """Return the axes of each joint in the world, [axis, component, time], of 6D rotations [time, 22, 6]."""
    world: list[Vector] = []
    for joint, parent in enumerate(PARENTS):
        x, y = vector(local[:, joint, :3]), vector(local[:, joint, 3:])
        own = np.stack([x, y, cross(x, y)])
        if parent >= 0:
            above = world[parent]
            own = np.stack([(above[0] * axis[0] + above[1] * axis[1]) + above[2] * axis[2] for axis in own])
        world.append(own)
    return world


def worn_readings(ideal: Array, seed: int, person: int, clip: int, recording: int) -> Array:
    """Return readings of the sensors of a person, with their errors.

    Parameters
    ----------
    ideal : float64 [time, placement, 6]
        See :func:`ideal_readings`.
    seed, person : int
        How sensors are attached, and their offsets, depend on both alone.
    clip, recording : int
        Noise depends on the seed and both; `recording` is 0 to 255.

    Returns
    -------
    float32, the same shape
    """
    out = np.empty(ideal.shape, np.float32)
    for number, name in enumerate(PLACEMENTS):
        drawn = _normals(seed, person, Stream.SENSOR, name, 9)
        noise = _normals(seed, clip, Stream.SENSOR_NOISE, name, 6 * len(ideal), recording).reshape(-1, 6)
        turn = _matrix(_TURNED * drawn[:3])
        parts = ideal[:, number].reshape(-1, 2, 3)
        exact = (parts[..., :1] * turn[:, 0] + parts[..., 1:2] * turn[:, 1]) + parts[..., 2:] * turn[:, 2]
        value = exact.reshape(-1, 6) + _BIAS * drawn[3:] + _NOISE * noise
        out[:, number] = np.rint(np.clip(value, -_RANGE, _RANGE) / _STEP) * _STEP
    return out


def _normals(seed: int, index: int, stream: Stream, name: str, count: int, substream: int = 0) -> Array:
    """Return about standard normal numbers, at most 3: sums of three draws, whose positions follow from the name."""
    first = (zlib.crc32(name.encode()) % 1024) << 22
    draws = uniform(seed, [index], stream, 3 * count, substream=substream, first=first)[0]
    return np.asarray(2.0 * ((draws[::3] + draws[1::3]) + draws[2::3] - 1.5))


def _matrix(turn: Array) -> Array:
    """Return the matrix of the rotation whose quaternion is (1, turn / 2), normalised; `turn` is small."""
    x, y, z = 0.5 * turn
    square = (x * x + y * y) + z * z
    w = 1.0 - square
    rows = [[w + 2 * x * x, 2 * (x * y - z), 2 * (x * z + y)], [2 * (x * y + z), w + 2 * y * y, 2 * (y * z - x)]]
    return np.asarray(np.array([*rows, [2 * (x * z - y), 2 * (y * z + x), w + 2 * z * z]]) / (1.0 + square))


def clip_readings(
    joints: Array, fps: float, rate: float, offsets: Array, stature: float, smoothing: float | None = None
) -> Array:
    """Return the ideal readings of a recorded clip, of sensors on the bones.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres.
    fps, rate : float
        Frames, and readings, per second.
    offsets : float64 [22, 3]
    stature : float
        Metres.
    smoothing : float, optional
        Seconds; by default a frame, but at least :data:`SMOOTHING`.

    Returns
    -------
    float64 [time, placement, 6]
        As many readings as begin before the end of the last frame.
    """
    at = np.arange(int(len(joints) * rate / fps + 1e-9)) * (fps / rate)
    before = np.minimum(at.astype(np.int64), max(len(joints) - 2, 0))
    share = (at - before)[:, None, None]
    here, there = (np.asarray(joints[index], np.float64) for index in (before, np.minimum(before + 1, len(joints) - 1)))
    smoothing = max(SMOOTHING, 1.0 / fps) if smoothing is None else smoothing
    return ideal_readings(here + share * (there - here), offsets, stature, rate, smoothing, skin=False)


def imu_readings(sequences: Sequences, rate: int) -> Array:
    """Return the readings of all sensors of all actors.

    Parameters
    ----------
    sequences : Sequences
        n samples.
    rate : int
        Readings per second, 25 to 480.

    Returns
    -------
    float32 [n, variant, actor, time, placement, 6]
        NaN where absent. Reading t is at t / rate seconds.

    Raises
    ------
    UsageError
        If the rate is out of range.

    Examples
    --------
    >>> import posegen
    >>> from posegen.library.load import load_library
    >>> config = posegen.load_config("smoke")
    >>> batch = posegen.synthesize(config, [0])
    >>> held = Sequences(config, load_library(), batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
    >>> imu_readings(held, 50).shape
    (1, 5, 1, 200, 17, 6)
    """
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise UsageError(f"the rate of sensors is {rate} Hz; it must lie between {LOWEST_RATE} and {HIGHEST_RATE}")
    fps, planned = sequences.config.fps, have_scenes(sequences)
    joints = scene_joints(sequences, rate) if planned else sequences.joints
    offsets, people = bone_offsets(sequences), actor_identities(sequences)
    stature = people.stature.astype(np.float64) * sequences.parameter("scale")[..., None]
    readings = np.full((*sequences.shape[:3], sequences.shape[3] * rate // fps, len(PLACEMENTS), 6), np.nan, np.float32)
    for where in zip(*np.nonzero(sequences.present[..., 0]), strict=True):
        clip = joints[where][~np.isnan(joints[where][:, 0, 0])]
        if planned:
            ideal = ideal_readings(clip, offsets[where], stature[where], rate)
        else:
            ideal = clip_readings(clip, fps, rate, offsets[where], stature[where])
        sample, variant, actor = where
        own = variant * 8 + actor, int(sequences.samples[sample])
        readings[where][: len(ideal)] = worn_readings(
            ideal, sequences.config.seed, int(people.index[where]), own[1], int(own[0])
        )
    return readings


def _compute(sequences: Sequences) -> dict[str, Array]:
    readings = imu_readings(sequences, READINGS * sequences.config.fps)
    return {"imu": readings.reshape(*sequences.shape, READINGS, *readings.shape[4:])}


_AXES: dict[str, int | tuple[str, ...]] = {"reading": READINGS, "placement": tuple(PLACEMENTS), "inertial": COMPONENTS}
_UNITS = {"units": ["m/s^2"] * 3 + ["rad/s"] * 3, "readings_per_frame": READINGS}
FIELD = DerivedField(
    "imu",
    1,
    "accelerometers and gyroscopes worn at 17 placements",
    (FieldArray("imu", _AXES, attributes=_UNITS),),
    _compute,
    sources=("joints", "rows"),
)

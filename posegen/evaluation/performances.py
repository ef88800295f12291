"""Find performances of actions in recordings, and measure how far those of two people, and of one person, are apart.

Poses are those of a common body: 13 joints on fixed bone lengths, so that distances of two people are those of their movements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.body import point, unit
from posegen.evaluation.plausibility import low_pass
from posegen.evaluation.recording import LEGS, Recording
from posegen.evaluation.spread import evenly
from posegen.foundations.arrays import Array
from posegen.foundations.constants import STANDING
from posegen.foundations.skeleton import PARTS, mirror_order
from posegen.foundations.yaml_files import read_yaml
from posegen.library.load import Library

_FAMILIES = read_yaml(Path(__file__).with_name("families.yaml"))
ACTIONS: Mapping[str, Sequence[str]] = _FAMILIES["actions"]
"""Actions of the library for each class of the reference; some classes have none."""
PERIODIC = frozenset(_FAMILIES["periodic"])
"""Families of repeated movement without start and end: windows of two performances are compared, not whole performances."""
_FAMILY = {action: family for family, actions in ACTIONS.items() for action in actions}


def family_of(name: str) -> str:
    """Return the family of a mocap class or an action; a name without an entry is a family of its own.

    >>> family_of("squat"), family_of("crouch"), family_of("bow")
    ('crouch', 'crouch', 'bow')
    """
    return name if name in ACTIONS else _FAMILY.get(name, name)


def family_of_action(action: str) -> str:
    """Return the family of an action of the library; without an entry it is a family of its own, also if a class has its name.

    >>> family_of_action("squat"), family_of_action("bow"), family_of_action("crouch")
    ('crouch', 'bow', 'action crouch')
    """
    return _FAMILY.get(action, f"action {action}" if action in ACTIONS else action)


_UPRIGHT: Mapping[str, tuple[float, float]] = _FAMILIES["upright"]
_PAIRED = ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
JOINTS = ("head", *(f"{side}_{name}" for name in _PAIRED for side in ("left", "right")))
_POSITIONS = [_UPRIGHT["head"], *((x * _UPRIGHT[name][0], _UPRIGHT[name][1]) for name in _PAIRED for x in (1, -1))]
STANDING_POSE = np.array([(x, y, 0.0) for x, y in _POSITIONS], np.float32)
"""The common body in upright standing with hanging arms: float32 [13, 3]."""
_MIRROR = mirror_order(JOINTS)
_LEGS = [JOINTS.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]

RATE = 10
"""Poses per second that are kept."""
WINDOW, STRIDE = RATE, RATE // 2
"""Poses of a window of 1 s, and poses between the starts of successive windows."""
PROGRESS = np.linspace(0.03, 0.97, 20)
"""Shares of the movement's path at which two performances are compared: rest before and after it does not count."""
MAX_SECONDS = 60
"""Longest part of a mocap clip that is compared."""
MAX_COMPARED = 300
"""Most performances of a family that are compared with each other."""
MAX_SEARCHED = 10
"""Most windows of a performance whose nearest is searched for in each other one."""


def common_body(joints: Array) -> Array:
    """Return poses on the common body, each turned about the vertical axis so that hips and shoulders face +z.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, finite.

    Returns
    -------
    float32 [frame, 13, 3]
        Metres from the middle of the hips; joints as in :data:`JOINTS`.
    """
    sources = {name: np.stack([point(joints, f"{side}_{name}") for side in ("left", "right")], axis=1) for name in _PAIRED}
    sources |= {f"{name}s": sources[name].mean(1, keepdims=True) for name in ("hip", "shoulder")}
    sources["head"] = point(joints, "head")[:, None]
    placed = {"hips": np.zeros_like(sources["hips"])}
    for near, far in _FAMILIES["bones"]:
        length = np.hypot(*np.subtract(_UPRIGHT[far], _UPRIGHT[near]))
        placed[far] = placed[near] + length * np.nan_to_num(unit(sources[far] - sources[near]))
    body = np.concatenate([placed[name] for name in ("head", *_PAIRED)], axis=1)
    across = body[:, 1] - body[:, 2] + body[:, 7] - body[:, 8]
    x, z = np.nan_to_num(unit(across[:, [0, 2]]), nan=np.sqrt(0.5)).T[..., None]
    turned = np.stack([body[..., 0] * x + body[..., 2] * z, body[..., 1], body[..., 2] * x - body[..., 0] * z], axis=-1)
    return turned.astype(np.float32)


def mirrored(poses: Array) -> Array:
    """Return the mirror image of poses [..., 13, 3]."""
    return np.asarray(poses[..., _MIRROR, :] * np.array([-1, 1, 1], poses.dtype))


def distance(poses: Array, others: Array) -> Array:
    """Return the mean distance of the joints of two poses in metres, [...] of [..., 13, 3]."""
    difference = poses - others
    return np.asarray(np.sqrt((difference * difference).sum(-1)).mean(-1))


def asymmetry(poses: Array) -> Array:
    """Return the mean distance of knees and ankles from those of the mirrored pose, metres: [...] of [..., 13, 3]."""
    return distance(poses[..., _LEGS, :], mirrored(poses)[..., _LEGS, :])


@dataclass(frozen=True)
class Performance:
    """One performance of an action.

    Attributes
    ----------
    family, kind : str
        The family, and within it the action or the source's description: only equal kinds are compared by progress.
    person, clip : str
    poses : float32 [pose, 13, 3]
        On the common body, :data:`RATE` per second; performances with the left side are mirrored.
    repetitions : float32 [repetition, progress, 13, 3]
        Poses at :data:`PROGRESS`; none if the end of the clip cuts the performance.
    jerk : float
        Root mean square of the wrists' jerk, m/s^3; NaN if it is too short.
    """

    family: str
    kind: str
    person: str
    clip: str
    poses: Array
    repetitions: Array
    jerk: float

    def windows(self) -> Array:
        """Return the windows of 1 s: float32 [window, pose, 13, 3]."""
        starts = range(0, len(self.poses) - WINDOW + 1, STRIDE)
        return np.array([self.poses[start : start + WINDOW] for start in starts]).reshape(-1, WINDOW, len(JOINTS), 3)


def performances(recording: Recording, body: Array) -> Iterator[Performance]:
    """Yield the performances of a recording: a mocap clip of a known family, or the segments of a person of neutral style.

    A segment counts if all its frames carry its label on all its body parts, and if the legs stand below an action of the
    arms. A segment of n repetitions is cut into n, at equal times between the `enter` and `exit` stages of the action.

    Parameters
    ----------
    recording : Recording
    body : float32 [frame, 13, 3]
        Its poses on the common body.
    """
    if recording.family:
        clip = slice(0, round(MAX_SECONDS * recording.fps))
        yield _performance(recording, body[clip], clip, family_of(recording.family), recording.description or recording.family)
    if recording.labels is None or recording.style not in ("", "neutral"):
        return
    for segment in recording.segments:
        shown = slice(int(segment["start"]), int(segment["end"]))
        parts = [PARTS.index(part) for part in segment["parts"]]
        alone = LEGS in parts or (recording.labels[shown, LEGS] == recording.number(STANDING)).all()
        is_shown = (recording.labels[shown, parts] == recording.number(segment["action"])).all()
        if alone and shown.stop - shown.start > 1 and is_shown:
            poses = mirrored(body[shown]) if segment["side"] == "left" else body[shown]
            yield _performance(recording, poses, shown, family_of_action(segment["action"]), segment["action"], segment)


def _performance(
    recording: Recording, body: Array, shown: slice, family: str, kind: str, segment: Mapping[str, Any] | None = None
) -> Performance:
    wrists = np.stack([point(recording.joints[shown], f"{side}_wrist") for side in ("left", "right")], axis=1)
    jerk = np.diff(low_pass(wrists, recording.fps), 3, axis=0) * recording.fps**3
    parts, cut = _repetitions(body, recording.library, segment), segment is not None and shown.stop == len(recording.joints)
    repetitions = np.array([] if cut else [_by_progress(part) for part in parts], np.float32)
    return Performance(
        family=family,
        kind=kind,
        person=recording.person,
        clip=recording.name,
        poses=resample(body, recording.fps, RATE).astype(np.float32),
        repetitions=repetitions.reshape(-1, len(PROGRESS), len(JOINTS), 3),
        jerk=float(np.sqrt((jerk * jerk).sum(-1).mean())) if len(jerk) else float("nan"),
    )


def _repetitions(body: Array, library: Library | None, segment: Mapping[str, Any] | None) -> list[Array]:
    if segment is None or library is None or not segment["repetitions"] or segment["action"] not in library.entries:
        return [body]
    action, count = library.action(segment["action"]), int(segment["repetitions"])
    edges = action.enter + action.cycle * np.arange(count + 1)
    frames = np.rint(edges / (edges[-1] + action.exit) * (len(body) - 1)).astype(np.int64)
    return [body[start : stop + 1] for start, stop in pairwise(frames.tolist())]


def _by_progress(body: Array) -> Array:
    """Return the poses at :data:`PROGRESS` of the path of all joints: float32 [progress, 13, 3]."""
    path = np.concatenate([[0.0], np.cumsum(distance(body[1:], body[:-1]), dtype=np.float64)])
    columns = [np.interp(PROGRESS * path[-1], path, column) for column in body.reshape(len(body), -1).T]
    return np.stack(columns, axis=-1).reshape(-1, *body.shape[1:]).astype(np.float32)


@dataclass(frozen=True)
class PersonDistances:
    """Distances between performances of one family.

    Attributes
    ----------
    people, pairs : int
        People with a comparable performance, and pairs of them.
    between : float
        Mean joint distance of the performances of two people in cm, averaged over pairs of people; NaN without one.
    within : float
        The same of two performances by one person, averaged over people.
    """

    people: int
    pairs: int
    between: float
    within: float


def person_distances(found: Sequence[Performance], *, periodic: bool) -> PersonDistances:
    """Return the distances between performances of a family, at most :data:`MAX_COMPARED` of them.

    Parameters
    ----------
    found : sequence of Performance
    periodic : bool
        Whether to compare each window of 1 s with the nearest one of the other performance, instead of repetitions by progress.
    """
    if periodic:
        items = [(each.person, "", each.windows()) for each in found if len(each.poses) >= WINDOW]
    else:
        items = [(each.person, each.kind, repetition) for each in found for repetition in each.repetitions]
    items = [items[i] for i in evenly(np.arange(len(items)), MAX_COMPARED)]
    apart = (_window_distances if periodic else _repetition_distances)([poses for _, _, poses in items])
    kinds = np.array([kind for _, kind, _ in items])
    comparable = (kinds[:, None] == kinds) & ~np.eye(len(items), dtype=bool)
    names, person = np.unique([name for name, _, _ in items], return_inverse=True)
    of_person = np.eye(len(names))[person]
    total, count = (of_person.T @ values @ of_person for values in (np.where(comparable, apart, 0.0), comparable.astype(float)))
    means = 100 * total / np.where(count > 0, count, np.nan)
    pairs = means[np.triu_indices(len(names), 1)]
    paired = int(((count > 0) & ~np.eye(len(names), dtype=bool)).any(0).sum())
    return PersonDistances(paired, int(np.isfinite(pairs).sum()), mean(pairs), mean(np.diag(means)))


def mean(values: Array) -> float:
    """Return the mean of the finite values; NaN without one."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _repetition_distances(poses: Sequence[Array]) -> Array:
    stacked = np.array(poses, np.float32).reshape(len(poses), len(PROGRESS), len(JOINTS), 3)
    return np.array([distance(stacked, one).mean(-1) for one in stacked]).reshape(len(poses), len(poses))


def _window_distances(windows: Sequence[Array]) -> Array:
    """Return for two performances the mean distance of each window from the nearest window of the other, both ways."""
    nearest = np.zeros((len(windows), len(windows)))
    whole = np.concatenate([*windows, np.zeros((0, WINDOW, len(JOINTS), 3), np.float32)])
    starts = np.cumsum([0, *map(len, windows)])[:-1]
    for i, own in enumerate(windows):
        searched = own[:: -(-len(own) // MAX_SEARCHED)]
        nearest[i] = np.mean([np.minimum.reduceat(distance(whole, one).mean(-1), starts) for one in searched], axis=0)
    return (nearest + nearest.T) / 2

"""Find performances of actions in recordings, and measure how far those of two people, and of one person, are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.body import point
from posegen.evaluation.common_body import JOINTS, distance, mirrored
from posegen.evaluation.families import family_of, family_of_action
from posegen.evaluation.plausibility import low_pass
from posegen.evaluation.recording import LEGS, Recording
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import PARTS
from posegen.library.load import Library

RATE = 10
"""Poses per second that are kept."""
WINDOW, STRIDE = RATE, RATE // 2
"""Poses of a window of 1 s, and from the begin of one window to that of the next."""
PROGRESS = np.linspace(0.03, 0.97, 20)
"""Shares of the movement's path at which two performances are compared: rest before and after it does not count."""
MAX_SECONDS = 60
"""Longest part of a mocap clip that is compared."""
MAX_COMPARED = 300
"""Most performances of a family that are compared with each other."""
MAX_SEARCHED = 10
"""Most windows of a performance whose nearest is searched for in each other one."""
STANDING = "stand"


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
        Poses at :data:`PROGRESS`; none of a performance that the end of its clip cuts, which shows another part of the action.
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
    return Performance(
        family=family,
        kind=kind,
        person=recording.person,
        clip=recording.name,
        poses=resample(body, recording.fps, RATE).astype(np.float32),
        repetitions=np.array([] if cut else [_by_progress(part) for part in parts], np.float32).reshape(
            -1, len(PROGRESS), len(JOINTS), 3
        ),
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
    items = [items[i] for i in np.linspace(0, len(items) - 1, min(len(items), MAX_COMPARED)).astype(np.int64)]
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

"""Pieces of a clip that is too long for one action: cut where the body is slowest between two movements with both feet in
contact. Pieces that move about as much as the most active one are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.body import point
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.mocap.actions import LONGEST, SeveralActionsError, clip_action
from posegen.mocap.clip_entry import FPS, ClipAction
from posegen.mocap.steps import contacts

SHORTEST = 1.0
"""Minimum seconds of a piece: a shorter one shows little more than a step."""
SLOWEST_WITHIN = 0.25
"""Seconds before and after a cut; the body is nowhere slower within them."""
AS_ACTIVE = 0.5
"""Movement in a second of a piece, relative to that of the most active one, below which it is left out."""


def clip_actions(
    joints: Array, fps: float, name: str, standing: Mapping[str, float] | None = None, *, offset: float = 0.0
) -> tuple[list[tuple[str, ClipAction]], list[str]]:
    """Return the action that a clip shows, or those of its pieces, with names, and messages for pieces that are refused.

    Parameters
    ----------
    joints, fps, name, standing
        See :func:`posegen.mocap.actions.clip_action`.
    offset : float
        Seconds in the file before the first frame, for the names of pieces.

    Raises
    ------
    UsageError
        If neither the clip nor a piece of it can be an action.
    """
    try:
        return [(name, clip_action(joints, fps, name, standing))], []
    except SeveralActionsError as error:
        several = error
    actions, refused = list[tuple[str, ClipAction]](), list[str]()
    body = resample(joints, fps, FPS)
    contact = contacts(body, FPS)
    activity = _activity(body)
    spans = list(_spans(cut_frames(body, contact, activity)))
    rates = np.array([activity[span].mean() for span in spans])
    kept = rates >= AS_ACTIVE * rates.max(initial=0.0)
    for span in (span for span, keep in zip(spans, kept, strict=True) if keep):
        begin, end = span.start / FPS, span.stop / FPS
        piece = f"{name}, {offset + begin:.1f} to {offset + end:.1f} s"
        try:
            actions.append((piece, clip_action(joints[round(begin * fps) : round(end * fps)], fps, piece, standing)))
        except UsageError as error:
            refused.append(str(error))
    if not actions:
        raise UsageError(refused[0]) if refused else several
    return actions, refused


def cut_frames(joints: Array, contact: Array, activity: Array) -> Array:
    """Return the frames at which a clip may be cut, with its first and last one.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
    contact : bool [2, frame]
        Of the feet.
    activity : float64 [frame]
        Speed of the body.

    Returns
    -------
    int64 [cut]
    """
    reach = round(SLOWEST_WITHIN * FPS)
    padded = np.pad(activity, reach, mode="edge")
    slowest = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(axis=1)
    inner = np.flatnonzero((activity <= slowest) & contact.all(axis=0))
    return np.unique(np.concatenate([[0], inner, [len(joints) - 1]]))


def _activity(joints: Array) -> Array:
    """Return the mean speed of the joints around the pelvis, smoothed over a fifth of a second: float64 [frame]."""
    around = joints - point(joints, "pelvis")[:, None]
    speed = np.sqrt((np.gradient(around, axis=0) ** 2).sum(-1)).mean(axis=1) * FPS
    width = round(0.2 * FPS)
    return np.asarray(np.convolve(np.pad(speed, width // 2, mode="edge"), np.full(width, 1 / width), "valid")[: len(joints)])


def _spans(cuts: Array) -> Iterator[slice]:
    """Yield the frames of pieces that do not overlap, each as long as possible."""
    first = 0
    while first < len(cuts) - 1:
        for last in range(len(cuts) - 1, first, -1):
            span = slice(int(cuts[first]), int(cuts[last]) + 1)
            if SHORTEST * FPS <= span.stop - span.start <= LONGEST * FPS:
                yield span
                first = last
                break
        else:
            first += 1

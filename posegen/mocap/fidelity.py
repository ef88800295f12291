"""How far an imported action is from its clip: angles between bones of the clip and of a neutral body that performs the action.

Not responsible for other bodies, see :mod:`posegen.mocap.trial`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from posegen.evaluation.body import point, unit
from posegen.foundations.arrays import Array
from posegen.foundations.scene import LEFT, RIGHT
from posegen.library.load import Library
from posegen.mocap.body_angles import LEG
from posegen.mocap.clip_entry import FPS, ClipAction
from posegen.mocap.pose_channels import leg_length
from posegen.mocap.trial import BEFORE, scenes_of
from posegen.motion.engine import animate

_LIMBS = {
    "upper arm": ("shoulder", "elbow"), "forearm": ("elbow", "wrist"), "thigh": ("hip", "knee"), "shank": ("knee", "ankle"),
}  # fmt: skip
BONES: Mapping[str, tuple[str, str]] = {"trunk": ("pelvis", "neck"), "head": ("neck", "head")} | {
    f"{side} {name}": (f"{side}_{near}", f"{side}_{far}") for name, (near, far) in _LIMBS.items() for side in ("left", "right")
}
"""The bones that are compared, with the joints at their ends."""
MOST_APART = 8.0
"""Degrees between clip and action, the mean of all bones, up to which an action shows its clip."""


class Played(NamedTuple):
    """One repetition of a clip, and of the action that a neutral body performs.

    Attributes
    ----------
    source, played : float64 [frame, 22, 3]
        Metres, at :data:`posegen.mocap.clip_entry.FPS`; both face the same way.
    """

    source: Array
    played: Array

    def angles(self) -> dict[str, float]:
        """Return the mean angle between each bone of the clip and of the action, degrees."""
        found = {}
        for name, ends in BONES.items():
            one, other = (unit(point(joints, ends[1]) - point(joints, ends[0])) for joints in (self.source, self.played))
            found[name] = float(np.degrees(np.arccos(np.clip((one * other).sum(-1), -1, 1))).mean())
        return found


def bone_table(clips: Iterable[Played]) -> dict[str, tuple[float, float]]:
    """Return the median and the 90th percentile over clips of the angle of each bone, and of their mean, degrees."""
    found = [clip.angles() for clip in clips]
    angles = np.array([[*each.values(), np.mean([*each.values()])] for each in found])
    middle, high = np.percentile(angles, [50, 90], axis=0)
    names = (*BONES, "all bones")
    return {name: (round(float(m), 1), round(float(h), 1)) for name, m, h in zip(names, middle, high, strict=True)}


def play(library: Library, name: str, clip: ClipAction, rest: Array) -> Played:
    """Return a clip and the motion of a neutral body of its proportions.

    Parameters
    ----------
    library : Library
    name : str
        Of an action that the clip alone became.
    clip : ClipAction
    rest : float64 [22, 3]
        Offsets of joints in the rest pose of the clip, fractions of stature.
    """
    action, frames = library.action(name), len(clip.joints)
    first = int(np.ceil((BEFORE + action.enter) * FPS))
    scenes = scenes_of(library, name, [leg_length(clip.joints) / LEG], first / FPS - action.enter)
    scenes.persons.rest[:] = rest
    # The near side of an action without a side is the right one of its clip.
    scenes.side[:, 0, 1] = LEFT if clip.side == "left" else RIGHT
    scenes.length[:] = first + frames
    played = animate(scenes, library, first + frames, int(FPS)).joints[0, 0, first:].astype(np.float64)
    return Played(clip.joints, _facing_alike(played, clip.joints))


def _facing_alike(joints: Array, other: Array) -> Array:
    """Return joints turned about the vertical axis, and moved, so that they are nearest to others; [frame, 22, 3] both."""
    own, goal = ((one - one.mean(axis=(0, 1)))[..., 2] + 1j * (one - one.mean(axis=(0, 1)))[..., 0] for one in (joints, other))
    across = (goal * own.conj()).sum()
    turned = own * across / max(abs(across), 1e-9)
    middle = other.mean(axis=(0, 1))
    return np.stack([turned.imag + middle[0], joints[..., 1], turned.real + middle[2]], axis=-1)

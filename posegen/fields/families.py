"""All families of fields by name, and which of them a request means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.fields.camera import CAMERA
from posegen.fields.face import FACE
from posegen.fields.family import Family, Sequences
from posegen.fields.keypoints import KEYPOINTS
from posegen.fields.momentum import MOMENTUM
from posegen.fields.objects import OBJECT
from posegen.fields.quality import QUALITY
from posegen.fields.rotation import ROTATION
from posegen.fields.stick import STICK
from posegen.fields.velocity import VELOCITY
from posegen.wording import did_you_mean

__all__ = ["FAMILIES", "compute", "families_asked_for"]

FAMILIES: dict[str, Family] = {
    family.name: family for family in (ROTATION, VELOCITY, MOMENTUM, STICK, CAMERA, KEYPOINTS, FACE, OBJECT, QUALITY)
}
"""In the order in which they are listed."""

BLOCK_BYTES = 4 << 20
"""How much motion is worked on at once."""


def families_asked_for(names: Iterable[str]) -> tuple[Family, ...]:
    """Look families up, each behind those that it needs.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    tuple of Family
        Each once.

    Raises
    ------
    UsageError
        If there is no such family.

    Examples
    --------
    >>> [family.name for family in families_asked_for(["velocity", "velocity"])]
    ['velocity']
    """
    found: dict[str, Family] = {}
    for name in names:
        if name not in FAMILIES:
            msg = f"there is no field {name!r} to derive{did_you_mean(name, FAMILIES)}. There are: {', '.join(FAMILIES)}"
            raise UsageError(msg)
        for needed in families_asked_for(FAMILIES[name].needs):
            found[needed.name] = needed
        found[name] = FAMILIES[name]
    return tuple(found.values())


def compute(sequences: Sequences, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Compute families of fields.

    Parameters
    ----------
    sequences : Sequences
    names : iterable of str
        Of families.

    Returns
    -------
    dict of str to ndarray [n, variant, ...]
        Every array of every family by its own name.
    """
    families = families_asked_for(names)
    # Some samples at a time: what is worked with on the way takes twenty times the room, and is quicker where it is small.
    step = max(1, BLOCK_BYTES // max(sequences.joints[:1].nbytes, 1))
    parts = [sequences.part(start, start + step) for start in range(0, len(sequences.samples), step)]
    made = [{name: values for family in families for name, values in family.compute(part).items()} for part in parts]
    return {name: np.concatenate([part[name] for part in made]) for name in made[0]}

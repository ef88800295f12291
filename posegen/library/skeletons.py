"""Skeletons of a library: where joints of the persons of its clips lie, in the file ``skeletons.yaml``.

Not responsible for measuring them, see :mod:`posegen.mocap.pose_channels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS, rest_offsets
from posegen.foundations.validation import StrictModel
from posegen.foundations.wording import shown

MEASURED = tuple(name for name in JOINTS[1:] if not name.startswith("right_"))
"""Joints of a skeleton file: those in the middle and on the left side."""
MOST_SKELETONS = 64
SHORTEST, LONGEST, FARTHEST = 0.05, 0.4, 0.5
"""Lengths of the bones of limbs, and the largest offset, as fractions of stature."""
LIMBS = ("left_knee", "left_ankle", "left_elbow", "left_wrist")
_STEP, _RING = 2_654_435_769, 2**32
"""Multiples of 2^32 over the golden ratio are spread evenly, whatever the number of persons."""
_Offset = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]


class SkeletonEntry(StrictModel):
    """A skeleton.

    Attributes
    ----------
    weight : how often persons have it, relative to the others
    offsets : offset x, y, z of each joint in the middle and on the left side from its parent in the rest pose, fractions of
        stature
    """

    weight: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    offsets: dict[str, tuple[_Offset, _Offset, _Offset]]

    @model_validator(mode="after")
    def _of_a_body(self) -> Self:
        if sorted(self.offsets) != sorted(MEASURED):
            wrong = sorted(set(self.offsets) ^ set(MEASURED))
            raise ValueError(f"offsets must name each of {', '.join(MEASURED)} once (wrong or missing: {shown(wrong[0])})")
        for name in LIMBS:
            x, y, z = self.offsets[name]
            if x or z or not -LONGEST <= y <= -SHORTEST:
                msg = f"offsets.{name} must hang straight down, [0, y, 0] with y from -{LONGEST} to -{SHORTEST}"
                raise ValueError(f"{msg} (got {shown([x, y, z])})")
        return self


class SkeletonFile(StrictModel):
    """The file of skeletons."""

    skeletons: Annotated[dict[str, SkeletonEntry], Field(min_length=1, max_length=MOST_SKELETONS)]


@dataclass(frozen=True, eq=False)
class Skeletons:
    """The skeletons of a library and who has which.

    Attributes
    ----------
    entries : mapping of str to SkeletonEntry
        By name, in the order of names; empty if the library has none.
    """

    entries: Mapping[str, SkeletonEntry]

    def __len__(self) -> int:
        return len(self.entries)

    def as_data(self) -> dict[str, Any]:
        """Return plain data, for the identity of a dataset."""
        return {name: entry.model_dump(mode="json") for name, entry in self.entries.items()}

    def offsets(self) -> Array:
        """Return the rest offsets of all skeletons as fractions of stature: float64 [skeleton, 22, 3]."""
        if not self.entries:
            raise UsageError("skeleton: library needs skeletons.yaml in story.library: import the clips again, or choose smpl")
        return np.stack([rest_offsets(entry.offsets) for entry in self.entries.values()])

    def of_persons(self, number: ArrayLike) -> Array:
        """Return the index of the skeleton of each person: int64 [...] for numbers of persons, int64 [...].

        It depends on the number of the person alone, so that a dataset shows who has which skeleton. A skeleton of weight 3
        occurs three times as often as one of weight 1.
        """
        ends = np.cumsum([entry.weight for entry in self.entries.values()])
        turned = np.asarray(number, np.int64) * _STEP % _RING
        return np.searchsorted(ends[:-1] / ends[-1], turned / _RING, side="right")

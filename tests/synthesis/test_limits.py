"""Samples in which joints leave their ranges, or limbs cross, are resampled; rows report what remains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posegen
from posegen.checks.capsules import DEEPEST
from posegen.checks.ranges import TOLERANCE
from posegen.config.schema import Config
from posegen.evaluation.body import frame_ranges, joint_angles, range_excess
from posegen.evaluation.plausibility import body_overlap
from posegen.library.load import load_library
from posegen.synthesis.synthesize import MAX_RESAMPLES, Batch
from tests.synthesis.own_library import library_folder

FOLDED, SOMETIMES = 1.0, 0.5
"""Leg lengths to the side at which nobody holds a leg within the range of the hips, and at which some do."""


def greeted(folder: Path, aside: float, samples: int) -> tuple[Config, Batch]:
    """People who greet with a leg held up to the side: joints that follow a foot are not kept within their range."""
    balance = load_library().action("balance").model_dump(exclude_defaults=True, mode="json")
    balance["pose"] |= {"far_foot_aside": aside, "far_foot_up": 0.6}
    own = library_folder(folder, {}, balance)
    config = posegen.load_config("smoke", [f"story.library={own}", "story.themes={yard: 1}", "frames=150"])
    return config, posegen.synthesize(config, range(samples))


def hip_excess(config: Config, batch: Batch) -> NDArray[Any]:
    """Largest excess of the hips' range in each sequence, degrees: [sample, variant]."""
    library, joints = load_library(config.story.library), batch.joints[:, :, 0].astype(np.float64)
    excess = np.zeros(joints.shape[:2])
    for clip in np.ndindex(excess.shape):
        ranges = frame_ranges(library, library.actions, batch.action[clip][0], config.fps)
        beyond = range_excess(joint_angles(joints[clip]), ranges)
        excess[clip] = max(np.nan_to_num(values).max() for name, values in beyond.items() if name.endswith("hip_abduction"))
        others = [values for name, values in beyond.items() if not name.endswith("hip_abduction")]
        assert np.nan_to_num(np.stack(others)).max() <= TOLERANCE
        assert excess[clip] > TOLERANCE or body_overlap(joints[clip]).max() <= DEEPEST
    return excess


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Batch]:
    return greeted(tmp_path_factory.mktemp("own") / "folded", FOLDED, 6)


def test_rows_report_violated_limits(folded: tuple[Config, Batch]) -> None:
    config, batch = folded
    excess = hip_excess(config, batch).ravel()
    assert (excess > TOLERANCE).sum() > len(batch.variants)
    for row, beyond in zip(batch.rows, excess, strict=True):
        greets = any(segment["action"] == "greet" for segment in row["actors"][0]["segments"])
        dropped = [one for one in row["dropped"] if one["kind"] == "range"]
        assert dropped == (
            [{"actor": 0, "kind": "range", "segment": -1, "action": "", "value": ""}] if beyond > TOLERANCE else []
        )
        assert greets or not dropped
        assert not dropped or row["attempt"] == MAX_RESAMPLES


def test_attempts_within_limits_are_kept(tmp_path: Path) -> None:
    config, batch = greeted(tmp_path / "sometimes", SOMETIMES, 16)
    attempts = np.array([row["attempt"] for row in batch.rows]).reshape(hip_excess(config, batch).shape)
    assert (attempts == attempts[:, :1]).all()
    left = hip_excess(config, batch).max(axis=1) > TOLERANCE
    assert (attempts[left, 0] == MAX_RESAMPLES).all()
    # Some were within limits in the first attempt, some later.
    assert (attempts[:, 0] == 0).any()
    assert ((attempts[:, 0] > 0) & ~left).any()

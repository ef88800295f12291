"""Motions on the average body: equal bone lengths, unchanged rotations, no trace of the original size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from posegen import load_config, synthesize
from posegen.foundations.skeleton import PARENTS
from posegen.training.data.features import features_of
from posegen.training.data.poses import (
    AVERAGE_BODY,
    joints_of,
    leg_length,
    local_rotations,
    offsets_of,
    poses_of,
    retarget_to_average_body,
    root_of,
)

Array = NDArray[Any]
FPS = 25.0
OTHER = np.array([1.52, 1.06, 1.04, 0.97, 0.93, 0.95, 1.1, 0.9])


@pytest.fixture(scope="module")
def joints() -> Array:
    """Joints of the first variants of three samples: [clip, frame, 22, 3]."""
    return synthesize(load_config("smoke"), [0, 1, 2]).joints[:, 0, 0]


def performed(joints: Array, body: Array) -> Array:
    """Transfer motions to a body by way of poses."""
    poses = torch.from_numpy(poses_of(joints, np.zeros((*joints.shape[:2], 4)), FPS)).double()
    root, heading = root_of(poses, torch.full((len(joints),), float(leg_length(body))).double(), FPS)
    return np.asarray(joints_of(local_rotations(poses, heading), root, torch.from_numpy(offsets_of(body)).double()).numpy())


def bones(joints: Array) -> Array:
    return np.stack([np.linalg.norm(joints[..., i, :] - joints[..., p, :], axis=-1) for i, p in enumerate(PARENTS) if p >= 0])


def test_bones_are_those_of_the_average_body(joints: Array) -> None:
    found = bones(retarget_to_average_body(joints, FPS))
    assert np.abs(found - bones(offsets_at_rest())[:, None, None]).max() < 1e-5
    assert np.ptp(bones(joints)[:, :, 0], axis=1).max() > 0.02


def offsets_at_rest() -> Array:
    offsets = offsets_of(np.array(AVERAGE_BODY)).astype(np.float64)
    places = np.zeros_like(offsets)
    for joint, parent in enumerate(PARENTS):
        places[joint] = offsets[joint] + (places[parent] if parent >= 0 else 0)
    return places


def test_the_length_of_the_limbs_has_no_effect(joints: Array) -> None:
    average, other = (performed(joints, body) for body in (np.array(AVERAGE_BODY), OTHER))
    expected = features_of(average.astype(np.float32), FPS)
    for clips in (average, other):
        assert np.abs(features_of(retarget_to_average_body(clips, FPS), FPS) - expected).max() < 5e-3
    assert np.abs(features_of(other.astype(np.float32), FPS) - expected).max() > 0.1

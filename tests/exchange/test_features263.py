"""HumanML3D's 263 features: they equal their definition, and joints come back from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.config.load import load_config
from posegen.exchange.features263 import bone_lengths, features_of, joints_of, standard_lengths
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import PARENTS
from posegen.synthesis.synthesize import synthesize
from tests.exchange.checkouts import checkout
from tests.exchange.features263_oracle import features


@pytest.fixture(scope="module")
def joints() -> NDArray[np.float32]:
    """Clips [n, frame, 22, 3] of 4 s at 20 frames per second, one of which turns around."""
    config = load_config("smoke", ["fps=20", "frames=80", "story.actions={turn: 40, walk: 10}"])
    return synthesize(config, range(6)).joints[:, 0, 0]


def test_they_equal_their_definition(joints: NDArray[np.float32]) -> None:
    for clip in joints:
        one, own = features_of(clip, bone_lengths(joints[0, 0]))
        np.testing.assert_allclose(one, features(own.astype(np.float64)), atol=5e-6)


def test_joints_come_back(joints: NDArray[np.float32]) -> None:
    turned = []
    for clip in joints:
        found, places = features_of(clip, standard_lengths())
        np.testing.assert_allclose(joints_of(found), places[:-1], atol=1e-3)
        turned.append(np.abs(np.cumsum(found[:, 0])).max())
    assert max(turned) > np.pi / 4  # half of more than a quarter turn


def test_headings_across_half_a_turn_are_continued() -> None:
    pose = synthesize(load_config("smoke", ["fps=20"]), [0]).joints[0, 0, 0, :1].astype(np.float64)
    angles = np.linspace(0, 3 * np.pi, 120)
    turns = np.stack([[[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]] for a in angles])
    spun = (pose - pose[:, :1]) @ turns + pose[:, :1]
    found, places = features_of(spun, standard_lengths())
    np.testing.assert_allclose(joints_of(found), places[:-1], atol=1e-3)


def test_all_clips_get_the_same_bones(joints: NDArray[np.float32]) -> None:
    lengths = standard_lengths()
    places = np.stack([features_of(clip, lengths)[1] for clip in joints])
    bones = np.linalg.norm(places[:, :, 1:] - places[:, :, list(PARENTS[1:])], axis=-1)
    np.testing.assert_allclose(bones, np.broadcast_to(lengths[1:], bones.shape), atol=1e-5)
    assert lengths[5] + lengths[8] == pytest.approx(1.7 * 0.48, abs=0.06)
    np.testing.assert_allclose(places[:, 0, 0, [0, 2]], 0, atol=1e-6)
    np.testing.assert_allclose(places[..., 1].min(axis=(1, 2)), 0, atol=1e-6)


def test_one_frame_is_refused(joints: NDArray[np.float32]) -> None:
    with pytest.raises(UsageError, match=r"at least two frames \(got 1\)"):
        features_of(joints[0, :1], standard_lengths())


def test_they_equal_those_of_humanml3d() -> None:
    """The dataset's repository has one clip."""
    folder = checkout("HumanML3D") / "HumanML3D"
    vectors, joints = (np.load(folder / name / "012314.npy") for name in ("new_joint_vecs", "new_joints"))
    np.testing.assert_allclose(joints_of(vectors), joints, atol=1e-5)
    found, _ = features_of(joints, bone_lengths(joints[0]))
    # The last 80 frames depend on one more frame, which the clip does not have.
    np.testing.assert_allclose(found[:-80], vectors[:-81], atol=1e-5)

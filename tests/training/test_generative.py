"""Bodies, kinematics, poses, the average body, flow matching and foot locking, against naive implementations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from posegen import load_config, synthesize
from posegen.evaluation.body import frames_last, true_intervals
from posegen.evaluation.plausibility import depth_of, foot_skate
from posegen.foundations.bodies import body_offsets
from posegen.foundations.skeleton import BALL_JOINT_HEIGHT, JOINTS, PARENTS, sole_points
from posegen.planning.population import persons
from posegen.synthesis.synthesize import Batch
from posegen.training.animate import generate_sequence, interpolate
from posegen.training.data.features import features_of
from posegen.training.data.poses import (
    AVERAGE_BODY,
    CONTACTS,
    HEIGHT,
    POSE_NUMBERS,
    ROTATED,
    body_of,
    joints_of,
    leg_length,
    local_rotations,
    offsets_of,
    poses_of,
    retarget_to_average_body,
    root_of,
)
from posegen.training.feet import lock_feet
from posegen.training.settings import load_settings
from posegen.training.tasks import motion as motion_task
from tests.fields.naive_rotations import joint_rotations

Array = NDArray[Any]
FPS = 25.0
OTHER = np.array([1.52, 1.06, 1.04, 0.97, 0.93, 0.95, 1.1, 0.9])


@pytest.fixture(scope="module")
def batch() -> Batch:
    return synthesize(load_config("smoke"), [0, 1, 2])


@pytest.fixture(scope="module")
def joints(batch: Batch) -> Array:
    """Joints of the variant scale, whose bodies do not occur in the population."""
    return batch.joints[:, 3, 0]


@pytest.fixture(scope="module")
def poses(batch: Batch, joints: Array) -> Array:
    return poses_of(joints, batch.contact[:, 3, 0], FPS)


def drawn_noise(number: int, frames: int) -> torch.Tensor:
    return motion_task.noise_from(np.array([number / 8, 0.5]), frames)


def bones(joints: Array) -> Array:
    """Return the lengths [frame, bone]."""
    pairs = [(joint, parent) for joint, parent in enumerate(PARENTS) if parent >= 0]
    return np.stack([np.linalg.norm(joints[..., a, :] - joints[..., b, :], axis=-1) for a, b in pairs], axis=-1)


def test_a_body_is_estimated_from_its_motion(batch: Batch) -> None:
    config = load_config("smoke")
    from posegen.library.load import load_library

    number = np.array([[row["actors"][0]["person"]] for row in batch.rows[::5]], np.int64)
    people = persons(config, load_library(config.story.library), number)
    found = body_of(batch.joints[:, 0, 0])
    # Positions are rounded to .12 mm, .001 of a foot.
    np.testing.assert_allclose(found, np.concatenate([people.stature, people.shape[:, 0]], axis=1), rtol=3e-3)
    np.testing.assert_allclose(offsets_of(found), body_offsets(people)[:, 0], atol=1e-3)


def test_forward_kinematics_equals_the_naive_implementation(joints: Array) -> None:
    """The naive implementation goes joint by joint, with the rotations that posegen derives."""
    clip = joints[0, ::50].astype(np.float64)
    offsets = offsets_of(body_of(clip)).astype(np.float64)
    for frame, turned in enumerate(joint_rotations(clip, offsets)):
        place = {0: clip[frame, 0]}
        for joint in range(1, len(JOINTS)):
            place[joint] = place[PARENTS[joint]] + turned[PARENTS[joint]] @ offsets[joint]
        local = [turned[j] if j == 0 else turned[PARENTS[j]].T @ turned[j] for j in ROTATED]
        found = joints_of(torch.from_numpy(np.stack(local)), torch.from_numpy(clip[frame, 0]), torch.from_numpy(offsets))
        np.testing.assert_allclose(found.numpy(), np.stack([place[j] for j in range(len(JOINTS))]), atol=1e-9)


def test_poses_reproduce_the_motion(joints: Array, poses: Array) -> None:
    """Except for its initial position and heading."""
    for clip, numbers in zip(joints.astype(np.float64), poses, strict=True):
        body = body_of(clip)
        pose, leg = torch.from_numpy(numbers).double(), torch.tensor(float(leg_length(body)))
        root, heading = root_of(pose, leg, FPS)
        found = joints_of(local_rotations(pose, heading), root, torch.from_numpy(offsets_of(body)).double()).numpy()
        across = joint_rotations(clip[:1], offsets_of(body))[0, 0, :, 0]
        turn = np.arctan2(-across[2], across[0])
        cos, sin = np.cos(turn), np.sin(turn)
        from_start = clip - clip[0, 0] * [1, 0, 1]
        x, y, z = from_start[..., 0], from_start[..., 1], from_start[..., 2]
        np.testing.assert_allclose(found, np.stack([cos * x - sin * z, y, sin * x + cos * z], -1), atol=2e-3)


def test_poses_do_not_depend_on_position_heading_and_size(batch: Batch, joints: Array, poses: Array) -> None:
    cos, sin = np.cos(2.1), np.sin(2.1)
    turned = joints.astype(np.float64) @ np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]]) * 1.2 + [3.0, 0, -2.0]
    np.testing.assert_allclose(poses_of(turned, batch.contact[:, 3, 0], FPS), poses, atol=2e-3)


def test_absent_frames_are_zero(batch: Batch, joints: Array, poses: Array) -> None:
    cut = joints.copy()
    cut[:, 100:] = np.nan
    found = poses_of(cut, batch.contact[:, 3, 0], FPS)
    assert not found[:, 100:, : CONTACTS.start].any()
    np.testing.assert_allclose(found[:, :100], poses[:, :100], atol=1e-3)


def performed(joints: Array, body: Array) -> Array:
    """Transfer motions to a body by way of poses."""
    poses = torch.from_numpy(poses_of(joints, np.zeros((*joints.shape[:2], 4)), FPS)).double()
    root, heading = root_of(poses, torch.full((len(joints),), float(leg_length(body))).double(), FPS)
    return np.asarray(joints_of(local_rotations(poses, heading), root, torch.from_numpy(offsets_of(body)).double()).numpy())


def test_bones_are_those_of_the_average_body(batch: Batch) -> None:
    joints = batch.joints[:, 0, 0]
    found = bones(retarget_to_average_body(joints, FPS))
    assert np.abs(found - bones(offsets_at_rest())).max() < 1e-5
    assert np.ptp(bones(joints)[:, 0], axis=0).max() > 0.02


def offsets_at_rest() -> Array:
    offsets = offsets_of(np.array(AVERAGE_BODY)).astype(np.float64)
    places = np.zeros_like(offsets)
    for joint, parent in enumerate(PARENTS):
        places[joint] = offsets[joint] + (places[parent] if parent >= 0 else 0)
    return places


def test_the_length_of_the_limbs_has_no_effect(batch: Batch) -> None:
    joints = batch.joints[:, 0, 0]
    average, other = (performed(joints, body) for body in (np.array(AVERAGE_BODY), OTHER))
    expected = features_of(average.astype(np.float32), FPS)
    for clips in (average, other):
        assert np.abs(features_of(retarget_to_average_body(clips, FPS), FPS) - expected).max() < 5e-3
    assert np.abs(features_of(other.astype(np.float32), FPS) - expected).max() > 0.1


def test_inserted_frames_lie_on_the_curve() -> None:
    time = torch.arange(20, dtype=torch.float64)
    found = interpolate(torch.stack([time, (time / 3).sin()], dim=1), 4)
    between = torch.arange(77, dtype=torch.float64) / 4
    assert found.shape == (77, 2)
    assert torch.allclose(found[:, 0], between)
    assert (found[4:-4, 1] - (between[4:-4] / 3).sin()).abs().max() < 2e-3
    assert torch.equal(interpolate(time[:1, None], 4), time[:1, None])


def slid(joints: Array, metres_a_second: float) -> Array:
    """Return a motion that slides at a constant velocity."""
    drift = np.arange(len(joints)) / FPS * metres_a_second
    return joints + drift[:, None, None] * [1.0, 0.0, 0.0]


def test_sliding_feet_are_locked_and_bones_keep_their_lengths(batch: Batch, joints: Array) -> None:
    contact = batch.contact[:, 3, 0, :, :4] == 1
    for clip, touching in zip(joints.astype(np.float64), contact, strict=True):
        wrong = slid(clip, 0.5)
        # Also shaken by 2 cm at 3 Hz, which moving the body with its feet does not remove.
        wrong = wrong + 0.02 * np.sin(np.arange(len(clip)) / FPS * 2 * np.pi * 3)[:, None, None] * [0.0, 0.0, 1.0]
        fixed, locked = lock_feet(wrong, touching.astype(float), FPS, float(body_of(clip)[0]))
        np.testing.assert_allclose(bones(fixed), bones(clip), atol=3e-3)
        assert foot_skate(wrong, FPS)["skate, strict"] > 0.5
        assert foot_skate(fixed, FPS)["skate, strict"] < 0.03
        for side, point in (("left", 1), ("right", 3)):
            ball = fixed[:, JOINTS.index(f"{side}_foot")]
            for run in true_intervals(locked[:, point]):
                assert np.ptp(ball[run], axis=0).max() < 5e-3
            assert ball[:, 1].min() > BALL_JOINT_HEIGHT * body_of(clip)[0] - 5e-3


def test_nothing_stays_below_the_floor(batch: Batch, joints: Array) -> None:
    """Neither a body that sinks, nor the heels of feet that swing too low."""
    contact = batch.contact[:, 3, 0, :, :4] == 1
    for clip, touching in zip(joints.astype(np.float64), contact, strict=True):
        for down in (0.05, 0.01):
            wrong = slid(clip, 0.5) - [0.0, down, 0.0]
            stature = float(body_of(clip)[0])
            fixed, _ = lock_feet(wrong, touching.astype(float), FPS, stature)
            assert depth_of(frames_last(sole_points(wrong))) > 0.9 * down
            assert max(depth_of(frames_last(points)) for points in (fixed, sole_points(fixed))) < 1e-6
            # Feet in contact are not lifted off the floor, apart from tilted soles.
            ball = fixed[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")], 1]
            on_floor = touching[:, [1, 3]] & (clip[:, [JOINTS.index("left_foot"), JOINTS.index("right_foot")], 1] < 0.05)
            assert on_floor.any()
            assert np.abs(ball[on_floor] - BALL_JOINT_HEIGHT * stature).mean() < 2e-3


def test_short_contacts_and_gaps_are_ignored(joints: Array) -> None:
    touching = np.zeros((250, 4))
    touching[100:150, 1] = touching[50, 3] = 1
    touching[120, 1] = 0
    _, locked = lock_feet(np.concatenate([joints[0]] * 3)[:250].astype(np.float64), touching, FPS, 1.7)
    assert true_intervals(locked[:, 1]) == [slice(100, 150)]
    assert not locked[:, 3].any()


def test_the_noise_of_a_clip_depends_on_the_step_alone() -> None:
    task = motion_task.TASK.configured(load_settings("quick", ["seed=3", "motion.caption_dropout=0.5"], "motion"))
    own = {"sample": np.arange(6), "variant": np.zeros(6, np.int64), "pose": np.zeros((6, 20, POSE_NUMBERS), np.float32)}
    assert task.draw is not None
    one, part, other = (
        task.draw(*given) for given in ((own, 3, 17), ({k: v[2:] for k, v in own.items()}, 3, 17), (own, 3, 18))
    )
    assert {name: values[2:].tolist() for name, values in one.items()} == {
        name: values.tolist() for name, values in part.items()
    }
    assert not np.allclose(one["noise"], other["noise"])
    assert 0 < one["has_caption"].sum() < 6


def test_integration_ends_at_the_prediction() -> None:
    """A constant prediction is reached in any number of steps."""
    noise, motion = drawn_noise(1, 7)[None], drawn_noise(2, 7)[None]
    for steps in (1, 4):
        assert torch.allclose(motion_task.integrate(lambda noisy, share: motion, noise, steps), motion)
    # For normally distributed numbers the best prediction is known; noise is mapped to a number with their deviation.
    spread, one = 0.5, torch.tensor([[[1.0]]])

    def best(noisy: torch.Tensor, share: float) -> torch.Tensor:
        return noisy * (share * spread**2 / ((1 - share) ** 2 + share**2 * spread**2))

    assert float(motion_task.integrate(best, one, 40)) == pytest.approx(spread, abs=0.01)


@pytest.fixture(scope="module")
def network() -> motion_task.Denoiser:
    """A network with random weights: modulation starts at zero."""
    torch.manual_seed(0)
    model = motion_task.Denoiser("small", 0.0, 8, 12.5).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    return model


def test_frames_behind_a_clip_are_ignored(network: motion_task.Denoiser) -> None:
    noisy, length = torch.stack([drawn_noise(i, 40) for i in range(2)]), torch.tensor([40, 23])
    other = noisy.clone()
    other[1, 23:] = 7.0
    rest = torch.tensor([0.3, 0.6]), length, torch.ones(2, 8), torch.tensor([True, True])
    with torch.no_grad():
        one, two = network(noisy, *rest), network(other, *rest)
        alone = network(noisy[1:, :23], *(values[1:] for values in rest))
    assert one.shape == noisy.shape
    assert torch.equal(one[0], two[0])
    assert torch.allclose(one[1, :23], two[1, :23], atol=1e-6)
    assert torch.allclose(one[1, :23], alone[0], atol=1e-5)


def test_dropped_captions_are_ignored(network: motion_task.Denoiser) -> None:
    noisy, share, length = drawn_noise(1, 20)[None], torch.tensor([0.5]), torch.tensor([20])
    one, two = torch.ones(1, 8), torch.arange(8.0)[None]
    with torch.no_grad():
        unheard = [network(noisy, share, length, text, torch.tensor([False])) for text in (one, two)]
        heard = [network(noisy, share, length, text, torch.tensor([True])) for text in (one, two)]
        plain = (
            motion_task.guided(network, one, length, 0.0)(noisy, 0.5),
            motion_task.guided(network, one, length, 1.0)(noisy, 0.5),
        )
        more = motion_task.guided(network, one, length, 3.0)(noisy, 0.5)
        early = network(noisy, torch.tensor([0.05]), length, one, torch.tensor([True]))
        unweighed = motion_task.guided(network, one, length, 3.0)(noisy, 0.05)
    assert torch.equal(*unheard)
    assert not torch.allclose(*heard)
    assert torch.allclose(plain[0], unheard[0], atol=1e-6)
    assert torch.allclose(plain[1], heard[0], atol=1e-5)
    assert torch.allclose(more, plain[0] + 3 * (plain[1] - plain[0]), atol=1e-5)
    # Near the noise there is no guidance.
    assert torch.allclose(unweighed, early, atol=1e-6)


class Constant(torch.nn.Module):
    """Predicts a constant motion for each text, without normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Module()
        self.encoder.mean, self.encoder.spread = torch.zeros(POSE_NUMBERS), torch.ones(POSE_NUMBERS)

    def forward(
        self, noisy: torch.Tensor, share: torch.Tensor, length: torch.Tensor, text: torch.Tensor, reported: torch.Tensor
    ) -> torch.Tensor:
        return torch.ones_like(noisy) * text[:, :1, None]


def test_texts_follow_one_another_without_a_seam() -> None:
    texts = torch.tensor([[1.0], [3.0], [2.0]])
    found = generate_sequence(Constant(), texts, [0, 30, 60], 40, drawn_noise(1, 100), 1.0, 4)[:, HEIGHT]
    assert found[:30].tolist() == pytest.approx([1.0] * 30)
    assert found[40:60].tolist() == pytest.approx([3.0] * 20)
    assert found[70:].tolist() == pytest.approx([2.0] * 30)
    assert (found[29:41].diff() > 0).all()
    assert float(found.diff().abs().max()) <= 2 / 11 + 1e-6

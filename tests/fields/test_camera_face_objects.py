"""Cameras, keypoints, faces and objects."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.config.load import load_config
from posegen.exchange.camera import project
from posegen.fields.camera import KINDS, SIZE
from posegen.fields.face import EXPRESSIONS, SPEECH
from posegen.fields.field import Sequences
from posegen.fields.keypoints import HIDDEN, OUTSIDE, SEEN
from posegen.fields.objects import FLYING, HELD, LYING, RADIUS
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, PARTS
from posegen.library.schema import OBJECTS
from tests.fields.conftest import computed, made


@pytest.fixture(scope="module")
def images(sequences: Sequences) -> dict[str, np.ndarray]:
    return computed("camera", sequences) | computed("keypoints", sequences)


def test_keypoints_are_the_projections_of_the_exchange_camera(sequences: Sequences, images: dict[str, np.ndarray]) -> None:
    for index in ((0, 0), (3, 1), (5, 4)):
        for frame in (0, 30, 59):
            outer, inner = images["extrinsics"][index][frame].astype(float), images["intrinsics"][index][frame]
            np.testing.assert_allclose(outer[:3, :3] @ outer[:3, :3].T, np.eye(3), atol=1e-6)
            pixels, depth = project(sequences.joints[(*index, 0, frame)], outer, inner)
            assert (depth > 0.5).all()
            np.testing.assert_allclose(images["keypoints"][(*index, 0, frame)], pixels, atol=0.05)


def test_the_mirror_variant_has_the_flipped_image(sequences: Sequences, images: dict[str, np.ndarray]) -> None:
    base, mirrored = images["keypoints"][:, 0], images["keypoints"][:, -1]
    flipped = mirrored[..., list(MIRROR_JOINTS), :].copy()
    flipped[..., 0] = SIZE - flipped[..., 0]
    np.testing.assert_allclose(flipped, base, atol=0.02)


def test_each_camera_movement_is_as_documented() -> None:
    config = load_config("default", ["frames=80", "story.actors.max=1", "variants.speed=null", "variants.scale=null"])
    sequences = made(config, 40)
    arrays = computed("camera", sequences)
    kind = arrays["camera"][:, 0]
    assert {*kind} == {*range(len(KINDS))}
    outer, focal = arrays["extrinsics"][:, 0].astype(float), arrays["intrinsics"][:, 0, :, 0, 0]
    position = -(np.swapaxes(outer[..., :3, :3], -1, -2) @ outer[..., :3, 3:])[..., 0]
    moved = np.abs(position - position[:, :1]).max((1, 2))
    turned = np.abs(outer[..., :3, :3] - outer[:, :1, :3, :3]).max((1, 2, 3))
    zoomed = focal.max(1) / focal.min(1)
    pelvis = sequences.joints[:, 0, 0, :, 0]
    for sample, name in enumerate(np.array(KINDS)[kind]):
        static, keeps_focal = name in ("static", "pan", "zoom"), name != "zoom"
        assert (moved[sample] < 1e-4) == static or name == "track", name
        assert (zoomed[sample] < 1.001) == keeps_focal, name
        if name == "static":
            assert turned[sample] == 0
        if name == "crane":
            assert np.ptp(position[sample, :, 1]) > 0.9
        if name == "track":
            assert np.ptp(position[sample, :, [0, 2]] - pelvis[sample][:, [0, 2]].T, axis=1).max() < 1.0
        if name == "orbit":
            way = position[sample][[0, -1]] - pelvis[sample][[0, -1]]
            cosine = (way[0, ::2] * way[1, ::2]).sum() / np.linalg.norm(way[0, ::2]) / np.linalg.norm(way[1, ::2])
            assert cosine < 0.75


def test_the_trunk_occludes_the_far_arm(sequences: Sequences, images: dict[str, np.ndarray]) -> None:
    """Seen from the side, the shoulder behind the trunk is occluded and the near one is not."""
    visibility, points = images["visibility"], images["keypoints"]
    present = sequences.present
    outside = ((points < 0) | (points >= SIZE)).any(-1)[present]
    np.testing.assert_array_equal(visibility[present][outside], OUTSIDE)
    assert (visibility[present][~outside] != OUTSIDE).all()
    # All actors face +z. Only the samples whose camera looks from the side are checked.
    rest = made(load_config("default", ["frames=30", "story.actions={stand: 1}", "story.themes={street: 1}"]), 12)
    arrays = computed("camera", rest) | computed("keypoints", rest)
    checked = 0
    for sample in range(12):
        outer = arrays["extrinsics"][sample, 0, 0].astype(float)
        depth = rest.joints[sample, 0, 0, 0] @ outer[2, :3] + outer[2, 3]
        left, right = (depth[JOINTS.index(f"{name}_shoulder")] for name in ("left", "right"))
        if abs(left - right) > 0.3:
            near, far = ("left", "right") if left < right else ("right", "left")
            seen = arrays["visibility"][sample, 0, 0, 0]
            assert seen[JOINTS.index(f"{near}_shoulder")] == SEEN
            assert seen[JOINTS.index(f"{far}_shoulder")] == HIDDEN
            checked += 1
    assert checked


def test_detection_errors_have_the_documented_size(images: dict[str, np.ndarray]) -> None:
    seen = images["visibility"] == SEEN
    points, found = images["keypoints"].astype(float), images["detections"].astype(float)
    points[np.isnan(found)] = np.nan
    low, high = (
        each.reduce(np.nan_to_num(points, nan=nothing), axis=-2) for each, nothing in ((np.minimum, 1e9), (np.maximum, -1e9))
    )
    root = np.sqrt(0.53 * np.abs((high - low).prod(-1)))
    off = (found - points)[..., 0] / root[..., None]
    for name, sigma in (("left_wrist", 0.062), ("right_hip", 0.107), ("left_knee", 0.087)):
        errors = off[..., JOINTS.index(name)][seen[..., JOINTS.index(name)]]
        usual = errors[np.abs(errors) < 3.5 * sigma]
        assert len(usual) > 0.98 * len(errors)
        assert abs(usual.std() / sigma - 1) < 0.06
        assert abs(usual.mean()) < 0.1 * sigma
    confidence = images["confidence"]
    assert np.isnan(found[images["visibility"] == OUTSIDE]).all()
    assert np.median(confidence[seen]) > np.median(confidence[images["visibility"] == HIDDEN]) + 0.1


@pytest.mark.parametrize("action", SPEECH)
def test_mouths_move_at_the_rate_of_the_speech(action: str, sequences: Sequences) -> None:
    config = load_config("default", ["frames=250", "variants.speed=null"])
    library = sequences.library
    one = sequences.slice(0, 1)
    labels = np.full((1, 2, 1, 250, len(PARTS)), library.index("stand"), np.uint16)
    labels[..., PARTS.index("head")] = library.index(action)
    joints = np.zeros((1, 2, 1, 250, 22, 3), np.float32)
    row = {**one.rows[0], "actors": one.rows[0]["actors"][:1]}
    speaking = Sequences(config, library, one.samples, joints, labels, labels, [row, row])
    mouth = computed("face", speaking)["face"][0, 0, 0, :, 7].astype(float)
    spectrum = np.abs(np.fft.rfft(mouth - mouth.mean()))
    assert abs(np.fft.rfftfreq(250, 1 / 25)[spectrum.argmax()] - SPEECH[action][0]) < 0.11


def test_expressions_take_three_tenths_of_a_second(sequences: Sequences) -> None:
    config = load_config("default", ["frames=100", "fps=60"])
    one = sequences.slice(0, 1)
    labels = np.full((1, 1, 1, 100, len(PARTS)), one.library.index("stand"), np.uint16)
    labels[..., 50:, :] = one.library.index("cry")
    row = {**one.rows[0], "actors": [{**one.rows[0]["actors"][0], "style": "neutral"}]}
    arrays = computed(
        "face", Sequences(config, one.library, one.samples, np.zeros((1, 1, 1, 100, 22, 3), np.float32), labels, labels, [row])
    )
    weights = arrays["expression_weights"][0, 0, 0].astype(float)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    sad = weights[:, EXPRESSIONS.index("sad")]
    assert (np.diff(sad) >= -1e-7).all()
    blending = np.flatnonzero((sad > 1e-4) & (sad < 1 - 1e-4))
    assert abs(len(blending) / 60 - 0.3) <= 0.05
    assert (arrays["expression"][0, 0, 0] == EXPRESSIONS.index("sad")).sum() in (49, 50, 51)


@pytest.fixture(scope="module")
def games() -> tuple[Sequences, dict[str, np.ndarray]]:
    options = ["story.themes={baseball: 1, basketball: 1, football: 1, home: 1}", "story.actions={drinking: 60, sit: 20}"]
    sequences = made(load_config("default", [*options, "variants.scale=null"]), 40)
    return sequences, computed("objects", sequences)


def test_balls_fall_with_gravity(games: tuple[Sequences, dict[str, np.ndarray]]) -> None:
    sequences, arrays = games
    fps, flights = sequences.config.fps, 0
    kicks, bounced = 0, sequences.library.index("dribbling")
    for index in np.ndindex(sequences.shape[:3]):
        state, position = arrays["object_state"][index], arrays["object_position"][index].astype(float)
        flying = (state == FLYING) & ~(sequences.action[index] == bounced).any(-1)
        for start in np.flatnonzero(flying[:-2] & flying[1:-1] & flying[2:]):
            fall = (position[start + 2] - 2 * position[start + 1] + position[start]) * fps**2
            np.testing.assert_allclose(fall, [0, -GRAVITY, 0], atol=0.02)
            flights += 1
        kicked = flying & (sequences.action[index] == sequences.library.index("kicking")).any(-1)
        kicks += kicked.any()
        lying = (state == LYING) & (arrays["object"][index] == OBJECTS.index("ball"))
        assert (position[lying][:, 1] <= RADIUS["ball"] + 1e-6).all()
    assert flights > 100
    assert kicks


def test_held_objects_are_in_a_hand(games: tuple[Sequences, dict[str, np.ndarray]]) -> None:
    sequences, arrays = games
    held = arrays["object_state"] == HELD
    kinds = {OBJECTS[kind] for kind in np.unique(arrays["object"][held])}
    assert {"ball", "bat", "cup"} <= kinds
    wrists = sequences.joints[..., [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")], :]
    reach = np.sqrt(((wrists - arrays["object_position"][..., None, :]) ** 2).sum(-1)).min(-1)
    one_hand = held & np.isin(arrays["object"], [OBJECTS.index("cup"), OBJECTS.index("food"), OBJECTS.index("bag")])
    assert reach[one_hand].max() < 0.12
    assert np.quantile(reach[held], 0.9) < 0.35  # between both hands


def test_a_seat_is_below_the_sitting_actor(games: tuple[Sequences, dict[str, np.ndarray]]) -> None:
    sequences, arrays = games
    chairs = 0
    for index in np.ndindex(sequences.shape[:3]):
        sits = (arrays["object"][index] == OBJECTS.index("chair")) & (sequences.contact[index][:, -1] == 1)
        if sits.any():
            chairs += 1
            away = sequences.joints[index][sits][:, 0, [0, 2]] - arrays["object_position"][index][sits][:, [0, 2]]
            assert np.abs(away).max() < 0.3
    assert chairs

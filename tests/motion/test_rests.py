"""Resting postures: held and changed while a person stands, and absent in gaits, on seats and on the floor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.library.channels import CENTRAL_CHANNELS, CHANNELS
from posegen.motion.library_tables import library_tables, style_tables
from posegen.motion.rests import IN_ACTION, fill_resting_weight, rest_anew
from posegen.motion.scene_arrays import person_arrays, scene_arrays
from posegen.motion.workspace import Clock, Role, empty_workspace
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import draw_parameters
from tests import naive
from tests.motion.scripted import LIBRARY, SegmentSpec, person, scripted
from tests.motion.test_scene_arrays import CONFIG, SAMPLES
from tests.variants.applied import apply_variant

FRAMES, STEP = 400, 0.04
CLOCK = Clock(-1.4, STEP)
TABLES = library_tables(LIBRARY)
SEEDS = st.integers(0, 2**32 - 1)


def role(*segments: SegmentSpec) -> Role:
    """The role of the only actor of a scene."""
    roles = scene_arrays(scripted(*segments, frames=FRAMES), LIBRARY).roles
    of_actor = (array[0, 0] for array in (roles.segments, roles.turn, roles.left_leads, roles.start))
    return Role(len(segments), *of_actor)


def rested(seed: int, *segments: SegmentSpec) -> np.ndarray:
    """Deviations [channels, frames] of one actor of a scene."""
    work = empty_workspace(FRAMES, len(segments))
    rest_anew(work, role(*segments), person(seed=seed), TABLES, CLOCK)
    return work.channels


@given(SEEDS)
def test_who_stands_holds_one_posture_after_the_other(seed: int) -> None:
    someone, channels = person(seed=seed), rested(seed, SegmentSpec("stand", -3.0, 20.0))
    for c in range(len(CHANNELS)):
        own = someone.rests[:, c]
        if (own == 0).all():
            assert (channels[c] == 0).all()
            continue
        assert own.min() - 1e-6 <= channels[c].min()
        assert channels[c].max() <= own.max() + 1e-6
        # Each posture is held for some frames, and the change to the next one is smooth.
        held = {float(value) for value in own if (np.abs(channels[c] - value) < 1e-7).sum() >= 5}
        assert len(held) >= min(5, len(np.unique(own)) - 2)
        assert np.abs(np.diff(channels[c])).max() <= 2.5 * STEP / 1.3 * np.ptp(own) + 1e-6


def weight(*segments: SegmentSpec) -> np.ndarray:
    work = empty_workspace(FRAMES, len(segments))
    out = np.zeros(FRAMES, np.float32)
    fill_resting_weight(work, role(*segments), TABLES, CLOCK, out)
    return out


@pytest.mark.parametrize(("action", "share"), [("sit", 0.0), ("lie_down", 0.0), ("jump", 0.0), ("kick", IN_ACTION)])
def test_less_of_a_posture_shows_in_an_action(action: str, share: float) -> None:
    middle = round((6.0 - CLOCK.first) / STEP)
    weights = weight(
        SegmentSpec("stand", -3.0, 2.0), SegmentSpec(action, 2.0, 10.0, repetitions=1), SegmentSpec("stand", 8.0, 20.0)
    )
    assert weights[middle] == pytest.approx(share, abs=1e-6)
    assert weights[:80].max() == weights[-100:].min() == 1
    assert np.abs(np.diff(weights)).max() < 0.25


def test_a_mirrored_person_rests_in_the_mirror_image() -> None:
    scenes = plan_scenes(CONFIG, LIBRARY, SAMPLES)
    mirrored = apply_variant(scenes, "mirror", draw_parameters(CONFIG, SAMPLES))
    one, other = (person_arrays(each, style_tables(LIBRARY)).rests for each in (scenes, mirrored))
    order = [CHANNELS.index(naive.mirror_channel(name)) for name in CHANNELS]
    turned = [c.endswith(("_lateral", "_rotation", "_obliquity")) and c in CENTRAL_CHANNELS for c in CHANNELS]
    np.testing.assert_array_equal(other, one[..., order] * np.where(turned, np.float32(-1), np.float32(1)))

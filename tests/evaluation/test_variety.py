"""Variety of motion: distances of performers, precision and recall, poses and transitions, on motion made for the purpose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.evaluation import performances as moves
from posegen.evaluation import variety
from posegen.evaluation.captions import find_uncaptioned, uncaptioned_shares
from posegen.evaluation.recording import Recording
from posegen.evaluation.spread import Evenly
from posegen.foundations.skeleton import MIRROR_JOINTS, PARTS
from posegen.library.load import load_library
from tests.evaluation.figures import FPS, posed, standing, turn, wandering

Floats = NDArray[Any]
FRAMES = 50


def raising(shoulder: float, side: str = "right", frames: int = FRAMES, size: float = 1.0) -> Floats:
    """Return a body that raises a straight arm forward to an angle in degrees."""
    angles = shoulder * (1 - np.cos(np.pi * np.arange(frames) / (frames - 1))) / 2
    return size * np.concatenate([posed({f"{side}_shoulder": turn("x", -angle)}, 1) for angle in angles])


def mocap(joints: Floats, person: str, clip: int = 0, family: str = "reach", description: str = "") -> Recording:
    return Recording(f"{person} {clip}", person, joints, FPS, family=family, description=description)


def found(*recordings: Recording) -> list[moves.Performance]:
    return [each for recording in recordings for each in moves.performances(recording, moves.common_body(recording.joints))]


def generated(joints: Floats, action: str = "reach", **changes: Any) -> Recording:
    """Return a generated clip whose only segment is all of it but a last frame of standing."""
    segment = {"action": action, "parts": list(PARTS), "start": 0, "end": len(joints), "side": "right", "repetitions": 0}
    labels = changes.pop("labels", np.full((len(joints), len(PARTS)), action))
    labels = np.concatenate([labels, np.full((1, len(PARTS)), "stand")])
    names, numbers = np.unique(labels, return_inverse=True)
    actions = {str(name): number for number, name in enumerate(names)}
    joints = np.concatenate([joints, joints[-1:]])
    segment |= {key: changes.pop(key) for key in list(changes) if key in segment}
    recording = Recording(
        "sample 0 base", "1", joints, FPS, segments=[segment], labels=numbers, actions=actions, style="neutral"
    )
    return replace(recording, **changes)


def test_the_common_body_depends_on_neither_size_nor_place_nor_heading() -> None:
    joints = wandering(3, 5)
    moved = 1.3 * joints @ turn("y", 130).T + np.array([2.0, 0.4, -1.0])
    np.testing.assert_allclose(moves.common_body(moved), moves.common_body(joints), atol=1e-6)
    assert moves.common_body(joints).shape == (5, len(moves.JOINTS), 3)


def test_standing_is_standing_and_symmetric() -> None:
    body = moves.common_body(standing(2))
    assert np.abs(body - moves.STANDING_POSE)[:, 1:7].max() < 0.05  # the legs of the rest pose hang from the hips
    assert moves.asymmetry(body) == pytest.approx([0, 0], abs=1e-6)
    lifted = posed({"right_hip": turn("x", -90)}, 1)
    expected = moves.common_body(lifted[:, list(MIRROR_JOINTS)] * [-1, 1, 1])
    np.testing.assert_allclose(moves.mirrored(moves.common_body(lifted)), expected, atol=1e-6)
    # The right knee is a thigh length to the front and below the hip in turn, as is the left one in the mirror.
    thigh, leg = (
        -moves.STANDING_POSE[moves.JOINTS.index("left_knee"), 1],
        -moves.STANDING_POSE[moves.JOINTS.index("left_ankle"), 1],
    )
    assert moves.asymmetry(moves.common_body(lifted)) == pytest.approx([(thigh + leg) * np.sqrt(2) / 2], rel=1e-5)


def test_two_identical_performers_are_not_apart() -> None:
    # Another size, another tempo, and rest before and after it.
    slow = raising(90, frames=2 * FRAMES - 1, size=1.2)
    rests = np.concatenate([np.repeat(slow[:1], 20, axis=0), slow, np.repeat(slow[-1:], 30, axis=0)])
    same = moves.person_distances(found(mocap(raising(90), "a"), mocap(rests, "b")), periodic=False)
    assert (same.people, same.pairs) == (2, 1)
    assert same.between == pytest.approx(0, abs=0.2)
    assert np.isnan(same.within)


def test_a_known_offset_is_the_distance() -> None:
    first, apart = mocap(raising(90), "a"), found(mocap(raising(90), "b"))[0]
    moved = replace(apart, repetitions=apart.repetitions + np.float32([0, 0.3, 0.4]))
    again = mocap(raising(90), "a", 1)
    distances = moves.person_distances([*found(first, again), moved], periodic=False)
    assert distances.between == pytest.approx(50, rel=1e-5)
    assert distances.within == pytest.approx(0, abs=1e-5)


def test_people_count_equally_whatever_their_number_of_clips() -> None:
    base = found(mocap(raising(90), "a"))[0]

    def at(person: str, metres: float, kind: str = "reach") -> moves.Performance:
        return replace(base, person=person, kind=kind, repetitions=base.repetitions + np.float32([0, metres, 0]))

    people = [at("a", 0.0), *[at("b", 0.1)] * 5, at("c", 0.3)]
    distances = moves.person_distances([*people, at("d", 9.0, "another")], periodic=False)
    assert (distances.people, distances.pairs) == (3, 3)
    assert distances.between == pytest.approx((10 + 20 + 30) / 3, rel=1e-4)
    assert distances.within == pytest.approx(0, abs=1e-5)


def test_periodic_actions_are_compared_at_the_nearest_phase() -> None:
    def wave(phase: float, frames: int = 100) -> Floats:
        angles = 40 * np.sin(2 * np.pi * np.arange(frames) / 25 + phase)
        return np.concatenate([posed({"right_shoulder": turn("x", angle)}, 1) for angle in angles])

    shifted = found(mocap(wave(0), "a", family="wave"), mocap(wave(np.pi), "b", family="wave"))
    assert moves.person_distances(shifted, periodic=True).between == pytest.approx(0, abs=0.1)
    assert moves.person_distances(shifted, periodic=False).between > 1


def test_segments_that_are_performances() -> None:
    joints = raising(90)
    one = found(generated(joints, library=load_library()))
    assert [(each.family, each.kind, len(each.repetitions), len(each.poses)) for each in one] == [("reach", "reach", 1, 20)]
    assert found(generated(joints, style="old")) == []
    # The end of the clip may cut an action, whose course is then another one.
    whole = generated(joints, library=load_library())
    assert whole.labels is not None
    cut = found(replace(whole, joints=whole.joints[:-1], labels=whole.labels[:-1]))
    assert [(len(each.repetitions), len(each.poses)) for each in cut] == [(0, 20)]
    assert moves.person_distances(cut, periodic=False).people == 0
    transition = np.full((FRAMES, len(PARTS)), "reach")
    transition[-1, 0] = "stand"
    assert found(generated(joints, labels=transition)) == []
    # An action of the arms counts while the legs stand.
    arms = np.tile(["stand", *["wave"] * (len(PARTS) - 1)], (FRAMES, 1))
    assert len(found(generated(joints, "wave", labels=arms, parts=["right_arm", "head"]))) == 1
    arms[:, 0] = "walk"
    assert found(generated(joints, "wave", labels=arms, parts=["right_arm", "head"])) == []


def test_left_performances_are_mirrored_and_repetitions_cut() -> None:
    right, left = (found(generated(raising(90, side), side=side))[0] for side in ("right", "left"))
    np.testing.assert_allclose(left.repetitions, right.repetitions, atol=1e-5)
    action = load_library().action("kick")
    whole = round(FPS * (action.enter + 3 * action.cycle + action.exit))
    start, cycle = FPS * action.enter, FPS * action.cycle
    angles = np.concatenate([np.zeros(round(start)), np.tile(90 * np.sin(np.pi * np.arange(cycle) / cycle) ** 2, 4)])[:whole]
    joints = np.concatenate([posed({"right_hip": turn("x", -angle)}, 1) for angle in angles])
    kicks = found(generated(joints, "kick", repetitions=3, library=load_library()))[0]
    assert kicks.repetitions.shape == (3, len(moves.PROGRESS), len(moves.JOINTS), 3)
    ankle = kicks.repetitions[:, :, moves.JOINTS.index("right_ankle"), 2]
    assert ankle.argmax(1).tolist() == pytest.approx([9.5] * 3, abs=1.5)


def windows(draws: np.random.Generator, count: int, people: int = 4, offset: float = 0.0) -> variety.Windows:
    person = np.arange(count) % people
    poses = offset + draws.normal(size=(count, moves.RATE, len(moves.JOINTS), 3)).astype(np.float32)
    return variety.Windows(poses, person.astype(str), np.arange(count).astype(str))


def test_equal_sets_cover_each_other_and_disjoint_ones_do_not() -> None:
    draws = np.random.default_rng(0)
    one = windows(draws, 30)
    same = variety.measure_coverage(one, one)
    assert same == variety.Coverage(30, 1, 1)
    flipped = one._replace(poses=moves.mirrored(one.poses))
    assert variety.measure_coverage(one, flipped) == same
    apart = variety.measure_coverage(one, windows(draws, 30, offset=50.0))
    assert apart == variety.Coverage(30, 0, 0)


def test_coverage_equals_naive_loops() -> None:
    draws = np.random.default_rng(1)
    sizes = np.linspace(0.2, 2, 14, dtype=np.float32)[:, None, None, None]  # so that some are near others, and some are not
    one, other = (found._replace(poses=found.poses * sizes) for found in (windows(draws, 14), windows(draws, 14, offset=0.2)))
    one = one._replace(clip=np.arange(14) // 2)

    def apart(a: Floats, b: Floats) -> float:
        return float(min(np.sqrt(((a.astype(float) - c) ** 2).sum()) for c in (b, moves.mirrored(b))))

    def radius(each: variety.Windows, i: int) -> float:
        return sorted(apart(each.poses[i], each.poses[j]) for j in range(14) if each.clip[j] != each.clip[i])[
            variety.NEAREST - 1
        ]

    between = np.array([[apart(a, b) for b in one.poses] for a in other.poses])
    theirs, ours = (np.array([radius(each, i) for i in range(14)]) for each in (one, other))
    measured = variety.measure_coverage(one, other)
    assert measured.precision == pytest.approx(np.mean([any(between[i] <= theirs) for i in range(14)]))
    assert measured.recall == pytest.approx(np.mean([any(between[:, j] <= ours) for j in range(14)]))


def test_both_sides_have_equally_many_windows_of_different_people() -> None:
    draws = np.random.default_rng(2)
    reference = {"walk": windows(draws, 60), "kick": windows(draws, 40, people=2), "lie": windows(draws, 40, people=1)}
    ours = {"walk": windows(draws, 100), "kick": windows(draws, 12), "lie": windows(draws, 100)}
    measured = variety.compare_coverage(reference, ours)
    assert {family: (one.windows, other.windows) for family, (one, other) in measured.items()} == {
        "walk": (30, 30),
        "kick": (12, 12),
        "": (42, 42),
    }
    assert variety.compare_coverage(reference, ours) == measured
    # A copy of the reference is near to all its windows; other people are so in part.
    copy = variety.compare_coverage(reference, reference)["walk"]
    assert copy[0].precision > copy[1].precision


def test_all_windows_of_a_family_count_in_its_precision() -> None:
    draws = np.random.default_rng(3)
    reference, ours = windows(draws, 20), windows(draws, 300)
    # Ten of the windows, as many as each half of the people has, are far away, the others are the reference's.
    far = np.isin(np.arange(300), np.linspace(0, 299, 10).astype(np.int64))
    poses = np.where(far[:, None, None, None], 50.0, reference.poses[np.arange(300) % 20])
    own, other = variety.compare_coverage({"walk": reference}, {"walk": ours._replace(poses=poses)})["walk"]
    assert own.windows == other.windows == 10
    assert own.precision == pytest.approx(290 / 300, abs=0.05)


def tally(*recordings: Recording) -> variety.MotionTally:
    collected = variety.MotionTally()
    for recording in recordings:
        collected.add(variety.describe_motion(recording))
    return collected


def test_poses_and_transitions_near_standing() -> None:
    still, bent = standing(100), posed({"pelvis": turn("x", 80), "left_hip": turn("x", -80), "right_hip": turn("x", -80)}, 100)
    walk = np.concatenate([bent[:40], still[:20], bent[:40]])
    segments = [
        {"action": action, "parts": ["legs"], "start": start, "end": stop}
        for action, start, stop in (("sit", 0, 50), ("bow", 50, 100))
    ]
    through = Recording("sample 0 base", "1", walk, FPS, segments=segments)
    around = replace(through, joints=np.concatenate([bent[:10], still[:10], bent[:80]]))
    measured = variety.compare_variety(tally(mocap(still, "a")), tally(through, around)).generated
    assert measured.neutral == pytest.approx(0.15, abs=0.02)
    assert (measured.transitions, measured.through_neutral) == (2, 0.5)
    assert measured.commonest == 1


def test_components_of_a_line_and_the_families_of_both() -> None:
    base = found(mocap(raising(90), "a"))[0]
    times = np.linspace(0, 1, 300, dtype=np.float32)[:, None, None]
    along = replace(base, poses=moves.STANDING_POSE + times * np.float32([0, 1, 0]))
    wide = replace(
        base, poses=moves.STANDING_POSE + np.random.default_rng(0).normal(size=(300, len(moves.JOINTS), 3)).astype(np.float32)
    )
    one, other = (tally(mocap(raising(90), "a")) for _ in range(2))
    one.performances["reach"].items[:] = [along]
    other.performances["reach"].items[:] = [wide]
    other.add(variety.describe_motion(mocap(raising(90), "b", family="kick")))
    measured = variety.compare_variety(one, other)
    assert set(measured.generated.families) == {"reach"}
    assert (measured.reference.families["reach"].components, measured.reference.components) == (1, 1)
    assert (measured.generated.families["reach"].components or 0) > 30
    assert measured.generated.families["reach"].asymmetry > measured.reference.families["reach"].asymmetry
    assert measured.generated.coverage is None


def test_clips_that_are_too_short_have_no_figures() -> None:
    clips = [mocap(standing(5), person, family=family) for person in "ab" for family in ("walk", "kick")]
    families = variety.compare_variety(tally(*clips), tally(*clips)).generated.families
    assert (families["walk"].apart.people, families["kick"].apart.pairs) == (0, 1)
    assert np.isnan(families["walk"].jerk)
    assert (families["kick"].coverage, families["kick"].components) == (None, None)


def test_the_jerk_of_the_wrists_is_that_of_the_movement() -> None:
    frames, rate = 200, 2 * np.pi * 1.0
    joints = standing(frames)
    joints[:, 20:, 0] += 0.1 * np.sin(rate * np.arange(frames) / FPS)[:, None]
    jerk = found(mocap(joints, "a"))[0].jerk
    assert jerk == pytest.approx(0.1 * rate**3 / np.sqrt(2), rel=0.05)


def test_performances_that_are_kept_are_bounded_and_spread_evenly() -> None:
    kept = Evenly[int](variety.MAX_PERFORMANCES)
    for number in range(10 * variety.MAX_PERFORMANCES):
        kept.add(number)
    assert variety.MAX_PERFORMANCES / 2 <= len(kept.items) < variety.MAX_PERFORMANCES
    assert set(np.diff(kept.items)) == {16}


def test_uncaptioned_actions_are_found() -> None:
    actions = {"stand": 0, "walk": 1, "wave": 2}
    labels = np.zeros((50, len(PARTS)), np.uint16)
    labels[:30] = actions["walk"]
    whole = {"action": "walk", "parts": list(PARTS), "start": 0, "end": 30}
    clip = Recording("sample 0 base", "1", standing(50), FPS, segments=[whole], labels=labels, actions=actions)
    waves = labels.copy()
    waves[40:, 2] = actions["wave"]
    waves[45:, 3] = 65535  # no action
    during = labels.copy()
    during[5:20, 2] = actions["wave"]  # in frames of a segment of another action
    clips = [
        clip,
        replace(clip, segments=[{**whole, "end": 21}]),  # 9 frames, .36 s
        replace(clip, segments=[{**whole, "end": 20}]),  # 10 frames, .4 s
        replace(clip, labels=waves),
        replace(clip, labels=during),
        replace(clip, labels=None),
    ]
    counted = Counter[str]()
    assert uncaptioned_shares(counted) is None
    for each in clips:
        counted.update(find_uncaptioned(each))
    result = uncaptioned_shares(counted)
    assert result is not None
    assert (result.clips, result.legs, result.any_part) == (5, 0.2, 0.6)

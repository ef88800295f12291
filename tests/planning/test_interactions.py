"""Two who meet: hands that meet, people who do not go through each other, captions that say who does what with whom."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posegen
from posegen.captions.grammar import verb_forms
from posegen.checks.capsules import DEEPEST, overlapping, people_overlap
from posegen.checks.evidence import CONTACT, LEAST_CONTACT, partners_by_criterion
from posegen.checks.statements import check_statement, observe_actors
from posegen.config.schema import Config
from posegen.foundations.scene import NOTHING, Scenes
from posegen.foundations.skeleton import JOINTS
from posegen.library.load import load_library
from posegen.motion.engine import animate
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.synthesize import Batch, concatenate_scenes
from posegen.variants.variant import draw_parameters
from tests.variants.applied import apply_variant
from tests.variants.copied import mirrored

LIBRARY = load_library()
SAMPLES = 220
FPS = 25
AGAIN = 0.06
"""Share of the samples of which a second attempt may be needed, because somebody goes through somebody."""
TRUE = 0.99
"""Share of the statements that joints must show, of those that can be measured."""


@cache
def config(**weights: float) -> Config:
    only = [f"story.interactions.weights={{{', '.join(f'{name}: {weights.get(name, 0)}' for name in LIBRARY.interactions)}}}"]
    plain = ["variants.speed=null", "variants.position=null", "variants.scale=null", "variants.mirror=false"]
    return posegen.load_config("pairs", plain + (only if weights else []))


@cache
def batch() -> Batch:
    return posegen.synthesize(config(), range(SAMPLES))


@cache
def scenes() -> Scenes:
    """The samples as that attempt planned them which was kept."""
    attempts = np.array([row["attempt"] for row in batch().rows])
    plans = [plan_scenes(config(), LIBRARY, np.arange(SAMPLES), attempt) for attempt in range(attempts.max() + 1)]
    slots = max(one.action.shape[2] for one in plans)
    return concatenate_scenes([padded(one, slots) for one in plans]).select(attempts * SAMPLES + np.arange(SAMPLES))


def padded(plans: Scenes, slots: int) -> Scenes:
    """The same with more slots, which nothing uses."""
    more = {name: getattr(plans, name) for name in ("action", "layered", "start", "end", "tempo", "together")}
    others = {name: getattr(plans, name) for name in ("side", "speed", "turn", "path", "amplitude", "repetitions")}
    width = ((0, 0), (0, 0), (0, slots - plans.action.shape[2]))
    filled = {name: np.pad(a, width, constant_values=NOTHING if name == "action" else 0) for name, a in (more | others).items()}
    return replace(plans, **filled)


def kind_of(sample: int) -> str:
    """Name of the interaction of a sample, by what is done with the partner."""
    done = scenes().action[sample][scenes().together[sample]]
    names = {LIBRARY.actions[action] for action in done}
    return next(name for name, interaction in LIBRARY.interactions.items() if names <= set(interaction.actions))


def span(sample: int) -> tuple[int, int]:
    """First frame of what the two do together, and the frame behind its last."""
    own = scenes().together[sample]
    start, end = scenes().start[sample][own].min(), scenes().end[sample][own].max()
    return round(float(start) * FPS), min(round(float(end) * FPS), int(scenes().length[sample]))


def test_every_interaction_occurs() -> None:
    assert {kind_of(i) for i in range(SAMPLES)} == set(LIBRARY.interactions)


def test_hands_meet() -> None:
    touching = [i for i in range(SAMPLES) if LIBRARY.interactions[kind_of(i)].checked_by == "hands"]
    assert len(touching) > 40
    wrists = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]
    for i in touching:
        first, last = span(i)
        hands = batch().joints[i, 0][:, first:last, wrists].astype(np.float64)
        gaps = np.linalg.norm(hands[0][:, :, None] - hands[1][:, None], axis=-1)
        assert (gaps <= CONTACT).sum(axis=0).max() >= LEAST_CONTACT, (i, kind_of(i), gaps.min())


def test_two_who_meet_do_not_go_through_each_other() -> None:
    deepest = np.array([people_overlap(batch().joints[i, 0, 0], batch().joints[i, 0, 1]).max() for i in range(SAMPLES)])
    assert deepest.max() <= DEEPEST, np.flatnonzero(deepest > DEEPEST)
    # Of the first attempts: what one body does alone, such as its own forearms, is a matter of the limits of each action.
    first = plan_scenes(config(), LIBRARY, np.arange(SAMPLES))
    joints = animate(first, LIBRARY, int(first.length.max()), FPS).joints[:, None]
    assert overlapping(joints, 0, first.actors, first.length).mean() <= AGAIN


def test_several_apart_keep_clear_of_each_other() -> None:
    crowd = posegen.load_config("crowd", ["variants.speed=null", "variants.scale=null", "story.interactions.share=0.3"])
    made = posegen.synthesize(crowd, range(120))
    actors, length = np.array([[len(row["actors"]), row["length"]] for row in made.rows[:: len(made.variants)]]).T
    assert (actors == 3).sum() > 20
    for variant in range(len(made.variants)):
        assert not overlapping(made.joints, variant, actors, length).any()


def test_it_is_seen_who_does_what_with_whom() -> None:
    for i in range(SAMPLES):
        first, last = span(i)
        seen = LIBRARY.interactions[kind_of(i)].checked_by
        assert partners_by_criterion(batch().joints[i, 0], 1, first, last, seen) == [0], (i, kind_of(i))


def test_captions_tell_it_and_are_true() -> None:
    rows = batch().rows
    joints = batch().joints[:, 0]
    verdicts: dict[str, list[bool | None]] = {}
    for row, actors in zip(rows, observe_actors(joints, [row["actors"] for row in rows], LIBRARY, FPS), strict=True):
        statements = [statement for caption in row["captions"] for statement in caption["statements"]]
        assert any(statement["kind"] == "partner" for statement in statements), row["sample"]
        assert not any("{" in caption["text"] for caption in row["captions"]), row["sample"]
        for statement in statements:
            verdicts.setdefault(statement["kind"], []).append(check_statement(statement, actors, LIBRARY))
        alone = [s | {"value": "2"} for s in statements if s["kind"] == "partner"]
        assert not any(check_statement(statement, actors, LIBRARY) for statement in alone)
    for kind, found in verdicts.items():
        assert found.count(False) <= (1 - TRUE) * len(found), kind


def test_some_captions_tell_of_both_at_once() -> None:
    """Short ones and stories, and only of what both are seen to do; the others tell of one after the other."""
    spoken = load_library().words["interactions"]
    both: dict[str, list[bool]] = {}
    for sample, row in enumerate(batch().rows):
        for caption in row["captions"]:
            if kind_of(sample) in spoken and caption["kind"] != "full":
                reported = stated_at_once(caption["text"], spoken[kind_of(sample)])
                partners = [claim["actor"] for claim in caption["statements"] if claim["kind"] == "partner"]
                assert not reported or (0 in partners and 1 in partners), caption["text"]
                both.setdefault(caption["kind"], []).append(reported)
    assert {kind: 0.2 < np.mean(found) < 0.8 for kind, found in both.items()} == {"short": True, "narrative": True}


def stated_at_once(text: str, verbs: list[str]) -> bool:
    """Whether a caption ends, or a sentence of it, in what two do at once: nobody else is named behind it."""
    forms = [form for verb in verbs for form in verb_forms(verb, ("does", "doing", "did", "do"))]
    return any(text.endswith(form) or f"{form}." in text for form in forms)


def test_a_thrown_ball_flies_from_hand_to_hand() -> None:
    """The catcher's hands are ahead of it when what was thrown arrives, at the speed that is demanded."""
    thrown = LIBRARY.interactions["throw_and_catch"].beats[0].thrown
    assert thrown is not None
    for i in [i for i in range(SAMPLES) if kind_of(i) == "throw_and_catch"]:
        tempo = float(scenes().tempo[i][scenes().together[i]].min())
        moments = {}
        for who, (name, share) in enumerate((("throwing", thrown.release), ("catching", thrown.caught))):
            action, slot = LIBRARY.action(name), np.flatnonzero(scenes().together[i, who])[0]
            moments[who] = float(scenes().start[i, who, slot]) + (action.enter + share * action.cycle) / tempo
        flight = float(scenes().apart[i, 0]) / thrown.speed
        assert moments[1] - moments[0] == pytest.approx(flight, abs=1e-3)


def test_who_meets_does_so_whatever_else_is_made() -> None:
    alone = posegen.synthesize(config(), [17, 3])
    np.testing.assert_array_equal(alone.joints[1], batch().joints[3])
    np.testing.assert_array_equal(alone.joints[0], batch().joints[17])
    assert alone.rows[1] == batch().rows[3]


def test_the_mirror_of_a_meeting_is_the_meeting_of_the_mirrored() -> None:
    some = plan_scenes(config(), LIBRARY, np.arange(24))
    parameters = draw_parameters(config(), some.sample)
    plain = animate(some, LIBRARY, 250, FPS)
    mirror = animate(apply_variant(some, "mirror", parameters), LIBRARY, 250, FPS)
    far = np.abs(mirror.joints[:, :, :, 0] - mirrored(plain).joints[:, :, :, 0])
    # Sway is drawn for left and right; where people walk and meet is the same.
    assert far.max() < 0.06
    assert np.median(far.max((1, 2, 3))) < 0.03
    met = [i for i in range(24) if LIBRARY.interactions[kind_of(i)].checked_by == "hands"]
    assert all(partners_by_criterion(mirror.joints[i], 0, *span(i), "hands") == [1] for i in met)


def test_one_actor_meets_nobody() -> None:
    one = plan_scenes(posegen.load_config("default"), LIBRARY, np.arange(50))
    assert (one.meets == -1).all()
    assert not one.together.any()


def test_what_is_not_wanted_does_not_happen() -> None:
    only = plan_scenes(config(hug=1.0), LIBRARY, np.arange(30))
    assert {LIBRARY.actions[action] for action in only.action[only.together]} == {"embrace"}
    crowd = posegen.load_config("crowd", ["story.interactions.share=0"])
    assert not plan_scenes(crowd, LIBRARY, np.arange(30)).together.any()

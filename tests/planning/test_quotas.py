"""Quotas: the amounts of all samples together are exact, each sample by itself, and what cannot be met is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import NOTHING
from posegen.library.load import load_library
from posegen.planning.quotas import allot, check_quotas
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.synthesize import MAX_RESAMPLES

LIBRARY = load_library()
GREETINGS = ("wave", "point", "kick")


@pytest.fixture(scope="module")
def config() -> Config:
    return posegen.load_config("quotas", ["variants={speed: null, scale: null, position: null, mirror: true}"])


@pytest.fixture(scope="module")
def rows(config: Config) -> list[dict[str, Any]]:
    """Rows of the base variant of all samples."""
    batch = posegen.synthesize(config, range(config.samples))
    return [row for row in batch.rows if row["variant"] == "base"]


def cells(config: Config) -> np.ndarray:
    """Which entry of `exact` each sample is of; -1 for none."""
    assert config.quotas is not None
    asked = allot(config, LIBRARY, np.arange(config.quotas.total))
    walk, home = LIBRARY.index("walk"), list(LIBRARY.themes).index("home")
    greets = np.isin(asked.action, [LIBRARY.index(name) for name in GREETINGS])
    return np.select([greets, asked.action == walk, asked.theme == home], [0, 1, 2], -1)


def test_the_preset_is_of_as_many_samples_as_it_says(config: Config) -> None:
    assert config.samples == 60
    assert Counter(cells(config).tolist()) == {0: 24, 1: 10, 2: 6, -1: 20}


def test_each_sample_shows_what_its_quota_asks_for(config: Config, rows: list[dict[str, Any]]) -> None:
    of = cells(config)
    first = [row["actors"][0] for row in rows]
    shown = [{segment["action"] for segment in actor["segments"]} for actor in first]
    asked = allot(config, LIBRARY, np.arange(60))
    for i in np.flatnonzero(asked.action != NOTHING):
        assert LIBRARY.actions[asked.action[i]] in shown[i]
    for action in GREETINGS:
        mine = np.flatnonzero(asked.action == LIBRARY.index(action))
        assert len(mine) == 8
        assert sum(first[i]["left_handed"] for i in mine) == 4
    walkers = np.flatnonzero(of == 1)
    assert sum(not first[i]["male"] for i in walkers) == 5
    speeds = [segment["speed"] for i in walkers for segment in first[i]["segments"] if segment["action"] == "walk"]
    assert len(speeds) >= 10
    assert 0.6 < min(speeds) < 0.75
    assert 0.85 < max(speeds) < 1.0
    for i in np.flatnonzero(of == 2):
        assert rows[i]["theme"] == "home"
        assert 60 <= first[i]["age"] <= 75
    assert not any(row["dropped"] for row in rows)


def test_speeds_are_those_of_the_joints() -> None:
    options = [
        "variants={speed: null, scale: null, position: null, mirror: false}",
        "quotas.exact=[{samples: 120, actions: [walk], speed: {min: 1.0, max: 1.1}}]",
    ]
    batch = posegen.synthesize(posegen.load_config("default", options), range(120))
    pelvis, step = batch.joints[:, 0, 0, :, 0, ::2], 12
    for row, where in zip(batch.rows, pelvis, strict=True):
        speeds = []
        for walk in (s for s in row["actors"][0]["segments"] if s["action"] == "walk"):
            way = where[walk["start"] + step : walk["end"]] - where[walk["start"] : walk["end"] - step]
            speeds.append(np.median(np.linalg.norm(way, axis=-1)) / step * 25 if len(way) else 0)
        assert any(0.9999 <= speed <= 1.1001 for speed in speeds), (row["sample"], speeds)
        assert not row["dropped"]
    # Some were resampled for it.
    assert 0 < sum(row["attempt"] > 0 for row in batch.rows) < 60


def test_caps_are_kept(rows: list[dict[str, Any]]) -> None:
    running = [any(s["action"] == "run" for actor in row["actors"] for s in actor["segments"]) for row in rows]
    sad = [any(actor["style"] == "sad" for actor in row["actors"]) for row in rows]
    assert sum(running) <= 12
    assert sum(sad) <= 5


@pytest.mark.parametrize("attempt", range(1, MAX_RESAMPLES + 1))
def test_further_attempts_stay_in_their_quota(config: Config, attempt: int) -> None:
    samples = np.arange(60)
    asked = allot(config, LIBRARY, samples)
    first, again = plan_scenes(config, LIBRARY, samples), plan_scenes(config, LIBRARY, samples, attempt)
    assert not np.array_equal(first.persons.index, again.persons.index)
    wanted = np.flatnonzero(asked.action != NOTHING)
    assert (again.action[wanted, 0] == asked.action[wanted, None]).any(axis=1).all()
    hands = Counter(again.persons.left_handed[cells(config) == 0, 0].tolist())
    assert hands == {True: 12, False: 12}
    barred = ~asked.actions
    assert barred.any()
    for sample, action in np.argwhere(barred):
        assert not (again.action[sample] == action).any()


def test_a_sample_finds_its_quota_by_itself(config: Config, rows: list[dict[str, Any]]) -> None:
    for sample in (59, 0, 31):
        alone = posegen.synthesize(config, [sample]).rows[0]
        assert alone == rows[sample]


def test_a_cap_of_what_is_asked_for_makes_it_exact() -> None:
    quotas = "{samples: 60, exact: [{samples: 6, actions: [wave]}, {samples: 9, theme: dojo}], caps: [%s]}"
    caps = "{samples: 6, action: wave}, {samples: 12, theme: dojo}"
    config = posegen.load_config("default", ["quotas=" + quotas % caps, "variants={speed: null, scale: null, position: null}"])
    rows = [row for row in posegen.synthesize(config, range(60)).rows if row["variant"] == "base"]
    waves = [any(segment["action"] == "wave" for segment in row["actors"][0]["segments"]) for row in rows]
    assert sum(waves) == 6
    assert 9 <= sum(row["theme"] == "dojo" for row in rows) <= 12


def test_everybody_in_a_sample_is_capped() -> None:
    config = posegen.load_config("crowd", ["quotas={samples: 200, caps: [{samples: 20, left_handed: true}]}"])
    scenes = plan_scenes(config, LIBRARY, np.arange(200))
    present = np.arange(3) < scenes.actors[:, None]
    left = (scenes.persons.left_handed & present).any(axis=1)
    assert 1 <= left.sum() <= 20
    for row, actors in zip(scenes.persons.index, scenes.actors, strict=True):
        assert len(set(row[:actors].tolist())) == actors


def test_every_action_can_be_asked_for() -> None:
    names = [name for name in LIBRARY.actions if LIBRARY.action(name).weight and name != "stand"]
    offered = {name for theme in LIBRARY.themes.values() if theme.weight for name, weight in theme.actions.items() if weight}
    names = [name for name in names if name in offered]
    assert len(names) > 40
    actions = "[" + ", ".join(names) + "]"
    config = posegen.load_config("default", [f"quotas={{exact: [{{samples: 4, actions: {actions}}}]}}"])
    check_quotas(config, LIBRARY)
    scenes = plan_scenes(config, LIBRARY, np.arange(config.samples))
    asked = allot(config, LIBRARY, np.arange(config.samples))
    assert (scenes.action[:, 0] == asked.action[:, None]).any(axis=1).all()


def done_together(row: dict[str, Any]) -> set[str]:
    """Names of the actions whose segments claim a partner."""
    segments = [segment for actor in row["actors"] for segment in actor["segments"]]
    return {one["action"] for one in segments if any(claim["kind"] == "partner" for claim in one["statements"])}


MEETINGS = {"handshake": 6, "hug": 6}


def test_meetings_can_be_asked_for_exactly() -> None:
    """So many samples of each, nobody else does them, and who is to do something alone meets nobody."""
    amounts = "exact: [{samples: 6, interactions: [handshake, hug], left_handed: 0.5}, {samples: 5, actions: [clap]}]"
    caps = "caps: [{samples: 6, interaction: hug}, {samples: 6, interaction: handshake}]"
    some = ["story.actors.max=2", f"quotas={{samples: 40, {amounts}, {caps}}}", "variants.mirror=false"]
    plain = posegen.load_config("default", [*some, "variants={speed: null, scale: null, position: null, mirror: false}"])
    made = posegen.synthesize(plain, range(40))
    asked = allot(plain, LIBRARY, np.arange(40))
    done, names = Counter[str](), list(LIBRARY.interactions)
    for i, row in enumerate(made.rows):
        assert not row["dropped"], row
        with_partner = done_together(row)
        if asked.interaction[i] != NOTHING:
            done[names[asked.interaction[i]]] += 1
            assert len(row["actors"]) == 2
            assert with_partner == set(LIBRARY.interactions[names[asked.interaction[i]]].actions)
        elif asked.action[i] != NOTHING:
            assert not with_partner
        else:
            assert not with_partner & {"shake_hands", "embrace"}
    assert done == MEETINGS
    hands = [made.rows[i]["actors"][0]["left_handed"] for i in np.flatnonzero(asked.interaction == names.index("hug"))]
    assert sum(hands) == 3
    others = np.flatnonzero((asked.interaction == NOTHING) & (asked.action == NOTHING))
    partners = [
        any(claim["kind"] == "partner" for caption in made.rows[i]["captions"] for claim in caption["statements"])
        for i in others
    ]
    # What is drawn by the weights meets as without quotas.
    assert any(partners)
    assert not all(partners)


def test_every_interaction_is_met_exactly() -> None:
    names = list(LIBRARY.interactions)
    some = ["story.actors.max=2", "frames=300", f"quotas={{exact: [{{samples: 50, interactions: [{', '.join(names)}]}}]}}"]
    found = posegen.synthesize(posegen.load_config("default", some), range(50 * len(names)))
    rows = [row for row in found.rows if row["variant"] == "base"]
    assert not [row for row in rows if any(entry["kind"] == "quota" for entry in row["dropped"])]
    met: Counter[str] = Counter()
    for row in rows:
        with_partner = done_together(row)
        met.update(name for name, each in LIBRARY.interactions.items() if with_partner & set(each.actions))
        # Bodies that do not fit, or a caption that does not show, take further attempts; the interaction itself shows at once.
    assert all(met[name] >= 50 for name in names), met
    assert np.mean([row["attempt"] for row in rows]) < 0.6


def test_who_may_not_walk_meets_nobody() -> None:
    options = [
        "story.actors={min: 2, max: 2}",
        "story.interactions.share=1",
        "quotas={samples: 60, caps: [{samples: 20, action: walk}]}",
    ]
    scenes = plan_scenes(posegen.load_config("default", options), LIBRARY, np.arange(60))
    walks = (scenes.action == LIBRARY.index("walk")).any(axis=(1, 2))
    assert 0 < walks.sum() <= 20
    assert 0 < (scenes.meets >= 0).sum() <= 20


TWO = "story.actors.max=2"
EXACT = "quotas.exact=[{%s}]"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ([EXACT % "samples: 4, actions: [wafe]"], "quotas.exact[0].actions: unknown action 'wafe'; did you mean 'wave'?"),
        ([EXACT % "samples: 4, theme: hom"], "quotas.exact[0].theme: unknown theme 'hom'; did you mean 'home'?"),
        ([EXACT % "samples: 5, left_handed: 0.5"], "left_handed 0.5 of 5 samples are no whole number"),
        ([EXACT % "samples: 4, speed: {min: 1, max: 2}"], "speed is that of an action; name some under actions"),
        ([EXACT % "samples: 4, actions: [wave], speed: {min: 1, max: 2}"], "'wave' is not a gait; leave the speed out"),
        ([EXACT % "samples: 4, actions: [walk], speed: {min: 1, max: 3}"], "quotas.exact[0].speed: 1 to 3 m/s is not within"),
        ([EXACT % "samples: 4, actions: [walk], side: left"], "quotas.exact[0].side: 'walk' has no side"),
        ([EXACT % "samples: 4, actions: [typing], theme: dojo"], "'typing' does not occur in the theme 'dojo'"),
        ([EXACT % "samples: 4, theme: home", "story.themes={dojo: 1}"], "'home' does not occur; give it a weight"),
        ([EXACT % "samples: 4, actions: [walk]", "story.actions={walk: 0}"], "'walk' does not occur in any theme"),
        ([EXACT % "samples: 4, style: old", "population.styles={neutral: 1}"], "'old' does not occur; give it a weight"),
        ([EXACT % "samples: 4, left_handed: 1", "population.left_handed=0"], "asks for left_handed true, but none of 1,000"),
        ([EXACT % "samples: 4, age: {min: 80, max: 90}"], "asks for age 80 to 90, but none of 1,000 persons matches"),
        ([EXACT % "samples: 4", "samples=5"], "samples: is 5, and the quotas define 4; lower it"),
        ([EXACT % "samples: 4", "quotas.samples=3"], "exact asks for 4 samples, and samples is 3"),
        (["quotas={}"], "asks for nothing"),
        (["quotas={samples: 9, caps: [{samples: 2}]}"], "must name one of action, interaction, theme, style"),
        (["quotas={samples: 9, caps: [{samples: 2, theme: dojo}]}", "story.themes={dojo: 1}"], "cap every theme that may"),
        (["quotas={samples: 9, caps: [{samples: 2, left_handed: false}]}", "population.left_handed=0"], "leave 0 persons"),
        (
            [EXACT % "samples: 4, actions: [run]", "quotas.caps=[{samples: 2, action: run}]", "quotas.samples=9"],
            "quotas.caps[0].samples: is 2, and exact asks for 4 samples with 'run'; raise it",
        ),
        ([EXACT % "samples: 4, actions: [stairs_up]", "frames=25"], "'stairs_up' takes"),
        ([EXACT % "samples: 4, interactions: [hug]"], "quotas.exact[0].interactions: need two actors; set story.actors.max to"),
        ([EXACT % "samples: 4, interactions: [hugg]", TWO], "unknown interaction 'hugg'; did you mean 'hug'?"),
        ([EXACT % "samples: 4, interactions: [hug, hug]", TWO], "quotas.exact[0].interactions: has hug twice; name each once"),
        ([EXACT % "samples: 4, interactions: [hug], actions: [wave]", TWO], "make two entries"),
        ([EXACT % "samples: 4, interactions: [hug], side: left", TWO], "side is that of an action"),
        ([EXACT % "samples: 4, interactions: [hug]", TWO, "story.interactions={weights: {hug: 0}}"], "'hug' does not occur;"),
        ([EXACT % "samples: 4, interactions: [throw_and_catch]", TWO, "frames=150"], "'throw_and_catch' may take"),
        (
            [EXACT % "samples: 4, interactions: [hug]", TWO, "quotas.samples=9", "quotas.caps=[{samples: 5, action: walk}]"],
            "'hug' may include 'walk', which is capped under quotas.caps",
        ),
        (["quotas={samples: 9, caps: [{samples: 2, action: stand}]}"], "'stand' is between and under other actions"),
        (
            [EXACT % "samples: 4, interactions: [hug]", TWO, "quotas.caps=[{samples: 2, interaction: hug}]"],
            "quotas.caps[0].samples: is 2, and exact asks for 4 samples with 'hug'; raise it",
        ),
        (
            [EXACT % "samples: 4, interactions: [hug], age: {min: 6, max: 8}", TWO, "population.age={min: 6, max: 70}"],
            "of the possible pairs of persons have bodies that fit for 'hug'",
        ),
    ],
)
def test_what_cannot_be_met_is_refused(options: list[str], reported: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_quotas(posegen.load_config("default", options), LIBRARY)
    assert reported in str(caught.value)


def test_more_than_there_can_be_is_refused_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, reported in (
        (["--samples", "61"], "samples: is 61, and the quotas define 60"),
        (["--set", "population.left_handed=0"], "asks for left_handed true"),
    ):
        assert main(["generate", "--config", "quotas", "--out", str(tmp_path / "there"), *options]) == 2
        assert reported in capsys.readouterr().err
        assert not (tmp_path / "there").exists()
    with pytest.raises(UsageError, match="sample 60 does not exist: the quotas define 60 samples"):
        posegen.synthesize(posegen.load_config("quotas"), [3, 60])

"""The library: what its files are parsed to, and how faults in them are reported."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import posegen.library
from posegen.foundations.errors import UsageError
from posegen.library.load import Library, load_library, read_library, read_words, take_library
from posegen.library.schema import KINDS
from posegen.library.stories import InteractionFile, Style

STANDING = """
family: standing
actions:
  stand: {parts: [legs, trunk], duration: [1, 3]}
  bow: {parts: [trunk], cycle: 2, repetitions: [1, 2], pose: {trunk_flexion: 40}}
"""
GESTURES = """
family: gestures
actions:
  wave: {parts: [near_arm], layered: true, sided: true, enter: .5, exit: .5, cycle: .6, repetitions: [3, 7],
         pose: {near_elbow_flexion: 80}}
"""
THEMES = """
themes:
  street: {actions: {stand: 1, wave: 2.0}}
  park: {actions: {stand: 1}, weight: 2}
"""
WORDS = (Path(posegen.library.__file__).parent / "words/en.yaml").read_text("utf-8")
NUDGING = "actions: {nudge: {verbs: [nudges|nudging|nudged|nudge]}}"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    write(folder / "actions/standing.yaml", STANDING)
    write(folder / "actions/gestures.yaml", GESTURES)
    write(folder / "themes.yaml", THEMES)
    write(folder / "words/en.yaml", WORDS)
    return folder


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path


def message_of(base: Path, addition: Path | None = None) -> str:
    with pytest.raises(UsageError) as refused:
        read_library(base, addition)
    return str(refused.value)


def check_message(message: str, file: Path, key: str, reason: str) -> None:
    assert message.startswith(f"{file}: {key}: ")
    assert reason in message
    assert "\n" not in message


def test_what_the_files_say(base: Path) -> None:
    library = read_library(base)
    assert library.actions == ("bow", "stand", "wave")
    assert [library.index(name) for name in library.actions] == [0, 1, 2]
    assert library.action("wave").pose == {"near_elbow_flexion": 80.0}
    assert library.families == {"gestures": ("wave",), "standing": ("bow", "stand")}
    assert list(library.themes) == ["park", "street"]
    assert library.themes["street"].actions == {"stand": 1.0, "wave": 2.0}
    assert library.words["actions"]["wave"]["verbs"][0] == "waves|waving|waved|wave"


def test_unknown_actions_are_refused(base: Path) -> None:
    library = read_library(base)
    for look_up in (library.action, library.index):
        with pytest.raises(UsageError, match="unknown action 'wve'; did you mean 'wave'"):
            look_up("wve")


def test_data_do_not_depend_on_the_order_or_comments_of_files(base: Path) -> None:
    before = read_library(base).as_data()
    turned = "actions:\n  bow: {pose: {trunk_flexion: 40.0}, repetitions: [1, 2], cycle: 2.0, parts: [trunk]}\n"
    write(
        base / "actions/standing.yaml",
        f"{turned}  stand: {{duration: [1., 3], parts: [legs, trunk]}} # still\nfamily: standing",
    )
    (base / "actions/gestures.yaml").rename(base / "actions/zzz.yaml")
    assert read_library(base).as_data() == before


def test_data_hold_everything(base: Path) -> None:
    before = read_library(base).as_data()
    write(base / "actions/gestures.yaml", GESTURES.replace("80", "81"))
    assert read_library(base).as_data() != before
    write(base / "actions/gestures.yaml", GESTURES)
    write(base / "themes.yaml", THEMES.replace("2.0", "2.1"))
    assert read_library(base).as_data() != before
    write(base / "themes.yaml", THEMES)
    write(base / "words/en.yaml", WORDS.replace("waves|waving|waved|wave,", "beckons|beckoning|beckoned|beckon,"))
    assert read_library(base).as_data() != before


def test_a_user_adds_and_replaces(base: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    write(
        mine / "a.yaml",
        "family: odd\nactions: {nudge: {parts: [head], duration: [1, 2]}, wave: {parts: [head], duration: [1, 1]}}",
    )
    write(mine / "words/en.yaml", NUDGING)
    library = read_library(base, mine)
    assert library.actions == ("bow", "nudge", "stand", "wave")
    assert library.action("wave").parts == ["head"]
    assert library.families == {"odd": ("nudge", "wave"), "standing": ("bow", "stand")}
    words = read_library(base).words
    assert library.words == words | {"actions": words["actions"] | {"nudge": {"verbs": ["nudges|nudging|nudged|nudge"]}}}


def test_a_user_may_bring_themes_and_words(base: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    write(mine / "a.yaml", "family: odd\nactions: {nudge: {parts: [head], duration: [1, 2]}}")
    write(mine / "themes.yaml", "themes: {park: {actions: {nudge: 1}}, hall: {actions: {stand: 1, nudge: 1}}}")
    write(
        mine / "words/en.yaml", "language: mine\nactions: {nudge: {verbs: [nudges|nudging|nudged|nudge]}, wave: {count: false}}"
    )
    library = read_library(base, mine)
    assert list(library.themes) == ["hall", "park", "street"]
    assert library.themes["park"].actions == {"nudge": 1.0}
    before = read_library(base).words
    assert library.words["language"] == "mine"
    assert library.words["actions"]["nudge"] == {"verbs": ["nudges|nudging|nudged|nudge"]}
    assert library.words["actions"]["wave"] == before["actions"]["wave"] | {"count": False}
    assert library.words["joining"] == before["joining"]


def test_one_family_may_have_several_files(base: Path) -> None:
    write(base / "actions/more.yaml", "family: standing\nactions: {squat: {parts: [legs], duration: [1, 2]}}")
    assert read_library(base).families["standing"] == ("bow", "squat", "stand")


STAND = "parts: [legs], duration: [1, 2]"
HAND = "pose: {far_hand_aside: 0, far_hand_up: 0, far_hand_forward: 0, far_hand_reach: 1}"
WALKING = "support: gait, gait: walk, speed: [1, 2]"


@pytest.mark.parametrize(
    ("keys", "key", "reason"),
    [
        ("support: gait, gait: walk", "speed", "is missing"),
        ("support: gait, speed: [1, 2]", "gait", "is missing"),
        ("support: gaid", "support", "must be 'planted', 'gait', 'flight', 'seat' or 'floor' (got 'gaid')"),
        ("gait: walk", "", "`gait` goes with support: gait"),
        ("speed: [1, 2]", "", "`speed` goes with support: gait or floor"),
        ("support: flight", "flight", "is missing"),
        ("support: seat, lifts: []", "", "`lifts` goes with support: planted or flight or floor"),
        ("support: gait, gait: walk, speed: [1, 2], gait_style: {holdz: []}", "gait_style.holdz", "unknown key"),
        ("pose: {near_hand_reach: 2}", "", "near_hand_reach is a share, from 0 to 1 (got 2)"),
        ("pose: {near_hand_up: 60}", "", "in arm lengths, from -3 to 3 (got 60)"),
        ("pose: {near_hand_reach: 1, near_hand_up: .5}", "", "`pose` lacks near_hand_aside, near_hand_forward: add the"),
        ("enter_keys: [{at: 1, pose: {both_hand_up: 0}}]", "", "`pose` lacks near_hand_aside, near_hand_up, near_hand_forward"),
        ("pose: {far_hand_up: 0, far_hand_aside: 0, far_hand_forward: .5}", "", "far_hand_reach is missing: add the weight of"),
        ("anchors: {near: knee}", "anchors.near", "must be 'chest', 'head'"),
        ("gait_style: {cadence: 1.2}", "", "`gait_style` goes with support: gait"),
        ("ranges: {knee_flexoin: {max: 160, source: A}}", "", "'knee_flexoin' is not an angle with a range; did you mean"),
        ("ranges: {near_knee_flexion: {max: 160, source: A}}", "", "'near_knee_flexion' is not an angle with a range"),
        ("ranges: {knee_flexion: {max: 140, source: A}}", "", "knee_flexion is not widened: its usual range is 0 to 150"),
        ("ranges: {knee_flexion: {min: 5, source: A}}", "", "knee_flexion is not widened"),
        ("ranges: {knee_flexion: {source: A}}", "", "knee_flexion needs `min` or `max`"),
        ("ranges: {knee_flexion: {max: 160}}", "ranges.knee_flexion.source", "is missing"),
        ("weight: -1", "weight", "at least 0"),
        ("pose: {knee: 3}", "", "unknown channel 'knee'"),
        ("enter_keys: [{at: 2, pose: {}}]", "enter_keys[0].at", "at most 1 (got 2)"),
        ("enter_keys: [{at: 1, pose: {}, thru: true}]", "enter_keys[0].thru", "did you mean 'actions.x.enter_keys[0].through'"),
        ("enter_keys: [{at: 1}]", "enter_keys[0].pose", "is missing"),
        ("pose: {near_knee_flexoin: 3}", "", "did you mean 'near_knee_flexion'"),
        ("pose: {root_height: -30}", "", "in leg lengths, from -2 to 2 (got -30)"),
        ("pose: {neck_flexion: 1e9}", "", "in degrees, from -360 to 360"),
        ("enter: 600", "enter", "at most 60 (got 600)"),
        ("harmonics: {neck_flexion: {sin: [1, 2, 3, 4, 5]}}", "harmonics.neck_flexion.sin", "at most 4 entries"),
        ("layered: true, enter: 1", "", "needs `enter` and `exit`"),
    ],
)
def test_bad_keys_of_an_action(base: Path, keys: str, key: str, reason: str) -> None:
    file = write(base / "actions/more.yaml", f"family: a\nactions: {{x: {{{STAND}, {keys}}}}}")
    check_message(message_of(base), file, f"actions.x.{key}".rstrip("."), reason)


POSTURE = "styles: {limp: {posture: "
FAULTS = {
    "actions/more.yaml": [
        (
            "family: a\nactions: {x: {parts: [legs], durations: [1, 2]}}",
            "actions.x.durations",
            "did you mean 'actions.x.duration'",
        ),
        ("family: a\nactions: {x: {parts: [leg], duration: [1, 2]}}", "actions.x.parts[0]", "must be 'legs', 'trunk'"),
        ("family: a\nactions: {x: {duration: [1, 2]}}", "actions.x.parts", "is missing"),
        ("family: a\nactions: {x: {parts: [legs], duration: [2, 1]}}", "actions.x.duration", "from the smaller to the larger"),
        ("family: a\nactions: {x: {parts: [legs], duration: [1, .nan]}}", "actions.x.duration[1]", "finite number"),
        ("family: a\nactions: {x: {parts: [legs]}}", "actions.x", "either `duration` or `repetitions`"),
        (
            f"family: a\nactions: {{x: {{{STAND}, {WALKING}, exit_keys: [{{at: 1, pose: {{}}}}]}}}}",
            "actions.x",
            "`exit_keys` goes with support: planted or flight or seat or floor",
        ),
        (f"family: a\nactions: {{x: {{{STAND}, {WALKING}, gait_style: {{direction: sideways}}}}}}", "actions.x", "is `sided`"),
        ("family: a\nactions: {x: {parts: [legs], duration: [0, 2]}}", "actions.x.duration[0]", "at least 0.1"),
        ("family: a\nactions: {x: {parts: [legs], cycle: 1, repetitions: [0, 1]}}", "actions.x.repetitions[0]", "at least 1"),
        ("family: a\nactions: {x: {parts: [legs], cycle: 1e-9, repetitions: [1, 1]}}", "actions.x", "`cycle` of at least 0.1"),
        (f"family: a\nactions: {{{'x' * 65}: {{{STAND}}}}}", "actions", "is not a valid name"),
        (
            f"family: a\nactions: {{x: {{{STAND}, layered: true, sided: true, enter: 1, exit: 1, {HAND}}}}}",
            "actions.x",
            "far_hand_aside moves the far arm, which is not among `parts`: add far_arm",
        ),
        ("actions: {}", "family", "is missing"),
        ("famly: a\nfamily: b\nactions: {}", "famly", "did you mean 'family'"),
        ("family: a\nactions: [x]", "actions", "group of keys"),
        (f"family: a\nactions: {{Big Wave: {{{STAND}}}}}", "actions", "'Big Wave' is not a valid name"),
        (f"family: a\nactions: {{wave: {{{STAND}}}}}", "actions.wave", "is already in"),
    ],
    "themes.yaml": [
        ("themes: {street: {actions: {wve: 1}}}", "themes.street.actions.wve", "unknown action; did you mean 'wave'?"),
        ("themes: {street: {actions: {zzzz: 1}}}", "themes.street.actions.zzzz", "there are bow, stand, wave"),
        ("themes: {street: {actions: {stand: -1}}}", "themes.street.actions.stand", "at least 0"),
        ("themes: {street: {actions: {stand: 0}}}", "themes.street.actions", "above 0"),
        ("themes: {street: {actions: {}}}", "themes.street.actions", "above 0"),
        ("themes: {street: {actions: {stand: 1}, weight: 0}}", "themes", "above 0"),
        ("themes: {}", "themes", "above 0"),
        (
            "themes: {street: {action: {stand: 1}, actions: {stand: 1}}}",
            "themes.street.action",
            "did you mean 'themes.street.actions'",
        ),
        ("street: {actions: {stand: 1}}\nthemes: {}", "street", "unknown key"),
    ],
    "styles.yaml": [
        ("styles: {neutral: {tempo: 1.1}}", "styles.neutral", "is reserved for persons without a style"),
        ("styles: {Grim: {}}", "styles", "'Grim' is not a valid name"),
        ("styles: {grim: {tmpo: 1}}", "styles.grim.tmpo", "did you mean 'styles.grim.tempo'"),
        ("styles: {grim: {speed: 3}}", "styles.grim.speed", "at most 1.5"),
        ("styles: {}\nstyle: {}", "style", "did you mean 'styles'"),
        (POSTURE + "{both_elbow_flexio: 3}}}", "styles.limp", "did you mean 'both_elbow_flexion'"),
        (POSTURE + "{trunk_lateral: 3}}}", "styles.limp", "trunk_lateral is not a posture"),
        (POSTURE + "{near_elbow_flexion: 3}}}", "styles.limp", "near_elbow_flexion is not a posture"),
        (POSTURE + "{root_height: 0.1}}}", "styles.limp", "root_height is not a posture"),
        (POSTURE + "{trunk_flexion: 50}}}", "styles.limp", "must be between -45 and 45 degrees (got 50)"),
        (POSTURE + "{both_knee_flexion: 5}}}", "styles.limp", "feet would not be flat"),
    ],
}
"""Contents of files that are refused, with the key and the reason of the message."""


@pytest.mark.parametrize(
    ("name", "content", "key", "reason"), [(name, *each) for name, faults in FAULTS.items() for each in faults]
)
def test_bad_files(base: Path, name: str, content: str, key: str, reason: str) -> None:
    file = write(base / name, content)
    check_message(message_of(base), file, key, reason)


@pytest.mark.parametrize(
    ("content", "key", "reason"),
    [
        (NUDGING.replace("nudge", "noodge"), "actions.nudge", "is missing; give the action words"),
        ("actions: {nudge: {verbs: []}}", "actions.nudge.verbs", "at least 1 entries (got [])"),
        ("actions: {nudge: {verbs: nudges}}", "actions.nudge.verbs", "must be a list"),
        ("actions: {nudge: {verbs: [nudges]}}", "actions.nudge.verbs[0]", "'nudges' has no verb; give its forms"),
        ("actions: {nudge: {verbs: [nudges|nudging]}}", "actions.nudge.verbs[0]", "'nudges|nudging' must have the 4 forms"),
        ("actions: {nudge: {verbs: [5]}}", "actions.nudge.verbs[0]", "must be text (got 5)"),
        (NUDGING + '\nshort: ["{subject} {dose}"]', "short[0]", "{dose} is unknown; there are {subject}, {place}"),
        (NUDGING + '\nshort: ["{subject} nudges"]', "short[0]", "must have one of {does}, {doing}"),
        (NUDGING + "\njoining: {then: []}", "joining.then", "at least 1 entries"),
        (NUDGING + "\njoining: {than: [x]}", "joining.than", "did you mean 'joining.then'"),
        (NUDGING + "\nsubjects: {man: no one}", "subjects.man", "must be a list"),
        (NUDGING + "\nseveral: {numbered: [a, b]}", "several.numbered", "at least 8 entries"),
        (NUDGING + "\ndetails: [[colour]]", "details[0][0]", "must be 'side', 'direction'"),
        (NUDGING + f"\nshort: [{'x' * 501}]", "short[0]", "at most 500 characters"),
    ],
)
def test_bad_words(base: Path, tmp_path: Path, content: str, key: str, reason: str) -> None:
    write(tmp_path / "mine/a.yaml", "family: odd\nactions: {nudge: {parts: [head], duration: [1, 2]}}")
    file = write(tmp_path / "mine/words/en.yaml", content)
    check_message(message_of(base, tmp_path / "mine"), file, key, reason)


def test_a_user_adds_a_style_without_code(base: Path, tmp_path: Path) -> None:
    before = read_library(base)
    assert list(before.styles) == ["neutral"]
    mine = tmp_path / "mine"
    write(mine / "styles.yaml", "styles: {grim: {speed: 0.9}, bold: {posture: {both_knee_flexion: 4, both_hip_flexion: 4}}}")
    assert message_of(base, mine).startswith(
        f"{mine / 'words/en.yaml'}: styles.bold: is missing; give the style `subjects` and"
    )
    who = "{person: [a], boy: [a], girl: [a], man: [a], woman: [a], older_man: [a], older_woman: [a]}"
    words = "{subjects: " + who + ", manner: [so]}"
    write(mine / "words/en.yaml", f"styles: {{grim: {words}, bold: {words}}}")
    library = read_library(base, mine)
    assert list(library.styles) == ["neutral", "bold", "grim"]
    assert library.styles["grim"].speed == 0.9
    assert library.as_data()["styles"]["bold"]["posture"] == {"both_knee_flexion": 4.0, "both_hip_flexion": 4.0}
    assert library.as_data() != before.as_data()


def test_a_seat_needs_words_for_what_is_done_on_it(base: Path, tmp_path: Path) -> None:
    write(tmp_path / "mine/a.yaml", "family: odd\nactions: {nudge: {parts: [legs], support: seat, duration: [1, 2]}}")
    file = write(tmp_path / "mine/words/en.yaml", NUDGING)
    assert message_of(base, tmp_path / "mine").startswith(f"{file}: actions.nudge.during: is missing")


def test_links_that_lead_nowhere_are_not_overlooked(base: Path, tmp_path: Path) -> None:
    write(tmp_path / "mine/a.yaml", "family: odd\nactions: {nudge: {parts: [head], duration: [1, 2]}}")
    write(tmp_path / "mine/words/en.yaml", NUDGING)
    (tmp_path / "mine/themes.yaml").symlink_to("themes.yaml")
    assert message_of(base, tmp_path / "mine").startswith(f"{tmp_path / 'mine/themes.yaml'}: cannot be read")


def test_a_theme_needs_no_action_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "mine/themes.yaml", "themes: {few: {actions: {walk: 2, wave: 1}}}")
    assert load_library(tmp_path / "mine").themes["few"].actions == {"walk": 2, "wave": 1}


def test_files_that_are_not_there(base: Path, tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.mkdir()
    assert message_of(base, missing).startswith(f"{missing}: there is no such folder")
    assert message_of(base, empty).startswith(f"{empty}: has no action file")
    write(base / "words/en.yaml", "- a list")
    assert message_of(base) == f"{base / 'words/en.yaml'}: must be a group of keys (got ['a list'])"
    (base / "words/en.yaml").unlink()
    assert message_of(base).startswith(f"{base / 'words/en.yaml'}: cannot be read")


def test_data_have_the_former_names_of_keys() -> None:
    """The identities of datasets of earlier versions depend on them, and on keys that the support of an action excludes."""
    data = load_library().as_data()
    moved = "enter_keys cycle_keys exit_keys flight lifts touches travel harmonics pose offsets anchors strategies stances"
    others = (
        "parts layered sided support gait manner speed turn duration enter exit cycle repetitions signs ranges object weight"
    )
    assert {frozenset(action) for action in data["actions"].values()} == {frozenset(f"{moved} {others} usual freedom".split())}
    keys = "seen arms metres aside unlike behind beats rounds hold weight"
    assert {" ".join(sorted(each)) for each in data["interactions"].values()} == {" ".join(sorted(keys.split()))}
    assert data["actions"]["sneak"]["manner"]["holds"] == ["left_arm", "right_arm", "trunk"]


def test_posegens_own() -> None:
    library = load_library()
    assert isinstance(library, Library)
    assert {"stand", "walk", "run", "jump", "turn", "wave", "sit"} <= set(library.actions)
    assert set(library.words["actions"]) >= set(library.actions)
    assert library.actions == tuple(sorted(library.actions))
    reached = {name for theme in library.themes.values() for name in theme.actions}
    reached |= {name for interaction in library.interactions.values() for name in interaction.actions}
    assert reached == set(library.actions)


def test_it_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "mine/a.yaml", "family: odd\nactions: {nudge: {parts: [head], duration: [1, 2]}}")
    write(tmp_path / "mine/words/en.yaml", NUDGING)
    first = load_library(tmp_path / "mine")
    assert load_library(tmp_path / "other/../mine") is first
    assert load_library() is load_library()
    assert read_words() == load_library().words
    assert read_words(tmp_path / "mine") == first.words
    assert set(first.actions) == {*load_library().actions, "nudge"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("more.yml", "more.yml: is not read; rename it to more.yaml"),
        ("actions/more.yml", "more.yml: is not read; rename it to more.yaml"),
        ("words/en.yml", "en.yml: is not read; rename it to en.yaml"),
        ("actions/themes.yaml", "is not read there; move it to "),
    ],
)
def test_files_that_would_not_be_read_are_refused(base: Path, tmp_path: Path, name: str, message: str) -> None:
    own = tmp_path / "own"
    own.mkdir(exist_ok=True)
    write(own / "moves.yaml", "family: own\nactions: {}")
    (own / name).parent.mkdir(exist_ok=True)
    write(own / name, "{}")
    assert message in message_of(base, own)


def test_action_files_may_lie_in_a_subfolder(base: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "actions").mkdir(parents=True)
    file = next((base / "actions").glob("*.yaml"))
    shutil.copy(file, own / "actions" / "mine.yaml")
    assert read_library(base, own).as_data() == read_library(base).as_data()
    shutil.copy(file, own / "same.yaml")
    assert "is already in" in message_of(base, own)


STANCE = """
family: kicks
actions:
  kick:
    {parts: [legs], sided: true, enter: 1, exit: 1, cycle: 2, repetitions: [1, 2], pose: {root_forward: .1},
     lifts: [{foot: near, begin: .2, end: .8}],
     cycle_keys: [{at: .5, pose: {near_foot_up: .4, near_foot_forward: .5, root_forward: .3}}],
     strategies: {low: {weight: 3, cycle_keys: [{at: .5, pose: {near_foot_up: .2}}]}},
     stances: {ahead: {weight: .25, forward: .2, OUT}}}
"""
OUT = "out: {foot: far, stage: enter, begin: .1, end: .9}, back: {foot: far, stage: exit, begin: .2, end: .8}"


def test_strategies_are_also_performed_in_each_stance(base: Path) -> None:
    write(base / "actions/kicks.yaml", STANCE.replace("OUT", OUT))
    kick = read_library(base).action("kick")
    assert kick.weights == (0.75, 2.25, 0.25, 0.75)
    stood = kick.performances[2]
    assert stood.pose == {"root_forward": 0.2, "root_lateral": 0.0, "far_foot_forward": 0.2, "far_foot_aside": 0.0}
    assert [(key.at, key.pose["far_foot_forward"]) for key in stood.enter_keys] == [(0.1, 0.0), (0.9, 0.2)]
    assert [(key.at, key.pose["far_foot_forward"]) for key in stood.exit_keys] == [(0.2, 0.2), (0.8, 0.0)]
    assert stood.cycle_keys[0].pose == {
        "near_foot_up": 0.4,
        "near_foot_forward": pytest.approx(0.6),
        "root_forward": pytest.approx(0.4),
    }
    assert [lift.foot for lift in stood.lifts] == ["near", "far", "far"]


def test_a_strategy_takes_no_stance_of_a_foot_that_it_lifts(base: Path) -> None:
    write(base / "actions/kicks.yaml", STANCE.replace("OUT", OUT.replace("foot: far", "foot: near")))
    assert len(read_library(base).action("kick").performances) == 2


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (OUT.replace("foot: far, stage: exit", "foot: near, stage: exit"), "lift the same foot"),
        (OUT.replace("stage: exit, ", ""), "`back` in `exit`"),
        (OUT + "}, wide: {weight: .45, " + OUT + "}, wider: {weight: .45, " + OUT, "add up to less than 1"),
    ],
)
def test_a_stance_that_cannot_be_taken_is_refused(base: Path, given: str, reason: str) -> None:
    write(base / "actions/kicks.yaml", STANCE.replace("OUT", given))
    assert reason in message_of(base)


@pytest.mark.parametrize(
    ("where", "name"),
    [("pose: {%s: %g}", "actions.wave"), ("cycle_keys: [{at: 0.5, pose: {%s: %g}}]", "actions.wave")],
)
@pytest.mark.parametrize(
    ("channel", "value", "range_", "stated"),
    [
        ("near_elbow_flexion", 215, "0 to 150", "elbow_flexion: {max: 215"),
        ("both_shoulder_abduction", -80, "-30 to 184", "shoulder_abduction: {min: -80"),
        ("neck_rotation", 120.5, "-80 to 80", "neck_rotation: {max: 121"),
    ],
)
def test_angles_outside_the_range_of_their_joint_are_refused(
    base: Path, where: str, name: str, channel: str, value: float, range_: str, stated: str
) -> None:
    posed = where % (channel, value)
    text = GESTURES.replace("pose: {near_elbow_flexion: 80}", posed)
    write(base / "actions/gestures.yaml", text)
    outside = f"{name}: {channel} is {value:g} degrees, outside its range {range_}"
    assert f"{outside}: correct it, or state `ranges: {{{stated}" in message_of(base)
    angle, end = stated.split(": {")
    write(base / "actions/gestures.yaml", text.replace(posed, f"{posed}, ranges: {{{angle}: {{{end}, source: a book}}}}"))
    assert "wave" in read_library(base).actions


POSED = "pose: {near_elbow_flexion: 80}"


@pytest.mark.parametrize(
    ("old", "new", "degrees"),
    [
        ("pose:", "harmonics: {near_elbow_flexion: {cos: [60], sin: [0, 30]}}, pose:", 170),
        (POSED, "harmonics: {near_elbow_flexion: {sin: [40]}}, cycle_keys: [{at: 0.5, pose: {near_elbow_flexion: 130}}]", 170),
        (POSED, "harmonics: {near_elbow_flexion: {cos: [150]}}", -150),  # added to another action
        ("pose:", "strategies: {far: {pose: {near_elbow_flexion: 215}}}, pose:", 215),
    ],
)
def test_movement_outside_the_range_of_a_joint_is_refused(base: Path, old: str, new: str, degrees: int) -> None:
    moved = GESTURES.replace(old, new)
    for text in (moved, moved.replace("layered: true, ", "")):
        write(base / "actions/gestures.yaml", text)
        assert f"near_elbow_flexion is {degrees} degrees, outside its range 0 to 150" in message_of(base)


def test_a_library_of_another_process_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("not: valid", encoding="utf-8")
    library = pickle.loads(pickle.dumps(load_library()))
    take_library(tmp_path, library)
    assert load_library(tmp_path) is library
    assert library.as_data() == load_library().as_data()


UNITLESS = {"weight", "cadence", "stance", "limp", "variation", "max_stature_ratio"}
"""Weights, factors, and shares with other bounds than 0 and 1."""
CHANNELS = {"pose", "offsets", "cos", "sin", "posture", "actions"}
"""Mappings of channels, whose units :mod:`posegen.library.channels` has, and of weights."""


@pytest.mark.parametrize("model", [*KINDS.values(), InteractionFile])
def test_the_schema_states_the_unit_of_each_number(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    for definition in (schema, *schema["$defs"].values()):
        for key, value in definition.get("properties", {}).items():
            units = set(units_in(value))
            assert len(units) <= 1 or key == "flight", key  # seconds, and shares of the cycle
            assert None not in units or key in UNITLESS | CHANNELS, key


def units_in(node: Any) -> Iterator[str | None]:
    """Units of all numbers below a node of a schema."""
    if isinstance(node, dict) and node.get("type") == "number":
        yield node.get("unit")
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from units_in(each)


def test_lengths_of_styles_have_a_unit() -> None:
    units = {key: set(units_in(value)) for key, value in Style.model_json_schema()["properties"].items()}
    assert units["bounce"] == units["sideways"] == {"leg lengths"}
    assert units["width"] == units["clearance"] == {"metres"}

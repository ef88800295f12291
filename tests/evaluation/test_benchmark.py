"""The benchmark of text-to-motion: its set of prompts is frozen, and its judge sees what the joints show."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.story.contrasts import AGREEMENT, agreement, clips
from posegen.cli.main import main
from posegen.evaluation.benchmark import KINDS, Prompt, identity_of, judge_motion, make_prompts, read_prompts, write_prompts
from posegen.foundations.errors import UsageError
from posegen.library.load import load_library
from posegen.synthesis.composition import compose

FPS = 25.0
LIBRARY = load_library()
CONFIG = """
name: own
seed: 1
subjects: [a person]
others: [waves]
pairs: {side: 1}
contrasts: [{kind: side, about: arm, values: {left: left, right: right}, texts: ["{subject} waves with the {0} hand"]}]
"""


@pytest.fixture(scope="module")
def standard() -> list[Prompt]:
    return make_prompts()


def prompt(kind: str, about: str, value: str) -> Prompt:
    return Prompt.model_validate({"id": "a", "kind": kind, "text": "", "contrast": "b", "about": about, "value": value})


def shown(text: str) -> NDArray[np.float32]:
    return np.asarray(compose(text).joints[0])


def test_the_standard_set_is_frozen(standard: list[Prompt]) -> None:
    page = Path(__file__).parents[2] / "docs" / "benchmark.md"
    assert len(standard) == len({each.text for each in standard}) == 2000
    assert re.findall(r"\b[0-9a-f]{32}\b", page.read_text(encoding="utf-8"))[0] == identity_of(standard)
    by_id = {each.id: each for each in standard}
    for each in standard:
        other = by_id[each.contrast]
        assert (other.contrast, other.kind, other.about) == (each.id, each.kind, each.about)
        assert other.value != each.value
    assert {each.kind for each in standard} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "kind", "about", "value", "contrast"),
    [
        ("a person waves with the left hand", "side", "arm", "left", "right"),
        ("a person kicks with the right leg", "side", "leg", "right", "left"),
        ("a person picks something up with the left hand", "side", "pick_up", "left", "right"),
        ("a person jumps twice", "count", "jump", "2", "3"),
        ("a person squats three times", "count", "squat", "3", "2"),
        ("a person takes four steps", "count", "steps", "4", "2"),
        ("a person jumps once, then walks forward", "order", "jump travel", "first", "second"),
        ("a person turns around, then walks forward", "order", "travel turn", "second", "first"),
        ("a person walks slowly", "speed", "walk", "slow", "fast"),
        ("a person walks quickly", "speed", "walk", "fast", "slow"),
        ("a person turns left", "direction", "turn", "left", "right"),
        ("a person walks backward", "direction", "travel", "backward", "forward"),
        ("a person steps to the right", "direction", "travel", "right", "left"),
    ],
)
def test_statements_and_their_contrasts(text: str, kind: str, about: str, value: str, contrast: str) -> None:
    joints = shown(text)
    assert judge_motion(prompt(kind, about, value), joints, FPS, LIBRARY) is True
    assert judge_motion(prompt(kind, about, contrast), joints, FPS, LIBRARY) is False


@pytest.mark.parametrize("kind", KINDS)
def test_a_motionless_body_shows_nothing(kind: str, standard: list[Prompt]) -> None:
    still = np.repeat(shown("a person stands still")[:1], 100, axis=0)
    joints = np.stack([still, still]) if kind == "person" else still
    assert not [each for each in standard if each.kind == kind and judge_motion(each, joints, FPS, LIBRARY)]


def test_which_of_two_people_moves() -> None:
    walk, still = shown("a person walks forward"), shown("a person stands still")
    frames = min(len(walk), len(still))
    joints = np.stack([still[:frames], walk[:frames]])
    assert judge_motion(prompt("person", "travel", "second"), joints, FPS, LIBRARY) is True
    assert judge_motion(prompt("person", "travel", "first"), joints, FPS, LIBRARY) is False
    assert judge_motion(prompt("person", "travel", "first"), walk, FPS, LIBRARY) is None
    assert judge_motion(prompt("person", "jump", "first"), joints, FPS, LIBRARY) is None


def test_prompts_are_made_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, prompts, motions = tmp_path / "own.yaml", tmp_path / "prompts.jsonl", tmp_path / "motions"
    config.write_text(CONFIG)
    assert main(["benchmark", "make", "--texts", str(config), "-o", str(prompts)]) == 0
    made = read_prompts(prompts)
    assert [each.text for each in made] == ["a person waves with the left hand", "a person waves with the right hand"]
    judge = ["benchmark", "judge", str(prompts), str(motions), "--fps", "25"]
    assert main(judge) == 2
    motions.mkdir()
    assert main(judge) == 2
    assert "has no motion of a prompt; the first one would be side-000-left.npy" in capsys.readouterr().err
    np.save(motions / "side-000-left.npy", shown("a person waves with the left hand"))
    assert main([*judge, "-o", str(tmp_path / "result.json")]) == 0
    assert re.search(r"all +2 +50\.0% +9\.5 to +90\.5% +0 +1 +0\.0%", capsys.readouterr().out)
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["verdicts"] == {"side-000-left": "shown", "side-000-right": "missing"}
    assert document["identity"] == identity_of(made)
    np.save(motions / "side-000-left.npy", np.zeros((40, 3)))
    assert main(judge) == 2
    assert "joints must be float [frames, 22, 3]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("waves with", "frobs with", "is not understood: 'frobs'"),
        ("the {0} hand", "the hand", "states the same as its contrast"),
        ("side: 1", "side: 2", "pairs.side is 2, and its texts make 1 pairs"),
        ("about: arm", "about: wings", "'wings' is no action whose side can be measured"),
        ("left: left, right: right", "up: left, right: right", "about and value of kind side must match"),
        ("seed: 1", "seed: one", "seed: must be a whole number"),
    ],
)
def test_configs_that_make_no_prompts_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "own.yaml").write_text(CONFIG.replace(old, new))
    with pytest.raises(UsageError, match=re.escape(message)):
        make_prompts(tmp_path / "own.yaml")


def test_files_that_hold_no_prompts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.jsonl"):
        write_prompts(tmp_path / "prompts.txt", [prompt("side", "arm", "left")])
    file = tmp_path / "prompts.jsonl"
    for text, message in [("nothing", "is not lines of JSON"), ('{"id": "../a"}', "prompts"), ("", "Empty JSON file")]:
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            read_prompts(file)


@pytest.mark.skipif("POSEGEN_REFERENCE" not in os.environ, reason="needs POSEGEN_REFERENCE: a folder with mocap in .npz files")
def test_the_judge_agrees_with_labels_of_mocap() -> None:
    found = clips()
    assert found is not None
    agrees = [each for own in agreement(found).values() for each in own]
    assert len(agrees) > 900
    assert sum(agrees) >= AGREEMENT * len(agrees)

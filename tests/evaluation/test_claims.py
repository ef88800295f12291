"""Claims of captions are compared with joints: sides, turns, directions, counts, order."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from posegen.cli.main import main
from posegen.evaluation.claims import Movement, audit_captions, check_caption
from posegen.evaluation.recording import Recording
from posegen.foundations.skeleton import JOINTS, mirror_order
from posegen.synthesis.composition import compose

FPS = 25.0
MIRRORED = list(mirror_order(JOINTS))
OTHERS = {"left": "right", "right": "left", "forward": "backward", "backward": "forward"}


def shown(text: str) -> NDArray[np.float32]:
    return np.asarray(compose(text).joints[0])


def verdicts(text: str, joints: NDArray[np.float32]) -> list[bool | None]:
    return [claim.verdict for claim in check_caption(text, Movement(joints, FPS))]


@pytest.mark.parametrize(
    ("motion", "caption"),
    [
        ("a person waves with the left hand", "someone waves their left hand"),
        ("a person kicks with the right leg", "the man kicks, using his right foot"),
        ("a person turns left", "he rotates to the left"),
        ("a person turns right", "he pivots clockwise"),
        ("a person walks forward", "a figure is walking slowly forwards"),
        ("a person walks backward", "steps backward"),
    ],
)
def test_a_true_claim_and_its_opposite(motion: str, caption: str) -> None:
    joints = shown(motion)
    assert verdicts(caption, joints) == [True]
    opposite = " ".join(OTHERS.get(word, word) for word in caption.replace("forwards", "forward").split())
    opposite = opposite.replace("clockwise", "anti-clockwise")
    assert verdicts(opposite, joints) == [False]
    mirrored = joints[:, MIRRORED] * [-1, 1, 1]
    expected = not any(side in caption for side in ("left", "right", "clockwise"))
    assert verdicts(caption, mirrored) == [expected]


@pytest.mark.parametrize(
    "caption",
    [
        "raises the left arm and then the right arm",
        "walks, starting with the left foot",
        "hops on the left foot",
        "holds a balance on their right leg",
        "turns with the left hand on the hip",
        "waves both hands",
        "a person stands still",
    ],
)
def test_words_that_claim_no_side(caption: str) -> None:
    assert not [claim for claim in check_caption(caption, Movement(shown("a person waves"), FPS)) if claim.verdict is not None]


def test_jumps_are_counted_and_put_in_order() -> None:
    jumps = np.repeat(shown("a person stands still")[:1], 150, axis=0)
    for start in (60, 90, 120):
        jumps[start : start + 10, :, 1] += np.sin(np.linspace(0, np.pi, 10, dtype=np.float32))[:, None] * 0.25
    assert verdicts("she jumps three times", jumps) == [True]
    assert verdicts("she jumps once", jumps) == [False]
    once = jumps[:85].copy()
    once[:40, :, 2] += np.linspace(-2, 0, 40, dtype=np.float32)[:, None]
    assert verdicts("she walks and then jumps", once) == [True]
    assert verdicts("she jumps before she walks", once) == [False]


def test_contradicting_captions_are_counted() -> None:
    joints = shown("a person waves with the left hand").astype(np.float64)
    captions = ("waves the left hand", "waves the right hand", "says hello with the left arm")
    clips = [Recording("one", "a", joints, FPS, captions=captions), Recording("two", "a", joints, FPS)]
    clips.append(Recording("short", "a", joints[:8], FPS, captions=captions))
    audit = audit_captions(clips)
    assert (audit.clips, audit.captions, audit.sided, audit.contradicting) == (1, 3, 1, 1)
    assert audit.counts["side"] == {"true": 2, "false": 1, "open": 0}


def test_folder_of_humanml3d(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new_joints").mkdir()
    (tmp_path / "texts").mkdir()
    np.save(tmp_path / "new_joints" / "000001.npy", shown("a person kicks with the left leg"))
    lines = "a man kicks with his left leg#a/DET#0.0#0.0\nkicks with the right leg#kick/VERB#0.0#0.0\n"
    (tmp_path / "texts" / "000001.txt").write_text(lines)
    assert main(["evaluate", str(tmp_path / "new_joints"), "--captions", "--fps", "25"]) == 0
    text = capsys.readouterr().out
    assert "2 captions of 1 clip\n" in text
    assert "different sides: 1 of 1 limbs (100 %)" in text
    assert "kicks with the right leg\n  'right leg': ankles go" in text
    assert main(["evaluate", str(tmp_path / "new_joints"), "--captions", "--fps", "25", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [claim["verdict"] for claim in document["claims"]] == [True, False]
    (tmp_path / "texts" / "000001.txt").unlink()
    assert main(["evaluate", str(tmp_path / "new_joints"), "--captions", "--fps", "25"]) == 2
    assert "no clip has captions" in capsys.readouterr().err


@pytest.mark.skipif("POSEGEN_REFERENCE" not in os.environ, reason="needs POSEGEN_REFERENCE: a folder with mocap in .npz files")
def test_labels_of_recordings_of_people() -> None:
    claims = {
        "grabHighR": "reaches up with the right hand",
        "kickLFront1Reps": "kicks with the left leg",
        "depositFloorR": "puts a thing on the floor with the right hand",
        "jogLeftCircle4StepsRstart": "jogs forward, turning left, and takes four steps",
        "hopBothLegs1hops": "hops once",
    }
    decided, false = 0, 0
    with np.load(Path(os.environ["POSEGEN_REFERENCE"]) / "hdm05.npz", allow_pickle=False) as clips:
        offsets, joints = clips["offsets"], clips["joints"]
        for number, action in enumerate(clips["actions"].tolist()):
            if action in claims:
                found = verdicts(claims[action], joints[offsets[number] : offsets[number + 1]])
                decided += sum(each is not None for each in found)
                false += sum(each is False for each in found)
    assert decided > 90
    assert false <= 0.05 * decided

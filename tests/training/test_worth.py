"""What generated clips are worth: learning curves, the persons of the splits, and the sentence."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.cli.main import main  # noqa: E402
from posegen.dataset.read import open_dataset  # noqa: E402
from posegen.foundations.errors import UsageError  # noqa: E402
from posegen.foundations.progress import Progress  # noqa: E402
from posegen.training.setup import Request, Setup, open_setup  # noqa: E402
from posegen.training.worth import SEEDS, SHARES, Worth, hold_persons_back, measure_worth, report  # noqa: E402
from tests.training import tiny  # noqa: E402


def worth_of(real: list[float], together: list[float]) -> Worth:
    return Worth("r3", [1, 10, 100], [[value] * 3 for value in real], [[value] * 3 for value in together], True)


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        ([0.4, 0.5, 0.5], "your 100 clips with posegen are as good as 32 without (r3 0.500)"),
        ([0.3, 0.6, 0.7], "better than all 100 without (r3 0.700, 0.600), and 10 as good as these"),
        ([0.1, 0.1, 0.1], "as good as 1 without (r3 0.100)"),
    ],
)
def test_the_sentence_interpolates_between_numbers_of_clips(together: list[float], expected: str) -> None:
    found = worth_of([0.2, 0.4, 0.6], together).sentence()
    assert expected in found
    assert f"the difference at 100 is {together[-1] - 0.6:+.3f} ± 0.000" in found


def test_intervals_are_those_of_student_and_gains_are_paired() -> None:
    worth = Worth("r3", [1], [[0.1, 0.2, 0.3]], [[0.2, 0.3, 0.4]], True)
    assert worth.interval("real")[0] == pytest.approx(4.303 * 0.1 / 3**0.5)
    assert worth.interval("gain")[0] == pytest.approx(0, abs=1e-12)
    assert "+0.100 ± 0.000" in report(worth)


@pytest.fixture(scope="module")
def own(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 60 clips of six persons and two classes."""
    path = tmp_path_factory.mktemp("own") / "own.npz"
    joints = open_dataset(dataset).arrays("joints", slice(0, 60))[:, 0, 0, :30]
    subjects, classes = np.arange(60) % 6, np.where(np.arange(60) < 30, "sit", "walk")
    np.savez(path, joints=joints.reshape(-1, 22, 3), offsets=np.arange(61) * 30, fps=25.0, classes=classes, subjects=subjects)
    return path


def request_of(dataset: Path, own: Path, out: Path, *overrides: str) -> Request:
    settings = tiny.settings("steps=2", f'together.dataset="{dataset}"', *overrides)
    return Request(str(own), "action", "quick", settings, out)


def test_no_person_is_in_training_and_test_and_classes_come_first(dataset: Path, own: Path, tmp_path: Path) -> None:
    setup = open_setup(request_of(dataset, own, tmp_path))
    held = []
    for seed in range(SEEDS):
        of_seed: Setup = hold_persons_back(setup, seed, Progress())
        chosen, clips = of_seed.data.chosen, of_seed.data.clips
        assert chosen is not None
        assert clips is not None
        persons = {split: {clips.subjects[i] for i in chosen[split].tolist()} for split in ("training", "test")}
        assert not persons["training"] & persons["test"]
        assert len(chosen["training"]) + len(chosen["test"]) == 60
        assert {clips.words[i] for i in chosen["training"][:2].tolist()} == {"sit", "walk"}
        held.append(frozenset(persons["test"]))
    assert len(set(held)) > 1


def test_clips_without_generated_ones_or_too_few_are_refused(dataset: Path, own: Path, tmp_path: Path) -> None:
    request = Request(str(own), "action", "quick", tiny.settings("steps=2"), tmp_path / "out")
    with pytest.raises(UsageError, match="name a dataset of generated clips with --with"):
        measure_worth(request, Progress())
    with np.load(own) as stored:
        few = {name: stored[name][:5] for name in ("classes", "subjects")} | {"fps": 25.0}
        few |= {"joints": stored["joints"][:150], "offsets": stored["offsets"][:6]}
    few["classes"] = np.array(["sit", "walk", "sit", "walk", "sit"])
    np.savez(tmp_path / "few.npz", **few)
    with pytest.raises(UsageError, match="clips would train"):
        measure_worth(request_of(dataset, tmp_path / "few.npz", tmp_path / "few"), Progress())


@pytest.mark.slow
def test_a_measurement_is_resumed_and_drawn(
    dataset: Path, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = request_of(dataset, own, tmp_path / "out")
    found = measure_worth(request, Progress())
    assert found.clips[0] == 1
    assert 40 <= found.clips[-1] < 60
    assert [len(values) for values in found.real] == [SEEDS] * len(SHARES)
    document = (tmp_path / "out" / "worth.json").read_text(encoding="utf-8")
    assert measure_worth(request, Progress()) == found
    assert (tmp_path / "out" / "worth.json").read_text(encoding="utf-8") == document
    with pytest.raises(UsageError, match="holds another run"):
        measure_worth(request_of(dataset, own, tmp_path / "out", "seed=7"), Progress())
    overrides = [f"--set={override}" for override in (*tiny.SETTINGS, "steps=2")]
    out = str(tmp_path / "out")
    assert main(["worth", str(own), "--with", str(dataset), "--out", out, "--json", "--set=data.frames=null", *overrides]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(asdict(found)))
    assert (tmp_path / "out" / "worth.png").read_bytes()[:4] == b"\x89PNG"

"""A mix has the sequences of its datasets in the ratio, in an order that depends on nothing else, and keeps their splits."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.splits import in_split
from posegen.foundations.errors import PosegenError, UsageError
from tests.once import made_once

COUNTS = (37, 12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(out: Path) -> None:
        keys = ["frames=30", "store={shard: 16, chunk: 8}"]
        for name, more in (("a", ["seed=1"]), ("b", ["seed=2", "variants={mirror: true}"])):
            posegen.generate(
                posegen.load_config("smoke", [*keys, *more]), samples=COUNTS[name == "b"], workers=1, out=out / name
            )
        other = posegen.load_config("smoke", ["frames=30", "fps=20"])
        posegen.generate(other, samples=5, workers=1, out=out / "slow")

    return made_once(tmp_path_factory, "mix", make)


def test_without_weights_every_sequence_occurs_once(folder: Path) -> None:
    mix = posegen.concat([folder / "a", folder / "b"])
    assert len(mix) == sum(COUNTS)
    assert mix[40].joints.tobytes() == mix.datasets[1][3].joints.tobytes() == mix[-9].joints.tobytes()
    assert sum(1 for _ in mix) == sum(COUNTS)
    found: Counter[tuple[int, int, str]] = Counter()
    for batch in mix.batches(16, seed=3, window=32, fields=["joints", "captions", "length"]):
        found.update(zip(batch.dataset.tolist(), batch.sample.tolist(), batch.variant, strict=True))
        for row in range(0, len(batch), 7):
            dataset, sample, variant = mix.datasets[batch.dataset[row]], batch.sample[row], batch.variant[row]
            number = dataset.header.variants.index(variant)
            np.testing.assert_array_equal(batch.joints[row], dataset[sample].joints[number])
            stored = dataset.rows(int(sample))[number]
            assert batch.captions[row] == [caption["text"] for caption in stored["captions"]]
            assert batch.length[row] == stored["length"]
    names = [name for name in mix.datasets[0].header.variants if name in mix.datasets[1].header.variants]
    assert set(found.values()) == {1}
    assert {*found} == {(n, sample, name) for n, count in enumerate(COUNTS) for sample in range(count) for name in names}


@pytest.mark.parametrize("weights", [(1, 4), (4, 1), (0.5, 0.5)])
def test_weights_are_shares_of_an_epoch(folder: Path, weights: tuple[float, float]) -> None:
    mix = posegen.concat([folder / "a", folder / "b"], weights)
    found = Counter(
        (number, sample)
        for batch in mix.batches(16, fields=["action"], variants="base")
        for number, sample in zip(batch.dataset.tolist(), batch.sample.tolist(), strict=True)
    )
    for number, count in enumerate(COUNTS):
        times = [found[number, sample] for sample in range(count)]
        assert 1 <= min(times) <= max(times) <= min(times) + 1
    shares = [sum(times for (number, _), times in found.items() if number == which) for which in (0, 1)]
    assert shares[0] / shares[1] == pytest.approx(weights[0] / weights[1], rel=0.25)  # to one chunk


def test_each_dataset_keeps_its_splits(folder: Path) -> None:
    mix = posegen.concat([folder / "a", folder / "b"], [1, 2])
    found: list[set[int]] = [set(), set()]
    for batch in mix.batches(16, fields=["action"], split="test"):
        for number, sample in zip(batch.dataset.tolist(), batch.sample.tolist(), strict=True):
            found[number].add(sample)
    for number, dataset in enumerate(mix.datasets):
        assert found[number] == {*in_split(dataset.header.seed, range(COUNTS[number]), "test").tolist()}


def test_the_order_is_the_same_again_from_any_batch_and_in_shares(folder: Path) -> None:
    mix = posegen.concat([folder / "a", folder / "b"], [1, 3])
    batches = mix.batches(16, seed=5, window=64, fields=["joints"], epochs=2)
    listed = [batch.joints.tobytes() for batch in batches]
    assert [batch.joints.tobytes() for batch in batches.at(4)] == listed[4:]
    assert [batch.joints.tobytes() for batch in batches.share(1, 3)] == listed[1::3]


def test_a_file_names_the_datasets(folder: Path, tmp_path: Path) -> None:
    for name in "ab":
        shutil.copytree(folder / name, tmp_path / name)
    command = [sys.executable, "-m", "posegen", "mix", "a", "b", "--ratio", "1:4", "-o", "mix.json", "--json"]
    run = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(run.stdout)["samples"] == sum(COUNTS)
    assert (tmp_path / "mix.json").stat().st_size < 1000
    mix = posegen.open_mix(tmp_path / "mix.json")
    assert mix.weights == (1, 4)
    expected = posegen.concat([folder / "a", folder / "b"], [1, 4])
    one, other = (each.batches(32, seed=1, fields=["joints"]).batch(2) for each in (mix, expected))
    assert one.joints.tobytes() == other.joints.tobytes()
    with pytest.raises(UsageError, match=r"mix\.json: is a file. If `posegen mix` wrote it, read it with posegen.open_mix"):
        posegen.open(tmp_path / "mix.json")
    again = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert again.returncode == 2
    assert "mix.json: exists. Choose another file" in again.stderr
    shutil.rmtree(tmp_path / "b")
    shutil.copytree(folder / "a", tmp_path / "b")
    with pytest.raises(PosegenError, match=r"b is not the dataset of 12 samples that was mixed. Run posegen mix again"):
        posegen.open_mix(tmp_path / "mix.json")
    (tmp_path / "mix.json").write_text((tmp_path / "mix.json").read_text().replace("4.0", "9.0"))
    with pytest.raises(PosegenError, match=r"mix\.json"):
        posegen.open_mix(tmp_path / "mix.json")


def test_the_command_states_what_an_epoch_has(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["mix", *(str(folder / name) for name in "ab"), "--ratio", "1:4"]
    assert main([*command, "-o", str(tmp_path / "one.json"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["samples"], document["samples_in_epoch"]) == (49, [40, 200])  # whole chunks of 8
    assert main([*command, "-o", str(tmp_path / "again.json")]) == 0
    assert "again.json names 49 samples. An epoch has about " in capsys.readouterr().out


def test_datasets_that_do_not_fit_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"slow: has 20 frames per second, .*a has 25. Generate one of them again"):
        posegen.concat([folder / "a", folder / "slow"])
    with pytest.raises(UsageError, match="weights must be 2 positive numbers"):
        posegen.concat([folder / "a", folder / "b"], [1, 0])
    for weights in ([1, 1e9], [1e300, 1e-300]):
        with pytest.raises(UsageError, match="Choose weights closer to each other"):
            posegen.concat([folder / "a", folder / "b"], weights).batches(4)
    with pytest.raises(UsageError, match="at least one dataset"):
        posegen.concat([])

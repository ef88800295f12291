"""Batches of a dataset have the stored content from any step on, and damage is reported."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.dataset.batches import SequenceBatch
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS, in_split
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError, UsageError
from tests.dataset.tiny import commit, fill, make_arrays, make_rows

SAMPLES = 20  # three full shards of two chunks, and one with a partly filled chunk
FIELDS = ("joints", "action", "contact", "captions", "duration", "parameters")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = tmp_path_factory.mktemp("streaming") / "tiny"
    fill(path, SAMPLES)
    return open_dataset(path)


def assert_all_same(some: Iterable[SequenceBatch], others: Iterable[SequenceBatch]) -> None:
    for one, other in zip(some, others, strict=True):
        assert_same(one, other)


def assert_same(one: SequenceBatch, other: SequenceBatch) -> None:
    assert (one.number, one.epoch) == (other.number, other.epoch)
    assert one.values.keys() == other.values.keys()
    for name, value in one.values.items():
        if isinstance(value, np.ndarray):
            assert (value.dtype, value.shape) == (other[name].dtype, other[name].shape)
            assert value.tobytes() == other[name].tobytes(), name
        else:
            assert value == other[name], name


def test_batches_have_the_stored_content(tiny: Dataset) -> None:
    arrays, rows = make_arrays(0, SAMPLES), make_rows(0, SAMPLES)
    seen = []
    for batch in tiny.batches(7, seed=5, fields=FIELDS, window=12):
        for i, (sample, variant) in enumerate(zip(batch.sample.tolist(), batch.variant, strict=True)):
            position = ("base", "mirror").index(variant)
            row = rows[2 * sample + position]
            for name, values in arrays.items():
                assert batch[name][i].tobytes() == values[sample, position].tobytes(), name
            assert batch.captions[i] == [caption["text"] for caption in row["captions"]]
            assert batch.duration[i] == np.float32(row["duration"])
            assert batch.parameters[i] == row["parameters"]
            seen.append((sample, variant))
    assert sorted(seen) == [(sample, variant) for sample in range(SAMPLES) for variant in ("base", "mirror")]


@settings(max_examples=15)
@given(
    size=st.integers(1, 30),
    seed=st.integers(0, 2**64 - 1),
    window=st.integers(1, 60),
    lanes=st.integers(1, 3),
    threads=st.integers(0, 3),
    start=st.integers(0, 60),
    drop_last=st.booleans(),
)
def test_batch_k_is_the_same_from_any_step_on(tiny: Dataset, start: int, threads: int, **options: Any) -> None:
    options |= {"fields": FIELDS}
    straight = list(tiny.batches(epochs=3, threads=0, **options))
    resumed = list(tiny.batches(epochs=3, threads=threads, start=start, **options))
    assert [batch.number for batch in resumed] == list(range(start, len(straight)))
    assert_all_same(straight[start:], resumed)
    if resumed:
        assert_same(tiny.batches(**options).batch(start), resumed[0])


def test_variants_are_selected(tiny: Dataset) -> None:
    batches = list(tiny.batches(6, variants="mirror"))
    assert sorted(sample for batch in batches for sample in batch["sample"].tolist()) == list(range(SAMPLES))
    assert {variant for batch in batches for variant in batch.variant} == {"mirror"}
    assert batches[0].joints[0].tobytes() == tiny[int(batches[0]["sample"][0])].joints[1].tobytes()
    one, other = (tiny.batches(6, variants=names).batch(2) for names in (["base", "mirror"], ["mirror", "base"]))
    assert_same(one, other)


def test_a_split_has_its_samples_with_their_content(tiny: Dataset) -> None:
    found: dict[str, set[int]] = {}
    for split in SPLITS:
        samples = in_split(tiny.header.seed, range(len(tiny)), split).tolist()
        if not samples:
            with pytest.raises(UsageError, match=f"no sample in the split {split}"):
                tiny.batches(7, split=split)
            continue
        batches = list(tiny.batches(7, split=split, fields=["joints"], window=20))
        listed = [
            (sample, v) for batch in batches for sample, v in zip(batch["sample"].tolist(), batch["variant"], strict=True)
        ]
        assert sorted(listed) == sorted((sample, variant) for sample in samples for variant in tiny.header.variants)
        for batch in batches:
            for k, (sample, variant) in enumerate(zip(batch["sample"].tolist(), batch["variant"], strict=True)):
                stored = tiny[sample].joints[tiny.header.variants.index(variant)]
                np.testing.assert_array_equal(batch.joints[k], stored)
        found[split] = {sample for sample, _ in listed}
    assert len(found) >= 2
    assert set.union(*found.values()) == {*range(len(tiny))}
    with pytest.raises(UsageError, match="there is no split 'tset'"):
        tiny.batches(7, split="tset")


def test_batches_end_after_their_epochs_or_never(tiny: Dataset) -> None:
    assert len(tiny.batches(6, epochs=2)) == 14 == len(list(tiny.batches(6, epochs=2)))
    endless = tiny.batches(6, epochs=None, start=10**6, fields="action")
    numbers = [batch.number for batch, _ in zip(endless, range(20), strict=False)]
    assert numbers == list(range(10**6, 10**6 + 20))
    with pytest.raises(TypeError, match="epochs"):
        len(endless)


@pytest.mark.parametrize(("of", "lanes"), [(1, 1), (2, 1), (3, 1), (2, 4), (4, 2)])
def test_shares_together_are_all_batches(tiny: Dataset, of: int, lanes: int) -> None:
    batches = tiny.batches(3, epochs=2, lanes=lanes, window=12, fields="action")
    shares = [list(batches.share(rank, of)) for rank in range(of)]
    together = sorted((batch for share in shares for batch in share), key=lambda batch: batch.number)
    assert_all_same(batches, together)
    assert [len(batches.share(rank, of)) for rank in range(of)] == [len(share) for share in shares]
    equal = [[batch.number for batch in batches.share(rank, of, equal=True)] for rank in range(of)]
    assert {len(share) for share in equal} == {min(map(len, shares))}
    assert sorted(number for share in equal for number in share) == [each.number for each in batches][: of * len(equal[0])]


def test_threads_end_with_the_iteration(tiny: Dataset) -> None:
    before = threading.active_count()
    iterator = iter(tiny.batches(3, threads=2))
    next(iterator)
    assert threading.active_count() > before
    iterator.close()
    assert threading.active_count() == before


def test_batches_can_be_pickled(tiny: Dataset) -> None:
    batches = tiny.batches(7, seed=2, fields=FIELDS)
    next(iter(batches))
    assert_all_same(batches, pickle.loads(pickle.dumps(batches)))


def test_pickled_batches_do_not_change_when_the_dataset_is_extended(tmp_path: Path) -> None:
    header = fill(tmp_path / "a", 9)
    before = open_dataset(tmp_path / "a").batches(4, seed=1)
    text = pickle.dumps(before)
    expected = list(before)
    for shard in (1, 2):
        commit(tmp_path / "a", header, shard, 18)
    publish(tmp_path / "a", header, 18, "a-run")
    assert len(open_dataset(tmp_path / "a")) == 18
    assert_all_same(expected, pickle.loads(text))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("name", ["motion.zarr/joints/c.1.0.0.0", "sequences/part-00001.parquet"])
def test_damage_is_an_error_with_the_shard(tmp_path: Path, name: str, threads: int) -> None:
    fill(tmp_path / "a", SAMPLES)
    flip(tmp_path / "a" / name, 300)
    with pytest.raises(PosegenError, match=rf"shard 1 is damaged: {name}.*--repair"):
        list(open_dataset(tmp_path / "a").batches(4, fields=["joints", "captions"], threads=threads))


def test_damage_after_the_first_check_is_detected(tmp_path: Path) -> None:
    """The chunks and the index of a shard have checksums that are compared at each read."""
    fill(tmp_path / "a", 6)
    dataset = open_dataset(tmp_path / "a")
    batches = dataset.batches(12, fields="joints")
    assert len(list(batches)) == 1
    path = tmp_path / "a" / "motion.zarr/joints/c.0.0.0.0"
    for at in np.linspace(0, path.stat().st_size - 1, 60).astype(int).tolist():
        flip(path, at)
        with pytest.raises(PosegenError, match=r"shard 0 is damaged: .*joints"):
            list(batches)
        flip(path, at)
    assert len(list(batches)) == 1
    path.unlink()
    with pytest.raises(PosegenError, match=r"shard 0: .*joints.* cannot be read"):
        list(batches)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, r"size must be an integer of at least 1 \(got 0\)"),
        ({"size": 2.5}, r"size .*got 2\.5"),
        ({"size": True}, "size .*got true"),
        ({"seed": -1}, "seed must be .* between 0"),
        ({"seed": 2**64}, "seed must be .* and 18446744073709551615"),
        ({"window": 0}, "window must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"start": -1}, "start must be"),
        ({"lanes": 0}, "lanes must be"),
        ({"threads": -1}, "threads must be"),
        ({"fields": ["joint"]}, "no field 'joint'; did you mean 'joints'"),
        ({"fields": []}, "fields must be a list of distinct names"),
        ({"fields": ["joints", "joints"]}, "list of distinct names .*'joints', 'joints'"),
        ({"variants": ["mirrored"]}, "no variant 'mirrored'; did you mean 'mirror'"),
        ({"variants": "speed"}, "there are base, mirror"),
        ({"size": 41, "drop_last": True}, "40 sequences, fewer than a batch of 41"),
    ],
)
def test_invalid_options_are_refused(tiny: Dataset, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tiny.batches(**{"size": 4, **options})


def test_an_invalid_share_is_refused(tiny: Dataset) -> None:
    with pytest.raises(UsageError, match="it must be between 0 and 1"):
        tiny.batches(4).share(2, 2)


def test_an_empty_dataset_has_no_batches(tmp_path: Path) -> None:
    fill(tmp_path / "a", 0)
    with pytest.raises(UsageError, match="no samples yet"):
        open_dataset(tmp_path / "a").batches(4)

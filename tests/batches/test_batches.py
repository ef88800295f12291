"""Batches of a dataset have the stored content from any step on, and damage is reported."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.dataset.batches import ArrayShape, SequenceBatch, make_batches
from posegen.dataset.batches.skeletons import vary_skeletons
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import SPLITS, in_split
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, PARENTS
from tests.dataset.tiny import commit, fill, make_arrays, make_rows
from tests.evaluation.figures import posed, turn

SAMPLES = 20  # three full shards of two chunks, and one with a partly filled chunk
FIELDS = ("joints", "action", "contact", "captions", "duration", "parameters")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = tmp_path_factory.mktemp("streaming") / "tiny"
    fill(path, SAMPLES)
    return open_dataset(path)


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
    for one, other in zip(straight[start:], resumed, strict=True):
        assert_same(one, other)
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
    with pytest.raises(UsageError, match="there is no split 'train'"):
        tiny.batches(7, split="train")


def test_all_arrays_by_default(tiny: Dataset) -> None:
    assert list(tiny.batches(6).batch(0).values) == ["sample", "variant", "joints", "action", "contact"]
    assert list(tiny.batches(6, fields="captions").batch(0).values) == ["sample", "variant", "captions"]


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
    for one, other in zip(batches, together, strict=True):
        assert_same(one, other)
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
    for one, other in zip(batches, pickle.loads(pickle.dumps(batches)), strict=True):
        assert_same(one, other)


def test_pickled_batches_do_not_change_when_the_dataset_is_extended(tmp_path: Path) -> None:
    header = fill(tmp_path / "a", 9)
    before = open_dataset(tmp_path / "a").batches(4, seed=1)
    text = pickle.dumps(before)
    expected = list(before)
    for shard in (1, 2):
        commit(tmp_path / "a", header, shard, 18)
    publish(tmp_path / "a", header, 18, "a-run")
    assert len(open_dataset(tmp_path / "a")) == 18
    for one, other in zip(expected, pickle.loads(text), strict=True):
        assert_same(one, other)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("threads", [0, 2])
def test_damage_is_an_error_with_the_shard(tmp_path: Path, threads: int) -> None:
    fill(tmp_path / "a", SAMPLES)
    flip(tmp_path / "a" / "motion.zarr/joints/c.1.0.0.0", 100)
    with pytest.raises(PosegenError, match=r"shard 1 is damaged: .*joints.*--repair"):
        list(open_dataset(tmp_path / "a").batches(4, threads=threads))


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


def test_damaged_rows_are_reported(tmp_path: Path) -> None:
    fill(tmp_path / "a", SAMPLES)
    flip(tmp_path / "a" / "sequences/part-00002.parquet", 300)
    batches = open_dataset(tmp_path / "a").batches(4, fields=["action", "captions"])
    with pytest.raises(PosegenError, match="shard 2 is damaged"):
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
        ({"fields": ["joints", "joints"]}, "'joints' twice"),
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


def walkers(clips: int) -> Any:
    """Clips of two actors who move 1 m ahead with bent knees; the second one is absent from the third frame on."""
    frames = [
        posed({"left_knee": turn("x", 10.0 * i), "spine1": turn("x", 5.0 * i)}, 1)[0] + [0, 0, 0.25 * i] for i in range(5)
    ]
    joints = np.repeat(np.repeat(np.array(frames)[None, None], 2, axis=1), clips, axis=0).astype(np.float32)
    joints[:, 1, 2:] = np.nan
    return joints


def bones(joints: Any) -> Any:
    return np.linalg.norm(joints[..., 1:, :] - joints[..., PARENTS[1:], :], axis=-1)


def test_varied_skeletons_keep_their_bones_and_stay_on_the_floor() -> None:
    before, sample = walkers(300), np.arange(300)
    after = vary_skeletons(before, 0.03, seed=3, epoch=0, sample=sample, variant=sample % 2)
    np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
    np.testing.assert_allclose(bones(after)[:, 0], np.broadcast_to(bones(after)[:, 0, :1], (300, 5, 21)), atol=1e-5)
    np.testing.assert_allclose(after[..., 1].min(-1), before[..., 1].min(-1), atol=1e-5)
    grown = bones(after)[:, :, 0] - bones(before)[:, :, 0]
    foot, others = [JOINTS.index(name) - 1 for name in ("left_foot", "right_foot")], [0, 3, 6, 11, 12, 15, 17, 19]
    np.testing.assert_allclose(grown[..., foot], 0, atol=1e-5)
    np.testing.assert_allclose(grown, grown[..., np.array(MIRROR_JOINTS)[1:] - 1], atol=1e-5)
    assert (grown[..., others].std(axis=(0, 1)) > 0.01).all()
    assert (grown[..., others].std(axis=(0, 1)) < 0.035).all()
    # Actors of one clip differ, and so do clips.
    assert np.abs(grown[:, 0] - grown[:, 1]).max(axis=-1).min() > 0.001


def test_varied_skeletons_are_those_of_the_sample_variant_and_epoch() -> None:
    joints, sample = walkers(40), np.arange(40)

    def varied(rows: Any, **changed: Any) -> Any:
        arguments = {"seed": 3, "epoch": 0, "variant": sample[rows] % 2} | changed
        return vary_skeletons(joints[rows], 0.03, sample=sample[rows], **arguments)

    whole = varied(sample)
    np.testing.assert_array_equal(varied(sample[10:30]), whole[10:30])
    for changed in ({"seed": 4}, {"epoch": 1}, {"variant": 1 - sample % 2}):
        assert (np.nanmax(np.abs(varied(sample, **changed) - whole), axis=(1, 2, 3, 4)) > 0).all()


@dataclass(frozen=True)
class Walkers:
    """A source of walkers, 4 samples a chunk, in two variants."""

    samples: int = 18
    chunk: int = 4
    variants: tuple[str, ...] = ("base", "mirror")
    most_threads: int = 2
    name: str = "walkers"

    def arrays(self) -> dict[str, ArrayShape]:
        return {"joints": ArrayShape((2, 5, 22, 3), (2, 5, 22, 3), "<f4"), "action": ArrayShape((5,), (5,), "<u2")}

    def columns(self) -> tuple[str, ...]:
        return ()

    def load(self, chunk: int, variants: Any, into: Any, columns: tuple[str, ...]) -> None:
        for name, values in into.items():
            values[:] = walkers(self.chunk) if name == "joints" else chunk


def test_skeleton_noise_is_the_same_for_every_reader() -> None:
    batches = make_batches(Walkers(), 7, seed=5, skeleton_noise=0.05, epochs=2)
    plain = make_batches(Walkers(), 7, seed=5, epochs=2)
    for batch in batches:
        assert_same(batches.batch(batch.number), batch)
        assert_same(pickle.loads(pickle.dumps(batches)).batch(batch.number), batch)
        assert_same(next(iter(batches.share(batch.number % 3, 3).at(batch.number))), batch)
        assert batch.action.tobytes() == plain.batch(batch.number).action.tobytes()
        assert batch.joints.tobytes() != plain.batch(batch.number).joints.tobytes()
    # The variant of a sample is the same body whether or not other variants are read.
    both, one = (make_batches(Walkers(), 36, seed=5, skeleton_noise=0.05, variants=v).batch(0) for v in (None, ["mirror"]))
    varied = {(s, v): joints for s, v, joints in zip(both.sample.tolist(), both.variant, both.joints, strict=True)}
    for sample, joints in zip(one.sample.tolist(), one.joints, strict=True):
        np.testing.assert_array_equal(joints, varied[sample, "mirror"])


@pytest.mark.parametrize("noise", [-0.01, 0.2, "much", True, float("nan")])
def test_skeleton_noise_out_of_range_is_refused(noise: Any) -> None:
    with pytest.raises(UsageError, match="skeleton_noise must be metres between 0 and"):
        make_batches(Walkers(), 7, skeleton_noise=noise)


def test_skeleton_noise_needs_the_joints_of_bodies(tiny: Dataset) -> None:
    with pytest.raises(UsageError, match="add 'joints' to `fields`"):
        make_batches(Walkers(), 7, fields=["action"], skeleton_noise=0.03)
    with pytest.raises(UsageError, match="these have the shape"):
        tiny.batches(7, skeleton_noise=0.03)

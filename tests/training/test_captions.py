"""Captions of clips belong to their clip and depend on the batch number only."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import posegen
from posegen.dataset.batches import CAPTIONS
from posegen.embedding import embed, open_embeddings
from posegen.foundations.errors import UsageError
from posegen.training.data.captions import Captions, FreshCaptions, open_captions
from tests.training import tiny

ENCODER = "hashing-for-tests"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tiny.make(tmp_path_factory.mktemp("reported") / "dataset", 24)
    embed(path, encoder=ENCODER)
    return path


def captions_of(path: Path) -> Captions:
    return open_captions(path, posegen.open(path).header.shard, None)


def everyone(path: Path) -> tuple[np.ndarray, np.ndarray]:
    dataset = posegen.open(path)
    variants = len(dataset.header.variants)
    return np.repeat(np.arange(len(dataset)), variants), np.tile(np.arange(variants), len(dataset))


@pytest.mark.slow
def test_all_captions_are_those_of_the_dataset(reported: Path) -> None:
    dataset, embeddings = posegen.open(reported), open_embeddings(reported)
    sample, variant = everyone(reported)
    given = captions_of(reported).of(sample, variant)
    vectors = embeddings.vectors()
    for i, (number, place) in enumerate(zip(sample.tolist(), variant.tolist(), strict=True)):
        texts = [caption["text"] for caption in dataset[number].sequences[place]["captions"]]
        rows = given["row"][i][given["row"][i] >= 0]
        assert [embeddings.texts[row] for row in rows.tolist()] == texts
        assert np.array_equal(given["text"][i, : len(rows)], vectors[rows])
        assert not given["text"][i, len(rows) :].any()


def test_the_drawn_caption_depends_on_batch_sample_and_seed_only(reported: Path) -> None:
    captions = captions_of(reported)
    sample, variant = everyone(reported)
    rows = captions.of(sample, variant)["row"]
    drawn = captions.of(sample, variant, 5, 3)["row"][:, 0]
    assert all(row in own for row, own in zip(drawn.tolist(), rows.tolist(), strict=True))
    order = np.random.default_rng(0).permutation(len(sample))[:20]
    assert captions.of(sample[order], variant[order], 5, 3)["row"][:, 0].tolist() == drawn[order].tolist()
    others = [captions.of(sample, variant, *batch)["row"][:, 0] for batch in ((5, 4), (5, 259), (6, 3))]
    assert all((other != drawn).any() for other in others)
    seen = [captions.of(sample, variant, 0, number)["row"][:, 0] for number in range(60)]
    # Each of a clip's captions is drawn: one of three is missed in 60 batches with a probability of 10^-10.
    assert all(set(column) == {row for row in own if row >= 0} for column, own in zip(np.stack(seen, 1), rows, strict=True))


def test_captions_can_be_pickled(reported: Path) -> None:
    captions = captions_of(reported)
    sample, variant = everyone(reported)
    copied = pickle.loads(pickle.dumps(captions))  # As loaders start their workers.
    assert copied.of(sample, variant, 1, 2)["row"].tolist() == captions.of(sample, variant, 1, 2)["row"].tolist()


def test_errors_name_what_is_missing_and_how_to_add_it(reported: Path, tmp_path: Path) -> None:
    plain = tiny.make(tmp_path / "plain", 4)
    with pytest.raises(UsageError, match="posegen embed"):
        captions_of(plain)
    embed(plain, encoder=ENCODER)
    assert len(captions_of(plain).of(np.zeros(1, int), np.zeros(1, int))["row"]) == 1


@pytest.mark.slow
def test_fresh_captions_equal_embedded_captions(reported: Path) -> None:
    dataset, stored = posegen.open(reported), captions_of(reported)
    sample, variant = everyone(reported)
    fresh = FreshCaptions(ENCODER)
    texts = [
        [caption["text"] for caption in dataset[number].sequences[place]["captions"]]
        for number, place in zip(sample.tolist(), variant.tolist(), strict=True)
    ]
    clips = {"sample": sample, "variant": variant}
    for number, seed in ((3, 5), (700, 5), (0, None)):
        batch = SimpleNamespace(number=number, values={CAPTIONS: texts})
        one, other = stored(clips, batch, seed), fresh(clips, batch, seed)  # type: ignore[arg-type]
        assert np.array_equal(one["text"], other["text"])
    # Rows differ, but are equal for the same texts.
    pairs = set(zip(one["row"].ravel().tolist(), other["row"].ravel().tolist(), strict=True))
    assert len(pairs) == len({row for row, _ in pairs}) == len({row for _, row in pairs})

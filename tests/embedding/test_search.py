"""Search: matches, output, and missing or damaged indexes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embed.phrasings import JUDGED, phrasings, unfair, words_of_actions
from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.embedding import open_embeddings
from posegen.embedding.search import SearchIndex, action_directions, count_words, fit_phrases, open_search, read_related_phrases
from posegen.library.load import load_library


def index(actions: list[str], related: list[bool], vectors: list[list[float]]) -> SearchIndex:
    none = np.zeros(0, np.int64)
    level = np.zeros((len(set(actions)), len(vectors[0]) + 1), np.float32)
    words = count_words(actions, np.unique(actions, return_inverse=True)[1], related)
    return SearchIndex(actions, actions, np.array(related), np.array(vectors, np.float32), none, none, [], level, words)


QUERY = np.array([1, 0], np.float32)


def test_the_fit_of_a_phrase_combines_its_similarity_with_that_of_its_action() -> None:
    found = fit_phrases(
        "hello", QUERY, index(["wave", "wave", "walk"], [False, False, False], [[1, 0], [0.6, 0.8], [0.8, 0.6]])
    )
    assert found.tolist() == pytest.approx([0.98 * 0.8 + 0.02, 0.98 * 0.8 + 0.02 * 0.6, 0.8])


def test_related_phrases_have_more_weight_than_captions() -> None:
    vectors = [[0.5, 0.75**0.5], [1, 0], [0.28, 0.96]]
    found = fit_phrases("hello", QUERY, index(["wave", "wave", "walk"], [False, True, False], vectors))
    assert found[0] == pytest.approx(0.98 * (0.05 * 0.5 + 0.95) + 0.02 * 0.5)
    assert found[0] > found[2]


def test_a_word_of_one_action_only_is_evidence_of_that_action() -> None:
    phrases = ["someone genuflects", "someone strolls", "someone is strolling about", "someone bows"]
    found = count_words(phrases, [0, 1, 1, 2], [True] * 4)
    assert found.evidence("Genuflecting!") == pytest.approx([1 / 2, 0, 0])
    assert found.evidence("they strolled") == pytest.approx([0, 2 / 3, 0])
    assert found.evidence("someone strolls") == pytest.approx([1 / 5, 2 / 3 + 2 / 5, 1 / 5])
    assert found.evidence("a zebra").tolist() == [0, 0, 0]
    # Words with letters of other languages are not split.
    assert count_words(["jemand läuft"], [0], [True]).evidence("uft").tolist() == [0]


def test_all_captions_of_an_action_count_as_twenty_phrases() -> None:
    phrases = ["bows low", "bows", "bows", "bows twice", "bows to none"]
    found = count_words(phrases, [0, 0, 0, 0, 1], [False] * 4 + [True])
    assert found.evidence("bow") == pytest.approx([20 / 22, 1 / 22])
    assert found.evidence("low") == pytest.approx([5 / 6, 0])


def test_words_add_to_the_fit_of_an_action() -> None:
    nodded = index(["nod", "nod", "bow", "bow"], [False, True, False, True], [[0, 1]] * 4)
    assert fit_phrases("nods", QUERY, nodded).tolist() == pytest.approx([0.98 * 0.2 * 21 / 22] * 2 + [0, 0])


def test_directions_separate_actions_by_the_relevant_dimension() -> None:
    # The first coordinate depends on the action; the second is as large and independent of it.
    label, noise = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.tile([-1.0, 0, 1], 3)
    vectors = np.stack([label - 1.0, noise], axis=1).astype(np.float32)
    for actions in (3, 2):
        own = label < actions
        found = action_directions(vectors[own], label[own], np.ones(own.sum(), bool))
        assert found.shape == (actions, 3)
        assert found.sum(axis=0) == pytest.approx(0, abs=1e-6)
        assert np.abs(found[:, 1]).max() < 0.2 * np.abs(found[:, 0]).max()
        assert ((vectors[own] @ found[:, :2].T + found[:, 2]).argmax(axis=1) == label[own]).all()
    assert not action_directions(vectors[:3], label[:3], np.ones(3, bool)).any()


def test_a_text_in_the_direction_of_an_action_has_a_better_fit() -> None:
    level = index(["bow", "wave"], [False, False], [[0, 1], [0, 1]])
    tilted = replace(level, directions=np.array([[-5, 3, 1], [5, -3, -1]], np.float32))
    assert fit_phrases("hello", QUERY, tilted).tolist() == pytest.approx([0.98 * 0.02 * -4, 0.98 * 0.02 * 4])


def test_each_action_has_phrases_and_they_read_as_sentences() -> None:
    related = read_related_phrases("en")
    assert set(load_library().entries) <= related.words.keys()
    assert min(map(len, related.words.values())) >= 40
    assert related.sentence("a porter with luggage") == "a porter with luggage"
    assert related.sentence("another time hops") == "someone another time hops"
    for action, phrases in related.words.items():
        assert len(set(phrases)) == len(phrases), action


def test_the_caption_of_a_segment_finds_samples_with_its_action(dataset: Path) -> None:
    search, opened = open_search(dataset), open_dataset(dataset)
    rows = [row for sample in range(len(opened)) for row in opened.rows(sample)]
    said = {segment["text"]: segment["action"] for row in rows for actor in row["actors"] for segment in actor["segments"]}
    asked = [action for text, action in said.items() if text == action]
    right = 0
    for text in asked:
        found = search.find(f"someone {text}", 3)
        assert len({one.sample for one in found}) == 3
        right += text in found[0].actions
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        best = next(row for row in opened.rows(found[0].sample) if row["variant"] == found[0].variant)
        assert found[0].caption in [caption["text"] for caption in best["captions"]]
        assert found[0].action in found[0].actions
    # The encoder for tests knows words only, not their meaning, so it is not always right.
    assert right >= 0.7 * len(asked)
    assert len(asked) > 3


def test_the_command_quotes_the_path(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "my data"
    shutil.copytree(dataset, copy)
    assert main(["search", str(copy), "someone waves", "--top", "1"]) == 0
    assert f"posegen show '{copy}' --sample " in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_prints_one_document_with_each_sample_once(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(dataset), "someone waves", "--top", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["text"], document["encoder"]) == ("someone waves", "hashing-for-tests")
    samples = [one["sample"] for one in document["found"]]
    assert len(samples) == len(set(samples)) == 4
    assert main(["search", str(dataset), "someone waves", "--top", "4", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [int(line.split()[0]) for line in printed.out.splitlines()[1:5]] == samples


@pytest.mark.slow
@pytest.mark.parametrize("name", ["phrases.parquet", "vectors.npy"])
def test_a_damaged_index_is_computed_again_and_an_intact_one_is_kept(dataset: Path, name: str) -> None:
    first = open_search(dataset).find("someone waves", 5)
    place = dataset / f"embeddings/hashing-for-tests/search/{name}"
    made = place.stat().st_mtime_ns
    assert open_search(dataset).find("someone waves", 5) == first
    assert place.stat().st_mtime_ns == made
    place.write_bytes(place.read_bytes()[:-7] + b"damaged")
    assert open_search(dataset).find("someone waves", 5) == first


@pytest.mark.slow
def test_errors_contain_a_hint(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        ([str(dataset), " "], "is empty"),
        ([str(dataset), "x", "--top", "0"], "at least one"),
        ([str(dataset), "x", "--encoder", "hashing-for-test"], "hashing-for-tests"),
        ([str(tmp_path / "nothing"), "x"], "nothing"),
    ):
        assert main(["search", *arguments]) == 2
        assert said in capsys.readouterr().err
    header = dataset / "embeddings"
    header.rename(tmp_path / "away")
    assert main(["search", str(dataset), "x"]) == 2
    assert f"Run: posegen embed {dataset}" in capsys.readouterr().err


def test_phrases_of_the_benchmark_share_no_content_word_with_captions(dataset: Path) -> None:
    judged, words, texts = phrasings(JUDGED), words_of_actions(), list(open_embeddings(dataset).texts)
    assert len({one.text for one in judged}) == 100
    for one in judged:
        assert unfair(one, words, texts) == []
    assert unfair(judged[0].__class__("a person is walking", ("walk",)), words, []) == [
        "contains 'walk', as do captions of walk"
    ]

"""Search: matches, output, and missing or damaged indexes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embed.phrasings import JUDGED, phrasings, unfair, words_of_actions
from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.embedding import open_embeddings
from posegen.embedding.search import SearchIndex, count_stems, find_stems, open_search, read_related_phrases, to_sentence
from posegen.library.load import load_library

QUERY = np.array([1, 0], np.float32)


def fits(text: str, phrases: list[tuple[str, str, list[float]]], counted: int = 99) -> list[float]:
    """Return the fits of phrases, each with its action and vector, of which the first `counted` are phrases of their action."""
    texts, actions, vectors = zip(*phrases, strict=True)
    is_counted = np.arange(len(phrases)) < counted
    stems, shares = count_stems(np.array(texts)[is_counted], np.array(actions)[is_counted])
    none, whole = np.zeros(0, np.int64), np.array(vectors, np.float32)
    found: list[float] = (
        SearchIndex(np.array(texts), np.array(actions), is_counted, whole, none, none, np.zeros(0, str), stems, shares)
        .fits(text, QUERY)
        .tolist()
    )
    return found


def test_the_fit_of_a_phrase_combines_its_similarity_with_that_of_its_action() -> None:
    phrases = [("x", "wave", [1.0, 0.0]), ("x", "wave", [0.6, 0.8]), ("x", "walk", [0.8, 0.6]), ("x", "walk", [1.0, 0.0])]
    assert fits("hello", phrases, 3) == pytest.approx([0.8 + 0.02, 0.8 + 0.012, 0.8 + 0.016, 0.8 + 0.02])


def test_words_add_to_the_fit_of_an_action() -> None:
    phrases = [(text, action, [0.0, 1.0]) for text, action in (("nods", "nod"), ("is nodding", "nod"), ("bows", "bow"))]
    assert fits("nods", phrases) == pytest.approx([0.3 * 2 / 3] * 2 + [0])


def test_a_word_of_one_action_only_is_evidence_of_that_action() -> None:
    phrases = ["someone genuflects", "someone strolls", "someone is strolling about", "someone bows"]
    stems, shares = count_stems(np.array(phrases), np.array(["a", "b", "b", "c"]))
    for text, expected in (
        ("Genuflecting!", [1 / 2, 0, 0]),
        ("they strolled", [0, 2 / 3, 0]),
        ("someone strolls", [1 / 5, 2 / 3 + 2 / 5, 1 / 5]),
        ("a zebra", [0, 0, 0]),
        ("uft", [0, 0, 0]),
    ):
        assert shares[np.isin(stems, find_stems(text))].sum(axis=0) == pytest.approx(expected)
    assert find_stems("jemand läuft") == ["jemand", "läuft"]  # words with letters of other languages are not split


def test_each_action_has_phrases_and_they_read_as_sentences() -> None:
    related = read_related_phrases("en")
    assert set(load_library().entries) <= related["actions"].keys()
    assert min(map(len, related["actions"].values())) >= 40
    assert to_sentence("a porter with luggage", related) == "a porter with luggage"
    assert to_sentence("another time hops", related) == "someone another time hops"
    for action, phrases in related["actions"].items():
        assert len(set(phrases)) == len(phrases), action


def test_the_caption_of_a_segment_finds_samples_with_its_action(dataset: Path) -> None:
    search, opened = open_search(dataset), open_dataset(dataset)
    rows = [row for sample in range(len(opened)) for row in opened.rows(sample)]
    said = {segment["text"]: segment["action"] for row in rows for actor in row["actors"] for segment in actor["segments"]}
    # The shortest text of each action.
    asked = {said[text]: text for text in sorted(said, key=lambda text: (-len(text.split()), text))}
    right = 0
    for action, text in asked.items():
        found = search.find(f"someone {text}", 3)
        assert len({one.sample for one in found}) == 3
        right += action in found[0].actions
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        best = next(row for row in opened.rows(found[0].sample) if row["variant"] == found[0].variant)
        assert found[0].caption in [caption["text"] for caption in best["captions"]]
        assert found[0].action in found[0].actions
    # The encoder for tests knows words only, not their meaning, so it is not always right.
    assert right >= 0.7 * len(asked)
    assert len(asked) > 7


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
def test_a_damaged_index_is_computed_again_and_an_intact_one_is_kept(dataset: Path) -> None:
    first = open_search(dataset).find("someone waves", 5)
    place = dataset / "embeddings/hashing-for-tests/search/index.npz"
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

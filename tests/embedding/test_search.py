"""Search: what it finds, how it tells of it, and what it does with what is missing or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embed.phrasings import JUDGED, phrasings, unfair, words_of_actions
from posegen.cli.main import main
from posegen.embedding import open_embeddings
from posegen.embedding.search import fitting, open_search
from posegen.embedding.search_index import SearchIndex
from posegen.store.read import open_dataset


def index(actions: list[str], related: list[bool], vectors: list[list[float]]) -> SearchIndex:
    none = np.zeros(0, np.int64)
    return SearchIndex(actions, actions, np.array(related), np.array(vectors, np.float32), none, none, [])


def test_a_phrase_fits_as_well_as_it_and_its_action_are_near() -> None:
    query = np.array([1, 0], np.float32)
    found = fitting(query, index(["wave", "wave", "walk"], [False, False, False], [[1, 0], [0.6, 0.8], [0.8, 0.6]]))
    assert found.tolist() == pytest.approx([0.9 * 0.8 + 0.1, 0.9 * 0.8 + 0.1 * 0.6, 0.8])


def test_words_related_to_an_action_count_as_much_as_what_is_said_of_it() -> None:
    query = np.array([1, 0], np.float32)
    found = fitting(query, index(["wave", "wave", "walk"], [False, True, False], [[0, 1], [1, 0], [0.28, 0.96]]))
    assert found[0] == pytest.approx(0.9 * 0.5)
    assert found[0] > found[2]


def test_what_is_said_of_a_segment_finds_samples_that_do_it(dataset: Path) -> None:
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
    # The encoder for tests knows no meanings, only words: it cannot be right each time.
    assert right >= 0.7 * len(asked) > 3


def test_the_command_prints_one_document_and_samples_once(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(dataset), "someone waves", "--top", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["text"], document["encoder"]) == ("someone waves", "hashing-for-tests")
    samples = [one["sample"] for one in document["found"]]
    assert len(samples) == len(set(samples)) == 4
    assert main(["search", str(dataset), "someone waves", "--top", "4", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [int(line.split()[0]) for line in printed.out.splitlines()[1:5]] == samples


def test_what_it_looks_through_is_made_again_when_damaged_and_not_when_sound(dataset: Path) -> None:
    first = open_search(dataset).find("someone waves", 5)
    place = dataset / "embeddings/hashing-for-tests/search/phrases.parquet"
    made = place.stat().st_mtime_ns
    assert open_search(dataset).find("someone waves", 5) == first
    assert place.stat().st_mtime_ns == made
    place.write_bytes(place.read_bytes()[:-7] + b"damaged")
    assert open_search(dataset).find("someone waves", 5) == first


def test_errors_say_what_to_do(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert f"Run `posegen embed {dataset}`" in capsys.readouterr().err


def test_phrasings_that_search_is_judged_by_say_nothing_as_captions_do(dataset: Path) -> None:
    judged, words, texts = phrasings(JUDGED), words_of_actions(), list(open_embeddings(dataset).texts)
    assert len({one.text for one in judged}) == 100
    for one in judged:
        assert unfair(one, words, texts) == []
    assert unfair(judged[0].__class__("a person is walking", ("walk",)), words, []) == ["says 'walk', as captions of walk do"]

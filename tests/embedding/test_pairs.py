"""Pairs of texts against a naive implementation that reads rows one by one; kills, damage and changes."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from posegen.dataset.read import open_dataset
from posegen.embedding import open_embeddings
from posegen.embedding.pairs import PairTable, mine_pairs, open_pairs
from posegen.foundations.constants import SHAPES
from posegen.foundations.errors import PosegenError, UsageError

pytest.importorskip("faiss")

Row = dict[str, Any]


class NaivePairs:
    """Reads the table of sequences row by row, and compares a text with the labels of another text's sequences."""

    def __init__(self, path: Path) -> None:
        rows = pq.read_table(path / "sequences").to_pylist()
        self.texts = list(open_embeddings(path).texts)
        self.sequences: dict[str, list[Row]] = {}
        self.claims: dict[str, list[tuple[Row, Row]]] = {}
        for row in rows:
            for caption in row["captions"]:
                self.sequences.setdefault(caption["text"], []).append(row)
                self.claims[caption["text"]] = [(row, statement) for statement in caption["statements"]]

    def false(self, row: int, other: int) -> bool:
        """Return whether a claim of the other text is false of each sequence of the first."""
        sequences = self.sequences[self.texts[row]]
        claims = self.claims[self.texts[other]]
        return any(all(wrong(claim, source, sequence) for sequence in sequences) for source, claim in claims)

    def actions(self, row: int) -> set[str]:
        """Return the actions that a text claims."""
        return {claim["action"] for _, claim in self.claims[self.texts[row]] if claim["kind"] == "action"}


def wrong(claim: Row, source: Row, sequence: Row) -> bool:
    """Return whether the labels of a sequence contradict a claim of a caption of another sequence."""
    segments = [segment for actor in sequence["actors"] for segment in actor["segments"]]
    own = [segment for segment in segments if segment["action"] == claim["action"]]
    kind, value = claim["kind"], claim["value"]
    if kind == "action" and value == "":
        return not own
    if kind == "side":
        return all(segment["side"] not in ("", value) for segment in own)
    if kind == "count":
        return all(segment["repetitions"] not in (0, int(value)) for segment in own)
    if value in SHAPES:
        # The shape of a path is stated where the joints show it.
        return all((kind, value) not in {(s["kind"], s["value"]) for s in segment["statements"]} for segment in own)
    if kind in ("direction", "path"):
        return all(contradicts_turn(kind, value, segment["turn"]) for segment in own)
    if kind == "order":
        relation, number = value.split()
        other = source["actors"][claim["actor"]]["segments"][int(number)]["action"]
        pairs = [pair for actor in sequence["actors"] for pair in itertools.permutations(actor["segments"], 2)]
        matching = [(a, b) for a, b in pairs if (a["action"], b["action"]) == (other, claim["action"])]
        if relation == "after":
            return not any(a["start"] < b["start"] for a, b in matching)
        return not any(a["start"] < b["end"] and b["start"] < a["end"] for a, b in matching)
    return False


def contradicts_turn(kind: str, word: str, turn: float) -> bool:
    """Return whether a word does not fit a turn of that many degrees."""
    if word == "straight":
        return abs(turn) > 30
    if word == "around":
        return abs(turn) <= 140
    towards = turn if word == "left" else -turn
    return towards <= 10 if kind == "path" else towards <= 5 or towards > 160


def test_negatives_are_false_and_near_duplicates_true_of_a_texts_own_sequences(dataset: Path) -> None:
    found = mine_pairs(dataset)
    pairs, judge = open_pairs(dataset), NaivePairs(dataset)
    assert (found.duplicates + found.negatives, found.texts) == (len(pairs.table), len(judge.texts))
    judged = {"action": 0, "side": 0, "direction": 0, "path": 0, "count": 0, "order": 0, "": 0}
    for pair in pairs.table.to_pylist():
        judged[pair["reason"]] += 1
        row, other = pair["row"], pair["other"]
        if pair["kind"] == "duplicate":
            assert not judge.false(row, other), (judge.texts[row], judge.texts[other])
            actors = judge.sequences[judge.texts[row]][0]["actors"]
            assert judge.actions(other) <= {segment["action"] for actor in actors for segment in actor["segments"]}
        else:
            assert judge.false(row, other), (judge.texts[row], judge.texts[other], pair["reason"])
    assert min(judged[reason] for reason in ("action", "side", "")) > 0


def test_no_text_is_near_duplicate_and_negative_of_the_same_one_nor_of_itself(dataset: Path) -> None:
    mine_pairs(dataset, duplicates=3, negatives=5)
    pairs = open_pairs(dataset)
    for row in range(pairs.texts):
        alike, hard = set(pairs.duplicates(row).tolist()), set(pairs.negatives(row).tolist())
        assert not alike & (hard | {row})
        assert row not in hard
        assert max(len(alike) - 3, len(hard) - 5) <= 0
    assert max(len(pairs.negatives(row)) for row in range(pairs.texts)) == 5
    with pytest.raises(IndexError, match="only of the first"):
        pairs.negatives(pairs.texts)


def test_the_same_words_with_the_other_side_are_a_hard_negative(dataset: Path) -> None:
    mine_pairs(dataset)
    pairs, texts = open_pairs(dataset), list(open_embeddings(dataset).texts)
    mirrored = {text.replace("left", "#").replace("right", "left").replace("#", "right"): row for row, text in enumerate(texts)}
    found = [(row, mirrored[text]) for row, text in enumerate(texts) if mirrored.get(text, row) != row and "hand" in text]
    assert len(found) > 10
    for row, other in found:
        assert other in pairs.negatives(row)[:3], (texts[row], texts[other])


def parts(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((path / "embeddings/hashing-for-tests/pairs").iterdir())}


KILLED = """
import os, signal, sys
from posegen.embedding import pairs
from posegen.foundations.progress import Progress
class Killer(Progress):
    def start(self, task, total, *, unit="samples", done=0):
        self.task = task
    def update(self, done, details=""):
        if self.task == "mine pairs" and done >= 64:
            os.kill(os.getpid(), signal.SIGKILL)
pairs.SHARD = 32
pairs.mine_pairs(sys.argv[1], progress=Killer())
"""


@pytest.mark.slow
def test_after_a_kill_only_missing_shards_are_computed(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(dataset)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(PosegenError, match="not complete"):
        open_pairs(dataset)
    monkeypatch.setattr("posegen.embedding.pairs.SHARD", 32)
    found = mine_pairs(dataset)
    assert found.made == found.shards - 2 > 0
    resumed = parts(dataset)
    for file in resumed:
        (dataset / "embeddings/hashing-for-tests/pairs" / file).unlink()
    assert mine_pairs(dataset).made == found.shards
    assert parts(dataset) == resumed


def test_a_complete_table_is_kept_and_damaged_shards_are_computed_again(dataset: Path) -> None:
    assert not mine_pairs(dataset).nothing_to_do
    before = parts(dataset)
    assert mine_pairs(dataset).nothing_to_do
    part = dataset / "embeddings/hashing-for-tests/pairs/part-00000.parquet"
    part.write_bytes(before[part.name][:-9] + b"?" * 9)
    with pytest.raises(PosegenError, match=r"part-00000.*damaged"):
        open_pairs(dataset)
    assert mine_pairs(dataset).made == 1
    assert parts(dataset) == before


def test_pairs_are_mined_again_for_other_caps_or_vectors(dataset: Path) -> None:
    mine_pairs(dataset)
    assert mine_pairs(dataset, negatives=2).made == 1
    assert max(len(open_pairs(dataset).negatives(row)) for row in range(5)) <= 2
    receipt = dataset / "embeddings/hashing-for-tests/pairs/pairs.json"
    assert isinstance(open_pairs(dataset), PairTable)
    receipt.write_text(receipt.read_text().replace('"negatives": 2', '"negatives": 3'))
    with pytest.raises(PosegenError, match=r"pairs\.json"):
        open_pairs(dataset)
    assert mine_pairs(dataset, negatives=2).made == 0
    assert open_pairs(dataset).header.negatives == 2


def test_a_cap_on_samples_omits_texts_of_later_samples(dataset: Path) -> None:
    mine_pairs(dataset, samples=12)
    pairs, embeddings = open_pairs(dataset), open_embeddings(dataset)
    rows, samples = (embeddings.rows.column(name).to_numpy() for name in ("row", "sample"))
    assert pairs.texts == rows[samples < 12].max() + 1 < embeddings.count
    later = np.unique(rows[samples >= 12])
    assert not np.isin(pairs.table.column("row").to_numpy(), later).any()


def test_errors_contain_a_hint(dataset: Path) -> None:
    with pytest.raises(UsageError, match=r"has no pairs of texts yet. Run `posegen embed .* --pairs`"):
        open_pairs(dataset)
    with pytest.raises(UsageError, match="negatives must be at least 1"):
        mine_pairs(dataset, negatives=0)
    assert len(open_dataset(dataset)) == 40

"""Paraphrasing a dataset: shard by shard, each distinct caption asked for once, several at a time.

An answer is kept on disk as soon as it comes, a shard's part and receipt when all of its captions are answered: a run that is
killed loses no more than the answers then under way, and the same command goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from posegen.config.schema import Config
from posegen.dataset.files import remove_temporary_files, write_durably
from posegen.dataset.layout import rows_path
from posegen.dataset.lock import locked
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.runs import current_run
from posegen.dataset.tables import encode_table
from posegen.errors import PosegenError, UsageError
from posegen.library.load import Library, load_library
from posegen.paraphrase.answers import Answers, answers_at
from posegen.paraphrase.claims import changed
from posegen.paraphrase.endpoint import PROMPT, Asker, Server, asking
from posegen.paraphrase.layout import (
    ANSWERS,
    HEADER,
    SCHEMA,
    Provenance,
    Receipt,
    check_provenance,
    folder_of,
    hash_of,
    header_bytes,
    part_path,
    read_receipt,
    receipt_path,
)
from posegen.validation import validated

__all__ = ["UNANSWERED", "Paraphrases", "paraphrase"]

UNANSWERED = "no usable answer"
HOPELESS = 20
"""After so many captions in a row without a usable answer, nothing more is asked."""
_Row = dict[str, Any]


@dataclass
class Paraphrases:
    """What there is in the end.

    Attributes
    ----------
    place : Path
    shards, made : int
        How many there are, and how many of them were made by this run.
    captions, kept : int
        How many there are, and how many of them have a paraphrase.
    asked : int
        Captions that the server was asked for by this run.
    refused : Counter of str
        Captions that have no paraphrase, by reason.
    """

    place: Path
    shards: int = 0
    made: int = 0
    captions: int = 0
    kept: int = 0
    asked: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, receipt: Receipt) -> None:
        """Count a shard."""
        self.shards += 1
        self.captions += receipt.captions
        self.kept += receipt.kept
        self.refused.update(receipt.refused)


def paraphrase(
    path: Path,
    server: Server,
    *,
    limit: int | None = None,
    in_flight: int = 8,
    progress: Callable[[int, int, int], None] | None = None,
) -> Paraphrases:
    """Have the captions of a dataset reworded.

    Parameters
    ----------
    path : Path
    server : Server
    limit : int, optional
        How many samples, from the first; all unless given.
    in_flight : int
        How many captions are asked for at once.
    progress : callable, optional
        Told captions asked for, samples done and samples in all, after each answer and each shard.

    Returns
    -------
    Paraphrases

    Raises
    ------
    UsageError
        If there are paraphrases that were asked for otherwise.
    PosegenError
        If the server refuses, or does not answer; what was answered until then is kept.
    """
    for name, value in (("--limit", limit), ("--in-flight", in_flight)):
        if value is not None and value < 1:
            msg = f"{name} must be at least 1 (got {value})"
            raise UsageError(msg)
    dataset = open_dataset(path)
    folder = folder_of(path, server.model)
    samples = min(limit or len(dataset), len(dataset))
    config = validated(Config, dataset.header.config, lambda key: f"{path}: in the config of its dataset.json: ")
    library = load_library(config.story.library)
    _begin(folder, dataset, server)
    tell = progress or (lambda asked, done, total: None)
    found, size, run = Paraphrases(folder), dataset.header.shard, current_run()
    with locked(folder, run), answers_at(folder / ANSWERS) as answers, asking(server) as asker:
        remove_temporary_files(folder)
        for shard in range(-(-samples // size)):
            count = min(size, samples - shard * size)
            receipt = read_receipt(folder, shard)
            source = dataset.receipt(shard).files[rows_path(shard)].xxh3
            if receipt is None or receipt.source != source or receipt.samples < count:
                rows = _rows(dataset, shard, count)
                for _ in _answers_to(rows, answers, asker, in_flight):
                    found.asked += 1
                    tell(found.asked, shard * size, samples)
                receipt = _write(folder, Receipt(shard, count, 0, source, 0, "", 0, {}), _judged(rows, answers, library), run)
                found.made += 1
            found.add(receipt)
            tell(found.asked, min(samples, (shard + 1) * size), samples)
    return found


def _begin(folder: Path, dataset: Dataset, server: Server) -> None:
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    prompt = hash_of(PROMPT.encode())
    wanted = Provenance(dataset.header.identity, server.host, server.model, prompt, server.temperature, begun)
    if check_provenance(folder, wanted) is None:
        write_durably(folder / HEADER, header_bytes(wanted), current_run())


def _rows(dataset: Dataset, shard: int, count: int) -> list[_Row]:
    table = dataset.table(shard).slice(0, count * len(dataset.header.variants)).select(["sample", "variant", "captions"])
    rows: list[_Row] = table.to_pylist()
    return rows


def _answers_to(rows: Sequence[_Row], answers: Answers, asker: Asker, in_flight: int) -> Iterator[str | None]:
    """Ask for all captions that have no answer yet, and keep the answers; give them as they come."""
    distinct = list(dict.fromkeys(caption["text"] for row in rows for caption in row["captions"]))
    known = answers.known(distinct)
    missing = [text for text in distinct if text not in known]
    useless: list[str] = []
    finished, in_a_row = False, 0
    with ThreadPoolExecutor(in_flight, "asking") as threads:
        try:
            for text, answer in _in_turn(missing, threads, asker, in_flight):
                in_a_row = in_a_row + 1 if answer is None else 0
                if in_a_row >= HOPELESS:
                    msg = f"{asker.server.host}: answers, but {in_a_row} times in a row not with a caption. Look at the model"
                    raise PosegenError(msg)
                if answer is None:
                    useless.append(text)
                else:
                    answers.keep(text, answer)
                yield answer
            finished = True
        finally:
            if not finished:  # whoever waits to ask again is not waited for
                asker.leaving.set()
    for text in useless:
        answers.keep(text, None)


def _in_turn(
    texts: Sequence[str], threads: ThreadPoolExecutor, asker: Asker, in_flight: int
) -> Iterator[tuple[str, str | None]]:
    """Ask for several at a time; give answers as they come."""
    waiting: dict[Future[str | None], str] = {}
    left = iter(texts)
    while True:
        for text in islice(left, in_flight - len(waiting)):
            waiting[threads.submit(asker.ask, text)] = text
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()


def _judged(rows: Sequence[_Row], answers: Answers, library: Library) -> list[_Row]:
    """Give a row for each caption, with the paraphrase if it claims the same, or with the reason why there is none."""
    known = answers.known(list(dict.fromkeys(caption["text"] for row in rows for caption in row["captions"])))
    judged = []
    with content_errors("the table of sequences"):
        for row in rows:
            for number, caption in enumerate(row["captions"]):
                answer = known[caption["text"]]
                reason = UNANSWERED if answer is None else changed(caption, answer, library)
                judged.append(
                    {
                        "sample": row["sample"],
                        "variant": row["variant"],
                        "caption": number,
                        "kind": caption["kind"],
                        "text": caption["text"],
                        "paraphrase": None if reason else answer,
                        "reason": reason or None,
                    }
                )
    return judged


def _write(folder: Path, receipt: Receipt, judged: list[_Row], run: str) -> Receipt:
    """Write a part, and then its receipt."""
    data = encode_table(pa.Table.from_pylist(judged, schema=SCHEMA))
    write_durably(part_path(folder, receipt.shard), data, run)
    reasons = Counter(row["reason"] for row in judged if row["reason"])
    done = replace(
        receipt,
        captions=len(judged),
        size=len(data),
        xxh3=hash_of(data),
        kept=len(judged) - reasons.total(),
        refused=dict(sorted(reasons.items())),
    )
    write_durably(receipt_path(folder, receipt.shard), done.to_bytes(), run)
    return done

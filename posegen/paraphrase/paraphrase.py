"""Paraphrase a dataset: shard by shard, each distinct caption asked for once, several at a time.

An answer is stored on arrival, and a shard's part and receipt when all of its captions have answers. A run that is killed loses
only the answers that it was waiting for; the same command resumes it. They are stored beside the dataset::

    DATASET/paraphrases/MODEL/
      paraphrases.json          dataset, host, model, hash of the prompt, temperature, date of the first run
      answers.sqlite            answers as received, by caption
      parts/part-00000.parquet  a row for each caption: sample, variant, caption, kind, text, paraphrase, reason
      receipts/paraphrases/00000.json  hash of the part, number of paraphrases and of refusals; written last
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pyarrow as pa

from posegen.dataset import documents, files, lock, overlays, tables
from posegen.dataset.read import content_errors, open_dataset
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.hashing import byte_hash
from posegen.foundations.machine import user_cache
from posegen.foundations.progress import Progress
from posegen.library.load import Library, load_library
from posegen.paraphrase.comparison import paraphrase_difference
from posegen.paraphrase.endpoint import PROMPT, Client, Server, connect

HEADER = "paraphrases.json"
ANSWERS = "answers.sqlite"
_TEXTS = ("kind", "text", "paraphrase", "reason")
SCHEMA = pa.schema(
    [("sample", pa.int64()), ("variant", pa.string()), ("caption", pa.int32()), *((name, pa.string()) for name in _TEXTS)]
)
"""`caption` is the number of the caption in its row; `paraphrase` is null where it was refused, and `reason` is the reason."""

_ADD = "INSERT OR REPLACE INTO answers VALUES (?, ?)"
_HINT = "Delete this folder of paraphrases and run the command again"

KIND = "paraphrases"
"""Kind of the receipts. Their numbers are those of all captions, of those that were kept, and of refused ones by reason."""
NO_ANSWER = "no usable answer"
MOST_USELESS = 20
"""Captions in a row without a usable answer after which the run ends."""
_Row = dict[str, Any]


@dataclass(frozen=True)
class Provenance(documents.Document):
    """Origin of paraphrases: all that determines what the server is asked. `begun` is the date of the first run, in UTC."""

    identity: str
    endpoint: str
    model: str
    prompt: str
    temperature: float | None
    begun: str


@contextmanager
def _open_answers(folder: AnyPath) -> Iterator[sqlite3.Connection]:
    """Open or create the table of answers to a folder of paraphrases: in it, or for one in a bucket in the user's cache.

    An answer is null where none was usable. What is inserted is on the disk at once.

    Raises
    ------
    PosegenError
        If the file is not such a table, or is damaged.
    """
    if local := storage_of(folder).local:
        path = local / ANSWERS
    else:
        path = user_cache() / "paraphrases" / f"{byte_hash([str(folder).encode()])}-{ANSWERS}"
        path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise PosegenError(f"{path}: is not a regular file. Delete it")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as table:
            table.execute("PRAGMA synchronous = FULL")
            table.execute("CREATE TABLE IF NOT EXISTS answers (caption TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")
            yield table
    except sqlite3.Error as error:
        msg = f"{path}: cannot be used ({error}). Delete it: complete parts stay, the other captions are asked for again"
        raise PosegenError(msg) from error


def _find(answers: sqlite3.Connection, captions: Sequence[str]) -> dict[str, str | None]:
    """Return the answers of the captions that have one."""
    query = "SELECT caption, answer FROM answers WHERE caption = ?"
    return dict(row for caption in captions for row in answers.execute(query, (caption,)))


@dataclass
class Paraphrases:
    """Paraphrases of a dataset after a run.

    Attributes
    ----------
    path : Path
    shards, written : int
        All complete shards, and those that this run completed.
    captions, kept : int
        All captions, and those with a paraphrase.
    asked : int
        Captions that this run asked the server for.
    refused : Counter of str
        Captions without a paraphrase, by reason.
    """

    path: AnyPath
    shards: int = 0
    written: int = 0
    captions: int = 0
    kept: int = 0
    asked: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, receipt: overlays.OverlayReceipt) -> None:
        """Count a shard."""
        reasons = dict(receipt.numbers)
        self.shards += 1
        self.captions += reasons.pop("captions")
        self.kept += reasons.pop("kept")
        self.refused.update(reasons)


def paraphrase(
    path: AnyPath, server: Server, *, limit: int | None = None, in_flight: int = 8, progress: Progress | None = None
) -> Paraphrases:
    """Paraphrase the captions of a dataset.

    Parameters
    ----------
    path : Path or BucketPath
    server : Server
    limit : int, optional
        Number of samples, from the first; all unless given.
    in_flight : int
        Captions asked for at the same time.
    progress : Progress, optional
        Display of the samples that are complete; none unless given.

    Returns
    -------
    Paraphrases

    Raises
    ------
    UsageError
        If there are paraphrases that were asked for differently.
    PosegenError
        If the server refuses, or does not answer; the answers so far are stored.
    """
    for name, value in (("--limit", limit), ("--in-flight", in_flight)):
        require_positive(name, value)
    dataset = open_dataset(path)
    library = load_library(dataset.config.story.library)
    folder, size = overlays.overlay_folder(path, KIND, server.model, "parts", "receipts"), dataset.header.shard
    samples = min(limit or len(dataset), len(dataset))
    begun, prompt = datetime.now(UTC).isoformat(timespec="seconds"), byte_hash([PROMPT.encode()])
    asked = Provenance(dataset.header.identity, server.host, server.model, prompt, server.temperature, begun)
    _write_provenance(folder, asked)
    display = progress or Progress()
    result = Paraphrases(folder)
    with lock.locked(folder), _open_answers(folder) as answers, connect(server) as client:
        display.start("paraphrase", samples)
        for first in range(0, samples, size):
            shard, count = first // size, min(size, samples - first)
            receipt = overlays.intact_receipt(folder, KIND, shard)
            source = dataset.rows_hash(shard)
            if receipt is None or receipt.source != source or receipt.count < count:
                table = dataset.table(shard).slice(0, count * len(dataset.header.variants))
                rows = table.select(["sample", "variant", "captions"]).to_pylist()
                for _ in _ask_missing(rows, answers, client, in_flight):
                    result.asked += 1
                    display.update(first, f"{result.asked:,} captions asked for")
                compared = _compare(rows, answers, library)
                part = {f"parts/part-{shard:05}.parquet": [tables.encode_table(pa.Table.from_pylist(compared, schema=SCHEMA))]}
                refused = Counter(row["reason"] for row in compared if row["reason"])
                numbers = {"captions": len(compared), "kept": len(compared) - refused.total(), **refused}
                receipt = overlays.commit_part(folder, KIND, shard, count, source, numbers, part)
                result.written += 1
            result.add(receipt)
            display.update(first + count, f"{result.asked:,} captions asked for")
    display.stop()
    return result


def _write_provenance(folder: AnyPath, asked: Provenance) -> None:
    """Write the origin of the paraphrases in a folder; UsageError if those in it have another one."""
    stored = files.load_document(Provenance, folder / HEADER, _HINT)
    if stored is None:
        files.write_durably(folder / HEADER, documents.seal(asked, indent=2))
    elif differences := overlays.list_differences(asdict(stored), asdict(asked) | {"begun": stored.begun}):
        msg = f"{folder}: was asked for differently ({'; '.join(differences)}). Delete that folder, or use the same options"
        raise UsageError(msg)


def _distinct_captions(rows: Sequence[_Row]) -> list[str]:
    return list(dict.fromkeys(caption["text"] for row in rows for caption in row["captions"]))


def _ask_missing(rows: Sequence[_Row], answers: sqlite3.Connection, client: Client, in_flight: int) -> Iterator[None]:
    """Ask for all captions without an answer, several at a time; store the answers, and yield after each."""
    distinct = _distinct_captions(rows)
    known, unusable, in_a_row = _find(answers, distinct), list[str](), 0
    missing = [text for text in distinct if text not in known]
    with ThreadPoolExecutor(in_flight, "paraphrase") as threads:
        try:
            for text, answer in _request_all(missing, threads, client, in_flight):
                in_a_row = in_a_row + 1 if answer is None else 0
                if in_a_row >= MOST_USELESS:
                    msg = f"{client.server.host}: answers, but {in_a_row} times in a row not with a caption. Check the model"
                    raise PosegenError(msg)
                if answer is None:
                    unusable.append(text)
                else:
                    answers.execute(_ADD, (text, answer))
                yield
        except BaseException:
            client.stopping.set()  # ends the waits for the next attempts
            raise
    answers.executemany(_ADD, [(text, None) for text in unusable])


def _request_all(
    texts: Sequence[str], threads: ThreadPoolExecutor, client: Client, in_flight: int
) -> Iterator[tuple[str, str | None]]:
    """Ask for several captions at a time, so that none is asked for after a refusal; yield the answers on arrival."""
    waiting: dict[Future[str | None], str] = {}
    left = iter(texts)
    while True:
        waiting |= {threads.submit(client.reword, text): text for text in islice(left, in_flight - len(waiting))}
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), future.result()


def _compare(rows: Sequence[_Row], answers: sqlite3.Connection, library: Library) -> list[_Row]:
    """Return a row for each caption, with its paraphrase if that states the same, otherwise with the reason."""
    known = _find(answers, _distinct_captions(rows))
    compared = []
    with content_errors("the table of sequences"):
        for row, number, caption in ((each, *numbered) for each in rows for numbered in enumerate(each["captions"])):
            answer = known[caption["text"]]
            reason = NO_ANSWER if answer is None else paraphrase_difference(caption, answer, library)
            values = (row["sample"], row["variant"], number, caption["kind"], caption["text"])
            found = (None, reason) if reason else (answer, None)
            compared.append(dict(zip(SCHEMA.names, (*values, *found), strict=True)))
    return compared

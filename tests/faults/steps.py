"""The steps at which tests make a run die, as calls that `injection.c` sees from outside the program.

A step is a name, such as ``file_placed``; ``file_placed@3`` is that of shard 3, and ``file_placed@3#2`` its second one.

- Steps of a commit: `file_opened` and `file_written` (a temporary file is there, and is on the disk), `encoded` (all are),
  `receipt_removed`, `file_placed` (it has its final name), `files_durable`, `receipt_written`, `receipt_placed`.
- Steps of publishing: `description_written`, `description_placed`, `descriptions_written`, `header_written`. ``@10`` are those
  after the shard that ends with sample 10 is stored, and ``@0`` those at the start of the run.
- Steps of any file: `document_written`, `document_placed`.

In a bucket, nothing is temporary: a file is opened and written when its request begins, and placed when that is answered.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from posegen.dataset.storage.address import AnyPath
from tests.faults.injection import Call, inject

__all__ = ["STEPS", "die_at", "fail_at"]

STEPS = (
    "file_opened",
    "file_written",
    "encoded",
    "receipt_removed",
    "file_placed",
    "files_durable",
    "receipt_written",
    "receipt_placed",
)
"""The steps of a commit."""
SHARD = 4
"""Samples of a shard in the tests of faults."""
TEMPORARY = "~[^/]*temporary$"


def die_at(path: AnyPath, step: str) -> dict[str, str]:
    """Return the environment in which a run on a dataset dies at a step."""
    match = re.fullmatch(r"(\w+)(?:@(\d+))?(?:#(\d+))?", step)
    assert match
    find = _calls_in_folder if isinstance(path, Path) else _calls_in_bucket
    return inject(*find(match[1], match[2], int(match[3] or 1)))


def fail_at(fault: str) -> dict[str, str]:
    """Return the environment in which the disk fails, such as ``EIO:syncing@part-00003.parquet``.

    After the name of the error, one of the steps `writing`, `syncing`, `placing` and `syncing_folder`, and the name of the file
    or folder; ``#2`` is only the second time that it is reached.
    """
    match = re.fullmatch(r"(\w+):(\w+)@([\w.-]+)(?:#(\d+))?", fault)
    assert match
    name = re.escape(match[3])
    call, pattern = {
        "writing": ("write", rf"/\.{name}{TEMPORARY}"),
        "syncing": ("fsync", rf"/\.{name}{TEMPORARY}"),
        "placing": ("rename", f"/{name}$"),
        "syncing_folder": ("fsync", f"/{name}$"),
    }[match[2]]
    return inject(Call("before", call, pattern, int(match[4] or 0)), error=match[1])


def _names(shard: str | int | None) -> tuple[str, str]:
    """Return patterns of the names of a shard's files and of its receipt; of any shard for None."""
    number = "[0-9]+" if shard is None else f"0*{shard}"
    return rf"(c\.{number}(\.0)+|part-{number}\.parquet)", rf"receipts/(.*/)?\.?{number}\.json"


def _calls_in_folder(name: str, subject: str | None, time: int) -> list[Call]:
    file, receipt = _names(subject)
    description, header = r"/\.?(zarr|dataset\.copy)\.json", r"/\.?dataset\.json"
    stored = [Call("after", "rename", _names((int(subject) - 1) // SHARD)[1])] if subject and int(subject) else []
    # A repair removes receipts before it begins.
    written = Call("after", "fsync", rf"/\.{file}{TEMPORARY}")
    return {
        "file_opened": [Call("after", "open", rf"/\.{file}{TEMPORARY}", time)],
        "file_written": [replace(written, time=time)],
        "encoded": [written, Call("before", "unlink", rf"{receipt}$", time)],
        "receipt_removed": [written, Call("after", "unlink", rf"{receipt}$", time)],
        "file_placed": [Call("after", "rename", rf"/{file}$", time)],
        "files_durable": [Call("before", "open", receipt + TEMPORARY, time)],
        "receipt_written": [Call("after", "fsync", receipt + TEMPORARY, time)],
        "receipt_placed": [Call("after", "rename", rf"{receipt}$", time)],
        "description_written": [*stored, Call("after", "fsync", description + TEMPORARY, time)],
        "description_placed": [*stored, Call("after", "rename", f"{description}$", time)],
        "descriptions_written": [*stored, Call("before", "open", header + TEMPORARY, time)],
        "header_written": [*stored, Call("after", "rename", f"{header}$", time)],
        "document_written": [Call("after", "fsync", TEMPORARY, time)],
        "document_placed": [Call("after", "fsync", TEMPORARY, time), Call("after", "rename", "")],
    }[name]


def _calls_in_bucket(name: str, subject: str | None, time: int) -> list[Call]:
    file, receipt = _names(subject)
    description, header = r"PUT .*/(zarr|dataset\.copy)\.json$", r"PUT .*/dataset\.json$"
    placed = Call("after", "request", f"PUT .*/{file}$")
    # A receipt that was removed was also replaced by a request, so only one behind that of a file stores the shard.
    names = _names((int(subject) - 1) // SHARD) if subject and int(subject) else ()
    stored = [Call("after", "request", f"PUT .*/?{name}$") for name in names]
    return {
        "file_opened": [Call("before", "request", f"PUT .*/{file}$", time)],
        "file_written": [Call("before", "request", f"PUT .*/{file}$", time)],
        "encoded": [Call("before", "request", f"(HEAD|PUT) .*{receipt}$", time)],
        "receipt_removed": [Call("before", "request", f"PUT .*/{file}$", time)],
        "file_placed": [Call("after", "request", f"PUT .*/{file}$", time)],
        "files_durable": [placed, Call("before", "request", f"PUT .*{receipt}$", time)],
        "receipt_written": [placed, Call("before", "request", f"PUT .*{receipt}$", time)],
        "receipt_placed": [placed, Call("after", "request", f"PUT .*{receipt}$", time)],
        "description_written": [*stored, Call("before", "request", description, time)],
        "description_placed": [*stored, Call("after", "request", description, time)],
        # A new dataset gets its header first.
        "descriptions_written": [*stored, Call("before", "request", header if stored else f"PUT .*/{_names(None)[0]}$", time)],
        "header_written": [*stored, Call("after", "request", header, time)],
        "document_written": [Call("before", "request", "PUT ", time)],
        "document_placed": [Call("after", "request", "PUT ", time)],
    }[name]

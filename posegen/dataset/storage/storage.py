"""What folders of this machine and buckets share: the entries of a listing, conflicts, and requests at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from posegen.foundations.errors import PosegenError

Item = TypeVar("Item")
Result = TypeVar("Result")


class ConflictError(PosegenError):
    """A file has another content than expected: another run has written it meanwhile."""


class Entry(NamedTuple):
    """Size of a file in bytes, when it was written, in seconds since 1970, and whether it is a plain file."""

    size: int
    modified: float
    is_plain: bool = True


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int, name: str) -> Iterator[Result]:
    """Yield the results of a function in order, `threads` at the same time and few in advance, so that memory does not grow."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, name) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

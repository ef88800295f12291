"""Write the objects of a shard to a bucket, and then its receipt.

Not responsible for what they contain; see :mod:`posegen.dataset.write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from posegen.dataset.bucket import BucketPath, map_requests
from posegen.dataset.faults import fault_point
from posegen.stopwatch import stage

ATTEMPTS_TO_COMMIT = 10
"""How often a run stores the same part, at most, while others store it too, before it gives up."""


class BucketWriter:
    """Writes objects; :class:`posegen.dataset.files.BackgroundWriter` writes files with the same methods.

    Parameters
    ----------
    kind : str
        Kind of the objects, which names the steps of :mod:`posegen.dataset.faults`.
    subject : int or str, optional
        Subject of these steps.
    """

    def __init__(self, kind: str, subject: int | str | None = None) -> None:
        self._kind, self._subject = kind, subject
        self._pending: list[tuple[BucketPath, Sequence[bytes]]] = []

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *error: object) -> None:
        """Forget what was not written."""
        self._pending.clear()

    def write(self, path: BucketPath, pieces: Sequence[bytes]) -> None:
        """Keep the content of an object until :meth:`place`."""
        self._pending.append((path, pieces))
        fault_point(f"{self._kind}_written", self._subject)

    def place(self, receipt: BucketPath | None = None) -> None:
        """Write all objects, several at the same time; none is replaced if `receipt` is there."""

        def put(entry: tuple[BucketPath, Sequence[bytes]]) -> None:
            path, pieces = entry
            fault_point("placing", path.name)
            path.write(b"".join(pieces), receipt=receipt)
            fault_point(f"{self._kind}_placed", self._subject)

        with stage("write"):
            for _ in map_requests(put, self._pending):
                pass
        self._pending.clear()

    def commit(self, receipt: BucketPath, content: bytes, obsolete: Iterable[BucketPath] = ()) -> None:
        """Write all objects, and then their receipt; an older receipt is removed before.

        Raises
        ------
        ConflictError
            If another run has written a receipt meanwhile.
        """
        receipt.remove()
        fault_point("receipt_removed", self._subject)
        self.place(receipt)
        for path in obsolete:
            path.remove()
        fault_point("files_durable", self._subject)
        fault_point("receipt_written", self._subject)
        receipt.write(content, expected=b"")
        fault_point("receipt_placed", self._subject)

"""A bucket of object storage as a place to upload files to. Each object keeps the SHA-256 of its content as metadata.

Keys and region are read from the environment, as other programs do: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``,
``AWS_REGION``, and ``AWS_ENDPOINT_URL`` for servers other than Amazon's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError

from posegen.dataset.object_store import open_store, reason_of
from posegen.errors import PosegenError, ServerError, UsageError
from posegen.exchange.remote import PushedFile

_HASH = "sha256"
_BLOCK = 1 << 20
_PATIENCE_SECONDS = 60.0


class Bucket:
    """A bucket, or the part of it below a prefix, given as ``s3://BUCKET/PREFIX``."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
            raise UsageError(
                "a bucket is named s3://BUCKET/PREFIX; keys are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        self.url = self.dataset_name = target.rstrip("/")
        with self._explained():
            self._store = open_store(f"{parts.scheme}://{parts.netloc}", parts.path.strip("/"), _PATIENCE_SECONDS)

    def compare(self, files: Sequence[PushedFile], is_ours: Callable[[str], bool]) -> dict[str, bool]:
        """Return for each file that is there, and whose name is one of ours, whether it equals the one to upload."""
        expected = {file.name: file for file in files}
        with self._explained():
            sizes = {entry["path"]: entry["size"] for page in obstore.list(self._store) for entry in page}
            return {name: self._equals(expected.get(name), name, size) for name, size in sizes.items() if is_ours(name)}

    def _equals(self, file: PushedFile | None, name: str, size: int) -> bool:
        if file is None or file.size != size:
            return False
        return bool(obstore.get(self._store, name).attributes.get(_HASH) == file.sha256)

    def send(self, file: PushedFile, report: Callable[[int], None]) -> None:
        """Upload a file, and report from time to time how many bytes are sent."""

        def blocks() -> Iterator[bytes]:
            with file.path.open("rb") as source:
                while block := source.read(_BLOCK):
                    yield block
                    report(source.tell())

        with self._explained():
            obstore.put(self._store, file.name, blocks(), attributes={_HASH: file.sha256})

    def commit(self, removed: Sequence[str]) -> None:
        """Remove files; those that were sent are visible."""
        if removed:
            with self._explained():
                obstore.delete(self._store, list(removed))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise PosegenError for errors of the server, without what a server could repeat of a request."""
        try:
            yield
        except (BaseError, ServerError, OSError) as error:
            raise PosegenError(
                f"{self.url}: {reason_of(error)}. Check the bucket, AWS_REGION and the keys in the environment, then run the "
                "same command again: files that are there are skipped"
            ) from None

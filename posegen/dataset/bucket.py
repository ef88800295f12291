"""Datasets in object storage: the objects of a bucket by their address, such as ``s3://BUCKET/PATH``.

An object is written by one request with a condition, so that it appears whole, and so that of two writers one wins and the
other finds out. There are no locks, no temporary objects and no multipart uploads. Where a server has conditions for new
objects only, an object is replaced once it has not changed for a pause, and read again after another: of two runs that
replace it at the same time, the last one succeeds and the other finds out, if requests take less than the pause. Requests
that fail for a passing reason are repeated. Keys are read from the environment and the standard files of the provider, and
appear in no error.

Not responsible for which objects there are; see :mod:`posegen.dataset.layout`.
"""

from __future__ import annotations

import errno
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import SystemRandom
from typing import Any, NamedTuple, TypeAlias, TypeVar

import xxhash

from posegen.dataset.object_store import OWN_PATIENCE, ROLE_SERVER, open_store, reason_of, server_error
from posegen.errors import PosegenError, ServerError, UsageError, require_local
from posegen.plugins import require_extra
from posegen.wording import shown

Item = TypeVar("Item")
Result = TypeVar("Result")

SCHEMES = ("s3://", "gs://", "az://")
"""Beginnings of the addresses of buckets."""
REQUESTS = 8
"""Requests of a process at the same time, where many objects are read or written."""
PATIENCE_SECONDS = 180.0
"""Time for which a failing request is repeated."""
MOST_OBJECT_BYTES = 5 * 2**30
"""Largest object that a provider takes in one request."""
HASH = "xxh3"
"""Metadata of an object: the XXH3-128 hash of its bytes, as in receipts."""

_LONGEST_PAUSE = 5.0
_RANDOM = SystemRandom()
_ADDRESS = re.compile(r"(s3|gs|az)://([A-Za-z0-9][A-Za-z0-9._-]*)((?:/[^/?#\\\s]+)+)/?")
_PASSING = re.compile(r"HTTP error(?!: builder)|status code: (408|429|5(?!01)[0-9][0-9])|error response")
_QUIET_SECONDS = 5.0
_ATTEMPTS = 20
_WITHOUT_REPLACING: set[str] = set()
"""Buckets whose server has answered a conditional replacement with 501, as OpenStack Swift does."""
PAUSE_TO_NOTICE = 2.0
"""Least seconds before and after an object is replaced without a condition: longer than a request takes."""


class ConflictError(PosegenError):
    """An object has another content than expected: another run has written it meanwhile."""


class Entry(NamedTuple):
    """Size of an object in bytes, and the time at which it was written, in seconds since 1970."""

    size: int
    modified: float


class BucketPath:
    """An object of a bucket, or a folder of objects: a common beginning of their names.

    It has what datasets need of a :class:`pathlib.Path`. It can be sent to other processes.

    Parameters
    ----------
    bucket : str
        Such as ``s3://BUCKET``.
    key : str
        Name of the object, without a slash at the ends.
    listing : mapping of str to Entry, optional
        What :meth:`listed` has found, by name.
    """

    def __init__(self, bucket: str, key: str, listing: Mapping[str, Entry] | None = None) -> None:
        self.bucket, self.key, self._listing = bucket, key, listing

    def __truediv__(self, name: str) -> BucketPath:
        return BucketPath(self.bucket, f"{self.key}/{name}", self._listing)

    def __str__(self) -> str:
        return f"{self.bucket}/{self.key}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BucketPath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def parent(self) -> BucketPath:
        """Folder that it is in."""
        return BucketPath(self.bucket, self.key.rpartition("/")[0], self._listing)

    @property
    def name(self) -> str:
        """Part of the name behind the last slash."""
        return self.key.rpartition("/")[2]

    def resolve(self) -> BucketPath:
        """Return it: an address does not depend on a working directory."""
        return self

    def is_file(self) -> bool:
        """Return whether there is such an object."""
        return self.find() is not None

    def find(self) -> Entry | None:
        """Return size and time of the object; None if there is none."""
        if self._listing is not None:
            return self._listing.get(self.key)
        with suppress(FileNotFoundError):
            return _entry(self._request(lambda obstore, store: obstore.head(store, self.key)))
        return None

    def find_hash(self) -> str | None:
        """Return the hash that the metadata of the object state; None if they state none."""
        found: str | None = self._get({"head": True})[2].get(HASH)
        return found

    def list(self) -> dict[str, Entry]:
        """Return all objects in the folder and its folders, by their names inside it."""
        start = len(self.key) + 1
        if self._listing is not None:
            return {key[start:]: entry for key, entry in self._listing.items() if key.startswith(f"{self.key}/")}

        def pages(obstore: Any, store: Any) -> dict[str, Entry]:
            return {each["path"][start:]: _entry(each) for page in obstore.list(store, self.key) for each in page}

        return self._request(pages)

    def listed(self) -> BucketPath:
        """Return this folder with the sizes of its objects as they are now, which takes a request for each 1,000."""
        return BucketPath(self.bucket, self.key, {f"{self.key}/{name}": entry for name, entry in self.list().items()})

    def read(self, start: int = 0, stop: int | None = None, *, expected: tuple[int, str] | None = None) -> bytes:
        """Read an object, or the bytes from `start` to `stop` of it.

        Parameters
        ----------
        start, stop : int, optional
        expected : (int, str), optional
            Size and hash that the object must have; the hash is compared with its metadata, if it has them.

        Returns
        -------
        bytes
            Fewer than asked for, or none, if the object is shorter.

        Raises
        ------
        FileNotFoundError
            If there is no such object.
        ValueError
            If it is not as expected.
        """
        try:
            data, meta, attributes = self._get({} if stop is None else {"range": (start, stop)})
        except ServerError as error:
            if "status code: 416" in str(error):  # it ends before `start`
                return b""
            raise
        if expected and (meta["size"], attributes.get(HASH, expected[1])) != expected:
            raise ValueError("was stored again since the dataset was opened")
        return data

    def write(self, data: bytes, expected: bytes | None = None, receipt: BucketPath | None = None) -> None:
        """Store an object, unless it has this content.

        An object that has another content is replaced if it is still the one that was read before the request.

        Parameters
        ----------
        data : bytes
        expected : bytes, optional
            Replace an object with this content only; if empty, replace none.
        receipt : BucketPath, optional
            Replace no object if there is this one.

        Raises
        ------
        ConflictError
            If the object has neither this content nor the expected one.
        """
        if len(data) > MOST_OBJECT_BYTES:
            raise PosegenError(
                f"{self}: is larger than 5 GiB. Make the dataset with a smaller store.shard, or export fewer sequences"
            )
        mode: Any = None if expected else "create"
        before: bytes | None = None  # what it contained a pause ago, where there are no conditions
        for attempt in range(_ATTEMPTS):
            if mode and self._put(data, mode):
                return
            # Or an earlier request has succeeded, and only its answer was lost.
            try:
                current, meta, _ = self._get({})
            except FileNotFoundError:
                mode = "create"
                continue
            if current == data:
                return
            if (expected is not None and current != expected) or (receipt is not None and receipt.is_file()):
                raise ConflictError(f"{self}: another run has written it meanwhile. Run the same command again")
            mode = {name: meta[name] for name in ("e_tag", "version") if meta[name]}
            if self.bucket in _WITHOUT_REPLACING:
                if current == before:  # so no other run waits to see whether its own replacement stays
                    self._put(data, "overwrite")
                before, mode = (None if current == before else current), None
                time.sleep(PAUSE_TO_NOTICE * _RANDOM.uniform(1.0, 1.5))
                continue
            time.sleep(_RANDOM.uniform(0, 0.1 * attempt))
        raise ConflictError(f"{self}: other runs write it all the time. Run the same command again")

    def remove(self) -> bool:
        """Remove an object. Return whether there was one."""
        there = self.is_file()
        if there:
            self._request(lambda obstore, store: obstore.delete(store, self.key))
        return there

    def _get(self, options: Mapping[str, Any]) -> tuple[bytes, Any, Any]:
        """Return bytes of the object, what obstore calls its meta, and its metadata."""

        def get(obstore: Any, store: Any) -> tuple[bytes, Any, Any]:
            found = obstore.get(store, self.key, options=options)
            return bytes(found.bytes()), found.meta, found.attributes

        return self._request(get)

    def _put(self, data: bytes, mode: Any) -> bool:
        """Store an object on a condition, and return whether it held."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        attributes = {HASH: xxhash.xxh3_128_hexdigest(data)}

        def put(obstore: Any, store: Any) -> None:
            obstore.put(store, self.key, data, mode=mode, attributes=attributes, use_multipart=False)

        is_replacing = isinstance(mode, dict)
        try:
            self._request(put, 0.0 if is_replacing else OWN_PATIENCE)  # obstore itself would repeat what is answered with 501
        except (AlreadyExistsError, PreconditionError):
            return False
        except ServerError as error:
            if not is_replacing or "status code: 501" not in str(error):
                raise
            _WITHOUT_REPLACING.add(self.bucket)
            return False
        except FileNotFoundError as error:
            if mode != "create":
                return False
            raise ServerError(f"{self}: there is no such bucket. Create it, or name another one") from error
        return True

    def _request(self, request: Callable[[Any, Any], Result], patience: float = OWN_PATIENCE) -> Result:
        """Return what a function of obstore and a store does, and repeat it if it fails for a passing reason.

        For `patience` seconds each, obstore repeats it.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        store, began, pause, is_noted = open_store(self.bucket, patience=patience), time.monotonic(), 0.1, False
        while True:
            try:
                return request(obstore, store)
            except FileNotFoundError:
                raise FileNotFoundError(errno.ENOENT, "there is no such object", str(self)) from None
            except (AlreadyExistsError, PreconditionError):
                raise
            except (BaseError, OSError) as error:
                seconds = time.monotonic() - began
                if not _PASSING.search(str(error)) or ROLE_SERVER in str(error) or seconds > PATIENCE_SECONDS:
                    raise server_error(str(self), error) from None
                if seconds > _QUIET_SECONDS and not is_noted:
                    print(f"posegen: {self}: {reason_of(error)}; trying for 3 minutes", file=sys.stderr)
                    is_noted = True
            time.sleep(_RANDOM.uniform(pause / 2, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)


AnyPath: TypeAlias = Path | BucketPath
"""Where a dataset is: a folder of this machine, or one of a bucket."""


def to_path(value: str | Path | BucketPath) -> AnyPath:
    """Return the path of a dataset.

    Parameters
    ----------
    value : str, Path or BucketPath
        A folder, or an address such as ``s3://BUCKET/PATH``, ``gs://BUCKET/PATH`` or ``az://CONTAINER/PATH``.

    Raises
    ------
    UsageError
        If it is another address, or obstore is not installed.

    Examples
    --------
    >>> to_path("data/first"), to_path("s3://motion/first/").key
    (PosixPath('data/first'), 'first')
    """
    if isinstance(value, str) and value.startswith(SCHEMES):
        match = _ADDRESS.fullmatch(value)
        if match is None or {".", ".."}.intersection(match[3].split("/")):
            without_key = re.sub(r"//.*@", "//", value)
            raise UsageError(f"{shown(without_key)}: must be the address of a folder in a bucket, such as s3://BUCKET/PATH")
        require_extra("cloud")
        return BucketPath(f"{match[1]}://{match[2]}", match[3].strip("/"))
    if isinstance(value, BucketPath):
        return value
    require_local(value)
    return Path(value)


def listed(path: AnyPath) -> AnyPath:
    """Return a path; of a bucket, with the sizes of all objects in it as they are now."""
    return path if isinstance(path, Path) else path.listed()


def map_files(path: AnyPath, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the results of a function that reads files of a dataset, in order; in a bucket, several at the same time."""
    return map(function, items) if isinstance(path, Path) else map_requests(function, items)


def map_requests(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the results of a function that sends requests, in order, :data:`REQUESTS` at the same time."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(REQUESTS, "posegen-requests") as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= 2 * REQUESTS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _entry(meta: Mapping[str, Any]) -> Entry:
    return Entry(meta["size"], meta["last_modified"].timestamp())

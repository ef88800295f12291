"""Datasets in object storage: the objects of a bucket by their address, such as ``s3://BUCKET/PATH``.

An object is written by one request with a condition, so that it appears whole, and so that of two writers one wins and the
other finds out. There are no locks, no temporary objects and no multipart uploads. Requests that fail for a passing reason are
repeated. Keys are read from the environment and the standard files of the provider, and appear in no error.

Not responsible for which objects there are; see :mod:`posegen.dataset.layout`.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from configparser import ConfigParser, Error
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from secrets import SystemRandom
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

import xxhash

from posegen.dataset.faults import fault_point
from posegen.errors import PosegenError, ServerError, UsageError, require_local, without_secrets
from posegen.plugins import require_extra
from posegen.stopwatch import stage
from posegen.wording import shown

Item = TypeVar("Item")
Result = TypeVar("Result")

REQUESTS = 8
"""Requests of a process at the same time, where many objects are read or written."""
PATIENCE_SECONDS = 180.0
"""Time for which a failing request is repeated."""
LONGEST_REQUEST = timedelta(minutes=2)
MOST_OBJECT_BYTES = 5 * 2**30
"""Largest object that a provider takes in one request."""
HASH = "xxh3"
"""Metadata of an object: the XXH3-128 hash of its bytes, as in receipts."""

_LONGEST_PAUSE = 5.0
_RANDOM = SystemRandom()
_STORES = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
_ADDRESS = re.compile(r"(s3|gs|az)://([A-Za-z0-9][A-Za-z0-9._-]*)((?:/[^/?#\\\s]+)+)/?")
_PASSING = re.compile(r"HTTP error(?!: builder)|status code: (408|429|5[0-9][0-9])|error response")
_ROLE_SERVER = "169.254."  # which obstore asks for keys if there are none
_QUIET_SECONDS = 5.0
_ATTEMPTS = 20
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT")


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
    def name(self) -> str:
        """Part of the name behind the last slash."""
        return self.key.rpartition("/")[2]

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

        Raises
        ------
        FileNotFoundError
            If there is no such object.
        ValueError
            If it is not as expected.
        """
        data, meta, attributes = self._get({} if stop is None else {"range": (start, stop)})
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
            raise PosegenError(f"{self}: is larger than 5 GiB. Make the dataset with a smaller store.shard")
        mode: Any = None if expected else "create"
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
        try:
            self._request(lambda obstore, store: obstore.put(store, self.key, data, mode=mode, attributes=attributes))
        except (AlreadyExistsError, PreconditionError):
            return False
        except FileNotFoundError as error:
            if mode != "create":
                return False
            raise UsageError(f"{self.bucket}: there is no such bucket. Create it, or name another one") from error
        return True

    def _request(self, request: Callable[[Any, Any], Result]) -> Result:
        """Return what a function of obstore and a store does, and repeat it if it fails for a passing reason."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        store, began, pause, is_noted = open_store(self.bucket), time.monotonic(), 0.1, False
        while True:
            try:
                return request(obstore, store)
            except FileNotFoundError:
                raise FileNotFoundError(errno.ENOENT, "there is no such object", str(self)) from None
            except (AlreadyExistsError, PreconditionError):
                raise
            except (BaseError, OSError) as error:
                seconds = time.monotonic() - began
                if not _PASSING.search(str(error)) or _ROLE_SERVER in str(error) or seconds > PATIENCE_SECONDS:
                    raise _server_error(str(self), error) from None
                if seconds > _QUIET_SECONDS and not is_noted:
                    print(f"posegen: {self}: {reason_of(error)}; trying for 3 minutes", file=sys.stderr)
                    is_noted = True
            time.sleep(_RANDOM.uniform(pause / 2, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)


AnyPath: TypeAlias = Path | BucketPath
"""Where a dataset is: a folder of this machine, or one of a bucket."""


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
    if isinstance(value, str) and value.partition("://")[0] in _STORES:
        match = _ADDRESS.fullmatch(value)
        if match is None or {".", ".."}.intersection(match[3].split("/")):
            raise UsageError(f"{shown(value)}: must be the address of a folder in a bucket, such as s3://BUCKET/PATH")
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


def open_store(bucket: str, prefix: str = "", patience: float = 10.0) -> Any:
    """Return obstore's connection to a bucket such as ``s3://BUCKET``.

    Parameters
    ----------
    bucket : str
    prefix : str, optional
        What the names of all objects begin with.
    patience : float, optional
        Seconds for which obstore itself repeats a failing request. Python sees Ctrl-C only after them.

    Raises
    ------
    UsageError
        If this process was forked from one that has opened a bucket: the threads of obstore do not exist here.
    ServerError
        If the settings of the environment are not valid.
    """
    if _opening_process() != os.getpid():
        raise UsageError(
            f"{bucket}: cannot be read in a process that is a fork of one that has read a bucket. Start processes otherwise: "
            "DataLoader(..., multiprocessing_context='spawn')"
        )
    return _open_store(bucket, prefix, patience)


@cache
def _opening_process() -> int:
    return os.getpid()


@cache
def _open_store(bucket: str, prefix: str, patience: float) -> Any:
    import obstore.store
    from obstore.exceptions import BaseError

    scheme, _, name = bucket.partition("://")
    settings = _aws_settings(os.environ) if scheme == "s3" else {}
    # obstore refuses plain HTTP, which servers on the own machine use.
    endpoints = (settings.get("endpoint_url", ""), *(os.environ.get(name, "") for name in _ENDPOINT_VARIABLES))
    for endpoint in filter(None, endpoints):
        _check_endpoint(endpoint)
    client = {"timeout": LONGEST_REQUEST} | ({"allow_http": True} if any(e.startswith("http://") for e in endpoints) else {})
    retry = {"max_retries": 100, "retry_timeout": timedelta(seconds=patience), "backoff": {"max_backoff": timedelta(seconds=5)}}
    options = {"prefix": prefix or None, "config": settings, "client_options": client, "retry_config": retry}
    try:
        return getattr(obstore.store, _STORES[scheme])(name, **options)
    except (BaseError, ValueError) as error:
        raise _server_error(bucket, error) from None


def _check_endpoint(address: str) -> None:
    """Raise UsageError for an address that obstore cannot read."""
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError("AWS_ENDPOINT_URL: is not the address of a server, such as https://HOST:PORT. Correct it") from None


def _aws_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the standard files of AWS state for the profile and the environment does not; obstore does not read them."""
    profile = environment.get("AWS_PROFILE", "default")
    files = {
        environment.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"): profile,
        environment.get("AWS_CONFIG_FILE", "~/.aws/config"): profile if profile == "default" else f"profile {profile}",
    }
    found: dict[str, str] = {}
    for file, section in files.items():
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(Path(file).expanduser(), encoding="utf-8")
        except (Error, UnicodeDecodeError):
            raise UsageError(f"{file}: is not a valid file of settings of AWS. Correct it") from None
        found |= dict(parser[section]) if parser.has_section(section) else {}
    keys = {name: found[name] for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token") if name in found}
    if any(name.startswith(("AWS_ACCESS_KEY", "AWS_WEB_IDENTITY", "AWS_CONTAINER_")) for name in environment):
        keys = {}
    settings = {"region": ("AWS_REGION", "AWS_DEFAULT_REGION"), "endpoint_url": _ENDPOINT_VARIABLES}
    return keys | {
        name: found[name]
        for name, names in settings.items()
        if name in found and not any(each in environment for each in names)
    }


def reason_of(error: Exception) -> str:
    """Return what an error of obstore states, without what a server could repeat of a request."""
    return without_secrets(str(error)).partition("<")[0].rstrip(": .")


def _server_error(where: str, error: Exception) -> ServerError:
    if _ROLE_SERVER in str(error):
        return ServerError(f"{where}: there are no keys in the environment or in ~/.aws. Set them: posegen docs object-storage")
    return ServerError(
        f"{where}: {reason_of(error)}. Check the bucket, its region and the keys in the environment, then run the same command "
        "again: what is complete is kept"
    )


def _entry(meta: Mapping[str, Any]) -> Entry:
    return Entry(meta["size"], meta["last_modified"].timestamp())

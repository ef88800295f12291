"""Datasets in object storage: the objects of a bucket by their address, such as ``s3://BUCKET/PATH``.

An object is written by one request with a condition, so that it appears whole, and so that of two writers one wins and the
other finds out. There are no locks, no temporary objects and no multipart uploads.

No request deletes what another run may have written, because DELETE takes no condition: a removed object is replaced by a mark,
on the same condition as any other content, and all readers take it for absent. Of runs that store the same shard, one at a time
has its own mark in the place of the receipt, and only that one replaces objects and can write the receipt.

Requests that fail for a passing reason are repeated. Keys are read from the environment, and appear in no error.

Not responsible for which objects there are; see :mod:`posegen.dataset.layout`.
"""

from __future__ import annotations

import errno
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from secrets import SystemRandom, token_hex
from typing import Any, ClassVar, Self

from posegen.dataset.storage.object_store import ROLE_SERVER, has_answered, open_store, reason_of, server_error
from posegen.dataset.storage.storage import ConflictError, Entry, Item, Result, map_in_order
from posegen.foundations.errors import PosegenError, ServerError
from posegen.foundations.hashing import byte_hash

SCHEMES = ("s3://", "gs://", "az://")
"""Beginnings of the addresses of buckets."""
ADDRESS = re.compile(r"(s3|gs|az)://([A-Za-z0-9][A-Za-z0-9._-]*)((?:/[^/?#\\\s]+)+)/?")
REQUESTS = 8
"""Requests of a process at the same time, where many objects are read or written."""
PATIENCE_SECONDS = 180.0
"""Time for which a failing request is repeated."""
FIRST_PATIENCE_SECONDS = 10.0
"""Time for which it is repeated while the server has answered none yet: its address may be wrong."""
MOST_OBJECT_BYTES = 5 * 2**30
"""Largest object that a provider takes in one request."""
HASH = "xxh3"
"""Metadata of an object: the XXH3-128 hash of its bytes, as in receipts."""

ATTEMPTS_TO_COMMIT = 10
"""How often a run stores the same part, at most, while others store it too, before it gives up."""

_MARK = re.compile(rb"withdrawn [0-9a-f]{32}")
_MARK_BYTES = 42
_LONGEST_PAUSE = 5.0
_PAUSE_FOR_OTHERS = 0.5
"""Most seconds that a run waits for another one whose mark it finds: that one may have died, or be about to store the same."""
_RANDOM = SystemRandom()
_PASSING = re.compile(r"HTTP error(?!: builder)|status code: (408|429|5(?!01)[0-9][0-9])|error response")
_QUIET_SECONDS = 2.0
_LONGEST_FIRST_REQUEST = 5.0
_ANSWERED: set[str] = set()
"""Buckets whose server has answered this process, or the one that sent it a path."""
_ATTEMPTS = 20


class BucketPath:
    """An object of a bucket, or a folder of objects: a common beginning of their names.

    It has what datasets need of a :class:`pathlib.Path`, and is its own :data:`posegen.dataset.storage.address.Storage`. It
    can be sent to other processes.

    Parameters
    ----------
    bucket : str
        Such as ``s3://BUCKET``.
    key : str
        Name of the object, without a slash at the ends.
    listing : mapping of str to Entry, optional
        What :meth:`listed` has found, by name.
    """

    # It is no dataclass, since what is printed of a result would then have its fields instead of its address.
    local: ClassVar[None] = None

    def __init__(self, bucket: str, key: str, listing: Mapping[str, Entry] | None = None) -> None:
        self.bucket, self.key, self._listing = bucket, key, listing

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.bucket, self.key, self._listing, self.bucket in _ANSWERED)

    def __truediv__(self, name: str) -> BucketPath:
        return BucketPath(self.bucket, f"{self.key}/{name}", self._listing)

    def __str__(self) -> str:
        return f"{self.bucket}/{self.key}"

    __repr__ = __str__

    @property
    def path(self) -> BucketPath:
        """The path itself."""
        return self

    @property
    def parent(self) -> BucketPath:
        """Folder that it is in."""
        return BucketPath(self.bucket, self.key.rpartition("/")[0], self._listing)

    @property
    def name(self) -> str:
        """Part of the name after the last slash."""
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
            entry = _entry(self._request(lambda obstore, store: obstore.head(store, self.key)))
            return None if self._is_mark(entry) else entry
        return None

    def find_hash(self) -> str:
        """Return the hash that the metadata of the object state, or that of its content if they state none."""
        stated: str | None = self._get({"head": True})[2].get(HASH)
        return stated or byte_hash([self.read()])

    def list(self) -> dict[str, Entry]:
        """Return all objects in the folder and its folders, by their names inside it."""
        start = len(self.key) + 1
        if self._listing is not None:
            return {key[start:]: entry for key, entry in self._listing.items() if key.startswith(f"{self.key}/")}

        def pages(obstore: Any, store: Any) -> dict[str, Entry]:
            return {each["path"][start:]: _entry(each) for page in obstore.list(store, self.key) for each in page}

        found = self._request(pages)
        marks = map_requests(lambda item: (self / item[0])._is_mark(item[1]), found.items())
        return {name: entry for (name, entry), is_mark in zip(found.items(), marks, strict=True) if not is_mark}

    def list_names(self) -> Sequence[str]:
        """List the objects and folders in the folder, in no order."""
        return list({name.partition("/")[0] for name in self.list()})

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
        if not start and _MARK.fullmatch(data):
            raise FileNotFoundError(errno.ENOENT, "there is no such object", str(self))
        return data

    def write(
        self,
        data: bytes,
        expected: bytes | None = None,
        run: str | None = None,
        claim: tuple[BucketPath, bytes] | None = None,
    ) -> bool:
        """Store an object, unless it has this content.

        An object that has another content is replaced if it is still the one that was read before the request.

        Parameters
        ----------
        data : bytes
        expected : bytes, optional
            Replace an object with this content only; if empty, replace none.
        run : str, optional
            Not used: the names of objects do not contain the run that writes them.
        claim : (BucketPath, bytes), optional
            Replace an object only while this one has this content; empty if it is absent.

        Returns
        -------
        bool
            Whether another content was replaced.

        Raises
        ------
        ConflictError
            If the object has neither this content nor the expected one, or the claim is lost.
        """
        del run
        if len(data) > MOST_OBJECT_BYTES:
            raise PosegenError(
                f"{self}: is larger than 5 GiB. Make the dataset with a smaller store.shard, or export fewer sequences"
            )
        mode: Any = None if expected else "create"
        for attempt in range(_ATTEMPTS):
            if mode and self._put(data, mode):
                return bool(mode != "create")
            # Or an earlier request has succeeded, and only its answer was lost.
            try:
                current, meta, _ = self._get({})
            except FileNotFoundError:
                mode = "create"
                continue
            if current == data:
                return False
            is_absent = _MARK.fullmatch(current) and not _MARK.fullmatch(expected or b"")
            if (expected not in (None, current) and not is_absent) or (claim and claim[0].stored() != claim[1]):
                raise ConflictError(f"{self}: another run has written it meanwhile. Run the same command again")
            mode = {name: meta[name] for name in ("e_tag", "version") if meta[name]}
            time.sleep(_RANDOM.uniform(0, 0.1 * attempt))
        raise ConflictError(f"{self}: other runs write it all the time. Run the same command again")

    def stored(self) -> bytes:
        """Return the content of the object, also if it is the mark of a removed one; nothing if there is none."""
        try:
            return self._get({})[0]
        except FileNotFoundError:
            return b""

    def remove(self, expected: bytes | None = None, claim: tuple[BucketPath, bytes] | None = None) -> None:
        """Replace an object, if there is one, by a mark, so that readers take it for absent.

        Raises
        ------
        ConflictError
            If it does not have the expected content, or the claim of :meth:`write` is lost.
        """
        while self.is_file():
            try:
                self.write(_new_mark(), self.stored() if expected is None else expected, claim=claim)
                return
            except ConflictError:
                if claim or expected is not None:
                    raise

    def delete(self) -> None:
        """Delete an object that no run writes any more. A server may do so once more, and late, if an answer was lost."""
        with suppress(FileNotFoundError):
            self._request(lambda obstore, store: obstore.delete(store, self.key))

    def remove_folder(self) -> None:
        """Delete the objects in the folder, which no run writes any more."""
        for _ in self.map(lambda name: (self / name).delete(), self.list()):
            pass

    def make_folder(self) -> None:
        """Do nothing: a bucket has no folders."""

    def writer(self, run: str | None = None, receipt: Any = None) -> BucketWriter:
        """Return a writer of objects."""
        del run
        return BucketWriter(receipt)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of a function that sends requests, in order, several at the same time."""
        return map_requests(function, items)

    def find_folder_fault(self) -> None:
        """Return None: a bucket has no folders that could be something else."""

    def free_bytes(self) -> int:
        """Return the largest number: a bucket has no limit."""
        return sys.maxsize

    def _is_mark(self, entry: Entry) -> bool:
        return entry.size == _MARK_BYTES and _MARK.fullmatch(self.stored()) is not None

    def _get(self, options: Mapping[str, Any]) -> tuple[bytes, Any, Any]:
        """Return bytes of the object, what obstore calls its meta, and its metadata."""

        def get(obstore: Any, store: Any) -> tuple[bytes, Any, Any]:
            found = obstore.get(store, self.key, options=options)
            return bytes(found.bytes()), found.meta, found.attributes

        return self._request(get)

    def _put(self, data: bytes, mode: Any) -> bool:
        """Store an object on a condition, and return whether it held."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        attributes = {HASH: byte_hash([data])}

        def put(obstore: Any, store: Any) -> None:
            obstore.put(store, self.key, data, mode=mode, attributes=attributes, use_multipart=False)

        if self.bucket not in _ANSWERED:
            self.find()  # a small request, because first requests must be answered soon
        try:
            self._request(put)
        except (AlreadyExistsError, PreconditionError):
            return False
        except ServerError as error:
            if "status code: 501" not in str(error):
                raise
            msg = f"{self}: the server does not write on a condition. Use another one: posegen docs object-storage"
            raise ServerError(msg) from error
        except FileNotFoundError as error:
            if mode != "create":
                return False
            raise ServerError(f"{self}: there is no such bucket. Create it, or name another one") from error
        return True

    def _request(self, request: Callable[[Any, Any], Result]) -> Result:
        """Return what a function of obstore and a store does, and repeat it if it fails for a passing reason."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        began, pause, is_noted, attempt = time.monotonic(), 0.1, False, 0
        while True:
            attempt += 1
            is_first = self.bucket not in _ANSWERED
            # The first attempt ends when it is time for a message.
            longest = _QUIET_SECONDS if attempt == 1 else _LONGEST_FIRST_REQUEST
            store = open_store(self.bucket, longest=longest) if is_first else open_store(self.bucket)
            try:
                found = request(obstore, store)
                _ANSWERED.add(self.bucket)
                return found
            except FileNotFoundError:
                _ANSWERED.add(self.bucket)
                raise FileNotFoundError(errno.ENOENT, "there is no such object", str(self)) from None
            except (AlreadyExistsError, PreconditionError):
                raise
            except (BaseError, OSError) as error:
                if has_answered(error):
                    _ANSWERED.add(self.bucket)
                seconds = time.monotonic() - began
                most = PATIENCE_SECONDS if self.bucket in _ANSWERED else FIRST_PATIENCE_SECONDS
                is_passing = _PASSING.search(str(error)) and ROLE_SERVER not in str(error)
                if is_passing and seconds >= _QUIET_SECONDS and not is_noted:
                    what = f"attempt {attempt}, trying for {most:.0f} seconds"
                    print(f"posegen: {self}: {reason_of(error)} ({what})", file=sys.stderr, flush=True)
                    is_noted = True
                if not is_passing or seconds > most:
                    raise server_error(str(self), error) from None
            time.sleep(_RANDOM.uniform(pause / 2, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)


class BucketWriter:
    """Writes objects as a :data:`posegen.dataset.storage.address.Writer`.

    Parameters
    ----------
    receipt : BucketPath, optional
        The receipt that :meth:`commit` writes.
    """

    def __init__(self, receipt: BucketPath | None = None) -> None:
        self._receipt = receipt
        self._pending: list[tuple[BucketPath, Sequence[bytes]]] = []
        self._before = b""

    def __enter__(self) -> Self:
        """Note the receipt that is there now: :meth:`commit` replaces no later one."""
        self._before = self._receipt.stored() if self._receipt else b""
        return self

    def __exit__(self, *error: object) -> None:
        """Forget what was not written."""
        self._pending.clear()

    def write(self, path: Any, pieces: Sequence[bytes]) -> None:
        """Keep the content of an object until :meth:`place`."""
        self._pending.append((path, pieces))

    def place(self) -> None:
        """Write all objects, several at the same time."""
        self._place(None)

    def commit(self, content: bytes, obsolete: Iterable[Any] = ()) -> None:
        """Write all objects, and then their receipt; an older receipt is removed before.

        Raises
        ------
        ConflictError
            If another run has written a receipt, or begun to, since this writer was opened.
        """
        receipt = self._receipt
        assert receipt is not None
        mark = _new_mark()
        if is_claimed := _MARK.fullmatch(self._before):
            time.sleep(_RANDOM.uniform(0, _PAUSE_FOR_OTHERS))
        receipt.write(mark, b"" if is_claimed else self._before)
        replaced = self._place((receipt, mark))
        for path in obsolete:
            path.remove(claim=(receipt, mark))
        receipt.write(content, mark)
        # A request that came late may have changed what was replaced.
        if any(path.find_hash() != byte_hash(pieces) for path, pieces in replaced):
            receipt.remove(content)
            raise ConflictError(f"{receipt}: another run has written its files meanwhile. Run the same command again")

    def _place(self, claim: tuple[BucketPath, bytes] | None) -> Sequence[tuple[BucketPath, Sequence[bytes]]]:
        """Write all objects while the claim holds, and return those that replaced another one."""

        def put(item: tuple[BucketPath, Sequence[bytes]]) -> bool:
            path, pieces = item
            return path.write(b"".join(pieces), claim=claim)

        replaced = list(map_requests(put, self._pending))
        written = [item for item, is_replaced in zip(self._pending, replaced, strict=True) if is_replaced]
        self._pending.clear()
        return written


def map_requests(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the results of a function that sends requests, in order, :data:`REQUESTS` at the same time."""
    return map_in_order(function, items, REQUESTS, "posegen-requests")


def _received(bucket: str, key: str, listing: Mapping[str, Entry] | None, is_answered: bool) -> BucketPath:
    """Return a path that another process has sent."""
    if is_answered:
        _ANSWERED.add(bucket)
    return BucketPath(bucket, key, listing)


def _entry(meta: Mapping[str, Any]) -> Entry:
    return Entry(meta["size"], meta["last_modified"].timestamp())


def _new_mark() -> bytes:
    """Return the content of a removed object, which differs each time, so that no other run's mark has it."""
    return b"withdrawn " + token_hex(16).encode()

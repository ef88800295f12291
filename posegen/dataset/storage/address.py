"""Paths of datasets: folders of this machine, and addresses in buckets. The type of a path is asked here only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

from posegen.dataset.storage.bucket import ADDRESS, SCHEMES, BucketPath, BucketWriter
from posegen.dataset.storage.folder import BackgroundWriter, Folder
from posegen.foundations.errors import UsageError, require_local
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import shown

AnyPath: TypeAlias = Path | BucketPath
"""Where a dataset is: a folder of this machine, or one of a bucket."""
Storage: TypeAlias = Folder | BucketPath
"""A file or a folder at a path: both have the same methods. A bucket has neither locks nor temporary files: `local` is None."""
Writer: TypeAlias = BackgroundWriter | BucketWriter
"""Writes the files of a shard; none is visible before `place` or `commit`."""


def storage_of(path: str | AnyPath) -> Storage:
    """Return the storage of the file or folder at a path."""
    return path if isinstance(path, BucketPath) else Folder(Path(path))


def to_path(value: str | AnyPath) -> AnyPath:
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
        match = ADDRESS.fullmatch(value)
        if match is None or {".", ".."}.intersection(match[3].split("/")):
            without_key = re.sub(r"//.*@", "//", value)
            raise UsageError(f"{shown(without_key)}: must be the address of a folder in a bucket, such as s3://BUCKET/PATH")
        require_extra("cloud")
        return BucketPath(f"{match[1]}://{match[2]}", match[3].strip("/"))
    storage = storage_of(value)
    if storage.local:
        require_local(str(value))
    return storage.path

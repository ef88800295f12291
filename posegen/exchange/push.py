"""``posegen push``: upload a dataset as Parquet files with a card to the Hugging Face Hub, or an export of it to a bucket.

The token of the Hub is that of ``hf auth login`` or of the variable ``HF_TOKEN``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from posegen.dataset.files import write_durably
from posegen.dataset.read import open_dataset
from posegen.dataset.splits import SPLITS
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.storage.bucket import SCHEMES
from posegen.exchange.export import export, exported_files
from posegen.exchange.export_format import RECORDS
from posegen.foundations.errors import PosegenError, UsageError, without_secrets
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes
from posegen.foundations.wording import shown

HF, CARD = "hf", "README.md"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_NO_ACCESS = (401, 403)
_NAMED = 3


@dataclass(frozen=True)
class PushResult:
    """Summary of a push.

    Attributes
    ----------
    url : str
    clips, files : int
    sent : int
        Files that were uploaded; the others were there.
    removed : int
    bytes_sent : int
    seconds : float
    """

    url: str
    clips: int
    files: int
    sent: int
    removed: int
    bytes_sent: int
    seconds: float


def push(
    path: str | AnyPath,
    target: str,
    *,
    to: str = HF,
    splits: Sequence[str] = tuple(SPLITS),
    variants: Sequence[str] = (),
    where: str = "",
    private: bool = False,
    replace: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PushResult:
    """Upload sequences of a dataset, by default as Parquet files with a card.

    The same call resumes. In a repository of the Hub, files that are there with equal size and hash are skipped, and all files
    appear at once, when the last one is uploaded. A bucket is written by :func:`posegen.exchange.export.export`.

    Parameters
    ----------
    path : str, Path or BucketPath
        The dataset.
    target : str
        ``USER/NAME`` for a dataset repository of the Hub, which is created; ``s3://BUCKET/PATH`` (also gs, az) for a folder of
        a bucket, which exists.
    to : str, optional
        Name of the format; see :data:`posegen.foundations.plugins.EXPORTS`. Repositories of the Hub contain `hf`.
    splits, variants, where, workers, progress
        As for :func:`posegen.exchange.export.export`.
    private : bool, optional
        Whether a new repository is private.
    replace : bool, optional
        Whether to replace files of these names that are in the repository and differ, and to remove its other Parquet files.

    Raises
    ------
    UsageError
        If `target` is none, an option does not fit it, a package is missing, or files that differ are there and `replace` is
        not set.
    PosegenError
        If the dataset is incomplete, or the upload fails.
    """
    started = time.monotonic()
    path, progress, in_bucket = to_path(path), progress or Progress(), target.startswith(SCHEMES)
    _check(path, target, to, for_hub=private or replace)
    out = target if in_bucket else _staging(path)
    found = export(path, to, out, splits=splits, variants=variants, where=where, workers=workers, progress=progress)
    files = exported_files(found.path, path)
    if in_bucket:
        new = [] if found.nothing_to_do else [file.bytes for file in files.values()]
        return PushResult(str(found.path), found.clips, len(files), len(new), 0, sum(new), time.monotonic() - started)
    try:
        url, sizes, removed = _upload(Path(out), files, target, progress, private=private, replace=replace)
    except UsageError:  # after other errors, the same call resumes
        shutil.rmtree(out)
        raise
    shutil.rmtree(out)
    return PushResult(url, found.clips, len(files), len(sizes), removed, sum(sizes), time.monotonic() - started)


def _check(path: AnyPath, target: str, to: str, *, for_hub: bool) -> None:
    """Raise UsageError unless a target takes the format, the Hub if `for_hub`; PosegenError if the dataset is incomplete."""
    if target.startswith(SCHEMES):
        to_path(target)  # refuses other addresses
        if for_hub:
            raise UsageError("--private and --replace are for repositories of the Hub. Leave them out, or choose one")
    elif not _REPOSITORY.fullmatch(target):
        raise UsageError(f"cannot push to {shown(target)}. Name a repository of the Hub, USER/NAME, or s3://BUCKET/PATH")
    elif to != HF:
        raise UsageError(f"--to {to}: repositories of the Hub contain {HF}. Push other formats to a bucket, s3://BUCKET/PATH")
    else:
        require_extra("hub")
    if note := open_dataset(path).note:  # opening refuses missing shards
        raise PosegenError(note)


def _staging(path: AnyPath) -> Path:
    """Return the folder for the files to upload: beside the dataset, or a temporary one for a dataset in a bucket."""
    local = storage_of(path).local
    return local.with_name(f"{local.resolve().name}.push") if local else Path(mkdtemp(prefix="posegen-push-"))


def _upload(
    folder: Path, names: Iterable[str], repository: str, progress: Progress, *, private: bool, replace: bool
) -> tuple[str, list[int], int]:
    """Upload files of a folder in one commit, as far as they are not there.

    Returns
    -------
    str
        Address of the repository.
    list of int
        Sizes of the files that were sent.
    int
        Files that were removed.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()  # posegen shows its own
    api = HfApi(library_name="posegen")
    url, about = f"{api.endpoint}/datasets/{repository}", {"repo_id": repository, "repo_type": "dataset"}
    files = {name: folder / name for name in sorted(names)}
    # A copy, since the next call may have another target.
    text = files[CARD].read_text(encoding="utf-8").replace('load_dataset("FOLDER"', f'load_dataset("{repository}"')
    files[CARD] = folder / RECORDS / CARD
    write_durably(files[CARD], text.encode())
    progress.wait("hash files")
    added = {name: CommitOperationAdd(name, file) for name, file in files.items()}
    with _explained(url):
        present = {each.path: _equals(each, added.get(each.path)) for each in _tree(api, about) if is_pushed(each.path)}
        differing = [name for name, is_equal in present.items() if not is_equal]
        if differing and not replace:
            more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
            raise UsageError(
                f"{url}: holds other files: {', '.join(differing[:_NAMED])}{more}. Choose another target, or replace them "
                "with --replace"
            )
        sent = [operation for name, operation in added.items() if not present.get(name)]
        removed = sorted({*differing} - {*files})
        if sent:
            api.create_repo(**about, private=private or None, exist_ok=True)
        for operation in sent:  # the Hub keeps what was uploaded until it is committed, and does not take it twice
            progress.log(f"uploading {operation.path_in_repo} ({human_bytes(operation.upload_info.size)})")
            api.preupload_lfs_files(**about, additions=[operation], free_memory=False)
        if sent or removed:
            operations = [*sent, *map(CommitOperationDelete, removed)]
            api.create_commit(**about, operations=operations, commit_message=f"Upload {len(sent)} files with posegen")
    return url, [operation.upload_info.size for operation in sent], len(removed)


def _tree(api: Any, about: dict[str, str]) -> list[Any]:
    """Return the files of a repository; none if it does not exist."""
    from huggingface_hub.errors import RepositoryNotFoundError

    with suppress(RepositoryNotFoundError):
        return [each for each in api.list_repo_tree(**about, recursive=True) if hasattr(each, "blob_id")]
    return []


def is_pushed(name: str) -> bool:
    """Return whether a push to the Hub writes files of this name.

    Examples
    --------
    >>> is_pushed("data/train-00000.parquet"), is_pushed("notes.txt")
    (True, False)
    """
    return name == CARD or (name.startswith("data/") and name.endswith(".parquet"))


def _equals(there: Any, added: Any) -> bool:
    """Return whether a file of a repository has the content of one to add. Git's hash is that of small files."""
    if added is None or there.size != added.upload_info.size:
        return False
    if there.lfs is not None:
        return bool(there.lfs.sha256 == added.upload_info.sha256.hex())
    data = Path(added.path_or_fileobj).read_bytes()
    return bool(there.blob_id == hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest())


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Raise PosegenError for errors of the server and of the network, without tokens and signed addresses."""
    from huggingface_hub.errors import HfHubHTTPError

    # The HTTP client of huggingface_hub differs between its versions.
    network = next(kind for kind in HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")
    try:
        yield
    except (OSError, ValueError, RuntimeError, network) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        response = cause.response if isinstance(cause, HfHubHTTPError) else None
        denied = response.status_code in _NO_ACCESS if response is not None else "token" in str(cause).lower()
        fix = (
            "Run `hf auth login`, or set HF_TOKEN to a token that may write there"
            if denied
            else "Check the network, then run the same command again: files that are there are skipped"
        )
        raise PosegenError(f"{url}: {without_secrets(str(cause)).rstrip('.')}. {fix}") from None

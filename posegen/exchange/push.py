"""``posegen push``: upload an export of a dataset to a bucket, or, as Parquet files with a card, to the Hugging Face Hub.

Where the files go is a :class:`Remote`: :mod:`posegen.exchange.hub_repository` or :mod:`posegen.exchange.bucket`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posegen.dataset.files import write_durably
from posegen.dataset.read import open_dataset
from posegen.dataset.splits import SPLITS
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.storage.bucket import SCHEMES
from posegen.dataset.storage.folder import open_plain
from posegen.exchange.export import export, exported_files
from posegen.exchange.export_format import RECORDS
from posegen.exchange.remote import CARD, PushedFile, Remote, is_pushed
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.foundations.quantities import human_bytes
from posegen.foundations.wording import shown

HF = "hf"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_BLOCK = 1 << 20
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
    staging: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PushResult:
    """Upload sequences of a dataset, by default as Parquet files with a card.

    Files that are there with equal size and hash are skipped, so that the same call resumes. In a repository of the Hub, all
    files appear at once, when the last one is uploaded.

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
        Whether to replace files of these names that are there and differ; of `hf`, its other files are removed.
    staging : str or Path, optional
        Folder for the files to upload, which is kept. By default it lies beside the dataset and is removed after the upload.

    Raises
    ------
    UsageError
        If `target` is none, a package is missing, or files that differ are there and `replace` is not set.
    PosegenError
        If the dataset is incomplete, or the upload fails.
    """
    started = time.monotonic()
    path, progress = to_path(path), progress or Progress()
    if staging is not None:
        folder = Path(staging)
    elif local := storage_of(path).local:
        folder = local.with_name(f"{local.resolve().name}.push")
    else:
        raise UsageError(f"{path}: is in a bucket. Name a folder of this machine for the files to upload with --staging")
    remote = find_remote(target, to, private=private)
    if note := open_dataset(path).note:  # opening refuses missing shards
        raise PosegenError(note)
    clips = export(path, to, folder, splits=splits, variants=variants, where=where, workers=workers, progress=progress).clips
    files = _files(folder, path, to, remote, progress)
    # Objects of other names may be anything: only those of `hf` are known to be of an earlier push.
    present = remote.compare(files, is_pushed if to == HF else {file.name for file in files}.__contains__)
    differing = [name for name, equal in present.items() if not equal]
    if differing and not replace:
        if staging is None:
            shutil.rmtree(folder)
        more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        raise UsageError(
            f"{remote.url}: holds other files: {', '.join(differing[:_NAMED])}{more}. Choose another target, or replace them "
            "with --replace"
        )
    missing = [file for file in files if not present.get(file.name)]
    _send(missing, remote, progress)
    removed = sorted({*differing} - {file.name for file in files})
    remote.commit(removed)
    if staging is None:
        shutil.rmtree(folder)
    size = sum(file.size for file in missing)
    return PushResult(remote.url, clips, len(files), len(missing), len(removed), size, time.monotonic() - started)


def find_remote(target: str, to: str = HF, *, private: bool = False) -> Remote:
    """Return what a target names, without connecting to it.

    Raises
    ------
    UsageError
        If it names nothing, cannot contain the format, or a package is missing.
    """
    if target.startswith(SCHEMES):
        from posegen.exchange.bucket import Bucket

        if private:
            raise UsageError("--private is for repositories of the Hub; the policy of a bucket decides who may read it")
        return Bucket(target)
    if not _REPOSITORY.fullmatch(target):
        raise UsageError(f"cannot push to {shown(target)}. Name a repository of the Hub, USER/NAME, or s3://BUCKET/PATH")
    if to != HF:
        raise UsageError(f"--to {to}: repositories of the Hub contain {HF}. Push other formats to a bucket, s3://BUCKET/PATH")
    require_extra("hub")
    from posegen.exchange.hub_repository import HubRepository

    return HubRepository(target, private=private)


def _files(folder: Path, dataset: AnyPath, to: str, remote: Remote, progress: Progress) -> list[PushedFile]:
    """Return the files that an export has recorded, with their hashes; a card is the last one and names the repository.

    The folder may hold other files, which are not uploaded.
    """
    paths = {name: folder / name for name in sorted(exported_files(folder, dataset))}
    if to == HF:
        # A copy, since the next call with the same staging folder may have another target.
        card, text = folder / RECORDS / CARD, paths.pop(CARD).read_text(encoding="utf-8")
        write_durably(card, text.replace('load_dataset("FOLDER"', f'load_dataset("{remote.dataset_name}"').encode())
        paths[CARD] = card
    files = []
    progress.start("hash", len(paths), unit="files")
    for done, (name, path) in enumerate(paths.items(), 1):
        digest = hashlib.sha256()
        with open_plain(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        files.append(PushedFile(name, path, path.stat().st_size, digest.hexdigest()))
        progress.update(done)
    progress.stop()
    return files


def _send(files: Sequence[PushedFile], remote: Remote, progress: Progress) -> None:
    """Upload files one after another."""
    total, before = sum(file.size for file in files), 0
    if not files:
        return
    progress.start("push", -(-total // 1000), unit="kB")
    try:
        for file in files:
            progress.log(f"uploading {file.name} ({human_bytes(file.size)})")
            remote.send(file, lambda sent, before=before: progress.update(-(-(before + sent) // 1000)))  # type: ignore[misc]
            before += file.size
    finally:
        progress.stop()

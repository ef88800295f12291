"""Publish a dataset that several runs have made in parts, and name what is missing.

Not responsible for making shards; see :mod:`posegen.generation.run`.
"""

from __future__ import annotations

from dataclasses import dataclass

from posegen.dataset.header import load_header, repair_header
from posegen.dataset.manifest import make_manifest, store_manifest
from posegen.dataset.parts import read_parts, remove_parts, samples_after_repair
from posegen.dataset.receipts import complete_prefix, complete_shards
from posegen.dataset.runs import current_run
from posegen.dataset.storage.address import AnyPath, to_path
from posegen.dataset.write import publish
from posegen.foundations.progress import Progress
from posegen.foundations.wording import counted
from posegen.generation.plan import make_plan
from posegen.generation.run import incomplete_layers
from posegen.generation.session import write_session


@dataclass(frozen=True)
class FinishResult:
    """What `finish` has published.

    Attributes
    ----------
    path : Path
        Dataset folder.
    samples, sequences : int
        In the dataset now: the complete prefix.
    target : int
        Number of samples that the parts, or the last run, are to make.
    complete, shards : int
        Number of complete shards, published or not, and of all.
    missing : list of (int, int)
        Shards that are not complete, as first and last of each gap.
    parts : list of int
        Numbers of the parts to run again.
    of_parts : int
        Number of parts; 1 for a dataset that was not made in parts.
    incomplete_layers : list of str
        Derived fields that some samples lack: `posegen derive` completes them.
    """

    path: AnyPath
    samples: int
    sequences: int
    target: int
    complete: int
    shards: int
    missing: list[tuple[int, int]]
    parts: list[int]
    of_parts: int
    incomplete_layers: list[str]


def finish(path: str | AnyPath, progress: Progress | None = None) -> FinishResult:
    """Publish the complete prefix of a dataset that is made in parts, also while they are being made.

    Parameters
    ----------
    path : str, Path or BucketPath
    progress : Progress, optional

    Raises
    ------
    UsageError
        If it is not a dataset.
    PosegenError
        If another run publishes it.

    Examples
    --------
    >>> import tempfile, posegen
    >>> config = posegen.load_config("smoke", ["store.shard=2", "store.chunk=2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = posegen.generate(config, samples=4, workers=1, out=folder, part="1/2")
    ...     before = posegen.finish(folder)
    ...     second = posegen.generate(config, samples=4, workers=1, out=folder, part="2/2")
    ...     after = posegen.finish(folder)
    >>> before.samples, before.parts, after.samples, after.missing
    (2, [2], 4, [])
    """
    path, name = to_path(path), current_run()
    load_header(path)  # before anything is locked
    with write_session(path, name, beside_parts=True):
        repair_header(path, name)
        header = load_header(path)
        record = read_parts(path)
        whole = header.with_samples(max(header.samples, record.samples if record else 0, samples_after_repair(path)))
        if progress:
            progress.log(f"reading the receipts of {counted(whole.shards(), 'shard')}")
        manifest = make_manifest(path, whole)
        complete = dict.fromkeys(range(manifest.shards), header.shard)
        complete |= complete_shards(path, header, lambda shard: shard not in complete)
        prefix = complete_prefix(path, header, complete)
        if prefix >= header.samples:
            header = publish(path, header, prefix, name)
        store_manifest(path, manifest, name)
        missing = make_plan(whole, complete).missing
        if record and not missing:
            remove_parts(path, record)
    count = record.count if record and record.count else 1
    return FinishResult(
        path=path,
        samples=header.samples,
        sequences=header.samples * len(header.variants),
        target=whole.samples,
        complete=whole.shards() - sum(map(len, missing)),
        shards=whole.shards(),
        missing=[(numbers.start, numbers.stop - 1) for numbers in missing],
        parts=sorted({shard % count + 1 for numbers in missing for shard in numbers[:count]}),
        of_parts=count,
        incomplete_layers=incomplete_layers(path, header),
    )

"""What a dataset contains and how far it is, and what makes a sample again without its dataset.

A summary has size, actions, example captions, and code that reads the dataset. Its counts come from receipts, or from the
manifest of a large dataset: neither time nor memory grow with its rows. The status of a dataset that runs are making comes from
the names of its receipts. Not responsible for whether shards are sound; see :mod:`posegen.dataset.verify`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from posegen.config.identity import decides_content, differences
from posegen.config.schema import Config
from posegen.dataset.counts import Counts, labels_field
from posegen.dataset.header import load_header, read_config
from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.lock import LOCK_FILE, is_held, part_locks
from posegen.dataset.parts import read_parts
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.receipts import list_receipts, split_hashes
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.header import stored_config

CAPTION_EXAMPLES = 6


@dataclass(frozen=True)
class Description:
    """Summary of a dataset.

    Attributes
    ----------
    path : Path
    header : Header
    samples, sequences : int
    fields : dict of str to str
        Type and dimensions of each array.
    hours : float
        Duration of all sequences together, whatever the number of actors.
    sizes : dict of str to int
        Bytes on disk of each array and of the rows.
    bytes : int
        Their sum.
    actions : list of dict
        ``action``, and shares of the frames with it on the legs (``legs``) and on any part of the body (``any``), of the base
        variant, the most frequent first.
    captions : list of dict
        Examples: ``sample``, ``variant`` and ``text``.
    note : str
        What a user should know before relying on the number of samples; empty if there is nothing.
    resampled, dropped : int or None
        Samples that were resampled after failed caption or joint-limit checks, and statements that were dropped because no
        attempt passed, over all sequences; None for a dataset without these columns.
    python : list of str
        Lines of Python that read the dataset without posegen.
    """

    path: AnyPath
    header: Header
    samples: int
    sequences: int
    fields: dict[str, str]
    hours: float
    sizes: dict[str, int]
    bytes: int
    actions: list[dict[str, Any]]
    captions: list[dict[str, Any]]
    note: str
    resampled: int | None
    dropped: int | None
    flaws: int
    python: list[str]


def describe(path: str | AnyPath) -> Description:
    """Return the summary of a dataset.

    Parameters
    ----------
    path : str, Path or BucketPath

    Returns
    -------
    Description
    """
    dataset = open_dataset(path)
    header = dataset.header
    with content_errors(path):
        counts, sizes = dataset.counts(), dataset.sizes()
        return Description(
            path=dataset.path,
            header=header,
            samples=len(dataset),
            sequences=len(dataset) * len(header.variants),
            fields={field.name: _array_text(dataset, field) for field in header.all_fields},
            hours=counts.frames / header.fps / 3600,
            sizes=sizes,
            bytes=sum(sizes.values()),
            actions=_action_shares(header, counts),
            captions=list(islice(_captions(dataset), CAPTION_EXAMPLES)),
            note=dataset.note,
            resampled=counts.resampled,
            dropped=counts.dropped,
            flaws=counts.flaws,
            python=_reading_lines(dataset),
        )


def _array_text(dataset: Dataset, field: ArrayField) -> str:
    note = "" if field.name in dataset.fields else "; missing for some samples: `posegen derive` completes it"
    return f"{field.dtype} ({', '.join(('sample', *field.dims))}){note}"


def _reading_lines(dataset: Dataset) -> list[str]:
    path, names = str(dataset.path), [field.name for field in dataset.header.all_fields]
    array = "joints" if "joints" in names else names[0]
    first = f"{array} = motion[{array!r}][0, 0]  # sample 0, variant {dataset.header.variants[0]}"
    if storage_of(dataset.path).local is None:
        return [
            "import obstore.store, zarr, zarr.storage",
            f"bucket = obstore.store.from_url({path + '/motion.zarr'!r})",
            "motion = zarr.open_group(zarr.storage.ObjectStore(bucket, read_only=True), mode='r')",
            first,
            f"print({array}.shape)",
        ]
    return [
        "import pyarrow.parquet, zarr",
        f"motion = zarr.open_group({path + '/motion.zarr'!r}, mode='r')",
        first,
        f"rows = pyarrow.parquet.read_table({path + '/sequences'!r}, filters=[('sample', '==', 0)]).to_pylist()",
        f"print({array}.shape, rows[0]['captions'][0]['text'])",
    ]


def _action_shares(header: Header, counts: Counts) -> list[dict[str, Any]]:
    field = labels_field(header)
    if field is None or not counts.present:
        return []
    found = zip(field.attributes["names"], counts.legs, counts.any_part, strict=True)
    shares = [
        {"action": name, "legs": legs / counts.present, "any": any_part / counts.present} for name, legs, any_part in found
    ]
    return sorted(shares, key=lambda share: (-share["any"], share["action"]))


def _captions(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield one caption of each sample, with a different position and variant each time."""
    for sample in range(len(dataset)):
        rows = dataset.rows(sample)
        row = rows[sample % len(rows)]
        captions = row["captions"]
        if captions:
            text = captions[sample % len(captions)]["text"]
            yield {"sample": sample, "variant": row["variant"], "text": text}


_SEQUENCE = ("variant", "length", "theme", "attempt", "parameters", "dropped")


@dataclass(frozen=True)
class Provenance:
    """What makes a sample.

    Attributes
    ----------
    path : Path
        Dataset folder.
    header : Header
    sample, shard : int
    overrides : tuple of str
        The keys of the config that decide content and differ from the defaults, each as ``KEY=VALUE`` for ``--set``.
    content : dict of str to str
        Hash of the sample's content by field, as in the receipt of its shard.
    sequences : tuple of dict
        For each variant: parameters, attempt, and other columns of its row, without captions and actors.
    caption : str
        The first caption of the first variant; empty without captions.
    """

    path: AnyPath
    header: Header
    sample: int
    shard: int
    overrides: tuple[str, ...]
    content: dict[str, str]
    sequences: tuple[dict[str, Any], ...]
    caption: str

    @property
    def python(self) -> list[str]:
        """Lines of Python that make the sample, in the order of its variants, without the dataset."""
        settings = ", ".join(repr(override) for override in self.overrides)
        return [
            "import posegen",
            f"config = posegen.load_config('default', [{settings}])",
            f"batch = posegen.synthesize(config, [{self.sample}])",
            "joints = batch.joints[0]  # variant, actor, frame, joint, axis; metres",
            "rows = batch.rows  # one per variant: captions, actors and their segments",
        ]

    @property
    def obstacle(self) -> str:
        """Why the sample cannot be made again here, such as changed files of actions; empty if it can."""
        try:
            stored_config(self.path, self.header)
        except PosegenError as error:
            return str(error)
        return ""


def trace_sample(path: str | AnyPath, sample: int) -> Provenance:
    """Return the provenance of a sample of a dataset.

    Parameters
    ----------
    path : str or Path
    sample : int

    Raises
    ------
    UsageError
        If the dataset has no such sample.
    """
    dataset = open_dataset(path)
    if not 0 <= sample < len(dataset):
        raise UsageError(f"{path}: has no sample {sample}; its samples are 0 to {len(dataset) - 1}")
    header = dataset.header
    shard, position = divmod(sample, header.shard)
    receipt, rows = dataset.receipt(shard), dataset.rows(sample)
    content = {name: split_hashes(hashes)[position] for name, hashes in receipt.content.items()}
    captions = rows[0].get("captions") or [{"text": ""}]
    return Provenance(
        path=dataset.path,
        header=header,
        sample=sample,
        shard=shard,
        overrides=_overrides(read_config(dataset.path, header)),
        content=content,
        sequences=tuple({name: row[name] for name in _SEQUENCE if name in row} for row in rows),
        caption=str(captions[0]["text"]),
    )


def _overrides(config: Config) -> tuple[str, ...]:
    """Return the settings that turn the defaults into a config, apart from what does not decide content."""
    data = config.as_data()
    changed = {key: value for key, _, value in differences(Config().as_data(), data) if decides_content(key)}
    if config.story.library is not None:  # its content decides, and its path leads to it
        changed["story.library"] = data["story"]["library"]
    return tuple(f"{key}={json.dumps(value)}" for key, value in changed.items())


@dataclass(frozen=True)
class DatasetStatus:
    """How far a dataset is.

    Attributes
    ----------
    path : Path
        Dataset folder.
    samples : int
        Published: readers see them.
    target : int
        Number of samples that the last run, or the parts together, are to make.
    parts : int
        Number of parts of the last job; 0 unless the dataset is made in parts.
    state : str
        ``complete``, ``running``, ``stopped``, or ``unknown`` for a bucket with shards to make.
    made, shards : int
        Number of shards with a receipt, and of all.
    running : list of str or None
        Locks that runs may hold: the parts that are being made, such as ``3 of 16``, or ``the dataset``; None for a bucket,
        which has no locks.
    """

    path: AnyPath
    samples: int
    target: int
    parts: int
    state: str
    made: int
    shards: int
    running: list[str] | None


def find_status(path: str | AnyPath) -> DatasetStatus:
    """Describe how far a dataset is, by the names of its receipts.

    Parameters
    ----------
    path : str or Path
        Dataset folder.

    Raises
    ------
    UsageError
        If it is not a dataset.
    """
    place = to_path(path)
    header, record = load_header(place), read_parts(place)
    whole = header.with_samples(max(header.samples, record.samples if record else 0))
    seen: AnyPath = storage_of(place).listed()
    made = [shard for shard in list_receipts(seen) if shard < whole.shards()]
    left = whole.shards() - len(made)
    running = _running(seen)
    state = "complete" if not left else "unknown" if running is None else "running" if running else "stopped"
    return DatasetStatus(
        path=place,
        samples=header.samples,
        target=whole.samples,
        parts=record.count if record else 0,
        state=state,
        made=len(made),
        shards=whole.shards(),
        running=running,
    )


def _running(folder: AnyPath) -> list[str] | None:
    """Return what runs may be writing in a dataset, by its locks; None for a bucket, which has no locks."""
    local = storage_of(folder).local
    if local is None:
        return None
    parts = [lock.name.removeprefix(f"{LOCK_FILE}-").replace("-", " ") for lock in part_locks(local) if is_held(lock)]
    return [*parts, "the dataset"] if is_held(local / LOCK_FILE) else parts

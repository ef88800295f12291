"""Collections of sequences to look at: those of a dataset, or of clips.

A collection is read sample by sample, when the page asks for it; its overview has distributions over all base variants.
Not responsible for serving it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.dataset.splits import SPLITS, in_split
from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.body import library_of_config
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.foundations.wording import counted
from posegen.viewing.clip import clip_of_sequence, clips_of_sample, open_motion
from posegen.viewing.sequence import BONES, CONTACT_POINTS, MIRROR_POINTS, POINTS, encode_sample

_LARGEST_PAGE = 500
"""Samples of a page of a dataset, at most: a larger shard is read by chunks."""
_TABLES_KEPT = 2
FILE_FORMATS = ("bvh", "glb")
"""Formats in which a sequence of a dataset is downloaded, besides arrays."""


@dataclass(frozen=True)
class Collection:
    """What a page shows.

    Attributes
    ----------
    title : str
    samples, page : int
        Number of samples, and of those whose rows are read at once.
    provenance : mapping of str to str
        Where the sequences come from, by name, in order.
    read_rows : callable
        Returns the rows of a page, one per sample; see :func:`describe_row`.
    read_sample : callable
        Returns a sample as in :func:`posegen.viewing.sequence.encode_sample`.
    read_overview : callable
        Returns the distributions of :func:`summarize`, or nothing.
    read_file : callable, optional
        Returns a sequence as a file, given sample, variant and format; of several actors, a ZIP archive with a file for each.
    """

    title: str
    samples: int
    page: int
    provenance: Mapping[str, str]
    read_rows: Callable[[int], list[dict[str, Any]]]
    read_sample: Callable[[int], bytes]
    read_overview: Callable[[], dict[str, Any]] = field(default=dict)
    read_file: Callable[[int, str, str], bytes] | None = None

    def about(self) -> dict[str, Any]:
        """Return what the page needs to know before it reads a sample."""
        return {
            "title": self.title,
            "samples": self.samples,
            "page": self.page,
            "provenance": list(self.provenance.items()),
            "points": POINTS,
            "mirror": MIRROR_POINTS,
            "bones": BONES,
            "joints": len(JOINTS),
            "path": self.provenance.get("dataset"),
            "files": FILE_FORMATS if self.read_file else [],
            "contacts": CONTACTS,
            "contact_points": CONTACT_POINTS,
        }


def describe_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page lists and filters of a row of the table of sequences."""
    segments = [segment for actor in row["actors"] for segment in actor["segments"]]
    return {
        "sample": row["sample"],
        "texts": [caption["text"] for caption in row["captions"]],
        "theme": row["theme"] or "",
        "seconds": round(row["duration"], 2),
        "people": len(row["actors"]),
        "actions": sorted({segment["action"].replace("_", " ") for segment in segments}),
        "speeds": sorted({round(segment["speed"], 2) for segment in segments if segment["speed"] > 0}),
        "styles": sorted({actor["style"] for actor in row["actors"] if actor.get("style")}),
        "ages": [round(actor["age"]) for actor in row["actors"] if actor.get("age")],
    }


def collection_of_dataset(path: AnyPath) -> Collection:
    """Open a dataset for viewing.

    Raises
    ------
    PosegenError
        If it is missing or damaged.
    UsageError
        If it has no joints or no samples.
    """
    from posegen.dataset.read import content_errors

    dataset = open_motion(path)
    header, library = dataset.header, library_of_config(dataset.header.config)
    if not len(dataset):
        raise UsageError(f"{path}: has no samples yet. Run the same `posegen generate` command again")
    page_size = header.shard if header.shard <= _LARGEST_PAGE else header.chunk
    table_of = lru_cache(_TABLES_KEPT)(dataset.table)

    def read_rows(page: int) -> list[dict[str, Any]]:
        shard, first = divmod(page * page_size, header.shard)
        variants = len(header.variants)
        with content_errors(path):
            rows = table_of(shard).slice(first * variants, page_size * variants)
            samples = np.arange(page * page_size, (page + 1) * page_size)
            split = {int(sample): name for name in SPLITS for sample in in_split(header.seed, samples, name)}
            found = rows.take(np.arange(0, len(rows), variants)).to_pylist()
            return [describe_row(row) | {"split": split[row["sample"]]} for row in found]

    def read_sample(sample: int) -> bytes:
        return encode_sample(sample, clips_of_sample(dataset, sample), library)

    def read_overview() -> dict[str, Any]:
        with content_errors(path):
            return summarize(dataset.table(shard) for shard in range(header.shards()))

    def read_file(sample: int, variant: str, form: str) -> bytes:
        from posegen.exchange.export import clip_files

        files = clip_files(dataset, sample, variant, form)
        if len(files) == 1:
            return files.popitem()[1]
        archive = BytesIO()
        with ZipFile(archive, "w", ZIP_DEFLATED) as opened:
            for name, content in files.items():
                opened.writestr(name, content)
        return archive.getvalue()

    provenance = {
        "dataset": str(path),
        "config": header.name,
        "seed": str(header.seed),
        "samples": f"{len(dataset):,} in {counted(len(header.variants), 'variant')}",
        "identity": header.identity,
        "content version": str(header.content_version),
        "frames": f"up to {header.frames} at {header.fps} FPS",
        "licence": header.licence,
    }
    if header.created is not None:
        provenance["created"] = f"{header.created.date} by posegen {header.created.posegen}"
    return Collection(path.name, len(dataset), page_size, provenance, read_rows, read_sample, read_overview, read_file)


def collection_of_clips(title: str, clips: Sequence[Recording], provenance: Mapping[str, str]) -> Collection:
    """Return clips that have joints alone as a collection: a sample for each clip, with the other people of it."""
    labels = [clip.family or clip.description for clip in clips]

    def row_of(sample: int) -> dict[str, Any]:
        clip, label = clips[sample], labels[sample]
        text = f"{clip.name} ({label})" if label else clip.name
        captions = [{"text": text, "kind": "file"}, *({"text": text, "kind": "text"} for text in clip.captions)]
        actor = {"person": clip.person, "seat_height": 0.0, "segments": []}
        return {
            "sample": sample,
            "variant": "clip",
            "theme": "",
            "duration": len(clip.joints) / clip.fps,
            "captions": captions,
            "actors": [actor] * (1 + len(clip.others)),
        }

    def read_rows(page: int) -> list[dict[str, Any]]:
        del page
        return [describe_row(row_of(sample)) | {"actions": [label] if label else []} for sample, label in enumerate(labels)]

    def read_sample(sample: int) -> bytes:
        clip = clips[sample]
        shown = clip_of_sequence(np.stack([clip.joints, *clip.others]), row_of(sample), clip.fps)
        return encode_sample(sample, [replace(shown, title=clip.name)], None)

    return Collection(title, len(clips), len(clips), provenance, read_rows, read_sample)


_SPEED_STEP, _LENGTH_BINS = 0.25, 20
_LONGEST_SPEED = 10.0


def summarize(tables: Iterable[pa.Table]) -> dict[str, Any]:
    """Count what the sequences of the base variant show.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        Tables of sequences; read one after another.

    Returns
    -------
    dict
        ``samples``; counts of ``actions`` (segments), ``themes``, ``styles`` (actors) and ``people``, the most frequent first;
        ``seconds`` and ``speeds`` as lists of (from, to, count): seconds of samples, and metres per second of segments that
        travel.
    """
    counts = {name: Counter[str]() for name in ("actions", "themes", "styles", "people")}
    seconds, speeds, samples = [np.zeros(0)], [np.zeros(0)], 0
    for table in tables:
        base = table.filter(pc.equal(table["variant"], table["variant"][0])) if len(table) else table
        samples += len(base)
        actors = pc.list_flatten(base["actors"])
        segments = pc.list_flatten(pc.struct_field(actors, "segments"))
        counts["actions"].update(_counted(pc.struct_field(segments, "action")))
        counts["themes"].update(_counted(base["theme"]))
        counts["styles"].update(_counted(pc.struct_field(actors, "style")))
        counts["people"].update(_counted(pc.list_value_length(base["actors"])))
        seconds.append(base["duration"].to_numpy())
        speeds.append(pc.struct_field(segments, "speed").to_numpy())
    speed, length = np.concatenate(speeds), np.concatenate(seconds)
    longest = float(length.max(initial=0.0))
    ranked = {
        name: [(label.replace("_", " "), count) for label, count in counter.most_common()] for name, counter in counts.items()
    }
    step = max(0.5, float(np.ceil(longest / _LENGTH_BINS * 2) / 2))
    fast = np.minimum(speed[speed > 0], _LONGEST_SPEED)
    return {"samples": samples, "seconds": _bins(length, step), "speeds": _bins(fast, _SPEED_STEP)} | ranked


def _counted(column: Any) -> dict[str, int]:
    return {str(entry["values"]): entry["counts"] for entry in pc.value_counts(pc.drop_null(column)).to_pylist()}


def _bins(values: Array, step: float) -> list[tuple[float, float, int]]:
    """Count values in intervals of a step, from 0 to beyond the largest; each contains its lower bound."""
    counts = np.bincount((values / step).astype(np.int64)).tolist()
    return [(number * step, (number + 1) * step, count) for number, count in enumerate(counts)]

"""Collections of sequences to look at: those of a dataset, of a config, or of clips.

A collection is read sample by sample, when the page asks for it; its overview has distributions over all base variants.
Not responsible for serving it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from posegen.config.schema import CONTENT_VERSION, MOST_SAMPLES, Config
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import CONTACTS
from posegen.library.load import Library, load_library
from posegen.viewing.clip import clip_of_sequence, make_clip
from posegen.viewing.sequence import BONES, CONTACT_POINTS, MIRROR_POINTS, POINTS, Camera, Sequence3D, encode_sample

Value = TypeVar("Value")
_OBJECT_ARRAYS = ("object", "object_state", "object_position")
_CAMERA_ARRAYS = ("extrinsics", "intrinsics")
_PAGE_OF_CONFIG = 20
_PAGES_KEPT = 4
_LARGEST_PAGE = 500
"""Samples of a page of a dataset, at most: a larger shard is read by chunks."""
_TABLES_KEPT = 2


@dataclass(frozen=True)
class Collection:
    """What a page shows.

    Attributes
    ----------
    title : str
    kind : str
        dataset, config, clips or run.
    samples, page : int
        Number of samples, and of those whose rows are read at once.
    variants : tuple of str
    provenance : mapping of str to str
        Where the sequences come from, by name, in order.
    read_rows : callable
        Returns the rows of a page, one per sample; see :func:`describe_row`.
    read_sample : callable
        Returns a sample as in :func:`posegen.viewing.sequence.encode_sample`.
    read_overview : callable
        Returns the distributions of :func:`summarize`, or nothing.
    """

    title: str
    kind: str
    samples: int
    page: int
    variants: tuple[str, ...]
    provenance: Mapping[str, str]
    read_rows: Callable[[int], list[dict[str, Any]]]
    read_sample: Callable[[int], bytes]
    read_overview: Callable[[], dict[str, Any]] = field(default=dict)

    def about(self) -> dict[str, Any]:
        """Return what the page needs to know before it reads a sample."""
        return {
            "title": self.title,
            "kind": self.kind,
            "samples": self.samples,
            "page": self.page,
            "variants": self.variants,
            "provenance": list(self.provenance.items()),
            "points": POINTS,
            "mirror": MIRROR_POINTS,
            "bones": BONES,
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
    from posegen.dataset.read import content_errors, open_dataset

    dataset = open_dataset(path)
    header = dataset.header
    if "joints" not in dataset.fields:
        raise UsageError(f"{path}: has no field joints to show, only {', '.join(dataset.fields)}")
    if not len(dataset):
        raise UsageError(f"{path}: has no samples yet. Run the same `posegen generate` command again")
    shown = [name for name in ("joints", "action", "contact", *_OBJECT_ARRAYS, *_CAMERA_ARRAYS) if name in dataset.fields]
    library = library_of(header.config)
    names = header.field("action").attributes["names"] if "action" in shown else ()
    size = header.field("intrinsics").attributes["size"] if "intrinsics" in shown else (1, 1)

    page_size = header.shard if header.shard <= _LARGEST_PAGE else header.chunk
    table_of = lru_cache(_TABLES_KEPT)(dataset.table)

    def read_rows(page: int) -> list[dict[str, Any]]:
        shard, first = divmod(page * page_size, header.shard)
        variants = len(header.variants)
        with content_errors(path):
            rows = table_of(shard).slice(first * variants, page_size * variants)
            return [describe_row(row) for row in rows.take(np.arange(0, len(rows), variants)).to_pylist()]

    def read_sample(sample: int) -> bytes:
        with content_errors(path):
            arrays = {name: dataset.arrays(name, slice(sample, sample + 1))[0] for name in shown}
            rows = dataset.rows(sample)
            return encode_sample(sample, sequences_of_rows(rows, arrays, float(header.fps), names, size), library)

    def read_overview() -> dict[str, Any]:
        with content_errors(path):
            return summarize(dataset.table(shard) for shard in range(header.shards()))

    provenance = {
        "dataset": str(path),
        "config": header.name,
        "seed": str(header.seed),
        "samples": f"{len(dataset):,} in {len(header.variants)} variants",
        "identity": header.identity,
        "content version": str(header.content_version),
        "frames": f"up to {header.frames} at {header.fps} FPS",
        "licence": header.licence,
    }
    if header.created is not None:
        provenance["created"] = f"{header.created.date} by posegen {header.created.posegen}"
    return Collection(
        path.name, "dataset", len(dataset), page_size, header.variants, provenance, read_rows, read_sample, read_overview
    )


def collection_of_config(config: Config) -> Collection:
    """Return the samples of a config, which are synthesized when they are looked at, a page at a time."""
    from posegen.synthesis.synthesize import Batch, synthesize

    library = load_library(config.story.library)

    @lru_cache(_PAGES_KEPT)
    def batch_of(page: int) -> Batch:
        first = page * _PAGE_OF_CONFIG
        return synthesize(config, np.arange(first, min(first + _PAGE_OF_CONFIG, MOST_SAMPLES)))

    def rows_of(page: int) -> list[dict[str, Any]]:
        return batch_of(page).rows

    def read_rows(page: int) -> list[dict[str, Any]]:
        return [describe_row(row) for row in rows_of(page)[:: len(config.variants.names)]]

    def read_sample(sample: int) -> bytes:
        page, position = divmod(sample, _PAGE_OF_CONFIG)
        batch, variants = batch_of(page), len(config.variants.names)
        rows = batch.rows[position * variants : (position + 1) * variants]
        arrays = {"joints": batch.joints[position], "action": batch.action[position], "contact": batch.contact[position]}
        return encode_sample(sample, sequences_of_rows(rows, arrays, float(config.fps), library.actions), library)

    provenance = {
        "config": config.name,
        "seed": str(config.seed),
        "identity": config.identity(library),
        "content version": str(CONTENT_VERSION),
        "frames": f"up to {config.frames} at {config.fps} FPS",
        "samples": "synthesized as you look at them",
    }
    return Collection(
        config.name, "config", MOST_SAMPLES, _PAGE_OF_CONFIG, config.variants.names, provenance, read_rows, read_sample
    )


@dataclass(frozen=True)
class NamedClip:
    """Joints [frame, 22, 3] of one body, with a name and, if known, what is done; `others` are beside it, by name."""

    name: str
    joints: Array
    fps: float
    label: str = ""
    person: str = ""


def collection_of_clips(title: str, clips: Sequence[NamedClip], provenance: Mapping[str, str]) -> Collection:
    """Return clips that have joints alone as a collection, one sample for each clip."""

    def row_of(sample: int) -> dict[str, Any]:
        clip = clips[sample]
        label = f"{clip.name} ({clip.label})" if clip.label else clip.name
        actor = {"person": clip.person, "seat_height": 0.0, "segments": []}
        return {
            "sample": sample,
            "theme": "",
            "duration": len(clip.joints) / clip.fps,
            "captions": [{"text": label, "kind": "file"}],
            "actors": [actor],
        }

    def read_rows(page: int) -> list[dict[str, Any]]:
        del page
        return [
            describe_row(row_of(sample)) | {"actions": [clip.label] if clip.label else []} for sample, clip in enumerate(clips)
        ]

    def read_sample(sample: int) -> bytes:
        clip = clips[sample]
        shown = make_clip(np.asarray(clip.joints)[None], clip.name, clip.fps, title=clip.name)
        return encode_sample(sample, [Sequence3D(shown, "clip", row_of(sample))], None)

    return Collection(title, "clips", len(clips), len(clips), ("clip",), provenance, read_rows, read_sample)


def library_of(config: Mapping[str, Any]) -> Library:
    """Return the library of a dataset's config; the built-in one where the user's folder of actions is absent."""
    folder = config.get("story", {}).get("library")
    return load_library(Path(folder) if isinstance(folder, str) and Path(folder).is_dir() else None)


def sequences_of_rows(
    rows: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, Array],
    fps: float,
    names: Sequence[str],
    size: tuple[float, float] = (1, 1),
) -> list[Sequence3D]:
    """Return the variants of a sample.

    Parameters
    ----------
    rows : sequence of mappings
        Row of each variant.
    arrays : mapping of str to array [variant, ...]
        Joints, and those of other fields that are known.
    fps : float
    names : sequence of str
        Names of the actions.
    size : (float, float)
        Width and height of the image of the camera in pixels.
    """
    sequences = []
    for v, row in enumerate(rows):
        own = {name: values[v] for name, values in arrays.items()}
        joints, action = own["joints"][: len(row["actors"])], own.get("action")
        clip = clip_of_sequence(joints, row, fps, contact=own.get("contact"))
        objects = {name: own[name] for name in _OBJECT_ARRAYS} if "object" in own else {}
        camera = Camera(own["extrinsics"], own["intrinsics"], size) if "extrinsics" in own else None
        sequences.append(Sequence3D(clip, row["variant"], row, action, names, objects, camera))
    return sequences


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
    speed = np.concatenate(speeds)
    ranked = {
        name: [(label.replace("_", " "), count) for label, count in counter.most_common()] for name, counter in counts.items()
    }
    return {
        "samples": samples,
        "seconds": _length_bins(np.concatenate(seconds)),
        "speeds": _speed_bins(speed[speed > 0]),
    } | ranked


def _counted(column: Any) -> dict[str, int]:
    return {
        str(entry["values"]): entry["counts"] for entry in pc.value_counts(column).to_pylist() if entry["values"] is not None
    }


def _speed_bins(values: Array) -> list[tuple[float, float, int]]:
    return _bins(np.minimum(values, _LONGEST_SPEED), _SPEED_STEP)


def _length_bins(values: Array) -> list[tuple[float, float, int]]:
    longest = float(values.max()) if len(values) else 0.0
    return _bins(values, max(0.5, float(np.ceil(longest / _LENGTH_BINS * 2) / 2)))


def _bins(values: Array, step: float) -> list[tuple[float, float, int]]:
    """Count values in intervals of a step, from 0 to beyond the largest; each contains its lower bound."""
    counts = np.bincount((values / step).astype(np.int64)).tolist() if len(values) else []
    return [(number * step, (number + 1) * step, count) for number, count in enumerate(counts)]

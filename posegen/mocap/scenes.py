"""Recordings as a dataset: clips as they are, in windows of its clip length, with captions that are not checked.

Not responsible for clips as actions that other bodies perform, see :mod:`posegen.mocap.library`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.config.identity import digest
from posegen.config.load import load_config
from posegen.config.schema import Config
from posegen.dataset.header import load_header, read_config
from posegen.dataset.layout import Header
from posegen.dataset.runs import current_run
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.arrays import Array
from posegen.foundations.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.foundations.errors import UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.progress import Progress
from posegen.foundations.scene import on_grid
from posegen.foundations.skeleton import CONTACTS, PARTS
from posegen.generation.header import new_creation, new_header
from posegen.generation.session import write_session
from posegen.generation.shard import compute_arrays
from posegen.library.load import load_library
from posegen.mocap.convert import contacts_of, label_in_words, resample_body, rest_offsets_of, stature_of
from posegen.mocap.labels import Label, read_label_table
from posegen.mocap.library import UNKNOWN
from posegen.mocap.sources import SourceClip, clip_files, read_files
from posegen.synthesis.synthesize import Batch, rows_schema
from posegen.variants.variant import neutral_parameters

SHORTEST = 1.0
"""Seconds of a window: the rest of a clip that is shorter is left out."""
VARIANTS = ("base",)
SOURCE = pa.field(
    "source",
    pa.struct([("clip", pa.string()), ("begin", pa.float32()), ("licence", pa.string()), ("origin", pa.string())]),
)
"""Column with the clip of a row, the seconds in it before the first frame, and its terms."""
_USER_TEXT = "text"
"""Kind of a caption that a user wrote, without statements."""


@dataclass(frozen=True)
class SceneImport:
    """Result of an import: samples and hours of the dataset, notes, and messages for refused clips."""

    path: Path
    samples: int
    hours: float
    notes: list[str]
    refused: list[str]


_Window = tuple[Array, dict[str, Any]]
"""A part of a clip: joints float64 [frame, 22, 3], and the columns of its row that are not its number."""


def import_scenes(
    paths: Sequence[Path],
    out: Path,
    *,
    like: AnyPath | None = None,
    labels: Path | None = None,
    licence: str = UNKNOWN,
    source: str = UNKNOWN,
    progress: Progress | None = None,
    **given: Any,
) -> SceneImport:
    """Write a dataset of clips, each in windows of its clip length.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders with them.
    out : Path
        Folder to write; must not exist or be empty.
    like : Path or BucketPath, optional
        Dataset whose frame rate, frames and arrays the new one has, so that they can be mixed; by default those of the preset
        ``default``.
    labels, licence, source, progress
        See :func:`posegen.mocap.library.import_clips`.
    **given
        Of :func:`posegen.mocap.sources.read_source`.

    Raises
    ------
    UsageError
        If no clip can be used, `out` holds something, or the table of labels lacks a file.
    """
    files, progress = clip_files(list(paths)), progress or Progress()
    table = None if labels is None else read_label_table(labels, files)
    config = _config(like, out)
    terms = {"licence": licence, "origin": source}
    header = _header(config, files, {**terms, **{name: str(value) for name, value in given.items()}})
    notes, refused = list[str](), list[str]()
    clips = read_files(files, progress, refused.append, **given)
    windows = _windows(clips, config, table, terms, notes)
    samples, frames, run = 0, 0, current_run()
    with write_session(out, run, create=True):
        for shard, block in enumerate(iter(lambda: list(islice(windows, header.shard)), [])):
            if shard == 0:
                create(out, header, run)
            batch = _batch(block, config, samples)
            arrays = compute_arrays(config, batch, [field.name for field in header.fields])
            commit_shard(out, header, shard, arrays, batch.table, run)
            samples, frames = samples + len(block), frames + sum(len(joints) for joints, _ in block)
        if samples:
            publish(out, header, samples, run)
    if not samples:
        reasons = refused[:20] or [f"none has {SHORTEST:g} s"]
        raise UsageError("\n".join(["none of the clips can be used:", *reasons]))
    return SceneImport(out, samples, frames / config.fps / 3600, notes, refused)


def _config(like: AnyPath | None, out: Path) -> Config:
    """Return the config that describes the arrays: that of a dataset, or the default one, without variants."""
    config = load_config("default") if like is None else read_config(like, load_header(like))
    off = {name: False if getattr(config.variants, name) is True else None for name in config.variants.names[1:]}
    story = config.story.model_copy(update={"library": None})
    variants = config.variants.model_copy(update=off)
    return config.model_copy(update={"name": out.resolve().name[:64], "variants": variants, "story": story, "skeleton": "smpl"})


def _header(config: Config, files: Sequence[Path], terms: Mapping[str, str]) -> Header:
    """Return the header of the dataset; its identity is a hash of the files and of the options for reading them."""
    hashes = [byte_hash([path.read_bytes()]) for path in files]
    return replace(
        new_header(config, load_library()),
        identity=digest([config.as_data(), dict(terms), hashes]),
        licence=f"{terms['licence']} (motion recorded by: {terms['origin']})",
        created=new_creation(),
    )


def _windows(
    clips: Iterator[SourceClip], config: Config, table: Mapping[str, Label] | None, terms: Mapping[str, str], notes: list[str]
) -> Iterator[_Window]:
    """Yield the windows of clips, and add messages about unusual clips to `notes`."""
    people: dict[str, int] = {}
    for clip in clips:
        if clip.note:
            notes.append(f"{clip.name}: {clip.note}")
        _, texts = label_in_words(clip, table)
        joints = resample_body(clip.joints, clip.fps, config.fps)
        actor = {
            "person": people.setdefault(clip.subject or str(clip.file), len(people)),
            "stature": stature_of(rest_offsets_of(joints)),
            "style": "",
            "seat_height": 0.0,
            "segments": [],
        }
        captions = [{"text": text, "kind": _USER_TEXT, "statements": []} for text in texts]
        for first in range(0, len(joints), config.frames):
            shown = joints[first : first + config.frames]
            if len(shown) >= SHORTEST * config.fps:
                origin = {"clip": clip.name, "begin": clip.begin + first / config.fps, **terms}
                row = {"length": len(shown), "duration": len(shown) / config.fps, "captions": captions, "actors": [actor]}
                yield shown - shown[0, 0] * (1, 0, 1), {**row, SOURCE.name: origin}


def _batch(windows: Sequence[_Window], config: Config, first: int) -> Batch:
    """Return windows as samples from number `first` on."""
    samples, size = np.arange(first, first + len(windows)), (len(windows), 1, config.story.actors.max, config.frames)
    joints = np.full((*size, *windows[0][0].shape[1:]), np.nan, np.float32)
    action = np.full((*size, len(PARTS)), ABSENT_ACTION, np.uint16)
    contact = np.full((*size, len(CONTACTS)), ABSENT_CONTACT, np.uint8)
    common = {"variant": VARIANTS[0], "parameters": neutral_parameters(VARIANTS), "attempt": 0, "dropped": []}
    rows = []
    for number, (shown, row) in enumerate(windows):
        where = number, 0, 0, slice(len(shown))
        joints[where], contact[where] = on_grid(shown), contacts_of(shown, config.fps)
        rows.append({"sample": first + number, **common, **row})
    table = pa.Table.from_pylist(rows, rows_schema(VARIANTS).append(SOURCE))
    return Batch(samples, VARIANTS, joints, action, contact, table)

"""What formats of text-to-motion data share: a file of features for each clip, texts, lists of names, mean and deviation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat, Shard
from posegen.exchange.features263 import FPS
from posegen.exchange.moments import Moments, mean_and_deviation
from posegen.exchange.npy import write_bytes, write_npy
from posegen.exchange.word_classes import library_tagger
from posegen.foundations.arrays import Array

LISTS = {"training": "train", "validation": "val", "test": "test"}
"""Names of the lists of the clips of each split."""
_TEXTS = 1000
"""Captions whose words are kept with their classes."""


features_format = partial(ExportFormat, fps=FPS, most_actors=1)
"""Record of a format with HumanML3D's features, whose captions describe one person."""


def write_texts(
    blocks: Iterator[list[Clip]], shard: Shard, width: int, folder: str, encode: Callable[[Clip], Mapping[str, Array]]
) -> dict[str, Any]:
    """Write arrays and texts of clips; return their names by split, and sums of the features.

    Parameters
    ----------
    blocks : iterator of list of Clip
    shard : Shard
    width : int
        Columns of the features.
    folder : str
        Folder of the features; mean and deviation are theirs.
    encode : callable
        Returns the arrays of a clip by folder.
    """
    tagger = library_tagger(shard.library)

    @lru_cache(_TEXTS)  # variants share texts
    def line(text: str) -> str:
        return f"{text}#{tagger.tagged(text)}#0.0#0.0\n"

    out, made, moments, names = str(shard.folder), set[str](), Moments(width), dict[str, list[str]]()
    for clip in chain.from_iterable(blocks):
        arrays = encode(clip)
        moments.add(arrays[folder])
        if not made:
            made = {*arrays, "texts"}
            for name in made:
                os.makedirs(f"{out}/{name}", exist_ok=True)
        for name, values in arrays.items():
            write_npy(f"{out}/{name}/{clip.name}.npy", values)
        write_bytes(f"{out}/texts/{clip.name}.txt", "".join(map(line, clip.captions)).encode())
        names.setdefault(clip.split, []).append(clip.name)
    return {"names": names, **moments.as_data()}


def write_lists(folder: Path, records: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Write a list of the names of each split, and return the lists."""
    folder.mkdir(parents=True, exist_ok=True)
    lists = {name: [clip for record in records for clip in record["names"].get(split, [])] for split, name in LISTS.items()}
    for name, found in lists.items():
        (folder / f"{name}.txt").write_text("".join(f"{entry}\n" for entry in found), encoding="utf-8")
    return lists


def write_mean(folder: Path, records: Sequence[Mapping[str, Any]], groups: Sequence[slice] = ()) -> None:
    """Write ``Mean.npy`` and ``Std.npy`` of the features of all clips; `groups` share a deviation."""
    found = mean_and_deviation(records, groups)
    folder.mkdir(parents=True, exist_ok=True)
    if found:
        for name, values in zip(("Mean", "Std"), found, strict=True):
            np.save(folder / f"{name}.npy", values)

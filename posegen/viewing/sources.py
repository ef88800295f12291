"""Where clips come from: a dataset, or a config from which samples are made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from posegen.errors import UsageError
from posegen.viewing.clip import Clip
from posegen.viewing.samples import clip_of_sequence
from posegen.wording import did_you_mean, shown

__all__ = ["ACTION_NAMES", "ALL", "clips_of_config", "clips_of_dataset"]

ACTION_NAMES = "names"
"""Attribute of the field ``action`` that lists the names of the actions."""

ALL = "all"
"""In place of the name of a variant."""


def clips_of_config(
    config: str | Path,
    samples: Sequence[int],
    variant: str = "base",
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> list[Clip]:
    """Make samples of a config and give their sequences, sample by sample.

    Parameters
    ----------
    config : str or Path
        Name of a preset, or path of a YAML file.
    samples : sequence of int
    variant : str
        Name of a variant, or :data:`ALL`.
    overrides : sequence of str
        Each ``KEY=VALUE``.
    seed : int, optional

    Raises
    ------
    UsageError
        If the config has a fault, a sample is negative, or the config makes no such variant.
    """
    from posegen.config.schema import load_config
    from posegen.library import load_library

    loaded = load_config(config, overrides, seed=seed)
    if min(samples) < 0:
        msg = f"sample {min(samples)} cannot be: samples are counted from 0"
        raise UsageError(msg)
    # Only now, since the kernels take a moment to load.
    from posegen.synthesis import synthesize

    batch = synthesize(loaded, list(samples))
    names = load_library(loaded.story.library).actions
    clips = []
    for i in range(len(samples)):
        for v in _chosen(variant, batch.variants):
            row = batch.rows[i * len(batch.variants) + v]
            arrays = {"action": batch.action[i, v], "contact": batch.contact[i, v]}
            clips.append(clip_of_sequence(batch.joints[i, v], row, loaded.fps, names=names, **arrays))
    return clips


def clips_of_dataset(path: Path, samples: Sequence[int], variant: str = "base") -> list[Clip]:
    """Read samples of a dataset and give their sequences, sample by sample.

    Parameters
    ----------
    path : Path
    samples : sequence of int
    variant : str
        Name of a variant, or :data:`ALL`.

    Raises
    ------
    PosegenError
        If there is no such dataset, or it is damaged.
    UsageError
        If it has no such sample or variant, or stores no joints.
    """
    from posegen.dataset.read import open_dataset, strange

    dataset = open_dataset(path)
    fields = {field.name: field for field in dataset.header.fields}
    if "joints" not in fields:
        msg = f"{path}: stores no joints to draw, only {', '.join(fields)}"
        raise UsageError(msg)
    missing = [sample for sample in samples if not 0 <= sample < len(dataset)]
    if missing:
        msg = f"{path}: has no sample {missing[0]}; its {len(dataset)} samples are counted from 0"
        raise UsageError(msg)
    clips = []
    with strange(path):
        names = fields["action"].attributes[ACTION_NAMES] if "action" in fields else ()
        for sample in (dataset[index] for index in samples):
            for v in _chosen(variant, dataset.header.variants):
                arrays = {name: sample.arrays[name][v] for name in ("action", "contact") if name in fields}
                row = sample.sequences[v]
                clips.append(clip_of_sequence(sample.joints[v], row, dataset.header.fps, names=names, **arrays))
    return clips


def _chosen(variant: str, known: Sequence[str]) -> list[int]:
    if variant == ALL:
        return list(range(len(known)))
    if variant not in known:
        msg = f"there is no variant {shown(variant)} here{did_you_mean(variant, [*known, ALL])}"
        raise UsageError(msg)
    return [list(known).index(variant)]

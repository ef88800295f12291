"""Provenance of a sample: everything that is needed to make it again without its dataset, and the lines of Python that do.

Not responsible for datasets as a whole; see :mod:`posegen.generation.describe`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from posegen.config.identity import differences
from posegen.config.schema import Config, decides_content
from posegen.dataset.header import read_config
from posegen.dataset.layout import Header
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import split_hashes
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.header import stored_config

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

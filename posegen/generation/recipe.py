"""A recipe: a small document that determines a dataset of any size, and with which anyone verifies a copy of it.

It has the header of the dataset, with its config, seed, content version and number of samples; a SHA-256 for each field and for
the rows, of the content hashes of all samples in order; and the content hashes of a few samples. A machine makes these few
again in seconds, which shows that it makes the same dataset. A copy, of whatever shard size, is compared by its receipts.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from posegen.dataset.documents import MAX_BYTES, Document, Origin, read_sealed
from posegen.dataset.files import read_file
from posegen.dataset.layout import ROWS, Header
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import DIGITS, load_receipt, split_hashes
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import MissingPathError
from posegen.foundations.wording import counted
from posegen.generation.header import stored_config
from posegen.generation.repair import hash_samples

SPOTS = 8
"""Samples whose own hashes a recipe has: the first, the last, and others at equal distances."""


@dataclass(frozen=True)
class Recipe(Document):
    """Content of a recipe.

    Attributes
    ----------
    header : Header
        That of the dataset, without fields that were derived later.
    content : dict of str to str
        For each field and for `rows`, the SHA-256 of the content hashes of all samples.
    spots : dict of str to dict
        For a few samples, by number, the content hash of each field and of `rows`.
    """

    header: Header
    content: dict[str, str]
    spots: dict[Annotated[str, Field(pattern="^[0-9]{1,15}$")], dict[str, str]]

    def __post_init__(self) -> None:
        """Raise ValueError if hashes are not those of the fields of the header."""
        for hashes in (self.content, *self.spots.values()):
            if hashes and hashes.keys() != {ROWS, *(field.name for field in self.header.fields)}:
                raise ValueError(f"has hashes of {', '.join(sorted(hashes)):.200}, not of the fields of the header")


def make_recipe(path: AnyPath, samples: int | None = None) -> Recipe:
    """Return the recipe of a dataset, or of its first `samples` samples, from its receipts.

    Raises
    ------
    PosegenError
        If there is no dataset, or a receipt is missing or damaged.
    """
    header = open_dataset(path).header
    header = replace(header, layers=(), samples=min(header.samples, header.samples if samples is None else samples))
    last = header.samples - 1
    chosen = {last * spot // (SPOTS - 1) for spot in range(SPOTS)} if last >= 0 else set[int]()
    digests, spots = defaultdict[str, Any](hashlib.sha256), dict[str, dict[str, str]]()
    for receipt in storage_of(path).map(partial(load_receipt, path, header), range(header.shards())):
        count = header.count(receipt.shard)
        for name, hashes in receipt.content.items():
            digests[name].update(hashes[: count * DIGITS].encode())
        for sample in sorted(chosen.intersection(range(receipt.first, receipt.first + count))):
            own = {name: split_hashes(hashes)[sample - receipt.first] for name, hashes in receipt.content.items()}
            spots[str(sample)] = dict(sorted(own.items()))
    return Recipe(header, {name: digests[name].hexdigest() for name in sorted(digests)}, spots)


def read_recipe(file: Path) -> Recipe:
    """Read a recipe; PosegenError if it is missing or damaged."""
    origin = Origin(str(file), "Download it again, or write it: posegen recipe DATASET -o FILE")
    try:
        return read_sealed(Recipe, read_file(file, MAX_BYTES), origin)
    except FileNotFoundError as error:
        raise MissingPathError(f"{file}: there is no such file. Name a dataset, or a recipe of one") from error


def check_spots(file: Path, recipe: Recipe) -> list[str]:
    """Make the few samples of a recipe again, and return one line for each that differs.

    Raises
    ------
    PosegenError
        If this version of posegen makes other samples, or the files of actions differ.
    """
    config = stored_config(file, recipe.header)
    lines = []
    for sample, hashes in recipe.spots.items():
        made = hash_samples(config, int(sample), int(sample) + 1, list(hashes))
        lines += _differences(f"sample {sample}: ", hashes, made)
    return lines


def check_dataset(recipe: Recipe, path: AnyPath) -> list[str]:
    """Compare a dataset with a recipe by its receipts, and return one line for each difference; it may have more samples."""
    found = make_recipe(path, recipe.header.samples)
    if found.header.samples < recipe.header.samples:
        return [f"it has {counted(found.header.samples, 'sample')}, and the recipe has {recipe.header.samples:,}"]
    identities = {"identity": recipe.header.identity}, {"identity": found.header.identity}
    return [*_differences("", *identities), *_differences("", recipe.content, found.content)]


def _differences(where: str, expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return a line for each expected hash that is not the one that was found."""
    pairs = ((name, digits, found.get(name, "missing")) for name, digits in expected.items())
    return [f"{where}{name} is {own:.8}, not {digits:.8} as in the recipe" for name, digits, own in pairs if own != digits]

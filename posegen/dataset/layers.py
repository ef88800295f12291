"""Layers: arrays derived from what a dataset holds, which lie beside it under the same laws and have receipts of their own.

A layer's receipt of a shard is like that of the shard. Beside the content hashes of the layer's fields it has those of what
they were derived from, so that arrays that do not fit the samples any more are noticed and derived again. A dataset whose
layers are not complete is whole without them; only who asks for them is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from posegen.dataset.complete import files_fault, hashes_fault, load_receipt
from posegen.dataset.documents import MOST_BYTES, Source
from posegen.dataset.files import read_file
from posegen.dataset.layout import MOTION, Header, Layer, Receipt, receipt_path, shard_path
from posegen.dataset.receipts import DIGITS
from posegen.errors import PosegenError

__all__ = ["derive_again", "layer_identity", "layer_of", "layer_receipt", "layer_receipts"]


def layer_receipt(path: Path, header: Header, layer: Layer, own: Receipt, count: int) -> Receipt:
    """Read the receipt of a layer of a shard, checking all that can be checked without its files.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    layer : Layer
    own : Receipt
        Of the shard.
    count : int
        How many samples of the shard the layer is to have.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    PosegenError
        If it is not as it should be, or not of what the shard holds; says why, without the receipt's name.
    """
    data = read_file(path / receipt_path(own.shard, layer), MOST_BYTES)
    try:
        receipt = Receipt.from_bytes(data, Source("receipt", ""))
    except PosegenError as error:
        raise PosegenError(str(error).removeprefix("receipt: ").removesuffix(". ")) from error
    fault = _receipt_fault(receipt, header, layer, own, count)
    if fault:
        raise PosegenError(fault)
    return receipt


def layer_receipts(path: Path, header: Header, layer: Layer) -> Iterator[tuple[int, Receipt | str]]:
    """Look at a layer of all visible shards that are complete themselves. Bytes are not hashed.

    Yields
    ------
    (int, Receipt or str)
        The shard, and the layer's receipt, or what is wrong with it.
    """
    for shard in range(header.shards()):
        try:
            own = load_receipt(path, header, shard)
        except PosegenError:
            continue
        try:
            receipt = layer_receipt(path, header, layer, own, header.count(shard))
        except FileNotFoundError:
            yield shard, f"{layer.name} is not derived yet"
        except PosegenError as error:
            yield shard, f"the receipt of {layer.name} {error}"
        else:
            yield shard, files_fault(path, receipt) or receipt


def derive_again(path: Path) -> str:
    """Say how layers are completed."""
    return f"Run `posegen derive {path}`: it derives just what is missing."


def layer_of(header: Header, name: str) -> Layer | None:
    """Tell of which layer a file is, by its path inside the dataset; None if of none."""
    folder, _, rest = name.partition("/")
    field = rest.partition("/")[0]
    if folder != MOTION:
        return None
    return next((layer for layer in header.layers if any(field == entry.name for entry in layer.fields)), None)


def _receipt_fault(receipt: Receipt, header: Header, layer: Layer, own: Receipt, count: int) -> str | None:
    if receipt.identity != layer_identity(header, layer):
        return f"belongs to another dataset or another version of {layer.name} ({receipt.identity:.80})"
    if (receipt.shard, receipt.first, receipt.rows) != (own.shard, own.first, 0):
        return f"is that of shard {receipt.shard} from sample {receipt.first}"
    if not count <= receipt.count <= own.count:
        return f"tells of {receipt.count} samples, where the dataset has {count}"
    names = {field.name for field in layer.fields}
    paths = {shard_path(field, own.shard): field for field in layer.fields}
    fault = hashes_fault(receipt, header, {*names, *layer.sources}, paths)
    if fault:
        return fault
    for source in layer.sources:
        if receipt.content[source] != own.content[source][: receipt.count * DIGITS]:
            return f"is of other {source} than the shard holds"
    return None


def layer_identity(header: Header, layer: Layer) -> str:
    """Say in a layer's receipts of which dataset, and by which version of what computes it, it is."""
    return f"{header.identity} {layer.name} {layer.version}"

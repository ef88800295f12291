"""Writing layers: made known to readers first, then derived shard by shard, each commit as that of a shard of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from posegen.dataset.faults import fault_point
from posegen.dataset.files import Delivery
from posegen.dataset.headers import load_header
from posegen.dataset.layers import layer_identity
from posegen.dataset.layout import Header, Layer, Receipt, receipt_path
from posegen.dataset.receipts import DIGITS
from posegen.dataset.write import checked_arrays, describe, place, send_arrays, write_header
from posegen.errors import PosegenError
from posegen.hashing import content_hashes

__all__ = ["add_layer", "commit_layer"]


def add_layer(path: Path, header: Header, layer: Layer, run: str) -> Header:
    """Tell readers that a dataset has a layer, of which no shard need be complete yet.

    Parameters
    ----------
    path : Path
        Of the dataset; who calls this must hold its lock.
    header : Header
    layer : Layer
    run : str

    Returns
    -------
    Header
        As it is on disk now.
    """
    layered = replace(load_header(path), layers=(*header.layers, layer))
    describe(path, layered, run)
    fault_point("layer_described", layer.name)
    write_header(path, layered, run)
    return layered


def commit_layer(
    path: Path, header: Header, layer: Layer, own: Receipt, arrays: Mapping[str, NDArray[Any]], run: str, seconds: float = 0.0
) -> Receipt:
    """Store a layer of a shard; when this returns, it is complete and safe.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    layer : Layer
    own : Receipt
        Of the shard.
    arrays : mapping of str to ndarray [n, ...]
        For each field of the layer, the values of the shard's first n samples.
    run : str
        The run that this belongs to.
    seconds : float, optional
        How long deriving took.

    Raises
    ------
    PosegenError
        If the disk does not take it.
    """
    shard, values = own.shard, checked_arrays(header, layer.fields, arrays)
    count = len(values[layer.fields[0].name])
    try:
        with Delivery(run, written=lambda: fault_point("file_written", shard)) as delivery:
            files = send_arrays(delivery, path, header, layer.fields, shard, values)
            content = {name: content_hashes(array) for name, array in values.items()}
            receipt = Receipt(
                shard=shard,
                first=own.first,
                count=count,
                identity=layer_identity(header, layer),
                content=content | {name: own.content[name][: count * DIGITS] for name in layer.sources},
                files=files,
                rows=0,
                seconds=float(seconds),
                made_by_run=run,
            )
            fault_point("encoded", shard)
            place(path, layer.fields, delivery, receipt, receipt_path(shard, layer))
    except OSError as error:
        msg = (
            f"{path}: {layer.name} of shard {shard} could not be stored ({error.strerror}). All that is complete is safe: "
            "see to the disk, then run the same command again"
        )
        raise PosegenError(msg) from error
    return receipt

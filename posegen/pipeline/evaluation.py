"""The last stage of the road: figures of the motion, and what the trained retrieval model sees in it, in one sealed document.

It stands as long as it is of the same samples and of the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.dataset.read import open_dataset
from posegen.dataset.runs import current_run
from posegen.errors import PosegenError

__all__ = ["MOST", "evaluated"]

MOST = 1000
"""Samples that are looked at: enough for figures that no longer move, within a minute or so."""


def evaluated(dataset: Path, encoder: Path | None, out: Path, say: Callable[[str], None]) -> tuple[bool, str]:
    """Evaluate a dataset, or find that it has been.

    Parameters
    ----------
    dataset : Path
    encoder : Path or None
        Run of a retrieval model.
    out : Path
        The document.
    say : callable
        Is told how far it is.

    Returns
    -------
    stood : bool
        Whether there was nothing to do.
    told : str
        The chief figures in a line.
    """
    key = _key(dataset, encoder)
    document = _read(out, say)
    stood = document is not None and document["of"] == key
    if document is None or not stood:
        document = {"of": key, "evaluation": _figures(dataset, say), "encoder": _seen(dataset, encoder, say)}
        write_durably(out, seal(document, indent=2), current_run())
    return stood, f"{_told(document)}, in {out}"


def _key(dataset: Path, encoder: Path | None) -> dict[str, Any]:
    from posegen.training.runs.folder import MODEL, read_document

    opened = open_dataset(dataset)
    about = None if encoder is None else read_document(encoder, MODEL)
    model = None if about is None else about["xxh3"]
    return {"identity": opened.header.identity, "samples": min(MOST, len(opened)), "model": model}


def _read(out: Path, say: Callable[[str], None]) -> dict[str, Any] | None:
    if not out.is_file():
        return None
    try:
        return unseal(out.read_bytes(), Origin(str(out), "It is measured anew"))
    except PosegenError as error:
        say(str(error))
        return None


def _figures(dataset: Path, say: Callable[[str], None]) -> dict[str, Any]:
    from posegen.evaluation.evaluate import evaluate

    def tell(done: int, total: int) -> None:
        if done % 500 == 0:
            say(f"{done:,} of some {total:,} clips measured")

    found = evaluate(dataset, None, MOST, tell)
    document: dict[str, Any] = _plain({"clips": found.clips, "figures": {k: asdict(v) for k, v in found.measures.items()}})
    return document


def _seen(dataset: Path, encoder: Path | None, say: Callable[[str], None]) -> dict[str, Any] | None:
    if encoder is None:
        return None
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.inference import encode_dataset

    def tell(done: int, total: int) -> None:
        if done % 1000 == 0:
            say(f"{done:,} of {total:,} clips encoded")

    encoded = encode_dataset(encoder, dataset, MOST, tell)
    ranked = {way: asdict(ranking) for way, ranking in encoded.precision().items()}
    document: dict[str, Any] = _plain(
        {**asdict(encoded_spread(encoded.motion)), "precision": ranked, "distance": encoded.distance()}
    )
    return document


def _plain(value: Any) -> Any:
    """JSON knows no NaN, and no numbers as keys."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _told(document: dict[str, Any]) -> str:
    clips = f"{document['evaluation']['clips']:,} clips measured"
    if document["encoder"] is None:
        return clips
    found = document["encoder"]["precision"]["text_to_motion"]
    return f"{clips}; R@3 {100 * found['recall']['3']:.1f} % in pools of {found['pool']}"

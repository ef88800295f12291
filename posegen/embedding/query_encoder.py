"""Encoders of search queries that start in a fraction of a second: a model and its pooling as ONNX, run without torch.

They are made once per model on a machine, where vectors are cached, and give the vectors of the model in float32 within
:data:`TOLERANCE`. Models that are no transformers are loaded as they are. Not responsible for finding models, see
:mod:`posegen.embedding.models`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.files import write_durably
from posegen.embedding.cache import cache_folder
from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length
from posegen.embedding.models import find_encoder, load_fingerprinted
from posegen.embedding.transformer import TransformerBackend, export_vectors, open_session
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.machine import available_cores, private_folder

TOLERANCE = 1e-5
"""Largest difference of a number of a vector of unit length from the one that torch computes."""
MODEL, TOKENIZER, ABOUT = "model.onnx", "tokenizer.json", "encoder.json"
_VERSION = 1
_HASH_BLOCK = 1 << 20
_CHECKED = ("a person walks", "someone turns left twice, then waves with the right hand and sits down on a chair")

Notify = Callable[[str], None]


@dataclass(frozen=True)
class _About:
    """Content of ``encoder.json``: attributes of the encoder, the number that pads texts, and hashes of the other files."""

    version: int
    name: str
    dimension: int
    limit: int
    prompts: list[str]
    padding: int
    hashes: dict[str, str]


@dataclass(frozen=True)
class _OnnxBackend:
    """Runs an exported model: texts to tokens, and tokens to vectors."""

    tokenizer: Any
    session: Any
    prompts: Sequence[str]
    padding: int

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Tokenise texts with their prompt."""
        encodings = self.tokenizer.encode_batch([self.prompts[as_query] + text for text in texts])
        numbers = [encoding.ids for encoding in encodings]
        return Prepared(np.array([len(some) for some in numbers], np.int64), numbers)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Pad and embed a batch."""
        del tokens
        texts = [prepared.inputs[row] for row in chosen.tolist()]
        numbers = np.full((len(texts), max(map(len, texts))), self.padding, np.int64)
        mask = np.zeros_like(numbers)
        for row, own in enumerate(texts):
            numbers[row, : len(own)], mask[row, : len(own)] = own, 1
        return Encoded(unit_length(self.session.run(None, {"input_ids": numbers, "attention_mask": mask})[0]))


def load_query_encoder(name: str, source: str, fingerprint: str, limit: int | None, notify: Notify) -> Encoder:
    """Load the encoder that computed vectors, in float32 and without torch if that is possible.

    Parameters are those of :func:`posegen.embedding.models.load_fingerprinted`, which is used for a model without an export
    on this machine. It is then exported, so that the next call takes less than a second; a message reports which of the two
    happens.
    """
    model, _, precision = fingerprint.rpartition("-")
    folder = _folder(model)
    encoder = None if folder is None else _read(folder, model)
    if encoder is not None:
        return encoder
    found = find_encoder(source, notify=notify)
    if found.folder is None or precision not in found.precisions:
        return load_fingerprinted(name, source, fingerprint, limit, notify)
    notify(
        f"loading {found.name} with torch; without it from the next time on" if folder else f"loading {found.name} with torch"
    )
    encoder = load_fingerprinted(name, source, fingerprint, limit, notify)
    return encoder if folder is None else _export(encoder, folder, model, notify)


def _folder(model: str) -> Path | None:
    """Return the folder of a model's export; None if caches are off."""
    parent = cache_folder()
    return None if parent is None else parent / f"{model}-query"


def _export(encoder: Encoder, folder: Path, model: str, notify: Notify) -> Encoder:
    """Export an encoder; return the export, or the encoder if it has none that gives the same vectors."""
    backend = encoder.backend
    if not isinstance(backend, TransformerBackend) or not hasattr(backend.model.tokenizer, "backend_tokenizer"):
        notify(f"{encoder.name} can only be run by torch, so each search takes some seconds longer")
        return encoder
    tokenizer = backend.model.tokenizer
    try:
        private_folder(folder)
        export_vectors(backend.model, folder / MODEL)
        own = tokenizer.backend_tokenizer
        own.no_padding()
        own.enable_truncation(encoder.limit)
        own.save(str(folder / TOKENIZER))
        about = _About(
            _VERSION, encoder.name, encoder.dimension, encoder.limit, list(backend.prompts), tokenizer.pad_token_id,
            {name: _hash(folder / name) for name in (MODEL, TOKENIZER)},
        )  # fmt: skip
        write_durably(folder / ABOUT, json.dumps(asdict(about), indent=2).encode())
    except (OSError, RuntimeError, TypeError, ValueError, AttributeError, KeyError, PosegenError) as error:
        reason = str(error).strip().partition("\n")[0]
        notify(f"{encoder.name} could not be stored for search without torch in {folder} ({reason:.200})")
        return encoder
    exported = _read(folder, model)
    if exported is not None:
        pairs = [(each.encode(_CHECKED, as_query=True), each.encode(_CHECKED)) for each in (encoder, exported)]
        if all(np.abs(own - other).max() <= TOLERANCE for own, other in zip(*pairs, strict=True)):
            return exported
    (folder / ABOUT).unlink()
    notify(f"{encoder.name} has other vectors without torch, so each search takes some seconds longer")
    return encoder


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return byte_hash(iter(partial(file.read, _HASH_BLOCK), b""))


def _read(folder: Path, model: str) -> Encoder | None:
    """Load an export; None if there is none, or if it is damaged."""
    try:
        about = _About(**json.loads((folder / ABOUT).read_bytes()))
        private_folder(folder)
        hashes = {name: _hash(folder / name) for name in (MODEL, TOKENIZER)}
    except (OSError, ValueError, TypeError, PosegenError):
        return None
    if about.version != _VERSION or hashes != about.hashes:
        return None
    from tokenizers import Tokenizer

    session = open_session(folder / MODEL, available_cores())
    backend = _OnnxBackend(Tokenizer.from_file(str(folder / TOKENIZER)), session, about.prompts, about.padding)
    return Encoder(about.name, about.dimension, f"{model}-float32", backend, about.limit)

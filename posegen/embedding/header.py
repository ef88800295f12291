"""What the vectors in a folder are of: taken up if it is what is asked for, refused if it is not, written if there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import gcd
from pathlib import Path
from typing import Any

from posegen.dataset.embedding_layout import HEADER_FILE, POSITIONS_PER_CHUNK, EmbeddingHeader, load_embedding_header
from posegen.dataset.files import write_durably
from posegen.embedding.encoder import Encoder
from posegen.embedding.memory import suited_budget
from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["Asked", "begin", "precision_there"]

SHARD, CHUNK = 2048, 256
"""Texts in a shard and in a chunk."""
SHARD_OF_TOKENS, CHUNK_OF_TOKENS = 512, 32
"""The same where the vectors of tokens are kept, too, which take some thirty times the room."""
MOST = 1 << 16
"""Texts in a shard."""


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    Attributes
    ----------
    identity : str
        Of the dataset.
    encoder, fingerprint : str
        Name of the encoder, and its fingerprint without the precision.
    precision : str or None
        None for what suits the machine.
    tokens, float16 : bool
    shard : int or None
        Texts in a shard, where there are no vectors yet.
    """

    identity: str
    encoder: str
    fingerprint: str
    precision: str | None
    tokens: bool
    float16: bool
    shard: int | None = None

    def differs(self, there: EmbeddingHeader) -> list[str]:
        """Say in what vectors that are there are not what is asked for."""
        told = {
            "identity of the dataset": (there.identity, self.identity),
            "encoder": (there.encoder, self.encoder),
            "model": (there.fingerprint.rpartition("-")[0], self.fingerprint),
            "precision": (there.fingerprint.rpartition("-")[2], self.precision),
            "tokens": (there.positions > 0, self.tokens),
            "float16": (there.dtype == "float16", self.float16),
        }
        return [f"{key} {_short(old)} there, {_short(new)} asked for" for key, (old, new) in told.items() if old != new]


def precision_there(folder: Path) -> str | None:
    """Tell the precision of the vectors that are there, in which one goes on; None where there are none."""
    there = load_embedding_header(folder)
    return there.fingerprint.rpartition("-")[2] if there else None


def begin(folder: Path, asked: Asked, encoder: Callable[[], Encoder], workers: int, run: str) -> EmbeddingHeader:
    """Take up the header that is there, or write one.

    Parameters
    ----------
    folder : Path
    asked : Asked
    encoder : callable
        Loads the encoder; called only if there is no header yet.
    workers : int
        Batches at once.
    run : str
        Who writes.

    Raises
    ------
    UsageError
        If there are other vectors than what is asked for; says in what.
    """
    there = load_embedding_header(folder)
    if there is not None:
        differing = asked.differs(there)
        if not differing:
            return there
        if any((folder / "receipts" / "vectors").glob("*.json")):
            told = "; ".join(differing)
            msg = f"{folder}: holds other vectors ({told}). Embed beside them with --name, or take that folder away"
            raise UsageError(msg)
    header = _header(asked, encoder(), workers)
    write_durably(folder / HEADER_FILE, header.to_bytes(), run)
    return header


def _header(asked: Asked, encoder: Encoder, workers: int) -> EmbeddingHeader:
    if asked.tokens and not encoder.has_tokens:
        msg = f"{encoder.name}: gives no vectors of tokens; leave --tokens out"
        raise UsageError(msg)
    chunk = CHUNK_OF_TOKENS if asked.tokens else CHUNK
    usual = SHARD_OF_TOKENS if asked.tokens else SHARD
    shard = usual if asked.shard is None else asked.shard
    if not 1 <= shard <= MOST:
        msg = f"--shard must be from 1 to {MOST} (got {shard})"
        raise UsageError(msg)
    positions = -(-encoder.limit // POSITIONS_PER_CHUNK) * POSITIONS_PER_CHUNK
    return EmbeddingHeader(
        format_version=1,
        identity=asked.identity,
        encoder=encoder.name,
        fingerprint=encoder.fingerprint,
        details=encoder.told,
        dimension=encoder.dimension,
        positions=positions if asked.tokens else 0,
        dtype="float16" if asked.float16 else "float32",
        shard=shard,
        chunk=gcd(shard, chunk),
        budget=suited_budget(encoder, workers),
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _short(value: Any) -> str:
    return shown(value[:24] if isinstance(value, str) else value)

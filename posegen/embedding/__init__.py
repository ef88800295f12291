"""Embed the captions of a dataset: one vector for each distinct text, resumable; also search, and pairs of own texts.

Stored embeddings are read by :mod:`posegen.dataset.embeddings`.

>>> from posegen.embedding import load_encoder
>>> load_encoder("hashing-for-tests").encode(["a person walks", "a person walks"]).shape
(2, 64)
"""

from __future__ import annotations

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.embedding.encoder import Encoder
from posegen.embedding.models import load_encoder
from posegen.embedding.stage import EmbeddingResult, embed

__all__ = ["EmbeddingResult", "Embeddings", "Encoder", "embed", "load_encoder", "open_embeddings"]

"""Embedding a dataset's captions: each distinct text once, by an encoder of one's choice, resumable.

>>> from posegen.embedding import load_encoder
>>> load_encoder("hashing-for-tests").encode(["a person walks", "a person walks"]).shape
(2, 64)
"""

from __future__ import annotations

from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.embedding.encoder import Encoder
from posegen.embedding.loading import load_encoder
from posegen.embedding.stage import EmbeddingResult, embed

__all__ = ["EmbeddingResult", "Embeddings", "Encoder", "embed", "load_encoder", "open_embeddings"]

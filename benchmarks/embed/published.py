"""Embed captions in the published way: every row, sixteen at a time in order, padded to the longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "as_published", "model_at"]

BATCH = 16


def model_at(folder: str) -> Any:
    """Load a model of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(folder, device="cpu", local_files_only=True).eval()


def as_published(model: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts."""
    import torch

    found = []
    with torch.inference_mode():
        for first in range(0, len(texts), BATCH):
            features = model.preprocess(list(texts[first : first + BATCH]))
            found.append(torch.nn.functional.normalize(model(features)["sentence_embedding"], dim=1).numpy())
    return np.concatenate(found)

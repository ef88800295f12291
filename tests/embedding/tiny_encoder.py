"""Write an untrained model of sentence-transformers with two small layers and a given vocabulary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest


def make(folder: Path, words: Sequence[str], *, longest: int = 16) -> Path:
    """Save the model in the format of sentence-transformers, in the folder ``tiny``."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    pytest.importorskip("sentence_transformers")
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    (folder / "plain").mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(words)]
    (folder / "plain" / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=2 * longest, **sizes)
    transformers.BertModel(config).save_pretrained(folder / "plain")
    transformers.BertTokenizerFast(vocab=str(folder / "plain" / "vocab.txt")).save_pretrained(folder / "plain")
    core = Transformer(str(folder / "plain"), max_seq_length=longest)
    made = SentenceTransformer(modules=[core, Pooling(32, "mean")], device="cpu", prompts={"query": "someone ", "document": ""})
    made.save(str(folder / "tiny"), create_model_card=False)
    return folder / "tiny"

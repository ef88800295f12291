"""Run models of sentence-transformers: tokenise once, pad in batches, run the model with its own pooling, in float32.

Not responsible for finding models, see :mod:`posegen.embedding.models`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from posegen.embedding.encoder import Encoder, threads_per_batch, unit_length
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError

_LIMIT = 512
"""Token limit of models that declare none."""
_DOCUMENT_PROMPTS, _QUERY_PROMPTS = ("document", "passage", "corpus"), ("query",)
_KNOWN_PROMPTS = {
    # huggingface.co/intfloat/e5-base-v2: "Each input text should start with 'query: ' or 'passage: '."
    "e5": ("passage: ", "query: "),
    # huggingface.co/BAAI/bge-large-en-v1.5: an instruction for short queries, none for passages.
    "bge-en": ("", "Represent this sentence for searching relevant passages: "),
}


def model_prompts(name: str, own: Mapping[str, str], default: str | None) -> tuple[str, str]:
    """Return the prompts that a model needs: those in its files, or those that its authors publish.

    Parameters
    ----------
    name : str
    own : mapping of str to str
        Prompts in its files, by name.
    default : str or None
        Name of the prompt for all texts.

    Returns
    -------
    (str, str)
        Prefix of documents, such as captions, and prefix of search queries.

    Examples
    --------
    >>> model_prompts("intfloat/e5-base-v2", {"query": "", "document": ""}, None)
    ('passage: ', 'query: ')
    >>> model_prompts("all-MiniLM-L6-v2", {}, None)
    ('', '')
    """
    if any(own.values()):
        always = own.get(default or "", "")
        document, query = (
            next((own[key] for key in keys if key in own), always) for keys in (_DOCUMENT_PROMPTS, _QUERY_PROMPTS)
        )
        return document, query
    short = name.rpartition("/")[2].lower()
    if short.startswith(("e5-", "multilingual-e5-")) and "instruct" not in short:
        return _KNOWN_PROMPTS["e5"]
    return _KNOWN_PROMPTS["bge-en"] if short.startswith("bge-") and "-en" in short else ("", "")


@dataclass(frozen=True)
class TransformerBackend:
    """Runs a SentenceTransformer, whose first module is a transformer, in threads of torch.

    Attributes
    ----------
    model : object
    prompts : (str, str)
        Prefix of documents and prefix of queries.
    limit : int
        Most tokens of a text.
    threads : int
    """

    model: Any
    prompts: tuple[str, str]
    limit: int
    threads: int

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> list[list[int]]:
        """Tokenise texts with their prompt."""
        prompted = [self.prompts[as_query] + text for text in texts]
        tokenised = self.model.tokenizer(prompted, truncation=True, max_length=self.limit, padding=False)
        numbers: list[list[int]] = tokenised["input_ids"]
        return numbers

    def run(self, tokens: Sequence[Sequence[int]]) -> Array:
        """Pad and embed a batch."""
        import torch
        from transformers import DataCollatorWithPadding

        before = torch.get_num_threads()  # torch stores this number per thread
        torch.set_num_threads(self.threads)
        device = self.model.device
        try:
            with torch.inference_mode():
                # On the side that the tokenizer uses.
                padded = DataCollatorWithPadding(self.model.tokenizer)([{"input_ids": numbers} for numbers in tokens])
                found = {name: value.to(device) for name, value in padded.items()}
                for module in self.model:
                    found = module(found)
                vectors = found["sentence_embedding"].float().cpu().numpy()
        finally:
            torch.set_num_threads(before)
        return unit_length(vectors)


@dataclass(frozen=True)
class _AnyBackend:
    """Runs a model without a transformer, such as static vectors, by its own `encode`."""

    model: Any
    prompts: tuple[str, str]

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> list[list[str]]:
        """Add prompts and split texts at spaces: the number of words approximates that of tokens."""
        return [(self.prompts[as_query] + text).split(" ") for text in texts]

    def run(self, tokens: Sequence[Sequence[str]]) -> Array:
        """Embed a batch."""
        texts = [" ".join(words) for words in tokens]
        vectors = self.model.encode(texts, batch_size=len(texts), prompt="", show_progress_bar=False)
        return unit_length(np.asarray(vectors, np.float32))


def load_transformer(
    folder: Path, name: str, fingerprint: str, source: str, max_tokens: int | None, workers: int | None
) -> Encoder:
    """Load a model in float32, on a GPU if there is one.

    Parameters
    ----------
    folder : Path
    name, fingerprint, source : str
        See :class:`posegen.embedding.models.FoundEncoder`.
    max_tokens : int or None
    workers : int or None

    Raises
    ------
    UsageError
        If it cannot be loaded.
    """
    import torch

    model = load_model(folder, "cuda" if torch.cuda.is_available() else "cpu")
    limit = min(max_tokens or _LIMIT * 100, int(min(model.max_seq_length or _LIMIT, _LIMIT * 100)))
    prompts = model_prompts(name, dict(model.prompts), model.default_prompt_name)
    about: dict[str, Any] = {"kind": "sentence-transformers", "source": source, "limit": limit, "prompts": list(prompts)}
    encoder = partial(Encoder, name, int(model.get_embedding_dimension()), fingerprint, limit=limit)
    if not is_transformer(model):
        return encoder(_AnyBackend(model.cpu(), prompts), description=about | {"device": "cpu"})
    backend = TransformerBackend(model, prompts, limit, threads_per_batch(workers))
    return encoder(backend, description=about | {"device": model.device.type})


def load_model(folder: Path, device: str) -> Any:
    """Load a SentenceTransformer in float32.

    Raises
    ------
    UsageError
        If it cannot be loaded.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    try:
        model = SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        reason = str(error).strip().partition("\n")[0]
        msg = f"{folder}: sentence-transformers cannot load this model ({reason:.300}). Copy it again, or choose another"
        raise UsageError(msg) from error
    model.eval()
    return model.float()


def is_transformer(model: Any) -> bool:
    """Return whether the first module is a transformer whose tokens the tokenizer alone reproduces."""
    if type(model[0]).__name__ != "Transformer" or not callable(getattr(model, "tokenizer", None)):
        return False
    text = "A person walks, and then WAVES."
    own = model.preprocess([text])
    return "input_ids" in own and own["input_ids"].tolist() == [model.tokenizer(text)["input_ids"]]

"""Encoders of sentence-transformers: tokens, a transformer, and then the model's own pooling.

Texts are tokenised once, padded in batches, and run through the model's own modules, of which the first, the transformer, may
be replaced by one in int8.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length
from posegen.embedding.prompts import prompts_of
from posegen.embedding.threads import threads_each
from posegen.errors import UsageError

__all__ = ["TransformerBackend", "is_transformer", "load_model", "load_transformer"]

Array = NDArray[Any]

_LIMIT = 512
"""Tokens, for models that know no limit."""


class TransformerBackend:
    """Runs a model of sentence-transformers.

    Parameters
    ----------
    model : SentenceTransformer
        Its modules but the first are used, and its tokenizer.
    core : callable
        In the place of its first module.
    prompts : (str, str)
        Written before texts that are searched, and before those that are searched for.
    limit : int
        Most tokens of a text.
    threads : int
        That one call may take.
    bf16 : bool
        Whether to multiply in half the precision.
    """

    def __init__(
        self, model: Any, core: Callable[[dict[str, Any]], dict[str, Any]], prompts: tuple[str, str], limit: int, threads: int,
        *, bf16: bool = False,
    ) -> None:  # fmt: skip
        self._tokenizer = model.tokenizer
        self._core, self._rest = core, list(model)[1:]
        self._device = str(model.device)
        self._prompts, self._limit, self._threads, self._bf16 = prompts, limit, threads, bf16

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Tokenise."""
        prompt = self._prompts[as_query]
        prompted = [prompt + text for text in texts]
        numbers = self._tokenizer(prompted, truncation=True, max_length=self._limit, padding=False)["input_ids"]
        return Prepared(np.array([len(some) for some in numbers], np.int64), numbers)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Pad and run.

        Raises
        ------
        MemoryError
            If there is too little for so many.
        """
        import torch

        before = torch.get_num_threads()  # each thread has a number of its own
        torch.set_num_threads(self._threads)
        features = {name: torch.from_numpy(value) for name, value in self._padded(prepared, chosen).items()}
        try:
            with torch.inference_mode(), self._precision():
                found = self._core({name: value.to(self._device) for name, value in features.items()})
                for module in self._rest:
                    found = module(found)
                vectors = found["sentence_embedding"].float().cpu().numpy()
                each = self._of_tokens(found) if tokens else []
        except Exception as error:
            # torch and onnxruntime each have their own errors for this, and tell it in words only.
            if "alloc" in str(error).lower() or "out of memory" in str(error).lower():
                raise MemoryError(str(error)) from error
            raise
        finally:
            torch.set_num_threads(before)
        return Encoded(unit_length(vectors), each)

    def _padded(self, prepared: Prepared, chosen: Array) -> dict[str, Array]:
        """Put texts side by side, with padding where the tokenizer wants it."""
        listed = [prepared.inputs[row] for row in chosen.tolist()]
        shape = len(listed), max(map(len, listed))
        numbers = np.full(shape, self._tokenizer.pad_token_id or 0, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, some in enumerate(listed):
            place = slice(None, len(some)) if self._tokenizer.padding_side == "right" else slice(shape[1] - len(some), None)
            numbers[row, place], mask[row, place] = some, 1
        return {"input_ids": numbers, "attention_mask": mask}

    def _precision(self) -> Any:
        import torch

        return torch.autocast(self._device.partition(":")[0], torch.bfloat16) if self._bf16 else nullcontext()

    @staticmethod
    def _of_tokens(found: dict[str, Any]) -> list[Array]:
        masks = found["attention_mask"].bool().cpu().numpy()
        vectors = found["token_embeddings"].float().cpu().numpy()
        return [unit_length(vector[mask]) for vector, mask in zip(vectors, masks, strict=True)]


class _AnyBackend:
    """Runs a model that is no transformer, one of static vectors for example, by its own means."""

    def __init__(self, model: Any, prompts: tuple[str, str]) -> None:
        self._model, self._prompts = model, prompts

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Count words, which is near enough to go by."""
        prompt = self._prompts[as_query]
        prompted = [prompt + text for text in texts]
        return Prepared(np.array([len(text.split()) for text in prompted], np.int64), prompted)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Run."""
        del tokens
        texts = [prepared.inputs[row] for row in chosen.tolist()]
        vectors = self._model.encode(texts, batch_size=max(1, len(texts)), prompt="", show_progress_bar=False)
        return Encoded(unit_length(np.asarray(vectors, np.float32)))


def load_transformer(
    folder: Path, name: str, fingerprint: str, source: str, max_tokens: int | None, precision: str | None, workers: int | None
) -> Encoder:
    """Load a model.

    Parameters
    ----------
    folder : Path
    name, fingerprint, source : str
        See :class:`posegen.embedding.finding.Found`.
    max_tokens : int or None
    precision : str or None
        ``float32``, ``int8`` or ``bf16``; what suits the machine if None.
    workers : int or None

    Raises
    ------
    UsageError
        If it cannot be loaded, or not in this precision.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_model(folder, device)
    limit = min(max_tokens or _LIMIT * 100, int(min(model.max_seq_length or _LIMIT, _LIMIT * 100)))
    prompts = prompts_of(name, dict(model.prompts), model.default_prompt_name)
    told: dict[str, Any] = {"kind": "sentence-transformers", "source": source, "limit": limit, "prompts": list(prompts)}
    dimension = int(model.get_embedding_dimension())
    if not is_transformer(model):
        _only_float(name, precision)
        told |= {"precision": "float32", "device": "cpu"}
        return Encoder(name, dimension, f"{fingerprint}-float32", _AnyBackend(model.cpu(), prompts), limit, told=told)
    chosen = precision or _suited(device)
    threads = threads_each(workers)
    exact = TransformerBackend(model, model[0], prompts, limit, threads, bf16=chosen == "bf16")
    told |= {"precision": chosen, "device": device}
    own = f"{fingerprint}-{chosen}"
    if chosen != "int8":
        return Encoder(name, dimension, own, exact, limit, has_tokens=True, told=told, token_bytes=_token_bytes(model))
    from posegen.embedding.int8 import int8_core

    model.cpu()
    exact = TransformerBackend(model, model[0], prompts, limit, threads)
    small = TransformerBackend(model, int8_core(model, name, threads), prompts, limit, threads)
    told["device"] = "cpu"
    bytes_each = _token_bytes(model)
    return Encoder(name, dimension, own, small, limit, has_tokens=True, told=told, reference=exact, token_bytes=bytes_each)


def load_model(folder: Path, device: str) -> Any:
    """Load a model as sentence-transformers has it: a SentenceTransformer, in float32.

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
        model = SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().partition("\n")[0]
        msg = f"{folder}: cannot be loaded as a model of sentence-transformers ({reason:.300}). Copy it anew, or choose another"
        raise UsageError(msg) from error
    model.eval()
    return model.float()


def is_transformer(model: Any) -> bool:
    """Whether the model's tokens can be made here as it makes them itself."""
    if type(model[0]).__name__ != "Transformer" or not callable(getattr(model, "tokenizer", None)):
        return False
    text = "A person walks, and then WAVES."
    own = model.preprocess([text])
    return "input_ids" in own and own["input_ids"].tolist() == [model.tokenizer(text)["input_ids"]]


def _only_float(name: str, precision: str | None) -> None:
    if precision not in (None, "float32"):
        msg = f"{name}: is no transformer, and has float32 only; leave --precision out"
        raise UsageError(msg)


def _suited(device: str) -> str:
    from posegen.embedding.int8 import is_installed

    return "bf16" if device == "cuda" else "int8" if is_installed() else "float32"


def _token_bytes(model: Any) -> int:
    """Bytes of memory that a token of a batch takes, roughly: what a layer holds at once."""
    config = model[0].auto_model.config
    hidden = int(getattr(config, "hidden_size", 768))
    inner = int(getattr(config, "intermediate_size", 4 * hidden))
    return 4 * (8 * hidden + 2 * inner)

"""Run models of sentence-transformers: tokenise once, pad in batches, run the transformer and the model's own pooling.

On the CPU, the first module, the transformer, is replaced by an int8 version: exported from torch, with weights quantised per
channel and activations dynamically. The matrices that project the wide inner layer back to the hidden width stay in float32: a
few of their inputs are far larger than the others, so a common scale loses most precision there. On captions, with MiniLM, the
least cosine to float32 was .987 with all matrices in int8 and .993 without these; the latter takes a sixth more time. Embedding
tables stay in float32 too, since a look-up costs nothing. The agreement with float32 differs between models, so it is measured
and must reach a minimum.

Models are found by :mod:`posegen.embedding.models`.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from posegen.embedding.encoder import Encoded, Encoder, Prepared, threads_per_batch, unit_length
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError

_LIMIT = 512
"""Token limit of models that declare none."""
_DOCUMENT_PROMPTS, _QUERY_PROMPTS = ("document", "passage", "corpus"), ("query",)
_KNOWN_PROMPTS = {
    # huggingface.co/intfloat/e5-base-v2: "Each input text should start with 'query: ' or 'passage: '."
    "e5": ("passage: ", "query: "),
    # huggingface.co/BAAI/bge-large-en-v1.5: an instruction for short queries, none for passages.
    "bge-en": ("", "Represent this sentence for searching relevant passages: "),
}

MIN_AGREEMENT = 0.985
"""Least accepted cosine between the vectors of a text in int8 and in float32."""
SAMPLE = 256
"""Number of texts on which it is measured."""

_OPSET = 17
_INPUTS, _OUTPUT = ("input_ids", "attention_mask"), "hidden"


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


def pad_tokens(tokenizer: Any, texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return token numbers and mask of texts, int64 tensors [text, token], padded on the side that the tokenizer uses."""
    from transformers import DataCollatorWithPadding

    return dict(DataCollatorWithPadding(tokenizer)([{"input_ids": numbers} for numbers in texts]))


@dataclass(frozen=True)
class TransformerBackend:
    """Runs a model of sentence-transformers.

    Attributes
    ----------
    model : SentenceTransformer
        Its tokenizer and all its modules but the first are used.
    core : callable
        Replaces the first module.
    prompts : (str, str)
        Prefix of documents and prefix of queries.
    limit : int
        Most tokens of a text.
    threads : int
        Threads of one call.
    bf16 : bool
        Whether to compute in bfloat16.
    """

    model: Any
    core: Callable[[dict[str, Any]], dict[str, Any]]
    prompts: tuple[str, str]
    limit: int
    threads: int
    bf16: bool = False

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Tokenise texts with their prompt."""
        prompted = [self.prompts[as_query] + text for text in texts]
        numbers = self.model.tokenizer(prompted, truncation=True, max_length=self.limit, padding=False)["input_ids"]
        return Prepared(np.array([len(some) for some in numbers], np.int64), numbers)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Pad and embed a batch.

        Raises
        ------
        MemoryError
            If memory is insufficient for the batch.
        """
        import torch

        before = torch.get_num_threads()  # torch stores this number per thread
        torch.set_num_threads(self.threads)
        features = pad_tokens(self.model.tokenizer, [prepared.inputs[row] for row in chosen.tolist()])
        device = self.model.device
        try:
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16) if self.bf16 else nullcontext():
                found = self.core({name: value.to(device) for name, value in features.items()})
                for module in list(self.model)[1:]:
                    found = module(found)
                vectors = found["sentence_embedding"].float().cpu().numpy()
                token_vectors = _token_vectors(found) if tokens else []
        except Exception as error:
            # torch and onnxruntime raise errors of their own for this, recognisable by their message only.
            if "alloc" in str(error).lower() or "out of memory" in str(error).lower():
                raise MemoryError(str(error)) from error
            raise
        finally:
            torch.set_num_threads(before)
        return Encoded(unit_length(vectors), token_vectors)


def _token_vectors(found: dict[str, Any]) -> list[Array]:
    masks = found["attention_mask"].bool().cpu().numpy()
    vectors = found["token_embeddings"].float().cpu().numpy()
    return [unit_length(vector[mask]) for vector, mask in zip(vectors, masks, strict=True)]


@dataclass(frozen=True)
class _AnyBackend:
    """Runs a model without a transformer, such as static vectors, by its own `encode`."""

    model: Any
    prompts: tuple[str, str]

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Add prompts; the number of words approximates the number of tokens."""
        prompted = [self.prompts[as_query] + text for text in texts]
        return Prepared(np.array([len(text.split()) for text in prompted], np.int64), prompted)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Embed a batch."""
        del tokens
        texts = [prepared.inputs[row] for row in chosen.tolist()]
        vectors = self.model.encode(texts, batch_size=max(1, len(texts)), prompt="", show_progress_bar=False)
        return Encoded(unit_length(np.asarray(vectors, np.float32)))


def load_transformer(
    folder: Path, name: str, fingerprint: str, source: str, max_tokens: int | None, precision: str | None, workers: int | None
) -> Encoder:
    """Load a model.

    Parameters
    ----------
    folder : Path
    name, fingerprint, source : str
        See :class:`posegen.embedding.models.FoundEncoder`.
    max_tokens : int or None
    precision : str or None
        ``float32``, ``int8`` or ``bf16``; None for the best of this machine.
    workers : int or None

    Raises
    ------
    UsageError
        If it cannot be loaded, or is not available in this precision.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_model(folder, device)
    limit = min(max_tokens or _LIMIT * 100, int(min(model.max_seq_length or _LIMIT, _LIMIT * 100)))
    prompts = model_prompts(name, dict(model.prompts), model.default_prompt_name)
    about: dict[str, Any] = {"kind": "sentence-transformers", "source": source, "limit": limit, "prompts": list(prompts)}
    encoder = partial(Encoder, name, int(model.get_embedding_dimension()), limit=limit)
    if not is_transformer(model):
        if precision not in (None, "float32"):
            raise UsageError(f"{name}: is no transformer, and has float32 only; leave --precision out")
        about |= {"precision": "float32", "device": "cpu"}
        return encoder(f"{fingerprint}-float32", _AnyBackend(model.cpu(), prompts), description=about)
    chosen = precision or ("bf16" if device == "cuda" else "int8")
    backend = TransformerBackend(model, model[0], prompts, limit, threads_per_batch(workers), chosen == "bf16")
    reference = None
    if chosen == "int8":
        model.cpu()
        reference, backend = backend, replace(backend, core=int8_core(model, name, backend.threads))
    return encoder(
        f"{fingerprint}-{chosen}",
        backend,
        has_tokens=True,
        description=about | {"precision": chosen, "device": model.device.type},
        token_bytes=_token_bytes(model),
        reference=reference,
    )


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


def _token_bytes(model: Any) -> int:
    """Return the approximate bytes of memory per token of a batch: the activations of one layer."""
    config = model[0].auto_model.config
    hidden = int(getattr(config, "hidden_size", 768))
    inner = int(getattr(config, "intermediate_size", 4 * hidden))
    return 4 * (8 * hidden + 2 * inner)


def check_agreement(encoder: Encoder, exact: Encoder, texts: Sequence[str]) -> float:
    """Return the least cosine between the vectors of an encoder in int8 and those of the same one in float32.

    Raises
    ------
    PosegenError
        If it is below :data:`MIN_AGREEMENT`.
    """
    found = float((encoder.encode(texts) * exact.encode(texts)).sum(axis=1).min())
    if found < MIN_AGREEMENT:
        msg = (
            f"{encoder.name}: the int8 vectors of {len(texts)} captions agree with float32 only to a cosine of {found:.4f}; "
            f"the minimum is {MIN_AGREEMENT}. Embed with --precision float32"
        )
        raise PosegenError(msg)
    return found


def int8_core(model: Any, name: str, threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an int8 version of a model's first module.

    Parameters
    ----------
    model : SentenceTransformer
        On the CPU.
    name : str
        For messages.
    threads : int
        Threads of one call.

    Raises
    ------
    UsageError
        If the model cannot be exported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # otherwise it reports its use to its vendor
    with tempfile.TemporaryDirectory(prefix="posegen-") as folder:
        exact, small = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        try:
            transformer = model[0].auto_model
            _export(transformer, lambda **tokens: transformer(**tokens).last_hidden_state, exact, {0: "text", 1: "position"})
        except (RuntimeError, TypeError, ValueError, AttributeError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UsageError(f"{name}: cannot be converted to int8 ({reason:.200}). Embed with --precision float32") from error
        _quantise(exact, small)
        return _core_of(small, threads)


def open_session(model: Path, threads: int) -> Any:
    """Return a session of onnxruntime that runs an exported model on the CPU."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # otherwise it reports its use to its vendor
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while waiting take cores from other processes and from the tokenisation of the next batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _core_of(path: Path, threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that runs an exported transformer."""
    import torch

    session = open_session(path, threads)

    def run(features: dict[str, Any]) -> dict[str, Any]:
        found = session.run(None, {name: features[name].numpy() for name in _INPUTS})
        return features | {"token_embeddings": torch.from_numpy(found[0])}

    return run


def export_vectors(model: Any, path: Path) -> None:
    """Write a model with its pooling as ONNX: from token numbers and masks, int64 [text, token], to vectors of texts.

    Parameters
    ----------
    model : SentenceTransformer
        Moved to the CPU.
    path : Path

    Raises
    ------
    RuntimeError, TypeError, ValueError, AttributeError, KeyError
        torch's, if the model cannot be exported.
    """

    def embed(**features: Any) -> Any:
        for module in model:
            features = module(features)
        return features["sentence_embedding"]

    _export(model.cpu(), embed, path, {0: "text"})


def _export(model: Any, compute: Callable[..., Any], path: Path, axes: Mapping[int, str]) -> None:
    """Write a function of tokens and mask, which uses a module's weights, as ONNX; `axes` of its result vary in size."""
    import torch

    class Exported(torch.nn.Module):
        """Has the weights and computes the function."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return compute(input_ids=input_ids, attention_mask=attention_mask)

    example = torch.ones((2, 8), dtype=torch.int64)
    varying = {name: {0: "text", 1: "position"} for name in _INPUTS} | {_OUTPUT: dict(axes)}
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter without further dependencies warns of its age and of tracing; the agreement is checked afterwards.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Exported().eval(), (example, example), str(path), input_names=list(_INPUTS), output_names=[_OUTPUT],
            dynamic_axes=varying, opset_version=_OPSET, dynamo=False,
        )  # fmt: skip


def _quantise(exact: Path, small: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from sentence_transformers.util import disable_logging

    with disable_logging(logging.WARNING):  # its advice does not apply here
        quantize_dynamic(
            str(exact),
            str(small),
            per_channel=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=_narrowing(exact),
        )


def _narrowing(path: Path) -> list[str]:
    """Return the names of the products with matrices that have more rows than columns."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer if len(tensor.dims) == 2}
    products = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in shapes]
    return [node.name for node in products if shapes[node.input[1]][0] > shapes[node.input[1]][1]]

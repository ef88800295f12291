"""Where ``posegen evaluate --reference`` gets captured motion from: an .npz file, a dataset, or a folder of .bvh files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from posegen.errors import UsageError

if TYPE_CHECKING:
    from posegen.evaluation.evaluate import Reference
    from posegen.evaluation.recording import Recording

__all__ = ["reference_at"]

MOST_FILES = 10_000


def reference_at(path: Path, fps: float, tell: Callable[[str], None]) -> Reference:
    """Find the captured motion at a path.

    Parameters
    ----------
    path : Path
    fps : float
        Frames a second to which .bvh files are brought.
    tell : callable
        Told what each .bvh file was taken for.

    Raises
    ------
    UsageError
        Once its clips are read, if they cannot be.
    """
    from posegen.evaluation.evaluate import Reference
    from posegen.evaluation.recording import read_reference

    files = _bvh_files(path)
    return Reference(str(path), _recordings(path, files, fps, tell) if files else read_reference(path))


def _bvh_files(path: Path) -> list[Path]:
    if not path.is_dir() or (path / "dataset.json").exists():
        return []
    files: list[Path] = []
    for file in path.rglob("*"):
        if file.suffix.lower() == ".bvh":
            files.append(file)
        if len(files) > MOST_FILES:
            msg = f"{path}: holds more than {MOST_FILES:,} .bvh files; give a folder of fewer"
            raise UsageError(msg)
    return sorted(files)


def _recordings(path: Path, files: list[Path], fps: float, tell: Callable[[str], None]) -> Iterator[Recording]:
    from posegen.evaluation.recording import Recording
    from posegen.evaluation.signals import resample
    from posegen.exchange.bvh import read_bvh_figure

    for file in files:
        figure = read_bvh_figure(file)
        tell(f"{file}: {figure.convention}, {figure.unit}, {len(figure.joints):,} frames at {figure.fps:.4g} a second")
        # Who moves: the file's folder, or what its name begins with, as in 07_01.bvh.
        person = file.stem.partition("_")[0] if file.parent == path else str(file.parent.relative_to(path))
        yield Recording(str(file.relative_to(path)), person, resample(figure.joints, figure.fps, fps), fps)

"""Render a clip to a picture file in the format of its suffix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra
from posegen.viewing.clip import Clip

SUFFIXES = (".gif", ".mp4", ".png")
PAGES = (".html", ".htm")


def check_path(path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> Path:
    """Return the path if a picture can be written there.

    Raises
    ------
    UsageError
        If the suffix is not in `suffixes`, the folder does not exist, or a package of the extra ``view`` is needed and missing.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"cannot write '{path}': the name must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write '{path}': the folder '{path.parent}' does not exist; create it first")
    if path.suffix.lower() in SUFFIXES:
        require_extra("view")
    return path


def render(clip: Clip, path: str | Path) -> Path:
    """Draw a sequence as an animated GIF, a video (MP4), or a contact sheet (PNG).

    Parameters
    ----------
    clip : Clip
        See :func:`posegen.viewing.clip.make_clip`.
    path : str or Path
        Ends in ``.gif``, ``.mp4`` or ``.png``; an existing file is replaced.

    Returns
    -------
    Path
        The path of the picture.

    Raises
    ------
    UsageError
        If the path is not writable, or a package of the extra ``view`` is missing.
    """
    path = check_path(path)
    # Only here, because Pillow may not be installed.
    from posegen.viewing.pictures import save_gif, save_mp4, sheet_of_clip

    if path.suffix.lower() == ".gif":
        save_gif(clip, path)
    elif path.suffix.lower() == ".mp4":
        save_mp4(clip, path)
    else:
        sheet_of_clip(clip).save(path, format="PNG")
    return path

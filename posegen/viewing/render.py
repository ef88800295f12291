"""Render clips to a picture file in the format of its suffix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from posegen.foundations.errors import UsageError
from posegen.foundations.plugins import require_extra
from posegen.viewing.clip import Clip

SUFFIXES = (".gif", ".mp4", ".png")


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


def render_all(clips: Sequence[Clip], path: str | Path) -> Path:
    """Draw one sequence as an animated GIF or a video (MP4), or one or several as contact sheets below each other (PNG).

    Parameters
    ----------
    clips : sequence of Clip
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
        If there is no sequence, several are given for a GIF or a video, the path is not writable, or a package of the extra
        ``view`` is missing.
    """
    path = check_path(path)
    if not clips:
        raise UsageError("there is no sequence to draw")
    suffix = path.suffix.lower()
    if suffix != ".png" and len(clips) > 1:
        raise UsageError(f"a {suffix} file shows one sequence, and {len(clips)} were asked for: write a .png, or choose one")
    # Only here, because Pillow may not be installed.
    from posegen.viewing.pictures import save_gif, save_mp4, sheet_of_clip, sheet_of_samples

    if suffix == ".gif":
        save_gif(clips[0], path)
    elif suffix == ".mp4":
        save_mp4(clips[0], path)
    else:
        sheet = sheet_of_clip(clips[0]) if len(clips) == 1 else sheet_of_samples(clips)
        sheet.save(path, format="PNG")
    return path

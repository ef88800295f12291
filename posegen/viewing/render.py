"""Render arrays or clips to a picture file in the format of its suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.viewing.clip import Clip, Seat, make_clip

Array = NDArray[Any]

SUFFIXES = (".gif", ".png")


def check_path(path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> Path:
    """Return the path if a picture can be written there.

    Raises
    ------
    UsageError
        If the suffix is not in `suffixes`, the folder does not exist, or Pillow is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        msg = f"cannot draw '{path}': the name must end in {' or '.join(suffixes)}"
        raise UsageError(msg)
    if not path.parent.is_dir():
        msg = f"cannot write '{path}': the folder '{path.parent}' does not exist; create it first"
        raise UsageError(msg)
    if find_spec("PIL") is None:
        msg = "drawing needs Pillow, which is not installed; install it with: pip install 'posegen[view]'"
        raise UsageError(msg)
    return path


def render(
    joints: Array,
    caption: str,
    fps: float,
    path: str | Path,
    *,
    actions: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    contacts: Array | None = None,
    seats: Sequence[Seat] = (),
    title: str = "",
) -> Path:
    """Draw one sequence as an animated GIF or, with a ``.png`` path, as a contact sheet.

    Parameters
    ----------
    joints : float [actors, frames, 22, 3] or [frames, 22, 3]
        Metres, y up; NaN where an actor is absent.
    caption : str
        Written below the picture.
    fps : float
    path : str or Path
        Ends in ``.gif`` or ``.png``; an existing file is replaced.
    actions : sequence of str, mapping of str to sequence of str, or None
        One label per frame, or several tracks of labels by name.
    contacts : [actors, frames, 9] or [frames, 9] or None
        1 where a point of :data:`posegen.skeleton.CONTACTS` is in contact.
    seats : sequence of Seat
    title : str
        A short line above the picture.

    Returns
    -------
    Path
        The path of the picture.

    Raises
    ------
    UsageError
        If array shapes do not match, the path is not writable, or Pillow is missing.
    """
    path = check_path(path)
    clip = make_clip(joints, caption, fps, title=title, actions=actions, contacts=contacts, seats=seats)
    return render_all([clip], path)


def render_all(clips: Sequence[Clip], path: str | Path) -> Path:
    """Draw several sequences as contact sheets below each other (PNG); a GIF shows exactly one.

    Raises
    ------
    UsageError
        If there is no sequence, several are given for a GIF, the path is not writable, or Pillow is missing.
    """
    path = check_path(path)
    if not clips:
        msg = "there is no sequence to draw"
        raise UsageError(msg)
    animated = path.suffix.lower() == ".gif"
    if animated and len(clips) > 1:
        msg = f"a GIF shows one sequence, and {len(clips)} were asked for: write a .png, or choose one"
        raise UsageError(msg)
    # Only here, because Pillow may not be installed.
    if animated:
        from posegen.viewing.gif import save_gif

        save_gif(clips[0], path)
        return path
    from posegen.viewing.sheet import sheet_of_clip, sheet_of_samples

    sheet = sheet_of_clip(clips[0]) if len(clips) == 1 else sheet_of_samples(clips)
    sheet.save(path, format="PNG")
    return path

"""From a text to motion with labels and captions, and what of the text was not understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.captions.captions import captions, label_segments
from posegen.captions.reading import Reading, read_caption
from posegen.captions.reading.suggest import suggestions
from posegen.captions.telling import tell, visible_segments
from posegen.checks.check import check_statement, see_actors
from posegen.composition.pair import meeting_asked, sample_of_two
from posegen.composition.scene import Scene, scene_of
from posegen.composition.script import script_of
from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library, load_library
from posegen.motion.engine import animate
from posegen.synthesis.seeing import see, without_false
from posegen.wording import shown

__all__ = ["Composition", "compose"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Composition:
    """Motion for a text.

    Attributes
    ----------
    text : as asked
    joints : float32 [actors, frames, 22, 3]
        Metres.
    action : uint16 [actors, frames, parts]
        Index into `names`.
    contact : uint8 [actors, frames, contacts]
    names : of the actions
    fps : int
    row : dict
        As the table of a dataset has it: captions, and the actors with the told segments.
    not_understood : tuple of str
        Stretches of the text.
    notes : tuple of str
        What is to be said to who wrote it, a line each.
    """

    text: str
    joints: Array
    action: Array
    contact: Array
    names: tuple[str, ...]
    fps: int
    row: dict[str, Any]
    not_understood: tuple[str, ...]
    notes: tuple[str, ...]


def compose(text: str, *, seed: int = 0, seconds: float | None = None, library: Library | None = None) -> Composition:
    """Make the motion that a text tells of.

    Parameters
    ----------
    text : str
        Such as "a person walks forward slowly, then sits down and waves with the left hand".
    seed : int
        Of all that the text leaves open.
    seconds : float, optional
        How long it is to be.
    library : Library, optional
        Posegen's own, unless given.

    Returns
    -------
    Composition

    Raises
    ------
    UsageError
        If the text tells of nothing that can be shown, or of what cannot be.
    """
    library = load_library() if library is None else library
    reading = read_caption(text, library)
    notes = suggestions(reading, library)
    if not any(claim["kind"] == "action" for claim in reading.statements):
        msg = "\n".join([f"{shown(text)} tells of nothing that posegen can show; see posegen actions list", *notes])
        raise UsageError(msg)
    meeting = meeting_asked(reading, library)
    if meeting is not None:
        return _of_two(text, reading, meeting, notes, library, (seed, seconds))
    fps = Config().fps
    scene = scene_of(script_of(reading, library), library, fps, seed, seconds)
    scenes = scene.scenes
    motion = animate(scenes, library, int(scenes.length[0]), fps)
    # What the joints do not show is not told.
    seen = see(tell(scenes, library, fps), motion.joints, np.arange(1), library, fps)
    told = without_false(seen, library).told
    segments = visible_segments(scenes, library, fps, told)
    config = Config(seed=seed)
    label_segments(segments, scenes, library, config, told)
    row = {
        "sample": 0,
        "variant": "base",
        "captions": [{"text": text, "kind": "asked", "statements": reading.statements}]
        + captions(scenes, library, config, told=told)[0],
        "actors": [{"seat_height": float(scenes.seat_height[0, 0]), "segments": segments[0][0]}],
    }
    doubts = _doubts(reading, scene, motion.joints, row["actors"], told.slot.tolist(), library, fps)
    return Composition(
        text,
        motion.joints[0],
        motion.action[0],
        motion.contact[0],
        library.actions,
        fps,
        row,
        tuple(reading.unknown),
        (*notes, *doubts),
    )


def _of_two(
    text: str, reading: Reading, meeting: str, notes: list[str], library: Library, asked: tuple[int, float | None]
) -> Composition:
    """Make the motion of two who meet; they come and go as the seed has it."""
    seed, seconds = asked
    batch = sample_of_two(text, reading, meeting, library, seed, seconds)
    row = batch.rows[0]
    row = row | {"captions": [{"text": text, "kind": "asked", "statements": reading.statements}, *row["captions"]]}
    arrays = batch.joints[0, 0], batch.action[0, 0], batch.contact[0, 0]
    return Composition(text, *arrays, library.actions, Config().fps, row, tuple(reading.unknown), tuple(notes))


def _doubts(
    reading: Reading, scene: Scene, joints: Array, actors: Any, slots: list[int], library: Library, fps: int
) -> list[str]:
    """Say what of the text the joints do not show."""
    number_of = {scene.numbers[slot]: number for number, slot in enumerate(slots)}
    seen = see_actors(np.ascontiguousarray(joints), [actors], library, fps)[0]
    doubts = []
    for claim in reading.statements:
        if claim["kind"] in ("people", "style") or int(claim["segment"]) < 0:
            continue
        if claim["kind"] == "order":
            relation, other = str(claim["value"]).split()
            claim = claim | {"value": f"{relation} {number_of.get(int(other), -1)}"}
        here = number_of.get(int(claim["segment"]))
        if here is None or check_statement(claim | {"segment": here}, seen, library) is False:
            what = " ".join(str(claim[key]) for key in ("kind", "value") if claim[key])
            doubts.append(f"the motion does not show this of {shown(claim['action'])}: {what}")
    return doubts

"""Composition: motion with labels and captions for a text, and what of the text was not understood.

A text becomes a script without contradictions for each person. Their scene is planned and animated: it defines the people, and
time, speed, turn and repetitions of each action. For an interaction of two people, the first sample that shows it is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from posegen.captions.captions import describe_segments, write_captions
from posegen.captions.lexicon import require_readable
from posegen.captions.parser import ParsedCaption, parse_caption
from posegen.captions.phrases import KINDS_OF_PEOPLE, kinds_of_people
from posegen.captions.segments import find_segments
from posegen.checks.segments import check_segments, remove_false
from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import shown
from posegen.library.load import Library, load_library
from posegen.planning.scenes import plan_scenes
from posegen.synthesis.script import make_scripts
from posegen.synthesis.script_scene import AGES, FEWEST_FRAMES, GROWN, MOST_FRAMES, animate_scripts
from posegen.synthesis.synthesize import Batch, synthesize
from posegen.synthesis.unshown import explain_missing, explain_unknown

_GLANCING = "looking_around"
_SCENES_PLANNED, _MOST_SCENES = 200, 2000
"""Scenes planned at a time, and in all, to find two people as described."""


@dataclass(frozen=True, repr=False)
class Composition:
    """Motion for a text.

    Attributes
    ----------
    text : as given
    joints : float32 [actors, frames, 22, 3]
        Metres.
    action : uint16 [actors, frames, parts]
        Index into `names`.
    contact : uint8 [actors, frames, contacts]
    names : of the actions
    fps : int
    row : dict
        As in the table of a dataset: captions, and the actors with their segments.
    not_understood : tuple of str
        Parts of the text.
    notes : tuple of str
        Messages for the user, a line each.
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

    def __repr__(self) -> str:
        return f"<Composition of {self.text[:60]!r}: joints {list(self.joints.shape)}, {self.fps} FPS>"


def compose(text: str, *, seed: int = 0, seconds: float | None = None, library: Library | None = None) -> Composition:
    """Compose the motion that a text describes.

    Parameters
    ----------
    text : str
        Such as "a person walks forward slowly, then sits down and waves with the left hand".
    seed : int
        Random seed of what the text leaves open.
    seconds : float, optional
        Duration; the natural one unless given.
    library : Library, optional
        Posegen's own, unless given.

    Returns
    -------
    Composition

    Raises
    ------
    UsageError
        If the text is too long, describes nothing that posegen can show, or something impossible, also in `seconds`.
    """
    shortest, longest = FEWEST_FRAMES / Config().fps, MOST_FRAMES / Config().fps
    if seconds is not None and not shortest <= seconds <= longest:
        raise UsageError(f"seconds: ask for {shortest:g} to {longest:g} (got {seconds:g}), or leave --seconds out")
    require_readable(text)
    library = load_library() if library is None else library
    parsed = parse_caption(text, library)
    notes = explain_unknown(parsed, library)
    if not any(statement["kind"] == "action" for statement in parsed.statements):
        nothing = f"{shown(text)} describes nothing that posegen can show; see posegen actions list"
        raise UsageError("\n".join([nothing, *notes]))
    library = _with_glances(library) if _looks_while(parsed) else library
    asked = {"text": text, "kind": "asked", "statements": parsed.statements}
    interaction, fps = _asked_interaction(parsed, library), Config().fps
    if interaction is not None:
        batch = _find_sample(text, parsed, interaction, library, seed, seconds)
        row = batch.rows[0] | {"captions": [asked, *batch.rows[0]["captions"]]}
        arrays = batch.joints[0, 0], batch.action[0, 0], batch.contact[0, 0]
    else:
        scripts, changed = make_scripts(parsed, library)
        scenes, numbers, motion = animate_scripts(scripts, library, fps, seed, seconds)
        arrays = motion.joints[0], motion.action[0], motion.contact[0]
        # What the joints do not show is not described.
        checked = check_segments(find_segments(scenes, library, fps), motion.joints, np.arange(1), library, fps)
        segments, config = remove_false(checked, library).segments, Config(seed=seed)
        described = describe_segments(scenes, library, config, segments).to_pylist()
        heights = scenes.seat_height[0].tolist()
        actors = [{"seat_height": high, "segments": own} for high, own in zip(heights, described, strict=True)]
        captions = [asked, *write_captions(scenes, library, config, segments)[0].as_py()]
        row = {"sample": 0, "variant": "base", "captions": captions, "actors": actors}
        kept = [[segment.number for part in script.parts for segment in (part, *part.over)] for script in scripts]
        planned = np.split(segments.planned, segments.bounds[1:-1])
        visible = [[own[k] for k in each.tolist()] for own, each in zip(numbers, planned, strict=True)]
        notes += changed + explain_missing(parsed, kept, visible, motion, actors, library, fps)
    return Composition(text, *arrays, library.actions, fps, row, tuple(parsed.unknown), tuple(notes))


def _looks_while(parsed: ParsedCaption) -> bool:
    """Return whether a text describes somebody who looks around during something else."""
    during = {int(str(s["value"]).split()[1]) for s in parsed.statements if str(s["value"]).startswith("during")}
    layered = [s for s in parsed.statements if str(s["value"]).startswith("during") or s["segment"] in during]
    return any(s["action"] == _GLANCING for s in layered)


@lru_cache(maxsize=8)
def _with_glances(library: Library) -> Library:
    """Return a library in which people look around with the head alone, so that it can be a layer over a walk."""
    if _GLANCING not in library.actions:
        return library
    action = library.action(_GLANCING)
    keys = [
        key.model_copy(update={"pose": {name: value for name, value in key.pose.items() if name.startswith("neck")}})
        for key in action.cycle_keys
    ]
    head = {"parts": ["head"], "layered": True, "cycle_keys": keys, "strategies": {}, "stances": {}}
    return replace(library, entries={**library.entries, _GLANCING: action.model_copy(update=head)})


def _asked_interaction(parsed: ParsedCaption, library: Library) -> str | None:
    """Return the interaction that a text describes; None where it describes something else, or more."""
    done: tuple[dict[str, None], dict[str, None]] = ({}, {})
    with_partner = {(s["actor"], s["segment"]) for s in parsed.statements if s["kind"] == "partner" and s["value"]}
    for statement in parsed.statements:
        if statement["kind"] == "action":
            if (statement["actor"], statement["segment"]) not in with_partner:
                return None
            done[int(statement["actor"])][str(statement["action"])] = None
    asked = tuple(done[0]), tuple(done[1])
    return next((name for name, interaction in library.interactions.items() if interaction.parts == asked), None)


def _find_sample(
    text: str, parsed: ParsedCaption, interaction: str, library: Library, seed: int, seconds: float | None
) -> Batch:
    """Return the first sample of a seed in which two people as described interact, in its base variant."""
    kinds = {int(s["actor"]): str(s["value"]) for s in parsed.statements if s["kind"] == "people" and int(s["actor"]) >= 0}
    config = _interaction_config(kinds, interaction, library, seed, seconds)
    for first in range(0, _MOST_SCENES, _SCENES_PLANNED):
        scenes = plan_scenes(config, library, np.arange(first, first + _SCENES_PLANNED))
        fits, found = scenes.meets >= 0, kinds_of_people(scenes.persons)
        for actor, kind in kinds.items():
            fits &= found[:, actor] == KINDS_OF_PEOPLE.index(kind)
        for sample in (first + np.flatnonzero(fits)).tolist():
            batch = synthesize(config, [sample])
            if batch.rows[0]["attempt"] == 0 and _shows_all(batch.rows[0], interaction, library):
                return batch
    raise UsageError(f"{shown(text)}: no two such people were found for it; ask for others, or for more time with --seconds")


def _interaction_config(
    kinds: Mapping[int, str], interaction: str, library: Library, seed: int, seconds: float | None
) -> Config:
    ages = [AGES.get(kind, GROWN) for kind in kinds.values()] or [GROWN]
    keys: dict[str, Any] = {
        "seed": seed,
        "population": {"age": {"min": min(low for low, _ in ages), "max": max(high for _, high in ages)}},
        "story": {
            "actors": {"min": 2, "max": 2},
            "interactions": {"share": 1, "weights": {name: float(name == interaction) for name in library.interactions}},
        },
        "variants": {"speed": None, "position": None, "scale": None, "mirror": False},
    }
    if seconds is not None:
        keys["frames"] = round(seconds * Config().fps)
    return Config.model_validate(keys)


def _shows_all(row: Mapping[str, Any], interaction: str, library: Library) -> bool:
    """Return whether all actions of an interaction are visible."""
    done = [
        {s["action"] for s in actor["segments"] if any(statement["kind"] == "partner" for statement in s["statements"])}
        for actor in row["actors"]
    ]
    return all(own >= set(actions) for own, actions in zip(done, library.interactions[interaction].parts, strict=True))

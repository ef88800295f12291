"""Import clips: turn files of mocap into a library folder with actions, words and a theme, which a config then names.

Clips with one label become the strategies of one action, as far as their durations are similar: a strategy takes as long as the
action. Others become further actions with the same words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import yaml

from posegen.dataset.files import write_all_durably
from posegen.dataset.storage.folder import sync_folder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress
from posegen.foundations.validation import validated
from posegen.foundations.wording import counted, shown
from posegen.foundations.yaml_files import LARGEST_FILE
from posegen.library.load import Library, load_library, read_library
from posegen.library.schema import MOST_STRATEGIES, Action
from posegen.mocap import clip_entry, fidelity, pieces, pose_channels
from posegen.mocap.labels import Label, action_words, label_of, read_label_table
from posegen.mocap.sources import SourceClip, clip_files, read_files, require_empty
from posegen.mocap.trial import LIMBS_CROSS, find_failure

UNKNOWN = "unknown"
Trial = Literal["report", "refuse", "off"]
"""Treatment of a clip that other bodies cannot perform."""
SIMILAR = 1.5
"""Largest ratio of the durations of clips that become strategies of one action."""
APART = 0.015, 0.03, 0.045, 0.06
"""Outward shifts of each foot in leg lengths, tried in order if legs of other bodies pass through each other: runners set
their feet nearly on a line."""
PREFIX = "own_"
"""Begins the names of imported actions, so that none replaces one of posegen."""
_LEGS = ("foot_height", "foot_ahead")


@dataclass(frozen=True)
class Import:
    """Result of an import.

    Attributes
    ----------
    path : Path
        The library folder.
    actions : mapping of str to list of str
        The clips of each action.
    refused : list of str
        Messages that name clip and reason.
    sources : list of dict
        Measured properties of each clip.
    verbs : mapping of str to list of str
    played : mapping of str to Played
        Motion of a neutral body for each clip, if the comparison was requested.
    """

    path: Path
    actions: Mapping[str, list[str]]
    refused: list[str]
    sources: list[dict[str, Any]]
    verbs: Mapping[str, list[str]]
    played: Mapping[str, fidelity.Played]


@dataclass(frozen=True)
class _Labelled:
    """A clip, or a piece of one, as an action.

    Attributes
    ----------
    name : str
    label : Label
    action : ClipAction
    rest : float64 [22, 3]
        Offsets of joints in the rest pose of the clip, fractions of stature.
    about : dict
        Measured properties of the clip, and a note.
    """

    name: str
    label: Label
    action: clip_entry.ClipAction
    rest: Array
    about: dict[str, Any]


def import_clips(
    paths: Sequence[Path],
    out: Path,
    *,
    labels: Path | None = None,
    trial: Trial = "report",
    compare: bool = False,
    licence: str = UNKNOWN,
    source: str = UNKNOWN,
    progress: Progress | None = None,
    **given: Any,
) -> Import:
    """Turn clips into actions of a new library folder.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders with them.
    out : Path
        Folder to write; must not exist or be empty.
    labels : Path, optional
        CSV file with the columns ``file``, ``label`` and optionally ``text``; see :mod:`posegen.mocap.labels`.
    trial : {"report", "refuse", "off"}
        Treatment of a clip that travels or lies and that other bodies cannot perform: report its flaw in its note, refuse the
        clip, or make no trial.
    compare : bool
        Also let a neutral body perform each clip, for :attr:`Import.played`.
    licence, source : str
        Of the clips; carried into the library and into each dataset.
    progress : Progress, optional
    **given
        Options of :func:`posegen.mocap.sources.read_source`: `fps`, `names`, `unit` and `up`.

    Returns
    -------
    Import

    Raises
    ------
    UsageError
        If no clip can be used, `out` holds something, or the table of labels lacks a file.
    """
    files = clip_files(list(paths))
    require_empty(out)
    table = None if labels is None else read_label_table(labels, files)
    progress, refused = progress or Progress(), list[str]()
    clips = _labelled(read_files(files, progress, refused.append, **given), table, refused)
    if trial != "off":
        clips = _try_out(clips, progress, refused if trial == "refuse" else None)
    if not clips:
        raise UsageError("\n".join(["none of the clips can be used:", *refused[:20]]))
    alone = _each_alone("compare", clips if compare else (), progress)
    played = {clip.name: fidelity.play(library, name, clip.action, clip.rest) for library, name, clip in alone}
    progress.wait("write the library")
    groups = dict(_groups(clips))
    verbs = _write(out, groups, {"licence": licence, "source": source})
    members = {name: [each.name for each in group] for name, group in groups.items()}
    return Import(out, members, refused, [clip.about for clip in clips], verbs, played)


def _labelled(sources: Iterator[SourceClip], table: Mapping[str, Label] | None, refused: list[str]) -> list[_Labelled]:
    """Return clips as actions, and add messages for others to `refused`.

    Clips without a standing body use the standing angles of the most similar skeleton of the other clips.
    """
    clips, skeletons, nowhere_upright = list[_Labelled](), list[pose_channels.Skeleton](), list[tuple[SourceClip, Label]]()
    for clip in sources:
        try:
            label = label_of(clip.file, table, clip.label, clip.name)
        except UsageError as error:
            refused.append(str(error))
            continue
        if skeleton := pose_channels.standing_skeleton(clip.joints):
            skeletons.append(skeleton)
            clips += _actions_of(clip, label, skeleton.standing, refused)
        else:
            nowhere_upright.append((clip, label))
    for clip, label in nowhere_upright:
        clips += _actions_of(clip, label, pose_channels.usual_standing(clip.joints, skeletons), refused)
    return clips


def _actions_of(clip: SourceClip, label: Label, standing: Mapping[str, float], refused: list[str]) -> Iterator[_Labelled]:
    """Yield the actions of a clip, and add messages for those that cannot be used to `refused`."""
    try:
        actions, others = pieces.clip_actions(clip.joints, clip.fps, clip.name, standing, offset=clip.begin)
    except UsageError as error:
        refused.append(f"{error}; {clip.note}" if clip.note else str(error))
        return
    refused += others
    rest = pose_channels.rest_of_clip(clip.joints, standing)
    for name, action in actions:
        if fault := find_fault(name, action):
            refused.append(f"{fault}; repair the clip, or leave it out")
        else:
            about = {key: getattr(clip, key) for key in ("format", "unit", "up")}
            about |= {"clip": name, "label": label.name, "fps": round(clip.fps, 3), "begin": round(clip.begin, 3)}
            about |= {"seconds": round(action.seconds, 2), "repetitions": action.repetitions}
            about |= {"side": action.side, "key_poses": action.keys, "note": clip.note}
            yield _Labelled(name, label, action, rest, about)


def find_fault(name: str, action: clip_entry.ClipAction) -> str | None:
    """Return the validation error of an action, such as a foot that moves too far between stances; None if it is valid."""
    try:
        validated(Action, _entry([action]), f"{name}: ")
    except UsageError as error:
        return str(error).splitlines()[0]
    return None


def _try_out(clips: list[_Labelled], progress: Progress, refused: list[str] | None) -> list[_Labelled]:
    """Return clips after a trial of those that travel or lie; where legs pass through each other, with feet apart, in steps.

    If other bodies cannot perform a clip, its note states why, or it is left out and a message is added to `refused`.
    """
    entries = ((clip, clip.action.entry) for clip in clips)
    failed = _failed_trials([clip for clip, entry in entries if "travel" in entry or entry["support"] == "floor"], progress)
    for more in APART:
        crossing = [clip for clip in clips if failed.get(clip.name, "").startswith(LIMBS_CROSS)]
        wider = {clip.name: replace(clip, action=clip.action.with_feet_apart(more)) for clip in crossing}
        left = _failed_trials(list(wider.values()), progress)
        clips = [clip if clip.name in left else wider.get(clip.name, clip) for clip in clips]
        failed = {name: reason for name, reason in failed.items() if name not in wider or name in left}
    if refused is not None:
        refused += [f"{name}: {reason}; repair the clip, or leave it out" for name, reason in failed.items()]
        return [clip for clip in clips if clip.name not in failed]
    for clip in clips:
        clip.about["note"] = "; ".join(filter(None, (clip.about["note"], failed.get(clip.name))))
    return clips


def _failed_trials(clips: Sequence[_Labelled], progress: Progress) -> dict[str, str]:
    """Return the names of the clips that other bodies cannot perform, with the reason."""
    alone = _each_alone("try", clips, progress)
    return {clip.name: reason for library, name, clip in alone if (reason := find_failure(library, name))}


def _each_alone(what: str, clips: Sequence[_Labelled], progress: Progress) -> Iterator[tuple[Library, str, _Labelled]]:
    """Yield each clip with a library in which it is an action by itself, and the name of this action."""
    if not clips:
        return
    tried = {f"{PREFIX}clip_{number:06}": clip for number, clip in enumerate(clips)}
    entries = {name: validated(Action, _entry([clip.action]), f"{clip.name}: ") for name, clip in tried.items()}
    own = load_library()
    library = replace(own, entries=dict(sorted({**own.entries, **entries}.items())))
    progress.start(what, len(tried), unit="clips")
    for number, (name, clip) in enumerate(tried.items(), 1):
        yield library, name, clip
        progress.update(number)
    progress.stop()


_ENTRIES = 0.8
"""Share of an action file that key poses of clips may take."""
_BASE = Path(__file__).parent.parent / "library"


def _groups(clips: Sequence[_Labelled]) -> Iterator[tuple[str, list[_Labelled]]]:
    """Yield the name of each action with its clips: of one label and of similar duration, the most usual one first."""
    by_label: dict[tuple[Any, ...], list[_Labelled]] = {}
    for clip in clips:
        entry = clip.action.entry
        falls = any(lift["foot"] == "body" for lift in entry.get("lifts", ()))
        # Of those that travel, some are one stride.
        strides = "travel" in entry and entry["repetitions"][1] > 1
        kind = clip.label.name, entry["layered"], entry["support"], "travel" in entry, strides, falls
        by_label.setdefault(kind, []).append(clip)
    taken: dict[str, int] = {}
    for (label, *_), members in sorted(by_label.items()):
        rest = sorted(members, key=lambda clip: clip.action.seconds)
        while rest:
            shortest = rest[0].action.seconds
            group = _of_one_file([clip for clip in rest if clip.action.seconds <= SIMILAR * shortest][:MOST_STRATEGIES])
            rest = rest[len(group) :]
            middle = group.pop(len(group) // 2)
            taken[label] = taken.get(label, 0) + 1
            yield f"{PREFIX}{label}" + (f"_{taken[label]}" if taken[label] > 1 else ""), [middle, *group]


def _of_one_file(clips: Sequence[_Labelled]) -> list[_Labelled]:
    """Return as many of the first clips as an action file has room for, at least one."""
    sizes = accumulate(len(_yaml(clip.action.entry)) for clip in clips)
    return list(clips[: max(1, sum(size <= _ENTRIES * LARGEST_FILE for size in sizes))])


_OWN = ("pose", "enter_keys", "cycle_keys", "exit_keys", "lifts", "travel")


def _entry(actions: Sequence[clip_entry.ClipAction]) -> dict[str, Any]:
    enter, leave = (max(action.entry[stage] for action in actions) for stage in ("enter", "exit"))
    cycle = round(sum(action.seconds for action in actions) / len(actions), 3)
    entries = [action.paced(enter, cycle, leave) for action in actions]
    sides = [action.side for action in actions]
    sided = sum(map(bool, sides)) * 2 > len(sides)
    parts = [part for entry in entries for part in entry["parts"]]
    first = entries[0] | {
        "parts": list(dict.fromkeys(parts)),
        "sided": sided,
        "repetitions": [1, max(entry["repetitions"][1] for entry in entries)],
    }
    if sided and all(sides) and (sign := clip_entry.side_sign(actions)):
        first["signs"] = {"side": sign}
    if len(actions) > 1:
        first["strategies"] = {
            f"clip_{number}": {key: entry.get(key, {} if key == "pose" else []) for key in _OWN}
            for number, entry in enumerate(entries[1:], 2)
        }
        first["habit_share"] = 0.5
    return first


def _write(out: Path, groups: Mapping[str, list[_Labelled]], terms: Mapping[str, str]) -> dict[str, list[str]]:
    """Write the library, and return the verbs of each action."""
    files, words, verbs = dict[str, str](), {}, {}
    for name, members in groups.items():
        entry = _entry([member.action for member in members])
        if any(LIMBS_CROSS in member.about["note"] for member in members):
            entry["limbs_cross"] = True  # generation does not resample for crossings in the clip
        signal = next(iter(entry["signs"]["side"].values())) if "signs" in entry else ""
        side = "" if not signal else "leg" if signal in _LEGS else "hand"
        texts = [text for member in members for text in member.label.texts]
        words[name] = action_words(members[0].label.name, texts, side=side)
        verbs[name] = words[name]["verbs"]
        names = [f"#   {' '.join(member.name.split())}" for member in members]
        head = [f"# Imported by posegen from {counted(len(members), 'clip')}:", *names]
        text = "\n".join([*head, _yaml({"family": "own", **terms, "actions": {name: entry}})])
        if len(text) > LARGEST_FILE:
            raise UsageError(f"{shown(name)}: its key poses take more than {LARGEST_FILE:,} bytes; use fewer or shorter clips")
        files[f"{name}.yaml"] = text
    theme = theme_name(out)
    skeletons = pose_channels.distinct_skeletons([member.rest for members in groups.values() for member in members])
    measured = {name: {"weight": entry.weight, "offsets": entry.offsets} for name, entry in skeletons.items()}
    story = {"library": ".", "themes": {theme: 1}}
    files |= {
        "themes.yaml": _yaml({"themes": {theme: {"weight": 1, "actions": dict.fromkeys(groups, 1)}}}),
        "config.yaml": _yaml({"name": theme[:64], "samples": 1000, "skeleton": "library", "story": story}),
        "skeletons.yaml": _yaml({"skeletons": measured}),
        "words/en.yaml": _yaml({"actions": words}),
    }
    target = out.resolve()
    unfinished = target.with_name(f".{target.name}~{os.getpid()}.temporary")
    try:
        write_all_durably((unfinished / name, [text.encode()]) for name, text in files.items())
        read_library(_BASE, unfinished)  # the written files must be valid
        unfinished.replace(target)  # at once, because an incomplete library would be read as another one
        sync_folder(target.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return verbs


def theme_name(out: Path) -> str:
    """Return the name of the theme of a library folder.

    Examples
    --------
    >>> theme_name(Path("my/Own clips"))
    'own_clips'
    """
    plain = re.sub(r"[^a-z0-9]+", "_", out.resolve().name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"clips_{plain}".rstrip("_")


def _yaml(data: Any) -> str:
    """Return data as YAML with a line for each key pose."""
    plain = json.loads(json.dumps(data))  # without objects that occur twice, which YAML would name
    return str(
        yaml.dump(plain, Dumper=yaml.CSafeDumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1000)
    )

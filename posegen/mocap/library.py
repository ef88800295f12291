"""Import clips: turn files of mocap into a library folder with actions, words and a theme, which a config then names.

Clips with one label become the strategies of one action, as far as their durations are similar: a strategy takes as long as the
action. Others become further actions with the same words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from posegen.dataset.files import write_all_durably
from posegen.dataset.storage.folder import sync_folder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import free_disk
from posegen.foundations.progress import Progress
from posegen.foundations.validation import validated
from posegen.foundations.wording import shown
from posegen.foundations.yaml_files import LARGEST_FILE
from posegen.library.load import load_library, read_library
from posegen.library.schema import MOST_STRATEGIES, Action
from posegen.library.skeletons import SkeletonEntry
from posegen.mocap.clip_entry import ClipAction
from posegen.mocap.directions import add_offsets
from posegen.mocap.labels import Label, label_of, table_for_files
from posegen.mocap.pieces import clip_actions
from posegen.mocap.pose_channels import rest_of_clip
from posegen.mocap.signs import count_sign, side_sign
from posegen.mocap.skeletons import Skeleton, distinct_skeletons, standing_skeleton, usual_standing
from posegen.mocap.sources import SourceClip, clip_files, read_source
from posegen.mocap.trial import LIMBS_CROSS, failures
from posegen.mocap.words import action_words

UNKNOWN = "unknown"
Trial = Literal["report", "refuse", "off"]
"""What a trial by other bodies does with a clip that they cannot perform."""
SIMILAR = 1.5
"""Largest ratio of the durations of clips that become strategies of one action."""
APART = 0.015, 0.03, 0.045, 0.06
"""Leg lengths by which each foot is moved out where legs of other bodies pass through each other: runners set their feet nearly
on a line."""
BYTES_PER_CLIP, LEAST_FREE = 40_000, 10_000_000
PREFIX = "own_"
"""Begins the names of imported actions, so that none replaces one of posegen."""
_LEGS = ("foot_height", "foot_ahead")


@dataclass(frozen=True)
class Import:
    """What became of each clip.

    Attributes
    ----------
    path : Path
        The library folder.
    actions : mapping of str to list of str
        The clips of each action.
    refused : list of str
        Messages that name clip and reason.
    sources : list of SourceClip
        Without joints; what was worked out of each clip.
    verbs : mapping of str to list of str
    notes : list of str
        Messages about the table of labels.
    """

    path: Path
    actions: Mapping[str, list[str]]
    refused: list[str]
    sources: list[dict[str, Any]]
    verbs: Mapping[str, list[str]]
    signs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Labelled:
    name: str
    label: Label
    action: ClipAction
    rest: Array
    """Offsets of joints in the rest pose of the clip, fractions of stature: float64 [22, 3]."""


@dataclass
class _Read:
    """What has been read so far.

    Attributes
    ----------
    clips : list of _Labelled
    sources : list of dict
    refused : list of str
    skeletons : list of Skeleton
        Of the clips in which somebody stands.
    nowhere_upright : list of (SourceClip, Label)
        Clips in which nobody stands, to be examined by what is known of their skeleton from the others.
    """

    clips: list[_Labelled] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    skeletons: list[Skeleton] = field(default_factory=list)
    nowhere_upright: list[tuple[SourceClip, Label]] = field(default_factory=list)


def import_clips(
    paths: Sequence[Path],
    out: Path,
    *,
    labels: Path | None = None,
    names: Path | None = None,
    fps: float | None = None,
    unit: str | None = None,
    up: str | None = None,
    trial: Trial = "report",
    licence: str = UNKNOWN,
    source: str = UNKNOWN,
    progress: Progress | None = None,
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
    names : Path, optional
        YAML file with the names of a skeleton's joints.
    fps : float, optional
        Replaces the frame rate of the files.
    unit, up : str, optional
        See :func:`posegen.mocap.sources.read_source`.
    trial : {"report", "refuse", "off"}
        What becomes of a clip that travels or lies and that other bodies cannot perform: its flaw is reported in its note, the
        clip is refused, or there is no trial.
    licence, source : str
        Of the clips; carried into the library and into each dataset.
    progress : Progress, optional

    Returns
    -------
    Import

    Raises
    ------
    UsageError
        If no clip can be used, `out` holds something, or the table of labels lacks a file.
    """
    files = clip_files(list(paths))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: exists and is not an empty folder; choose another one with --out")
    needed, free = LEAST_FREE + BYTES_PER_CLIP * len(files), free_disk(_existing(out))
    if free < needed:
        raise UsageError(f"{out}: needs about {needed:,} bytes, and {free:,} are free; choose another disk with --out")
    table, notes = (None, []) if labels is None else table_for_files(labels, files)
    read, progress = _Read(), progress or Progress()
    progress.start("read", len(files), unit="files")
    for number, file in enumerate(files, 1):
        for clip in _clips_of(file, read.refused, fps=fps, names=names, unit=unit, up=up):
            try:
                label = label_of(file, table, clip.label, clip.name)
            except UsageError as error:
                read.refused.append(str(error))
                continue
            if skeleton := standing_skeleton(clip.joints):
                read.skeletons.append(skeleton)
                _add_clip(clip, label, skeleton.standing, read)
            else:
                read.nowhere_upright.append((clip, label))
        progress.update(number)
    progress.stop()
    if read.nowhere_upright:
        progress.start("examine", len(read.nowhere_upright), unit="clips")
    for number, (clip, label) in enumerate(read.nowhere_upright, 1):
        _add_clip(clip, label, usual_standing(clip.joints, read.skeletons), read)
        progress.update(number)
    progress.stop()
    if trial != "off":
        _try_out(read, progress, refuses=trial == "refuse")
    if not read.clips:
        reasons = "\n".join(read.refused[:20])
        raise UsageError(f"none of the clips can be used:\n{reasons}")
    groups = dict(_groups(read.clips))
    if names_taken := sorted(set(groups) & set(read_library(_BASE).actions)):
        raise UsageError(f"{names_taken[0]}: is an action of posegen; give the clips another label")
    progress.wait("write the library")
    written = _write(out, groups, read.refused, read.sources, {"licence": licence, "source": source})
    return replace(written, notes=notes)


def _add_clip(clip: SourceClip, label: Label, standing: Mapping[str, float], read: _Read) -> None:
    try:
        pieces = clip_actions(clip.joints, clip.fps, clip.name, standing, offset=clip.begin)
    except UsageError as error:
        read.refused.append(f"{error}; {clip.note}" if clip.note else str(error))
        return
    read.refused += pieces.refused
    rest = rest_of_clip(clip.joints, standing)
    for name, action in pieces.actions:
        if fault := find_fault(name, action):
            read.refused.append(f"{fault}; repair the clip, or leave it out")
            continue
        read.clips.append(_Labelled(name, label, action, rest))
        read.sources.append(_worked_out(replace(clip, name=name), label, action))


def find_fault(name: str, action: ClipAction) -> str | None:
    """Return the validation error of an action, such as a foot that moves too far between stances; None if it is valid."""
    try:
        validated(Action, _entry([action]), f"{name}: ")
    except UsageError as error:
        return str(error).splitlines()[0]
    return None


def _try_out(read: _Read, progress: Progress, *, refuses: bool) -> None:
    """Refuse the clips that travel or lie and that other bodies cannot perform, or note their flaws.

    Where legs pass through each other, the feet are moved apart, in steps.
    """
    entries = ((clip, clip.action.entry) for clip in read.clips)
    failed = _failed_trials([clip for clip, entry in entries if "travel" in entry or entry["support"] == "floor"], progress)
    for more in APART:
        crossing = {name for name, reason in failed.items() if reason.startswith(LIMBS_CROSS)}
        wider = {
            clip.name: replace(clip, action=clip.action.with_feet_apart(more)) for clip in read.clips if clip.name in crossing
        }
        left = _failed_trials(list(wider.values()), progress)
        read.clips = [clip if clip.name in left else wider.get(clip.name, clip) for clip in read.clips]
        failed = {name: reason for name, reason in failed.items() if name not in wider or name in left}
    if not refuses:
        for source in read.sources:
            source["note"] = "; ".join(filter(None, (source["note"], failed.get(source["clip"]))))
        return
    read.refused += [f"{name}: {reason}; repair the clip, or leave it out" for name, reason in failed.items()]
    read.clips = [clip for clip in read.clips if clip.name not in failed]
    read.sources = [source for source in read.sources if source["clip"] not in failed]


def _failed_trials(clips: Sequence[_Labelled], progress: Progress) -> dict[str, str]:
    """Return the names of the clips that other bodies cannot perform, with the reason."""
    single = {f"{PREFIX}clip_{number}": [clip] for number, clip in enumerate(clips)}
    if not single:
        return {}
    failed: dict[str, str] = {}
    progress.start("try", len(single), unit="clips")
    with TemporaryDirectory() as folder:
        _write(Path(folder), single, [], [], {})
        library = load_library(Path(folder))
        for number, (name, (clip,)) in enumerate(single.items(), 1):
            failed.update((clip.name, reason) for _, reason in failures(library, [name]))
            progress.update(number)
    progress.stop()
    return failed


def _existing(path: Path) -> Path:
    """Return the nearest folder above a path, or itself, that exists."""
    path = path.resolve()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


_ENTRIES = 0.6
"""Share of an action file that clips may take without the offsets between them."""
_BASE = Path(__file__).parent.parent / "library"


def _clips_of(file: Path, refused: list[str], **given: Any) -> Iterator[SourceClip]:
    try:
        yield from read_source(file, refuse=refused.append, **given)
    except UsageError as error:
        refused.append(str(error))


def _worked_out(clip: SourceClip, label: Label, action: ClipAction) -> dict[str, Any]:
    return {
        "clip": clip.name,
        "label": label.name,
        "format": clip.format,
        "unit": clip.unit,
        "up": clip.up,
        "fps": round(clip.fps, 3),
        "seconds": round(action.seconds, 2),
        "repetitions": action.repetitions,
        "side": action.side,
        "key_poses": action.keys,
        "begin": round(clip.begin, 3),
        "note": clip.note,
    }


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
    """Return as many of the first clips as an action file has room for, at least one; their offsets take the other part."""
    sizes = accumulate(len(_yaml(clip.action.entry)) for clip in clips)
    return list(clips[: max(1, sum(size <= _ENTRIES * LARGEST_FILE for size in sizes))])


_OWN = ("pose", "offsets", "enter_keys", "cycle_keys", "exit_keys", "lifts", "travel")


def _entry(actions: Sequence[ClipAction]) -> dict[str, Any]:
    enter, leave = (max(action.entry[stage] for action in actions) for stage in ("enter", "exit"))
    cycle = round(sum(action.seconds for action in actions) / len(actions), 3)
    entries = add_offsets([action.paced(enter, cycle, leave) for action in actions])
    sides = [action.side for action in actions]
    sided = sum(map(bool, sides)) * 2 > len(sides)
    parts = [part for entry in entries for part in entry["parts"]]
    first = entries[0] | {
        "parts": list(dict.fromkeys(parts)),
        "sided": sided,
        "repetitions": [1, max(entry["repetitions"][1] for entry in entries)],
    }
    signs: dict[str, Any] = {}
    if sided and all(sides) and (sign := side_sign(actions)):
        signs["side"] = sign
    strides = any(key["forward"] or key["aside"] for entry in entries for key in entry.get("travel", ()))
    if not strides and (sign := count_sign(actions)):
        signs["count"] = sign
    elif first["repetitions"][1] == 1:
        signs.pop("count", None)
    if signs:
        first["signs"] = signs
    if ranges := _widest(entry.get("ranges", {}) for entry in entries):
        first["ranges"] = ranges
    if len(actions) > 1:
        first["strategies"] = {
            f"clip_{number}": {key: entry.get(key, {} if key == "pose" else []) for key in _OWN}
            for number, entry in enumerate(entries[1:], 2)
        }
        first["usual"] = 0.5
    return first


def _widest(ranges: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return for each joint the range that contains those of all clips."""
    found: dict[str, dict[str, Any]] = {}
    for each in ranges:
        for channel, range_ in each.items():
            kept = found.setdefault(channel, dict(range_))
            for end, wider in (("min", min), ("max", max)):
                if ends := [one[end] for one in (kept, range_) if end in one]:
                    kept[end] = wider(ends)
    return found


def _write(
    out: Path,
    groups: Mapping[str, list[_Labelled]],
    refused: list[str],
    sources: list[dict[str, Any]],
    terms: Mapping[str, str],
) -> Import:
    files, words, signs = dict[str, str](), {}, {}
    for name, members in groups.items():
        entry = _entry([member.action for member in members])
        found = entry.get("signs", {})
        signal = next(iter(found["side"].values())) if "side" in found else ""
        side = "" if not signal else "leg" if signal in _LEGS else "hand"
        texts = [text for member in members for text in member.label.texts]
        words[name] = action_words(members[0].label.name, texts, side=side, counted="count" in found)
        signs[name] = found
        text = _action_file(name, entry, terms, [member.name for member in members])
        if len(text) > LARGEST_FILE:
            raise UsageError(f"{shown(name)}: its key poses take more than {LARGEST_FILE:,} bytes; use fewer or shorter clips")
        files[f"{name}.yaml"] = text
    theme = {"themes": {theme_name(out): {"weight": 1, "actions": dict.fromkeys(groups, 1)}}}
    files["themes.yaml"] = _yaml(theme)
    config = {"name": theme_name(out)[:64], "samples": 1000, "skeleton": "library"}
    files["config.yaml"] = _yaml(config | {"story": {"library": ".", "themes": {theme_name(out): 1}}})
    skeletons = distinct_skeletons([member.rest for members in groups.values() for member in members])
    files |= {"skeletons.yaml": _skeleton_file(skeletons), "words/en.yaml": _yaml({"actions": words})}
    target = out.resolve()
    unfinished = target.with_name(f".{target.name}~{os.getpid()}.temporary")
    try:
        write_all_durably((unfinished / name, [text.encode()]) for name, text in files.items())
        read_library(_BASE, unfinished)  # what was written must be valid
        unfinished.replace(target)  # at once, because a library of which a part is missing would be read as another one
        sync_folder(target.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    verbs = {name: [str(verb) for verb in entry["verbs"]] for name, entry in words.items()}  # type: ignore[attr-defined]
    return Import(out, {n: [m.name for m in members] for n, members in groups.items()}, refused, sources, verbs, signs)


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
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _action_file(name: str, entry: Mapping[str, Any], terms: Mapping[str, str], clips: Sequence[str]) -> str:
    """Return an action file with a line for each key pose. JSON is YAML."""
    lines = [f"# Imported by posegen from {len(clips)} clips:", *(f"#   {' '.join(clip.split())}" for clip in clips)]
    lines += [
        "family: own",
        *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in terms.items()),
        "actions:",
        f"  {name}:",
    ]
    return "\n".join([*lines, *_block(entry, 4)]) + "\n"


def _skeleton_file(skeletons: Mapping[str, SkeletonEntry]) -> str:
    """Return a file with a line for each joint. JSON is YAML."""
    lines = ["# Offset of each joint from its parent as measured from the clips, fractions of stature.", "skeletons:"]
    for name, entry in skeletons.items():
        lines += [f"  {name}:", f"    weight: {entry.weight:g}", "    offsets:"]
        lines += [f"      {joint}: {json.dumps(offset)}" for joint, offset in entry.offsets.items()]
    return "\n".join(lines) + "\n"


def _block(entry: Mapping[str, Any], indent: int) -> Iterator[str]:
    margin = " " * indent
    for key, value in entry.items():
        if key == "strategies":
            yield f"{margin}strategies:"
            for name, strategy in value.items():
                yield f"{margin}  {name}:"
                yield from _block(strategy, indent + 4)
        elif (key.endswith("_keys") or key == "travel") and value:
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {json.dumps(one)}" for one in value)
        else:
            yield f"{margin}{key}: {json.dumps(value)}"

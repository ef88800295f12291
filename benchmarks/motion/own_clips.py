"""Own clips as actions: the mocap written as BVH files, imported and performed by other bodies.

``python -m benchmarks.motion.own_clips FOLDER`` prints how many clips are accepted, why others are refused, how much feet skate
on small and on tall bodies, which statements of captions are false, and how far people differ beside those of the mocap.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.motion.scripted import animated, shown
from posegen import load_config, synthesize
from posegen.checks.statements import check_statement, observe_actors, row_statements
from posegen.evaluation.performances import Performance, common_body, performances, person_distances
from posegen.evaluation.plausibility import foot_skate
from posegen.evaluation.recording import Recording, read_reference
from posegen.library.load import Library, load_library
from posegen.mocap.library import PREFIX, import_clips
from posegen.mocap.sources import clip_files

FPS, PEOPLE, SKATERS = 25, 24, 288
"""Frame rate, and people who perform an action: more where the result depends on few frames, as the skating of a kick does."""
STATURES = 1.5, 1.9
SAMPLES = 60
_OVERRIDES = ("variants={speed: null, position: null, scale: null}",)


def shown_once(library: Library, name: str, stature: float | None = None, people: int = PEOPLE) -> list[Recording]:
    """Return clips of people who perform an action once, from standing to standing."""
    scenes, action = shown(library, name, people, FPS, neutral=True), library.action(name)
    scenes.repetitions[:, 0, 1] = 1
    scenes.end[:, 0, 1] = scenes.start[:, 0, 1] + action.enter + action.cycle + action.exit
    scenes.start[:, 0, 2] = scenes.end[:, 0, 1]
    if action.sided:
        scenes.side[:, 0, 1] = 0
    if stature is not None:
        scenes.persons.stature[:] = stature
    return [
        replace(found, joints=found.joints[segment["start"] : segment["end"]], segments=())
        for found in animated(scenes, library, FPS)
        for segment in found.segments
    ]


def skate_of(library: Library, name: str, stature: float | None = None) -> float:
    """Return the mean share of steps of low toes in which a toe moves, of people who perform an action once."""
    return float(
        np.mean([foot_skate(clip.joints, FPS)["skate, strict"] for clip in shown_once(library, name, stature, SKATERS)])
    )


def refusals(messages: Iterable[str]) -> Counter[str]:
    """Count the reasons of messages that name clips, without their numbers."""
    reasons = (re.sub(r"^.*?(\.\w+|\d s|[^:]*): ", "", message).partition(";")[0].partition(": ")[0] for message in messages)
    return Counter(re.sub(r"-?\d+(\.\d+)?|left |right ", "", reason).replace("  ", " ").strip() for reason in reasons)


def false_statements(library: Path, theme: str, samples: int = SAMPLES) -> dict[str, int]:
    """Return the number of statements in captions, of false ones, and of those that were removed, by kind."""
    config = load_config("default", [f"story.library={library}", f"story.themes={{{theme}: 1}}", *_OVERRIDES], samples=samples)
    batch, known = synthesize(config, range(samples)), load_library(library)
    counts: Counter[str] = Counter()
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    for number, row in enumerate(batch.rows):
        actors = observe_actors(joints[number : number + 1], [row["actors"]], known, config.fps)[0]
        checked = [check_statement(statement, actors, known) for statement in row_statements(row)]
        counts["statements"] += len(checked)
        counts["false"] += checked.count(False)
        counts.update(f"removed: {entry['kind']}" for entry in row["dropped"])
    counts["sequences"] = len(batch.rows)
    return dict(counts)


def people_apart(
    clips: Sequence[Recording], library: Library, actions: Iterable[str], families: Iterable[str]
) -> Mapping[str, float]:
    """Return the distance of two people who perform a family, relative to that in mocap."""
    ratios, names = {}, list(actions)
    for family in families:
        theirs = [each for clip in clips if clip.family == family for each in performances(clip, common_body(clip.joints))]
        ours: list[Performance] = []
        for name in names:
            if re.fullmatch(rf"{PREFIX}{family}(_\d+)?", name):
                for clip in shown_once(library, name):
                    named = replace(clip, family=family, description=name, labels=None)
                    ours += performances(named, common_body(named.joints))
        if len({one.person for one in theirs}) > 1 and ours:
            apart, real = (person_distances(found, periodic=False).between for found in (ours, theirs))
            ratios[family] = round(apart / real, 3)
    return ratios


def _report(name: str, folder: Path) -> dict[str, Any]:
    from tests.mocap.bvh_of_joints import write_bvh

    clips = list(read_reference(Path(os.environ["POSEGEN_REFERENCE"]) / f"{name}.npz"))
    source = folder / name
    source.mkdir(parents=True, exist_ok=True)
    for number, clip in enumerate(clips):
        file = source / f"{clip.family}_{number:03}.bvh"
        if not file.exists():
            write_bvh(file, clip.joints, clip.fps)
    out = folder / f"{name}_own"
    found = import_clips([source], out, licence="that of the mocap", source=name)
    taken = {entry["clip"].partition(",")[0] for entry in found.sources}
    labels = [re.sub(r"_\d+$", "", file.stem) for file in clip_files([source])]
    accepted: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, label in zip(clip_files([source]), labels, strict=True):
        accepted[label][0] += str(file) in taken
        accepted[label][1] += 1
    library = load_library(out)
    skate = {stature: {action: skate_of(library, action, stature) for action in found.actions} for stature in STATURES}
    return {
        "clips": len(clips),
        "accepted": len(taken),
        "pieces": len(found.sources),
        "accepted by label": {label: f"{a} of {b}" for label, (a, b) in sorted(accepted.items())},
        "actions": len(found.actions),
        "refused": dict(refusals(found.refused).most_common()),
        "strict skate": {
            f"{stature} m": {
                "mean": round(float(np.mean(list(values.values()))), 4),
                "actions of 3 % or more": {action: round(v, 3) for action, v in values.items() if not v < 0.03},
            }
            for stature, values in skate.items()
        },
        "captions": false_statements(out, f"{name}_own"),
        "between people, relative to mocap": people_apart(clips, library, found.actions, sorted(set(labels))),
    }


def main() -> int:
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or ("cmu", "hdm05"):
        print(name, json.dumps(_report(name, folder), indent=1), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""BVH files of strangers, from the folder POSEGEN_CLIPS: limbs are where a second reader, which knows no rigs, puts joints."""

from __future__ import annotations

import os
import re
import time
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.mocap.sources import read_source

FOLDER = os.environ.get("POSEGEN_CLIPS")
SHARE, NEAR, SECONDS = 0.9, 0.005, 30.0
"""Share of the files that must be read, metres between both readers, and the longest time for a file."""
METRES = {
    "metres": 1.0, "centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048, "decimetres": 0.1,
    "CMU's units": 0.0254 / 0.45,
}  # fmt: skip
LIMBS = [JOINTS.index(f"{side}_{name}") for side in ("left", "right") for name in ("hip", "knee", "ankle", "elbow", "wrist")]


def positions(text: str) -> np.ndarray:
    """Return the positions of all joints of a BVH file, [frame, joint, 3], in its unit and axes."""
    head, _, motion = re.sub(r"([{}])", r" \1 ", text).partition("MOTION")
    words, parents, offsets, channels, stack = head.split(), [], [], [], []
    for at, word in enumerate(words):
        if word in ("ROOT", "JOINT", "End"):
            parents.append(stack[-1] if stack else -1)
            offsets.append(np.zeros(3))
            channels.append([])
        elif word == "{":
            stack.append(len(parents) - 1)
        elif word == "}":
            stack.pop()
        elif word == "OFFSET":
            offsets[stack[-1]] = np.array(words[at + 1 : at + 4], float)
        elif word == "CHANNELS":
            channels[stack[-1]] = words[at + 2 : at + 2 + int(words[at + 1])]
    numbers = np.array(re.split(r"Frame Time:\s*\S+", motion)[1].split(), float)
    width = sum(map(len, channels))
    frames = numbers[: len(numbers) // width * width].reshape(-1, width)
    where, turned = np.zeros((len(frames), len(parents), 3)), np.zeros((len(frames), len(parents), 3, 3))
    column = 0
    for joint, parent in enumerate(parents):
        place, turn = np.tile(offsets[joint], (len(frames), 1)), np.tile(np.eye(3), (len(frames), 1, 1))
        for name in channels[joint]:
            axis, values = "XYZ".index(name[0]), frames[:, column]
            column += 1
            if name.endswith("position"):
                place[:, axis] = values
                continue
            one, two = (axis + 1) % 3, (axis + 2) % 3
            step = np.tile(np.eye(3), (len(frames), 1, 1))
            step[:, one, one] = step[:, two, two] = np.cos(np.radians(values))
            step[:, two, one] = np.sin(np.radians(values))
            step[:, one, two] = -step[:, two, one]
            turn = turn @ step
        where[:, joint] = place if parent < 0 else where[:, parent] + np.einsum("fij,fj->fi", turned[:, parent], place)
        turned[:, joint] = turn if parent < 0 else turned[:, parent] @ turn
    return where


def farthest(joints: np.ndarray, other: np.ndarray) -> float:
    """Return the largest distance of a limb from the nearest of other joints, in the axes that make it least, metres."""
    found, frames = np.inf, min(len(joints), len(other))
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        axes = np.eye(3)[list(order)] * np.array(signs)[:, None]
        apart = joints[:frames, LIMBS, None] - (other[:frames] @ axes.T)[:, None]
        # Clips are moved to the floor, all joints alike.
        steady = apart[:, 0].std(0).max(-1).argmin()
        distance = np.linalg.norm(apart - apart[:, 0, steady].mean(0), axis=-1).max(0).min(-1)
        found = min(found, float(distance.max()))
    return found


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="needs BVH files of moving people: set POSEGEN_CLIPS to their folder")
def test_limbs_are_where_another_reader_puts_them() -> None:
    files = sorted(Path(str(FOLDER)).rglob("*.bvh"))
    wrong = {}
    for file in files:
        start = time.monotonic()
        try:
            clip = next(iter(read_source(file)))
        except UsageError as error:
            wrong[file.name] = str(error)
            continue
        finally:
            assert time.monotonic() - start < SECONDS, file
        step = max(1, len(clip.joints) // 200)
        apart = farthest(clip.joints[::step], METRES[clip.unit] * positions(file.read_text("utf-8-sig", "replace"))[::step])
        if apart > NEAR:
            wrong[file.name] = f"{1000 * apart:.1f} mm"
    assert files
    assert len(wrong) <= (1 - SHARE) * len(files), wrong

"""Clips that no single action can show: pieces of long ones."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from posegen.mocap.library import import_clips
from posegen.mocap.pieces import clip_actions
from tests.mocap.bvh_of_joints import write_bvh
from tests.mocap.test_import import FPS, PELVIS, clips_of


def test_a_long_clip_becomes_pieces(tmp_path: Path) -> None:
    (joints,) = clips_of("squat")
    still = joints[:1].repeat(10, 0)
    long = np.concatenate([np.concatenate([joints, still]) for _ in range(1 + 9 * FPS // len(joints))])
    pieces, _ = clip_actions(long, FPS, "long.bvh")
    assert len(pieces) >= 2
    spans = [tuple(map(float, re.findall(r"long.bvh, ([\d.]+) to ([\d.]+) s", name)[0])) for name, _ in pieces]
    assert all(1 <= end - begin <= 8.1 for begin, end in spans)
    assert all(before[1] - after[0] < 0.15 for before, after in pairwise(spans))
    heights = [long[round(end * FPS) - 1, PELVIS, 1] for _, end in spans]
    np.testing.assert_allclose(heights, joints[0, PELVIS, 1], atol=0.05)  # cut between squats
    write_bvh(tmp_path / "squat.bvh", long, FPS)
    result = import_clips([tmp_path], tmp_path / "own")
    read = [tuple(map(float, re.findall(r"bvh, ([\d.]+) to ([\d.]+) s", source["clip"])[0])) for source in result.sources]
    # A cut may lie anywhere in the rest between two squats, where the digits of a file decide.
    np.testing.assert_allclose(read[:-1], spans[:-1], atol=0.7)
    # Whether the still frames at the end are trimmed depends on the last digits of the joints, which a file rounds.
    assert read[-1][0] == pytest.approx(spans[-1][0], abs=0.7)
    assert min(abs(read[-1][1] - spans[-1][1] - more) for more in (0, -len(still) / FPS, len(still) / FPS)) < 0.7
    assert [*result.actions] == ["own_squat"]

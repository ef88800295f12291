"""Labels of frames are those of the segments of their row, to the frame."""

from __future__ import annotations

import numpy as np
import pytest

import posegen
from posegen.foundations.skeleton import PARTS
from posegen.library.load import load_library

NAMES = list(load_library().actions)


@pytest.mark.parametrize(("name", "fps"), [("default", 25), ("pairs", 30)])
def test_labels_of_frames_are_those_of_segments(name: str, fps: int) -> None:
    options = ["variants={speed: null, position: null, scale: null, mirror: false}", f"fps={fps}"]
    batch = posegen.synthesize(posegen.load_config(name, options), range(300))
    checked = 0
    for row, labels in zip(batch.rows, batch.action[:, 0], strict=True):
        for actor, own in zip(row["actors"], labels, strict=False):
            for segment in actor["segments"]:
                layered = len(segment["parts"]) < len(PARTS)
                for part in segment["parts"] if layered else ["legs"]:  # layers have labels of their own above the legs
                    shown = own[segment["start"] : segment["end"], PARTS.index(part)]
                    np.testing.assert_array_equal(shown, NAMES.index(segment["action"]), str((row["sample"], segment)))
                    checked += 1
    assert checked > 1000

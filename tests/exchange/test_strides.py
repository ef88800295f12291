"""The table of strides: a walk whose steps are known, and the table against loops over the clips of a dataset."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from posegen.exchange.export import export
from posegen.exchange.strides import strides_of
from posegen.foundations.skeleton import AVERAGE, CONTACTS, JOINTS, PARENTS, sole_points
from posegen.mocap.convert import convert_clips
from tests.exchange.datasets import short_clips

FPS, STEP, STANCE, LENGTH, WIDTH = 30, 16, 20, 0.7, 0.12
LEGS = {side: [JOINTS.index(f"{side}_{name}") for name in ("hip", "knee", "ankle", "foot")] for side in ("left", "right")}


def walk(steps: int, heading: float) -> tuple[np.ndarray, np.ndarray]:
    """Return joints and contacts of a walk; a foot strikes every STEP frames, LENGTH ahead of the other, for STANCE frames."""
    body = np.zeros((22, 3))
    for joint, parent in enumerate(PARENTS[1:], 1):
        body[joint] = body[parent] + AVERAGE[joint] * 1.7
    frames = STEP * steps
    joints, contact = np.repeat(body[None], frames, 0), np.zeros((frames, len(CONTACTS)), np.uint8)
    for number in range(1, steps):
        side = number % 2
        strike = STEP * number
        contact[strike : strike + STANCE, 2 * side : 2 * side + 2] = 1
        legs = LEGS["left" if side == 0 else "right"]
        joints[strike:, legs] = body[legs]
        joints[strike:, legs, 0] += (WIDTH / 2 if side == 0 else -WIDTH / 2) - body[legs[2], 0]
        joints[strike:, legs, 2] += LENGTH * number
    turn = np.array([[np.cos(heading), 0, np.sin(heading)], [0, 1, 0], [-np.sin(heading), 0, np.cos(heading)]])
    return joints @ turn.T, contact


@pytest.mark.parametrize("heading", [0.0, 2.1])
def test_strides_of_a_walk_with_known_steps(heading: float) -> None:
    strides = strides_of(*walk(9, heading), FPS)
    assert [(each.foot, each.strike) for each in strides] == [(number % 2, STEP * number) for number in range(1, 7)]
    for each in strides:
        assert (each.toe_off, each.next_strike) == (each.strike + STANCE, each.strike + 2 * STEP)
        assert each.seconds == pytest.approx(2 * STEP / FPS)
        assert each.cadence == pytest.approx(60 * FPS / STEP)
        assert each.stance == pytest.approx(STANCE / (2 * STEP))
        assert each.speed == pytest.approx(LENGTH * FPS / STEP)
        assert (each.step_length, each.step_width) == (pytest.approx(LENGTH), pytest.approx(WIDTH, abs=1e-3))


def test_hops_on_one_foot_and_a_still_body_have_no_stride() -> None:
    joints, contact = walk(9, 0.0)
    contact[:, 2:4] = 0
    assert strides_of(joints, contact, FPS) == []
    assert strides_of(joints, np.ones_like(contact), FPS) == []


def test_marching_on_the_spot_has_no_length_of_a_step() -> None:
    joints, contact = walk(9, 0.0)
    first = strides_of(np.repeat(joints[:1], len(joints), 0), contact, FPS)[0]
    assert (first.step_length, first.step_width, first.speed) == (None, None, 0.0)


def test_the_table_has_the_strides_of_all_clips(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    dataset = short_clips(tmp_path_factory, 12)
    export(dataset.path, "strides", tmp_path, variants=["base"], workers=1)
    rows = pq.read_table(tmp_path / "strides.parquet").to_pylist()
    expected = []
    for number in range(12):
        for actor, joints in enumerate(dataset[number].joints[0]):
            here = ~np.isnan(joints[:, 0, 0])
            down = (dataset[number].contact[0, actor][here][:, :4] == 1).reshape(-1, 2, 2).any(-1)
            heels = sole_points(joints[here])[:, ::2]
            for foot in (0, 1):
                strikes = [f for f in range(1, len(down)) if down[f, foot] and not down[f - 1, foot]]
                others = [f for f in range(1, len(down)) if down[f, 1 - foot] and not down[f - 1, 1 - foot]]
                for start, stop in pairwise(strikes):
                    if sum(start < f < stop for f in others) == 1:
                        distance = np.linalg.norm((heels[stop, foot] - heels[start, foot])[::2])
                        name = f"{number:06}" + (f"_{actor}" if actor else "")
                        expected.append((name, ("left", "right")[foot], start, stop, distance / ((stop - start) / dataset.fps)))
    assert expected
    found = [
        (row["clip"], row["foot"], row["strike"], row["next_strike"], pytest.approx(row["speed"], rel=1e-4)) for row in rows
    ]
    assert sorted(expected) == sorted(found, key=lambda row: row[:4])
    assert all(row["strike"] < row["toe_off"] <= row["next_strike"] and row["action"] for row in rows)


def test_clips_get_strides_by_contacts_that_are_estimated(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    dataset = short_clips(tmp_path_factory, 12)
    export(dataset.path, "npz", tmp_path / "clips", variants=["base"], workers=1)
    export(dataset.path, "strides", tmp_path / "exported", variants=["base"], workers=1)
    convert_clips([*(tmp_path / "clips").glob("*.npz")], "strides", tmp_path / "converted", workers=1)
    exported, converted = (pq.read_table(tmp_path / name / "strides.parquet").to_pylist() for name in ("exported", "converted"))
    apart = []
    for row in exported:
        same = [other for other in converted if (other["clip"], other["foot"]) == (row["clip"], row["foot"])]
        near = [other for other in same if abs(other["strike"] - row["strike"]) <= 3]
        apart += [abs(other["seconds"] - row["seconds"]) for other in near[:1]]
    assert len(apart) >= 0.8 * len(exported) > 0
    assert np.median(apart) <= 2 / dataset.fps

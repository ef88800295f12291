"""A variant that another package registers is configured, generated and described like posegen's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import install

RECORD = """
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, Field

from posegen.variants.variant import Variant


class Turn(BaseModel):
    max: float = Field(default=1.0, gt=0, le=3)


def draw(settings, draws):
    return {"angle": (settings.max * draws[:, 0]).astype(np.float32)}


def transform(scenes, parameters):
    return replace(scenes, heading=scenes.heading + parameters["angle"][:, None])


TURN = Variant("turn", transform, {"angle": 0.0}, draw=draw, first_draw=1000, draws=1, settings=Turn)
"""

USE = """
import json, sys
import numpy as np
import posegen

config = posegen.load_config("smoke", ["samples=4", "variants.turn.max=0.5", "variants.scale=null"])
posegen.generate(config, workers=1, out="dataset")
batch = posegen.synthesize(config, range(4))
dataset = posegen.open("dataset")
rows = dataset.table(0).to_pylist()
print(json.dumps({
    "names": batch.variants,
    "parameters": [row["parameters"] for row in rows[:5]],
    "moved": bool((np.nan_to_num(batch.joints[:, 0]) != np.nan_to_num(batch.joints[:, -1])).any()),
    "same": rows == batch.sequences.to_pylist(),
}))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return install(tmp_path, RECORD, variants="TURN")


@pytest.mark.slow
def test_a_variant_of_another_package_is_generated(environment: dict[str, str], tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    shown = json.loads(finished.stdout.splitlines()[-1])
    assert shown["names"] == ["base", "speed", "position", "mirror", "turn"]
    assert [row["angle"] > 0 for row in shown["parameters"]] == [False] * 4 + [True]
    assert shown["parameters"][4] == {
        "speed": 1.0,
        "scale": 1.0,
        "offset_x": 0.0,
        "offset_z": 0.0,
        "mirrored": False,
        "angle": shown["parameters"][4]["angle"],
    }
    assert shown["moved"]
    assert shown["same"]


@pytest.mark.parametrize(
    ("override", "message"),
    [("variants.turn.max=7", "--set variants.turn.max"), ("variants.turm.max=1", "--set variants.turm: unknown key")],
)
def test_keys_of_such_a_variant_are_checked(environment: dict[str, str], override: str, message: str) -> None:
    command = [sys.executable, "-m", "posegen", "config", "show", "smoke", "--set", override]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert message in finished.stderr

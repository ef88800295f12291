"""Scenes of two people with ``quick``: hands that meet in generated handshakes, and captions that are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.measure import run, scaled
from benchmarks.story.meeting import nearest
from benchmarks.train.running import trained
from posegen.dataset.read import open_dataset
from posegen.foundations.skeleton import JOINTS
from posegen.training.animate import animate, load_text_encoder
from posegen.training.encoder_measures import measure_animation
from posegen.training.trained_models import load_model

SAMPLES, SCENES = 4000, 24
TEXT = "two people shake hands"
MOST_OF_CONTROL = 0.5
"""Largest distance of the hands, as a share of that of people who were generated for each other's scenes."""
TIMES_CHANCE = 3.0
_WRISTS = [JOINTS.index("left_wrist"), JOINTS.index("right_wrist")]


def measure(folder: Path) -> Iterator[Figure]:
    path, samples = folder / "pairs", scaled(SAMPLES, 400)
    run("generate", "--config", "pairs", "--samples", samples, "--out", path)
    run("embed", path)
    name = f"quick, two people, {samples:,} samples"
    action = trained(path, "action", "quick", folder / "action").measures
    right, commonest = action["clip_top1"], action["commonest"]
    value = f"{100 * right:.1f} % of {action['clips']:,.0f} clips; commonest {100 * commonest:.1f} %"
    yield Figure(f"{name}: action of each", value, "twice the commonest", right > 2 * commonest)
    judge = trained(path, "retrieval", "quick", folder / "judge")
    r3, chance = judge.measures["r3"], judge.measures["chance_r3"]
    value = f"R@3 {100 * r3:.1f} %, chance {100 * chance:.1f} %, pools of {judge.measures['pool']:.0f}"
    yield Figure(f"{name}: retrieval", value, f"{TIMES_CHANCE:.0f} times chance", r3 > TIMES_CHANCE * chance)
    motion = trained(path, "motion", "quick", folder / "motion")
    yield from figures_of_motion(name, path, motion.place, judge.place)


def figures_of_motion(name: str, path: Path, motion: Path, judge: Path) -> Iterator[Figure]:
    """Yield the figures of a model of two people."""
    own = measure_animation(motion, path, judge, None, lambda line: None)
    value = (
        f"R-precision {100 * own.made.precision:.1f} % (real {100 * own.real.precision:.1f}, chance {100 * own.chance:.1f}); "
        f"FID {own.made.frechet:.3f} (halves of the real {own.real.frechet:.3f}, mean pose {own.mean.frechet:.3f})"
    )
    good = own.made.precision > TIMES_CHANCE * own.chance
    yield Figure(f"{name}: generated motion", value, f"{TIMES_CHANCE:.0f} times chance", good)
    made, control = handshakes(motion)
    real = real_handshakes(path)
    value = ", ".join(
        f"{kind} {100 * float(np.median(gaps)):.1f} cm"
        for kind, gaps in (("generated", made), ("control", control), ("real", real))
    )
    good = bool(np.median(made) < MOST_OF_CONTROL * np.median(control))
    target = f"under {MOST_OF_CONTROL} of the control"
    yield Figure(f"{name}: least distance of hands in '{TEXT}', median", value, target, good)


def handshakes(place: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least distance of the hands in each scene, and that of the first person to the second of the scene before."""
    trained_model = load_model(place, "generates_motion")
    encoder = load_text_encoder(trained_model)
    scenes = [animate(trained_model, encoder, [TEXT], seed=seed).clips for seed in range(SCENES)]
    others = [(scene[0], before[1]) for scene, before in zip(scenes, [scenes[-1], *scenes[:-1]], strict=True)]
    own, control = (np.array([_least(one.joints, two.joints) for one, two in pairs]) for pairs in (scenes, others))
    return own, control


def real_handshakes(path: Path) -> NDArray[np.float64]:
    """Return the least distance of the hands in handshakes of a dataset."""
    dataset, found = open_dataset(path), []
    for sample in range(len(dataset)):
        row = dataset.rows(sample)[0]
        if len(found) < SCENES and any(segment["action"] == "shake_hands" for segment in row["actors"][0]["segments"]):
            one, two = dataset.arrays("joints", slice(sample, sample + 1))[0, 0, :2, : row["length"]]
            found.append(_least(one, two))
    return np.array(found)


def _least(one: NDArray[np.float32], two: NDArray[np.float32]) -> float:
    return float(nearest(np.stack([one[:, _WRISTS], two[:, _WRISTS]]).astype(np.float64)).min())

"""Ground reactions of generated and of recorded walks: ``python -m benchmarks.forces`` prints a section of ``docs/sensors.md``.

The generated walks have quotas of 1.2 to 1.4 m/s. Strides count whose foot strikes lie in a straight segment of walking without
its first and last :data:`posegen.evaluation.gait.EDGE` seconds, and whose speed is in that band. Recorded ones are the walks
of CMU's mocap in POSEGEN_REFERENCE, with contacts that are estimated from heights and speeds of the soles. No number of posegen
was set by the result.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import posegen
from posegen.dataset.clip_files import read_clip_archive
from posegen.evaluation.gait import DIRECT, EDGE, STRAIGHT, WALKING
from posegen.exchange.strides import Stride, strides_of
from posegen.fields.field import Sequences, compute_fields
from posegen.foundations.constants import GRAVITY
from posegen.library.load import load_library
from posegen.mocap.convert import contacts_of

Values = NDArray[np.float64]
SLOWEST, FASTEST = 1.2, 1.4
SECONDS = 8
PHASES = (np.arange(50) + 0.5) / 50
"""Shares of the stance."""
TARGETS = {
    "first peak (BW)": (1.0, 1.25),
    "valley (BW)": (0.6, 0.9),
    "second peak (BW)": (1.0, 1.25),
}
"""Wanted of the mean curve."""


class Stance(NamedTuple):
    """A stride, and the force of its foot while it is in contact.

    The force is in body weights, [frame, (vertical, forward)]. `load` is the largest vertical force of both feet together.
    """

    stride: Stride
    force: Values
    fps: int
    load: float


def sequences_of(samples: int, fps: int) -> Sequences:
    """Return generated walks of one actor, in the base variant."""
    walks = f"{{samples: {samples}, actions: [walk], speed: {{min: {SLOWEST}, max: {FASTEST}}}}}"
    frames = f"frames={SECONDS * fps}", f"length.min={SECONDS * fps}", f"length.max={SECONDS * fps}"
    none = "variants={speed: null, scale: null, position: null, mirror: false}"
    config = posegen.load_config("default", [f"quotas.exact=[{walks}]", f"samples={samples}", f"fps={fps}", *frames, none])
    batch = posegen.synthesize(config, range(samples))
    return Sequences(config, load_library(), batch.samples, batch.joints, batch.action, batch.contact, batch.rows)


def stances(sequences: Sequences) -> Iterator[Stance]:
    """Yield the stances of steady straight walking of generated sequences in the band of speeds."""
    fps = sequences.config.fps
    for number, row in enumerate(sequences.rows):
        held = [*clip_stances(sequences.slice(number, number + 1))]
        for segment in row["actors"][0]["segments"]:
            if segment["action"] in WALKING and "legs" in segment["parts"] and abs(segment["turn"]) < STRAIGHT:
                start, end = segment["start"] + EDGE * fps, segment["end"] - EDGE * fps
                yield from (each for each in held if start <= each.stride.strike and each.stride.next_strike <= end)


def clip_stances(sequence: Sequences) -> Iterator[Stance]:
    """Yield the stances of one sequence of one actor whose stride is straight and in the band of speeds."""
    forces, fps = compute_fields(sequence, ["contact_force"])["contact_force"][0, 0, 0], sequence.config.fps
    here = sequence.present[0, 0, 0]
    joints, contact = (values[0, 0, 0][here] for values in (sequence.joints, sequence.contact))
    forces = forces[here].astype(np.float64) / GRAVITY
    for each in strides_of(joints, contact, fps):
        way = np.diff(joints[each.strike : each.next_strike + 1, 0, ::2].astype(np.float64), axis=0)
        total = way.sum(0)
        if np.hypot(*total) >= DIRECT * np.hypot(*way.T).sum() and SLOWEST <= each.speed <= FASTEST:
            own = forces[each.strike : each.toe_off, each.foot]
            ahead = own[:, ::2] @ total / np.hypot(*total)
            load = forces[each.strike : each.next_strike, :, 1].sum(-1).max()
            yield Stance(each, np.stack([own[:, 1], ahead], axis=1), fps, float(load))


def recorded_stances(path: Path) -> Iterator[Stance]:
    """Yield the stances of the recorded walks of an archive at 25 frames per second."""
    config = posegen.load_config("default", ["fps=25"])
    clips = read_clip_archive(path, [])
    for joints, family in zip(clips.joints, clips.classes, strict=True):
        if family == "walk" and len(joints) > 2:
            contact = contacts_of(joints.astype(np.float64), config.fps)
            parts = (values[None, None, None] for values in (joints, np.zeros((len(joints), 5), np.uint16), contact))
            yield from clip_stances(Sequences(config, load_library(), np.zeros(1, np.int64), *parts, rows=()))


def over_stance(stance: Stance, component: int) -> Values:
    """Return a component of the force at :data:`PHASES` of the stance."""
    values = stance.force[:, component]
    return np.asarray(np.interp(PHASES, (np.arange(len(values)) + 0.5) / len(values), values))


def peaks(curve: Values) -> tuple[float, float, float]:
    """Return the first peak, the valley and the second peak: the largest of each half, and the least between both."""
    half = len(curve) // 2
    first, second = int(curve[:half].argmax()), half + int(curve[half:].argmax())
    return float(curve[first]), float(curve[first : second + 1].min()), float(curve[second])


def measures(held: list[Stance]) -> dict[str, tuple[float, Values]]:
    """Return for each measure its value of the mean curve, or its mean over the strides, and the value of each stride."""
    vertical, ahead = (np.array([over_stance(stance, component) for stance in held]) for component in (0, 1))
    mean, each = peaks(vertical.mean(0)), np.array([peaks(curve) for curve in vertical])
    found = {name: (mean[number], each[:, number]) for number, name in enumerate(TARGETS)}
    found["braking peak (BW)"] = float(ahead.mean(0).min()), ahead.min(1)
    found["propelling peak (BW)"] = float(ahead.mean(0).max()), ahead.max(1)
    impulse = [stance.force[:, 0].sum() / stance.fps for stance in held]
    others = {
        "largest force of both feet (BW)": [stance.load for stance in held],
        "stance (s)": [len(stance.force) / stance.fps for stance in held],
        "stance / stride": [stance.stride.stance for stance in held],
        "vertical impulse (BW s)": impulse,
        "impulse / half the stride (BW)": [2 * own / one.stride.seconds for own, one in zip(impulse, held, strict=True)],
    }
    return found | {name: (float(np.mean(values)), np.array(values)) for name, values in others.items()}


def table(generated: list[Stance], recorded: list[Stance]) -> list[str]:
    """Return the rows of the table of results."""
    counted = f"{len(generated)} generated strides", f"{len(recorded)} recorded strides"
    head = f"| measure | {counted[0]} | quartiles | target | result | {counted[1]} | quartiles |"
    rows = [head, "|---" * 7 + "|"]
    others = measures(recorded)
    for name, (value, each) in measures(generated).items():
        judged = " | "
        if name in TARGETS:
            low, high = TARGETS[name]
            judged = f"{low:g} to {high:g} | {'pass' if low <= value <= high else 'fail'}"
        spreads = ["{:.2f} to {:.2f}".format(*np.percentile(values, (25, 75))) for values in (each, others[name][1])]
        rows.append(f"| {name} | {value:.3f} | {spreads[0]} | {judged} | {others[name][0]:.3f} | {spreads[1]} |")
    return rows


def section(samples: int = 200, fps: int = 25) -> str:
    """Return the table for generated walks at a frame rate, and recorded ones at 25 frames per second."""
    generated = [*stances(sequences_of(samples, fps))]
    return "\n".join(table(generated, [*recorded_stances(Path(os.environ["POSEGEN_REFERENCE"]) / "cmu.npz")]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--fps", type=int, default=25)
    options = parser.parse_args()
    print(section(options.samples, options.fps))


if __name__ == "__main__":
    main()

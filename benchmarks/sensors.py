"""Simulated inertial sensors against recorded ones: ``python -m benchmarks.sensors`` writes ``docs/sensors.md``.

UTD-MHAD (Chen, Jafari and Kehtarnavaz 2015) has Kinect's skeletons and an inertial sensor at the right wrist (actions 1 to
21) or thigh (22 to 27); its file is in the folder in POSEGEN_SENSORS. The sensor is simulated from the skeleton alone. A
third of the trials, those whose numbers of action, subject and repetition add up to a multiple of three, is kept aside: the
method was settled on the others, and ``--kept`` measures the third.

The clocks of both devices are not given. The frames of a skeleton are spread evenly over the recording of the sensor (19
frames per second instead of the nominal 30), and the skeleton is late by :data:`LATE`, one number for all trials.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import forces
from posegen.exchange.points import body_of_points
from posegen.fields.imu import PLACEMENTS, clip_readings
from posegen.foundations.constants import GRAVITY
from posegen.mocap.convert import rest_offsets_of, stature_of

Values = NDArray[np.float64]
RATE, BAND, LATE = 50.0, 5.0, 0.06
"""Readings per second, the highest frequency that is compared, Hz, and seconds by which the skeleton is late."""
LATEST = 0.3
"""Seconds within which the best lag of each trial is searched, to show what the clocks cost."""
TARGET, LAST_AT_WRIST, EVERY = 0.6, 21, 3
BANDS = ((0.5, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 5.0), (5.0, 10.0), (10.0, 20.0))
PAGE = Path(__file__).parent.parent / "docs" / "sensors.md"


class Trial(NamedTuple):
    """A trial: action, subject and repetition, and the magnitude of acceleration as recorded and as simulated, m/s^2 [time]."""

    action: int
    subject: int
    repetition: int
    recorded: Values
    simulated: Values

    @property
    def is_kept(self) -> bool:
        return (self.action + self.subject + self.repetition) % EVERY == 0


def trials(folder: Path, subjects: tuple[int, ...] = (1, 2, 3, 4)) -> Iterator[Trial]:
    """Yield the trials of subjects, simulated from their skeletons."""
    with np.load(folder / "subjects_1_to_4.npz") as stored:
        for name in sorted({key.split("/")[0] for key in stored.files}):
            action, subject, repetition = (int(part[1:]) for part in name.split("_"))
            if subject in subjects:
                readings = stored[f"{name}/imu"].astype(np.float64)
                points = stored[f"{name}/skeleton"].astype(np.float64)
                recorded = GRAVITY * np.linalg.norm(readings[:, :3], axis=1)
                simulated = simulate(points, len(readings), action)
                yield Trial(action, subject, repetition, recorded, simulated)


def simulate(points: Values, count: int, action: int) -> Values:
    """Return `count` readings of the acceleration's magnitude by the points of a skeleton [frame, 20, 3]."""
    joints = body_of_points(points, "UTD-MHAD").joints
    offsets, fps = rest_offsets_of(joints), len(joints) * RATE / count
    place = [*PLACEMENTS].index("right_wrist" if action <= LAST_AT_WRIST else "right_thigh")
    readings = clip_readings(joints, fps, RATE, offsets, stature_of(offsets))[:count, place, :3]
    strength = np.linalg.norm(readings, axis=1)
    return np.asarray(np.pad(strength, (0, count - len(strength)), mode="edge"))


def low_pass(values: Values, highest: float = BAND) -> Values:
    """Return values without frequencies above `highest` Hz; the ends are continued as point reflections."""
    mirrored = [2 * values[0] - values[:0:-1], values, 2 * values[-1] - values[-2::-1]]
    spectrum = np.fft.rfft(np.concatenate(mirrored))
    whole = 3 * len(values) - 2
    gain = 1 / (1 + (np.fft.rfftfreq(whole, 1 / RATE) / highest) ** 8)
    return np.fft.irfft(spectrum * gain, whole)[len(values) - 1 : 2 * len(values) - 1]


def correlation(trial: Trial, late: float = LATE) -> float:
    """Return the correlation of both magnitudes below 5 Hz, the skeleton later by `late` seconds."""
    recorded, simulated = low_pass(trial.recorded), low_pass(trial.simulated)
    shift = round(late * RATE)
    size = len(recorded) - abs(shift)
    one, other = recorded[max(-shift, 0) :][:size], simulated[max(shift, 0) :][:size]
    return float(np.corrcoef(one, other)[0, 1])


def best_correlation(trial: Trial) -> float:
    """Return the correlation with the lag that suits this trial best: a bound for one lag of all, not a result."""
    steps = round(LATEST * RATE)
    return max(correlation(trial, step / RATE) for step in range(-steps, steps + 1))


def band_strengths(values: Values) -> Values:
    """Return the root of the power in each of :data:`BANDS`, m/s^2."""
    window = np.hanning(len(values))
    power = np.abs(np.fft.rfft((values - values.mean()) * window)) ** 2 * 2 / (window**2).sum() / len(values)
    at = np.fft.rfftfreq(len(values), 1 / RATE)
    return np.sqrt([power[(at >= low) & (at < high)].sum() for low, high in BANDS])


def table(held: list[Trial]) -> list[str]:
    """Return the rows of the tables of correlations and of spectra."""
    wrist = [trial for trial in held if trial.action <= LAST_AT_WRIST]
    groups = {"all": held, "right wrist": wrist, "right thigh": [trial for trial in held if trial.action > LAST_AT_WRIST]}
    rows = [
        "| sensor | trials | median correlation | quartiles | no lag | best lag of each trial | target | result |",
        "|---" * 8 + "|",
    ]
    for name, group in groups.items():
        found = [correlation(trial) for trial in group]
        low, middle, high = np.percentile(found, (25, 50, 75))
        others = [
            np.median([measure(trial) for trial in group]) for measure in (lambda one: correlation(one, 0.0), best_correlation)
        ]
        judged = f">= {TARGET} | {'pass' if middle >= TARGET else 'fail'}" if name == "all" else " | "
        rows.append(
            f"| {name} | {len(group)} | {middle:.4f} | {low:.2f} to {high:.2f} | {others[0]:.2f} | {others[1]:.2f} | {judged} |"
        )
    rows += [
        "",
        "| band (Hz) | wrist, recorded (m/s²) | wrist, simulated | thigh, recorded | thigh, simulated |",
        "|---" * 5 + "|",
    ]
    strengths: list[Any] = []
    for group in (wrist, groups["right thigh"]):
        for kind in ("recorded", "simulated"):
            strengths.append(np.median([band_strengths(getattr(trial, kind)) for trial in group], axis=0))
    for number, (low, high) in enumerate(BANDS):
        rows.append(f"| {low:g} to {high:g} | " + " | ".join(f"{values[number]:.2f}" for values in strengths) + " |")
    return rows


def main() -> None:
    """Print the tables of the trials that were not kept aside; with ``--kept``, write the page with both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", action="store_true", help="measure the trials that were kept aside, too, and write the page")
    options = parser.parse_args()
    held = list(trials(Path(os.environ["POSEGEN_SENSORS"])))
    print("\n".join(table([trial for trial in held if not trial.is_kept])))
    if options.kept:
        template = Path(__file__).with_name("sensors.template.md").read_text(encoding="utf-8")
        tables = {"kept": [trial for trial in held if trial.is_kept], "others": [trial for trial in held if not trial.is_kept]}
        for name, group in tables.items():
            template = template.replace(f"{{{name}}}", "\n".join(table(group)))
        template = template.replace("{forces}", forces.section())
        template = template.replace("{all}", "\n".join(table(held)[:3]))
        PAGE.write_text(template, encoding="utf-8")


if __name__ == "__main__":
    main()

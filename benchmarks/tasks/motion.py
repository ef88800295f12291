"""The task motion with ``quick`` against the mean motion and shuffled captions, and with ``balanced`` against real motion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.tasks.in_turn import figures_of_joins, figures_of_turns
from benchmarks.train.running import SAMPLES, Run, embedded, time_figures, trained
from posegen.training.encoder_measures import AnimationMeasures, measure_animation

QUICK_MINUTES, BALANCED_MINUTES = 6.0, 30.0
LEAST_OF_REAL = 0.5
"""Least R-precision of ``balanced``, as a share of that of real motion."""
MOST_SKATE = 0.03
"""Largest strict foot skate of ``balanced``."""
MOST_TIMES_CHANCE = 2.0
"""Largest R-precision with shuffled captions."""


def measure(folder: Path) -> Iterator[Figure]:
    path = embedded(folder.parent)
    judge = trained(path, "retrieval", "quick", folder / "judge").place
    quick = trained(path, "motion", "quick", folder / "quick")
    name = f"quick, task motion, {SAMPLES:,} samples"
    yield from time_figures(name, quick, QUICK_MINUTES, "quick motion")
    shuffled = trained(path, "motion", "quick", folder / "shuffled", "--set", "data.shuffle_labels=true")
    own, control = _judged(path, quick, judge), _judged(path, shuffled, judge)
    yield from _against_controls(name, own, control)
    yield from _reported(name, own)
    yield from figures_of_turns(name, quick.place, trained(path, "action", "quick", folder / "watcher").place)
    balanced = trained(path, "motion", "balanced", folder / "balanced")
    name = f"balanced, task motion, {SAMPLES:,} samples"
    yield from time_figures(name, balanced, BALANCED_MINUTES, "balanced motion")
    own = _judged(path, balanced, judge)
    share = own.made.precision / own.real.precision
    value = f"{100 * own.made.precision:.1f} %, {share:.2f} of the real motion's {100 * own.real.precision:.1f} %"
    yield Figure(f"{name}: R-precision", value, f"at least {LEAST_OF_REAL} of the real", share >= LEAST_OF_REAL)
    skate = own.made.figures["skate, strict"]
    value = f"{100 * skate:.2f} %; real motion {100 * own.real.figures['skate, strict']:.2f} %"
    yield Figure(f"{name}: strict skate", value, f"under {100 * MOST_SKATE:.0f} %", skate < MOST_SKATE)
    yield from _reported(name, own)
    yield from figures_of_joins(name, balanced.place)


def _judged(path: Path, run: Run, judge: Path) -> AnimationMeasures:
    return measure_animation(run.place, path, judge, None, lambda line: None)


def _against_controls(name: str, own: AnimationMeasures, control: AnimationMeasures) -> Iterator[Figure]:
    for kind, other in (("the mean motion", own.mean), ("shuffled captions", control.made)):
        nearer = own.made.frechet < other.frechet and own.made.precision > other.precision
        value = (
            f"FID {own.made.frechet:.4f} against {other.frechet:.4f}, R-precision {100 * own.made.precision:.1f} % against "
            f"{100 * other.precision:.1f} %"
        )
        yield Figure(f"{name}: beside {kind}", value, "nearer, and more precise", nearer)
    times = control.made.precision / control.chance
    value = f"R-precision {100 * control.made.precision:.1f} %, {times:.1f} times chance"
    yield Figure(f"{name}: with shuffled captions", value, "chance", times <= MOST_TIMES_CHANCE)


def _reported(name: str, own: AnimationMeasures) -> Iterator[Figure]:
    """Return all measures of the generated motion beside those of the real one."""
    made, real = own.made, own.real
    yield Figure(
        f"{name}: as the retrieval encoder sees it",
        f"FID {made.frechet:.4f} (one half of the real from the other {real.frechet:.4f}); "
        f"R-precision {100 * made.precision:.1f} % (real {100 * real.precision:.1f} %, chance {100 * own.chance:.1f} %); "
        f"diversity {made.diversity:.3f} (real {real.diversity:.3f}); multimodality {own.multimodality:.3f}",
    )
    for count, precision in made.precision_by_actions.items():
        value = f"{100 * precision:.1f} %; real {100 * real.precision_by_actions[count]:.1f} %"
        yield Figure(f"{name}: R-precision of captions of {count}", value)
    for figure, value in made.figures.items():
        yield Figure(f"{name}: {figure}", f"{value:.4g}; real {real.figures[figure]:.4g}")

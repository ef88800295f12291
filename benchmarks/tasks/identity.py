"""The task identity with ``quick`` on unseen identities, and with shuffled identities as a control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import SAMPLES, Run, dataset, time_figures, trained

MOST_MINUTES = 6.0
LEAST_AREA = 0.9
FALSE_ACCEPT_RATE = 0.01
MOST_FROM_CHANCE = 0.05
"""Largest distance of a control's AUC from .5: the clips of some hundred identities are not independent."""


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    name = f"quick, task identity, {SAMPLES:,} samples"
    run = trained(path, "identity", "quick", folder / "quick")
    yield from time_figures(name, run, MOST_MINUTES, "quick identity")
    found = run.measures
    pairs = f"{found['same_pairs']:.0f} pairs of one, {found['other_pairs']:.0f} of two"
    value = f"{_reported(found, '')}; {found['persons']:.0f} persons, {pairs}"
    target = f"AUC at least {LEAST_AREA} on persons never trained on"
    yield Figure(f"{name}: persons", value, target, found["auc"] >= LEAST_AREA, {"quick identity": f"AUC {found['auc']:.3f}"})
    yield Figure(f"{name}: look-alikes", f"{_reported(found, 'alike_')}; {found['alike_pairs']:.0f} pairs")
    yield decision_figure(name, run)
    sizes = f"AUC {found['size_auc']:.3f}, of look-alikes {found['alike_size_auc']:.3f}"
    yield Figure(f"{name}: lengths of bones alone", sizes)
    for by, suffix in (("body", ""), ("style", ", by style")):
        how = ("--set", f"identity.by={by}")
        if by == "style":
            found = trained(path, "identity", "quick", folder / by, *how).measures
            yield Figure(f"{name}: persons by style alone", f"{_reported(found, '')}; look-alikes {_reported(found, 'alike_')}")
        still = ("--set", "optimiser.rate=0", "--set", "steps=10")
        found = trained(path, "identity", "quick", folder / f"untrained {by}", *how, *still).measures
        value = f"{_reported(found, '')}; look-alikes {_reported(found, 'alike_')}"
        yield Figure(f"{name}: an encoder that is not trained{suffix}", value)
    control = trained(path, "identity", "quick", folder / "shuffled", "--set", "data.shuffle_labels=true").measures
    near = abs(control["auc"] - 0.5) <= MOST_FROM_CHANCE
    yield Figure(f"{name}: with shuffled persons", _reported(control, ""), f"AUC within {MOST_FROM_CHANCE} of .5", near)


def decision_figure(name: str, run: Run) -> Figure:
    """Return what the calibrated threshold promises of persons never trained on, beside what other such persons have."""
    rate = next(rate for rate in run.result["table"]["rates"] if rate["far"] == FALSE_ACCEPT_RATE)
    low, high, measured = rate["tar_low"], rate["tar_high"], rate["test_tar"]
    value = (
        f"TAR {100 * measured:.1f} % at FAR {100 * rate['test_far']:.2f} % of {run.measures['persons']:.0f} persons; promised "
        f"{100 * rate['tar']:.1f} % ({100 * low:.1f} to {100 * high:.1f}), from {rate['persons']} other persons"
    )
    target = "TAR within the promised interval"
    return Figure(f"{name}: decision at FAR {100 * FALSE_ACCEPT_RATE:g} %", value, target, low <= measured <= high)


def _reported(found: dict[str, float], kind: str) -> str:
    area, error, taken = (found[f"{kind}{measure}"] for measure in ("auc", "equal_error", "tar"))
    return f"AUC {area:.3f}, equal error rate {error:.3f}, TAR {100 * taken:.1f} % at FAR 1 %"

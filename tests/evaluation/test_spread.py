"""Distribution of measures over clips, against NumPy, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.evaluation.spread import SpreadTally


def test_a_spread_equals_that_of_all_values() -> None:
    draws = np.random.default_rng(3).normal(size=(1000, 2)).astype(np.float32)
    draws[::7, 1] = np.nan
    tally = SpreadTally(("skate", "fall"))
    for number, row in enumerate(draws):
        tally.add(f"clip {number}", dict(zip(("skate", "fall"), row.tolist(), strict=True)))
    found = tally.spreads()
    assert len(tally) == 1000
    skate, known = found["skate"], draws[np.isfinite(draws[:, 1]), 1]
    assert (skate.clips, found["fall"].clips) == (1000, len(known))
    assert (skate.median, skate.high, skate.percentile99) == pytest.approx(np.percentile(draws[:, 0], [50, 95, 99]))
    assert found["fall"].high == pytest.approx(np.percentile(known, 95))
    assert skate.worst == pytest.approx(np.sort(draws[:, 0])[-10:].mean())
    assert [name for name, _ in skate.worst_clips] == [f"clip {n}" for n in np.argsort(-draws[:, 0])[:10]]


def test_some_of_many_clips_are_kept_and_the_worst_are_named() -> None:
    tally = SpreadTally(("figure",), most_kept=100, most_named=5)
    for number in range(1000):
        tally.add(f"clip {number}", {"figure": float(number)})
    found = tally.spreads()["figure"]
    assert found.clips == 1000
    assert found.median == pytest.approx(500, abs=15)
    assert found.worst_clips == [(f"clip {n}", float(n)) for n in (999, 998, 997, 996, 995)]


def test_the_first_of_equal_clips_is_named_and_none_without_values() -> None:
    tally = SpreadTally(("figure", "absent"))
    for number in range(10):
        tally.add(f"clip {number}", {"figure": 0.0, "absent": np.nan})
    found = tally.spreads()
    assert found["figure"].worst_clips == [("clip 0", 0.0)]
    assert found["absent"].clips == 0
    assert found["absent"].worst_clips == []

"""Statistics equal those of all values at once, by split, and do not depend on threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import posegen
from posegen.dataset.splits import in_split
from posegen.foundations.errors import UsageError
from tests.once import made_once

SAMPLES = 33


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        config = posegen.load_config("pairs", ["frames=40", "length={min: 20, max: 40}", "store={shard: 16, chunk: 8}"])
        posegen.generate(config, samples=SAMPLES, workers=1, out=folder / "motion")

    return made_once(tmp_path_factory, "statistics", make) / "motion"


@pytest.mark.parametrize(("split", "variants"), [(None, None), ("training", ["base", "mirror"]), ("test", "scale")])
def test_they_are_those_of_all_values(path: Path, split: str | None, variants: list[str] | str | None) -> None:
    dataset = posegen.open(path)
    chosen = np.arange(SAMPLES) if split is None else in_split(dataset.header.seed, range(SAMPLES), split)
    names = dataset.header.variants if variants is None else [variants] if isinstance(variants, str) else variants
    values = dataset.arrays("joints")[chosen][:, [dataset.header.variants.index(name) for name in names]].astype(np.float64)
    values = values.reshape(-1, 22, 3)
    assert np.isnan(values).any()
    one, three = (dataset.stats("joints", split=split, variants=variants, threads=threads) for threads in (1, 3))
    np.testing.assert_allclose(one.mean, np.nanmean(values, axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.std, np.nanstd(values, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(one.count, (~np.isnan(values)).sum(axis=0))
    assert (one.mean.tobytes(), one.std.tobytes()) == (three.mean.tobytes(), three.std.tobytes())


def test_mistakes_are_explained(path: Path) -> None:
    dataset = posegen.open(path)
    with pytest.raises(UsageError, match="has no field of numbers 'action'"):
        dataset.stats("action")
    with pytest.raises(UsageError, match="has no variant 'mirrored'; did you mean 'mirror'"):
        dataset.stats(variants="mirrored")
    with pytest.raises(UsageError, match="there is no split 'tests'; did you mean 'test'"):
        dataset.stats(split="tests")

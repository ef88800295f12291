"""Conditions select the sequences for which they hold in batches, in mixes and for plain loaders; the page lists some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posegen
from posegen.foundations.errors import UsageError
from tests.once import made_once

SAMPLES = 20
PAGE = Path(__file__).parents[2] / "docs" / "reading.md"

Row = dict[str, Any]


def performed(row: Row) -> list[Row]:
    return [segment for actor in row["actors"][:1] for segment in actor["segments"]]


EXPECTED: tuple[Callable[[Row, float], bool], ...] = (
    lambda row, _: row["duration"] > 4 and row["theme"] in {"gym", "home", "office", "park", "street"},
    lambda row, _: "walk" in {segment["action"] for segment in performed(row)},
    lambda row, _: any(segment["action"] == "walk" and segment["speed"] > 1.2 for segment in performed(row)),
    lambda row, _: any("left hand" in caption["text"].lower() for caption in row["captions"]),
    lambda row, _: row["actors"][0]["age"] > 40 and not row["actors"][0]["male"],
    lambda row, _: row["variant"] == "speed" and row["parameters"]["speed"] > 1,
    lambda _, quality: quality > 0.99,
)
"""What each condition on the page states, in order."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(out: Path) -> None:
        for seed in (1, 2):
            config = posegen.load_config("default", [f"seed={seed}", "store={shard: 15, chunk: 5}"])
            posegen.generate(config, samples=SAMPLES, workers=1, out=out / str(seed))
            posegen.derive(out / str(seed), ["quality"], workers=1)

    return made_once(tmp_path_factory, "conditions", make)


def conditions() -> list[str]:
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for line in block.splitlines() if line]


def listed(batches: Any) -> Counter[tuple[int, str]]:
    return Counter(pair for batch in batches for pair in zip(batch.sample.tolist(), batch.variant, strict=True))


def test_the_conditions_of_the_page_select_what_they_state(folder: Path) -> None:
    dataset = posegen.open(folder / "1")
    qualities = dataset.arrays("quality").min(axis=2)
    for where, holds in zip(conditions(), EXPECTED, strict=True):
        expected = {
            (row["sample"], row["variant"])
            for sample in range(SAMPLES)
            for row, quality in zip(dataset.rows(sample), qualities[sample], strict=True)
            if holds(row, float(quality))
        }
        assert 0 < len(expected) < 5 * SAMPLES, (where, np.sort(qualities.ravel()))
        found = listed(dataset.batches(7, where=where, window=50, fields=["length"]))
        assert found == Counter(dict.fromkeys(expected, 1)), where
        two = listed(dataset.batches(7, where=where, window=50, fields=["length"], variants=["base", "speed"]))
        assert two == Counter({pair: 1 for pair in expected if pair[1] in {"base", "speed"}}), where


def test_a_plain_loader_and_a_mix_select_the_same(folder: Path) -> None:
    torch = pytest.importorskip("posegen.torch")
    where, split = conditions()[0], "training"
    each = [posegen.open(folder / name) for name in ("1", "2")]
    expected = [listed(dataset.batches(7, where=where, split=split, fields=["length"])) for dataset in each]
    items = torch.Dataset(each[0], ["length"], where=where, split=split)
    assert Counter((item["sample"], item["variant"]) for item in items) == expected[0]
    found: Counter[tuple[int, int, str]] = Counter()
    both = f"({where}) AND variant <> 'scale'"
    for batch in posegen.concat(each, [1, 2]).batches(7, where=both, split=split, fields=["length"]):
        found.update(zip(batch.dataset.tolist(), batch.sample.tolist(), batch.variant, strict=True))
    for number, times in ((0, 1), (1, 2)):
        own = {pair for pair in expected[number] if pair[1] != "scale"}
        assert found == found | Counter({(number, *pair): times for pair in own})
        assert {(sample, variant) for n, sample, variant in found if n == number} == own


def test_conditions_that_cannot_be_used_are_refused(folder: Path) -> None:
    dataset = posegen.open(folder / "1")
    with pytest.raises(UsageError, match=r"no sample in the split test for which duration > 900 holds"):
        dataset.batches(4, where="duration > 900", split="test")
    with pytest.raises(UsageError, match=r"'nonsense > 3' cannot be used: .* Columns: sample, variant"):
        dataset.batches(4, where="nonsense > 3")
    with pytest.raises(UsageError, match="has no stored table of sequences"):
        posegen.stream(dataset.config, samples=9).batches(4, where="duration > 4")


def test_quality_needs_its_field(tmp_path: Path) -> None:
    posegen.generate(posegen.load_config("smoke", ["frames=30"]), samples=3, workers=1, out=tmp_path / "plain")
    with pytest.raises(UsageError, match="and quality after posegen derive DATASET --add quality"):
        posegen.open(tmp_path / "plain").batches(4, where="quality > 0.5")
    assert np.isfinite(posegen.open(tmp_path / "plain").arrays("contact")).all()

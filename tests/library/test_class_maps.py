"""Classes of other datasets: their numbers, names of the library, and configs that show each class equally often."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from posegen.library.class_maps import class_maps, equal_quotas
from posegen.library.load import load_library

CONFIGS = Path(__file__).parents[2] / "configs" / "classes"
SIZES = {"ntu60": 60, "ntu120": 120, "utd_mhad": 27, "pku_mmd": 51, "babel60": 60, "humanact12": 12}


def test_classes_have_their_numbers_and_names_of_the_library() -> None:
    library, maps = load_library(), class_maps()
    assert {name: len(classes.classes) for name, classes in maps.items()} == SIZES
    for classes in maps.values():
        assert len({*classes.classes}) == len(classes.classes)
        assert {*classes.actions} | {*classes.interactions} <= {*classes.classes}
        assert not {*classes.actions} & {*classes.interactions}
        assert {name for names in classes.actions.values() for name in names} <= {*library.actions}
        assert {name for names in classes.interactions.values() for name in names} <= {*library.interactions}
    ntu = maps["ntu120"]
    assert [ntu.classes.index(label) + ntu.first for label in ("staggering", "shoot at basket", "high five")] == [42, 63, 112]
    assert ntu.classes[:60] == maps["ntu60"].classes


@pytest.mark.parametrize("name", SIZES)
def test_a_config_asks_for_each_class_equally_often(name: str) -> None:
    config, classes = posegen.load_config(str(CONFIGS / f"{name}.yaml")), class_maps()[name]
    assert config.quotas is not None
    held = {quota.actions + quota.interactions: quota.amount for quota in config.quotas.exact}
    wanted = [classes.names(label) for label in classes.classes if classes.names(label)]
    assert {*held} == {*wanted}
    assert len({*held.values()}) == 1
    assert min(held.values()) >= 100


def test_samples_show_the_classes() -> None:
    classes = class_maps()["utd_mhad"]
    config = Config.model_validate(
        {"quotas": {"exact": equal_quotas(classes, 1)}, "variants": dict.fromkeys(("speed", "scale"))}
    )
    batch = posegen.synthesize(config, range(len(classes.actions)))
    shown = Counter(
        label
        for row in batch.rows[:: len(batch.variants)]
        for label, names in classes.actions.items()
        if {*names} & {segment["action"] for segment in row["actors"][0]["segments"]}
    )
    assert min(shown[label] for label in classes.actions) >= 1

"""What holds for all fields."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import posegen
from posegen.cli.derive import FIELDS
from posegen.cli.main import main
from posegen.config.groups import FieldName
from posegen.config.schema import load_config
from posegen.dataset.compare import differences
from posegen.dataset.verify import verify
from posegen.errors import PosegenError, UsageError
from posegen.fields.families import FAMILIES, compute, families_asked_for
from posegen.fields.family import Sequences

SMALL = ["frames=30", "variants.speed=null", "store.shard=4", "store.chunk=2"]


def test_the_config_knows_all_of_them() -> None:
    assert get_args(FieldName) == ("joints", "action", "contact", *FAMILIES)
    assert FIELDS.replace(" or ", ", ").split(", ") == list(FAMILIES)


def test_arrays_and_dimensions_have_one_meaning_each() -> None:
    names = [field.name for family in FAMILIES.values() for field in family.fields]
    assert len({*names, "joints", "action", "contact"}) == len(names) + 3
    sizes: dict[str, int] = {}
    for family in FAMILIES.values():
        for field in family.fields:
            for axis, values in field.axes.items():
                size = values if isinstance(values, int) else len(values)
                assert sizes.setdefault(axis, size) == size, "xarray takes one size a dimension"


@pytest.mark.parametrize("name", FAMILIES)
def test_each_is_as_described_and_absent_where_nobody_is(name: str, sequences: Sequences) -> None:
    family, (samples, variants, actors, frames) = FAMILIES[name], sequences.shape
    arrays = family.compute(sequences)
    assert list(arrays) == [field.name for field in family.fields]
    sizes = {"actor": actors, "frame": frames}
    for field in family.fields:
        ends = [axis if isinstance(axis, int) else len(axis) for axis in field.axes.values()]
        values = arrays[field.name]
        assert values.shape == (samples, variants, *(sizes[axis] for axis in field.of), *ends)
        assert values.dtype == field.dtype
        present = {("actor", "frame"): sequences.present, ("actor",): sequences.present.any(3)}
        present |= {("frame",): sequences.present.any(2), (): sequences.present.any((2, 3))}
        is_absent = np.isnan(values) if values.dtype.kind == "f" else values == field.fill
        assert is_absent[~present[field.of]].all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sample_does_not_depend_on_those_beside_it(name: str, sequences: Sequences) -> None:
    together, alone = compute(sequences, [name]), compute(sequences.part(4, 5), [name])
    for field, values in alone.items():
        np.testing.assert_array_equal(values[0].view(np.uint8), together[field][4].view(np.uint8), field)


def test_made_or_derived_is_the_same_to_the_bit(tmp_path: Path) -> None:
    names = list(FAMILIES)
    # Two shards, the second of which is not full.
    made = load_config("smoke", [*SMALL, f"store.fields={['joints', 'action', 'contact', *names]}"])
    posegen.generate(made, samples=5, workers=1, out=tmp_path / "made")
    posegen.generate(load_config("smoke", SMALL), samples=5, workers=1, out=tmp_path / "derived")
    posegen.derive(tmp_path / "derived", names, workers=1)
    assert verify(tmp_path / "made") == verify(tmp_path / "derived") == []
    assert differences(tmp_path / "made", tmp_path / "derived") == []
    assert {*posegen.open(tmp_path / "derived").fields} == {*posegen.open(tmp_path / "made").fields}
    assert main(["verify", "--deep", str(tmp_path / "derived"), "--quiet"]) == 0


def test_other_readers_take_them_as_they_are(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    posegen.generate(load_config("smoke", SMALL), samples=5, workers=1, out=tmp_path / "motion")
    posegen.derive(tmp_path / "motion", ["keypoints", "objects"], workers=1)
    with xarray.open_zarr(str(tmp_path / "motion/motion.zarr"), consolidated=False) as opened:
        assert opened["keypoints"].dims == ("sample", "variant", "actor", "frame", "joint", "pixel")
        np.testing.assert_array_equal(opened["extrinsics"].values, posegen.open(tmp_path / "motion").arrays("extrinsics"))


def test_what_one_needs_comes_before_it() -> None:
    assert [family.name for family in families_asked_for(["keypoints"])] == ["camera", "keypoints"]


def test_what_cannot_be_derived_is_refused_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "motion"
    posegen.generate(load_config("smoke", [*SMALL, "store.fields=[joints]"]), samples=2, workers=1, out=place)
    with pytest.raises(UsageError, match="did you mean 'velocity'"):
        posegen.derive(place, ["velocty"])
    with pytest.raises(PosegenError, match="does not store contact"):
        posegen.derive(place, ["quality"])
    assert main(["derive", str(place)]) == 2
    assert "--add" in capsys.readouterr().err
    assert main(["derive", str(place), "--add", "stick", "--workers", "0"]) == 2
    assert main(["info", str(place)]) == 0

"""Properties of every derived field, and of the registry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.load import load_config
from posegen.dataset.compare import compare
from posegen.dataset.verify import verify
from posegen.fields.field import DerivedField, Sequences, compute_fields
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import FIELDS, STORED_ARRAYS, Registry
from tests.fields.conftest import computed
from tests.installing import install

SMALL = ["frames=30", "variants.speed=null", "store.shard=4", "store.chunk=2"]

PLUGIN = """
import numpy as np
from posegen.fields.field import DerivedField, FieldArray

def compute(sequences):
    return {"height": sequences.joints[..., 1].max(-1)}

HEIGHT = DerivedField("height", 1, "highest joint", (FieldArray("height", {}, attributes={"units": "m"}),), compute)
"""


def test_names_and_records_agree() -> None:
    assert [FIELDS.load(name).name for name in FIELDS.built_in] == list(FIELDS.built_in)


def test_arrays_and_dimensions_have_one_meaning_each() -> None:
    records: list[DerivedField] = [FIELDS.load(name) for name in FIELDS.names()]
    names = [array.name for record in records for array in record.arrays]
    assert len({*names, *STORED_ARRAYS}) == len(names) + 3
    sizes: dict[str, int] = {}
    for record in records:
        for array in record.arrays:
            for axis, values in array.axes.items():
                size = values if isinstance(values, int) else len(values)
                assert sizes.setdefault(axis, size) == size, "xarray takes one size per dimension"


@pytest.mark.parametrize("name", FIELDS.built_in)
def test_arrays_match_their_description_and_are_absent_with_the_actor(name: str, sequences: Sequences) -> None:
    record: DerivedField = FIELDS.load(name)
    samples, variants, actors, frames = sequences.shape
    arrays = computed(name, sequences)
    assert list(arrays) == [array.name for array in record.arrays]
    sizes = {"actor": actors, "frame": frames}
    for array in record.arrays:
        ends = [axis if isinstance(axis, int) else len(axis) for axis in array.axes.values()]
        values = arrays[array.name]
        assert values.shape == (samples, variants, *(sizes[axis] for axis in array.per), *ends)
        assert values.dtype == array.dtype
        present = {("actor", "frame"): sequences.present, ("actor",): sequences.present.any(3)}
        present |= {("frame",): sequences.present.any(2), (): sequences.present.any((2, 3))}
        is_absent = np.isnan(values) if values.dtype.kind == "f" else values == array.fill
        assert is_absent[~present[array.per]].all()


@pytest.mark.parametrize("name", FIELDS.built_in)
def test_a_sample_does_not_depend_on_its_neighbours(name: str, sequences: Sequences) -> None:
    together, alone = compute_fields(sequences, [name]), compute_fields(sequences.slice(4, 5), [name])
    for array, values in alone.items():
        np.testing.assert_array_equal(values[0].view(np.uint8), together[array][4].view(np.uint8), array)


def test_generated_and_derived_fields_are_identical(tmp_path: Path) -> None:
    names = list(FIELDS.built_in)
    # Two shards, the second of which is not full.
    config = load_config("smoke", [*SMALL, f"store.fields={[*STORED_ARRAYS, *names]}"])
    posegen.generate(config, samples=5, workers=1, out=tmp_path / "generated")
    posegen.generate(load_config("smoke", SMALL), samples=5, workers=1, out=tmp_path / "derived")
    posegen.derive(tmp_path / "derived", names, workers=1)
    assert verify(tmp_path / "generated") == verify(tmp_path / "derived") == []
    assert not compare(tmp_path / "generated", tmp_path / "derived").differences
    assert {*posegen.open(tmp_path / "derived").fields} == {*posegen.open(tmp_path / "generated").fields}
    assert main(["verify", "--deep", str(tmp_path / "derived"), "--quiet"]) == 0


def test_other_libraries_read_them(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    posegen.generate(load_config("smoke", SMALL), samples=5, workers=1, out=tmp_path / "motion")
    posegen.derive(tmp_path / "motion", ["keypoints", "objects"], workers=1)
    with xarray.open_zarr(str(tmp_path / "motion/motion.zarr"), consolidated=False) as opened:
        assert opened["keypoints"].dims == ("sample", "variant", "actor", "frame", "joint", "pixel")
        np.testing.assert_array_equal(opened["extrinsics"].values, posegen.open(tmp_path / "motion").arrays("extrinsics"))


def test_a_plugin_adds_a_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "package", PLUGIN, fields="HEIGHT")
    monkeypatch.syspath_prepend(str(tmp_path / "package"))
    # The plug-ins that a registry has found are kept: look again, and again after the test.
    fresh: Registry[DerivedField] = Registry(FIELDS.group, FIELDS.built_in)
    for module in ("posegen.config.schema", "posegen.fields.field", "posegen.foundations.plugins"):
        monkeypatch.setattr(f"{module}.FIELDS", fresh)
    posegen.generate(load_config("smoke", SMALL), samples=2, workers=1, out=tmp_path / "derived")
    posegen.derive(tmp_path / "derived", ["height"], workers=1)
    config = load_config("smoke", [*SMALL, "store.fields=[joints, action, contact, height]"])
    posegen.generate(config, samples=2, workers=1, out=tmp_path / "generated")
    assert not compare(tmp_path / "generated", tmp_path / "derived").differences
    dataset = posegen.open(tmp_path / "derived")
    np.testing.assert_array_equal(dataset.arrays("height"), dataset.arrays("joints")[..., 1].max(-1))


def test_impossible_requests_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "motion"
    posegen.generate(load_config("smoke", [*SMALL, "store.fields=[joints]"]), samples=2, workers=1, out=path)
    with pytest.raises(UsageError, match="did you mean 'velocity'"):
        posegen.derive(path, ["velocty"])
    with pytest.raises(PosegenError, match="does not store contact"):
        posegen.derive(path, ["quality"])
    assert main(["derive", str(path)]) == 2
    assert "--add" in capsys.readouterr().err
    assert main(["derive", str(path), "--add", "velocity", "--workers", "0"]) == 2
    assert main(["info", str(path)]) == 0

"""A lost header: verify continues without it, and it is recovered with the same content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from posegen.dataset.documents import seal
from posegen.dataset.header import inspect_header, load_header, repair_header
from posegen.dataset.read import open_dataset
from posegen.dataset.verify import verify
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError
from tests.dataset.tiny import commit, make_header

HEADER = "dataset.json"


def lose(dataset: Path, how: str) -> None:
    file = dataset / HEADER
    data = file.read_bytes()
    file.unlink()
    if how == "damaged":
        file.write_bytes(data.replace(b"CC0", b"CC1"))
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "linked":
        (dataset.parent / "outside").write_bytes(data)
        file.symlink_to(dataset.parent / "outside")
    elif how == "a receipt":
        file.write_bytes((dataset / "receipts" / "00001.json").read_bytes())
    elif how == "of another":
        file.write_bytes(make_header(identity="f" * 32, name="other", samples=14).to_bytes())


@pytest.mark.parametrize("how", ["gone", "damaged", "empty", "linked", "a receipt", "of another"])
def test_a_lost_header_is_reported_and_repaired(how: str, dataset: Path) -> None:
    intact = (dataset / HEADER).read_bytes()
    lose(dataset, how)
    with pytest.raises(PosegenError, match="verify .* --repair" if how in ("gone", "damaged", "empty", "a receipt") else "."):
        open_dataset(dataset)
    assert [(problem.file, problem.repairable) for problem in verify(dataset)] == [(HEADER, True)]
    repair_header(dataset, "run")
    assert (dataset / HEADER).read_bytes() == intact
    assert verify(dataset) == []
    assert len(open_dataset(dataset)) == 14


def test_a_header_exchanged_with_its_copy_is_damage(dataset: Path) -> None:
    header, copy = dataset / HEADER, dataset / "dataset.copy.json"
    intact = header.read_bytes(), copy.read_bytes()
    header.write_bytes(intact[1])
    copy.write_bytes(intact[0])
    with pytest.raises(PosegenError, match=r"verify .* --repair"):
        open_dataset(dataset)
    assert {(problem.file, problem.repairable) for problem in verify(dataset)} == {(HEADER, True), (copy.name, True)}
    repair_header(dataset, "run")
    assert header.read_bytes() == intact[0]
    publish(dataset, load_header(dataset), 14)
    assert copy.read_bytes() == intact[1]
    assert verify(dataset) == []


def recovered_samples(dataset: Path) -> int:
    header = inspect_header(dataset)[0]
    assert header is not None
    return header.samples


def test_other_damage_is_reported_without_a_header(dataset: Path) -> None:
    lose(dataset, "damaged")
    (dataset / "sequences/part-00001.parquet").unlink()
    os.truncate(dataset / "receipts/00002.json", 5)
    assert {problem.file for problem in verify(dataset)} == {HEADER, "sequences/part-00001.parquet", "receipts/00002.json"}
    assert recovered_samples(dataset) == 14


def test_samples_are_recovered_from_arrays_or_receipts(dataset: Path) -> None:
    header = load_header(dataset)
    lose(dataset, "gone")
    for name in ("joints", "action"):  # the arrays decide
        (dataset / "motion.zarr" / name / "zarr.json").write_bytes(b"?")
    (dataset / "receipts/00002.json").unlink()
    assert recovered_samples(dataset) == 14
    (dataset / "motion.zarr/contact/zarr.json").unlink()  # the complete shards decide
    assert recovered_samples(dataset) == 12
    commit(dataset, header, 2, 14)
    (dataset / "receipts/00001.json").unlink()
    assert recovered_samples(dataset) == 14


def test_a_header_with_fewer_samples_than_the_arrays_is_valid(dataset: Path) -> None:
    before = (dataset / HEADER).read_bytes()
    commit(dataset, load_header(dataset), 2, 16)
    publish(dataset, load_header(dataset), 16)
    (dataset / HEADER).write_bytes(before)  # as of a run that died after it had extended the arrays
    assert verify(dataset) == []
    repair_header(dataset, "run")
    assert (dataset / HEADER).read_bytes() == before


def test_the_header_of_another_dataset_is_not_changed(dataset: Path) -> None:
    lose(dataset, "damaged")
    damaged = (dataset / HEADER).read_bytes()
    repair_header(dataset, "run", "f" * 32)
    assert (dataset / HEADER).read_bytes() == damaged


def test_a_header_with_a_later_format_version_is_not_overwritten(dataset: Path) -> None:
    later = make_header(samples=14).to_json() | {"format_version": 2, "news": True}
    (dataset / HEADER).write_bytes(seal(later, indent=2))
    (problem,) = verify(dataset)
    assert not problem.repairable
    assert "Use a newer posegen" in problem.what
    repair_header(dataset, "run")
    assert (dataset / HEADER).read_bytes() == seal(later, indent=2)


def test_without_a_copy_nothing_is_recovered(dataset: Path) -> None:
    for name in (HEADER, "dataset.copy.json"):
        (dataset / name).write_bytes(b"{}")
    assert [(problem.file, problem.repairable) for problem in verify(dataset)] == [(HEADER, False)]
    repair_header(dataset, "run")
    assert (dataset / HEADER).read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("how", "hint"), [("damaged", r"\. Delete it and run"), ("gone", r"is missing\. Run the same `posegen generate`")]
)
def test_without_a_copy_the_hint_is_to_generate_again(how: str, hint: str, dataset: Path) -> None:
    lose(dataset, how)
    (dataset / "dataset.copy.json").write_bytes(b"{}")
    with pytest.raises(PosegenError, match=hint) as raised:
        open_dataset(dataset)
    assert "--repair" not in str(raised.value)


def test_a_damaged_copy_is_reported_and_does_not_prevent_reading(dataset: Path) -> None:
    (dataset / "dataset.copy.json").write_bytes(b"{}")
    assert [(problem.file, problem.repairable) for problem in verify(dataset)] == [("dataset.copy.json", True)]
    assert open_dataset(dataset).arrays("joints").shape[0] == 14
    publish(dataset, load_header(dataset), 14)
    assert verify(dataset) == []

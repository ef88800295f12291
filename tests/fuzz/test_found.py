"""What fuzzing found once, so that it does not come back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import xxhash

from benchmarks.keep.guided import guided, is_possible
from posegen.config.load import apply_overrides, load_config
from posegen.dataset.documents import Origin, seal, unseal
from posegen.errors import PosegenError, UsageError
from posegen.yaml_files import LARGEST_FILE, parse_yaml, read_yaml


@pytest.mark.parametrize("half", [b"\\ud800", b"\xed\xa0\x80"])
def test_half_a_character_in_a_sealed_document(half: bytes) -> None:
    source = Origin("dataset.json", "Mend it.")
    good = seal({"name": 'a "quoted"\t\x01 ü'})
    assert unseal(good, source) == {"name": 'a "quoted"\t\x01 ü'}
    body = b'"name":"' + half + b'"}'
    data = b'{"hash":"' + xxhash.xxh3_128_hexdigest(body).encode() + b'",' + body
    with pytest.raises(PosegenError, match="is not valid JSON"):
        unseal(data, source)


def test_half_a_character_in_yaml() -> None:
    with pytest.raises(UsageError, match="here: is not valid text; write it in UTF-8"):
        parse_yaml("\ud800", "here")


def test_a_key_of_thousands_of_parts() -> None:
    with pytest.raises(UsageError, match="must be KEY=VALUE"):
        apply_overrides({}, ["a." * 33 + "b=1"])
    assert apply_overrides({}, ["a." * 31 + "b=1"])[1] == {"a." * 31 + "b": "--set "}


def test_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(UsageError, match=r"samples: .* \(got a number too long to show\)"):
        load_config("smoke", samples=10**5000)


def test_a_file_out_of_which_nothing_comes() -> None:
    """Some files of the kernel's say that they are plain ones, and have nothing to give and no end."""
    file = Path("/proc/kmsg")
    if not file.exists():
        pytest.skip("there is no such file here")
    # Whether it may be opened depends on who asks, and now and then the kernel has something to say after all.
    with suppress(UsageError):
        said = read_yaml(file)
        assert said is None or str(said).startswith(("<", "{'<"))


def test_a_hundred_thousand_unknown_keys_are_told_of_at_once(tmp_path: Path) -> None:
    """Guesses for each of them took a minute: now there are ten, whatever the file."""
    guesses: list[str] = []
    file = tmp_path / "a.yaml"
    file.write_text("\n".join(f"k{number}: 1" for number in range(50_000)))
    assert file.stat().st_size < LARGEST_FILE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("posegen.validation.did_you_mean", lambda name, _: guesses.append(name) or "")
        with pytest.raises(UsageError, match="and 49,990 more problems"):
            load_config(file)
    assert len(guesses) == 10


@pytest.mark.skipif(not is_possible(), reason="atheris is not installed")
def test_atheris_leads(tmp_path: Path) -> None:
    tally = guided(tmp_path, "configs", 200)
    assert tally.inputs == 200
    assert tally.crashes == []

"""Only plain data comes out of a YAML file, and whatever else is in it is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posegen.foundations.errors import UsageError
from posegen.foundations.wording import hidden_character
from posegen.foundations.yaml_files import LARGEST_FILE, dump_yaml, parse_yaml, read_yaml

VISIBLE = st.text(max_size=8).filter(lambda text: not hidden_character(text, "\n\t"))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | VISIBLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(VISIBLE, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
@example("0E0")
@example(["1e3", "yes", "~", 1e300, "\u00a0"])
def test_yaml_round_trip(data: object) -> None:
    text = dump_yaml(data)
    if "&id" not in text:  # PyYAML writes an anchor where one list occurs twice
        assert parse_yaml(text, "here") == data


@given(st.text(max_size=60))
def test_any_text_is_either_parsed_or_refused(text: str) -> None:
    message = "here: "
    try:
        parse_yaml(text, "here")
    except UsageError as error:
        message = str(error)
    assert message.startswith("here: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("true", True),
        ("", None),
        ("~", None),
        ("1e5", 100000.0),
        (".5", 0.5),
        ("-3", -3),
        ("010", 10),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("2024-01-01", "2024-01-01"),
        ("-.inf", float("-inf")),
        ("'5'", "5"),
        ('"null"', "null"),
        ("{1: once, no: x, null: y}", {"1": "once", "no": "x", "null": "y"}),
        ("a: # nothing", {"a": None}),
        ("[a, [b, {c: 1}]]", ["a", ["b", {"c": 1}]]),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
    ],
)
def test_values(text: str, value: object) -> None:
    parsed = parse_yaml(text, "here")
    assert parsed == value
    assert type(parsed) is type(value)


def test_nan_is_a_number() -> None:
    parsed = parse_yaml(".nan", "here")
    assert parsed != parsed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: !!python/object/apply:os.system [true]", "tag"),
        ("a: !!str 5", "tag"),
        ("! a", "tag"),
        ("a: &x 1\nb: *x", "anchor or alias, which posegen refuses; write the value out (or quote it) (line 1)"),
        ("a: &x [1]", "anchor or alias"),
        ("a: *x", "anchor or alias"),
        ("a: 1\nb: 2\na: 3", "the key 'a' a second time; keep one of them (line 3)"),
        ("{a: {b: 1, b: 1}}", "the key 'b' a second time"),
        ("a: 1\n---\nb: 2", "found another document (line 2)"),
        ("? [a, b]\n: 1", "a key that is not plain text; write text before the colon (line 1)"),
        ("{{a: b}: c}", "a key that is not plain text; write text before the colon (line 1)"),
        ("[" * 33 + "]" * 33, "nested more than 32 levels"),
        ("[" * 100_000, "nested more than 32 levels"),
        ("a: " + "9" * 5000, "a number of 5000 characters"),
        ("a: [1, 2", "not valid YAML"),
        ("a: b: c", "not valid YAML"),
        ("a:\n\t- 1", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("a: %b\n%", "not valid YAML"),
    ],
)
def test_all_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_yaml(text, "here")
    message = str(refused.value)
    assert message.startswith("here: ")
    assert reason in message
    assert "\n" not in message


def test_deepest_that_is_accepted() -> None:
    value = parse_yaml("[" * 32 + "]" * 32, "here")
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    assert depth == 31


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes("\ufeffword: schön\n".encode())
    assert read_yaml(file) == {"word": "schön"}
    file.write_bytes(b"a: 1\n#" + b"x" * (LARGEST_FILE - 6))
    assert read_yaml(file) == {"a": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"word: sch\xf6n", "not UTF-8 text (byte 9)"),
        ("word: ü".encode("utf-16"), "not UTF-8 text (byte 0)"),
        (b"# " + b"x" * LARGEST_FILE, "larger than 1,000,000 bytes"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read_yaml(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert reason in str(refused.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        read_yaml(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        read_yaml(tmp_path / "b.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_yaml(Path("nul\0byte"))

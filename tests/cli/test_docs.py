"""``posegen docs``."""

from __future__ import annotations

from pathlib import Path

import pytest

from posegen.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(file.stem for file in DOCS.glob("*.md"))
    assert "reading        How to train on shuffled batches" in lines


@pytest.mark.parametrize("name", ["format", "docs/format.md"])
def test_a_page_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 0
    assert capsys.readouterr().out.rstrip() == (DOCS / "format.md").read_text(encoding="utf-8").rstrip()


def test_the_changelog_is_printed_and_not_the_line_that_includes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "changelog"]) == 0
    assert capsys.readouterr().out.rstrip() == (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8").rstrip()


def test_an_unknown_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "readng"]) == 2
    message = "there is no page 'readng'; `posegen docs` lists the pages; did you mean 'reading'?"
    assert message in capsys.readouterr().err


def test_pages_that_help_names_exist() -> None:
    named = {
        line.split("posegen docs ")[1].split("`")[0]
        for file in (DOCS.parent / "posegen" / "cli").glob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "`posegen docs " in line
    }
    assert len(named) > 4
    assert [name for name in sorted(named) if not (DOCS / f"{name}.md").is_file()] == []

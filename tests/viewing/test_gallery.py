"""The page with a picture of each action."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from docs.actions_page import write_gallery
from posegen.library.load import Library, load_library


def test_each_action_has_its_picture_and_its_words(tmp_path: Path) -> None:
    whole = load_library()
    names = ("wave", "kneel")
    some = Library(
        themes=whole.themes,
        words=whole.words,
        entries={name: whole.action(name) for name in ("kneel", "stand", "wave")},
        families={"some": names, "others": ("stand",)},
    )
    written = list(write_gallery(some, tmp_path))
    assert [path.name for path in written] == ["kneel.png", "stand.png", "wave.png", "actions.md"]
    page = (tmp_path / "actions.md").read_text(encoding="utf-8")
    for name in names:
        assert f"![{name}](actions/{name}.png)" in page
        picture = Image.open(tmp_path / "actions" / f"{name}.png").convert("RGB")
        # Not empty: paper, and both colours of the figure.
        assert len(picture.getcolors(1 << 24)) > 20
    assert "gets down on their knees" in page
    assert "All 3 actions" in page


def test_the_page_of_the_documentation_is_that_of_the_library() -> None:
    page = (Path(__file__).parents[2] / "docs" / "actions.md").read_text(encoding="utf-8")
    reported = [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")]
    assert sorted(reported) == sorted(load_library().actions)
    pictures = {path.stem for path in (Path(__file__).parents[2] / "docs" / "actions").glob("*.png")}
    assert pictures == set(reported)

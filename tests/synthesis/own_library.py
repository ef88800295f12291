"""A user library whose signs may be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from posegen.library.load import load_library

__all__ = ["library_folder"]


def library_folder(folder: Path, signs: dict[str, Any], own: dict[str, Any] | None = None) -> Path:
    """A folder with one theme, in which people walk and greet with the given signs: by waving, or by an action of their own."""
    wave = own or load_library().action("wave").model_dump(exclude_defaults=True, mode="json")
    wave["signs"] = signs
    wave.pop("strategies", None)
    words = load_library().words["actions"]["wave"]
    (folder / "words").mkdir(parents=True)
    (folder / "own.yaml").write_text(json.dumps({"family": "own", "actions": {"greet": wave}}), "utf-8")
    (folder / "themes.yaml").write_text(
        json.dumps({"themes": {"yard": {"weight": 1, "actions": {"greet": 9, "walk": 1}}}}), "utf-8"
    )
    spoken = json.loads(json.dumps(words, default=dict))
    (folder / "words" / "en.yaml").write_text(
        json.dumps({"actions": {"greet": spoken}, "places": {"yard": ["in a yard"]}}), "utf-8"
    )
    return folder

"""The names that the package itself offers."""

from __future__ import annotations

import re

import posegen
from posegen.library.load import load_library
from posegen.planning.scenes import plan_scenes


def test_the_package_lists_its_public_names() -> None:
    assert dir(posegen) == sorted(posegen.__all__)
    assert all(getattr(posegen, name) is not None for name in dir(posegen))
    assert re.fullmatch(r"\d+\.\d+\.\d+", posegen.__version__)


def test_representations_are_one_short_line() -> None:
    config, library = posegen.load_config("smoke"), load_library()
    scenes = plan_scenes(config, library, [0, 1])
    for value in (library, scenes, scenes.persons, posegen.synthesize(config, [0])):
        assert len(repr(value)) < 120, repr(value)
        assert "\n" not in repr(value)

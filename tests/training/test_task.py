"""The registry of tasks: posegen's own, and those of plug-in packages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from posegen.foundations import plugins
from posegen.foundations.errors import UsageError
from posegen.training.task import find_task
from posegen.training.tasks.action import TASK

DANCE = replace(TASK, name="dance")


@pytest.fixture
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [EntryPoint(name, "tests.training.test_task:DANCE", plugins.TASKS.group) for name in ("dance", "action")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.TASKS.group else [])
    vars(plugins.TASKS).pop("_plugins", None)
    yield
    vars(plugins.TASKS).pop("_plugins", None)


@pytest.mark.usefixtures("_plugin")
def test_a_package_can_add_a_task_but_not_replace_one() -> None:
    assert "dance" in plugins.TASKS.names()
    assert find_task("dance").name == "dance"
    assert find_task("action") is TASK


def test_an_unknown_task_raises_with_the_available_ones() -> None:
    with pytest.raises(UsageError, match=r"retrival.*retrieval"):
        find_task("retrival")

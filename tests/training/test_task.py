"""The registry of tasks: posegen's own, and those of plug-in packages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from posegen.errors import UsageError
from posegen.training import task
from posegen.training.tasks.action import TASK

DANCE = replace(TASK, name="dance")


@pytest.fixture
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [EntryPoint(name, "tests.training.test_task:DANCE", task.ENTRY_POINTS) for name in ("dance", "action")]
    monkeypatch.setattr(task, "entry_points", lambda group: points if group == task.ENTRY_POINTS else [])
    task._loaders.cache_clear()
    yield
    task._loaders.cache_clear()


@pytest.mark.usefixtures("_plugin")
def test_a_package_can_add_a_task_but_not_replace_one() -> None:
    assert "dance" in task.task_names()
    assert task.find_task("dance").name == "dance"
    assert task.find_task("action") is TASK


def test_an_unknown_task_raises_with_the_available_ones() -> None:
    with pytest.raises(UsageError, match=r"retrival.*retrieval"):
        task.find_task("retrival")

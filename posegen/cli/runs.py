"""``posegen runs``: list and compare training runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posegen.cli.options import PATH, Output, command
from posegen.foundations.wording import table


@command("posegen runs", "posegen runs experiments --json")
@click.argument("folder", type=PATH, default=Path("runs"))
def runs(folder: Path, output: Output) -> None:
    """List the training runs in FOLDER (default: runs), the best first, with the settings in which they differ."""
    from posegen.foundations.errors import UsageError
    from posegen.training.run_folder import find_runs

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. Name the folder that holds the runs")
    rows = [_row(*run) for run in find_runs(folder, output.warn)]
    rows.sort(key=lambda row: (row["task"], -(row["best"] or 0)))
    none = f"{folder}: no training runs. To make one: posegen train DATASET --task action"
    output.result({"runs": rows}, _table(rows) if rows else none)


def _row(path: Path, record: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    from posegen.training.run_folder import TABLE_TASK, newest_progress
    from posegen.training.task import find_task

    if record["task"] == TABLE_TASK:
        return _table_row(path, record, result)
    progress = newest_progress(path)
    monitor = find_task(record["task"]).restored(record["form"]).monitor
    return {
        "run": str(path),
        "task": record["task"],
        "source": record["source"],
        "complete": result is not None and result["rounds"] == len(record["rounds"]),
        "steps": progress.step if result is None else result.get("steps", progress.step),
        "of": record["rounds"][-1]["first"] + record["settings"]["steps"],
        "seconds": progress.seconds,
        "measure": monitor,
        "best": progress.best,
        "test": None if result is None else result["measures"][monitor],
        "settings": record["settings"],
    }


def _table_row(path: Path, record: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of a run on a user's table, whose steps are the candidates. Errors are negative: higher is better."""
    number = len(record["rounds"])
    done = len(list((path / "candidates").glob(f"{number}-*.json")))
    sign = 1 if result is None or result["monitor"] == "accuracy" else -1
    return {
        "run": str(path),
        "task": record["task"],
        "source": record["source"],
        "complete": result is not None and result["rounds"] == number,
        "steps": done,
        "of": len(record["estimate"]["candidates"]),
        "seconds": 0.0 if result is None else result["seconds"],
        "measure": None if result is None else result["monitor"],
        "best": None,
        "test": None if result is None else sign * result["measures"][result["monitor"]],
        "settings": record["settings"],
    }


def _table(runs: list[dict[str, Any]]) -> str:
    from posegen.foundations.quantities import human_time

    rows = []
    for run in runs:
        best, test = (f"{run[name]:.3f}" if run[name] is not None else "-" for name in ("best", "test"))
        steps = f"{run['steps']:,}" if run["complete"] else f"{run['steps']:,} of {run['of']:,}"
        rows.append((run["run"], run["task"], steps, human_time(run["seconds"]), best, test))
    found = table(("run", "task", "steps", "time", "best check", "test"), rows)
    return "\n".join([found, *_differing_settings(runs)])


def _differing_settings(runs: list[dict[str, Any]]) -> list[str]:
    """Return lines with the settings in which not all runs agree, under the table: in its cells they would be cut."""
    from posegen.training.run_folder import flatten_settings
    from posegen.training.settings import NOT_CONTENT

    flat = [dict(flatten_settings(run["settings"])) | {"on": run["source"]} for run in runs]
    keys = [key for key in flat[0] if key.partition(".")[0] not in NOT_CONTENT and len({str(run.get(key)) for run in flat}) > 1]
    if not keys:
        return []
    values = (", ".join(f"{key}={run.get(key)}" for key in keys) for run in flat)
    lines = [f"  {run['run']}: {settings}" for run, settings in zip(runs, values, strict=True)]
    return ["", "Settings that differ:", *lines]

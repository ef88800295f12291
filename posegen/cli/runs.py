"""``posegen runs``: what was trained, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posegen.cli.options import example, json_option, print_json, quiet_option
from posegen.wording import printable

__all__ = ["runs"]

_UNIMPORTANT = ("log", "machine.", "memory.", "saving.")
"""Settings that do not decide what comes out."""


@click.command(epilog=example("posegen runs", "posegen runs experiments --json"))
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@json_option
@quiet_option
def runs(folder: Path, as_json: bool, quiet: bool) -> None:
    """List the runs in FOLDER (``runs`` unless given), and compare them: the best first, and in which settings they differ."""
    from posegen.errors import UsageError
    from posegen.training.runs.folder import find_runs

    del quiet
    if not folder.is_dir():
        msg = f"{folder}: there is no such folder. Name the one that holds the runs"
        raise UsageError(msg)
    found = [_described(*run) for run in find_runs(folder)]
    found.sort(key=lambda run: (run["task"], -(run["best"] or 0)))
    if as_json:
        print_json({"runs": found})
    elif not found:
        click.echo(f"{folder}: holds no runs. `posegen train DATASET --task action` makes one")
    else:
        click.echo(printable("\n".join(_lines(found))))


def _described(path: Path, started: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    from posegen.training.runs.checkpoints import newest_progress
    from posegen.training.task import find_task

    progress = newest_progress(path)
    watched = find_task(started["task"]).monitor
    return {
        "run": str(path),
        "task": started["task"],
        "source": started["source"],
        "complete": result is not None and result["rounds"] == len(started["rounds"]),
        "steps": progress.step,
        "of": started["rounds"][-1]["first"] + started["settings"]["steps"],
        "seconds": progress.seconds,
        "watched": watched,
        "best": progress.best,
        "test": None if result is None else result["measures"][watched],
        "settings": started["settings"],
    }


def _lines(found: list[dict[str, Any]]) -> list[str]:
    from posegen.quantities import human_time

    rows = [["run", "task", "steps", "time", "best check", "test", "differs in"]]
    for run, different in zip(found, _different(found), strict=True):
        best, test = (f"{run[name]:.3f}" if run[name] is not None else "-" for name in ("best", "test"))
        steps = f"{run['steps']:,}" if run["complete"] else f"{run['steps']:,} of {run['of']:,}"
        rows.append([run["run"], run["task"], steps, human_time(run["seconds"]), best, test, different])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _different(found: list[dict[str, Any]]) -> list[str]:
    """Tell of each run the settings in which not all runs agree."""
    from posegen.training.runs.folder import flatten_settings

    flat = [dict(flatten_settings(run["settings"])) | {"on": run["source"]} for run in found]
    keys = [key for key in flat[0] if not key.startswith(_UNIMPORTANT) and len({str(run.get(key)) for run in flat}) > 1]
    return [", ".join(f"{key}={run.get(key)}" for key in keys) for run in flat]

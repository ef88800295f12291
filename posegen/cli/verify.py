"""``posegen verify``: check every byte of a dataset, optionally compare it with its config, and repair it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import example, json_option, note, print_json, quiet_option
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.dataset.verify import Problem
    from posegen.generation.repair import RepairResult


SECONDS_BETWEEN_NOTES = 5.0
PROBLEMS_LEFT = 1


@click.command(epilog=example("posegen verify data/default-0", "posegen verify data/default-0 --repair"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--deep", is_flag=True, help="Also synthesize all samples again and compare them.")
@click.option("--repair", "repairs", is_flag=True, help="Regenerate damaged shards.")
@json_option
@quiet_option
def verify(dataset: Path, deep: bool, repairs: bool, as_json: bool, quiet: bool) -> int:
    """Check every byte of DATASET, and list each damaged shard with the reason and a fix.

    The exit code is 0 if there is no problem, or none is left after --repair, else 1.
    """
    found = _find(dataset, deep=deep, quiet=quiet)
    if not as_json and (found or not quiet):
        click.echo(printable("\n".join(_problem_lines(dataset, found, deep=deep))))
    done = _repair(dataset, found, quiet=quiet) if repairs and any(problem.repairable for problem in found) else None
    if as_json:
        print_json(_document(dataset, found, done))
    else:
        lines = _fix_lines(dataset, found) if done is None else _repair_lines(dataset, done)
        click.echo(printable("\n".join(lines)), nl=bool(found))
    return PROBLEMS_LEFT if (found if done is None else done.left) else 0


def _find(dataset: Path, *, deep: bool, quiet: bool) -> list[Problem]:
    from posegen.dataset.verify import find_problems

    if not deep:
        return list(find_problems(dataset, progress=_progress("read", quiet=quiet)))
    from posegen.dataset.header import load_header
    from posegen.dataset.layout import check_folders
    from posegen.dataset.receipts import complete_shards
    from posegen.errors import PosegenError
    from posegen.generation.header import stored_config
    from posegen.generation.verification import find_content_problems

    try:
        header = load_header(dataset)
        check_folders(dataset, header)
    except PosegenError:
        return list(find_problems(dataset))  # which reports the reason
    stored_config(dataset, header)  # raises an error before hours of reading
    found = list(find_problems(dataset, progress=_progress("read", quiet=quiet)))
    damaged = {problem.shard for problem in found}
    intact = [shard for shard in complete_shards(dataset, header) if shard not in damaged]
    return found + list(find_content_problems(dataset, intact, progress=_progress("synthesized and compared", quiet=quiet)))


def _progress(action: str, *, quiet: bool) -> Callable[[int, int], None]:
    last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_NOTES:
            last = time.monotonic()
            note(f"{done:,} of {total:,} shards {action}", quiet=quiet)

    return report


def _repair(dataset: Path, found: Sequence[Problem], *, quiet: bool) -> RepairResult:
    from posegen.generation.repair import repair
    from posegen.progress import make_progress

    return repair(dataset, found, progress=make_progress(quiet=quiet))


def _document(dataset: Path, found: Sequence[Problem], done: RepairResult | None) -> dict[str, object]:
    from dataclasses import asdict

    left = found if done is None else done.left
    return {
        "path": str(dataset),
        "intact": not left,
        "problems": [asdict(problem) for problem in found],
        "regenerated": None if done is None else done.made,
        "dropped": None if done is None else done.dropped,
        "derived": None if done is None else done.derived,
        "left": [asdict(problem) for problem in left],
    }


def _problem_lines(dataset: Path, found: Sequence[Problem], *, deep: bool) -> list[str]:
    if not found:
        return [f"{dataset}: no problem found: every byte{' and every sample' if deep else ''} is intact."]
    return [*(str(problem) for problem in found), f"{dataset}: {_count(found)}."]


def _repair_lines(dataset: Path, done: RepairResult) -> list[str]:
    lines = [f"Regenerated: {_shards(done.made)}."]
    if done.derived:
        lines.append(f"Derived again: {', '.join(done.derived)}.")
    if done.dropped:
        lines.append(f"Removed beyond the end of the dataset: {_shards(done.dropped)}.")
    if not done.left:
        return [*lines, "No problem is left."]
    return [*lines, "Remaining problems:", *(str(problem) for problem in done.left), *_fix_lines(dataset, done.left)]


def _fix_lines(dataset: Path, problems: Sequence[Problem]) -> list[str]:
    """Return how to repair; problems that only the user can solve state the fix themselves."""
    if not any(problem.repairable for problem in problems):
        return []
    command = f"posegen verify {shlex.quote(str(dataset))} --repair"
    return [f"Run: {command} (regenerates only the shards listed here)"]


def _count(found: Sequence[Problem]) -> str:
    shards = sorted({problem.shard for problem in found if problem.shard is not None})
    problems = f"{len(found):,} problem{'s' if len(found) > 1 else ''}"
    return f"{problems} in {_shards(shards)}" if shards else problems


def _shards(shards: Sequence[int]) -> str:
    if not shards:
        return "no shard"
    return f"shard{'s' if len(shards) > 1 else ''} {', '.join(map(str, shards))}"

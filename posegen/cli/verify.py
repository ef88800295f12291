"""``posegen verify``: check every byte of a dataset, optionally compare it with its config, and repair it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, Output, command

if TYPE_CHECKING:
    from posegen.dataset.verify import Problem
    from posegen.generation.repair import RepairResult


PROBLEMS_LEFT = 1


@command("posegen verify data/default-0", "posegen verify data/default-0 --repair")
@click.argument("dataset", type=PATH)
@click.option("--deep", is_flag=True, help="Also synthesize all samples again and compare them.")
@click.option("--repair", "repairs", is_flag=True, help="Regenerate damaged shards.")
def verify(dataset: Path, deep: bool, repairs: bool, output: Output) -> int:
    """Check every byte of DATASET, and list each damaged shard with the reason and a fix.

    The exit code is 0 if there is no problem, or none is left after --repair, else 1.
    """
    found, done = _find(dataset, deep=deep, output=output), None
    if not output.as_json and (found or not output.quiet):
        output.result(None, "\n".join(_problem_lines(dataset, found, deep=deep)))
    if repairs and any(problem.repairable for problem in found):
        from posegen.generation.repair import repair

        done = repair(dataset, found, progress=output.progress())
    left = found if done is None else done.left
    document = {
        "path": dataset,
        "intact": not left,
        "problems": found,
        "regenerated": done and done.made,
        "dropped": done and done.dropped,
        "derived": done and done.derived,
        "left": left,
    }
    lines = _fix_lines(dataset, found) if done is None else _repair_lines(dataset, done)
    if output.as_json or lines:
        output.result(document, "\n".join(lines))
    return PROBLEMS_LEFT if left else 0


def _find(dataset: Path, *, deep: bool, output: Output) -> list[Problem]:
    from posegen.dataset.verify import find_problems

    if not deep:
        return list(find_problems(dataset, progress=output.counter("read")))
    from posegen.dataset.header import load_header
    from posegen.dataset.layout import check_folders
    from posegen.dataset.receipts import complete_shards
    from posegen.errors import PosegenError
    from posegen.generation.header import stored_config
    from posegen.generation.repair import find_content_problems

    try:
        header = load_header(dataset)
        check_folders(dataset, header)
    except PosegenError:
        return list(find_problems(dataset))  # which reports the reason
    stored_config(dataset, header)  # raises an error before hours of reading
    found = list(find_problems(dataset, progress=output.counter("read")))
    damaged = {problem.shard for problem in found}
    intact = [shard for shard in complete_shards(dataset, header) if shard not in damaged]
    return found + list(find_content_problems(dataset, intact, progress=output.counter("synthesize and compare")))


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

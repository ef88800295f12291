"""``posegen verify``: check the files of a dataset, optionally compare it with its config, and repair it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from posegen.cli.options import DATASET, Output, choose_part, command, part_option, quoted
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import shown

if TYPE_CHECKING:
    from posegen.dataset.verify import Problem
    from posegen.generation.repair import RepairResult


PROBLEMS_LEFT = 1
_MOST_NAMED = 8


def _share(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float:
    """Convert a percentage such as 1% to a share."""
    del ctx, parameter
    if text is None:
        return 1.0
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?%", text) or not 0 < float(text[:-1]) <= 100:
        raise UsageError(f"--sample {shown(text)}: must be a share of the shards above 0%, such as 1%")
    return float(text[:-1]) / 100


@command("posegen verify data/default-0", "posegen verify data/default-0 --repair")
@click.argument("dataset", type=DATASET)
@click.option("--deep", is_flag=True, help="Also decode all samples, synthesize them again and compare.")
@part_option("Check")
@click.option("--sample", "share", metavar="PERCENT", callback=_share, help="Check a random share of the shards, such as 1%.")
@click.option("--repair", "repairs", is_flag=True, help="Regenerate damaged shards.")
def verify(dataset: AnyPath, deep: bool, part: str | None, share: float, repairs: bool, output: Output) -> int:
    """Check the files of DATASET by their hashes, and list each damaged shard with the reason and a fix.

    The exit code is 0 if there is no problem, or none is left after --repair, else 1. With --part or --sample, other shards
    are not read; part 1 also finds what does not belong to DATASET.
    """
    from posegen.dataset.verify import choose_shards, unchecked_files

    chosen_part = choose_part(part, output)
    shards = choose_shards(dataset, chosen_part, share)
    orphans = share == 1 and (chosen_part is None or chosen_part.number == 1)
    found, done = _find(dataset, shards, deep=deep, orphans=orphans, output=output), None
    unchecked = unchecked_files(dataset) if orphans and not found else []
    if not output.as_json and (found or not output.quiet):
        output.result(None, "\n".join(_problem_lines(dataset, found, shards, unchecked, deep=deep)))
    if repairs and any(problem.repairable for problem in found):
        from posegen.generation.repair import repair

        done = repair(dataset, found, progress=output.progress())
    left = found if done is None else done.left
    document = {
        "path": dataset,
        "part": None if chosen_part is None else str(chosen_part),
        "shards": None if shards is None else len(shards),
        "intact": not left,
        "problems": found,
        "unchecked": unchecked,
        "regenerated": done and done.made,
        "dropped": done and done.dropped,
        "derived": done and done.derived,
        "left": left,
    }
    lines = _fix_lines(dataset, found) if done is None else _repair_lines(dataset, done)
    if output.as_json or lines:
        output.result(document, "\n".join(lines))
    return PROBLEMS_LEFT if left else 0


def _find(dataset: AnyPath, shards: Sequence[int] | None, *, deep: bool, orphans: bool, output: Output) -> list[Problem]:
    from posegen.dataset.verify import find_problems

    chosen = None if shards is None else frozenset(shards)
    if not deep:
        return list(find_problems(dataset, chosen, output.counter("read"), orphans=orphans))
    from posegen.dataset.header import load_header
    from posegen.dataset.layout import check_folders
    from posegen.dataset.receipts import complete_shards
    from posegen.foundations.errors import PosegenError
    from posegen.generation.header import stored_config
    from posegen.generation.repair import find_content_problems

    try:
        header = load_header(dataset)
        check_folders(dataset, header)
    except PosegenError:
        return list(find_problems(dataset))  # which reports the reason
    stored_config(dataset, header)  # raises an error before hours of reading
    found = list(find_problems(dataset, chosen, output.counter("read"), orphans=orphans, decode=True))
    damaged = {problem.shard for problem in found}
    complete = complete_shards(dataset, header, (lambda shard: True) if chosen is None else chosen.__contains__)
    intact = [shard for shard in complete if shard not in damaged]
    return found + list(find_content_problems(dataset, intact, output.counter("synthesize and compare")))


def _problem_lines(
    dataset: AnyPath, found: Sequence[Problem], shards: Sequence[int] | None, unchecked: Sequence[str], *, deep: bool
) -> list[str]:
    if found:
        return [*(str(problem) for problem in found), f"{dataset}: {_count(found)}."]
    where = "" if shards is None else f" of {len(shards):,} shard{'' if len(shards) == 1 else 's'}"
    what = f"all files{' with a hash' if unchecked else ''}{' and samples' if deep else ''}"
    lines = [f"{dataset}: no problem found: {what}{where} are intact."]
    if unchecked:
        more = f" and {len(unchecked) - _MOST_NAMED:,} more" if len(unchecked) > _MOST_NAMED else ""
        lines.append(f"Not checked, because they have no hash: {', '.join(unchecked[:_MOST_NAMED])}{more}.")
    return lines


def _repair_lines(dataset: AnyPath, done: RepairResult) -> list[str]:
    lines = [f"Regenerated: {_shards(done.made)}."]
    if done.derived:
        lines.append(f"Derived again: {', '.join(done.derived)}.")
    if done.dropped:
        lines.append(f"Removed beyond the end of the dataset: {_shards(done.dropped)}.")
    if not done.left:
        return [*lines, "No problem is left."]
    return [*lines, "Remaining problems:", *(str(problem) for problem in done.left), *_fix_lines(dataset, done.left)]


def _fix_lines(dataset: AnyPath, problems: Sequence[Problem]) -> list[str]:
    """Return how to repair; problems that only the user can solve state the fix themselves."""
    if not any(problem.repairable for problem in problems):
        return []
    command = f"posegen verify {quoted(dataset)} --repair"
    return [f"Run: {command} (regenerates only the shards listed here)"]


def _count(found: Sequence[Problem]) -> str:
    shards = sorted({problem.shard for problem in found if problem.shard is not None})
    problems = f"{len(found):,} problem{'s' if len(found) > 1 else ''}"
    return f"{problems} in {_shards(shards)}" if shards else problems


def _shards(shards: Sequence[int]) -> str:
    if not shards:
        return "no shard"
    return f"shard{'s' if len(shards) > 1 else ''} {', '.join(map(str, shards))}"

"""``posegen verify``: whether every byte of a dataset is as it was written, and whether the config makes just that."""

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

__all__ = ["verify"]

SECONDS_BETWEEN_NOTES = 5.0
FOUND_BAD = 1


@click.command(epilog=example("posegen verify data/default-0", "posegen verify data/default-0 --repair"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--deep", is_flag=True, help="Make all samples again, too, and compare them.")
@click.option("--repair", "mend", is_flag=True, help="Make bad shards again.")
@json_option
@quiet_option
def verify(dataset: Path, deep: bool, mend: bool, as_json: bool, quiet: bool) -> int:
    """Check every byte of DATASET, name each bad shard and what is wrong with it, and repair it if asked to.

    Ends with 0 if all is well, in the end, and with 1 if not.
    """
    found = _find(dataset, deep=deep, quiet=quiet)
    if not as_json and (found or not quiet):
        click.echo(printable("\n".join(_told(dataset, found, deep=deep))))
    done = _repair(dataset, found, quiet=quiet) if mend and any(problem.repairable for problem in found) else None
    if as_json:
        print_json(_document(dataset, found, done))
    else:
        told = _cures(dataset, found) if done is None else _told_of_repair(dataset, done)
        click.echo(printable("\n".join(told)), nl=bool(found))
    return FOUND_BAD if (found if done is None else done.left) else 0


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
        return list(find_problems(dataset))  # which says what is wrong with them
    stored_config(dataset, header)  # it is refused before the hours of reading, not after them
    found = list(find_problems(dataset, progress=_progress("read", quiet=quiet)))
    bad = {problem.shard for problem in found}
    sound = [shard for shard in complete_shards(dataset, header) if shard not in bad]
    return found + list(find_content_problems(dataset, sound, progress=_progress("made again and compared", quiet=quiet)))


def _progress(doing: str, *, quiet: bool) -> Callable[[int, int], None]:
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{done:,} of {total:,} shards {doing}", quiet=quiet)

    return tell


def _repair(dataset: Path, found: Sequence[Problem], *, quiet: bool) -> RepairResult:
    from posegen.generation.repair import repair
    from posegen.progress import make_progress

    return repair(dataset, found, progress=make_progress(quiet=quiet))


def _document(dataset: Path, found: Sequence[Problem], done: RepairResult | None) -> dict[str, object]:
    from dataclasses import asdict

    left = found if done is None else done.left
    return {
        "path": str(dataset),
        "well": not left,
        "problems": [asdict(problem) for problem in found],
        "made_again": None if done is None else done.made,
        "dropped": None if done is None else done.dropped,
        "derived_again": None if done is None else done.derived,
        "left": [asdict(problem) for problem in left],
    }


def _told(dataset: Path, found: Sequence[Problem], *, deep: bool) -> list[str]:
    if not found:
        return [f"{dataset}: all is well, every byte{' and every sample' if deep else ''}."]
    return [*(str(problem) for problem in found), f"{dataset}: {_count(found)}."]


def _told_of_repair(dataset: Path, done: RepairResult) -> list[str]:
    lines = [f"Made again: {_shards(done.made)}."]
    if done.derived:
        lines.append(f"Derived again what was bad of: {', '.join(done.derived)}.")
    if done.dropped:
        lines.append(f"Removed what was begun behind the dataset's end: {_shards(done.dropped)}.")
    if not done.left:
        return [*lines, "All is well now."]
    return [*lines, "Still wrong:", *(str(problem) for problem in done.left), *_cures(dataset, done.left)]


def _cures(dataset: Path, problems: Sequence[Problem]) -> list[str]:
    """Say what to do; a problem that only the user can solve says it itself."""
    if not any(problem.repairable for problem in problems):
        return []
    command = f"posegen verify {shlex.quote(str(dataset))} --repair"
    return [f"To put it right: `{command}`. It makes just the shards named here again."]


def _count(found: Sequence[Problem]) -> str:
    shards = sorted({problem.shard for problem in found if problem.shard is not None})
    problems = f"{len(found):,} problem{'s' if len(found) > 1 else ''}"
    return f"{problems} in {_shards(shards)}" if shards else problems


def _shards(shards: Sequence[int]) -> str:
    if not shards:
        return "no shard"
    return f"shard{'s' if len(shards) > 1 else ''} {', '.join(map(str, shards))}"

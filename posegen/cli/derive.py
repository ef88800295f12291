"""``posegen derive``: compute fields from the motion of a dataset and store them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import example, json_option, note, print_json, quiet_option, workers_option
from posegen.plugins import FIELDS
from posegen.wording import printable

if TYPE_CHECKING:
    from posegen.generation.derive import DerivationResult


@click.command(epilog=example("posegen derive data/default-0 --add velocity", "posegen derive data/default-0"))
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--add", "names", metavar="FIELD", multiple=True, help=f"Field to add: {', '.join(FIELDS.names())}. May be repeated."
)
@workers_option
@json_option
@quiet_option
def derive(dataset: Path, names: Sequence[str], workers: int | None, as_json: bool, quiet: bool) -> None:
    """Compute fields of all samples of DATASET and store them with the others.

    The same command resumes an interrupted run, and covers samples that were added since. Without --add, it updates all
    fields that were added before. docs/fields.md describes the fields.
    """
    from posegen.generation.derive import derive as compute
    from posegen.progress import make_progress

    try:
        result = compute(dataset, names, workers=workers, progress=make_progress(quiet=quiet))
    except KeyboardInterrupt:
        note(f"stopped; complete shards stay in {dataset}; run the same command to resume", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(printable(_summary(result)))


def _document(result: DerivationResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__} | {"path": str(result.path)}


def _summary(result: DerivationResult) -> str:
    from posegen.quantities import human_bytes, human_time

    names = ", ".join(result.layers) or "all derived fields"
    if result.nothing_to_do:
        return f"Nothing to do: {names} of {result.path} is complete."
    made = f"{result.shards_made:,} shard{'s' if result.shards_made > 1 else ''}"
    return (
        f"Derived {names} of {result.samples:,} samples ({made}, {human_bytes(result.bytes)}) "
        f"in {human_time(result.seconds)}: {', '.join(result.arrays)}."
    )

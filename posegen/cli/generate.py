"""``posegen generate``: make a dataset."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import (
    config_option,
    example,
    json_option,
    note,
    out_option,
    print_json,
    quiet_option,
    samples_option,
    seed_option,
    set_option,
    workers_option,
)

if TYPE_CHECKING:
    from posegen.generation.run import GenerationResult

__all__ = ["generate"]


@click.command(
    epilog=example("posegen generate --samples 10000 --workers 8", "posegen generate --config smoke --out data/first")
)
@config_option
@samples_option
@workers_option
@seed_option
@out_option
@set_option
@click.option(
    "--shard-timeout",
    type=float,
    metavar="SECONDS",
    help="Kill a worker whose shard takes longer, and try again.  [default: far longer than shards take; none with 1 worker]",
)
@json_option
@quiet_option
def generate(
    config: str,
    samples: int | None,
    workers: int | None,
    seed: int | None,
    out: Path | None,
    overrides: Sequence[str],
    shard_timeout: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a dataset of labelled human motion.

    Run again, the same command goes on where it was stopped; with more samples, it extends what is there.
    """
    from posegen.config.load import load_config
    from posegen.generation.run import default_path
    from posegen.generation.run import generate as make
    from posegen.progress import make_progress

    loaded = load_config(config, overrides, samples=samples, workers=workers, seed=seed)
    place = default_path(loaded) if out is None else out
    try:
        result = make(loaded, out=place, progress=make_progress(quiet=quiet), shard_timeout=shard_timeout)
    except KeyboardInterrupt:
        note(f"stopped; what is complete stays in {place}, and the same command goes on from there", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(_summary(result))


def _document(result: GenerationResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__} | {"path": str(result.path)}


def _summary(result: GenerationResult) -> str:
    from posegen.quantities import human_bytes, human_time

    place = shlex.quote(str(result.path))
    if result.nothing_to_do:
        first = f"Nothing to do: {result.path} is complete."
    else:
        made = f"{result.sequences_made:,} sequences in {human_time(result.seconds)}"
        first = f"Made {made}, {result.sequences_per_second:,.0f} a second, in {result.path}."
    behind = f"Not derived of all samples yet: {', '.join(result.incomplete_layers)}. `posegen derive {place}` goes on with it."
    return "\n".join(
        [
            first,
            *([behind] if result.incomplete_layers else []),
            f"It holds {result.samples:,} samples, {result.sequences:,} sequences, {human_bytes(result.bytes)}.",
            "Next:",
            f"  posegen info {place}",
            f"  posegen show {place} --sample 0 -o sample.gif",
        ]
    )

"""``posegen generate``: generate a dataset."""

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
    help="Kill a worker whose shard takes longer, and try again.  [default: at least 5 minutes; none with 1 worker]",
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
    """Generate a dataset of labelled human motion.

    The same command resumes an interrupted run; with more samples, it extends the dataset.
    """
    from posegen.config.load import load_config
    from posegen.generation.run import default_path
    from posegen.generation.run import generate as make
    from posegen.progress import make_progress

    loaded = load_config(config, overrides, samples=samples, workers=workers, seed=seed)
    path = default_path(loaded) if out is None else out
    try:
        result = make(loaded, out=path, progress=make_progress(quiet=quiet), shard_timeout=shard_timeout)
    except KeyboardInterrupt:
        note(f"stopped; complete shards stay in {path}; run the same command to resume", quiet=quiet)
        raise
    if as_json:
        print_json(_document(result))
    elif not quiet:
        click.echo(_summary(result))


def _document(result: GenerationResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__} | {"path": str(result.path)}


def _summary(result: GenerationResult) -> str:
    from posegen.quantities import human_bytes, human_time

    path = shlex.quote(str(result.path))
    if result.nothing_to_do:
        first = f"Nothing to do: {result.path} is complete."
    else:
        made = f"{result.sequences_made:,} sequences in {human_time(result.seconds)}"
        first = f"Generated {made}, {result.sequences_per_second:,.0f} per second, in {result.path}."
    missing = f"Incomplete fields: {', '.join(result.incomplete_layers)}. Run: posegen derive {path}"
    return "\n".join(
        [
            first,
            *([missing] if result.incomplete_layers else []),
            f"It holds {result.samples:,} samples, {result.sequences:,} sequences, {human_bytes(result.bytes)}.",
            "Next:",
            f"  posegen info {path}",
            f"  posegen show {path} --sample 0 -o sample.gif",
        ]
    )

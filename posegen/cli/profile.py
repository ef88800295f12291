"""``posegen profile``: what a dataset will cost, before it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import (
    WHOLE,
    config_option,
    example,
    json_option,
    out_option,
    print_json,
    quiet_option,
    seed_option,
    set_option,
    workers_option,
)
from posegen.errors import UsageError
from posegen.wording import shown

if TYPE_CHECKING:
    from posegen.generation.profiling.profile import Profile

__all__ = ["profile"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?[smhd])+")
_MOST_TARGETS = 20
_PAGE: click.Path = click.Path(path_type=Path, dir_okay=False)


def _duration(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Read a duration such as 90s, 30m, 2h or 1h30m."""
    del ctx, parameter
    if text is None:
        return None
    if not _DURATION.fullmatch(text):
        msg = f"--budget must be a duration such as 90s, 30m, 2h or 1h30m (got {shown(text)})"
        raise UsageError(msg)
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9.]+)([smhd])", text))


def _has_folder(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a place for the page that does not exist, before a minute is spent on what goes there."""
    del ctx, parameter
    if path is not None and not path.absolute().parent.is_dir():
        msg = f"--html {shown(str(path))}: its folder does not exist; make it, or name another"
        raise UsageError(msg)
    return path


def _targets(ctx: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> tuple[int, ...]:
    """Read numbers of samples, one behind the other."""
    numbers = [WHOLE.convert(text.strip(), parameter, ctx) for given in texts for text in given.split(",")]
    if len(numbers) > _MOST_TARGETS:
        msg = f"--target names {len(numbers)} numbers, and {_MOST_TARGETS} are the most; profile them one after another"
        raise UsageError(msg)
    return tuple(numbers)


@click.command(
    epilog=example(
        "posegen profile --samples 1000 --target 100000,1000000",
        "posegen profile --config full --budget 2h --html profile.html",
    )
)
@config_option
@click.option("--samples", type=WHOLE, default=1000, show_default=True, metavar="N", help="How many samples each run makes.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="N,N",
    callback=_targets,
    help="Samples to tell the cost of.  [default: as the config says]",
)
@click.option("--repeats", type=WHOLE, default=5, show_default=True, metavar="R", help="How often it is measured.")
@workers_option
@seed_option
@out_option
@set_option
@click.option(
    "--budget",
    metavar="TIME",
    callback=_duration,
    help="Such as 30m or 2h: exit with 1 if a target may take longer, or has too little room.",
)
@click.option("--html", type=_PAGE, callback=_has_folder, metavar="FILE", help="Write a page with a flame chart.")
@json_option
@quiet_option
def profile(
    config: str,
    samples: int,
    targets: tuple[int, ...],
    repeats: int,
    workers: int | None,
    seed: int | None,
    out: Path | None,
    overrides: Sequence[str],
    budget: float | None,
    html: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Tell what a dataset will cost: time, disk and memory, and what binds.

    The real pipeline makes a small one several times, in a folder that is removed, on the disk that --out is on.
    """
    from posegen.config import load_config
    from posegen.generation.profiling.document import document, fits
    from posegen.generation.profiling.profile import profile as measure
    from posegen.generation.progress import reporter

    loaded = load_config(config, overrides, workers=workers, seed=seed)
    found = measure(
        loaded, samples=samples, targets=targets, workers=workers, repeats=repeats, out=out, progress=reporter(quiet=quiet)
    )
    if html is not None:
        _write_page(html, found, budget)
    if as_json:
        print_json(document(found, budget))
    else:
        from posegen.cli.profile_text import print_profile

        print_profile(found, budget, quiet=quiet)
    good = all(fits(found, target, budget) for target in found.targets)
    return 0 if budget is None or good else 1


def _write_page(path: Path, found: Profile, budget: float | None) -> None:
    from posegen.generation.profiling.document import document
    from posegen.generation.profiling.page import page

    path.write_text(page(found, document(found, budget)), encoding="utf-8")

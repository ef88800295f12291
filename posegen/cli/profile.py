"""``posegen profile``: what a dataset will cost, before it is made; and the whole road from it to trained models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import (
    WHOLE,
    config_option,
    example,
    json_option,
    note,
    out_option,
    print_json,
    quiet_option,
    seconds_of,
    seed_option,
    set_option,
    workers_option,
)
from posegen.errors import UsageError
from posegen.wording import shown

if TYPE_CHECKING:
    from posegen.config.schema import Config
    from posegen.generation.profile.profile import Profile
    from posegen.pipeline.forecast import Forecast
    from posegen.pipeline.run import Request

__all__ = ["profile"]

_MOST_TARGETS = 20
_STAGES = ("generate", "embed", "train", "evaluate", "animate")
_PAGE: click.Path = click.Path(path_type=Path, dir_okay=False)


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
        "posegen profile --config smoke --through animate",
        "posegen profile --target 10000 --through train --task retrieval --task motion",
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
@click.option(
    "--through",
    type=click.Choice(_STAGES),
    metavar="STAGE",
    help="Also what `posegen run` costs, through this stage: generate, embed, train, evaluate or animate.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    default=("retrieval", "motion"),
    show_default=True,
    metavar="NAME",
    help="With --through: a model to train; may be repeated.",
)
@click.option(
    "--preset", default="quick", show_default=True, metavar="NAME|PATH", help="With --through: how much is spent on each."
)
@workers_option
@seed_option
@out_option
@set_option
@click.option(
    "--budget",
    metavar="TIME",
    callback=seconds_of,
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
    through: str | None,
    tasks: tuple[str, ...],
    preset: str,
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

    The real pipeline makes a small one several times, in a folder that is removed, on the disk that --out is on. With
    --through, the stages behind are walked once on a few samples, with a few steps of training each.
    """
    from posegen.config.load import load_config
    from posegen.generation.profile.profile import profile as measure
    from posegen.progress import make_progress

    loaded = load_config(config, overrides, workers=workers, seed=seed)
    progress = make_progress(quiet=quiet)
    road = None if through is None else _road(loaded, through, tasks, preset, workers, out)
    found = measure(loaded, samples=samples, targets=targets, workers=workers, repeats=repeats, out=out, progress=progress)
    if html is not None:
        _write_page(html, found, budget)
    told = [] if road is None else _forecasts(*road, found, quiet=quiet)
    if as_json:
        print_json(found.to_dict(budget) | ({} if road is None else _as_data(told, budget)))
    else:
        from posegen.cli.profile_text import print_profile, print_roads

        print_profile(found, budget, quiet=quiet)
        print_roads(told, budget)
    good = all(target.fits(budget) for target in found.targets) and all(each.fits(budget) for each in told)
    return 0 if budget is None or good else 1


def _road(
    config: Config, through: str, tasks: tuple[str, ...], preset: str, workers: int | None, out: Path | None
) -> tuple[Request, list[str]]:
    """Make the request of the road and name its stages, or refuse it, before anything is measured."""
    from posegen.pipeline.forecast import road_through
    from posegen.pipeline.run import Request

    place = Path("runs") / f"{config.name}-{config.seed}" if out is None else out
    request = Request(config, place, tasks, preset, workers, ("a person walks forward, then waves",))
    if through != "generate" and config.quotas is not None:
        msg = "--through: quotas say how many samples there are, so no short road tells of them; profile a config without them"
        raise UsageError(msg)
    return request, road_through(request, through)


def _forecasts(request: Request, names: Sequence[str], found: Profile, *, quiet: bool) -> list[Forecast]:
    from posegen.pipeline.forecast import forecasts

    return forecasts(request, found, names, lambda told: note(told, quiet=quiet))


def _as_data(told: Sequence[Forecast], budget: float | None) -> dict[str, Any]:
    roads = [
        {
            "samples": each.samples,
            "measured_samples": each.measured,
            "stages": [asdict(stage) for stage in each.stages],
            **{name: value for name, value in asdict(each.total).items() if name != "name"},
            "disk_free": each.disk_free,
            "fits": each.fits(budget),
        }
        for each in told
    ]
    return {"roads": roads}


def _write_page(path: Path, found: Profile, budget: float | None) -> None:
    from posegen.generation.profile.report import profile_page

    path.write_text(profile_page(found, budget), encoding="utf-8")

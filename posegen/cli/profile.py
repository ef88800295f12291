"""``posegen profile``: estimate time, memory and disk of a dataset, and of the pipeline from it to trained models."""

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
    from posegen.pipeline.estimate import PipelineEstimate
    from posegen.pipeline.run import Request


_MOST_TARGETS = 20
_STAGES = ("generate", "embed", "train", "evaluate", "animate")
_PAGE: click.Path = click.Path(path_type=Path, dir_okay=False)


def _has_folder(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Check that the folder of the page exists, before the measurements."""
    del ctx, parameter
    if path is not None and not path.absolute().parent.is_dir():
        msg = f"--html {shown(str(path))}: its folder does not exist; create it, or choose another"
        raise UsageError(msg)
    return path


def _targets(ctx: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> tuple[int, ...]:
    """Parse numbers of samples separated by commas."""
    numbers = [WHOLE.convert(text.strip(), parameter, ctx) for given in texts for text in given.split(",")]
    if len(numbers) > _MOST_TARGETS:
        msg = f"--target has {len(numbers)} numbers; {_MOST_TARGETS} are the most"
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
@click.option("--samples", type=WHOLE, default=1000, show_default=True, metavar="N", help="Samples of each measured run.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="N,N",
    callback=_targets,
    help="Numbers of samples to estimate.  [default: that of the config]",
)
@click.option("--repeats", type=WHOLE, default=5, show_default=True, metavar="R", help="Number of measured runs.")
@click.option(
    "--through",
    type=click.Choice(_STAGES),
    metavar="STAGE",
    help="Also estimate `posegen run` through this stage: generate, embed, train, evaluate or animate.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    default=("retrieval", "motion"),
    show_default=True,
    metavar="NAME",
    help="With --through: model to train. May be repeated.",
)
@click.option(
    "--preset", default="quick", show_default=True, metavar="NAME|PATH", help="With --through: preset of the training."
)
@workers_option
@seed_option
@out_option
@set_option
@click.option(
    "--budget",
    metavar="TIME",
    callback=seconds_of,
    help="Duration such as 30m or 2h: exit with 1 if a target may take longer, or disk or memory are too small.",
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
    """Estimate time, memory and disk for a dataset.

    The command generates small datasets, several times, in a folder on the disk of --out, which is removed. With --through, the
    other stages run once on a few samples, with a few training steps.
    """
    from posegen.config.load import load_config
    from posegen.generation.profile.profile import profile as measure
    from posegen.progress import make_progress

    loaded = load_config(config, overrides, workers=workers, seed=seed)
    progress = make_progress(quiet=quiet)
    pipeline = None if through is None else _pipeline(loaded, through, tasks, preset, workers, out)
    result = measure(loaded, samples=samples, targets=targets, workers=workers, repeats=repeats, out=out, progress=progress)
    if html is not None:
        from posegen.generation.profile.report import profile_page

        html.write_text(profile_page(result, budget), encoding="utf-8")
    estimates: list[PipelineEstimate] = []
    if pipeline is not None:
        from posegen.pipeline.estimate import estimate_pipeline

        estimates = estimate_pipeline(pipeline[0], result, pipeline[1], progress)
    if as_json:
        print_json(result.to_dict(budget) | ({} if pipeline is None else _pipeline_data(estimates, budget)))
    else:
        from posegen.cli.profile_text import print_pipelines, print_profile

        print_profile(result, budget, quiet=quiet)
        print_pipelines(estimates, budget)
    fits = all(target.fits(budget) for target in result.targets) and all(each.fits(budget) for each in estimates)
    return 0 if budget is None or fits else 1


def _pipeline(
    config: Config, through: str, tasks: tuple[str, ...], preset: str, workers: int | None, out: Path | None
) -> tuple[Request, list[str]]:
    """Return the pipeline and the names of its stages, or refuse them before anything is measured."""
    from posegen.pipeline.estimate import select_stages
    from posegen.pipeline.run import Request

    folder = Path("runs") / f"{config.name}-{config.seed}" if out is None else out
    request = Request(config, folder, tasks, preset, workers, ("a person walks forward, then waves",))
    if through != "generate" and config.quotas is not None:
        msg = "--through: quotas fix the number of samples, so that no pilot run is possible; use a config without quotas"
        raise UsageError(msg)
    return request, select_stages(request, through)


def _pipeline_data(estimates: Sequence[PipelineEstimate], budget: float | None) -> dict[str, Any]:
    pipelines = [
        {
            "samples": each.samples,
            "pilot_samples": each.pilot_samples,
            "stages": [asdict(stage) for stage in each.stages],
            **{name: value for name, value in asdict(each.total).items() if name != "name"},
            "disk_free": each.disk_free,
            "fits": each.fits(budget),
        }
        for each in estimates
    ]
    return {"pipelines": pipelines}

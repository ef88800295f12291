"""``posegen show`` and ``actions``: draw samples, list the actions of a library and draw them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli import options as cli
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import UsageError

if TYPE_CHECKING:
    from posegen.config.schema import Config


@click.group(epilog=cli.example("posegen actions show wave -o wave.gif"))
def actions() -> None:
    """List and draw actions."""


@cli.command("posegen actions list", group=actions, name="list")
@cli.config_option
@cli.set_option
@cli.loads_config
def list_actions(config: Config, output: cli.Output) -> None:
    """List all actions of a config's library by family."""
    from posegen.library.load import load_library

    library = load_library(config.story.library)
    width = max(map(len, library.actions))
    entries, lines = [], []
    for family, names in library.families.items():
        lines.append(family)
        for name in names:
            action = library.action(name)
            entry = {
                "name": name,
                "family": family,
                "support": action.support,
                "parts": list(action.parts),
                "layered": action.layered,
                "sided": action.sided,
                "repeated": action.repetitions is not None,
                "themes": [theme for theme, content in library.themes.items() if content.actions.get(name)],
            }
            entries.append(entry)
            remarks = [remark for key, remark in (("layered", "layered over another"), ("sided", "either side")) if entry[key]]
            lines.append(f"  {name:<{width}}  {', '.join([action.support, ' '.join(action.parts), *remarks])}")
    output.result(entries, "\n".join(lines))


def _actions() -> Iterable[str]:
    from posegen.library.load import load_library

    return load_library().actions


@cli.command("posegen actions show wave -o wave.gif", group=actions, name="show")
@click.argument("name", metavar="NAME", **cli.completed(_actions))
@cli.file_option("Output file: .gif or .mp4 (animation) or .png (poses).  [default: NAME.gif]", required=False)
@cli.config_option
@cli.set_option
@cli.loads_config
def draw_action(name: str, out: Path | None, config: Config, output: cli.Output) -> None:
    """Draw one action, performed by a person of average build."""
    from posegen.library.channels import widest
    from posegen.library.load import load_library
    from posegen.viewing.render import check_path, render

    library = load_library(config.story.library)
    library.index(name)  # before it becomes part of a file name
    path = check_path(out or Path(f"{name}.gif"))
    # Imported after the checks, because kernels take a moment to load.
    from posegen.viewing.gallery import demonstrate

    clip = demonstrate(library, name)
    render(clip, path)
    widened = library.action(name).ranges.items()
    ranges = {channel: (*widest(channel, wide.min, wide.max), wide.source) for channel, wide in widened}
    lines = [f"{channel} ranges from {low:g} to {high:g} degrees: {text}" for channel, (low, high, text) in ranges.items()]
    document = {"path": path, "name": name, "frames": clip.joints.shape[1], "fps": clip.fps, "ranges": ranges}
    output.summary(document, "\n".join([f"Wrote {path}.", *lines]))


@cli.command(
    "posegen show --config default --sample 7 -o sample.gif",
    "posegen show data/default-0 --sample 3 -o sample.png",
    "posegen show data/default-0 -o sample.mp4",
)
@click.argument("dataset", metavar="[DATASET]", required=False, type=cli.DATASET)
@click.option("-c", "--config", metavar="NAME|PATH", help="Draw samples of this preset or YAML file, without a dataset.")
@click.option("-i", "--sample", type=cli.WHOLE, metavar="I", default=0, help="Index of the sample.")
@click.option("--variant", metavar="NAME", default="base", help="Name of the variant.")
@cli.file_option("Output file: .gif or .mp4 (animation) or .png (poses over time).")
@cli.seed_option
@cli.set_option
def show(
    dataset: AnyPath | None, config: str | None, sample: int, variant: str, out: Path, output: cli.Output, **options: Any
) -> None:
    """Draw a sample of DATASET or of --config, with captions, actions and contacts, as an animation or as poses over time."""
    from posegen.config.schema import MOST_SAMPLES
    from posegen.viewing.clip import clip_of_config, clip_of_dataset
    from posegen.viewing.render import check_path, render

    # Checked before anything is computed, which may take seconds.
    check_path(out)
    if sample >= MOST_SAMPLES:
        raise UsageError(f"sample {sample} does not exist; a dataset has at most {MOST_SAMPLES:,} samples")
    if dataset is not None:
        given = {"--config": config, "--set": options["overrides"], "--seed": options["seed"]}
        cli.refuse_useless("on a dataset, which has its own config and seed", given)
        clip = clip_of_dataset(dataset, sample, variant)
    elif config is not None:
        clip = clip_of_config(config, sample, variant, **options)
    else:
        raise UsageError("nothing to draw; pass a dataset, or a config such as --config default")
    render(clip, out)
    captions = clip.caption.splitlines()
    output.result({"path": out, "title": clip.title, "captions": captions}, f"{clip.title}: {' / '.join(captions)}")
    if not output.as_json:
        output.note(f"Wrote {out}.")

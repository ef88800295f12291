"""``posegen show``: draw samples of a dataset or of a config."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from posegen.cli.options import WHOLE, example, json_option, note, print_json, quiet_option, seed_option, set_option
from posegen.errors import UsageError
from posegen.wording import printable


@click.command(
    epilog=example(
        "posegen show --config default --sample 7 -o sample.gif", "posegen show data/default-0 --sample 3 -o sample.png"
    )
)
@click.argument("dataset", metavar="[DATASET]", required=False, type=click.Path(path_type=Path))
@click.option("--config", metavar="NAME|PATH", help="Draw samples of this preset or YAML file, without a dataset.")
@click.option(
    "--sample",
    "samples",
    type=WHOLE,
    metavar="I",
    multiple=True,
    help="Index of the sample; may be repeated for a .png.  [default: 0]",
)
@click.option(
    "--variant",
    metavar="NAME",
    default="base",
    show_default=True,
    help="Name of the variant, or 'all' for a .png of every variant.",
)
@click.option(
    "-o",
    "out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="Output file: .gif (animation) or .png (poses over time).",
)
@seed_option
@set_option
@json_option
@quiet_option
def show(
    dataset: Path | None,
    config: str | None,
    samples: Sequence[int],
    variant: str,
    out: Path,
    seed: int | None,
    overrides: Sequence[str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Draw a sample with its captions, actions and contacts, as an animation or as poses over time."""
    from posegen.config.schema import MOST_SAMPLES
    from posegen.viewing.clip import clips_of_config, clips_of_dataset
    from posegen.viewing.render import check_path, render_all

    # Checked before anything is computed, which may take seconds.
    check_path(out)
    indices = list(dict.fromkeys(samples or (0,)))
    if max(indices) >= MOST_SAMPLES:
        msg = f"sample {max(indices)} does not exist; a dataset has at most {MOST_SAMPLES:,} samples"
        raise UsageError(msg)
    if dataset is not None:
        if config is not None or overrides or seed is not None:
            msg = "DATASET has its own config and seed; pass either DATASET, or --config with --seed and --set"
            raise UsageError(msg)
        clips = clips_of_dataset(dataset, indices, variant)
    elif config is not None:
        clips = clips_of_config(config, indices, variant, overrides=overrides, seed=seed)
    else:
        msg = "nothing to draw; pass a dataset, or a config such as --config default"
        raise UsageError(msg)
    render_all(clips, out)
    if as_json:
        print_json(
            {"path": str(out), "sequences": [{"title": clip.title, "captions": clip.caption.splitlines()} for clip in clips]}
        )
        return
    for clip in clips:
        click.echo(printable(f"{clip.title}: {' / '.join(clip.caption.splitlines())}"))
    note(f"wrote {out}", quiet=quiet)

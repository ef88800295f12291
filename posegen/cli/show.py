"""``posegen show``: draw samples of a dataset or of a config."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from posegen.cli.options import DATASET, WHOLE, Output, command, file_option, seed_option, set_option
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import UsageError


@command(
    "posegen show --config default --sample 7 -o sample.gif",
    "posegen show data/default-0 --sample 3 -o sample.png",
    "posegen show data/default-0 -o sample.mp4",
)
@click.argument("dataset", metavar="[DATASET]", required=False, type=DATASET)
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
    help="Name of the variant, or 'all' for a .png of every variant.",
)
@file_option("Output file: .gif or .mp4 (animation) or .png (poses over time).")
@seed_option
@set_option
def show(
    dataset: AnyPath | None,
    config: str | None,
    samples: Sequence[int],
    variant: str,
    out: Path,
    seed: int | None,
    overrides: Sequence[str],
    output: Output,
) -> None:
    """Draw a sample of DATASET or of --config, with captions, actions and contacts, as an animation or as poses over time."""
    from posegen.config.schema import MOST_SAMPLES
    from posegen.viewing.clip import clips_of_config, clips_of_dataset
    from posegen.viewing.render import check_path, render_all

    # Checked before anything is computed, which may take seconds.
    check_path(out)
    indices = list(dict.fromkeys(samples or (0,)))
    if max(indices) >= MOST_SAMPLES:
        raise UsageError(f"sample {max(indices)} does not exist; a dataset has at most {MOST_SAMPLES:,} samples")
    if dataset is not None:
        if config is not None or overrides or seed is not None:
            raise UsageError("DATASET has its own config and seed; pass either DATASET, or --config with --seed and --set")
        clips = clips_of_dataset(dataset, indices, variant)
    elif config is not None:
        clips = clips_of_config(config, indices, variant, overrides=overrides, seed=seed)
    else:
        raise UsageError("nothing to draw; pass a dataset, or a config such as --config default")
    render_all(clips, out)
    for clip in clips:
        for fault in clip.exceeded:
            output.warn(f"{clip.title}: {fault}, also after other attempts")
    titled = [(clip.title, clip.caption.splitlines()) for clip in clips]
    document = {"path": out, "sequences": [{"title": title, "captions": captions} for title, captions in titled]}
    output.result(document, "\n".join(f"{title}: {' / '.join(captions)}" for title, captions in titled))
    if not output.as_json:
        output.note(f"Wrote {out}.")

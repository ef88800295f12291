"""``posegen info``: describe a dataset: contents, size, and how to read it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, Output, example, output_options

if TYPE_CHECKING:
    from posegen.generation.describe import Description


ACTIONS_SHOWN = 30
_HEADER = ("name", "seed", "identity", "content_version", "licence", "frames", "fps", "variants")


@click.command(epilog=example("posegen info data/default-0"))
@click.argument("dataset", type=PATH)
@output_options
def info(dataset: Path, output: Output) -> None:
    """Describe DATASET: contents, size, actions, captions, and how to read it."""
    from posegen.generation.describe import describe, reading_lines

    found = describe(dataset)
    document = {name: value for name, value in asdict(found).items() if name != "header"}
    document |= {name: getattr(found.header, name) for name in _HEADER}
    document |= {"sequences": found.sequences, "bytes": found.bytes, "python": reading_lines(found)}
    output.result(document, "\n".join(_lines(found)))


def _lines(description: Description) -> list[str]:
    from posegen.generation.describe import reading_lines
    from posegen.quantities import human_bytes

    d, header = description, description.header
    width = max(map(len, (*d.fields, "sequences ")))
    sizes = ", ".join(f"{name} {human_bytes(size)}" for name, size in d.sizes.items())
    lines = [
        f"{d.path}: config {header.name}, seed {header.seed}, identity {header.identity}, "
        f"content version {header.content_version}, {header.licence}",
        "",
        f"  {d.samples:,} samples in {len(header.variants)} variants ({', '.join(header.variants)}): {d.sequences:,} sequences",
        f"  up to {header.frames} frames at {header.fps} FPS, {d.hours:,.2f} hours of motion",
        f"  {human_bytes(d.bytes)} on disk ({sizes}), {human_bytes(d.bytes / max(d.sequences, 1))} per sequence",
        "",
        *(f"  {name:<{width}} {text}" for name, text in d.fields.items()),
        f"  {'sequences':<{width}} one row per sample and variant: captions, theme, length, actors, "
        "parameters, attempt, dropped",
    ]
    if d.note:
        lines += ["", d.note]
    if d.resampled is not None and d.dropped is not None:
        share = d.resampled / max(d.samples, 1)
        lines += [
            f"  {d.resampled:,} samples ({share:.2%}) resampled after failed caption or joint-limit checks, "
            f"{d.dropped:,} statements dropped"
        ]
    if d.actions:
        lines += ["", "Actions, share of frames on the legs and on any body part:"]
        lines += [f"  {share.action:<20} {share.legs:6.1%} {share.any:6.1%}" for share in d.actions[:ACTIONS_SHOWN]]
    if len(d.actions) > ACTIONS_SHOWN:
        lines.append(f"  and {len(d.actions) - ACTIONS_SHOWN} more; use --json for all")
    if d.captions:
        lines += ["", "Captions:"]
        lines += [f"  {caption.sample} {caption.variant:<9} {caption.text}" for caption in d.captions]
    return [*lines, "", "Read it in Python:", "", *(f"    {line}" for line in reading_lines(d))]

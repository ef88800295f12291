"""``posegen info``: describe a dataset: contents, size, and how to read it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, WHOLE, Output, command
from posegen.dataset.storage.address import AnyPath

if TYPE_CHECKING:
    from posegen.dataset.layout import Header

ACTIONS_SHOWN = 30
_HEADER = ("name", "seed", "identity", "content_version", "licence", "frames", "fps", "variants", "created")


@command("posegen info data/default-0", "posegen info data/default-0 --sample 7")
@click.argument("dataset", type=DATASET)
@click.option("--sample", type=WHOLE, metavar="I", help="Print what is needed to make this sample again, and nothing else.")
def info(dataset: AnyPath, sample: int | None, output: Output) -> None:
    """Describe DATASET: contents, size, actions, captions, and how to read it."""
    if sample is not None:
        _describe_sample(dataset, sample, output)
        return
    from posegen.foundations.quantities import human_bytes
    from posegen.generation.describe import describe, reading_lines

    found = describe(dataset)
    header, reading = found.header, reading_lines(found)
    document = {name: value for name, value in asdict(found).items() if name != "header"}
    document |= {name: getattr(header, name) for name in _HEADER}
    document |= {"sequences": found.sequences, "bytes": found.bytes, "python": reading}
    width = max(map(len, (*found.fields, "sequences ")))
    variants, sizes = ", ".join(header.variants), ", ".join(f"{name} {human_bytes(size)}" for name, size in found.sizes.items())
    lines = [
        f"{found.path}: config {header.name}, seed {header.seed}, identity {header.identity}, "
        f"content version {header.content_version}, {header.licence}",
        *_creation_lines(header),
        "",
        f"  {found.samples:,} samples in {len(header.variants)} variants ({variants}): {found.sequences:,} sequences",
        f"  up to {header.frames} frames at {header.fps} FPS, {found.hours:,.2f} hours of motion",
        f"  {human_bytes(found.bytes)} on disk ({sizes}), {human_bytes(found.bytes / max(found.sequences, 1))} per sequence",
        "",
        *(f"  {name:<{width}} {text}" for name, text in found.fields.items()),
        f"  {'sequences':<{width}} one row per sample and variant: captions, theme, length, actors, "
        "parameters, attempt, dropped",
    ]
    if found.note:
        lines += ["", found.note]
    if found.resampled is not None and found.dropped is not None:
        share = found.resampled / max(found.samples, 1)
        lines += [
            f"  {found.resampled:,} samples ({share:.2%}) resampled after failed caption or joint-limit checks, "
            f"{found.dropped:,} statements dropped"
        ]
    occurring = [share for share in found.actions if share.any]
    if occurring:
        lines += ["", "Actions, share of frames on the legs and on any body part:"]
        lines += [f"  {share.action:<20} {share.legs:6.1%} {share.any:6.1%}" for share in occurring[:ACTIONS_SHOWN]]
    if len(occurring) > ACTIONS_SHOWN:
        lines.append(f"  and {len(occurring) - ACTIONS_SHOWN} more; use --json for all")
    if len(occurring) < len(found.actions):
        lines.append(f"  {len(found.actions) - len(occurring)} other actions do not occur")
    if found.captions:
        lines += ["", "Captions:"]
        lines += [f"  {caption.sample} {caption.variant:<9} {caption.text}" for caption in found.captions]
    if found.samples:
        lines += ["", "Read it in Python:", "", *(f"    {line}" for line in reading)]
    output.result(document, "\n".join(lines))


def _creation_lines(header: Header) -> list[str]:
    return [] if header.created is None else [f"created {header.created.date} by posegen {header.created.posegen}"]


def _describe_sample(dataset: AnyPath, sample: int, output: Output) -> None:
    """Print what makes a sample."""
    from posegen.generation.describe import trace_sample

    found = trace_sample(dataset, sample)
    header = found.header
    lines = [
        f"{found.path}, sample {sample} of config {header.name}: {found.caption}",
        "",
        f"  content version  {header.content_version}",
        f"  identity         {header.identity}",
        f"  seed             {header.seed}",
        f"  shard            {found.shard}",
        *(f"  config           {override}" for override in found.overrides),
        *(f"  hash of {name:<8} {digits}" for name, digits in found.content.items()),
        *(f"  {line}" for line in _creation_lines(header)),
        "",
        "Sequences:",
        *(f"  {_sequence_text(sequence)}" for sequence in found.sequences),
        "",
        "Make it again in Python, without the dataset:",
        "",
        *(f"    {line}" for line in found.python),
    ]
    if found.obstacle:
        lines += ["", f"Here, these lines do not make it: {found.obstacle}"]
    document = {name: value for name, value in asdict(found).items() if name not in ("header", "python")}
    document |= {name: getattr(header, name) for name in _HEADER} | {"python": found.python, "obstacle": found.obstacle}
    output.result(document, "\n".join(lines))


def _sequence_text(sequence: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name} {value:g}" for name, value in (sequence.get("parameters") or {}).items())
    texts = [f"{sequence['variant']:<9} {sequence['length']} frames", f"theme {sequence['theme']}" if sequence["theme"] else ""]
    texts += [f"attempt {sequence['attempt']}", f"{len(sequence['dropped'])} statements dropped", parameters]
    return ", ".join(text for text in texts if text)

"""``posegen diff``: compare the contents of two datasets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, Output, command
from posegen.dataset.storage.address import AnyPath

if TYPE_CHECKING:
    from posegen.dataset.compare import Difference
    from posegen.dataset.layout import Header


DIFFERENCES_SHOWN = 20
DIFFERENT = 1


@command("posegen diff data/default-0 elsewhere/default-0")
@click.argument("a", type=DATASET)
@click.argument("b", type=DATASET)
@click.option("--deep", is_flag=True, help="Recompute the hashes of all values instead of reading them from the receipts.")
def diff(a: AnyPath, b: AnyPath, deep: bool, output: Output) -> int:
    """Compare the datasets A and B, and list the fields, samples and variants that differ.

    Shard size, compression and order of generation are ignored. The exit code is 0 if the contents are equal, else 1.
    """
    from posegen.dataset.compare import compare
    from posegen.dataset.read import open_dataset

    first, second = open_dataset(a), open_dataset(b)
    comparison = compare(first, second, deep=deep, most=DIFFERENCES_SHOWN)
    identity = _identity(first.header, second.header)
    document = {
        "a": a,
        "b": b,
        "equal": not comparison.samples,
        "samples_different": comparison.samples,
        "differences": [found._asdict() for found in comparison.differences],
        "identity": identity,
    }
    lines = _identity_lines(identity)
    if comparison.samples:
        lines += [_difference_line(found) for found in comparison.differences]
        if len(comparison.differences) == DIFFERENCES_SHOWN:
            lines.append(f"(the first {DIFFERENCES_SHOWN} differences)")
        lines.append(f"{a} and {b} differ: {', '.join(_count(name, count) for name, count in comparison.samples.items())}.")
    else:
        lines.append(f"{a} and {b} have equal content: {len(first):,} samples.")
    output.result(document, "\n".join(lines))
    return DIFFERENT if comparison.samples else 0


def _identity(first: Header, second: Header) -> dict[str, list[Any]]:
    """Return the keys of the headers that determine content and differ, with their values in A and in B."""
    from posegen.config.identity import differences
    from posegen.config.schema import decides_content

    if first.identity == second.identity:
        return {}
    found: dict[str, list[Any]] = {"identity": [first.identity, second.identity]}
    if first.content_version != second.content_version:
        found["content_version"] = [first.content_version, second.content_version]
    return found | {key: [one, other] for key, one, other in differences(first.config, second.config) if decides_content(key)}


def _identity_lines(identity: dict[str, list[Any]]) -> list[str]:
    if not identity:
        return []
    lines = [f"  {key}: {json.dumps(one)} -> {json.dumps(other)}" for key, (one, other) in identity.items()]
    if len(lines) == 1:
        lines.append("  the library files (actions, themes or words)")
    return ["The configs differ, A -> B:", *lines]


def _difference_line(found: Difference) -> str:
    if found.sample is None:
        return f"{found.field}: different lists" if found.field == "variants" else f"{found.field}: in one dataset only"
    if found.field == "samples":
        return f"sample {found.sample}: in one dataset only"
    variant = "" if found.variant is None else f", variant {found.variant}"
    return f"{found.field}: sample {found.sample}{variant}"


def _count(name: str, count: int) -> str:
    if name == "samples":
        return f"{count:,} sample{'s' if count > 1 else ''} in one dataset only"
    return f"{name} in {count:,} sample{'s' if count > 1 else ''}" if count else name

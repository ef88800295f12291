"""Write the figures as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, described_machine, machine_sentence

HEAD = "| {} | write, MB/s | read all, MB/s | one sequence, ms | bytes, % |\n|---|---|---|---|---|"


def write(found: dict[str, Any]) -> Path:
    """Write JSON and tables; return the path of the tables."""
    machine, load = described_machine(), round(os.getloadavg()[0], 1)
    RESULTS.mkdir(exist_ok=True)
    document = json.dumps({"machine": machine, "load": load, **found}, indent=1) + "\n"
    (RESULTS / "packing.json").write_text(document, encoding="utf-8")
    place = RESULTS / "packing.md"
    place.write_text("\n".join(lines(found, f"{machine_sentence(machine)}, load {load}")) + "\n", encoding="utf-8")
    return place


def lines(found: dict[str, Any], machine: str) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# The store's choices"
    yield ""
    yield f"`python -m benchmarks.packing` on {machine}."
    yield "Joints of the default config, one core; megabytes are those of the joints."
    yield ""
    first = "In memory, with checksums. The first line is what posegen does."
    yield from _table(
        "Codec, level, shuffle, blocks, samples in a chunk",
        first,
        "choice",
        {each["choice"]: each for each in found["packing"]},
    )
    if found["better"]:
        yield f"Better in something and behind in nothing: {'; '.join(found['better'])}."
    else:
        yield "None is better in something and behind in nothing."
    yield ""
    forms = "Compressed as today, with the filters of numcodecs. Plain zarr could read all of them."
    yield from _table("Forms of the numbers", forms, "form", found["forms"])
    shard = "A shard on the disk, not synced, with the same codecs. posegen's file is read by zarr's usual pipeline here."
    yield from _table("Who encodes and decodes", shard, "pipeline", found["pipelines"])
    yield "## fsync"
    yield ""
    yield "A shard's files, while a core has 50 ms of work to do for them."
    yield ""
    yield "| way | ms a shard, besides its work |"
    yield "|---|---|"
    for name, milliseconds in found["syncing"].items():
        yield f"| {name} | {milliseconds:.0f} |"
    yield ""
    yield "| samples in a shard, synced behind the work | ms for 200 samples, besides the work |"
    yield "|---|---|"
    for size, milliseconds in found["shards"].items():
        yield f"| {size} | {milliseconds:.0f} |"


def _table(title: str, text: str, head: str, rows: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    yield from (f"## {title}", "", text, "", HEAD.format(head))
    for name, each in rows.items():
        numbers = f"{each['write']:,.0f} | {each['read']:,.0f} | {each['latency']:.2f} | {100 * each['size']:.1f}"
        yield f"| {name} | {numbers} |"
    yield ""

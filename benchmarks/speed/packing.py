"""Whether the store's choices are still the best known; see `benchmarks/packing` for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT

ROUNDS = "5"


def measure(folder: Path) -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.packing", "--json", "--rounds", ROUNDS, "--folder", str(folder)]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    now, better = found["packing"][0], found["better"]
    told = f"{now['write']:,.0f} MB/s written, {now['read']:,.0f} read, {now['latency']:.2f} ms to a sequence"
    yield Figure(f"packing of joints: {now['choice']}", f"{told}, {now['size']:.1%} of the bytes", detail=found)
    found_better = "; ".join(better) or "none"
    yield Figure("choices of packing that are better in something, behind in nothing", found_better)
    own, others = found["pipelines"]["posegen"], {**found["pipelines"]}
    del others["posegen"]
    name, best = max(others.items(), key=lambda other: other[1]["write"])
    ahead = own["write"] >= best["write"]
    told = f"{own['write']:,.0f} MB/s; {name} {best['write']:,.0f}"
    yield Figure("posegen's own writer, beside the fastest of zarr's pipelines", told, "ahead", ahead)
    behind, without = found["syncing"]["each synced behind the work"], found["syncing"]["no sync"]
    one_by_one = found["syncing"]["each file synced when written"]
    told = f"{behind:.0f} ms a shard; {one_by_one:.0f} in front of the work, {without:.0f} without"
    yield Figure("files synced behind the work", told)

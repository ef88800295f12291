"""Comparison of the storage settings with alternatives; see `benchmarks/packing` for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import module, printed_by

ROUNDS = "5"


def measure(folder: Path) -> Iterator[Figure]:
    found = printed_by(module("benchmarks.packing", "--json", "--rounds", ROUNDS, "--folder", folder))
    now, better = found["packing"][0], found["better"]
    value = f"{now['write']:,.0f} MB/s written, {now['read']:,.0f} read, {now['latency']:.2f} ms to a sequence"
    yield Figure(f"packing of joints: {now['choice']}", f"{value}, {now['size']:.1%} of the bytes", detail=found)
    yield Figure("settings that are better in one measure and worse in none", "; ".join(better) or "none")
    own, others = found["pipelines"]["posegen"], {**found["pipelines"]}
    del others["posegen"]
    name, best = max(others.items(), key=lambda other: other[1]["write"])
    is_faster = own["write"] >= best["write"]
    value = f"{own['write']:,.0f} MB/s; {name} {best['write']:,.0f}"
    yield Figure("posegen's writer, compared with the fastest zarr pipeline", value, "faster", is_faster)
    background, without = found["syncing"]["each synced behind the work"], found["syncing"]["no sync"]
    foreground = found["syncing"]["each file synced when written"]
    value = f"{background:.0f} ms per shard; {foreground:.0f} ms in the foreground, {without:.0f} ms without sync"
    yield Figure("writing files and syncing them in the background", value)

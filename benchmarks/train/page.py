"""Write ``docs/performance.md`` from its template and the committed results: ``python -m benchmarks.train.page``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, filled_page, provenance, results_table
from benchmarks.train.against_published import ALL, BASE, CHANGES, POSEGEN, PUBLISHED, STRETCHES
from benchmarks.train.gpu import FILE
from benchmarks.train.presets import PRESETS

__all__ = ["PAGE", "page", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
TEMPLATE = Path(__file__).with_name("performance.template.md")
TRIED = Path(__file__).with_name("tried.md")
"""Results of small runs, shown until there are measured ones."""
SECTION = "train"
UNMEASURED = f"(not measured yet: `make judge SECTION={SECTION}`)"
PROMISES = ("time split of a training step", "killed", "memory.limit", "mocap clips, among", "shuffled", "beside the published")

BATCHES = {"gpu": 256, "gpu-max": 1024, "gpu-16gb": 128}
"""Clips of a step of the presets for GPUs."""

Figures = Sequence[Mapping[str, Any]]


def page() -> str:
    """Return the page with the measured figures."""
    results = RESULTS / f"{SECTION}.json"
    document = json.loads(results.read_text("utf-8")) if results.exists() else None
    figures: Figures = document["figures"] if document else []
    parts = {
        "machine": provenance(document) if document else TRIED.read_text("utf-8").rstrip(),
        "choices": _choices(figures),
        "padding": _value(figures, "padding of clips to the longest"),
        "quality": _table([f for f in figures if f["name"].startswith("top-1 of test clips")]),
        "presets": _presets(figures),
        "gpu": _gpu(),
        "promises": _promises(figures),
    }
    return filled_page(TEMPLATE, parts)


def write() -> Path:
    """Write the page and return its path."""
    PAGE.write_text(page(), encoding="utf-8")
    return PAGE


def _choices(figures: Figures) -> str:
    """Return a table of time per clip, speed relative to the published settings, and speed without each choice."""
    head = "time of a clip: "
    details = {f["name"].removeprefix(head): f for f in figures if f["name"].startswith(head)}
    if not details:
        return UNMEASURED
    lines = [
        "| settings | time per clip | relative to published, batch 3 | all choices but this one |",
        "|---|---|---|---|",
    ]
    for name in (*PUBLISHED, *(f"with {each}" for each in (*CHANGES, STRETCHES)), ALL, POSEGEN):
        detail = details[name]["detail"]
        left_out = details.get(f"without {name.removeprefix('with ')}")
        lost = f"{left_out['detail']['times']:.2f} times as fast" if left_out else ""
        times = "" if name == BASE else f"{detail['times']:.2f} times as fast"
        time = details[name]["value"].partition(",")[0]
        lines.append(f"| {name.replace('with ', 'the same with ')} | {time} | {times} | {lost} |")
    return "\n".join(lines)


def _presets(figures: Figures) -> str:
    lines = [
        "| preset | weights | steps | estimate | action: time, result | retrieval: time, result |",
        "|---|---|---|---|---|---|",
    ]
    for preset in PRESETS:
        estimates = [f["detail"] for f in figures if f["name"].startswith(f"preset {preset},")]
        if not estimates:
            return UNMEASURED
        runs = [_run(figures, f"{preset} {task}") for task in ("action", "retrieval")]
        size, minutes = estimates[0]["parameters"] / 1e6, estimates[0]["seconds"] / 60
        first = f"{size:.1f} million | {estimates[0]['steps']:,} | {minutes:.0f} minutes"
        lines.append(f"| `{preset}` | {first} | {' | '.join(runs)} |")
    return "\n".join(lines)


def _run(figures: Figures, kind: str) -> str:
    """Return the duration and the main measure of a complete run."""
    values = [f["detail"][kind] for f in figures if isinstance(f["detail"], dict) and kind in f["detail"]]
    if not values:
        return "not measured"
    return ", ".join(f"{each:.1f} minutes" if isinstance(each, float) else each for each in values)


def _gpu() -> str:
    """Return a sentence and a table of the runs on a GPU."""
    document = json.loads(FILE.read_text("utf-8"))
    made = document["pipeline"]
    machine = f"One {document['gpu']} and {document['cores']} cores, torch {document['torch']}"
    lines = [
        f"{machine}; {made['samples']:,} samples of the default config. Generated at "
        f"{made['sequences_per_second']:,} sequences a second,",
        f"after {made['kernels_seconds']} s for the kernels; {made['texts']:,} texts embedded with MiniLM in "
        f"{made['embed_seconds']} s. "
        f"Golden hashes: {made['golden']}.",
        "",
        "| task, preset | precision | steps | step | clips a second | GPU utilised | GPU memory, estimate | waiting for data | "
        "result |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in document["runs"]:
        memory, seconds = run["memory"], run["times"]["seconds"]
        name, value = next(iter(run["measures"].items()))
        cells = [
            f"`{run['task']}`, `{run['preset']}`"
            + (" (beside others)" if run.get("beside_others") else "")
            + (" (compiled)" if run["choices"]["compile"] else ""),
            run["choices"]["precision"],
            f"{run['steps']:,}",
            f"{1000 * seconds:.0f} ms",
            f"{BATCHES[run['preset']] / seconds:,.0f}",
            f"{100 * memory['gpu_utilisation']:.0f} %",
            f"{memory['gpu_peak'] / 1e9:.1f} GB, {run['estimate']['gpu_bytes'] / 1e9:.1f} GB",
            f"{100 * run['times']['shares']['data']:.0f} %",
            f"{name} {value:.3f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _promises(figures: Figures) -> str:
    return _table([f for f in figures if any(part in f["name"] for part in PROMISES)])


def _table(figures: Figures) -> str:
    if not figures:
        return UNMEASURED
    return results_table(figures)


def _value(figures: Figures, name: str) -> str:
    return next((f["value"] for f in figures if f["name"].startswith(name)), UNMEASURED)


if __name__ == "__main__":
    print(write())

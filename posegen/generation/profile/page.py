"""A profile as a page: tables, and a flame chart of one run. One file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from posegen.generation.profile.flame import flame_chart
from posegen.generation.profile.profile import Profile
from posegen.generation.profile.stages import STAGES
from posegen.quantities import human_bytes, human_time

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
td:first-child, th:first-child { text-align: left; } td.words { text-align: left; }
td.bar { min-width: 12rem; text-align: left; } td.bar i { display: block; height: .8rem; background: #4c8dae; }
.no { color: #d33; font-weight: bold; } .chart { overflow-x: auto; } svg text { fill: #111; } svg .axis { fill: currentColor; }
"""


def page(found: Profile, document: dict[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    found : Profile
    document : dict
        As :func:`posegen.generation.profile.document.document` writes it.
    """
    title = f"posegen profile: {found.config.name}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(_measured(document))}</p>",
            "<h2>What it will cost</h2>",
            *_table(_TARGETS, map(_target_row, document["targets"])),
            "<h2>Where the time goes</h2>",
            *_table(("stage", "s a shard", "share", "", "behind the work, s", "what"), _stage_rows(found)),
            f"<p>{escape(_start(document['stages']['start-up']))}</p>",
            "<h2>How fast</h2>",
            *_table(("workers", "samples a second", "sequences a second", "memory of a worker"), _rate_rows(document)),
            "<h2>One run</h2><p>Each worker is a band: what it does, and below that what is written behind its work. "
            "Point at a block to see how long it took.</p>",
            '<div class="chart">',
            flame_chart(found.run),
            "</div></body></html>\n",
        ]
    )


_TARGETS = ("samples", "time", "from", "to", "disk", "workers", "memory", "binds", "recommended", "fits")


def _target_row(target: dict[str, Any]) -> Iterator[str]:
    times = (human_time(target[name]) for name in ("seconds", "seconds_low", "seconds_high"))
    disk = human_bytes(target["bytes"]) + ("" if target["disk_suffices"] else " (too much)")
    memory = human_bytes(target["memory_bytes"]) + ("" if target["memory_suffices"] else " (too much)")
    recommended = f"{target['recommended_workers']} workers, shards of {target['recommended_shard']}"
    yield from map(_cell, (f"{target['samples']:,}", *times, disk, str(target["workers"]), memory))
    yield from map(_words, (target["binds"], recommended))
    yield _cell("yes") if target["fits"] else '<td class="no">no</td>'


def _stage_rows(found: Profile) -> Iterator[Iterator[str]]:
    largest = max(stage.seconds for stage in found.stages) or 1.0
    for stage in found.stages:
        share = stage.seconds / found.shard_seconds
        bar = f'<td class="bar"><i style="width: {100 * stage.seconds / largest:.1f}%"></i></td>'
        cells = (_cell(stage.name), _cell(f"{stage.seconds:.3f}"), _cell(f"{share:.1%}"), bar, _cell(f"{stage.behind:.3f}"))
        yield iter((*cells, _words(STAGES.get(stage.name, ""))))


def _rate_rows(document: dict[str, Any]) -> Iterator[Iterator[str]]:
    for rate in document["rates"]:
        rates = (f"{rate[name]:,.0f}" for name in ("samples_per_second", "sequences_per_second"))
        yield map(_cell, (str(rate["workers"]), *rates, human_bytes(rate["peak_memory_per_worker"])))


def _measured(document: dict[str, Any]) -> str:
    machine = document["machine"]
    return (
        f"posegen {document['version']}, {machine['cores']} cores of {machine['processor']}, Python {machine['python']}; "
        f"{document['samples']:,} samples or more, {document['repeats']} times, on the disk of {document['place']}. "
        f"{human_bytes(document['bytes_per_sample'])} a sample. Other processes used "
        f"{document['cores_of_others']:.1f} cores meanwhile."
    )


def _start(start: dict[str, Any]) -> str:
    compiled = f" Compiling, once, took {start['compiling']:.0f} s." if start["compiling"] else ""
    return (
        f"Start-up, once a run: {start['seconds']:.1f} s; the program {start['program']:.1f}, "
        f"the workers {start['workers']:.1f}, their first shards {start['first_shard']:.1f} longer than others.{compiled}"
    )


def _table(heads: Sequence[str], rows: Iterator[Iterator[str]] | map[Iterator[str]]) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(row) + "</tr>"
    yield "</table>"


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _words(text: str) -> str:
    return f'<td class="words">{escape(text)}</td>'

"""The HTML page of a profile: tables and a flame chart of one run, in one file without scripts or external resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from posegen.generation.profile.estimate import Run
from posegen.generation.profile.profile import Profile
from posegen.generation.profile.stages import STAGES
from posegen.generation.shard import ShardMeasures
from posegen.quantities import human_bytes, human_time
from posegen.stopwatch import Span

WIDTH, LEFT, RIGHT, ROW, GAP = 1100, 80, 30, 18, 10
LEAST_WIDTH = 0.3
LETTER = 6.5
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)

COLOURS = {
    "plan": "#7fc6a4",
    "motion": "#f4a259",
    "variants": "#f6cd7b",
    "attempt": "#d5d8ea",
    "checks": "#9cb4e0",
    "captions": "#c3a6dc",
    "fields": "#e6b8a2",
    "encode": "#8ecae6",
    "hash": "#b8d9a0",
    "write": "#d8d35c",
    "sync": "#ef7d7d",
    "start-up": "#cfcfcf",
    "shard": "#e4e4e4",
    "starting": "#f3f3f3",
}
OTHER = "#dddddd"


def profile_page(profile: Profile, budget: float | None) -> str:
    """Return the page of a profile.

    Parameters
    ----------
    profile : Profile
    budget : float or None
        Seconds that a target may take.
    """
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {"bytes": human_bytes, "time": human_time}
    return environment.get_template("profile.html.j2").render(
        profile=profile,
        data=profile.to_dict(budget),
        descriptions=STAGES,
        slowest=max(stage.seconds for stage in profile.stages) or 1.0,
        chart=_flame_chart(profile.run),
        width=WIDTH,
        row=ROW,
    )


@dataclass(frozen=True)
class _Block:
    """A rectangle of the chart; `text` is empty where there is no room for it."""

    left: float
    top: int
    width: float
    colour: str
    title: str
    text: str


@dataclass(frozen=True)
class _Chart:
    blocks: list[_Block]
    labels: list[tuple[str, int]]
    ticks: list[tuple[float, str]]
    bottom: int


def _flame_chart(run: Run) -> _Chart:
    """Return a chart with time from left to right and a band for each worker, with stages below shards."""
    bands: dict[int, list[ShardMeasures]] = defaultdict(list)
    for shard in sorted(run.shards, key=lambda shard: shard.started):
        bands[shard.process].append(shard)
    scale = (WIDTH - LEFT - RIGHT) / (run.ended - run.called)
    blocks: list[_Block] = []

    def draw(name: str, start: float, stop: float, top: int, kind: str) -> None:
        width, seconds = (stop - start) * scale, stop - start
        if width < LEAST_WIDTH:
            return
        letters = int((width - 4) / LETTER)
        text = "" if letters < 3 else name if len(name) <= letters else f"{name[: letters - 1]}…"
        title = f"{name}: {seconds:.2f} s" if seconds >= 1 else f"{name}: {1000 * seconds:.1f} ms"
        blocks.append(_Block(LEFT + (start - run.called) * scale, top, width, COLOURS.get(kind, OTHER), title, text))

    draw("start-up", run.called, run.ready, 0, "start-up")
    labels, top = [("program", 0)], ROW + GAP
    for number, shards in enumerate(bands.values(), 1):
        labels.append((f"worker {number}", top))
        if run.workers > 1:
            draw("worker starts", run.ready, shards[0].started, top, "starting")
        deepest = 0
        for shard in shards:
            draw(f"shard ({shard.samples} samples)", shard.started, shard.stopped, top, "shard")
            for span, depth in _nested(shard.spans):
                deepest = max(deepest, depth)
                draw(span.stage, span.start, span.stop, top + (depth + 1) * ROW, span.stage)
        below = top + (deepest + 2) * ROW
        for span in (span for shard in shards for span in shard.spans if span.behind):
            draw(f"{span.stage}, background", span.start, span.stop, below, span.stage)
        top = below + ROW + GAP
    length = run.ended - run.called
    step = next((step for step in TICKS if length / step <= 12), length)
    ticks = [(LEFT + tick * step * scale, f"{tick * step:g} s") for tick in range(int(length / step) + 1)]
    return _Chart(blocks, labels, ticks, top)


def _nested(spans: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    """Yield the spans of a worker's main thread with their depth."""
    outer: list[Span] = []
    for span in sorted((span for span in spans if not span.behind), key=lambda span: (span.start, -span.stop)):
        while outer and outer[-1].stop <= span.start:
            outer.pop()
        yield span, len(outer)
        outer.append(span)

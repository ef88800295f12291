"""A flame chart of a run as a drawing: time from left to right, a band for each worker, stages within shards below them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.rates import Run
from posegen.stopwatch import Span

__all__ = ["flame_chart"]

WIDTH, LEFT, RIGHT, ROW, GAP = 1100, 80, 30, 18, 10
LEAST_WIDTH = 0.3
LETTER = 6.5

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


def flame_chart(run: Run) -> str:
    """Draw a run.

    Parameters
    ----------
    run : Run

    Returns
    -------
    str
        An ``svg`` element.
    """
    bands: dict[int, list[ShardMeasures]] = defaultdict(list)
    for shard in sorted(run.shards, key=lambda shard: shard.started):
        bands[shard.process].append(shard)
    scale = (WIDTH - LEFT - RIGHT) / (run.ended - run.called)
    parts = [*_block("start-up", run.called, run.ready, 0, run, scale), _label("program", 0)]
    top = ROW + GAP
    for number, shards in enumerate(bands.values()):
        parts.append(_label(f"worker {number + 1}", top))
        deepest = 0
        if run.workers > 1:
            parts += _block("worker starts", run.ready, shards[0].started, top, run, scale, "starting")
        for shard in shards:
            parts += _block(f"shard ({shard.samples} samples)", shard.started, shard.stopped, top, run, scale, "shard")
            for span, depth in _nested(shard.spans):
                deepest = max(deepest, depth)
                parts += _block(span.stage, span.start, span.stop, top + (depth + 1) * ROW, run, scale)
        below = top + (deepest + 2) * ROW
        for span in (span for shard in shards for span in shard.spans if span.behind):
            parts += _block(f"{span.stage}, behind", span.start, span.stop, below, run, scale, span.stage)
        top = below + ROW + GAP
    parts += _axis(run, scale, top)
    size = f'width="{WIDTH}" height="{top + 2 * ROW}" viewBox="0 0 {WIDTH} {top + 2 * ROW}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" font-size="11">'
    return "\n".join([head, *parts, "</svg>"])


def _nested(spans: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    """Give the spans of a worker with the number of those around each."""
    around: list[Span] = []
    for span in sorted((span for span in spans if not span.behind), key=lambda span: (span.start, -span.stop)):
        while around and around[-1].stop <= span.start:
            around.pop()
        yield span, len(around)
        around.append(span)


def _block(name: str, start: float, stop: float, top: float, run: Run, scale: float, kind: str | None = None) -> Iterator[str]:
    left, width = LEFT + (start - run.called) * scale, (stop - start) * scale
    if width < LEAST_WIDTH:
        return
    colour, seconds = COLOURS.get(kind or name, OTHER), stop - start
    told = f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
    yield (
        f'<g><title>{escape(name)}: {told}</title><rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{ROW - 1}" '
        f'fill="{colour}"/>'
    )
    letters = int((width - 4) / LETTER)
    if letters >= 3:
        text = name if len(name) <= letters else f"{name[: letters - 1]}…"
        yield f'<text x="{left + 3:.2f}" y="{top + ROW - 6}">{escape(text)}</text>'
    yield "</g>"


def _label(text: str, top: float) -> str:
    return f'<text class="axis" x="0" y="{top + ROW - 5}">{escape(text)}</text>'


def _axis(run: Run, scale: float, top: float) -> Iterator[str]:
    length = run.ended - run.called
    step = next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if length / step <= 12), length)
    for tick in range(int(length / step) + 1):
        left = LEFT + tick * step * scale
        yield f'<line x1="{left:.2f}" x2="{left:.2f}" y1="0" y2="{top}" stroke="#8884"/>'
        yield f'<text class="axis" x="{left:.2f}" y="{top + ROW - 4}">{tick * step:g} s</text>'

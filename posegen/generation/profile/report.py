"""The HTML page of a profile: tables and a flame chart of one run, in one file without scripts or external resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from posegen.foundations.quantities import human_bytes, human_time
from posegen.foundations.stopwatch import nested
from posegen.foundations.templates import fill_template
from posegen.generation.profile.estimate import STAGES, Run
from posegen.generation.profile.profile import Profile

WIDTH, LEFT, RIGHT, ROW, GAP = 1100, 80, 30, 18, 10
LEAST_WIDTH = 0.3
_STAGES = tuple(STAGES)
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def profile_page(profile: Profile, budget: float | None) -> str:
    """Return the page of a profile.

    Parameters
    ----------
    profile : Profile
    budget : float or None
        Seconds that a target may take.
    """
    return fill_template(
        Path(__file__).with_name("profile.html.j2"),
        filters={"bytes": human_bytes, "time": human_time},
        profile=profile,
        data=profile.to_dict(budget),
        descriptions=STAGES,
        slowest=max(stage.seconds for stage in profile.stages) or 1.0,
        chart=_flame_chart(profile.run),
        width=WIDTH,
        row=ROW,
    )


def _flame_chart(run: Run) -> dict[str, Any]:
    """Return a chart with time from left to right and a band for each worker, with stages below shards."""
    scale = (WIDTH - LEFT - RIGHT) / (run.ended - run.called)
    blocks: list[dict[str, Any]] = []

    def draw(name: str, start: float, stop: float, top: int, stage: str = "") -> None:
        width, seconds = (stop - start) * scale, stop - start
        if width < LEAST_WIDTH:
            return
        title = f"{name}: {seconds:.2f} s" if seconds >= 1 else f"{name}: {1000 * seconds:.1f} ms"
        colour = f"hsl({360 * _STAGES.index(stage) // len(_STAGES)}, 55%, 75%)" if stage in _STAGES else "#e0e0e0"
        left = LEFT + (start - run.called) * scale
        blocks.append({"left": left, "top": top, "width": width, "colour": colour, "title": title, "name": name})

    draw("start-up", run.called, run.ready, 0)
    labels, top = [("program", 0)], ROW + GAP
    for number, shards in enumerate(run.by_process.values(), 1):
        labels.append((f"worker {number}", top))
        if run.workers > 1:
            draw("worker starts", run.ready, shards[0].started, top)
        deepest = 0
        for shard in shards:
            draw(f"shard ({shard.samples} samples)", shard.started, shard.stopped, top)
            for span, around in nested(span for span in shard.spans if not span.behind):
                deepest = max(deepest, len(around))
                draw(span.stage, span.start, span.stop, top + (len(around) + 1) * ROW, span.stage)
        below = top + (deepest + 2) * ROW
        for span in (span for shard in shards for span in shard.spans if span.behind):
            draw(f"{span.stage}, background", span.start, span.stop, below, span.stage)
        top = below + ROW + GAP
    length = run.ended - run.called
    step = next((step for step in TICKS if length / step <= 12), length)
    ticks = [(LEFT + tick * step * scale, f"{tick * step:g} s") for tick in range(int(length / step) + 1)]
    return {"blocks": blocks, "labels": labels, "ticks": ticks, "bottom": top}

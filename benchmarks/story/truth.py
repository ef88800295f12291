"""Whether the checker refuses what is turned round, and whether 10,000 samples say anything that is not so.

Two counts are kept apart: what the checker refuses of all that is turned round, what it cannot measure included, and of what
it can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.motion.clips import scaled
from benchmarks.story.blocks import blocks
from benchmarks.story.turned import turned_round
from posegen import load_config
from posegen.checks.statements import check_statement, observe_actors
from posegen.errors import UsageError
from posegen.library.load import Library, load_library
from posegen.synthesis import Batch

SAMPLES = 10_000
REFUSED = 0.99
JUDGED = ("side", "count", "order", "speed", "direction")
"""Kinds that are judged; the others that can be turned round are told."""
PRESETS, PRESET_SAMPLES = ("pairs", "crowd"), 1000
"""Where several people are, who also meet."""
NAMED = 20
"""False statements that are named in the results."""

Verdicts = Counter[tuple[str, bool | None]]


@dataclass
class Checked:
    """Verdicts by kind: of statements as they are told, and turned round; the first false ones; samples planned again."""

    told: Verdicts = field(default_factory=Counter)
    turned: Verdicts = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    again: int = 0
    dropped: int = 0


def measure(folder: Path) -> Iterator[Figure]:
    found = checked("default", scaled(SAMPLES, 50))
    yield from refused(found)
    yield from told("default", found)
    for preset in PRESETS:
        try:
            yield from told(preset, checked(preset, scaled(PRESET_SAMPLES, 20)))
        except UsageError as error:
            yield Figure(f"false statements of the preset {preset}", f"not measured: {error}", "measured", False)


def checked(preset: str, samples: int) -> Checked:
    """Check the first samples of a preset."""
    config, found = load_config(preset), Checked()
    library = load_library(config.story.library)
    for batch in blocks(samples, preset):
        take_down(batch, library, config.fps, found)
    return found


def take_down(batch: Batch, library: Library, fps: float, found: Checked) -> None:
    """Check all statements of some samples, as they are and turned round."""
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    seen = observe_actors(joints, [row["actors"] for row in batch.rows], library, fps)
    found.samples += len(batch.samples)
    for row, actors in zip(batch.rows, seen, strict=True):
        found.again += row["variant"] == batch.variants[0] and row.get("attempt", 0) > 0
        found.dropped += len(row.get("dropped", ()))
        for text, statement in claims_of(row):
            kind, verdict = statement["kind"], check_statement(statement, actors, library)
            found.told[kind, verdict] += 1
            if verdict is False and len(found.false) < NAMED:
                found.false.append(f"sample {row['sample']} {row['variant']}: {_named(statement)}: {text}")
            for false in turned_round(statement, row):
                believed = check_statement(false, actors, library)
                found.turned[kind, believed] += 1
                if believed is not False:
                    found.missed[f"{_named(false)}, {'not measurable' if believed is None else 'believed'}"] += 1


def claims_of(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give all that a row claims, with the text that claims it: captions, and the words for its segments."""
    segments = (segment for actor in row["actors"] for segment in actor["segments"] if "statements" in segment)
    for told in (*row["captions"], *segments):
        for statement in told["statements"]:
            yield told["text"], statement


def refused(found: Checked) -> Iterator[Figure]:
    """Tell what was refused of what was turned round."""
    turnable = [*JUDGED, *sorted({kind for kind, _ in found.turned} - set(JUDGED))]
    for kind in turnable:
        false, believed, opened = (found.turned[kind, verdict] for verdict in (False, True, None))
        total = false + believed + opened
        share = false / total if total else 0.0
        said = f"{100 * share:.2f} % of {total:,} refused, {believed:,} believed, {opened:,} not measurable"
        judged = kind in JUDGED
        wanted = f"at least {100 * REFUSED:.0f} %" if judged else ""
        yield Figure(f"{kind} turned round", said, wanted, share >= REFUSED if judged else None)
    missed = dict(found.missed.most_common(NAMED))
    yield Figure("turned round and not refused, the most frequent", "; ".join(list(missed)[:5]) or "none", detail=missed)


def told(preset: str, found: Checked) -> Iterator[Figure]:
    """Tell what is false, what cannot be measured, and what it took that nothing is."""
    kinds = sorted({kind for kind, _ in found.told})
    false = sum(found.told[kind, False] for kind in kinds)
    by_kind = ", ".join(f"{kind} {found.told[kind, False]:,}" for kind in kinds if found.told[kind, False])
    shown = sum(found.told[kind, True] for kind in kinds)
    opened = ", ".join(f"{kind} {found.told[kind, None]:,}" for kind in kinds if found.told[kind, None])
    said = f"{false:,} ({by_kind or 'of no kind'}); {shown:,} shown by the joints"
    name = f"false statements in all variants of {found.samples:,} samples, {preset}"
    yield Figure(name, said, "none", false == 0 and shown > 0, found.false)
    yield Figure(f"statements that cannot be measured, {preset}", opened or "none")
    again = f"{found.again:,} samples planned again, {found.dropped:,} statements left untold"
    yield Figure(f"what it took, {preset}", again)


def _named(statement: Any) -> str:
    return " ".join(str(statement[key]) for key in ("kind", "action", "value") if statement[key])

"""Whether the checker refuses what is turned round, and whether 10,000 samples say anything that is not so.

Two counts are kept apart: what the checker refuses of all that is turned round, what it cannot measure included, and of what
it can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.motion.clips import scaled
from benchmarks.story.blocks import blocks
from benchmarks.story.turned import turned_round
from posegen import load_config
from posegen.library import Library, load_library
from posegen.synthesis import Batch
from posegen.truth.check import check_statement, see_actors

SAMPLES = 10_000
REFUSED = 0.99
JUDGED = ("side", "count", "order", "speed", "direction")
"""Kinds that are judged; the others that can be turned round are told."""
NAMED = 20
"""False statements that are named in the results."""

Verdicts = Counter[tuple[str, bool | None]]


@dataclass
class Checked:
    """Verdicts by kind: of statements as they are told, and turned round; and the first false ones."""

    told: Verdicts = field(default_factory=Counter)
    turned: Verdicts = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    samples: int = 0


def measure(folder: Path) -> Iterator[Figure]:
    samples = scaled(SAMPLES, 50)
    found = Checked()
    library, fps = load_library(), load_config("default").fps
    for batch in blocks(samples):
        take_down(batch, library, fps, found)
    yield from figures(found)


def take_down(batch: Batch, library: Library, fps: float, found: Checked) -> None:
    """Check all statements of some samples, as they are and turned round."""
    joints = batch.joints.reshape(-1, *batch.joints.shape[2:])
    seen = see_actors(joints, [row["actors"] for row in batch.rows], library, fps)
    found.samples += len(batch.samples)
    for row, actors in zip(batch.rows, seen, strict=True):
        for caption in row["captions"]:
            for statement in caption["statements"]:
                kind, verdict = statement["kind"], check_statement(statement, actors, library)
                found.told[kind, verdict] += 1
                if verdict is False and len(found.false) < NAMED:
                    found.false.append(f"sample {row['sample']} {row['variant']}: {_named(statement)}: {caption['text']}")
                for false in turned_round(statement, row):
                    refused = check_statement(false, actors, library)
                    found.turned[kind, refused] += 1
                    if refused is not False:
                        found.missed[f"{_named(false)}, {'not measurable' if refused is None else 'believed'}"] += 1


def figures(found: Checked) -> Iterator[Figure]:
    """Tell what was found."""
    turnable = [*JUDGED, *sorted({kind for kind, _ in found.turned} - set(JUDGED))]
    for kind in turnable:
        refused, believed, opened = (found.turned[kind, verdict] for verdict in (False, True, None))
        total = refused + believed + opened
        share = refused / total if total else 0.0
        told = f"{100 * share:.2f} % of {total:,} refused, {believed:,} believed, {opened:,} not measurable"
        judged = kind in JUDGED
        wanted = f"at least {100 * REFUSED:.0f} %" if judged else ""
        yield Figure(f"{kind} turned round", told, wanted, share >= REFUSED if judged else None)
    missed = dict(found.missed.most_common(NAMED))
    yield Figure("turned round and not refused, the most frequent", "; ".join(list(missed)[:5]) or "none", detail=missed)
    yield from _told(found)


def _told(found: Checked) -> Iterator[Figure]:
    kinds = sorted({kind for kind, _ in found.told})
    false = sum(found.told[kind, False] for kind in kinds)
    by_kind = ", ".join(f"{kind} {found.told[kind, False]:,}" for kind in kinds if found.told[kind, False])
    shown = sum(found.told[kind, True] for kind in kinds)
    opened = ", ".join(f"{kind} {found.told[kind, None]:,}" for kind in kinds if found.told[kind, None])
    told = f"{false:,} ({by_kind or 'of no kind'}); {shown:,} shown by the joints"
    name = f"false statements in all variants of {found.samples:,} samples"
    yield Figure(name, told, "none", false == 0 and shown > 0, found.false)
    yield Figure("statements that cannot be measured", opened or "none")


def _named(statement: Any) -> str:
    return " ".join(str(statement[key]) for key in ("kind", "action", "value") if statement[key])

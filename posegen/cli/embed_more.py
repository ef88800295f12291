"""What ``posegen embed`` does with vectors that are there: pairs of texts, and a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posegen.cli.options import note

__all__ = ["more"]

SECONDS_BETWEEN_NOTES = 5.0


def more(dataset: Path, encoder: str, *, pairs: bool, report: bool, quiet: bool) -> tuple[dict[str, Any], list[str]]:
    """Mine pairs and write the report, if they are asked for.

    Parameters
    ----------
    dataset : Path
    encoder : str
        Whose vectors.
    pairs, report : bool
        What is asked for.
    quiet : bool

    Returns
    -------
    document : dict
        What is told of it as JSON.
    lines : list of str
        The same in words.
    """
    document: dict[str, Any] = {}
    lines = []
    if pairs:
        from posegen.embedding.pairs import mine_pairs

        found = mine_pairs(dataset, encoder, progress=_progress(quiet=quiet))
        document["pairs"] = asdict(found) | {"path": str(found.path), "nothing_to_do": found.nothing_to_do}
        did = "nothing to do" if found.nothing_to_do else f"{found.made:,} of {found.shards:,} shards in {found.seconds:.1f} s"
        lines += [
            f"Pairs of texts in {found.path}: {did}.",
            f"{found.duplicates:,} near-duplicates and {found.negatives:,} hard negatives of {found.texts:,} texts.",
        ]
    if report:
        from posegen.embedding.report import write_report

        note("laying out the map", quiet=quiet)
        place = write_report(dataset, encoder)
        document["report"] = str(place)
        lines.append(f"The report is {place}: open it in a browser.")
    return document, lines


def _progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    told = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_NOTES:
            told = time.monotonic()
            note(f"{what}: {done:,} of {total:,}", quiet=quiet)

    return tell

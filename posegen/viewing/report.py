"""Write the page of a dataset as one file, with its first samples inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posegen.dataset.files import write_durably
from posegen.foundations.progress import Progress
from posegen.viewing.collection import Collection
from posegen.viewing.page import complete_page


def write_report(
    collection: Collection, samples: int, out: Path, evaluation: Mapping[str, Any] | None, progress: Progress
) -> int:
    """Write a self-contained page and return its size in bytes.

    Parameters
    ----------
    collection : Collection
    samples : int
        Number of samples, from the first.
    out : Path
        An existing file is replaced.
    evaluation : mapping, optional
        What the page shows of the evaluation: ``clips``, and rows of ``verdict``, ``measures`` and ``statements``.
    progress : Progress
    """
    samples = min(samples, collection.samples)
    progress.start("report", samples)
    encoded = {}
    try:
        for sample in range(samples):
            encoded[sample] = base64.b64encode(collection.read_sample(sample)).decode()
            progress.update(sample + 1)
    finally:
        progress.stop()
    pages = range(-(-samples // collection.page))
    rows = [row for page in pages for row in collection.read_rows(page)][:samples]
    overview = dict(collection.read_overview()) | ({"evaluation": evaluation} if evaluation else {})
    about = collection.about() | {"samples": samples, "page": max(samples, 1)}
    page = complete_page(collection.title, {"about": about, "rows": rows, "overview": overview, "samples": encoded})
    write_durably(out, page.encode())
    return len(page.encode())

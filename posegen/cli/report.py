"""``posegen report``: write a dataset as one page, with its evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, WHOLE, Output, command, file_option
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.errors import UsageError, require_positive

if TYPE_CHECKING:
    from posegen.evaluation.evaluate import Evaluation

_MOST_SAMPLES = 2000


@command("posegen report data/default-0 -o report.html", "posegen report data/default-0 --samples 20 -o report.html")
@click.argument("dataset", type=DATASET)
@click.option("--samples", type=WHOLE, metavar="N", default=200, help="Number of samples to show and evaluate, from the first.")
@click.option("--no-evaluation", is_flag=True, help="Leave the evaluation out, which takes most of the time.")
@file_option("Page to write.", metavar="FILE.html")
def report(dataset: AnyPath, samples: int, no_evaluation: bool, out: Path, output: Output) -> None:
    """Write the page of `posegen view` as one file that needs no posegen and no network.

    It holds the first samples of DATASET in all variants, with positions to half a millimetre, the distributions over all
    samples, the evaluation, and where the dataset comes from.
    """
    from posegen.evaluation.evaluate import evaluate
    from posegen.foundations.quantities import human_bytes
    from posegen.viewing.collection import collection_of_dataset
    from posegen.viewing.page import write_report

    require_positive("--samples", samples)
    if samples > _MOST_SAMPLES:
        raise UsageError(f"--samples must be at most {_MOST_SAMPLES:,}, because browsers load the whole page (got {samples})")
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{out}: must end in .html")
    collection = collection_of_dataset(dataset)
    found = None if no_evaluation else summary_of(evaluate(dataset, None, samples, output.progress()))
    size = write_report(collection, samples, out, found, output.progress())
    shown = min(samples, collection.samples)
    output.summary({"path": out, "samples": shown, "bytes": size}, f"Wrote {shown:,} samples to {out} ({human_bytes(size)}).")


def summary_of(found: Evaluation) -> dict[str, Any]:
    """Return what the page shows of an evaluation, as texts."""
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.verdict import judge

    results = {True: "pass", False: "fail", None: "nothing to measure"}
    verdict = [(finding.name, finding.value, finding.target, results[finding.passes]) for finding in judge(found)]
    measures = [
        (name, f"{spread.median:.3g}", f"{spread.high:.3g}", f"{spread.worst:.3g}", MEASURES[name])
        for name, spread in found.measures.items()
        if spread.clips
    ]
    counts = found.statements or {}
    statements = [(kind, f"{c.true:,}", f"{c.false:,}", f"{c.open:,}") for kind, c in counts.items()]
    return {"clips": found.clips, "verdict": verdict, "measures": measures, "statements": statements}

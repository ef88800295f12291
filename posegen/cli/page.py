"""``posegen view`` and ``posegen report``: the page of sequences, served or as one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, WHOLE, Number, Output, command, file_option, refuse_useless
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError, require_positive
from posegen.foundations.wording import counted

if TYPE_CHECKING:
    from posegen.evaluation.evaluate import Evaluation
    from posegen.viewing.collection import Collection


_POLL_SECONDS = 0.1
"""Longest time between a signal whose exception Python has discarded and the end of the server."""


@command("posegen view data/default-0", "posegen view walk.bvh")
@click.argument("path", type=DATASET)
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="P", default=0, help="Port of 127.0.0.1; 0 is any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def view(path: AnyPath, fps: float | None, port: int, no_browser: bool, output: Output) -> None:
    """Look at sequences in the browser: orbit, play, scrub, filter, compare variants.

    PATH is a dataset, or a file or folder of clips in a format that `posegen evaluate` reads. The page is served to this
    machine only, until Ctrl-C.
    """
    import webbrowser

    from posegen.generation.session import interruptible
    from posegen.viewing.server import Server

    collection = open_path(path, fps, output)
    try:
        server = Server(collection, port)
    except OSError as error:
        raise UsageError(f"--port {port}: cannot be used ({error.strerror}); choose another, or leave it out") from error
    server.timeout = _POLL_SECONDS
    try:
        with server, interruptible() as check:
            output.result({"url": server.url, "samples": collection.samples}, server.url)
            sys.stdout.flush()
            output.note("Press Ctrl-C to end.")
            if not no_browser and _has_screen():
                webbrowser.open(server.url)
            while True:
                server.handle_request()
                check()
    except KeyboardInterrupt:
        output.note("ended")


def open_path(path: AnyPath, fps: float | None, output: Output) -> Collection:
    """Open a dataset or clips.

    Raises
    ------
    UsageError
        If there is nothing to view at the path.
    """
    from posegen.mocap.sources import holds_clips, require_existing
    from posegen.viewing.collection import collection_of_clips, collection_of_dataset

    local = storage_of(path).local
    if local:
        require_existing(local)
    if local is None or not holds_clips(local):
        refuse_useless("on a dataset", {"--fps": fps})
        return collection_of_dataset(path)
    from posegen.mocap.recordings import read_recordings

    recordings = list(read_recordings(local, fps=fps, refuse=output.refuse, note=output.note))
    if not recordings:
        raise UsageError(f"{path}: none of the clips can be read")
    rates = ", ".join(f"{rate:.4g}" for rate in sorted({recording.fps for recording in recordings}))
    provenance = {"file": str(path), "clips": f"{len(recordings):,}", "frames per second": rates}
    return collection_of_clips(local.name, recordings, provenance)


def _has_screen() -> bool:
    """Return whether a browser has a window: one in a terminal would take it over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


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
    from posegen.viewing.render import PAGES, check_path

    require_positive("--samples", samples)
    if samples > _MOST_SAMPLES:
        raise UsageError(f"--samples must be at most {_MOST_SAMPLES:,}, because browsers load the whole page (got {samples})")
    check_path(out, PAGES)
    collection = collection_of_dataset(dataset)
    found = None if no_evaluation else summary_of(evaluate(dataset, None, samples, output.progress()))
    size = write_report(collection, samples, out, found, output.progress())
    shown = min(samples, collection.samples)
    text = f"Wrote {counted(shown, 'sample')} to {out} ({human_bytes(size)})."
    output.summary({"path": out, "samples": shown, "bytes": size}, text)


def summary_of(found: Evaluation) -> dict[str, Any]:
    """Return the texts of an evaluation for the page."""
    from posegen.evaluation.plausibility import MEASURES
    from posegen.evaluation.text import OUTCOMES, judge

    verdict = [(finding.name, finding.value, finding.target, OUTCOMES[finding.passes]) for finding in judge(found)]
    measures = [
        (name, f"{spread.median:.3g}", f"{spread.high:.3g}", f"{spread.worst:.3g}", MEASURES[name])
        for name, spread in found.measures.items()
        if spread.clips
    ]
    counts = found.statements or {}
    statements = [(kind, f"{c.true:,}", f"{c.false:,}", f"{c.open:,}") for kind, c in counts.items()]
    return {"clips": found.clips, "verdict": verdict, "measures": measures, "statements": statements}

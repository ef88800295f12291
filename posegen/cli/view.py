"""``posegen view``: look at sequences in the browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, PATH, Number, Output, command, seed_option, set_option
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.foundations.errors import UsageError

if TYPE_CHECKING:
    from posegen.viewing.collection import Collection

_POLL_SECONDS = 0.1
"""Longest time between a signal whose exception Python has discarded and the end of the server."""


@command("posegen view data/default-0", "posegen view --config pairs", "posegen view walk.bvh")
@click.argument("path", metavar="[PATH]", required=False, type=DATASET)
@click.option("--config", metavar="NAME|PATH", help="Synthesize samples of this preset or YAML file as you look at them.")
@seed_option
@set_option
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--names", type=PATH, metavar="YAML", help="Names of the joints of clips.  [default: worked out]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="P", default=0, help="Port of 127.0.0.1; 0 is any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def view(
    path: AnyPath | None,
    config: str | None,
    seed: int | None,
    overrides: Sequence[str],
    fps: float | None,
    names: Path | None,
    port: int,
    no_browser: bool,
    output: Output,
) -> None:
    """Look at sequences in the browser: orbit, play, scrub, filter, compare variants.

    PATH is a dataset; a file or folder of clips in a format that `posegen evaluate` reads; or a run of `posegen train --task
    motion`, whose model generates motion for captions of the test split, shown beside the motion of the dataset. The page is
    served to this machine only, until Ctrl-C.
    """
    if path is not None:
        if config is not None or overrides or seed is not None:
            raise UsageError("PATH has its own config and seed; pass either PATH, or --config with --seed and --set")
        collection = open_path(path, fps, names, output)
    elif config is not None:
        if fps is not None or names is not None:
            raise UsageError("--fps and --names belong to clips, not to a config; leave them out")
        collection = open_config(config, overrides, seed, output)
    else:
        raise UsageError("nothing to view; pass a dataset, a file of clips, or a config such as --config default")
    serve(collection, port, no_browser, output)


def open_path(path: AnyPath, fps: float | None, names: Path | None, output: Output) -> Collection:
    """Open a dataset, clips, or the run of a motion model.

    Raises
    ------
    UsageError
        If there is nothing to view at the path.
    """
    from posegen.mocap.sources import holds_clips, require_existing
    from posegen.viewing.collection import NamedClip, collection_of_clips, collection_of_dataset

    local = storage_of(path).local
    if local:
        require_existing(local)
    if local and (local / "run.json").exists():
        output.note("loading the model ...")
        return open_run(local)
    if local is None or not holds_clips(local):
        if fps is not None or names is not None:
            raise UsageError("--fps and --names belong to clips, not to a dataset; leave them out")
        return collection_of_dataset(path)
    from posegen.mocap.recordings import read_recordings

    refused: list[str] = []
    silent, note = (lambda text: None), output.note
    recordings = list(read_recordings(local, fps=fps, names=names, log=silent, refuse=refused.append, note=note))
    for reason in refused:
        output.note(f"refused: {reason}")
    if not recordings:
        raise UsageError(f"{path}: none of the clips can be read")
    clips = [NamedClip(r.name, r.joints, r.fps, r.family or r.description, r.person) for r in recordings]
    rates = ", ".join(f"{rate:.4g}" for rate in sorted({clip.fps for clip in clips}))
    return collection_of_clips(local.name, clips, {"file": str(path), "clips": f"{len(clips):,}", "frames per second": rates})


def open_run(run: Path) -> Collection:
    """Show the motion that a model generates for captions of the test split beside the motion that they describe.

    Raises
    ------
    UsageError
        If the run is not of a complete motion model, or the dataset that it was trained on is not there.
    """
    import numpy as np

    from posegen.dataset.header import is_dataset
    from posegen.dataset.read import open_dataset
    from posegen.dataset.splits import in_split
    from posegen.training.animation.animate import animate, load_text_encoder
    from posegen.training.run_folder import RUN, read_document
    from posegen.training.trained_models import load_model
    from posegen.viewing.collection import Collection, describe_row, library_of, sequences_of_rows
    from posegen.viewing.sequence import encode_sample

    trained = load_model(run, "generates_motion")
    record = read_document(run, RUN) or {}
    source = to_path(str(record.get("source", "")))
    if not is_dataset(source):
        hint = f"Run the command in the folder where it was trained, or draw one text: posegen animate {run} TEXT -o out.gif"
        raise UsageError(f"{run}: the dataset that it was trained on is not at {source}, and its captions are needed. {hint}")
    dataset, encoder = open_dataset(source), load_text_encoder(trained)
    header, library = dataset.header, library_of(dataset.header.config)
    if record["data"]["identity"] != header.identity:
        raise UsageError(f"{run}: {source} is another dataset than the one it was trained on. Restore that one")
    tested = in_split(header.seed, np.arange(len(dataset)), "test")
    if not len(tested):
        raise UsageError(f"{run}: {source} has no sample in its test split; generate more samples")

    def read_rows(page: int) -> list[dict[str, Any]]:
        del page
        return [describe_row(dataset.rows(sample)[0]) | {"sample": n} for n, sample in enumerate(tested.tolist())]

    def read_sample(number: int) -> bytes:
        sample = int(tested[number])
        arrays = {name: dataset.arrays(name, slice(sample, sample + 1))[0, :1] for name in ("joints", "action", "contact")}
        row = dataset.rows(sample)[0]
        caption = row["captions"][min(1, len(row["captions"]) - 1)]
        made = animate(trained, encoder, [caption["text"]], whole=True)
        joints, touched = (np.stack([getattr(clip, name) for clip in made.clips]) for name in ("joints", "contact"))
        contact = np.zeros((1, *joints.shape[:2], arrays["contact"].shape[-1]), np.uint8)
        contact[0, ..., : touched.shape[-1]] = touched
        actors = [{"seat_height": 0.0, "segments": []} for _ in made.clips]
        asked = {"sample": sample, "variant": "model", "captions": [caption | {"statements": []}], "actors": actors}
        motion = {"joints": joints[None], "contact": contact}
        (shown,) = sequences_of_rows([asked], motion, made.fps, ())
        # A model may hold a foot in contact above the floor: no stairs are drawn below it.
        shown = replace(shown, clip=replace(shown.clip, seats=()))
        names = header.field("action").attributes["names"]
        real = sequences_of_rows([row | {"variant": "data"}], arrays, float(header.fps), names)
        return encode_sample(number, [shown, *real], library)

    provenance = {"run": str(run), "dataset": str(source), "captions": f"{len(tested):,} of the test split"}
    return Collection(run.name, "run", len(tested), len(tested), ("model", "data"), provenance, read_rows, read_sample)


def open_config(config: str, overrides: Sequence[str], seed: int | None, output: Output) -> Collection:
    """Open a config, whose first samples are synthesized at once, so that its errors and the compiler are seen here."""
    from posegen.config.load import load_config
    from posegen.viewing.collection import collection_of_config

    collection = collection_of_config(load_config(config, overrides, seed=seed))
    output.note("synthesizing the first samples ...")
    collection.read_rows(0)
    return collection


def serve(collection: Collection, port: int, no_browser: bool, output: Output) -> None:
    """Serve the page until the process is interrupted.

    Raises
    ------
    UsageError
        If the port is taken.
    """
    import webbrowser

    from posegen.generation.session import interruptible
    from posegen.viewing.server import Server

    try:
        server = Server(collection, port)
    except OSError as error:
        raise UsageError(f"--port {port}: cannot be used ({error.strerror}); choose another, or leave it out") from error
    server.timeout = _POLL_SECONDS
    try:
        with server, interruptible() as check:
            output.result({"url": server.url, "samples": collection.samples}, f"{server.url}")
            sys.stdout.flush()
            output.note("Press Ctrl-C to end.")
            if not no_browser and _has_screen():
                webbrowser.open(server.url)
            while True:
                server.handle_request()
                check()
    except KeyboardInterrupt:
        output.note("ended")


def _has_screen() -> bool:
    """Return whether a browser has a window: one in a terminal would take it over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

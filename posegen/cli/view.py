"""``posegen view``: look at sequences in the browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from posegen.cli.options import PATH, Number, Output, command, seed_option, set_option
from posegen.errors import UsageError

if TYPE_CHECKING:
    from posegen.viewing.collection import Collection


@command("posegen view data/default-0", "posegen view --config pairs", "posegen view walk.bvh")
@click.argument("path", metavar="[PATH]", required=False, type=PATH)
@click.option("--config", metavar="NAME|PATH", help="Synthesize samples of this preset or YAML file as you look at them.")
@seed_option
@set_option
@click.option("--fps", type=Number(1, 1000), metavar="N", help="Frames per second of clips.  [default: those of the file]")
@click.option("--names", type=PATH, metavar="YAML", help="Names of the joints of clips.  [default: worked out]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="P", default=0, help="Port of 127.0.0.1; 0 is any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def view(
    path: Path | None,
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

    PATH is a dataset, or a file or folder of clips in a format that `posegen evaluate` reads. The page is served to this
    machine only, until Ctrl-C.
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


def open_path(path: Path, fps: float | None, names: Path | None, output: Output) -> Collection:
    """Open a dataset, or clips.

    Raises
    ------
    UsageError
        If there is nothing to view at the path.
    """
    from posegen.mocap.sources import holds_clips
    from posegen.viewing.collection import NamedClip, collection_of_clips, collection_of_dataset

    if (path / "run.json").exists():
        raise UsageError(
            f"{path}: is a training run, which stores a model and no motion. To see motion of the model, run: "
            f"posegen animate {path} TEXT -o out.gif"
        )
    if not holds_clips(path):
        if fps is not None or names is not None:
            raise UsageError("--fps and --names belong to clips, not to a dataset; leave them out")
        return collection_of_dataset(path)
    from posegen.mocap.recordings import read_recordings

    refused: list[str] = []
    recordings = list(read_recordings(path, fps=fps, names=names, log=lambda text: None, refuse=refused.append))
    for reason in refused:
        output.note(f"refused: {reason}")
    if not recordings:
        raise UsageError(f"{path}: none of the clips can be read")
    clips = [NamedClip(r.name, r.joints, r.fps, r.family or r.description, r.person) for r in recordings]
    rates = ", ".join(f"{rate:.4g}" for rate in sorted({clip.fps for clip in clips}))
    return collection_of_clips(path.name, clips, {"file": str(path), "clips": f"{len(clips):,}", "frames per second": rates})


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

    from posegen.viewing.server import Server

    try:
        server = Server(collection, port)
    except OSError as error:
        raise UsageError(f"--port {port}: cannot be used ({error.strerror}); choose another, or leave it out") from error
    with server:
        output.result({"url": server.url, "samples": collection.samples}, f"{server.url}")
        sys.stdout.flush()
        output.note("Press Ctrl-C to end.")
        if not no_browser and _has_screen():
            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            output.note("ended")


def _has_screen() -> bool:
    """Return whether a browser has a window: one in a terminal would take it over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

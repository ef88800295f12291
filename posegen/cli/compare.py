"""``posegen compare``: decide whether two clips show the same person."""

from __future__ import annotations

from pathlib import Path

import click

from posegen.cli.options import PATH, Output, command
from posegen.cli.predict import named_clips


@command("posegen compare runs/identity-default-0-quick one.bvh other.bvh --far 0.01")
@click.argument("run", type=PATH)
@click.argument("one", type=PATH, metavar="CLIP")
@click.argument("other", type=PATH, metavar="CLIP")
@click.option("--far", type=float, default=0.01, metavar="RATE", help="False accept rate: 0.001, 0.002, 0.005, 0.01, ... 0.1.")
def compare(run: Path, one: Path, other: Path, far: float, output: Output) -> None:
    """Decide with the identity model of RUN whether two clips show the same person.

    The clips are .bvh, .npz, .npy or .c3d files, or folders with several clips of one person. The threshold was calibrated on
    the validation split of the run, and the true accept rate that it promises is shown with its 95 % interval. The persons of
    that split were never trained on, except in a run on your own clips of fewer than six persons: its rates are not valid for
    others, as the result states.
    """
    from posegen.training.verification import compare_clips

    first, second = (named_clips(path, output.note, output.note) for path in (one, other))
    decision = compare_clips(run, first, second, far)
    output.result(decision, decision.text())

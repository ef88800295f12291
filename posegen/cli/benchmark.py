"""``posegen benchmark``: make prompts for text-to-motion models, and judge the motion of a model by its joints."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from posegen.cli.options import PATH, Number, Output, command, example, file_option, quoted
from posegen.foundations.errors import UsageError


@click.group(epilog=example("posegen benchmark make -o prompts.jsonl"))
def benchmark() -> None:
    """Measure whether a text-to-motion model does what a text states: sides, counts, order, speeds, directions, people."""


@command(
    "posegen benchmark make -o prompts.jsonl",
    "posegen benchmark make --texts own.yaml -o own.jsonl",
    group=benchmark,
)
@click.option("--texts", type=PATH, metavar="FILE.yaml", help="Texts and numbers of pairs.  [default: the standard set]")
@file_option("Prompts to write, .jsonl.")
def make(texts: Path | None, out: Path, output: Output) -> None:
    """Write pairs of prompts that differ in one statement, each with the statement to check.

    The standard set has 2,000 prompts, which are the same on every machine, and is cited by its hash. The columns are id, kind,
    text, contrast (the id of the other prompt of the pair), about and value (the statement).
    """
    from posegen.evaluation.benchmark import STANDARD, identity_of, make_prompts, write_prompts

    prompts = make_prompts(texts or STANDARD)
    write_prompts(out, prompts)
    identity = identity_of(prompts)
    text = f"Wrote {len(prompts):,} prompts to {out}; their hash is {identity}.\nNext:\n"
    text += f"  posegen benchmark judge {quoted(out)} MOTIONS --fps 20"
    output.summary({"path": out, "prompts": len(prompts), "identity": identity}, text)


@command(
    "posegen benchmark judge prompts.jsonl motions --fps 20",
    "posegen benchmark judge prompts.jsonl motions --fps 20 -o result.json",
    group=benchmark,
)
@click.argument("prompts", type=PATH, metavar="PROMPTS")
@click.argument("motions", type=PATH, metavar="MOTIONS")
@click.option("--fps", type=Number(1, 1000), metavar="N", required=True, help="Frames per second of the motions.")
@file_option("Also write the result as JSON.", metavar="FILE.json", required=False)
def judge(prompts: Path, motions: Path, fps: float, out: Path | None, output: Output) -> None:
    """Judge the motions that a model generated for PROMPTS, a file of `posegen benchmark make`, by their joints.

    MOTIONS is a folder with a file ID.npy for each prompt: float [frames, 22, 3], joints of SMPL in metres with y up, or
    [2, frames, 22, 3] for a prompt about two people. A missing motion counts as one that does not show the statement.

    The table has the share of prompts of each kind that are shown, with its Wilson interval, those whose contrast is shown
    instead, and the share of pairs with both prompts shown.
    """
    from posegen.evaluation.benchmark import describe_scores, identity_of, judge_prompts, read_motion, read_prompts

    asked = read_prompts(prompts)
    if not motions.is_dir():
        raise UsageError(f"{motions}: is no folder; give one with a file ID.npy for each prompt")
    scores, verdicts = judge_prompts(asked, lambda name: read_motion(motions / f"{name}.npy"), fps)
    if scores[-1].missing == len(asked):
        raise UsageError(f"{motions}: has no motion of a prompt; the first one would be {asked[0].id}.npy")
    identity = identity_of(asked)
    document = {"prompts": prompts, "identity": identity, "motions": motions, "fps": fps}
    document |= {"scores": [asdict(score) for score in scores], "verdicts": verdicts}
    if out is not None:
        out.write_text(json.dumps(document, indent=2, default=str), encoding="utf-8")
    output.result(document, describe_scores(scores, f"{motions}: prompts {identity}"))

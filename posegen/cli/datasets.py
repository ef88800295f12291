"""``posegen info``, ``recipe``, ``diff``, ``mix`` and ``verify``: describe, compare, combine and check datasets."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, WHOLE, Output, command, file_option, part_option, quoted, refuse_useless
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import counted, shown

if TYPE_CHECKING:
    from posegen.dataset.compare import Difference
    from posegen.dataset.layout import Header
    from posegen.dataset.read import Dataset
    from posegen.dataset.verify import Problem
    from posegen.generation.describe import Description, Provenance
    from posegen.generation.repair import RepairResult


ACTIONS_SHOWN = 30
_HEADER = ("name", "seed", "identity", "content_version", "licence", "frames", "fps", "variants", "created")


@command("posegen info data/default-0", "posegen info data/default-0 --sample 7")
@click.argument("dataset", type=DATASET)
@click.option("-i", "--sample", type=WHOLE, metavar="I", help="Print only how to make this sample again.")
def info(dataset: AnyPath, sample: int | None, output: Output) -> None:
    """Describe DATASET: contents, size, actions, captions, and how to read it."""
    if sample is not None:
        _describe_sample(dataset, sample, output)
        return
    from posegen.foundations.quantities import human_bytes
    from posegen.generation.describe import describe

    found = describe(dataset)
    header = found.header
    width = max(map(len, (*found.fields, "sequences ")))
    variants, sizes = ", ".join(header.variants), ", ".join(f"{name} {human_bytes(size)}" for name, size in found.sizes.items())
    lines = [
        f"{found.path}: config {header.name}, seed {header.seed}, identity {header.identity}, "
        f"content version {header.content_version}, {header.licence}",
        *_creation_lines(header),
        "",
        f"  {counted(found.samples, 'sample')} in {counted(len(header.variants), 'variant')} ({variants}): "
        f"{counted(found.sequences, 'sequence')}",
        f"  up to {header.frames} frames at {header.fps} FPS, {found.hours:,.2f} hours of motion",
        f"  {human_bytes(found.bytes)} on disk ({sizes}), {human_bytes(found.bytes / max(found.sequences, 1))} per sequence",
        "",
        *(f"  {name:<{width}} {text}" for name, text in found.fields.items()),
        f"  {'sequences':<{width}} one row per sample and variant: captions, theme, length, actors, "
        "parameters, attempt, dropped",
    ]
    if found.note:
        lines += ["", found.note]
    if found.resampled is not None and found.dropped is not None:
        share = found.resampled / max(found.samples, 1)
        lines += [
            f"  {counted(found.resampled, 'sample')} ({share:.2%}) resampled after failed caption or joint-limit checks, "
            f"{counted(found.dropped, 'statement')} dropped"
        ]
    if found.flaws:
        lines.append(f"  limbs cross {counted(found.flaws, 'time')} in actions whose clips have this flaw; see `dropped`")
    occurring = [share for share in found.actions if share["any"]]
    if occurring:
        lines += ["", "Actions, share of frames on the legs and on any body part:"]
        lines += [f"  {share['action']:<20} {share['legs']:6.1%} {share['any']:6.1%}" for share in occurring[:ACTIONS_SHOWN]]
    if len(occurring) > ACTIONS_SHOWN:
        lines.append(f"  and {len(occurring) - ACTIONS_SHOWN} more; use --json for all")
    if found.captions:
        lines += ["", "Captions:"]
        lines += [f"  {each['sample']} {each['variant']:<9} {each['text']}" for each in found.captions]
    if found.samples:
        lines += ["", "Read it in Python:", "", *(f"    {line}" for line in found.python)]
    output.result(_document(found), "\n".join(lines))


def _creation_lines(header: Header) -> list[str]:
    return [] if header.created is None else [f"created {header.created.date} by posegen {header.created.posegen}"]


def _describe_sample(dataset: AnyPath, sample: int, output: Output) -> None:
    """Print the origin of a sample, and the lines of Python that make it again."""
    from posegen.generation.describe import trace_sample

    found = trace_sample(dataset, sample)
    header = found.header
    lines = [
        f"{found.path}, sample {sample} of config {header.name}: {found.caption}",
        "",
        f"  content version  {header.content_version}",
        f"  identity         {header.identity}",
        f"  seed             {header.seed}",
        f"  shard            {found.shard}",
        *(f"  config           {override}" for override in found.overrides),
        *(f"  hash of {name:<8} {digits}" for name, digits in found.content.items()),
        *(f"  {line}" for line in _creation_lines(header)),
        "",
        "Sequences:",
        *(f"  {_sequence_text(sequence)}" for sequence in found.sequences),
        "",
        "Make it again in Python, without the dataset:",
        "",
        *(f"    {line}" for line in found.python),
    ]
    if found.obstacle:
        lines += ["", f"Here, these lines do not make it: {found.obstacle}"]
    output.result(_document(found) | {"python": found.python, "obstacle": found.obstacle}, "\n".join(lines))


def _document(found: Description | Provenance) -> dict[str, Any]:
    """Return the description of a dataset or a sample as plain data, with the main values of its header."""
    values = {name: value for name, value in asdict(found).items() if name != "header"}
    return values | {name: getattr(found.header, name) for name in _HEADER}


def _sequence_text(sequence: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name} {value:g}" for name, value in (sequence.get("parameters") or {}).items())
    texts = [f"{sequence['variant']:<9} {sequence['length']} frames", f"theme {sequence['theme']}" if sequence["theme"] else ""]
    texts += [f"attempt {sequence['attempt']}", f"{counted(len(sequence['dropped']), 'statement')} dropped", parameters]
    return ", ".join(text for text in texts if text)


@command("posegen recipe data/default-0 -o default.json", "posegen recipe default.json --check elsewhere/default-0")
@click.argument("source", type=DATASET, metavar="DATASET|FILE")
@file_option("Write the recipe of the dataset to this file.", required=False)
@click.option("--check", type=DATASET, metavar="DATASET", help="Compare this dataset with the recipe, by its receipts.")
def recipe(source: AnyPath, check: AnyPath | None, out: Path | None, output: Output) -> int:
    """Write the recipe of a dataset, or check a recipe: a small file that determines a dataset of any size.

    A recipe has the config, the content version, and a hash of all samples. Given one alone, the command makes a few of its
    samples again and compares them. `posegen generate --config FILE` makes the whole dataset. The exit code is 1 if anything
    differs.
    """
    from posegen.dataset.documents import seal
    from posegen.generation.recipe import check_dataset, check_spots, make_recipe, read_recipe

    local = storage_of(source).local
    if local is None or local.is_dir():
        refuse_useless("for a dataset: it is for a recipe", {"--check": check})
        if out is None:
            raise UsageError(f"{source}: is a dataset. Name the file for its recipe with -o, such as recipe.json")
        written = make_recipe(source)
        out.write_bytes(seal(written, indent=2))
        text = f"{out}: recipe of {counted(written.header.samples, 'sample')}, identity {written.header.identity}."
        output.summary({"path": out, "content": written.content}, text)
        return 0
    refuse_useless("for a recipe: it is for a dataset", {"-o": out})
    read = read_recipe(local)
    faults = check_spots(local, read) if check is None else check_dataset(read, check)
    if check is None:
        passed = f"{source}: {counted(len(read.spots), 'sample')} of {read.header.samples:,} made again: all are equal."
    else:
        passed = f"{check}: has the content of {source}: {counted(read.header.samples, 'sample')}."
    failed = [*faults, f"{check or source}: {counted(len(faults), 'difference')}."]
    output.result({"path": source, "equal": not faults, "differences": faults}, "\n".join(failed) if faults else passed)
    return int(bool(faults))


DIFFERENCES_SHOWN = 20


@command("posegen diff data/default-0 elsewhere/default-0")
@click.argument("a", type=DATASET)
@click.argument("b", type=DATASET)
@click.option("--deep", is_flag=True, help="Recompute the hashes of all values instead of reading them from the receipts.")
def diff(a: AnyPath, b: AnyPath, deep: bool, output: Output) -> int:
    """Compare the datasets A and B, and list the fields, samples and variants that differ.

    Shard size, compression and order of generation are ignored. The exit code is 0 if the contents are equal, else 1.
    """
    from posegen.dataset.compare import compare
    from posegen.dataset.read import open_dataset

    first, second = open_dataset(a), open_dataset(b)
    comparison = compare(first, second, deep=deep, most=DIFFERENCES_SHOWN)
    identity = _identity(first.header, second.header)
    document = {
        "a": a,
        "b": b,
        "equal": not comparison.samples,
        "samples_different": comparison.samples,
        "differences": [found._asdict() for found in comparison.differences],
        "identity": identity,
    }
    lines = ["The configs differ, A -> B:"] if identity else []
    lines += [f"  {key}: {json.dumps(one)} -> {json.dumps(other)}" for key, (one, other) in identity.items()]
    if len(identity) == 1:
        lines.append("  the library files (actions, themes or words)")
    if comparison.samples:
        sets = [(first, str(a)), (second, str(b))]
        lines += [_difference_line(found, sets) for found in comparison.differences]
        if len(comparison.differences) == DIFFERENCES_SHOWN:
            lines.append(f"(the first {DIFFERENCES_SHOWN} differences)")
        lines.append(f"{a} and {b} differ: {', '.join(map(_difference_text, comparison.samples.items()))}.")
    else:
        lines.append(f"{a} and {b} have equal content: {counted(len(first), 'sample')}.")
    output.result(document, "\n".join(lines))
    return int(bool(comparison.samples))


def _identity(first: Header, second: Header) -> dict[str, list[Any]]:
    """Return the keys of the headers that determine content and differ, with their values in A and in B."""
    from posegen.config.identity import decides_content, differences

    if first.identity == second.identity:
        return {}
    found: dict[str, list[Any]] = {"identity": [first.identity, second.identity]}
    if first.content_version != second.content_version:
        found["content_version"] = [first.content_version, second.content_version]
    return found | {key: [one, other] for key, one, other in differences(first.config, second.config) if decides_content(key)}


def _difference_line(found: Difference, sets: Sequence[tuple[Dataset, str]]) -> str:
    """Return a line about a difference of two datasets, given with their paths."""
    if found.field == "variants":
        return "variants: different lists"
    if found.sample is None:
        return f"{found.field}: only in {next(path for dataset, path in sets if found.field in dataset.fields)}"
    if found.field == "samples":
        return f"sample {found.sample}: only in {max(sets, key=lambda each: len(each[0]))[1]}"
    variant = "" if found.variant is None else f", variant {found.variant}"
    return f"{found.field}: sample {found.sample}{variant}"


def _difference_text(difference: tuple[str, int]) -> str:
    name, count = difference
    if name == "samples":
        return f"{counted(count, 'sample')} in one dataset only"
    return f"{name} in {counted(count, 'sample')}" if count else name


@command("posegen mix data/default-0 data/default-1 --ratio 1:4 -o data/mix.json")
@click.argument("datasets", type=DATASET, nargs=-1, required=True)
@click.option("--ratio", metavar="A:B", help="Share of each dataset in an epoch.  [default: each sequence once]")
@file_option("File to write.")
def mix(datasets: Sequence[AnyPath], ratio: str | None, out: Path, output: Output) -> None:
    """Write a file that names DATASETS, to be read as one dataset with posegen.open_mix.

    No motion is copied. `posegen docs reading` describes the order of batches.
    """
    from posegen.dataset.mix import concat, write_mix

    try:
        weights = None if ratio is None else [float(share) for share in ratio.split(":")]
    except ValueError:
        raise UsageError(f"--ratio must be numbers with colons between them, such as 1:4 (got {ratio!r})") from None
    mixed = concat(datasets, weights)
    shares = mixed.positions()
    write_mix(out, mixed)
    document = {"path": out, "datasets": list(datasets), "samples": len(mixed), "samples_in_epoch": shares}
    counts = ", ".join(f"{share:,} of {path}" for share, path in zip(shares, datasets, strict=True))
    output.summary(document, f"{out} names {counted(len(mixed), 'sample')}. An epoch has about {counts}.")


_MOST_NAMED = 8


def _share(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float:
    """Convert a percentage such as 1% to a share."""
    del ctx, parameter
    if text is None:
        return 1.0
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?%", text) or not 0 < float(text[:-1]) <= 100:
        raise UsageError(f"--share {shown(text)}: must be a share of the shards above 0%, such as 1%")
    return float(text[:-1]) / 100


@command("posegen verify data/default-0", "posegen verify data/default-0 --repair")
@click.argument("dataset", type=DATASET)
@click.option("--deep", is_flag=True, help="Also decode all samples, synthesize them again and compare.")
@part_option("Check")
@click.option("--share", metavar="PERCENT", callback=_share, help="Check a random share of the shards, such as 1%.")
@click.option("--repair", "repairs", is_flag=True, help="Regenerate damaged shards.")
def verify(dataset: AnyPath, deep: bool, part: str | None, share: float, repairs: bool, output: Output) -> int:
    """Check the files of DATASET by their hashes, and list each damaged shard with the reason and a fix.

    The exit code is 0 if there is no problem, or none is left after --repair, else 1. With --part or --share, other shards
    are not read; part 1 also finds files that do not belong to DATASET.
    """
    from posegen.dataset.parts import parse_part
    from posegen.dataset.verify import choose_shards

    chosen_part = parse_part(part)
    shards = choose_shards(dataset, chosen_part, share)
    orphans = share == 1 and (chosen_part is None or chosen_part.number == 1)
    unchecked: list[str] = []
    found, done = _find(dataset, shards, deep=deep, orphans=orphans, unchecked=unchecked, output=output), None
    if not output.as_json and (found or not output.quiet):
        output.result(None, "\n".join(_problem_lines(dataset, found, shards, unchecked, deep=deep)))
    if repairs and any(problem.repairable for problem in found):
        from posegen.generation.repair import repair

        done = repair(dataset, found, progress=output.progress())
    left = found if done is None else done.left
    document = {
        "path": dataset,
        "part": None if chosen_part is None else str(chosen_part),
        "shards": None if shards is None else len(shards),
        "intact": not left,
        "problems": found,
        "unchecked": [] if found else unchecked,
        "regenerated": done and done.made,
        "dropped": done and done.dropped,
        "derived": done and done.derived,
        "left": left,
    }
    lines = _fix_lines(dataset, found) if done is None else _repair_lines(dataset, done)
    if output.as_json or lines:
        output.result(document, "\n".join(lines))
    return int(bool(left))


def _find(dataset: AnyPath, shards: frozenset[int] | None, *, deep: bool, output: Output, **options: Any) -> list[Problem]:
    from posegen.dataset.verify import find_problems

    if not deep:
        return list(find_problems(dataset, shards, output.counter("read"), **options))
    from posegen.dataset.header import load_header
    from posegen.dataset.layout import check_folders
    from posegen.dataset.receipts import complete_shards
    from posegen.foundations.errors import PosegenError
    from posegen.generation.header import stored_config
    from posegen.generation.repair import find_content_problems

    try:
        header = load_header(dataset)
        check_folders(dataset, header)
    except PosegenError:
        return list(find_problems(dataset))  # which reports the reason
    stored_config(dataset, header)  # raises an error before hours of reading
    found = list(find_problems(dataset, shards, output.counter("read"), decode=True, **options))
    damaged = {problem.shard for problem in found}
    intact = complete_shards(dataset, header, lambda shard: shard not in damaged and (shards is None or shard in shards))
    return found + list(find_content_problems(dataset, list(intact), output.counter("synthesize and compare")))


def _problem_lines(
    dataset: AnyPath, found: Sequence[Problem], shards: frozenset[int] | None, unchecked: Sequence[str], *, deep: bool
) -> list[str]:
    if found:
        return [*(str(problem) for problem in found), f"{dataset}: {_count(found)}."]
    where = "" if shards is None else f" of {counted(len(shards), 'shard')}"
    what = f"all files{' with a hash' if unchecked else ''}{' and samples' if deep else ''}"
    lines = [f"{dataset}: no problem found: {what}{where} are intact."]
    if unchecked:
        more = f" and {len(unchecked) - _MOST_NAMED:,} more" if len(unchecked) > _MOST_NAMED else ""
        lines.append(f"Not checked, because they have no hash: {', '.join(unchecked[:_MOST_NAMED])}{more}.")
    return lines


def _repair_lines(dataset: AnyPath, done: RepairResult) -> list[str]:
    lines = [f"Regenerated: {_shards(done.made)}."]
    if done.derived:
        lines.append(f"Derived again: {', '.join(done.derived)}.")
    if done.dropped:
        lines.append(f"Removed beyond the end of the dataset: {_shards(done.dropped)}.")
    if not done.left:
        return [*lines, "No problem is left."]
    return [*lines, "Remaining problems:", *(str(problem) for problem in done.left), *_fix_lines(dataset, done.left)]


def _fix_lines(dataset: AnyPath, problems: Sequence[Problem]) -> list[str]:
    """Return how to repair; problems that only the user can solve state the fix themselves."""
    if not any(problem.repairable for problem in problems):
        return []
    command = f"posegen verify {quoted(dataset)} --repair"
    return [f"Run: {command} (regenerates only the shards listed here)"]


def _count(found: Sequence[Problem]) -> str:
    shards = sorted({problem.shard for problem in found if problem.shard is not None})
    problems = counted(len(found), "problem")
    return f"{problems} in {_shards(shards)}" if shards else problems


def _shards(shards: Sequence[int]) -> str:
    return f"shard{'s' if len(shards) > 1 else ''} {', '.join(map(str, shards))}" if shards else "no shard"

"""``posegen embed``, ``search``, ``pairs`` and ``paraphrase``: embed, find, pair and reword texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posegen.cli.options import DATASET, PATH, WHOLE, Number, Output, command, file_option, part_option, quoted, refuse_useless
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.wording import counted

if TYPE_CHECKING:
    from posegen.embedding.stage import EmbeddingResult


@command(
    "posegen embed data/default-0",
    "posegen embed data/default-0 --encoder BAAI/bge-large-en-v1.5",
    "posegen embed texts.csv -o texts.parquet",
)
@click.argument("source", type=DATASET, metavar="DATASET|TEXTS")
@file_option("Table to write for TEXTS.  [default: TEXTS.embedded.parquet]", metavar="FILE.parquet", required=False)
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Column of TEXTS to embed; may be repeated.")
@click.option("--encoder", metavar="NAME|PATH", help="Text encoder or training run.  [default: one that needs no download]")
@click.option(
    "--workers", type=WHOLE, metavar="N", help="Number of batches encoded in parallel.  [default: from the number of cores]"
)
@click.option("--name", metavar="NAME", help="Name of the embeddings.  [default: name of the encoder]")
@click.option(
    "--max-tokens", type=WHOLE, metavar="N", help="Maximum number of tokens of a text.  [default: the limit of the model]"
)
@click.option(
    "--shard", type=WHOLE, metavar="N", help="Texts per shard, the most that is lost if the process is killed.  [default: 2048]"
)
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache of embeddings shared between datasets.")
@part_option("Embed")
def embed(
    source: AnyPath, out: Path | None, columns: Sequence[str], encoder: str | None, output: Output, **options: Any
) -> None:
    """Compute text embeddings of the captions of DATASET, or of your own TEXTS, once per distinct text.

    They are stored in embeddings/ENCODER of the dataset, and joined to its sequences when it is read. The same command resumes
    an interrupted run, and embeds new captions after the dataset was extended.

    TEXTS is a .csv or .parquet table, whose column text is embedded, or else all columns of texts. The table that is written
    has the same columns and the vectors, which `posegen train --label` and `posegen search` read.
    """
    from posegen.dataset.parts import parse_part
    from posegen.dataset.table_files import TABLES
    from posegen.embedding.models import DEFAULT

    options |= {"encoder": encoder or DEFAULT, "cached": not options.pop("no_cache")}
    local = storage_of(source).local
    if local and local.suffix.lower() in TABLES:
        refuse_useless("on a table of texts", {f"--{name}": options.pop(name) for name in ("name", "shard", "part")})
        _embed_own(local, out or local.with_suffix(".embedded.parquet"), options | {"columns": tuple(columns)}, output)
        return
    refuse_useless(f"on a dataset, only on tables of texts ({', '.join(TABLES)})", {"-o": out, "--column": columns})
    options["part"] = parse_part(options["part"])
    _embed_dataset(source, options, output)


def _embed_own(source: Path, path: Path, options: dict[str, Any], output: Output) -> None:
    from posegen.embedding.own_texts import embed_texts

    result = embed_texts(source, path, progress=output.progress(), **options)
    known = result.distinct - result.embedded
    lines = [
        f"Embedded {counted(result.embedded, 'text')}{f', {known:,} from the cache' if known else ''}, in {path}: "
        f"{counted(result.rows, 'row')}, columns {', '.join(result.columns)}, {result.dimension} dimensions.",
        f"Encoder: {result.encoder}.",
        "Next:",
        f'  posegen search {quoted(path)} "a person waves"',
        f"  posegen train {quoted(path)} --task text --label COLUMN",
    ]
    output.summary(result, "\n".join(lines))


def _embed_dataset(dataset: AnyPath, options: dict[str, Any], output: Output) -> None:
    from posegen.embedding.search import open_search
    from posegen.embedding.stage import embed as embedded

    progress = output.progress()
    with output.resumable(dataset):
        result = embedded(dataset, progress=progress, **options)
        if not result.part and result.distinct:
            progress.wait("prepare the search")
            open_search(dataset, result.path.name, progress.log, cached=options["cached"])
    output.summary(asdict(result) | {"nothing_to_do": result.nothing_to_do}, _summary(dataset, result))


def _summary(dataset: AnyPath, result: EmbeddingResult) -> str:
    if result.nothing_to_do:
        part = f"part {result.part} of " if result.part else ""
        first = f"Nothing to do: {part}{result.path} is complete."
    else:
        known = f", {result.known:,} from the cache" if result.known else ""
        # The rate is that of the computation alone, which the setup precedes.
        took = f", computed in {result.embedded / result.texts_per_second:.1f} s" if result.embedded else ""
        first = f"Embedded {counted(result.embedded, 'text')} in {result.seconds:.1f} s{took}{known}, in {result.path}."
    following = f'posegen search {quoted(dataset)} "a person waves"'
    if result.part:
        following = "posegen embed, with the other options as before and --part all, once all parts are embedded"
    lines = [
        first,
        f"{counted(result.captions, 'caption')}, {counted(result.distinct, 'distinct text')} of {result.dimension} dimensions.",
        f"Encoder: {result.encoder}.",
        "Next:",
        f"  {following}",
    ]
    return "\n".join(lines)


@command('posegen search data/default-0 "someone kicks a ball"', 'posegen search texts.embedded.parquet "a person waves"')
@click.argument("dataset", type=DATASET, metavar="DATASET|TEXTS.parquet")
@click.argument("text")
@click.option("--encoder", metavar="NAME", help="Encoder whose embeddings are searched.  [default: the only one]")
@click.option("--top", type=WHOLE, metavar="N", default=10, help="Number of samples.")
def search(dataset: AnyPath, text: str, encoder: str | None, top: int, output: Output) -> None:
    """Find the samples of DATASET that match TEXT, best first.

    The captions must have been embedded. The search compares meanings, not words. For each sample the closest caption and the
    action of the best segment are printed. Variants of a sample count as one result.

    TEXTS.parquet is a table that `posegen embed` wrote of your own texts: the closest rows are printed.
    """
    from posegen.captions.lexicon import require_readable

    require_readable(text)
    local = storage_of(dataset).local
    if local and local.suffix.lower() == ".parquet":
        _search_own(local, text, top, output)
        return
    from posegen.embedding.search import open_search

    opened = open_search(dataset, encoder, output.note)
    found = opened.find(text, top)
    document = {"path": dataset, "encoder": opened.embeddings.encoder, "text": text, "found": found}
    if not found:
        output.result(document, f"{dataset}: contains no actions to search for")
        return
    width = max(len(one.action) for one in found)
    lines = [f"{'sample':>8}  score  {'action':<{width}}  caption"]
    for one in found:
        variant = "" if one.variant == "base" else f" ({one.variant})"
        lines.append(f"{one.sample:>8}  {one.score:.3f}  {one.action:<{width}}  {one.caption}{variant}")
    show = f"posegen show {quoted(dataset)} --sample {found[0].sample} -o found.gif"
    output.result(document, "\n".join([*lines, "Next:", f"  {show}"]))


def _search_own(path: Path, text: str, top: int, output: Output) -> None:
    from posegen.embedding.own_texts import search_texts

    found = search_texts(path, text, top, output.note)
    document = {"path": path, "text": text, "found": [one._asdict() for one in found]}
    lines = [f"{one.row:>8}  {one.score:.3f}  {one.text}" for one in found]
    output.result(document, "\n".join([f"{'row':>8}  score  text", *lines]))


@command(
    "posegen pairs recipes.parquet --text title --overlap ingredients --count 5000 -o pairs.parquet",
    "posegen pairs texts.csv --text text -o pairs.parquet",
)
@click.argument("table", type=PATH, metavar="TABLE")
@click.option(
    "--text", "columns", multiple=True, required=True, metavar="COLUMN", help="Column of texts; several are joined to one text."
)
@click.option("--overlap", metavar="COLUMN", help="Compare rows by this column of sets: lists, or texts separated by , ; or |.")
@click.option("--count", type=WHOLE, metavar="N", help="Most pairs.  [default: one for each row]")
@click.option("--encoder", metavar="NAME|PATH", help="Encoder, if TABLE has no vectors.  [default: one that needs no download]")
@file_option("Table to write.", metavar="FILE.parquet")
def pairs(table: Path, columns: Sequence[str], encoder: str | None, out: Path, output: Output, **options: Any) -> None:
    """Mine pairs of the texts of TABLE, a .csv or .parquet file: for each row a similar one, and a hard negative.

    With --overlap, rows are similar if their sets have a Jaccard index of .4 or more; a hard negative shares an item and stays
    below .2. Without it, the vectors of the texts are compared: those of a table that `posegen embed` wrote, or those of
    --encoder. The nearest row with a cosine of .7 or more is similar; a hard negative is the nearest one below nine tenths of
    that cosine. Candidates come from an index, so 100,000 rows take less than a minute where sets or vectors exist.

    The table that is written has the columns anchor, positive and negative, the row of each, and the score of the positive.
    """
    from posegen.embedding.models import DEFAULT
    from posegen.embedding.own_pairs import mine_table
    from posegen.foundations.quantities import human_time

    result = mine_table(table, out, columns, encoder=encoder or DEFAULT, progress=output.progress(), **options)
    mined = f"{counted(result.pairs, 'pair')} of {counted(result.rows, 'row')} by {result.by}"
    lines = [
        f"Mined {mined} in {human_time(result.seconds)}, in {out}.",
        "Next:",
        f"  posegen train {quoted(out)} --pairs anchor,positive,negative",
    ]
    output.summary(asdict(result), "\n".join(lines))


@command("posegen paraphrase data/default-0 --endpoint http://localhost:8000/v1 --model qwen2.5-7b-instruct")
@click.argument("dataset", type=DATASET)
@click.option("--endpoint", metavar="URL", required=True, help="Address of the server, such as http://localhost:8000/v1.")
@click.option("--model", metavar="NAME", required=True, help="Name of the model on the server.")
@click.option("--limit", type=WHOLE, metavar="N", help="Number of samples, from the first.  [default: all]")
@click.option("--in-flight", type=click.IntRange(1, 100), metavar="N", default=8, help="Simultaneous requests.")
@click.option("--timeout", type=Number(0.1, 3600), metavar="T", default=60.0, help="Seconds for one answer.")
@click.option("--attempts", type=click.IntRange(1, 20), metavar="N", default=6, help="Most requests for one caption.")
@click.option("--temperature", type=Number(0, 2), metavar="X", help="Sampling temperature.  [default: the server's]")
@click.option("--insecure", is_flag=True, help="Send the key to another machine over plain http.")
def paraphrase(
    dataset: AnyPath, endpoint: str, model: str, limit: int | None, in_flight: int, output: Output, **settings: Any
) -> None:
    """Paraphrase the captions of DATASET with a language model.

    Any server that implements OpenAI's chat completions can be used. Its key is read from the variable POSEGEN_API_KEY or
    OPENAI_API_KEY. Each distinct caption is sent once. A paraphrase that states another side, count, speed, direction,
    order, person or action than its caption is refused. The others are stored beside the dataset, in paraphrases/MODEL. The
    same command resumes an interrupted run.
    """
    from posegen.paraphrase.endpoint import api_key, parse_endpoint
    from posegen.paraphrase.paraphrase import paraphrase as run

    server = parse_endpoint(endpoint, model, key=api_key(), **settings)
    found = run(dataset, server, limit=limit, in_flight=in_flight, progress=output.progress())
    done = f"{found.written:,} of {found.shards:,} shards, {counted(found.asked, 'caption')} asked for"
    lines = [f"{found.path}: {done if found.written else 'all shards were complete, nothing to do'}"]
    for name, count in (("kept", found.kept), *((f"refused: {why}", count) for why, count in found.refused.most_common())):
        lines.append(f"  {name:<32}{count:>12,}{100 * count / max(1, found.captions):>8.1f} %")
    output.result(found, "\n".join(lines))

"""``posegen paraphrase``: paraphrase captions with a language model behind an OpenAI-compatible server."""

from __future__ import annotations

from typing import Any

import click

from posegen.cli.options import DATASET, WHOLE, Number, Output, command
from posegen.dataset.storage.address import AnyPath


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
    done = f"{found.written:,} of {found.shards:,} shards, {found.asked:,} captions asked for"
    lines = [f"{found.path}: {done if found.written else f'all {found.shards:,} shards were complete, nothing to do'}"]
    for name, count in (("kept", found.kept), *((f"refused: {why}", count) for why, count in found.refused.most_common())):
        lines.append(f"  {name:<32}{count:>12,}{100 * count / max(1, found.captions):>8.1f} %")
    output.result(found, "\n".join(lines))

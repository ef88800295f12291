"""``posegen config``: show a resolved config, compare two, list the presets."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from posegen.cli.options import Output, command, example, set_option


@click.group(epilog=example("posegen config show smoke --set story.actors.max=2"))
def config() -> None:
    """Show and compare configs; list presets."""


@command("posegen config show smoke --set story.actors.max=2", group=config)
@click.argument("source", metavar="[NAME|PATH]", default="default")
@set_option
def show(source: str, overrides: Sequence[str], output: Output) -> None:
    """Print a resolved config and the identity of its datasets."""
    from posegen.config.load import load_config
    from posegen.foundations.yaml_files import dump_yaml
    from posegen.library.load import load_library

    loaded = load_config(source, overrides)
    identity = loaded.identity(load_library(loaded.story.library))
    written = dump_yaml(loaded.as_data())
    output.result({"identity": identity, "config": loaded.as_data()}, f"# identity {identity}\n{written.rstrip()}")


@command("posegen config diff default crowd", group=config)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def diff(first: str, second: str, output: Output) -> None:
    """List the keys whose values differ between the configs A and B."""
    from posegen.config.identity import decides_content, differences
    from posegen.config.load import load_config

    one, other = load_config(first).as_data(), load_config(second).as_data()
    # Names almost always differ and do not matter.
    found = [
        {"key": key, "a": a, "b": b, "content": decides_content(key)} for key, a, b in differences(one, other) if key != "name"
    ]
    lines = []
    for each in found:
        remark = "" if each["content"] else "   (does not change samples)"
        a, b = (json.dumps(each[name], ensure_ascii=False) for name in ("a", "b"))
        lines.append(f"{each['key']}: {a} -> {b}{remark}")
    output.result(found, "\n".join(lines) or "no difference")


@command("posegen config presets", group=config)
def presets(output: Output) -> None:
    """List the presets."""
    from posegen.config.load import preset_description, presets

    known = [{"name": name, "path": str(path), "description": preset_description(path)} for name, path in presets().items()]
    output.result(known, "\n".join(f"{preset['name']:<10} {preset['description']}" for preset in known))

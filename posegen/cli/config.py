"""``posegen config``: show a resolved config, compare two, list the presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from posegen.cli.options import example, json_option, print_json, set_option
from posegen.wording import printable


@click.group(epilog=example("posegen config show smoke --set story.actors.max=2"))
def config() -> None:
    """Show and compare configs; list presets."""


@config.command(epilog=example("posegen config show smoke --set story.actors.max=2"))
@click.argument("source", metavar="[NAME|PATH]", default="default")
@set_option
@json_option
def show(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """Print all keys of a resolved config, and the identity of its datasets."""
    import yaml

    from posegen.config.load import load_config
    from posegen.library.load import load_library

    loaded = load_config(source, overrides)
    identity = loaded.identity(load_library(loaded.story.library))
    if as_json:
        print_json({"identity": identity, "config": loaded.as_data()})
        return
    click.echo(f"# identity {identity}")
    click.echo(yaml.safe_dump(loaded.as_data(), sort_keys=False, allow_unicode=True), nl=False)


@config.command(epilog=example("posegen config diff default crowd"))
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@json_option
def diff(first: str, second: str, as_json: bool) -> None:
    """List the keys whose values differ between the configs A and B."""
    from posegen.config.identity import differences
    from posegen.config.load import load_config

    one, other = load_config(first).as_data(), load_config(second).as_data()
    # Names almost always differ and do not matter.
    found = [(key, a, b) for key, a, b in differences(one, other) if key != "name"]
    if as_json:
        print_json([{"key": key, "a": a, "b": b, "content": _decides_content(key)} for key, a, b in found])
        return
    if not found:
        click.echo("no difference")
    for key, a, b in found:
        remark = "" if _decides_content(key) else "   (does not change samples)"
        click.echo(printable(f"{key}: {_written(a)} -> {_written(b)}{remark}"))


@config.command(epilog=example("posegen config presets"))
@json_option
def presets(as_json: bool) -> None:
    """List the presets."""
    from posegen.config.load import preset_description, presets

    known = [{"name": name, "path": str(path), "description": preset_description(path)} for name, path in presets().items()]
    if as_json:
        print_json(known)
        return
    for preset in known:
        click.echo(f"{preset['name']:<10} {preset['description']}")


def _decides_content(key: str) -> bool:
    from posegen.config.schema import NOT_IDENTITY

    return not any(key == other or key.startswith(f"{other}.") for other in NOT_IDENTITY)


def _written(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)

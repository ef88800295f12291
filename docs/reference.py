"""Write the pages generated from the code, commands, config keys and action files: `python docs/reference.py` (`make docs`)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from posegen.library.class_maps import ClassMap, class_maps, equal_quotas

_COMMANDS = """# Commands

This page is generated from the command line. `posegen COMMAND --help` prints the same. Exit codes: 0 success, 1 failure,
2 wrong usage or invalid input, 130 interrupted. Results go to the standard output, progress and messages to the standard error.

"""
_CONFIG = """# Config keys

This page is generated from the models that validate each file. Unknown keys and values outside their range are refused.

"""
_CLASSES = """# Classes of other datasets

This page is generated from `posegen/library/class_maps.yaml`. A class without an entry differs by an object, a hand or a face,
or the library has only a part of it. A config for each dataset generates the classes that the library has in equal numbers: 100
samples of each, or a few more, so that a class of several actions has as many of each of them.
`posegen generate --config configs/classes/ntu60.yaml` makes them. Classes that are shown by the same action share its samples.
"""
_EACH = 100
"""Samples of a class in the configs."""
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : (.+(?:\n +.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Key:
    """A key of a file.

    Attributes
    ----------
    path : dotted path
    value : type and range
    default : as YAML; empty if the key must be given
    meaning : from the docstring of its model
    """

    path: str
    value: str
    default: str
    meaning: str


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the meaning of each key of a model that its docstring, or that of a model it extends, lists under Attributes."""
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        _, _, section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n----------\n")
        for names, text in _ENTRY.findall(section):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """Yield the keys of a model and of the models in it, each group before its members."""
    known = meanings(model)
    for name, field in model.model_fields.items():
        label = field.alias or name
        required = field.is_required()
        default = "" if required else _as_yaml(field.get_default(call_default_factory=True))
        group, many = _model_in(field.annotation)
        value = "list of groups" if group and many else "group" if group else _described(field.annotation, field.metadata)
        meaning = known.get(name) or (inspect.getdoc(group) or "").partition("\n\n")[0] if group else known.get(name, "")
        yield Key(prefix + label, value, "" if group else default, meaning)
        if group:
            yield from keys(group, f"{prefix}{label}{'[]' if many else ''}.")


def config_page() -> str:
    """Return the page as Markdown."""
    from posegen.config.schema import Config
    from posegen.tables.settings import TableSettings
    from posegen.training.settings import Settings

    text = _CONFIG
    for title, introduction, model in (
        (
            "Datasets",
            "Keys of the YAML file in `posegen generate --config FILE`, and of `--set KEY=VALUE`. "
            "`posegen config show default` prints the values of a preset.",
            Config,
        ),
        ("Training", "Keys of the YAML file in `posegen train --preset FILE`, and of `--set KEY=VALUE`.", Settings),
        ("Training on a table", "The same keys of `posegen train TABLE --label COLUMN`.", TableSettings),
    ):
        rows = [f"| `{key.path}` | {key.value} | {key.default} | {key.meaning} |" for key in keys(model)]
        table = "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows])
        text += f"## {title}\n\n{introduction}\n\n{table}\n\n"
    return text + "The keys of action files are described in [Motion](motion.md#how-to-write-an-action-file).\n"


def commands(group: click.Group, context: click.Context) -> Iterator[click.Context]:
    """Yield a context for each command of a group and of the groups in it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        yield inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def commands_page() -> str:
    """Return the page as Markdown."""
    from posegen.cli.main import posegen

    text = _COMMANDS
    for context in commands(posegen, click.Context(posegen, info_name="posegen", show_default=True)):
        command = context.command
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        text += f"## {context.command_path}\n\n{_paragraphs(command.help)}\n\n```text\n{usage}\n```\n\n"
        options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
        records = [record for option in options if (record := option.get_help_record(context))]
        if records:
            # Not all readers of Markdown take a bar in code as text.
            rows = [f"| `{names.replace('|', ' or ')}` | {_cell(meaning)} |" for names, meaning in records]
            text += "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n\n"
        if command.epilog:
            lines = [line.strip() for line in command.epilog.splitlines() if line.strip().startswith("posegen ")]
            text += "\n".join(["```sh", *lines, "```", "", ""])
    return text


def _paragraphs(text: str | None) -> str:
    return inspect.cleandoc(text or "").partition("\f")[0].replace("\b\n", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def action_schema() -> dict[str, Any]:
    """Return the JSON schema of action files; the classes of actions and the meanings of keys are added to pydantic's."""
    from posegen.library.schema import KINDS, ActionFile

    schema = ActionFile.model_json_schema()
    kinds, _ = models_json_schema([(kind, "validation") for kind in KINDS.values()], ref_template="#/$defs/{model}")
    models = {model.__name__: model for kind in KINDS.values() for model in _models_of(kind)}
    definitions = schema["$defs"] | {name: kind.model_json_schema() for name, kind in models.items()}
    for name, definition in definitions.items():
        definition.pop("$defs", None)
        definition["description"] = definition.get("description", "").partition("\n\n")[0]
        for key, meaning in meanings(models[name]).items() if name in models else ():
            if key in definition["properties"]:
                definition["properties"][key]["description"] = meaning
    definitions["Action"] = {"oneOf": [kinds[kind, "validation"] for kind in KINDS.values()]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"$defs": dict(sorted(definitions.items()))}


def _models_of(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a model and those of its keys, and of theirs."""
    yield model
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield from _models_of(inner)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def pages() -> dict[str, str]:
    """Return the text of each generated page by its name."""
    schema = json.dumps(action_schema(), indent=1, ensure_ascii=False)
    return {
        "commands.md": commands_page().rstrip() + "\n",
        "config.md": config_page(),
        "action-file.schema.json": schema + "\n",
        "class-maps.md": class_maps_page(),
        **{f"../configs/classes/{name}.yaml": class_config(classes) for name, classes in class_maps().items()},
    }


def class_maps_page() -> str:
    """Return the page with a table for each dataset: class, and actions or interactions."""
    text = _CLASSES
    for name, classes in class_maps().items():
        held = sum(bool(classes.names(label)) for label in classes.classes)
        text += f"\n## {classes.title}\n\n`configs/classes/{name}.yaml`: {held} of {len(classes.classes)} classes.\n\n"
        text += "| number | class | actions | interactions |\n|---|---|---|---|\n"
        for number, label in enumerate(classes.classes, classes.first):
            cells = (
                ", ".join(f"`{each}`" for each in table.get(label, ())) for table in (classes.actions, classes.interactions)
            )
            text += f"| {number} | {label} | {' | '.join(cells)} |\n"
    return text


def class_config(classes: ClassMap) -> str:
    """Return the config that generates the classes of a dataset in equal numbers."""
    about = f"# The classes of {classes.title} that the library has, in equal numbers. Generated by docs/reference.py.\n"
    actors = "story: {actors: {min: 1, max: 2}}\n" if classes.interactions else ""
    entries = (
        {key: f"[{', '.join(v)}]" if isinstance(v, list) else v for key, v in quota.items()}
        for quota in equal_quotas(classes, _EACH)
    )
    rows = "".join(f"    - {{{', '.join(f'{key}: {value}' for key, value in entry.items())}}}\n" for entry in entries)
    return f"{about}{actors}quotas:\n  exact:\n{rows}"


def _model_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the model in an annotation, if any, and whether it is in a list."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation, False
    many = get_origin(annotation) is tuple
    for part in get_args(annotation):
        model, inner = _model_in(part)
        if model:
            return model, many or inner
    return None, False


def _described(annotation: Any, limits: Sequence[Any] = ()) -> str:
    """Return the type and range that an annotation allows in words."""
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        inner = [limit for item in parts[1:] for limit in (item.metadata if isinstance(item, FieldInfo) else [item])]
        return _described(parts[0], [*inner, *limits])
    if kind in (Union, UnionType):
        return " or ".join(_described(part) for part in parts)
    if kind is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if kind is tuple:
        return f"list of {_described(parts[0])}"
    if kind is dict:
        return f"name: {_described(parts[1])}"
    if annotation in (int, float):
        return _with_range("integer" if annotation is int else "number", limits)
    return {bool: "true or false", NoneType: "null", str: "text", Path: "path"}.get(annotation, "group")


def _with_range(word: str, limits: Sequence[Any]) -> str:
    found = {name: getattr(limit, name) for limit in limits for name in ("ge", "gt", "le", "lt") if hasattr(limit, name)}
    if "ge" in found and "le" in found:
        return f"{word}, {found['ge']:,} to {found['le']:,}"
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    return ", ".join([word, *(f"{text} {found[name]:,}" for name, text in words.items() if name in found)])


def _as_yaml(value: Any) -> str:
    if value is None:
        return "`null`"
    if isinstance(value, BaseModel):
        return ""
    return f"`{json.dumps(value, default=str)}`"


if __name__ == "__main__":
    for name, page in pages().items():
        (Path(__file__).parent / name).write_text(page, encoding="utf-8")

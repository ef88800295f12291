"""Validate data from files with pydantic models; error messages name the key, the value and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import isclass
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from posegen.foundations.errors import UsageError
from posegen.foundations.wording import counted, did_you_mean, nearest, shown

_MOST_PROBLEMS = 10
_KINDS = {
    "must be a group of keys": "model_type dict_type mapping_type",
    "must be a list": "list_type tuple_type",
    "must be text": "string_type",
    "must be a path": "path_type",
    "must be true or false": "bool_type bool_parsing",
    "must be a whole number": "int_type int_parsing int_from_float",
    "must be a number": "float_type float_parsing",
    "must be a finite number": "finite_number",
    "must be {expected}": "literal_error",
    "must be greater than {gt}": "greater_than",
    "must be at least {ge}": "greater_than_equal",
    "must be less than {lt}": "less_than",
    "must be at most {le}": "less_than_equal",
    "must have at least {min_length} entries": "too_short",
    "must have at most {max_length} entries": "too_long",
    "must not be empty": "string_too_short",
    "must have at most {max_length} characters": "string_too_long",
}
"""Reasons, each with the types of pydantic's errors that it is for."""
_REASONS = {kind: text for text, kinds in _KINDS.items() for kind in kinds.split()}

Model = TypeVar("Model", bound=BaseModel)
Where = str | Callable[[str], str]
"""The prefix of messages that names the source of the data, such as ``"a.yaml: "``, or a function from a key to its prefix."""


class StrictModel(BaseModel):
    """A frozen model that refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Problem:
    """A problem of one key.

    Attributes
    ----------
    key : str
        Dotted path of the key; empty if the text names the key itself.
    text : str
        The reason and what to do.
    origin : str
        Dotted path of the key whose source is named, if that is not `key` itself.
    """

    key: str
    text: str
    origin: str = ""


def validated(model: type[Model], data: object, where: Where, context: Any = None) -> Model:
    """Validate plain data and return an instance of `model`.

    Parameters
    ----------
    model : type
        A pydantic model.
    data : object
    where : str or callable
        The source of the data; see :data:`Where`.
    context : object, optional
        Passed to validators that ask for it.

    Returns
    -------
    BaseModel

    Raises
    ------
    UsageError
        With one line for each problem.
    """
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        found = error.errors(include_url=False)
    # A file may have a hundred thousand problems: suggestions are computed only for those that are reported.
    raise refuse([_problem(details, model) for details in found[:_MOST_PROBLEMS]], where, more=len(found[_MOST_PROBLEMS:]))


def refuse(problems: Sequence[Problem], where: Where, more: int = 0) -> UsageError:
    """Return one error with a line for each problem.

    Parameters
    ----------
    problems : sequence of Problem
        At least one.
    where : str or callable
        The source of the data; see :data:`Where`.
    more : int
        Number of further problems.

    Returns
    -------
    UsageError
        For the caller to raise.
    """
    lines = []
    for p in problems[:_MOST_PROBLEMS]:
        source = where if isinstance(where, str) else where(p.origin or p.key)
        lines.append(f"{source}{p.key}{': ' if p.key else ''}{p.text}")
    more += len(problems[_MOST_PROBLEMS:])
    if more:
        lines.append(f"and {counted(more, 'more problem')}")
    return UsageError("\n".join(lines))


def keys_of(model: type[BaseModel]) -> Iterator[str]:
    """Yield the dotted paths of all keys of a model, each group before its keys.

    Parameters
    ----------
    model : type
        A pydantic model.

    Yields
    ------
    str
    """
    for name, field in model.model_fields.items():
        yield name
        inner = _unwrapped(field.annotation)
        if isclass(inner) and issubclass(inner, BaseModel):
            yield from (f"{name}.{key}" for key in keys_of(inner))


def dotted(location: Sequence[str | int]) -> str:
    r"""Format the path of a key in one line of readable length.

    Parameters
    ----------
    location : sequence of str or int
        Names of keys and indices in lists; names with unusual characters are quoted.

    Returns
    -------
    str

    Examples
    --------
    >>> dotted(["story", "themes", 0, "a\nb"])
    "story.themes[0].'a\\nb'"
    """
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            plain = part if part and part.isprintable() and len(part) <= len(shown(part)) else shown(part)
            path += f".{plain}" if path else plain
    return path


def _problem(details: Any, model: type[BaseModel]) -> Problem:
    location = tuple(details["loc"])
    key = dotted(location)
    if details["type"] == "extra_forbidden":
        return Problem(key, f"unknown key{_suggestion(location, model)}")
    if details["type"] == "value_error":
        return Problem(key, str(details["ctx"]["error"]))
    if details["type"] == "missing":
        return Problem(key, "is missing; add it", origin=dotted(location[:-1]))
    reason = _REASONS.get(details["type"])
    # Bounds are formatted as in the models: 1 rather than 1.0.
    context = {name: f"{value:.15g}" if isinstance(value, float) else value for name, value in details.get("ctx", {}).items()}
    text = reason.format(**context) if reason else str(details["msg"])
    return Problem(key, f"{text} (got {shown(details['input'])})")


def _suggestion(location: tuple[str | int, ...], model: type[BaseModel]) -> str:
    *group, name = location
    siblings = _group_at(model, group)
    match = nearest(str(name), _fields(siblings))
    if match is not None:
        return f"; did you mean {dotted((*group, match))!r}?"
    # Of several keys with the same last part, one inside this group takes precedence, then the first one.
    inside = [key for key in keys_of(model) if key.startswith(f"{dotted(group)}.")]
    elsewhere = {key.rpartition(".")[2]: key for key in reversed([*inside, *keys_of(model)])}
    match = nearest(str(name), elsewhere)
    if match is not None:
        return f"; did you mean {elsewhere[match]!r}?"
    return did_you_mean(str(name), _fields(siblings))


def _group_at(model: type[BaseModel], location: Sequence[str | int]) -> type[BaseModel]:
    """Return the model of the group at `location`."""
    annotation: Any = model
    for part in location:
        if isclass(annotation) and issubclass(annotation, BaseModel):
            annotation = _unwrapped(_fields(annotation)[str(part)].annotation)
        else:
            # A mapping of names to models, or a list of models: its last argument is what it holds, or `...` behind that.
            annotation = _unwrapped(next(held for held in reversed(get_args(annotation)) if held is not Ellipsis))
    return annotation if isclass(annotation) and issubclass(annotation, BaseModel) else model


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model and of those that extend it, as one of which data may be validated."""
    extended = (name_and_field for kind in model.__subclasses__() for name_and_field in _fields(kind).items())
    return dict(extended) | model.model_fields


def _unwrapped(annotation: Any) -> Any:
    """Strip ``Annotated`` and ``| None``."""
    if isclass(annotation) or get_origin(annotation) in (dict, list, tuple):
        return annotation
    inner = [argument for argument in get_args(annotation) if argument is not type(None)]
    return _unwrapped(inner[0]) if inner else annotation

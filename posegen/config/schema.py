"""The config: everything that a user may choose about a dataset, checked before anything is made.

The defaults are written here and in :mod:`posegen.config.groups`; a preset or a file states only what differs. What
decides the content of samples goes into :meth:`Config.identity`. A new key that does so is a new :data:`CONTENT_VERSION`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, ValidationInfo, field_validator

from posegen.config.groups import (
    Frames,
    Group,
    Length,
    Population,
    ScaleRange,
    Shift,
    SpeedRange,
    Store,
    Story,
    Variants,
    Whole,
    ordered,
    whole,
)
from posegen.config.identity import digest
from posegen.config.overrides import apply_overrides
from posegen.config.presets import find_config
from posegen.config.quotas import Quotas, quota_problems
from posegen.config.validation import Problem, Where, refuse, validated
from posegen.config.yaml_files import read_yaml
from posegen.errors import UsageError
from posegen.wording import did_you_mean, shown

if TYPE_CHECKING:
    from posegen.library import Library

__all__ = [
    "CONTENT_VERSION",
    "MOST_SAMPLES",
    "NOT_IDENTITY",
    "Config",
    "ScaleRange",
    "Shift",
    "SpeedRange",
    "load_config",
]

CONTENT_VERSION = 6
"""Changes whenever any sample of any config would come out differently."""

NOT_IDENTITY = ("name", "samples", "workers", "story.library", "store")
"""Keys that do not decide what a sample holds. The library counts by what is in it, not by where it lies."""

MOST_SAMPLES = 1_000_000_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _plain_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        msg = f"must be 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first (got {shown(name)})"
        raise ValueError(msg)
    return name


class Config(Group):
    """Everything that a user may choose about a dataset.

    Attributes
    ----------
    name : of the preset or file; names the folder that a dataset goes to by default
    samples : how many
    seed : whole number that all draws start from
    workers : processes that work at once; null: one for each core
    frames : of the arrays, at `fps` frames a second
    length : of the clips; null: they fill the arrays
    variants, population, story, store : see there
    quotas : exact amounts and caps; null: all is drawn by the weights
    """

    name: Annotated[str, Field(strict=True), AfterValidator(_plain_name)] = "default"
    samples: Annotated[Whole, Field(ge=1, le=MOST_SAMPLES)] = 10_000
    seed: Annotated[Whole, Field(ge=0, le=2**63 - 1)] = 0
    workers: Annotated[Whole, Field(ge=1, le=1024)] | None = None
    frames: Frames = 250
    fps: Annotated[Literal[20, 25, 30, 60, 120], BeforeValidator(whole)] = 25
    length: Annotated[Length, AfterValidator(ordered)] | None = None
    variants: SerializeAsAny[Variants] = Variants()
    population: Population = Population()
    story: Story = Story()
    quotas: Quotas | None = None
    store: Store = Store()

    @field_validator("length")
    @classmethod
    def _fits(cls, length: Length | None, others: ValidationInfo) -> Length | None:
        frames = others.data.get("frames")
        if length is not None and frames is not None and length.max > frames:
            msg = f"max must be at most frames, which is {frames} (got {length.max})"
            raise ValueError(msg)
        return length

    def as_data(self) -> dict[str, Any]:
        """Give the resolved config as plain data, which :meth:`model_validate` takes back."""
        return self.model_dump(mode="json")

    def identity(self, library: Library) -> str:
        """Hash what decides the content of the samples.

        Parameters
        ----------
        library : Library
            The actions, themes and words.

        Returns
        -------
        str
            32 hexadecimal digits. Configs with one identity make the same samples, one by one.
        """
        data = self.as_data()
        for key in NOT_IDENTITY:
            group, _, name = key.rpartition(".")
            del (data[group] if group else data)[name]
        return digest({"content_version": CONTENT_VERSION, "config": data, "library": library.as_data()})


def load_config(source: str | Path | None = None, overrides: Sequence[str] = (), **values: Any) -> Config:
    """Load a config.

    Parameters
    ----------
    source : str or Path, optional
        Name of a preset, or path of a YAML file; the preset ``default`` unless given.
    overrides : sequence of str
        Each ``KEY=VALUE``, such as ``story.actors.max=2``.
    **values
        Values of keys at the top, such as ``samples=200``; they win over all else. None stands for not given.

    Returns
    -------
    Config

    Raises
    ------
    UsageError
        With one line for each problem.

    Examples
    --------
    >>> config = load_config("default", ["story.actors.max=2"], samples=200)
    >>> config.samples, config.story.actors.max, config.frames
    (200, 2, 250)
    """
    path = find_config("default" if source is None else source)
    data, origins = apply_overrides(_read(path), overrides)
    for key, value in values.items():
        if value is not None:
            data[key] = value
            # What set a part of a group no longer counts once the whole group is given.
            origins = {other: option for other, option in origins.items() if other.partition(".")[0] != key} | {key: ""}

    def where(key: str) -> str:
        setters = [other for other in origins if _related(key, other)]
        return origins[max(setters, key=len)] if setters else f"{path}: "

    config = validated(Config, data, where)
    story, quotas = config.story, config.quotas
    # Quotas that are asked for beside a file are not of as many samples as the file makes.
    later = "samples" not in origins and any(_related("quotas", key) for key in origins)
    if quotas is not None and (later or "samples" not in config.model_fields_set):
        config = config.model_copy(update={"samples": quotas.total})
    if quotas is not None and config.samples > quotas.total:
        text = f"is {config.samples:,}, and the quotas are of {quotas.total:,}; lower it, or raise quotas.samples"
        raise refuse([Problem("samples", text)], where)
    if config.population.persons < story.actors.max:
        text = f"is {config.population.persons}, and story.actors.max asks for {story.actors.max} different ones; raise it"
        raise refuse([Problem("population.persons", text)], where)
    names = story.library, story.themes, quotas, story.actions or None, story.interactions.weights or None
    if any(name is not None for name in names) or "styles" in config.population.model_fields_set:
        _check_names(config, where)
    return config


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml(path)
    if not isinstance(data, dict | None):
        msg = f"{path}: must be a group of keys, such as `samples: 100` (got {shown(data)})"
        raise UsageError(msg)
    data = {"name": re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip("-._")[:64] or "config"} | (data or {})
    story = data.get("story")
    if isinstance(story, dict) and isinstance(story.get("library"), str):
        # A path in a file starts from the file's folder, so that the file works from anywhere.
        data["story"] = story | {"library": str(path.resolve().parent / os.path.expanduser(story["library"]))}
    return data


def _related(key: str, other: str) -> bool:
    return key == other or key.startswith((f"{other}.", f"{other}[")) or other.startswith(f"{key}.")


def _check_names(config: Config, where: Where) -> None:
    # Imported here because most configs name nothing in the library, and reading it takes longer than reading them.
    from posegen.library import load_library

    try:
        library = load_library(config.story.library)
    except UsageError as error:
        key = "story.library"
        raise refuse([Problem(key, str(error))], where) from None
    named = (
        ("story.theme", config.story.themes or {}, library.themes),
        ("story.action", config.story.actions, library.actions),
        ("story.interactions.weight", config.story.interactions.weights, library.interactions),
        ("population.style", config.population.styles, library.styles),
    )
    problems = [
        Problem(f"{kind}s.{name}", f"unknown {kind.partition('.')[2].removesuffix('s.weight')}{did_you_mean(name, known)}")
        for kind, given, known in named
        for name in given
        if name not in known
    ]
    if not problems:
        problems = list(_idle_themes(config.story, library))
    if not problems and config.quotas is not None:
        problems = list(quota_problems(config.quotas, config.story, config.population, library))
    if problems:
        raise refuse(problems, where)


def _idle_themes(story: Story, library: Library) -> Iterator[Problem]:
    """Find the themes that may occur and in which nothing can be done."""
    for name, theme in library.themes.items():
        weight = theme.weight if story.themes is None else story.themes.get(name, 0.0)
        actions = theme.actions.items()
        if weight and not any(own * library.action(action).weight * story.actions.get(action, 1.0) for action, own in actions):
            text = f"leaves the theme {name!r} without an action; raise one of them, or drop the theme"
            yield Problem("story.actions" if story.actions else "story.themes", text)

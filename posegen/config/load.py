"""Load configs: find a preset or file, apply overrides from the command line, and check names and quotas by the library."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from posegen.config.schema import Config, Quota, Quotas, Story
from posegen.foundations.constants import STANDING
from posegen.foundations.errors import MissingPathError, PosegenError, UsageError
from posegen.foundations.skeleton import LIBRARY_SKELETON
from posegen.foundations.validation import Problem, Where, dotted, refuse, validated
from posegen.foundations.wording import did_you_mean, shown
from posegen.foundations.yaml_files import parse_yaml, read_yaml
from posegen.library.load import Library, load_library
from posegen.library.stories import Interaction

_ENDINGS = (".yaml", ".yml")
_LIBRARY_CONFIG = ("config.yaml", "themes.yaml")
"""Names of the config in a library folder, and of a file that such a folder also has."""
_DEEPEST = 32
ConfigSource = str | Path | Mapping[str, Any]
"""Name of a preset, path of a YAML file or of a recipe, or keys and values."""
APPROACH_ACTIONS = (STANDING, "walk", "turn", "wave")
"""Actions of two actors before and after their interaction."""


def load_config(source: Config | ConfigSource | None = None, overrides: Sequence[str] = (), **values: Any) -> Config:
    """Load a config.

    Parameters
    ----------
    source : str, Path, mapping or Config, optional
        Name of a preset, path of a YAML file, or the keys that differ from the defaults. Default: the preset ``default``. A
        config without further arguments is returned as it is.
    overrides : sequence of str
        Each ``KEY=VALUE``, such as ``story.actors.max=2``.
    **values
        Values of top-level keys, such as ``samples=200``. They take precedence; None means not given.

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
    >>> load_config({"frames": 100, "story": {"actors": {"max": 2}}}).frames
    100
    """
    if isinstance(source, Config):
        if not overrides and all(value is None for value in values.values()):
            return source
        source = source.model_dump(mode="json", exclude_unset=True)
    path, read = _read_source(source)
    data, origins = apply_overrides(read, overrides)
    # As in a file, so that the dataset is read from any folder: its header keeps the path of its library.
    data = _with_library(data, Path.cwd())
    for key, value in values.items():
        if value is not None:
            data[key] = value
            # An override of a part of a group does not count once the whole group is given.
            origins = {other: option for other, option in origins.items() if other.partition(".")[0] != key} | {key: ""}
    where = origin_of_keys(path, origins)
    config = validated(Config, data, where)
    story, quotas = config.story, config.quotas
    # Quotas given as an override replace the number of samples of the file.
    replaced = "samples" not in origins and any(_is_related("quotas", key) for key in origins)
    if quotas is not None and (replaced or "samples" not in config.model_fields_set):
        config = config.model_copy(update={"samples": quotas.total})
    if quotas is not None and config.samples > quotas.total:
        text = f"is {config.samples:,}, and the quotas define {quotas.total:,}; lower it, or raise quotas.samples"
        raise refuse([Problem("samples", text)], where)
    if config.population.persons < story.actors.max:
        text = f"is {config.population.persons}, and story.actors.max asks for {story.actors.max} different ones; raise it"
        raise refuse([Problem("population.persons", text)], where)
    names = story.library, story.themes, quotas, story.actions or None, story.interactions.weights or None
    # Most configs name nothing in the library, and reading it takes longer than reading them.
    styled = "styles" in config.population.model_fields_set or "style" in config.captions.model_fields_set
    own = config.skeleton == LIBRARY_SKELETON
    if any(name is not None for name in names) or styled or own:
        _check_names(config, where)
    return config


def _read_source(source: ConfigSource | None) -> tuple[Path, Mapping[str, Any]]:
    """Return the path that messages name, and the keys and values of a source."""
    if isinstance(source, Mapping):
        return Path("config"), {"name": "config", **source}
    path = find_config("default" if source is None else source)
    return path, _read(path)


def presets() -> dict[str, Path]:
    """Return the file of each preset by name."""
    return packaged_files("configs", "*.yaml")


def packaged_files(folder: str, pattern: str) -> dict[str, Path]:
    """Return files of the repository by name; their folder is inside the package, or beside it in an editable install."""
    package = Path(__file__).parent.parent
    found = list((package / folder).glob(pattern)) or (package.parent / folder).glob(pattern)
    files = {file.stem: file for file in found}
    if not files:
        raise PosegenError(f"the files of {folder}/ are missing next to {package}; install posegen again")
    return {name: files[name] for name in sorted(files)}


def require_source(source: str | Path) -> None:
    """Raise UsageError if a source of training is neither a preset nor a path that exists."""
    known = presets()
    if str(source) not in known and not os.path.exists(source):
        msg = (
            f"{shown(str(source))}: is neither a dataset, nor a file, nor one of the presets {', '.join(known)}; check the path"
        )
        raise UsageError(msg)


def preset_description(path: Path) -> str:
    """Return the comment in the first line of a preset; empty if there is none."""
    first, _, _ = path.read_text("utf-8").partition("\n")
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def origin_of_keys(path: Path, origins: Mapping[str, str]) -> Where:
    """Return a function that returns for a key the start of messages about it: the option that set it, else the file."""

    def where(key: str) -> str:
        setters = [other for other in origins if _is_related(key, other)]
        return origins[max(setters, key=len)] if setters else f"{path}: "

    return where


def find_config(source: str | Path, known: Mapping[str, Path] | None = None) -> Path:
    """Find the file of a config.

    Parameters
    ----------
    source : str or Path
        Name of a preset, path of a YAML file, or a library folder with a config, as `posegen import` writes it. A preset takes
        precedence over a file of the same name; write ``./name`` for the file.
    known : mapping of str to Path, optional
        Files of the presets by name; by default those of datasets.

    Returns
    -------
    Path

    Raises
    ------
    UsageError
        If there is no such preset and no such file.
    """
    known = presets() if known is None else known
    if isinstance(source, str) and source in known:
        return known[source]
    # Unlike Path.exists, os.path.exists accepts names that are too long or contain a zero byte.
    if str(source) and os.path.exists(source):
        held = [Path(source) / name for name in _LIBRARY_CONFIG]
        return held[0] if all(file.is_file() for file in held) else Path(source)
    if isinstance(source, str) and not source.endswith(_ENDINGS) and Path(source).name == source:
        msg = f"unknown preset {shown(source)}, and no file of that name{did_you_mean(source, known)}"
    else:
        msg = f"{shown(str(source))}: there is no such config file; check the path, or name a preset: {', '.join(known)}"
    raise MissingPathError(msg)


def apply_overrides(data: Mapping[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Set keys in nested data; later overrides take precedence.

    Parameters
    ----------
    data : mapping
        The config as read; not modified.
    overrides : sequence of str
        Each ``KEY=VALUE``, the key a dotted path, the value YAML.

    Returns
    -------
    data : dict
        With the values set.
    origins : dict of str to str
        For each key that was set, its prefix in messages.

    Raises
    ------
    UsageError
        If an override has another form, or its path leads through a value that is not a group of keys.

    Examples
    --------
    >>> apply_overrides({"story": {"layering": 0}}, ["story.actors.max=2"])[0]
    {'story': {'layering': 0, 'actors': {'max': 2}}}
    """
    changed = dict(data)
    origins = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path) or len(path) > _DEEPEST:
            raise UsageError(f"--set {shown(override)}: must be KEY=VALUE, such as story.actors.max=2")
        key = dotted(path)  # as messages write the key
        option = f"--set {key}"
        changed = _with_value(changed, path, parse_yaml(text, f"{option}: {shown(text)}"), option)
        origins[key] = "--set "
    return changed, origins


def _with_value(data: Mapping[str, Any], path: Sequence[str], value: Any, option: str) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**data, name: value}
    # Setting a key of a group that null disables enables the group.
    group = {} if data.get(name) is None else data[name]
    if not isinstance(group, Mapping):
        raise UsageError(f"{option}: {name} is {shown(group)}, not a group of keys")
    return {**data, name: _with_value(group, rest, value, option)}


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml(path)
    if not isinstance(data, dict | None):
        raise UsageError(f"{path}: must be a group of keys, such as `samples: 100` (got {shown(data)})")
    header = data.get("header") if data else None
    if isinstance(header, dict) and isinstance(header.get("config"), dict):  # a recipe; see posegen.generation.recipe
        data = header["config"] | {"samples": header.get("samples")}
    data = {"name": re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip("-._")[:64] or "config"} | (data or {})
    # A relative path in a file starts from the file's folder, so that the file works from any folder.
    return _with_library(data, path.resolve().parent)


def _with_library(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return data of a config with the path of the library from a folder on."""
    story = data.get("story")
    if not isinstance(story, Mapping) or not isinstance(story.get("library"), str):
        return dict(data)
    return {**data, "story": {**story, "library": str(folder / os.path.expanduser(story["library"]))}}


def _is_related(key: str, other: str) -> bool:
    return key == other or key.startswith((f"{other}.", f"{other}[")) or other.startswith(f"{key}.")


def _check_names(config: Config, where: Where) -> None:
    try:
        library = load_library(config.story.library)
    except UsageError as error:
        raise refuse([Problem("story.library", str(error))], where) from None
    known = {"theme": library.themes, "action": library.actions, "interaction": library.interactions, "style": library.styles}
    styles = library.words.get("caption_styles", {})
    problems = [
        Problem(key, f"unknown {kind}{quoted}{did_you_mean(name, known[kind])}")
        for key, kind, name, quoted in _named(config)
        if name not in known[kind]
    ]
    if styles and config.captions.style not in styles:
        problems.append(Problem("captions.style", f"unknown style{did_you_mean(config.captions.style, styles)}"))
    if config.skeleton == LIBRARY_SKELETON and not len(library.skeletons):
        text = "is library, and story.library has no skeletons.yaml: import the clips again, or choose smpl"
        problems.append(Problem("skeleton", text))
    if not problems:
        problems = list(_idle_themes(config.story, library))
    if not problems and config.quotas is not None:
        problems = list(_quota_problems(config, config.quotas, library))
    if problems:
        raise refuse(problems, where)


def _named(config: Config) -> Iterator[tuple[str, str, str, str]]:
    """Yield the names of the library that a config uses: the key, the kind, the name, and the name for a message.

    Messages about keys that end in the name omit it.
    """
    story, quotas = config.story, config.quotas
    weights = (
        ("theme", "story.themes", story.themes or {}),
        ("action", "story.actions", story.actions),
        ("interaction", "story.interactions.weights", story.interactions.weights),
        ("style", "population.styles", config.population.styles),
    )
    for kind, group, given in weights:
        yield from ((f"{group}.{name}", kind, name, "") for name in given)
    for group, entries in (("exact", quotas.exact), ("caps", quotas.caps)) if quotas else ():
        for number, entry in enumerate(entries):
            for kind, _, _ in weights:
                for key in (kind, f"{kind}s"):
                    names = getattr(entry, key, None) or ()
                    for name in (names,) if isinstance(names, str) else names:
                        yield f"quotas.{group}[{number}].{key}", kind, name, f" {name!r}"


def _idle_themes(story: Story, library: Library) -> Iterator[Problem]:
    """Yield the themes that may occur but have no action left."""
    for name, theme in library.themes.items():
        weight = theme.weight if story.themes is None else story.themes.get(name, 0.0)
        if weight and not any(action_weight(story, library, name, action) for action in theme.actions):
            text = f"leaves the theme {name!r} without an action; raise one of them, or drop the theme"
            yield Problem("story.actions" if story.actions else "story.themes", text)


def _quota_problems(config: Config, quotas: Quotas, library: Library) -> Iterator[Problem]:
    """Yield the quotas that the library, the themes or the population cannot meet."""
    story = config.story
    weights = {name: theme.weight for name, theme in library.themes.items()} if story.themes is None else story.themes
    free = [name for name, weight in weights.items() if weight and name not in _capped(quotas, "theme")]
    if not free:
        yield Problem("quotas.caps", "cap every theme that may occur; leave one without a cap, for the remaining samples")
    capped_names = _capped(quotas, "action")
    for theme in (name for name, weight in weights.items() if weight):
        uncapped = [action for action in library.themes[theme].actions if action not in capped_names]
        if not any(action_weight(story, library, theme, action) for action in uncapped):
            yield Problem("quotas.caps", f"cap every action of the theme {theme!r}; leave it one without a cap")
    for number, quota in enumerate(quotas.exact):
        key = f"quotas.exact[{number}]"
        yield from _exact_problems(key, quota, config, library, weights, free)
        if quota.style is not None and not config.population.styles.get(quota.style):
            yield Problem(f"{key}.style", f"{quota.style!r} does not occur; give it a weight in population.styles")
        for name in ("style", "left_handed", "female", "age"):
            if getattr(quota, name) is not None and _capped(quotas, name):
                yield Problem(f"{key}.{name}", "is also capped under quotas.caps; ask for exact amounts, or for a cap")
    for number, cap in enumerate(quotas.caps):
        if cap.action == STANDING:
            yield Problem(f"quotas.caps[{number}].action", f"{STANDING!r} is between and under other actions; cap another one")
        exact = quotas.exact_within(cap)
        if exact > cap.samples:
            what = cap.action or cap.interaction or cap.theme
            text = f"is {cap.samples:,}, and exact asks for {exact:,} samples with {what!r}; raise it"
            yield Problem(f"quotas.caps[{number}].samples", text)


def _capped(quotas: Quotas, kind: str) -> set[object]:
    return {value for cap in quotas.caps if (value := getattr(cap, kind)) is not None}


def action_weight(story: Story, library: Library, theme: str, action: str) -> float:
    """Return the weight of an action in a theme; 0 if it does not occur."""
    own = library.themes[theme].actions.get(action, 0.0)
    return own * library.action(action).weight * story.actions.get(action, 1.0)


def _exact_problems(
    key: str, quota: Quota, config: Config, library: Library, weights: Mapping[str, float], free: Collection[str]
) -> Iterator[Problem]:
    """Yield the reasons why a quota cannot be met, given the weights of themes and the themes without a cap."""
    story = config.story
    if quota.theme is not None and not weights.get(quota.theme):
        yield Problem(f"{key}.theme", f"{quota.theme!r} does not occur; give it a weight in story.themes")
    else:
        where = f"the theme {quota.theme!r}" if quota.theme else "any theme that may occur without a cap"
        themes = free if quota.theme is None else [quota.theme]
        for action in quota.actions:
            if not any(action_weight(story, library, theme, action) for theme in themes):
                text = f"{action!r} does not occur in {where}; choose another theme, or raise its weight"
                yield Problem(f"{key}.actions", text)
    for name in quota.actions:
        if quota.side is not None and not library.action(name).sided:
            yield Problem(f"{key}.side", f"{name!r} has no side; leave the side out, or the action")
        if quota.speed is not None and (library.action(name).gait is None or library.action(name).speed is None):
            yield Problem(f"{key}.speed", f"{name!r} is not a gait; leave the speed out, or the action")
    capped = {cap.action for cap in config.quotas.caps} if config.quotas else set()
    if quota.interactions and story.actors.max < 2:
        yield Problem(f"{key}.interactions", "need two actors; set story.actors.max to 2 or more")
    for name in quota.interactions:
        if not library.interactions[name].weight * story.interactions.weights.get(name, 1.0):
            yield Problem(f"{key}.interactions", f"{name!r} does not occur; give it a weight in story.interactions.weights")
        for action in sorted({*actions_around(library.interactions[name])} & capped):
            text = f"{name!r} may include {action!r}, which is capped under quotas.caps; cap another action"
            yield Problem(f"{key}.interactions", text)


def actions_around(interaction: Interaction) -> tuple[str, ...]:
    """Return the actions that may occur in a sample with an interaction: its own, and those before and after it."""
    return tuple(dict.fromkeys((*interaction.actions, *APPROACH_ACTIONS)))

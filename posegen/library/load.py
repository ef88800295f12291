"""Read the library files, validate them, and combine them into one :class:`Library`.

The folder of this package has ``actions/*.yaml``, ``themes.yaml``, ``styles.yaml``, ``interactions.yaml`` and
``words/en.yaml``. A user's folder has action files ``*.yaml``, in ``actions/`` or in the folder itself, and optionally files
with the other names and ``skeletons.yaml``; new entries are added, entries with the same name are replaced. A file with another
name, such as ``words/de.yaml``, is another language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from posegen.foundations.errors import UsageError, require_inside, require_known
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.wording import did_you_mean, shown
from posegen.foundations.yaml_files import read_yaml
from posegen.library.schema import Action, ActionFile
from posegen.library.skeletons import SkeletonFile, Skeletons
from posegen.library.stories import NEUTRAL, Interaction, InteractionFile, Style, StyleFile, Theme, ThemeFile
from posegen.library.words import check_words, merge

_OWN = Path(__file__).parent
_ACTIONS = "actions"
_THEMES = "themes.yaml"
_STYLES = "styles.yaml"
_INTERACTIONS = "interactions.yaml"
_SKELETONS = "skeletons.yaml"
_CONFIG = "config.yaml"
"""A config that names the folder as its library; it is no part of the library."""
_NAMED = (_THEMES, _STYLES, _INTERACTIONS, _SKELETONS, _CONFIG)
_WORDS = "words/en.yaml"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOST_FILES = 1000
_UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False, repr=False)
class Library:
    """The actions, themes, words, styles and interactions of scenes. Two libraries are equal only if they are the same object.

    Attributes
    ----------
    entries : mapping of str to Action
        By name, in the order of names.
    families : mapping of str to tuple of str
        The names of the actions of each family.
    themes : mapping of str to Theme
        By name, in the order of names.
    words : mapping
        The English words, as parsed.
    styles : mapping of str to Style
        By name: ``neutral`` first, then in the order of names; the position is the index of the style.
    interactions : mapping of str to Interaction
        By name, in the order of names.
    terms : mapping of str to tuple of str
        Licence and source of each action that is made from clips, by name.
    skeletons : Skeletons
        Of the clips; empty without imported clips.
    """

    entries: Mapping[str, Action]
    families: Mapping[str, tuple[str, ...]]
    themes: Mapping[str, Theme]
    words: Mapping[str, Any]
    styles: Mapping[str, Style] = field(default_factory=lambda: {NEUTRAL: Style()})
    interactions: Mapping[str, Interaction] = field(default_factory=dict)
    terms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    skeletons: Skeletons = field(default_factory=lambda: Skeletons({}))

    @cached_property
    def clip_terms(self) -> tuple[tuple[str, str], ...]:
        """Licences and sources of the clips from which actions are made, each pair once; empty without such actions."""
        return tuple(sorted(set(self.terms.values())))

    def __repr__(self) -> str:
        return f"Library({len(self.entries)} actions, {len(self.themes)} themes, {len(self.styles)} styles)"

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Names of all actions; the position is the index of the action."""
        return tuple(self.entries)

    def action(self, name: str) -> Action:
        """Return an action by name.

        Parameters
        ----------
        name : str
            One of `actions`.

        Returns
        -------
        Action
        """
        require_known("unknown action", name, self.entries)
        return self.entries[name]

    def index(self, name: str) -> int:
        """Return the index of an action.

        Parameters
        ----------
        name : str
            One of `actions`.

        Returns
        -------
        int
            Its position in `actions`.
        """
        self.action(name)
        return self.actions.index(name)

    def as_data(self) -> dict[str, Any]:
        """Return the whole library as plain data, for the identity of a dataset."""
        # Without skeletons, the identity is that of versions that knew none.
        skeletons = {"skeletons": self.skeletons.as_data()} if len(self.skeletons) else {}
        return skeletons | {
            "actions": {name: action.as_data() for name, action in self.entries.items()},
            "families": {name: list(members) for name, members in self.families.items()},
            "themes": {name: theme.model_dump(mode="json") for name, theme in self.themes.items()},
            "words": dict(self.words),
            "styles": {name: style.model_dump(mode="json") for name, style in self.styles.items()},
            "interactions": {name: each.model_dump(mode="json", by_alias=True) for name, each in self.interactions.items()},
        }


def load_library(folder: Path | None = None) -> Library:
    """Return posegen's library with a user's additions; files are read once per process.

    Parameters
    ----------
    folder : Path, optional
        The user's folder of action files.

    Returns
    -------
    Library

    Raises
    ------
    UsageError
        If a file is invalid.
    """
    addition = _addition(folder)
    if addition not in _loaded:
        _loaded[addition] = read_library(_OWN, addition)
    return _loaded[addition]


def take_library(folder: Path | None, library: Library) -> None:
    """Let :func:`load_library` return a library that another process has read: workers then agree if files change."""
    _loaded[_addition(folder)] = library


def read_library(base: Path, addition: Path | None = None) -> Library:
    """Read a library from its files again; only posegen's own actions are kept, which do not change while it runs.

    Parameters
    ----------
    base : Path
        Folder with ``actions/*.yaml``, ``themes.yaml`` and ``words/en.yaml``, and optionally ``styles.yaml``.
    addition : Path, optional
        A user's folder of action files.

    Returns
    -------
    Library
    """
    actions, family_of, terms = (_own_actions if base == _OWN else _read_actions)(base / _ACTIONS)
    if addition is not None:
        more_actions, more_families, more_terms = _read_actions(addition)
        terms = {name: given for name, given in terms.items() if name not in more_actions} | more_terms
        actions, family_of = actions | more_actions, family_of | more_families
    themes: dict[str, Theme] = {}
    styles: dict[str, Style] = {}
    interactions: dict[str, Interaction] = {}
    for folder in (base,) if addition is None else (base, addition):
        themes |= _read_themes(folder / _THEMES, actions, themes)
        styles |= _read_entries(folder / _STYLES, StyleFile, actions)
        if NEUTRAL in styles:
            raise UsageError(f"{folder / _STYLES}: styles.{NEUTRAL}: is reserved for persons without a style; rename it")
        interactions |= _read_entries(folder / _INTERACTIONS, InteractionFile, actions)
    skeletons = {} if addition is None else _read_entries(addition / _SKELETONS, SkeletonFile, actions)
    file, words = _read_words(base, addition)
    check_words(words, actions, styles, str(file))
    names, families = sorted(actions), sorted(set(family_of.values()))
    return Library(
        entries=dict(sorted(actions.items())),
        families={family: tuple(name for name in names if family_of[name] == family) for family in families},
        themes=dict(sorted(themes.items())),
        words=words,
        styles={NEUTRAL: Style()} | dict(sorted(styles.items())),
        interactions=dict(sorted(interactions.items())),
        terms=terms,
        skeletons=Skeletons(dict(sorted(skeletons.items()))),
    )


def read_words(folder: Path | None = None) -> dict[str, Any]:
    """Return the words of the library that :func:`load_library` returns, without reading the rest of it."""
    return _read_words(_OWN, _addition(folder))[1]


def _addition(folder: Path | None) -> Path | None:
    # Unlike the methods of Path, these functions accept invalid paths, which are reported as missing.
    return None if folder is None else Path(os.path.realpath(os.path.expanduser(folder)))


def _read_words(base: Path, addition: Path | None) -> tuple[Path, dict[str, Any]]:
    """Return the words of a library, and the last file that they were read from."""
    file, words = base / _WORDS, _read_mapping(base / _WORDS)
    if addition is not None:
        file = _language(addition)
        if os.path.lexists(file):
            # English words are merged into posegen's; another language replaces them.
            own = _read_mapping(file)
            words = merge(words, own) if file.name == Path(_WORDS).name else own
    return file, words


def _read_actions(folder: Path) -> tuple[dict[str, Action], dict[str, str], dict[str, tuple[str, str]]]:
    """Read all actions of a folder; return them, the family of each, and licence and source of those made from clips."""
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: there is no such folder of action files; check the path")
    if folder != _OWN / _ACTIONS:
        _refuse_unread(folder)
    files = [file for file in sorted(folder.glob("*.yaml")) if file.name not in _NAMED]
    files += sorted((folder / _ACTIONS).glob("*.yaml"))
    if not files and not any(os.path.lexists(folder / name) for name in (*_NAMED, "words")):
        raise UsageError(f"{folder}: has no action file; add one whose name ends in .yaml")
    if len(files) > _MOST_FILES:
        raise UsageError(f"{folder}: has {len(files):,} action files; at most {_MOST_FILES:,} are allowed: check the path")
    actions: dict[str, Action] = {}
    family_of: dict[str, str] = {}
    origin: dict[str, Path] = {}
    terms: dict[str, tuple[str, str]] = {}
    for file in files:
        content = validated(ActionFile, _read_mapping(file), f"{file}: ")
        for name, action in content.actions.items():
            _check_name(file, "actions", name)
            if name in actions:
                raise UsageError(f"{file}: actions.{name}: is already in {origin[name]}; rename one of the two")
            actions[name], family_of[name], origin[name] = action, content.family, file
            if content.licence or content.source:
                terms[name] = content.licence or _UNKNOWN, content.source or _UNKNOWN
    return actions, family_of, terms


_own_actions = cache(_read_actions)
_loaded: dict[Path | None, Library] = {}
"""Libraries that this process has read, by the user's folder."""


def _refuse_unread(folder: Path) -> None:
    """Raise UsageError if a file lies in a user's library folder where it would not be read, or is a link out of the folder."""
    for file in sorted(file for where in (folder, folder / _ACTIONS, folder / "words") for file in where.glob("*.y*ml")):
        if file.suffix == ".yml":
            raise UsageError(f"{file}: is not read; rename it to {file.stem}.yaml")
        require_inside(folder, file)
    for name in _NAMED:
        if os.path.lexists(folder / _ACTIONS / name):
            raise UsageError(f"{folder / _ACTIONS / name}: is not read there; move it to {folder / name}")


def _read_entries(file: Path, model: type[StrictModel], actions: Mapping[str, Action]) -> dict[str, Any]:
    """Read the named entries of a file, which may name `actions` only; none if the file does not exist."""
    if not os.path.lexists(file):
        return {}
    ((group, entries),) = validated(model, _read_mapping(file), f"{file}: ")
    key = "actions" if model is ThemeFile else "beats"
    for name, entry in entries.items():
        _check_name(file, group, name)
        for action in getattr(entry, "actions", ()):
            if action not in actions:
                raise UsageError(f"{file}: {group}.{name}.{key}.{action}: unknown action{did_you_mean(action, actions)}")
    return dict(entries)


def _read_themes(file: Path, actions: Mapping[str, Action], before: Mapping[str, Theme]) -> dict[str, Theme]:
    themes: dict[str, Theme] = _read_entries(file, ThemeFile, actions)
    for name, theme in themes.items():
        if not any(theme.actions.values()):
            raise UsageError(f"{file}: themes.{name}.actions: must give some action a weight above 0")
    if not any(theme.weight for theme in {**before, **themes}.values()):
        raise UsageError(f"{file}: themes: must give some theme a weight above 0")
    return themes


def _language(folder: Path) -> Path:
    """Return the path of the words of a user's folder, which may not exist."""
    files = sorted((folder / "words").glob("*.yaml"))
    if len(files) > 1:
        names = f"{files[0].name} and {files[1].name}"
        raise UsageError(f"{folder / 'words'}: has words of {len(files)} languages, {names}; keep one")
    return files[0] if files else folder / _WORDS


def _read_mapping(file: Path) -> dict[str, Any]:
    data = read_yaml(file)
    if not isinstance(data, dict):
        raise UsageError(f"{file}: must be a group of keys (got {shown(data)})")
    return data


def _check_name(file: Path, group: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{file}: {group}: {shown(name)} is not a valid name; use lower-case letters, digits and underscores")

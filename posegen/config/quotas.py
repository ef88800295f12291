"""Check that quotas can be met by the library, the themes and the population of a config."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from posegen.config.schema import Population, Quota, Quotas, Story
from posegen.foundations.constants import STANDING
from posegen.foundations.validation import Problem
from posegen.foundations.wording import did_you_mean
from posegen.library.load import Library
from posegen.library.schema import Interaction

APPROACH_ACTIONS = (STANDING, "walk", "turn", "wave")
"""Actions of two actors before and after their interaction."""
_Themes = tuple[dict[str, float], dict[str, float]]
"""Weights of all themes, and of those that are not capped."""


def quota_problems(quotas: Quotas, story: Story, population: Population, library: Library) -> Iterator[Problem]:
    """Yield the quotas that the library, the themes or the population cannot meet.

    Parameters
    ----------
    quotas : Quotas
    story, population : Story, Population
        Of the same config.
    library : Library

    Yields
    ------
    Problem
    """
    unknown = list(_unknown(quotas, library))
    yield from unknown
    if unknown:
        return
    weights = {name: theme.weight for name, theme in library.themes.items()} if story.themes is None else story.themes
    free = {name: weight for name, weight in weights.items() if weight and name not in _capped(quotas, "theme")}
    if not free:
        yield Problem("quotas.caps", "cap every theme that may occur; leave one without a cap, for the remaining samples")
    capped_names = _capped(quotas, "action")
    for theme in (name for name, weight in weights.items() if weight):
        uncapped = [action for action in library.themes[theme].actions if action not in capped_names]
        if not any(action_weight(story, library, theme, action) for action in uncapped):
            yield Problem("quotas.caps", f"cap every action of the theme {theme!r}; leave it one without a cap")
    for number, quota in enumerate(quotas.exact):
        key = f"quotas.exact[{number}]"
        yield from _theme_problems(key, quota, story, library, (weights, free))
        yield from _action_problems(key, quota, library)
        yield from _meeting_problems(key, quota, story, quotas, library)
        if quota.style is not None and not population.styles.get(quota.style):
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


def _unknown(quotas: Quotas, library: Library) -> Iterator[Problem]:
    known: dict[str, Collection[str]] = {
        "action": library.actions,
        "interaction": library.interactions,
        "theme": library.themes,
        "style": library.styles,
    }
    for group, entries in (("exact", quotas.exact), ("caps", quotas.caps)):
        for i, entry in enumerate(entries):
            for kind, names in known.items():
                for key in (kind, f"{kind}s"):
                    given = getattr(entry, key, None) or ()
                    for name in (given,) if isinstance(given, str) else given:
                        if name not in names:
                            yield Problem(f"quotas.{group}[{i}].{key}", f"unknown {kind} {name!r}{did_you_mean(name, names)}")


def _theme_problems(key: str, quota: Quota, story: Story, library: Library, offered: _Themes) -> Iterator[Problem]:
    weights, free = offered
    if quota.theme is not None and not weights.get(quota.theme):
        yield Problem(f"{key}.theme", f"{quota.theme!r} does not occur; give it a weight in story.themes")
        return
    themes = list(free) if quota.theme is None else [quota.theme]
    for action in quota.actions:
        if not any(action_weight(story, library, theme, action) for theme in themes):
            where = f"the theme {quota.theme!r}" if quota.theme else "any theme that may occur without a cap"
            yield Problem(f"{key}.actions", f"{action!r} does not occur in {where}; choose another theme, or raise its weight")


def _action_problems(key: str, quota: Quota, library: Library) -> Iterator[Problem]:
    for name in quota.actions:
        action = library.action(name)
        if quota.side is not None and not action.sided:
            yield Problem(f"{key}.side", f"{name!r} has no side; leave the side out, or the action")
        if quota.speed is not None and (action.gait is None or action.speed is None):
            yield Problem(f"{key}.speed", f"{name!r} is not a gait; leave the speed out, or the action")


def _meeting_problems(key: str, quota: Quota, story: Story, quotas: Quotas, library: Library) -> Iterator[Problem]:
    """Yield the reasons why two actors cannot perform the interactions of a quota."""
    if not quota.interactions:
        return
    if story.actors.max < 2:
        yield Problem(f"{key}.interactions", "need two actors; set story.actors.max to 2 or more")
    capped = _capped(quotas, "action")
    for name in quota.interactions:
        if not library.interactions[name].weight * story.interactions.weights.get(name, 1.0):
            yield Problem(f"{key}.interactions", f"{name!r} does not occur; give it a weight in story.interactions.weights")
        capped_names = next((action for action in actions_around(library.interactions[name]) if action in capped), None)
        if capped_names is not None:
            text = f"{name!r} may include {capped_names!r}, which is capped under quotas.caps; cap another action"
            yield Problem(f"{key}.interactions", text)


def actions_around(interaction: Interaction) -> tuple[str, ...]:
    """Return the actions that may occur in a sample with an interaction: its own, and those before and after it."""
    return tuple(dict.fromkeys((*interaction.actions, *APPROACH_ACTIONS)))

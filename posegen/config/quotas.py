"""The keys under `quotas`: exact amounts of samples, and what only so many samples may show."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from posegen.config.groups import AgeRange, Flag, Group, Number, Population, Share, Story, Whole, ordered
from posegen.config.validation import Problem
from posegen.wording import did_you_mean

if TYPE_CHECKING:
    from posegen.library import Library
    from posegen.library.interactions import Interaction

__all__ = ["COMING_AND_GOING", "Cap", "Quota", "Quotas", "done_by_who_meets", "quota_problems"]

MOST_SAMPLES = 1_000_000_000
COMING_AND_GOING = ("stand", "walk", "turn", "wave")
"""What people do before and after they meet."""
_Themes = tuple[dict[str, float], dict[str, float]]
"""Weights of all themes, and of those that may occur in every sample."""
_ONE_OF = ("action", "interaction", "theme", "style", "left_handed", "female", "age")


class Speeds(Group):
    """Slowest and fastest, metres a second."""

    min: Annotated[Number, Field(gt=0, le=15)]
    max: Annotated[Number, Field(gt=0, le=15)]


class Quota(Group):
    """So many samples of one kind.

    Attributes
    ----------
    samples : how many; of each action or interaction, where there are some
    actions : each sample shows one of them, done by its first actor
    interactions : in each sample the first two actors do one of them with one another
    speed, side : of that action, wherever the first actor does it
    theme : of the sample
    style, age : of the first actor
    left_handed, female : share of the first actors, exactly
    """

    samples: Annotated[Whole, Field(ge=1, le=MOST_SAMPLES)]
    actions: tuple[str, ...] = ()
    interactions: tuple[str, ...] = ()
    speed: Annotated[Speeds, AfterValidator(ordered)] | None = None
    side: Literal["left", "right"] | None = None
    theme: str | None = None
    style: str | None = None
    age: Annotated[AgeRange, AfterValidator(ordered)] | None = None
    left_handed: Share | None = None
    female: Share | None = None

    @property
    def amount(self) -> int:
        """Samples of all actions or interactions of it together."""
        return self.samples * max(1, len(self.actions) + len(self.interactions))

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for key, names in (("actions", self.actions), ("interactions", self.interactions)):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                msg = f"{key} has {twice} twice; name each {key[:-1]} once"
                raise ValueError(msg)
        if self.actions and self.interactions:
            msg = "actions and interactions are both listed; who meets does what the interaction is of: make two entries"
            raise ValueError(msg)
        if not self.actions and (self.speed or self.side):
            msg = f"{'speed' if self.speed else 'side'} is that of an action; name some under actions"
            raise ValueError(msg)
        shares = [(name, share) for name in ("left_handed", "female") if (share := getattr(self, name)) is not None]
        exact = Fraction(self.samples)
        for _, share in shares:
            exact *= Fraction(str(share))
        if exact.denominator > 1:
            msg = f"{' and '.join(f'{name} {share:g}' for name, share in shares)} of {self.samples} samples are no whole number"
            raise ValueError(msg)
        if len(shares) > 1 and any((self.samples * Fraction(str(share))).denominator > 1 for _, share in shares):
            msg = f"left_handed or female of {self.samples} samples is no whole number; change one of them"
            raise ValueError(msg)
        return self


class Cap(Group):
    """What at most so many samples show: one action, one interaction, one theme, or somebody of one kind.

    `left_handed: true` caps the samples with a left-handed actor, `false` those with a right-handed one; `female` likewise.
    """

    samples: Annotated[Whole, Field(ge=0, le=MOST_SAMPLES)]
    action: str | None = None
    interaction: str | None = None
    theme: str | None = None
    style: str | None = None
    left_handed: Flag | None = None
    female: Flag | None = None
    age: Annotated[AgeRange, AfterValidator(ordered)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        named = [name for name in _ONE_OF if getattr(self, name) is not None]
        if len(named) != 1:
            msg = f"must name one of {', '.join(_ONE_OF)} (got {', '.join(named) or 'none'})"
            raise ValueError(msg)
        return self


class Quotas(Group):
    """Exact amounts.

    Attributes
    ----------
    samples : how many there can be; null: those of `exact` together. What these leave is drawn by the weights
    exact : so many samples of this and of that
    caps : what at most so many of all samples show
    """

    samples: Annotated[Whole, Field(ge=1, le=MOST_SAMPLES)] | None = None
    exact: tuple[Quota, ...] = ()
    caps: tuple[Cap, ...] = ()

    @property
    def asked(self) -> int:
        """Samples of all exact amounts together."""
        return sum(quota.amount for quota in self.exact)

    @property
    def total(self) -> int:
        """How many samples there can be."""
        return self.asked if self.samples is None else self.samples

    def asked_of(self, cap: Cap) -> int:
        """Samples of the exact amounts that show what a cap is of, as far as they ask for it: by name, or a theme."""
        if cap.action is not None or cap.interaction is not None:
            return sum(
                quota.samples for quota in self.exact if {cap.action, cap.interaction} & {*quota.actions, *quota.interactions}
            )
        return sum(quota.amount for quota in self.exact if cap.theme is not None and quota.theme == cap.theme)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.samples is not None and self.asked > self.samples:
            msg = f"exact asks for {self.asked:,} samples, and samples is {self.samples:,}; raise it, or leave it out"
            raise ValueError(msg)
        if self.total == 0:
            msg = "asks for nothing; list amounts under exact, or say under samples how many there are that caps are of"
            raise ValueError(msg)
        if self.total > MOST_SAMPLES:
            msg = f"exact asks for {self.asked:,} samples; {MOST_SAMPLES:,} are the most"
            raise ValueError(msg)
        return self


def quota_problems(quotas: Quotas, story: Story, population: Population, library: Library) -> Iterator[Problem]:
    """Find what the library, the themes and the people that may occur cannot meet.

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
        yield Problem("quotas.caps", "cap every theme that may occur; leave one without a cap, for the samples beyond")
    barred = _capped(quotas, "action")
    for theme in (name for name, weight in weights.items() if weight):
        if not any(_weight(story, library, theme, action) for action in library.themes[theme].actions if action not in barred):
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
        asked = quotas.asked_of(cap)
        if asked > cap.samples:
            what = cap.action or cap.interaction or cap.theme
            text = f"is {cap.samples:,}, and exact asks for {asked:,} samples with {what!r}; raise it"
            yield Problem(f"quotas.caps[{number}].samples", text)


def _capped(quotas: Quotas, kind: str) -> set[object]:
    return {value for cap in quotas.caps if (value := getattr(cap, kind)) is not None}


def _weight(story: Story, library: Library, theme: str, action: str) -> float:
    own = library.themes[theme].actions.get(action, 0.0)
    return own * library.action(action).weight * story.actions.get(action, 1.0)


def _unknown(quotas: Quotas, library: Library) -> Iterator[Problem]:
    named = [
        (f"quotas.exact[{i}].{kind}s", kind, name)
        for i, quota in enumerate(quotas.exact)
        for kind, names in (("action", quota.actions), ("interaction", quota.interactions))
        for name in names
    ]
    for place, entries in (("exact", quotas.exact), ("caps", quotas.caps)):
        for i, entry in enumerate(entries):
            for kind in ("action", "interaction", "theme", "style"):
                name = getattr(entry, kind, None)
                if name is not None:
                    named.append((f"quotas.{place}[{i}].{kind}", kind, name))
    known = {
        "action": library.actions,
        "interaction": tuple(library.interactions),
        "theme": tuple(library.themes),
        "style": tuple(library.styles),
    }
    for key, kind, name in named:
        if name not in known[kind]:
            yield Problem(key, f"unknown {kind} {name!r}{did_you_mean(name, known[kind])}")


def _theme_problems(key: str, quota: Quota, story: Story, library: Library, offered: _Themes) -> Iterator[Problem]:
    weights, free = offered
    if quota.theme is not None and not weights.get(quota.theme):
        yield Problem(f"{key}.theme", f"{quota.theme!r} does not occur; give it a weight in story.themes")
        return
    themes = list(free) if quota.theme is None else [quota.theme]
    for action in quota.actions:
        if not any(_weight(story, library, theme, action) for theme in themes):
            where = f"the theme {quota.theme!r}" if quota.theme else "any theme that may occur without a cap"
            yield Problem(f"{key}.actions", f"{action!r} does not occur in {where}; choose another theme, or raise its weight")


def _action_problems(key: str, quota: Quota, library: Library) -> Iterator[Problem]:
    for name in quota.actions:
        action = library.action(name)
        if quota.side is not None and not action.sided:
            yield Problem(f"{key}.side", f"{name!r} has no side; leave the side out, or the action")
        if quota.speed is not None and (action.gait is None or action.speed is None):
            yield Problem(f"{key}.speed", f"{name!r} is no way of going; leave the speed out, or the action")


def _meeting_problems(key: str, quota: Quota, story: Story, quotas: Quotas, library: Library) -> Iterator[Problem]:
    """Find why two people could not meet as a quota wants them to."""
    if not quota.interactions:
        return
    if story.actors.max < 2:
        yield Problem(f"{key}.interactions", "need two people; set story.actors.max to 2 or more")
    capped = _capped(quotas, "action")
    for name in quota.interactions:
        if not library.interactions[name].weight * story.interactions.weights.get(name, 1.0):
            yield Problem(f"{key}.interactions", f"{name!r} does not occur; give it a weight in story.interactions.weights")
        barred = next((action for action in done_by_who_meets(library.interactions[name]) if action in capped), None)
        if barred is not None:
            text = f"{name!r} may have people {barred!r}, which is capped under quotas.caps; cap another action"
            yield Problem(f"{key}.interactions", text)


def done_by_who_meets(interaction: Interaction) -> tuple[str, ...]:
    """Give the actions that may be done in a sample with an interaction: its own, and what leads to it and away."""
    return tuple(dict.fromkeys((*interaction.actions, *COMING_AND_GOING)))

"""Quotas: the content required of each sample, so that the numbers over all samples are exact.

The quotas divide the numbers 0 to T - 1 into consecutive ranges (cells). A keyed permutation maps the index of a sample to one
of these numbers, so that a sample depends on no other sample and every range of samples contains a mixture. For each cap,
another permutation selects the samples that may show the capped content; the others cannot draw such an action, theme or
person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from posegen.config.load import actions_around
from posegen.config.schema import Cap, Config, Quota, Quotas
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, permuted
from posegen.foundations.scene import BOTH, LEFT, NOTHING, RIGHT, Persons
from posegen.library.load import Library
from posegen.planning.interactions import bodies_fit, longest_least
from posegen.planning.population import Candidates, persons
from posegen.planning.repertoire import NO_GAIT, repertoire
from posegen.planning.track import speed_limits

SEARCHED_PERSONS = 100_000
"""Number of persons among which the persons of a quota are searched, to bound the time."""
_TRIED, _LEAST_FITTING = 300, 0.3
"""Number of tested actors, and the smallest share of pairs whose bodies fit. With less, many samples need several attempts."""
_SIDES = {None: BOTH, "left": LEFT, "right": RIGHT}


@dataclass(frozen=True)
class Cell:
    """Samples with the same requirements: their number, the key of their quota, the quota, and their part of it.

    The shares in `quota` are 0 or 1 here. It asks for nothing in samples that are drawn by the weights only.
    """

    samples: int
    key: str
    quota: Quota
    action: int = NOTHING
    interaction: int = NOTHING


_FREE = Cell(0, "", Quota(samples=1))
"""Samples without a quota."""


@dataclass(frozen=True)
class Allotment:
    """Requirements of n samples.

    Attributes
    ----------
    action, side : int [n]
        NOTHING and BOTH mean no requirement.
    interaction : int [n]
        Index into the library's interactions; NOTHING: drawn by the weights.
    slow, fast : float [n]
        Limits of the speed of that action in metres per second; 0 without limits.
    theme : int [n]
        NOTHING: no requirement.
    actions, themes, interactions : bool [n, actions], bool [n, themes], bool [n, interactions]
        Which may occur.
    candidates : Candidates, or None for all persons
        See :func:`posegen.planning.population.cast`.
    """

    action: Array
    interaction: Array
    side: Array
    slow: Array
    fast: Array
    theme: Array
    actions: Array
    themes: Array
    interactions: Array
    candidates: Candidates | None


def check_quotas(config: Config, library: Library) -> None:
    """Check that the actions and the population of a config can meet its quotas.

    Raises
    ------
    UsageError
        With the key, the reason and the fix.
    """
    if config.quotas is not None:
        _prepared(config, library)


def allot(config: Config, library: Library, samples: Array) -> Allotment:
    """Return the requirements of samples; none for a config without quotas.

    Raises
    ------
    UsageError
        If a sample is beyond the total, or a requirement cannot be met.
    """
    quotas, prepared = config.quotas or Quotas.model_construct(), None
    cells: tuple[Cell, ...] = (_FREE,)
    cell = np.zeros(len(samples), np.int64)
    if config.quotas is not None:
        if (last := samples.max(initial=-1)) >= quotas.total:
            raise UsageError(f"sample {last} does not exist: the quotas define {quotas.total:,} samples; raise quotas.samples")
        prepared, positions = _prepared(config, library), permuted(config.seed, samples, quotas.total, Stream.QUOTA)
        cells = prepared.cells
        cell = np.searchsorted(np.cumsum([one.samples for one in cells]), positions, side="right")
    parts, themes = [cell.quota for cell in cells], list(library.themes)
    columns: dict[str, list[float]] = {
        "action": [cell.action for cell in cells],
        "interaction": [cell.interaction for cell in cells],
        "side": [_SIDES[part.side] for part in parts],
        "slow": [part.speed.min if part.speed else 0.0 for part in parts],
        "fast": [part.speed.max if part.speed else 0.0 for part in parts],
        "theme": [themes.index(part.theme) if part.theme else NOTHING for part in parts],
    }
    asked = {name: np.array(values)[cell] for name, values in columns.items()}
    named = {"action": list(library.actions), "theme": themes, "interaction": list(library.interactions)}
    may = {kind: np.ones((len(samples), len(names)), bool) for kind, names in named.items()}
    excluded = np.zeros((len(quotas.caps), len(samples)), bool)
    for number, cap in enumerate(quotas.caps):
        # Samples that must show the capped content count first; the permutation of the cap selects the others.
        others = cap.samples - quotas.exact_within(cap)
        excluded[number] = permuted(config.seed, samples, quotas.total, Stream.QUOTA, 1 + number) >= others
        for kind, names in named.items():
            if getattr(cap, kind) is not None:
                capped = names.index(getattr(cap, kind))
                may[kind][excluded[number] & (asked[kind] != capped), capped] = False
        # Interactions that may include a capped action are excluded, too.
        using = [cap.action in actions_around(each) for each in library.interactions.values()]
        may["interaction"][np.ix_(excluded[number], using)] = False
    candidates = None if prepared is None else list(_candidates(prepared, cell, excluded))
    return Allotment(**asked, **{f"{kind}s": own for kind, own in may.items()}, candidates=candidates)


def _candidates(prepared: _Prepared, cell: Array, excluded: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Group samples with the same candidates."""
    together: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    caps = _of_people(prepared.quotas)
    for row, number in enumerate(cell.tolist()):
        together.setdefault((number, tuple(cap for cap in caps if excluded[cap, row])), []).append(row)
    for (number, person_caps), rows in together.items():
        yield np.array(rows), *prepared.pools(number, person_caps)


@dataclass(frozen=True)
class _Prepared:
    """Prepared quotas of a config: the cells, the population, and the candidates found so far."""

    quotas: Quotas
    library: Library
    most_actors: int
    cells: tuple[Cell, ...]
    people: Persons
    found: dict[tuple[int, tuple[int, ...]], tuple[Array, Array]]

    def pools(self, number: int, caps: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the persons who may be the first actor of a cell's samples, and any actor, if some caps exclude persons."""
        if (number, caps) not in self.found:
            cell, free = self.cells[number], np.ones(len(self.people.index), bool)
            for cap in (self.quotas.caps[index] for index in caps):
                free &= ~_matches(self.people, self.library, cap)
            first, others = np.flatnonzero(free & _matches(self.people, self.library, cell.quota)), np.flatnonzero(free)
            if len(others) < self.most_actors:
                left = f"{len(others):,} persons for the remaining samples"
                raise UsageError(f"quotas.caps: leave {left}, and {self.most_actors} are cast; raise a cap")
            if len(first) == 0:
                asked = f"{_description(cell.quota)}, but none of {len(free):,} persons matches"
                raise UsageError(f"{cell.key}: asks for {asked}; change it, or population")
            self.found[number, caps] = first, others
        return self.found[number, caps]


def _matches(people: Persons, library: Library, asked: Quota | Cap) -> Array:
    """Return which persons are as described; None allows all."""
    matches = np.ones(len(people.index), bool)
    if asked.style is not None:
        matches &= people.style == list(library.styles).index(asked.style)
    if asked.age is not None:
        matches &= (people.age >= asked.age.min) & (people.age <= asked.age.max)
    if asked.left_handed is not None:
        matches &= people.left_handed == asked.left_handed
    if asked.female is not None:
        matches &= people.male != asked.female
    return matches


def _description(quota: Quota) -> str:
    age = None if quota.age is None else f"{quota.age.min:g} to {quota.age.max:g}"
    terms = {"style": quota.style, "age": age, "left_handed": quota.left_handed, "female": quota.female}
    return ", ".join(f"{name} {str(value).lower()}" for name, value in terms.items() if value is not None)


def _prepared(config: Config, library: Library) -> _Prepared:
    return _prepare(config.model_dump_json(exclude={"name", "samples", "workers", "store"}), library)


@lru_cache(maxsize=8)
def _prepare(settings: str, library: Library) -> _Prepared:
    # Cached, since finding candidates takes longer than planning. The size is bounded, as a process may use many configs.
    config = Config.model_validate_json(settings)
    quotas = config.quotas or Quotas()
    people = persons(config, library, np.arange(min(config.population.persons, SEARCHED_PERSONS)))
    prepared = _Prepared(quotas, library, config.story.actors.max, tuple(_cells(quotas, library)), people, {})
    seconds = (config.frames if config.length is None else config.length.min) / config.fps
    for number, cell in enumerate(prepared.cells):
        _check_action(cell, library, seconds)
        _check_interaction(cell, library, seconds, people, *prepared.pools(number, _of_people(quotas)))
    return prepared


def _of_people(quotas: Quotas) -> tuple[int, ...]:
    """Return the numbers of the caps on persons."""
    return tuple(i for i, cap in enumerate(quotas.caps) if cap.action is cap.interaction is cap.theme is None)


def _cells(quotas: Quotas, library: Library) -> Iterator[Cell]:
    for number, quota in enumerate(quotas.exact):
        required = [(library.index(name), NOTHING) for name in quota.actions]
        required += [(NOTHING, list(library.interactions).index(name)) for name in quota.interactions]
        for action, interaction in required or [(NOTHING, NOTHING)]:
            for hand, hand_share in _split(quota.left_handed):
                for sex, sex_share in _split(quota.female):
                    samples = round(quota.samples * hand_share * sex_share)
                    if samples:
                        part = quota.model_copy(update={"left_handed": hand, "female": sex})
                        yield Cell(samples, f"quotas.exact[{number}]", part, action, interaction)
    if quotas.total > quotas.exact_samples:
        yield replace(_FREE, samples=quotas.total - quotas.exact_samples)


def _split(share: float | None) -> Iterable[tuple[bool | None, float]]:
    return [(None, 1.0)] if share is None else [(True, share), (False, 1.0 - share)]


def _check_action(cell: Cell, library: Library, seconds: float) -> None:
    if cell.action == NOTHING:
        return
    known, name, speed = repertoire(library), library.actions[cell.action], cell.quota.speed
    _check_time(f"{cell.key}.actions: {name!r} takes", known.shortest[cell.action], seconds)
    if speed is not None and known.gait[cell.action] != NO_GAIT:
        slow, fast = (float(limit) for limit in speed_limits(known, np.array(cell.action)))
        if not slow <= speed.min <= speed.max <= fast:
            asked, known_range = f"{speed.min:g} to {speed.max:g} m/s", f"{slow:.2f} to {fast:.2f} m/s"
            raise UsageError(f"{cell.key}.speed: {asked} is not within the range of {name!r}, {known_range}; narrow it")


def _check_time(what: str, needed: float, seconds: float) -> None:
    if needed > seconds:
        raise UsageError(f"{what} {needed:.1f} s, and a clip may last {seconds:.1f} s; raise frames or length.min")


def _check_interaction(cell: Cell, library: Library, seconds: float, people: Persons, first: Array, others: Array) -> None:
    if cell.interaction == NOTHING:
        return
    name, interaction = list(library.interactions.items())[cell.interaction]
    _check_time(f"{cell.key}.interactions: {name!r} may take", longest_least(interaction, repertoire(library)), seconds)
    sizes = (people.stature * people.legs).astype(np.float64)
    pairs = np.stack(np.meshgrid(sizes[first[:_TRIED]], sizes[others[:_TRIED]], indexing="ij"), axis=-1)
    fitting = bodies_fit(interaction, pairs).mean()
    if fitting < _LEAST_FITTING:
        share = f"{fitting:.0%} of the possible pairs of persons have bodies that fit for {name!r}"
        raise UsageError(f"{cell.key}.interactions: {share}; change the quota, or population")

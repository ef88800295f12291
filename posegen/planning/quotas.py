"""Quotas: the content required of each sample, so that the numbers over all samples are exact.

The quotas divide the numbers 0 to T - 1 into consecutive ranges (cells). A keyed permutation maps the index of a sample to one
of these numbers, so that a sample depends on no other sample and every range of samples contains a mixture. For each cap,
another permutation selects the samples that may show the capped content; the others cannot draw such an action, theme or
person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.quotas import actions_around
from posegen.config.schema import Cap, Config, Quota, Quotas
from posegen.errors import UsageError
from posegen.library.load import Library
from posegen.planning.interactions import bodies_fit, longest_least
from posegen.planning.population import Candidates, persons
from posegen.planning.repertoire import NO_GAIT, repertoire
from posegen.planning.segments import speed_limits
from posegen.randomness import Stream, permuted
from posegen.scene import BOTH, LEFT, NOTHING, RIGHT, Persons

Array = NDArray[Any]

SEARCHED_PERSONS = 100_000
"""Number of persons among which the persons of a quota are searched, to bound the time."""
_AT_ONCE = 10_000
_TRIED, _LEAST_FITTING = 300, 0.3
"""Number of tested actors, and the smallest share of pairs whose bodies fit. With less, five attempts may find none."""
_SIDES = {None: BOTH, "left": LEFT, "right": RIGHT}


@dataclass(frozen=True)
class Cell:
    """Samples with the same requirements: their number, their quota with its key, and their part of it.

    `quota` is None for samples that are drawn by the weights only.
    """

    samples: int
    key: str = ""
    quota: Quota | None = None
    action: int = NOTHING
    interaction: int = NOTHING
    left_handed: bool | None = None
    female: bool | None = None


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
        -1: no requirement.
    actions, themes, interactions : bool [n, actions], bool [n, themes], bool [n, interactions]
        Which may occur.
    candidates : Candidates
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
    candidates: Candidates


def check_quotas(config: Config, library: Library) -> None:
    """Check that the actions and the population of a config can meet its quotas.

    Raises
    ------
    UsageError
        With the key, the reason and the fix.
    """
    if config.quotas is not None:
        _prepare(config, config.quotas, library)


def allot(config: Config, library: Library, samples: Array) -> Allotment | None:
    """Return the requirements of samples; None for a config without quotas.

    Raises
    ------
    UsageError
        If a sample is beyond the total, or a requirement cannot be met.
    """
    quotas = config.quotas
    if quotas is None:
        return None
    if samples.size and samples.max() >= quotas.total:
        msg = f"sample {samples.max()} does not exist: the quotas are of {quotas.total:,} samples; raise quotas.samples"
        raise UsageError(msg)
    prepared = _prepare(config, quotas, library)
    positions = permuted(config.seed, samples, quotas.total, Stream.QUOTA)
    cell = np.searchsorted(prepared.ends, positions, side="right")
    columns = prepared.columns(cell)
    excluded = np.zeros((len(quotas.caps), len(samples)), bool)
    actions = np.ones((len(samples), len(library.actions)), bool)
    themes = np.ones((len(samples), len(library.themes)), bool)
    interactions = np.ones((len(samples), len(library.interactions)), bool)
    for number, cap in enumerate(quotas.caps):
        # Samples that must show the capped content count first; the permutation of the cap selects the others.
        others = cap.samples - quotas.exact_within(cap)
        excluded[number] = permuted(config.seed, samples, quotas.total, Stream.QUOTA, 1 + number) >= others
        if cap.action is not None:
            action = library.index(cap.action)
            actions[excluded[number] & (columns["action"] != action), action] = False
            # Interactions that may include the capped action are excluded, too.
            using = [cap.action in actions_around(each) for each in library.interactions.values()]
            interactions[np.ix_(excluded[number], using)] = False
        if cap.interaction is not None:
            interaction = list(library.interactions).index(cap.interaction)
            interactions[excluded[number] & (columns["interaction"] != interaction), interaction] = False
        if cap.theme is not None:
            theme = list(library.themes).index(cap.theme)
            themes[excluded[number] & (columns["theme"] != theme), theme] = False
    return Allotment(
        **columns,
        actions=actions,
        themes=themes,
        interactions=interactions,
        candidates=list(_candidates(prepared, cell, excluded)),
    )


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
    """Prepared quotas of a config: the cells, their ends, the population, and the candidates found so far."""

    config: Config
    quotas: Quotas
    library: Library
    cells: tuple[Cell, ...]
    ends: Array
    people: tuple[Persons, ...]
    found: dict[tuple[int, tuple[int, ...]], tuple[Array, Array]]

    def columns(self, cell: Array) -> dict[str, Array]:
        """Return the requirements of samples of these cells, by the names of :class:`Allotment`."""
        quotas = [one.quota for one in self.cells]
        speeds = [quota.speed if quota else None for quota in quotas]
        themes = list(self.library.themes)
        columns = {
            "action": [one.action for one in self.cells],
            "interaction": [one.interaction for one in self.cells],
            "side": [_SIDES[quota.side if quota else None] for quota in quotas],
            "slow": [speed.min if speed else 0.0 for speed in speeds],
            "fast": [speed.max if speed else 0.0 for speed in speeds],
            "theme": [themes.index(quota.theme) if quota and quota.theme else -1 for quota in quotas],
        }
        return {name: np.array(values)[cell] for name, values in columns.items()}

    def pools(self, number: int, caps: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the persons who may be the first actor of a cell's samples, and any actor, if some caps exclude persons."""
        if (number, caps) not in self.found:
            cell, person_caps = self.cells[number], [self.quotas.caps[cap] for cap in caps]
            free = np.concatenate([~_excluded(person_caps, part, self.library) for part in self.people])
            fits = np.concatenate([_fits(cell, part, self.library) for part in self.people])
            self.found[number, caps] = np.flatnonzero(free & fits), np.flatnonzero(free)
            self._check(cell, *self.found[number, caps])
        return self.found[number, caps]

    def _check(self, cell: Cell, first: Array, others: Array) -> None:
        most = self.config.story.actors.max
        if len(others) < most:
            msg = f"quotas.caps: leave {len(others):,} persons for the remaining samples, and {most} are cast; raise a cap"
            raise UsageError(msg)
        if len(first) == 0:
            count = sum(len(part.index) for part in self.people)
            msg = f"{cell.key}: asks for {_description(cell)}, but none of {count:,} persons matches; change it, or population"
            raise UsageError(msg)


def _description(cell: Cell) -> str:
    terms = [] if cell.quota is None or cell.quota.style is None else [f"style {cell.quota.style}"]
    if cell.quota is not None and cell.quota.age is not None:
        terms.append(f"age {cell.quota.age.min:g} to {cell.quota.age.max:g}")
    for name, value in (("left_handed", cell.left_handed), ("female", cell.female)):
        if value is not None:
            terms.append(f"{name} {str(value).lower()}")
    return ", ".join(terms)


_PREPARED: dict[tuple[str, int], _Prepared] = {}
_MOST_PREPARED = 8


def _prepare(config: Config, quotas: Quotas, library: Library) -> _Prepared:
    # Cached, since finding candidates takes longer than planning. The size is bounded, as a process may use many configs.
    key = (config.model_dump_json(exclude={"name", "samples", "workers", "store"}), id(library))
    if key not in _PREPARED:
        cells = tuple(_cells(quotas, library))
        most = min(config.population.persons, SEARCHED_PERSONS)
        people = tuple(
            persons(config, library, np.arange(start, min(start + _AT_ONCE, most))) for start in range(0, most, _AT_ONCE)
        )
        prepared = _Prepared(config, quotas, library, cells, np.cumsum([cell.samples for cell in cells]), people, {})
        for number, cell in enumerate(cells):
            _check_action(config, library, cell)
            _check_interaction(config, library, cell, prepared.people, *prepared.pools(number, _of_people(quotas)))
        while len(_PREPARED) >= _MOST_PREPARED:
            _PREPARED.pop(next(iter(_PREPARED)))
        _PREPARED[key] = prepared
    return _PREPARED[key]


def _of_people(quotas: Quotas) -> tuple[int, ...]:
    """Return the numbers of the caps on persons."""
    named = [cap.action is None and cap.interaction is None and cap.theme is None for cap in quotas.caps]
    return tuple(np.flatnonzero(named).tolist())


def _cells(quotas: Quotas, library: Library) -> Iterator[Cell]:
    for number, quota in enumerate(quotas.exact):
        hands, sexes = _split(quota.left_handed), _split(quota.female)
        required = [(library.index(name), NOTHING) for name in quota.actions]
        required += [(NOTHING, list(library.interactions).index(name)) for name in quota.interactions]
        for action, interaction in required or [(NOTHING, NOTHING)]:
            for hand, hand_share in hands:
                for sex, sex_share in sexes:
                    samples = round(quota.samples * hand_share * sex_share)
                    if samples:
                        yield Cell(samples, f"quotas.exact[{number}]", quota, action, interaction, hand, sex)
    if quotas.total > quotas.exact_samples:
        yield Cell(quotas.total - quotas.exact_samples)


def _split(share: float | None) -> list[tuple[bool | None, float]]:
    return [(None, 1.0)] if share is None else [(True, share), (False, 1.0 - share)]


def _none(people: Persons) -> Array:
    return np.zeros(len(people.index), bool)


def _excluded(caps: list[Cap], people: Persons, library: Library) -> Array:
    """Return whether any of the caps covers each person."""
    excluded = _none(people)
    for cap in caps:
        if cap.style is not None:
            excluded |= people.style == list(library.styles).index(cap.style)
        if cap.age is not None:
            excluded |= (people.age >= cap.age.min) & (people.age <= cap.age.max)
        if cap.left_handed is not None:
            excluded |= people.left_handed == cap.left_handed
        if cap.female is not None:
            excluded |= people.male != cap.female
    return excluded


def _fits(cell: Cell, people: Persons, library: Library) -> Array:
    fits = ~_none(people)
    quota = cell.quota
    if quota is not None and quota.style is not None:
        fits &= people.style == list(library.styles).index(quota.style)
    if quota is not None and quota.age is not None:
        fits &= (people.age >= quota.age.min) & (people.age <= quota.age.max)
    if cell.left_handed is not None:
        fits &= people.left_handed == cell.left_handed
    if cell.female is not None:
        fits &= people.male != cell.female
    return fits


def _check_action(config: Config, library: Library, cell: Cell) -> None:
    if cell.quota is None or cell.action == NOTHING:
        return
    known, action = repertoire(library), cell.action
    name = library.actions[action]
    seconds = _shortest_clip(config)
    if known.shortest[action] > seconds:
        taken = known.shortest[action]
        msg = (
            f"{cell.key}.actions: {name!r} takes {taken:.1f} s, and a clip may last {seconds:.1f} s; raise frames or length.min"
        )
        raise UsageError(msg)
    speed = cell.quota.speed
    if speed is not None and known.gait[action] != NO_GAIT:
        slow, fast = (float(limit) for limit in speed_limits(known, np.array(action)))
        if not slow <= speed.min <= speed.max <= fast:
            msg = (
                f"{cell.key}.speed: {speed.min:g} to {speed.max:g} m/s is not within the range of {name!r}, "
                f"{slow:.2f} to {fast:.2f} m/s; narrow it, or choose another action"
            )
            raise UsageError(msg)


def _check_interaction(
    config: Config, library: Library, cell: Cell, people: tuple[Persons, ...], first: Array, others: Array
) -> None:
    if cell.interaction == NOTHING:
        return
    name, interaction = list(library.interactions.items())[cell.interaction]
    needed, seconds = longest_least(interaction, repertoire(library)), _shortest_clip(config)
    if needed > seconds:
        msg = (
            f"{cell.key}.interactions: {name!r} may take {needed:.1f} s, and a clip may last {seconds:.1f} s; "
            "raise frames or length.min"
        )
        raise UsageError(msg)
    sizes = np.concatenate([part.stature * part.legs for part in people]).astype(np.float64)
    some, partners = sizes[first[:_TRIED]], sizes[others[:_TRIED]]
    pairs = np.stack(np.broadcast_arrays(some[:, None], partners[None]), axis=-1)
    fitting = bodies_fit(interaction, pairs).mean()
    if fitting < _LEAST_FITTING:
        msg = (
            f"{cell.key}.interactions: {fitting:.0%} of the possible pairs of persons have bodies that fit for {name!r}; "
            "change the quota, or population"
        )
        raise UsageError(msg)


def _shortest_clip(config: Config) -> float:
    return (config.frames if config.length is None else config.length.min) / config.fps

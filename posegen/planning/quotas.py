"""Quotas: which sample shows what, so that the amounts of all samples together are exact.

The amounts are laid end to end over the numbers 0 to T - 1. A sample finds its own by a keyed permutation of its index, so that
it needs no other sample for it, and every stretch of samples has a mix of all. For each cap, a permutation of its own tells
which samples may show what is capped; the others have no such action, theme or person to choose from.
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
from posegen.library import Library
from posegen.permutation import permuted
from posegen.planning.casting import People
from posegen.planning.choosing import speed_limits
from posegen.planning.meeting import bodies_fit, longest_least
from posegen.planning.population import persons
from posegen.planning.repertoire import NO_GAIT, repertoire
from posegen.randomness import Stream
from posegen.scene import BOTH, LEFT, NOTHING, RIGHT, Persons

__all__ = ["Allotment", "allot", "check_quotas"]

Array = NDArray[Any]

LOOKED_AT = 100_000
"""Among so many persons those that a quota wants are looked for: more take too long."""
_AT_ONCE = 10_000
_TRIED, _LEAST_FITTING = 300, 0.3
"""Of so many first and other actors, the least share of pairs whose bodies fit: less would not be found in five attempts."""
_SIDES = {None: BOTH, "left": LEFT, "right": RIGHT}


@dataclass(frozen=True)
class Cell:
    """Samples that are to show the same: how many, the quota they are of and its key, and what of it they show.

    `quota` is None for samples that are drawn by the weights alone.
    """

    samples: int
    key: str = ""
    quota: Quota | None = None
    action: int = NOTHING
    meeting: int = NOTHING
    left_handed: bool | None = None
    female: bool | None = None


@dataclass(frozen=True)
class Allotment:
    """What n samples are to show.

    Attributes
    ----------
    action, side : int [n]
        NOTHING, or BOTH, where anything will do.
    meeting : int [n]
        Index into the library's interactions: what the first two do with one another; NOTHING where the weights say.
    slow, fast : float [n]
        Metres a second of that action; 0 where any speed will do.
    theme : int [n]
        -1 where any theme will do.
    actions, themes, meetings : bool [n, actions], bool [n, themes], bool [n, interactions]
        Which may occur.
    people : People
        See :mod:`posegen.planning.casting`.
    """

    action: Array
    meeting: Array
    side: Array
    slow: Array
    fast: Array
    theme: Array
    actions: Array
    themes: Array
    meetings: Array
    people: People


def check_quotas(config: Config, library: Library) -> None:
    """Refuse quotas that the actions and the people of a config cannot meet.

    Raises
    ------
    UsageError
        With the key, the reason and what to do.
    """
    if config.quotas is not None:
        _book_of(config, config.quotas, library)


def allot(config: Config, library: Library, samples: Array) -> Allotment | None:
    """Find what samples are to show; None for a config without quotas.

    Raises
    ------
    UsageError
        If a sample is beyond the total, or what it is to show cannot be met.
    """
    quotas = config.quotas
    if quotas is None:
        return None
    if samples.size and samples.max() >= quotas.total:
        msg = f"sample {samples.max()} does not exist: the quotas are of {quotas.total:,} samples; raise quotas.samples"
        raise UsageError(msg)
    book = _book_of(config, quotas, library)
    places = permuted(config.seed, samples, quotas.total, Stream.QUOTA)
    cell = np.searchsorted(book.ends, places, side="right")
    columns = book.columns(cell)
    barred = np.zeros((len(quotas.caps), len(samples)), bool)
    actions = np.ones((len(samples), len(library.actions)), bool)
    themes = np.ones((len(samples), len(library.themes)), bool)
    meetings = np.ones((len(samples), len(library.interactions)), bool)
    for number, cap in enumerate(quotas.caps):
        # Samples that are to show it count first; the cap's own permutation tells which others may.
        others = cap.samples - quotas.exact_within(cap)
        barred[number] = permuted(config.seed, samples, quotas.total, Stream.QUOTA, 1 + number) >= others
        if cap.action is not None:
            action = library.index(cap.action)
            actions[barred[number] & (columns["action"] != action), action] = False
            # Who may not do what a meeting may have people do does not meet so.
            using = [cap.action in actions_around(each) for each in library.interactions.values()]
            meetings[np.ix_(barred[number], using)] = False
        if cap.interaction is not None:
            meeting = list(library.interactions).index(cap.interaction)
            meetings[barred[number] & (columns["meeting"] != meeting), meeting] = False
        if cap.theme is not None:
            theme = list(library.themes).index(cap.theme)
            themes[barred[number] & (columns["theme"] != theme), theme] = False
    return Allotment(**columns, actions=actions, themes=themes, meetings=meetings, people=list(_people(book, cell, barred)))


def _people(book: _Book, cell: Array, barred: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Bring samples with the same choice of persons together."""
    together: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    caps = _of_people(book.quotas)
    for row, number in enumerate(cell.tolist()):
        together.setdefault((number, tuple(cap for cap in caps if barred[cap, row])), []).append(row)
    for (number, barring), rows in together.items():
        yield np.array(rows), *book.pools(number, barring)


@dataclass(frozen=True)
class _Book:
    """A config's quotas, made ready: the cells, where they end, the population, and the persons found so far."""

    config: Config
    quotas: Quotas
    library: Library
    cells: tuple[Cell, ...]
    ends: Array
    people: tuple[Persons, ...]
    found: dict[tuple[int, tuple[int, ...]], tuple[Array, Array]]

    def columns(self, cell: Array) -> dict[str, Array]:
        """What samples want, by the names of :class:`Allotment`, if they are of these cells."""
        quotas = [one.quota for one in self.cells]
        speeds = [quota.speed if quota else None for quota in quotas]
        themes = list(self.library.themes)
        columns = {
            "action": [one.action for one in self.cells],
            "meeting": [one.meeting for one in self.cells],
            "side": [_SIDES[quota.side if quota else None] for quota in quotas],
            "slow": [speed.min if speed else 0.0 for speed in speeds],
            "fast": [speed.max if speed else 0.0 for speed in speeds],
            "theme": [themes.index(quota.theme) if quota and quota.theme else -1 for quota in quotas],
        }
        return {name: np.array(values)[cell] for name, values in columns.items()}

    def pools(self, number: int, caps: tuple[int, ...]) -> tuple[Array, Array]:
        """Numbers of the persons who may be the first actor of a cell's samples, and any actor, where some caps bar them."""
        if (number, caps) not in self.found:
            cell, barring = self.cells[number], [self.quotas.caps[cap] for cap in caps]
            free = np.concatenate([~_barred(barring, part, self.library) for part in self.people])
            fits = np.concatenate([_fits(cell, part, self.library) for part in self.people])
            self.found[number, caps] = np.flatnonzero(free & fits), np.flatnonzero(free)
            self._check(cell, *self.found[number, caps])
        return self.found[number, caps]

    def _check(self, cell: Cell, first: Array, others: Array) -> None:
        most = self.config.story.actors.max
        if len(others) < most:
            msg = f"quotas.caps: leave {len(others):,} persons for the samples beyond them, and {most} are cast; lift a cap"
            raise UsageError(msg)
        if len(first) == 0:
            there = sum(len(part.index) for part in self.people)
            msg = f"{cell.key}: asks for {_who(cell)}, which none of {there:,} persons is; ask for others, or change population"
            raise UsageError(msg)


def _who(cell: Cell) -> str:
    told = [] if cell.quota is None or cell.quota.style is None else [f"style {cell.quota.style}"]
    if cell.quota is not None and cell.quota.age is not None:
        told.append(f"age {cell.quota.age.min:g} to {cell.quota.age.max:g}")
    for name, value in (("left_handed", cell.left_handed), ("female", cell.female)):
        if value is not None:
            told.append(f"{name} {str(value).lower()}")
    return ", ".join(told)


_BOOKS: dict[tuple[str, int], _Book] = {}
_MOST_BOOKS = 8


def _book_of(config: Config, quotas: Quotas, library: Library) -> _Book:
    # Kept, since finding people takes longer than planning: but few of them, as a process may see many configs.
    key = (config.model_dump_json(exclude={"name", "samples", "workers", "store"}), id(library))
    if key not in _BOOKS:
        cells = tuple(_cells(quotas, library))
        most = min(config.population.persons, LOOKED_AT)
        people = tuple(
            persons(config, library, np.arange(start, min(start + _AT_ONCE, most))) for start in range(0, most, _AT_ONCE)
        )
        book = _Book(config, quotas, library, cells, np.cumsum([cell.samples for cell in cells]), people, {})
        for number, cell in enumerate(cells):
            _check_action(config, library, cell)
            _check_meeting(config, library, cell, book.people, *book.pools(number, _of_people(quotas)))
        while len(_BOOKS) >= _MOST_BOOKS:
            _BOOKS.pop(next(iter(_BOOKS)))
        _BOOKS[key] = book
    return _BOOKS[key]


def _of_people(quotas: Quotas) -> tuple[int, ...]:
    """Numbers of the caps that are of persons."""
    named = [cap.action is None and cap.interaction is None and cap.theme is None for cap in quotas.caps]
    return tuple(np.flatnonzero(named).tolist())


def _cells(quotas: Quotas, library: Library) -> Iterator[Cell]:
    for number, quota in enumerate(quotas.exact):
        hands, sexes = _split(quota.left_handed), _split(quota.female)
        wanted = [(library.index(name), NOTHING) for name in quota.actions]
        wanted += [(NOTHING, list(library.interactions).index(name)) for name in quota.interactions]
        for action, meeting in wanted or [(NOTHING, NOTHING)]:
            for hand, hand_share in hands:
                for sex, sex_share in sexes:
                    samples = round(quota.samples * hand_share * sex_share)
                    if samples:
                        yield Cell(samples, f"quotas.exact[{number}]", quota, action, meeting, hand, sex)
    if quotas.total > quotas.exact_samples:
        yield Cell(quotas.total - quotas.exact_samples)


def _split(share: float | None) -> list[tuple[bool | None, float]]:
    return [(None, 1.0)] if share is None else [(True, share), (False, 1.0 - share)]


def _nobody(people: Persons) -> Array:
    return np.zeros(len(people.index), bool)


def _barred(caps: list[Cap], people: Persons, library: Library) -> Array:
    """Whether any of some caps is of each person."""
    barred = _nobody(people)
    for cap in caps:
        if cap.style is not None:
            barred |= people.style == list(library.styles).index(cap.style)
        if cap.age is not None:
            barred |= (people.age >= cap.age.min) & (people.age <= cap.age.max)
        if cap.left_handed is not None:
            barred |= people.left_handed == cap.left_handed
        if cap.female is not None:
            barred |= people.male != cap.female
    return barred


def _fits(cell: Cell, people: Persons, library: Library) -> Array:
    fits = ~_nobody(people)
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
                f"{cell.key}.speed: {speed.min:g} to {speed.max:g} m/s is not within what {name!r} ranges over, "
                f"{slow:.2f} to {fast:.2f} m/s; narrow it, or choose another action"
            )
            raise UsageError(msg)


def _check_meeting(
    config: Config, library: Library, cell: Cell, people: tuple[Persons, ...], first: Array, others: Array
) -> None:
    if cell.meeting == NOTHING:
        return
    name, interaction = list(library.interactions.items())[cell.meeting]
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
            f"{cell.key}.interactions: {fitting:.0%} of those who may be cast have bodies that fit one another for {name!r}; "
            "ask for others, or change population"
        )
        raise UsageError(msg)


def _shortest_clip(config: Config) -> float:
    return (config.frames if config.length is None else config.length.min) / config.fps

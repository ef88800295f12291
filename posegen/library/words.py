"""What the words of a language must be like, so that captions can be put together from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from posegen.errors import UsageError
from posegen.library.models import Action
from posegen.library.strict import Strict
from posegen.library.styles import Style
from posegen.validation import validated

__all__ = ["check_words"]

Text = Annotated[str, Field(max_length=500)]
Phrases = Annotated[list[Text], Field(min_length=1, max_length=100)]
Verbs = Annotated[list[tuple[Text, Text]], Field(min_length=1, max_length=100)]
"""Each as in [walks, walking]."""
Details = dict[str, Phrases]


class _People(Strict):
    person: Phrases
    boy: Phrases
    girl: Phrases
    man: Phrases
    woman: Phrases
    older_man: Phrases
    older_woman: Phrases


class _StyleWords(Strict):
    """Words of one style: who is of it, and how that one does things."""

    subjects: _People
    manner: Phrases


class _Possessives(Strict):
    person: Text
    boy: Text
    girl: Text
    man: Text
    woman: Text
    older_man: Text
    older_woman: Text


class _Several(Strict):
    one: Phrases
    other: Phrases
    numbered: Annotated[list[Text], Field(min_length=8, max_length=100)]
    intro: Text


class _Counts(Strict):
    once: Phrases
    twice: Phrases
    more: Phrases


_AND: Any = Field(alias="and")
_WHILE: Any = Field(alias="while")


class _Joining(Strict):
    then: Phrases
    and_: Text = _AND
    comma: Text
    while_: Phrases = _WHILE
    goes_on: Verbs
    meanwhile: Phrases
    nothing: Verbs


class _Narrative(Strict):
    open: Phrases
    placeless: Phrases
    next: Phrases
    last: Phrases
    people: Phrases


class _ActionWords(Strict):
    """Words of one action.

    `once` is for a single repetition, `finished` for where its end is shown, `during` for what is done meanwhile.
    `manner` says that the style may be told with it.
    """

    verbs: Verbs
    once: Verbs = Field(default_factory=list)
    finished: Verbs = Field(default_factory=list)
    during: Phrases = Field(default_factory=list)
    count: Annotated[bool, Field(strict=True)] = False
    manner: Annotated[bool, Field(strict=True)] = False
    side: Details = Field(default_factory=dict)
    direction: Details = Field(default_factory=dict)
    speed: Details = Field(default_factory=dict)
    path: Details = Field(default_factory=dict)


class _Words(Strict):
    language: Text
    details: list[Literal["side", "direction", "count", "speed", "path", "style"]]
    subjects: _People
    styles: dict[str, _StyleWords]
    again: _People
    their: _Possessives
    several: _Several
    numbers: list[Text]
    counts: _Counts
    joining: _Joining
    short: Phrases
    full: Phrases
    narrative: _Narrative
    places: dict[str, Phrases]
    actions: dict[str, _ActionWords]


def check_words(words: Mapping[str, Any], actions: Mapping[str, Action], styles: Mapping[str, Style], file: str) -> None:
    """Check that there are words for every action and style, and that captions can be made of them.

    Parameters
    ----------
    words : mapping
        As parsed, a user's merged into posegen's own.
    actions : mapping of str to Action
        All actions of the library.
    styles : mapping of str to Style
        All styles that have a name.
    file : str
        What messages name as the place.

    Raises
    ------
    UsageError
        With one line for each problem.
    """
    checked = validated(_Words, dict(words), lambda _key: f"{file}: ")
    known = checked.actions
    for name in sorted(styles):
        if name not in checked.styles:
            msg = f"{file}: styles.{name}: is missing; give the style `subjects` and `manner`, as the styles there have them"
            raise UsageError(msg)
    for name, action in actions.items():
        if name not in known:
            msg = f"{file}: actions.{name}: is missing; give the action words, such as {{verbs: [[nods, nodding]]}}"
            raise UsageError(msg)
        if action.support == "seat" and not known[name].during:
            msg = f"{file}: actions.{name}.during: is missing; what is done on a seat needs it, such as [while seated]"
            raise UsageError(msg)

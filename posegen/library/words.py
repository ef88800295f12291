"""The schema of ``words/*.yaml``, the words from which captions are composed, and the checks of its templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from posegen.errors import UsageError
from posegen.library.actions import Action
from posegen.library.styles import Style
from posegen.validation import StrictModel, validated
from posegen.wording import shown

Text = Annotated[str, Field(max_length=500)]
Phrases = Annotated[list[Text], Field(min_length=1, max_length=100)]
Details = dict[str, Phrases]
Detail = Literal["side", "direction", "count", "speed", "path", "style"]

_PLACEHOLDER = re.compile(r"\{(\w*)\}")


class _People(StrictModel):
    person: Phrases
    boy: Phrases
    girl: Phrases
    man: Phrases
    woman: Phrases
    older_man: Phrases
    older_woman: Phrases


class _StyleWords(StrictModel):
    """Words of one style: subjects with this style, and adverbs."""

    subjects: _People
    manner: Phrases


class _Possessives(StrictModel):
    person: Text
    boy: Text
    girl: Text
    man: Text
    woman: Text
    older_man: Text
    older_woman: Text


class _Alike(StrictModel):
    boy: Text
    girl: Text
    man: Text
    woman: Text
    older_man: Text
    older_woman: Text


class _Joint(StrictModel):
    """Sentences about both actors of an interaction: words for the {pair}, and templates; `then` is for later sentences."""

    pair: Phrases
    alike: _Alike
    unlike: Text
    short: Phrases
    story: Phrases
    then: Phrases
    after: Phrases


class _Several(StrictModel):
    one: Phrases
    other: Phrases
    numbered: Annotated[list[Text], Field(min_length=8, max_length=100)]
    partner: Phrases
    intro: Text
    joint: _Joint | None = None


class _Counts(StrictModel):
    once: Phrases
    twice: Phrases
    more: Phrases


_AND: Any = Field(alias="and")
_WHILE: Any = Field(alias="while")


class _Joining(StrictModel):
    then: Phrases
    and_: Text = _AND
    comma: Text
    while_: Phrases = _WHILE
    goes_on: Phrases
    meanwhile: Phrases
    nothing: Phrases


class _Tense(StrictModel):
    """Templates of a story in one tense: first sentence with and without a location, next and last; `again` has subjects."""

    open: Phrases
    placeless: Phrases
    next: Phrases
    last: Phrases
    again: _People


class _Narrative(StrictModel):
    tenses: Annotated[list[_Tense], Field(min_length=1, max_length=10)]
    people: Phrases


class _ActionWords(StrictModel):
    """Words of one action.

    `once` has verbs for a single repetition, `finished` for an action whose end is visible, `during` for a simultaneous action,
    `together` for an action with a {partner}; `speed_verbs` imply the speed. `manner` allows adverbs of the style. A `minor`
    action is left out of a short caption that has other actions.
    """

    verbs: Phrases
    once: list[Text] = Field(default_factory=list)
    finished: list[Text] = Field(default_factory=list)
    together: list[Text] = Field(default_factory=list)
    speed_verbs: Details = Field(default_factory=dict)
    during: list[Text] = Field(default_factory=list)
    count: Annotated[bool, Field(strict=True)] = False
    manner: Annotated[bool, Field(strict=True)] = False
    minor: Annotated[bool, Field(strict=True)] = False
    side: Details = Field(default_factory=dict)
    direction: Details = Field(default_factory=dict)
    speed: Details = Field(default_factory=dict)
    path: Details = Field(default_factory=dict)


class _Reading(StrictModel):
    """Words that are understood in text but not used in captions."""

    then: list[Text] = Field(default_factory=list)
    while_: list[Text] = Field(default_factory=list, alias="while")
    after: list[Text] = Field(default_factory=list)
    filler: list[Text] = Field(default_factory=list)
    their: list[Text] = Field(default_factory=list)
    subjects: dict[str, list[Text]] = Field(default_factory=dict)
    actions: dict[str, list[Text]] = Field(default_factory=dict)
    counted: dict[str, list[Text]] = Field(default_factory=dict)
    places: dict[str, list[Text]] = Field(default_factory=dict)
    details: dict[str, Details] = Field(default_factory=dict)


class _Words(StrictModel):
    language: Text
    forms: Annotated[list[Annotated[str, Field(pattern="^[a-z]{1,20}$")]], Field(min_length=1, max_length=10)]
    details: Annotated[list[list[Detail]], Field(min_length=1, max_length=10)]
    subjects: _People
    styles: dict[str, _StyleWords]
    their: _Possessives
    several: _Several
    numbers: list[Text]
    counts: _Counts
    joining: _Joining
    short: Phrases
    full: Phrases
    segment: Phrases
    narrative: _Narrative
    places: dict[str, Phrases]
    actions: dict[str, _ActionWords]
    interactions: dict[str, Phrases] = Field(default_factory=dict)
    reading: _Reading = Field(default_factory=_Reading)


def check_words(words: Mapping[str, Any], actions: Mapping[str, Action], styles: Mapping[str, Style], file: str) -> None:
    """Check that there are words for every action and style, and that the templates are valid.

    Parameters
    ----------
    words : mapping
        As parsed, with the user's words merged into posegen's.
    actions : mapping of str to Action
        All actions of the library.
    styles : mapping of str to Style
        All styles of files.
    file : str
        Name of the file in messages.

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
            msg = f"{file}: actions.{name}: is missing; give the action words, such as {{verbs: [{_example(checked.forms)}]}}"
            raise UsageError(msg)
        if action.support == "seat" and not known[name].during:
            msg = f"{file}: actions.{name}.during: is missing; an action on a seat needs it, such as [while seated]"
            raise UsageError(msg)
    for key_path, verb in _verbs(checked):
        _check_verb(f"{file}: {key_path}", verb, checked.forms)
    for i, text in enumerate(checked.joining.then):
        _check_joiner(f"{file}: joining.then[{i}]", text, checked.forms, required=False)
    for i, text in enumerate(checked.joining.while_):
        _check_joiner(f"{file}: joining.while[{i}]", text, checked.forms, required=True)
    for key_path, template, most in _templates(checked):
        _check_template(f"{file}: {key_path}", template, checked.forms, most)


def _check_joiner(key_path: str, text: str, forms: list[str], required: bool) -> None:
    placeholders = _PLACEHOLDER.findall(text)
    if (placeholders or required) and not (
        len(placeholders) == 1 and placeholders[0] in forms and text.endswith(f"{{{placeholders[0]}}}")
    ):
        msg = f"{key_path}: {shown(text)} must end in one of {{{'}, {'.join(forms)}}}{'' if required else ', or have none'}"
        raise UsageError(msg)


def _example(forms: list[str]) -> str:
    shapes = {"does": "nods", "doing": "nodding", "did": "nodded", "do": "nod"}
    return "|".join(shapes.get(form, form) for form in forms)


def _verbs(words: _Words) -> Iterator[tuple[str, str]]:
    for name, action in words.actions.items():
        lists = {"verbs": action.verbs, "once": action.once, "finished": action.finished, "together": action.together}
        lists |= {f"speed_verbs.{speed}": verbs for speed, verbs in action.speed_verbs.items()}
        yield from ((f"actions.{name}.{key}[{i}]", verb) for key, verbs in lists.items() for i, verb in enumerate(verbs))
    for name, verbs in words.interactions.items():
        yield from ((f"interactions.{name}[{i}]", verb) for i, verb in enumerate(verbs))
    for key, verbs in (("goes_on", words.joining.goes_on), ("nothing", words.joining.nothing)):
        yield from ((f"joining.{key}[{i}]", verb) for i, verb in enumerate(verbs))
    for key, read in (("actions", words.reading.actions), ("counted", words.reading.counted)):
        yield from ((f"reading.{key}.{name}[{i}]", verb) for name, verbs in read.items() for i, verb in enumerate(verbs))


def _check_verb(key_path: str, verb: str, forms: list[str]) -> None:
    for word in verb.split():
        if "|" in word and len(word.split("|")) != len(forms):
            msg = f"{key_path}: {shown(word)} must have the {len(forms)} forms {'|'.join(forms)}, such as {_example(forms)}"
            raise UsageError(msg)
    if len(forms) > 1 and "|" not in verb:
        msg = f"{key_path}: {shown(verb)} has no verb; give its forms {'|'.join(forms)}, such as {_example(forms)}"
        raise UsageError(msg)


def _templates(words: _Words) -> Iterator[tuple[str, str, int]]:
    """Yield the key of each template, the template, and the largest number of its verbs."""
    for key, templates in (("short", words.short), ("full", words.full)):
        yield from ((f"{key}[{i}]", template, 2) for i, template in enumerate(templates))
    for t, tense in enumerate(words.narrative.tenses):
        for key in ("open", "placeless"):
            yield from ((f"narrative.tenses[{t}].{key}[{i}]", text, 1) for i, text in enumerate(getattr(tense, key)))
    yield from ((f"segment[{i}]", template, 1) for i, template in enumerate(words.segment))
    if words.several.joint is not None:
        for key in ("short", "story", "then"):
            texts = getattr(words.several.joint, key)
            yield from ((f"several.joint.{key}[{i}]", text, 1) for i, text in enumerate(texts))


def _check_template(key_path: str, template: str, forms: list[str], most: int) -> None:
    verbs = [name for name in _PLACEHOLDER.findall(template) if name in forms]
    others = sorted({*_PLACEHOLDER.findall(template)} - {*forms, "subject", "place", "pair"})
    if others:
        msg = f"{key_path}: {{{others[0]}}} is unknown; there are {{subject}}, {{place}} and the forms {{{'}, {'.join(forms)}}}"
        raise UsageError(msg)
    if not 1 <= len(verbs) <= most:
        msg = f"{key_path}: {shown(template)} must have {'one' if most == 1 else 'one or two'} of {{{'}, {'.join(forms)}}}"
        raise UsageError(msg)

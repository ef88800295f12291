"""The schema of ``words/*.yaml``, the words from which captions are composed, and the checks of its templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo

from posegen.foundations.errors import UsageError
from posegen.foundations.validation import StrictModel, validated
from posegen.foundations.wording import hidden_character, shown
from posegen.library.schema import Action
from posegen.library.stories import Style

_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def _check_line(text: str) -> str:
    """Refuse text that is not one line, as captions are."""
    if hidden := hidden_character(text):
        raise ValueError(f"{shown(text)} has the character {hidden}; write one line of plain text")
    return text


def _check_verb(verb: str, info: ValidationInfo) -> str:
    """Refuse a verb that does not have all forms of the language."""
    forms: list[str] = info.context or []
    example = _example(forms)
    for word in verb.split():
        if "|" in word and len(word.split("|")) != len(forms):
            raise ValueError(f"{shown(word)} must have the {len(forms)} forms {'|'.join(forms)}, such as {example}")
    if len(forms) > 1 and "|" not in verb:
        raise ValueError(f"{shown(verb)} has no verb; give its forms {'|'.join(forms)}, such as {example}")
    return verb


def _example(forms: list[str]) -> str:
    shapes = {"does": "nods", "doing": "nodding", "did": "nodded", "do": "nod"}
    return "|".join(shapes.get(form, form) for form in forms)


def _check_template(template: str, info: ValidationInfo) -> str:
    """Refuse a sentence with unknown placeholders, without a verb, or with more than one."""
    forms, found = info.context or [], _PLACEHOLDER.findall(template)
    others = sorted({*found} - {*forms, "subject", "place", "pair"})
    if others:
        raise ValueError(f"{{{others[0]}}} is unknown; there are {{subject}}, {{place}} and the forms {{{'}, {'.join(forms)}}}")
    if sum(name in forms for name in found) != 1:
        raise ValueError(f"{shown(template)} must have one of {{{'}, {'.join(forms)}}}")
    return template


def _check_continuation(text: str) -> str:
    """Refuse a sentence of a story, after its first, without a place for the clause."""
    if _PLACEHOLDER.findall(text) != ["again"]:
        raise ValueError(f"{shown(text)} must have {{again}} once, and no other placeholder")
    return text


def _check_joiner(text: str, info: ValidationInfo, *, required: bool) -> str:
    """Refuse words between two clauses that have a placeholder elsewhere than at the end, or none where one is required."""
    forms, found = info.context or [], _PLACEHOLDER.findall(text)
    if (found or required) and not (len(found) == 1 and found[0] in forms and text.endswith(f"{{{found[0]}}}")):
        raise ValueError(f"{shown(text)} must end in one of {{{'}, {'.join(forms)}}}{'' if required else ', or have none'}")
    return text


Text = Annotated[str, Field(max_length=500), AfterValidator(_check_line)]
Verb = Annotated[Text, AfterValidator(_check_verb)]
Template = Annotated[Text, AfterValidator(_check_template)]
Joiner = Annotated[Text, AfterValidator(partial(_check_joiner, required=False))]
VerbJoiner = Annotated[Text, AfterValidator(partial(_check_joiner, required=True))]
_Some = Field(min_length=1, max_length=100)
Continuations = Annotated[list[Annotated[Text, AfterValidator(_check_continuation)]], _Some]
Phrases = Annotated[list[Text], _Some]
Verbs = Annotated[list[Verb], _Some]
Templates = Annotated[list[Template], _Some]
Details = dict[str, Phrases]
Detail = Literal["side", "direction", "degrees", "count", "speed", "path", "return", "foot", "style"]
Share = Annotated[float, Field(ge=0, le=1)]
Entry = TypeVar("Entry", str, list[str])


class _Alike(StrictModel, Generic[Entry]):
    boy: Entry
    girl: Entry
    man: Entry
    woman: Entry
    older_man: Entry
    older_woman: Entry


class _People(_Alike[Entry], Generic[Entry]):
    person: Entry


class _StyleWords(StrictModel):
    """Words of one style: subjects with this style, and adverbs."""

    subjects: _People[Phrases]
    manner: Phrases


class _Joint(StrictModel):
    """Sentences about both actors of an interaction: words for the {pair}, and templates; `then` is for later sentences."""

    pair: Phrases
    alike: _Alike[Text]
    unlike: Text
    short: Templates
    story: Templates
    then: Templates
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
    steps: Annotated[list[Text], Field(min_length=2, max_length=2)] = ["", ""]


class _Joining(StrictModel):
    then: Annotated[list[Joiner], _Some]
    and_: Text = Field(alias="and")
    comma: Text
    while_: Annotated[list[VerbJoiner], _Some] = Field(alias="while")
    goes_on: Verbs
    meanwhile: Phrases
    begins: Annotated[list[VerbJoiner], Field(max_length=100)] = []
    nothing: Verbs


class _Tense(StrictModel):
    """Templates of a story in one tense: first sentence with and without a location, next and last; `again` has subjects."""

    open: Templates
    placeless: Templates
    next: Continuations
    last: Continuations
    again: _People[Templates]


class _Narrative(StrictModel):
    tenses: Annotated[list[_Tense], Field(min_length=1, max_length=10)]
    people: Phrases
    people_placeless: list[Text] = []


class _ActionWords(StrictModel):
    """Words of one action.

    `once` has verbs for a single repetition, `stopped` for standing after a gait, `finished` for an action whose end is
    visible, `during` for a simultaneous action, `together` for an action with a {partner}; `speed_verbs` imply the speed, and
    `side_verbs` the side, as in "lifts the left arm". `step_verbs` count {steps}. `body` has verbs that name what the parts of
    the body do, with {side} where there is one. `foot` is the one that makes the first step, and `return` states that a gait
    leads back. `manner` allows adverbs of the style. A `minor` action is left out of a short caption that has other actions.
    With a `placeless` action, no place is named.
    """

    verbs: Verbs
    once: list[Verb] = []
    stopped: list[Verb] = []
    finished: list[Verb] = []
    together: list[Verb] = []
    speed_verbs: dict[str, Verbs] = {}
    side_verbs: dict[str, Verbs] = {}
    step_verbs: list[Verb] = []
    body: list[Verb] = []
    during: list[Text] = []
    count: Annotated[bool, Field(strict=True)] = False
    manner: Annotated[bool, Field(strict=True)] = False
    minor: Annotated[bool, Field(strict=True)] = False
    placeless: Annotated[bool, Field(strict=True)] = False
    side: Details = {}
    direction: Details = {}
    speed: Details = {}
    path: Details = {}
    degrees: Details = {}
    foot: Details = {}
    return_: Details = Field(default_factory=dict, alias="return")


class _Reading(StrictModel):
    """Words that are understood in text but not used in captions."""

    then: list[Text] = []
    while_: list[Text] = Field(default_factory=list, alias="while")
    after: list[Text] = []
    filler: list[Text] = []
    their: list[Text] = []
    people: list[list[Text]] = []
    groups: list[Text] = []
    subjects: dict[str, list[Text]] = {}
    actions: dict[str, list[Verb]] = {}
    counted: dict[str, list[Verb]] = {}
    places: dict[str, list[Text]] = {}
    details: dict[str, Details] = {}


class Kind(StrictModel):
    """How captions of one kind are written.

    Attributes
    ----------
    events : most actions that a caption of one or two people states of each
    words : most words of a caption of one person, as long as it states one action
    listed : share of the captions that list actions without stating their order
    capital : share of the captions whose sentences begin with capital letters
    clauses : most actions in one sentence of a narrative
    body : share of the verbs, of actions that have such verbs, that name what the parts of the body do
    stated : share of the details of each kind that are stated; all if it is not given
    """

    events: Annotated[int, Field(ge=1, le=100)] = 10
    words: Annotated[int, Field(ge=1, le=1000)] = 1000
    listed: Share = 0.0
    capital: Share = 0.0
    clauses: Annotated[int, Field(ge=1, le=100)] = 2
    body: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    stated: dict[Detail, Share] = {}


class _Words(StrictModel):
    language: Text
    forms: Annotated[list[Annotated[str, Field(pattern="^[a-z]{1,20}$")]], Field(min_length=1, max_length=10)]
    details: Annotated[list[list[Detail]], Field(min_length=1, max_length=10)]
    subjects: _People[Phrases]
    styles: dict[str, _StyleWords]
    their: _People[Text]
    several: _Several
    numbers: list[Text]
    counts: _Counts
    joining: _Joining
    short: Templates
    full: Templates
    segment: Templates
    narrative: _Narrative
    kinds: dict[Literal["short", "full", "narrative"], Kind] = {}
    feelings: Share = 0.6
    places: dict[str, Phrases]
    actions: dict[str, _ActionWords]
    interactions: dict[str, Verbs] = {}
    reading: _Reading = _Reading()
    caption_styles: dict[str, dict[str, Any]] = {}


def styled_words(words: Mapping[str, Any], style: str) -> dict[str, Any]:
    """Return the words of captions of a style: those of the language, and on top of them those listed for the style."""
    return merge(words, words.get("caption_styles", {}).get(style, {}))


def merge(base: Mapping[str, Any], addition: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested mappings; other values of `addition` replace those of `base`."""
    merged = dict(base)
    for key, value in addition.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


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
    forms = words.get("forms")
    known_forms = forms if isinstance(forms, list) and all(isinstance(form, str) for form in forms) else []
    checked = validated(_Words, dict(words), f"{file}: ", known_forms)
    for style in checked.caption_styles:
        validated(_Words, styled_words(words, style), f"{file}: caption_styles.{style}: ", known_forms)
    known = checked.actions
    for name in sorted(styles):
        if name not in checked.styles:
            raise UsageError(f"{file}: styles.{name}: is missing; give the style `subjects` and `manner`, as others have them")
    for name, action in actions.items():
        if name not in known:
            example = f"{{verbs: [{_example(checked.forms)}]}}"
            raise UsageError(f"{file}: actions.{name}: is missing; give the action words, such as {example}")
        if action.support == "seat" and not known[name].during:
            raise UsageError(f"{file}: actions.{name}.during: is missing; an action on a seat needs it, such as [while seated]")

"""The groups of keys that a config is made of, with their defaults and with what each value may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Protocol, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    create_model,
    model_validator,
)

from posegen.plugins import FIELDS, STORED_ARRAYS, VARIANTS
from posegen.wording import shown

__all__ = [
    "Frames",
    "Group",
    "Length",
    "Population",
    "ScaleRange",
    "Shift",
    "SpeedRange",
    "Store",
    "Story",
    "Variants",
    "Whole",
    "ordered",
    "whole",
]

SHORTEST = 20
"""Frames of the shortest clip."""

_LONGEST_PATH = 4000


class _Limits(Protocol):
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...


AnyLimits = TypeVar("AnyLimits", bound=_Limits)


def whole(value: object) -> object:
    """Take 250.0 for 250, but leave all else, such as true or "250", to be refused."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ordered(limits: AnyLimits) -> AnyLimits:
    """Refuse limits of which the smaller is above the larger."""
    if limits.min > limits.max:
        msg = f"min must not be above max (got min {limits.min:g}, max {limits.max:g})"
        raise ValueError(msg)
    return limits


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        msg = "is empty; name at least one field"
        raise ValueError(msg)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"has {twice} twice; name each field once"
        raise ValueError(msg)
    return names


def _some(weights: dict[str, float]) -> dict[str, float]:
    if not any(weights.values()):
        msg = f"must give some theme a weight above 0 (got {shown(weights)})"
        raise ValueError(msg)
    return weights


def _some_style(weights: dict[str, float]) -> dict[str, float]:
    if not any(weights.values()):
        msg = f"must give some style a weight above 0, such as neutral: 1 (got {shown(weights)})"
        raise ValueError(msg)
    return weights


def _path_in_text(path: Path) -> Path:
    text = str(path)
    if len(text) > _LONGEST_PATH or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        msg = f"must be a path of at most {_LONGEST_PATH} characters, in UTF-8, without zero bytes (got {shown(text)})"
        raise ValueError(msg)
    return path


Whole = Annotated[int, BeforeValidator(whole), Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[Number, Field(ge=0, le=1)]
Weight = Annotated[Number, Field(ge=0, le=1000)]
Years = Annotated[Number, Field(ge=6, le=100)]
Frames = Annotated[Whole, Field(ge=SHORTEST, le=10_000)]


class Group(BaseModel):
    """A group of keys, which refuses those that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Length(Group):
    """Frames of the shortest and of the longest clip; each clip's length is drawn uniformly."""

    min: Frames
    max: Frames


class SpeedRange(Group):
    """Range that the factor of the speed variant is drawn from."""

    min: Annotated[Number, Field(ge=0.25, le=4)] = 0.8
    max: Annotated[Number, Field(ge=0.25, le=4)] = 1.25


class ScaleRange(Group):
    """Range that the factor of the scale variant is drawn from."""

    min: Annotated[Number, Field(ge=0.5, le=2)] = 0.9
    max: Annotated[Number, Field(ge=0.5, le=2)] = 1.1


class Shift(Group):
    """How many metres the position variant shifts a scene by at most, along each horizontal axis."""

    max: Annotated[Number, Field(gt=0, le=100)] = 2.0


class Variants(Group):
    """Variants beside the base, with their ranges; null or false disables one.

    A variant that another package registers in the entry point group ``posegen.variants`` is a key like those below.
    """

    speed: Annotated[SpeedRange, AfterValidator(ordered)] | None = SpeedRange()
    position: Shift | None = Shift()
    scale: Annotated[ScaleRange, AfterValidator(ordered)] | None = ScaleRange()
    mirror: Flag = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the enabled variants, in the order in which they are stored."""
        enabled = (name for name in type(self).model_fields if getattr(self, name) not in (None, False))
        return ("base", *enabled)

    @model_validator(mode="wrap")
    @classmethod
    def _with_plugins(cls, data: Any, validate: ModelWrapValidatorHandler[Variants]) -> Variants:
        names = [name for name in data if name not in cls.model_fields] if isinstance(data, dict) else []
        settings = {name: VARIANTS.load(name).settings or bool for name in names if name in VARIANTS and name != "base"}
        if not settings:
            return validate(data)
        # Without a plug-in's key, its variant is off.
        fields: dict[str, Any] = {name: (kind | None, None) for name, kind in settings.items()}
        return create_model(cls.__name__, __base__=cls, **fields).model_validate(data)


class AgeRange(Group):
    """Years of the youngest and of the oldest person."""

    min: Years = 18.0
    max: Years = 75.0


class Population(Group):
    """The people who play the actors.

    Attributes
    ----------
    persons : how many there are
    female, left_handed : shares of them
    age : of the youngest and the oldest
    styles : weight of each style that may occur; that of a style of later life grows with the years above it
    """

    persons: Annotated[Whole, Field(ge=1, le=10_000_000)] = 1000
    female: Share = 0.5
    left_handed: Share = 0.1
    age: Annotated[AgeRange, AfterValidator(ordered)] = AgeRange()
    styles: Annotated[dict[str, Weight], AfterValidator(_some_style)] = {
        "neutral": 0.6,
        "energetic": 0.08,
        "tired": 0.08,
        "careful": 0.06,
        "old": 0.3,
        "happy": 0.08,
        "sad": 0.06,
    }


class ActorRange(Group):
    """How many actors a sample has."""

    min: Annotated[Whole, Field(ge=1, le=8)] = 1
    max: Annotated[Whole, Field(ge=1, le=8)] = 1


class SegmentRange(Group):
    """How many actions follow one another in a sample."""

    min: Annotated[Whole, Field(ge=1, le=16)] = 2
    max: Annotated[Whole, Field(ge=1, le=16)] = 4


class Interactions(Group):
    """What the first two actors of a sample do with one another.

    Attributes
    ----------
    share : of the samples with at least two actors, in which these two meet
    weights : factors on the weights of single interactions; 0 keeps one out
    """

    share: Share = 0.5
    weights: dict[str, Weight] = {}


class Story(Group):
    """Who does what.

    Attributes
    ----------
    actors, segments : how many
    layering : probability that another action lies over one that leaves body parts free
    themes : weight of each theme that may occur; null: all themes at the weights of their own
    actions : factors on the weights of single actions; 0 keeps one out
    interactions : of two
    library : folder with more action files
    """

    actors: Annotated[ActorRange, AfterValidator(ordered)] = ActorRange()
    segments: Annotated[SegmentRange, AfterValidator(ordered)] = SegmentRange()
    layering: Share = 0.35
    themes: Annotated[dict[str, Weight], AfterValidator(_some)] | None = None
    actions: dict[str, Weight] = {}
    interactions: Interactions = Interactions()
    library: Annotated[Path, AfterValidator(_path_in_text)] | None = None


def _known_field(name: str) -> str:
    if name not in STORED_ARRAYS and name not in FIELDS:
        known = (*STORED_ARRAYS, *FIELDS.names())
        msg = f"must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r} (got {shown(name)})"
        raise ValueError(msg)
    return name


FieldName = Annotated[str, AfterValidator(_known_field)]
"""An array of the motion itself, or a derived field."""


class Store(Group):
    """How a dataset lies on disk: samples in a shard, samples in a chunk, and which arrays are stored."""

    shard: Annotated[Whole, Field(ge=1, le=100_000)] = 200
    chunk: Annotated[Whole, Field(ge=1, le=10_000)] = 20
    fields: Annotated[tuple[FieldName, ...], AfterValidator(_distinct)] = (
        "joints",
        "action",
        "contact",
    )

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.shard % self.chunk:
            msg = f"shard must be a multiple of chunk (got shard {self.shard}, chunk {self.chunk})"
            raise ValueError(msg)
        return self

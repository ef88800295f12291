"""The config schema: every setting of a dataset, with its default and its bounds.

A change of defaults or keys that changes samples is a new :data:`CONTENT_VERSION`. Reading files is :mod:`posegen.config.load`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from posegen.config.identity import NOT_IDENTITY, canonical, text_digest
from posegen.foundations.constants import MAX_SEED
from posegen.foundations.plugins import FIELDS, STORED_ARRAYS, VARIANTS
from posegen.foundations.skeleton import DEFAULT_SKELETON
from posegen.foundations.validation import StrictModel
from posegen.foundations.wording import counted, shown

if TYPE_CHECKING:
    from posegen.library.load import Library

CONTENT_VERSION = 20
"""Changes whenever any sample of any config would differ."""

MOST_SAMPLES = 1_000_000_000
SHORTEST = 10
"""Frames of the shortest clip."""

_LONGEST_PATH = 4000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _integer(value: object) -> object:
    """Convert 250.0 to 250; leave everything else, such as true or "250", for strict validation."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"has {repeated} twice; name each once")
    return names


def _some_weight(weights: dict[str, float], info: ValidationInfo) -> dict[str, float]:
    if not any(weights.values()):
        raise ValueError(f"must give some {str(info.field_name).removesuffix('s')} a weight above 0 (got {shown(weights)})")
    return weights


def _path_in_text(path: Path) -> Path:
    text = str(path)
    if len(text) > _LONGEST_PATH or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"must be a UTF-8 path of at most {_LONGEST_PATH} characters, without zero bytes (got {shown(text)})")
    return path


def _plain_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        msg = f"must be 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first (got {shown(name)})"
        raise ValueError(msg)
    return name


def _known_field(name: str) -> str:
    if name not in STORED_ARRAYS and name not in FIELDS:
        known = (*STORED_ARRAYS, *FIELDS.names())
        raise ValueError(f"must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r} (got {shown(name)})")
    return name


Integer = Annotated[int, pydantic.BeforeValidator(_integer), Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[Number, Field(ge=0, le=1)]
Weight = Annotated[Number, Field(ge=0, le=1000)]
Years = Annotated[Number, Field(ge=6, le=100)]
Frames = Annotated[Integer, Field(ge=SHORTEST, le=10_000)]
SkeletonName = Literal["anatomical", "smpl", "cmu", "h36m", "library"]
FieldName = Annotated[str, AfterValidator(_known_field)]
"""A stored array of the motion, or a derived field."""
Names = Annotated[tuple[str, ...], AfterValidator(_distinct)]
SomeWeights = Annotated[dict[str, Weight], AfterValidator(_some_weight)]


class _Range(StrictModel):
    """A range.

    Attributes
    ----------
    min : smallest value
    max : largest value
    """

    min: float
    max: float

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min must not be above max (got min {self.min:g}, max {self.max:g})")
        return self


class Length(_Range):
    """Frames of the shortest and the longest clip; the length of each clip is drawn uniformly."""

    min: Frames
    max: Frames


class SpeedRange(_Range):
    """Range of the factor of the speed variant."""

    min: Annotated[Number, Field(ge=0.25, le=4)] = 0.8
    max: Annotated[Number, Field(ge=0.25, le=4)] = 1.25


class ScaleRange(_Range):
    """Range of the factor of the scale variant."""

    min: Annotated[Number, Field(ge=0.5, le=2)] = 0.9
    max: Annotated[Number, Field(ge=0.5, le=2)] = 1.1


class Shift(StrictModel):
    """Translation of the position variant.

    Attributes
    ----------
    max : largest translation along each horizontal axis, in metres
    """

    max: Annotated[Number, Field(gt=0, le=100)] = 2.0


class Variants(StrictModel):
    """Variants beside the base, with their ranges; null or false disables one.

    A variant that another package registers in the entry point group ``posegen.variants`` is a key like those below.

    Attributes
    ----------
    speed : range of the factor on the speed
    scale : range of the factor on the body size
    mirror : whether left and right are exchanged
    """

    speed: SpeedRange | None = SpeedRange()
    position: Shift | None = Shift()
    scale: ScaleRange | None = ScaleRange()
    mirror: Flag = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the enabled variants, in the order in which they are stored."""
        enabled = (name for name in type(self).model_fields if getattr(self, name) not in (None, False))
        return ("base", *enabled)

    @model_validator(mode="wrap")
    @classmethod
    def _with_plugins(cls, data: Any, validate: pydantic.ModelWrapValidatorHandler[Variants]) -> Variants:
        names = [name for name in data if name not in cls.model_fields] if isinstance(data, dict) else []
        settings = {name: VARIANTS.load(name).settings or bool for name in names if name in VARIANTS and name != "base"}
        if not settings:
            return validate(data)
        # Without a plug-in's key, its variant is disabled.
        fields: dict[str, Any] = {name: (kind | None, None) for name, kind in settings.items()}
        return pydantic.create_model(cls.__name__, __base__=cls, **fields).model_validate(data)


class AgeRange(_Range):
    """Years of the youngest and of the oldest person."""

    min: Years = 18.0
    max: Years = 75.0


class Population(StrictModel):
    """The persons from whom actors are drawn.

    Attributes
    ----------
    persons : number of persons
    female : share of women
    left_handed : share of left-handed persons
    age : range of ages
    styles : weight of each style that may occur; the weight of a style of later life grows with the years above its lower limit
    skeleton_spread : by how many metres joint placement differs between people, as a standard deviation along each axis
    """

    persons: Annotated[Integer, Field(ge=1, le=10_000_000)] = 1000
    female: Share = 0.5
    left_handed: Share = 0.1
    age: AgeRange = AgeRange()
    styles: SomeWeights = {
        "neutral": 0.6,
        "energetic": 0.08,
        "tired": 0.08,
        "careful": 0.06,
        "old": 0.3,
        "happy": 0.08,
        "sad": 0.06,
    }
    skeleton_spread: Annotated[Number, Field(ge=0, le=0.05)] = 0.0


class ActorRange(_Range):
    """Number of actors of a sample."""

    min: Annotated[Integer, Field(ge=1, le=8)] = 1
    max: Annotated[Integer, Field(ge=1, le=8)] = 1


class SegmentRange(_Range):
    """Number of consecutive actions of a sample."""

    min: Annotated[Integer, Field(ge=1, le=16)] = 2
    max: Annotated[Integer, Field(ge=1, le=16)] = 4


class Interactions(StrictModel):
    """Interactions of the first two actors of a sample.

    Attributes
    ----------
    share : share of the samples with at least two actors in which these two interact
    weights : factors on the weights of single interactions; 0 excludes one
    """

    share: Share = 0.5
    weights: dict[str, Weight] = {}


class Story(StrictModel):
    """Actors and actions of the samples.

    Attributes
    ----------
    actors : number of actors of a sample
    segments : number of consecutive actions of a sample
    layering : probability of a second action on top of one that leaves body parts free
    themes : weight of each theme that may occur; null: all themes with their own weights
    actions : factors on the weights of single actions; 0 excludes one, and others stay
    interactions : interactions of two actors
    library : folder with additional action files
    """

    actors: ActorRange = ActorRange()
    segments: SegmentRange = SegmentRange()
    layering: Share = 0.35
    themes: SomeWeights | None = None
    actions: dict[str, Weight] = {}
    interactions: Interactions = Interactions()
    library: Annotated[Path, AfterValidator(_path_in_text)] | None = None


class Captions(StrictModel):
    """Captions.

    Attributes
    ----------
    style : whose captions they resemble: humanml3d, kit (KIT Motion-Language), plain (short and simple) or detailed (all that
        can be stated); caption_styles in posegen/library/words/en.yaml
    identity : share of the captions that name the gender and age of people, and share of the narratives that name the place;
        joints show neither clearly. The other captions say "a person"
    """

    style: Annotated[str, Field(strict=True, max_length=100)] = "humanml3d"
    identity: Share = 0.1


class Speeds(_Range):
    """Slowest and fastest speed in metres per second."""

    min: Annotated[Number, Field(gt=0, le=15)]
    max: Annotated[Number, Field(gt=0, le=15)]


class Quota(StrictModel):
    """An exact number of samples of one kind.

    Attributes
    ----------
    samples : number of samples, for each action or interaction if some are listed
    actions : each sample shows one of them, performed by its first actor
    interactions : the first two actors of each sample perform one of them
    speed : speed of that action, whenever the first actor performs it
    side : side of that action, whenever the first actor performs it
    theme : theme of the sample
    style : style of the first actor
    age : age of the first actor
    left_handed : exact share of left-handed first actors
    female : exact share of women among the first actors
    """

    samples: Annotated[Integer, Field(ge=1, le=MOST_SAMPLES)]
    actions: Names = ()
    interactions: Names = ()
    speed: Speeds | None = None
    side: Literal["left", "right"] | None = None
    theme: str | None = None
    style: str | None = None
    age: AgeRange | None = None
    left_handed: Share | None = None
    female: Share | None = None

    @property
    def amount(self) -> int:
        """Samples of all its actions or interactions together."""
        return self.samples * max(1, len(self.actions) + len(self.interactions))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.actions and self.interactions:
            raise ValueError("actions and interactions are both listed; an interaction decides the actions: make two entries")
        if not self.actions and (self.speed or self.side):
            raise ValueError(f"{'speed' if self.speed else 'side'} is that of an action; name some under actions")
        shares = [(name, share) for name in ("left_handed", "female") if (share := getattr(self, name)) is not None]
        exact = [Fraction(str(share)) for _, share in shares]
        # Of each kind, and of those that are both.
        if any((self.samples * part).denominator > 1 for part in (*exact, prod(exact))):
            stated = " and ".join(f"{name} {share:g}" for name, share in shares)
            raise ValueError(f"{stated} of {self.samples} samples are no whole number; change one of them")
        return self


class Cap(StrictModel):
    """The largest number of samples that show one action, interaction or theme, or an actor of one kind.

    Attributes
    ----------
    samples : largest number of samples
    action : that show this action
    interaction : that show this interaction
    theme : of this theme
    style : with an actor of this style
    left_handed : true: with a left-handed actor; false: with a right-handed one
    female : true: with a woman; false: with a man
    age : with an actor of this age
    """

    samples: Annotated[Integer, Field(ge=0, le=MOST_SAMPLES)]
    action: str | None = None
    interaction: str | None = None
    theme: str | None = None
    style: str | None = None
    left_handed: Flag | None = None
    female: Flag | None = None
    age: AgeRange | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [name for name in type(self).model_fields if name != "samples"]
        named = [name for name in kinds if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"must name one of {', '.join(kinds)} (got {', '.join(named) or 'none'})")
        return self


class Quotas(StrictModel):
    """Exact and largest numbers of samples.

    Attributes
    ----------
    samples : size of the dataset; null: the sum of `exact`. Samples beyond those of `exact` are drawn by the weights
    exact : exact numbers
    caps : largest numbers
    """

    samples: Annotated[Integer, Field(ge=1, le=MOST_SAMPLES)] | None = None
    exact: tuple[Quota, ...] = ()
    caps: tuple[Cap, ...] = ()

    @property
    def exact_samples(self) -> int:
        """Samples of all exact numbers together."""
        return sum(quota.amount for quota in self.exact)

    @property
    def total(self) -> int:
        """Size of the dataset."""
        return self.exact_samples if self.samples is None else self.samples

    def exact_within(self, cap: Cap) -> int:
        """Samples of the exact numbers that fall under a cap, if they name its action, interaction or theme."""
        if cap.action is not None or cap.interaction is not None:
            return sum(
                quota.samples for quota in self.exact if {cap.action, cap.interaction} & {*quota.actions, *quota.interactions}
            )
        return sum(quota.amount for quota in self.exact if cap.theme is not None and quota.theme == cap.theme)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.exact_samples > self.total:
            raise ValueError(f"exact asks for {self.exact_samples:,} samples, and samples is {self.total:,}; raise it")
        if self.total == 0:
            raise ValueError("asks for nothing; list quotas under exact, or give the size of the dataset under samples")
        if self.total > MOST_SAMPLES:
            raise ValueError(f"exact asks for {self.exact_samples:,} samples; {MOST_SAMPLES:,} are the most")
        return self


class Store(StrictModel):
    """Layout of a dataset on disk.

    Attributes
    ----------
    shard : samples per shard, the unit of work; a multiple of `chunk`
    chunk : samples per chunk, the unit of reading
    fields : stored arrays, and derived fields
    """

    shard: Annotated[Integer, Field(ge=1, le=100_000)] = 200
    chunk: Annotated[Integer, Field(ge=1, le=10_000)] = 20
    fields: Annotated[tuple[FieldName, ...], AfterValidator(_distinct), Field(min_length=1)] = STORED_ARRAYS

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.shard % self.chunk:
            raise ValueError(f"shard must be a multiple of chunk (got shard {self.shard}, chunk {self.chunk})")
        return self


@lru_cache(maxsize=8)
def _library_text(library: Library) -> str:
    """Return the canonical JSON of a library, which takes 40 of the 42 ms of an identity and does not change."""
    return canonical(library.as_data())


class Config(StrictModel):
    """All settings of a dataset.

    Attributes
    ----------
    name : name of the preset or file; it names the default output folder
    samples : number of samples
    seed : seed of all random numbers
    workers : number of processes; null: one per core
    frames : number of frames of the arrays
    fps : frames per second
    length : range of clip lengths; null: clips fill the arrays
    skeleton : joints of the average adult: smpl (the neutral body of SMPL), anatomical, cmu (CMU's mocap), h36m (Human3.6M), or
        library (those of the clips from which story.library was imported)
    quotas : exact numbers and caps; null: everything is drawn by the weights
    """

    name: Annotated[str, Field(strict=True), AfterValidator(_plain_name)] = "default"
    samples: Annotated[Integer, Field(ge=1, le=MOST_SAMPLES)] = 10_000
    seed: Annotated[Integer, Field(ge=0, le=MAX_SEED)] = 0
    workers: Annotated[Integer, Field(ge=1, le=1024)] | None = None
    frames: Frames = 250
    fps: Annotated[Literal[20, 25, 30, 60, 120], pydantic.BeforeValidator(_integer)] = 25
    length: Length | None = None
    skeleton: SkeletonName = DEFAULT_SKELETON
    variants: pydantic.SerializeAsAny[Variants] = Variants()
    population: Population = Population()
    story: Story = Story()
    captions: Captions = Captions()
    quotas: Quotas | None = None
    store: Store = Store()

    @pydantic.field_validator("length")
    @classmethod
    def _fits(cls, length: Length | None, others: ValidationInfo) -> Length | None:
        frames = others.data.get("frames")
        if length is not None and frames is not None and length.max > frames:
            raise ValueError(f"max must be at most frames, which is {frames} (got {length.max})")
        return length

    def __repr__(self) -> str:
        return (
            f"<Config {self.name}: {counted(self.samples, 'sample')}, seed {self.seed}, {self.frames} frames, {self.fps} FPS>"
        )

    __str__ = __repr__

    def as_data(self) -> dict[str, Any]:
        """Return the resolved config as plain data, which :meth:`model_validate` accepts."""
        return self.model_dump(mode="json")

    def identity(self, library: Library) -> str:
        """Return the hash, 32 hexadecimal digits, of everything that affects the content of samples: the config and a library.

        Configs with the same identity generate the same samples.
        """
        data = self.as_data()
        for key in NOT_IDENTITY:
            group, _, name = key.rpartition(".")
            del (data[group] if group else data)[name]
        config, version = canonical(data), canonical(CONTENT_VERSION)
        return text_digest(f'{{"config":{config},"content_version":{version},"library":{_library_text(library)}}}')

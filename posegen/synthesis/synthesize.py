"""Synthesis: motion, labels and captions of samples in memory, for generation, training and viewing.

Samples are planned, animated, checked and described; those that fail a check are resampled. A batch is a pure function of
(content version, config, seed, indices). Only the action library is read from disk, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from posegen.captions.captions import describe_segments, struct_array, write_captions
from posegen.captions.segments import STATEMENT, find_segments, statement_lists, struct_type
from posegen.checks.limits import check_limits
from posegen.checks.segments import CheckedSegments, check_segments, quota_rows, remove_false, unmet_quotas
from posegen.config.load import ConfigSource, load_config
from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import UNUSED, Persons, Scenes
from posegen.foundations.stopwatch import stage
from posegen.foundations.wording import counted
from posegen.library.load import Library, load_library
from posegen.motion.engine import Motion, animate_into, empty_motion
from posegen.motion.placement import separate_actors
from posegen.motion.scene_arrays import SceneArrays
from posegen.planning.quotas import allot
from posegen.planning.scenes import plan_scenes
from posegen.variants.variant import Parameters, draw_parameters, enabled_variants, neutral_parameters, parameter_columns

MAX_RESAMPLES, MAX_QUOTA_RESAMPLES = 5, 25
"""How often a sample is resampled, at most, after failed checks of captions or limits, and where it does not meet its quota."""


@dataclass(frozen=True, repr=False)
class Batch:
    """Sequences of n samples in all their variants.

    Attributes
    ----------
    samples : int64 [n]
    variants : tuple of str
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres; NaN where absent.
    action : uint16 [n, variants, actors, frames, parts]
        Index into the library's actions for each body part; 65535 where absent.
    contact : uint8 [n, variants, actors, frames, contacts]
        1 while the point touches something; 255 where absent.
    table : pyarrow.Table, n * variants
        Captions, actors and parameters of each sequence; see :func:`rows_schema`. Numbers may have more digits than are stored.
    """

    samples: Array
    variants: tuple[str, ...]
    joints: Array
    action: Array
    contact: Array
    table: pa.Table

    def __repr__(self) -> str:
        return f"Batch({counted(len(self.samples), 'sample')}, {', '.join(self.variants)}, joints {list(self.joints.shape)})"

    def __dir__(self) -> list[str]:
        return ["samples", "variants", "joints", "action", "contact", "sequences"]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table as dicts, made on first use."""
        return self.table.to_pylist()  # type: ignore[no-any-return]

    @property
    def sequences(self) -> pa.Table:
        """The table as a dataset stores it."""
        return self.table.cast(rows_schema(self.variants))


def rows_schema(variants: tuple[str, ...] = ()) -> pa.Schema:
    """Return the columns of the table of sequences: a row for each sample and variant.

    `variants` are those of the dataset; variants of other packages add their parameters.
    """
    statements, texts = pa.list_(STATEMENT), pa.list_(pa.string())
    numbers = {"speed": "float32", "turn": "float32", "repetitions": "int32"}
    segment = {"action": "string", "parts": texts, "start": "int32", "end": "int32", "side": "string", **numbers}
    body = {"stature": "float32", "age": "float32", "male": "bool", "left_handed": "bool"}
    segments = pa.list_(struct_type(**segment, text="string", statements=statements))
    actor = struct_type(person="int64", **body, style="string", seat_height="float32", segments=segments)
    parameters = {name: "bool" if isinstance(v, bool) else "float32" for name, v in neutral_parameters(variants).items()}
    columns = {
        "sample": "int64",
        "variant": "string",
        "theme": "string",
        "length": "int32",
        "duration": "float32",
        "captions": pa.list_(struct_type(text="string", kind="string", statements=statements)),
        "actors": pa.list_(actor),
        "parameters": struct_type(**parameters),
        "attempt": "int32",
        "dropped": statements,
    }
    return pa.schema(list(struct_type(**columns)))


def synthesize(config: Config | ConfigSource, indices: ArrayLike) -> Batch:
    """Synthesize samples in memory.

    Each caption statement and joint limit is checked against the joints of every variant. A sample that fails is resampled, up
    to :data:`MAX_RESAMPLES` times, or :data:`MAX_QUOTA_RESAMPLES` if it does not meet its quota. Statements that still fail are
    removed from the captions and listed in the row's `dropped` column, together with limits that are still violated. Limbs that
    cross in an action whose clip has this flaw (`limbs_cross`) are listed there, too; the sample is not resampled for them.

    Parameters
    ----------
    config : Config, str, Path or mapping
        A config, or what :func:`posegen.load_config` takes.
    indices : int [n]
        Numbers of the samples, in any order.

    Returns
    -------
    Batch

    Raises
    ------
    UsageError
        If `indices` are not whole numbers from 0 on, or the config asks for something that its library does not have.

    Examples
    --------
    >>> import posegen
    >>> batch = posegen.synthesize("smoke", [7])
    >>> batch.joints.shape, batch.variants
    ((1, 5, 1, 100, 22, 3), ('base', 'speed', 'position', 'scale', 'mirror'))
    >>> alone = posegen.synthesize("smoke", [3, 7, 5])
    >>> bool((alone.joints[1] == batch.joints[0]).all())
    True
    """
    config, samples = load_config(config), np.asarray(indices)
    if samples.ndim != 1 or (samples.size and samples.dtype.kind not in "iu"):
        raise UsageError(f"indices must be a list of whole numbers (got an array of shape {samples.shape} of {samples.dtype})")
    if samples.size and samples.min() < 0:
        raise UsageError(f"sample {samples.min()} does not exist: samples are numbered from 0")
    samples = samples.astype(np.int64)
    library, names, parameters = load_library(config.story.library), config.variants.names, draw_parameters(config, samples)
    motion = empty_motion(len(samples), len(names), config.story.actors.max, config.frames)
    attempts: list[_Attempt] = []
    plans: list[Scenes] = []
    again = np.arange(len(samples))
    most = MAX_RESAMPLES if config.quotas is None else MAX_QUOTA_RESAMPLES
    while not attempts or (len(again) and len(attempts) <= most):
        own = {key: values[again] for key, values in parameters.items()}
        plans = plans or _plan_attempts(config, library, samples[again], len(attempts))
        made = _attempt(config, library, plans[0], again, own, len(attempts), motion)
        attempts.append(made)
        again, left = again[made.failed], np.flatnonzero(made.failed)
        plans = [plan.select(left) for plan in plans[1:]]
    table = _describe_samples(config, library, parameters, attempts) if len(samples) else rows_schema(names).empty_table()
    return Batch(samples, names, *motion, table)


@dataclass(frozen=True)
class _Attempt:
    """One attempt at some samples.

    Attributes
    ----------
    rows : int64 [n]
        Positions of the samples in the batch.
    failed : bool [n]
        Whether a check failed.
    scenes : dict of str to Scenes
        Scenes of each variant, without planned segments.
    checked : CheckedSegments
        Segments of all samples in the first animated variant, then in the next one. In the last attempt, without what is false.
    """

    rows: Array
    failed: Array
    scenes: dict[str, Scenes]
    checked: CheckedSegments


@stage("plan")
def _plan_attempts(config: Config, library: Library, samples: Array, number: int) -> list[Scenes]:
    """Plan an attempt at samples, and the next one: for the few samples of a further attempt, that takes little longer."""
    numbers = [number] if number in (0, MAX_RESAMPLES, MAX_QUOTA_RESAMPLES) else [number, number + 1]
    planned = plan_scenes(config, library, np.tile(samples, len(numbers)), np.repeat(numbers, len(samples)))
    rows = np.arange(len(planned)).reshape(len(numbers), -1)
    return [planned] if len(numbers) == 1 else [planned.select(own) for own in rows]


@stage("attempt")
def _attempt(
    config: Config, library: Library, planned: Scenes, rows: Array, parameters: Parameters, number: int, batch: Motion
) -> _Attempt:
    """Return one attempt at the samples `rows` of a batch, as `planned`, whose motion is written to `batch`."""
    names, last = config.variants.names, number >= MAX_RESAMPLES
    n, samples, variants = len(rows), planned.sample, enabled_variants(config)
    with stage("plan"):
        base = separate_actors(planned, library, config.fps)
    motion = batch if number == 0 else empty_motion(n, *batch.joints.shape[1:4])
    scenes = {variant.name: variant.transform(base, parameters) for variant in variants}
    first: SceneArrays | None = None
    for v, variant in enumerate(variants):
        with stage("motion" if variant.copy is None else "variants"):
            if variant.copy is None:
                made = animate_into(scenes[variant.name], library, config.fps, motion, v, first)
                first = made if first is None else first
            else:
                variant.copy(motion, 0, v, parameters)
    # The other variants are copies of the base, so they show what it shows.
    animated = [variant.name for variant in variants if variant.copy is None]
    with stage("checks"):
        # The segments of all samples in the first animated variant, then in the next one.
        segments = find_segments(concatenate_scenes([scenes[name] for name in animated]), library, config.fps)
        clips = np.concatenate([np.arange(n) * len(names) + names.index(name) for name in animated])
        joints = motion.joints.reshape(-1, *motion.joints.shape[2:])
        checked = check_segments(segments, joints, clips, library, config.fps)
        failed = np.zeros(n, bool)
        failed[checked.segments.owner[checked.false.any(axis=1)] // checked.actors % max(n, 1)] = True
        failures = [
            check_limits(motion.joints, motion.action, v, scenes[name], library, config.fps, config.skeleton)
            for v, name in enumerate(names)
            if name in animated
        ]
        for failure in failures:
            failed |= failure.any()
    if last:
        checked = remove_false(checked, library)
        failed[:] = False  # from now on, only quotas are tried again
    checked = checked.add_dropped([row for failure in failures for row in failure.rows()])
    if config.quotas is not None:
        asked = allot(config, library, samples)
        unmet = unmet_quotas(asked, checked, motion.joints[:, 0, 0], library, config.fps)
        failed |= unmet
        if last:
            checked = checked.add_dropped(quota_rows(asked, unmet, len(checked.dropped), library))
    if number:
        for values, own in zip(batch, motion, strict=True):
            values[rows] = own
    return _Attempt(rows, failed, {name: _without_segments(own) for name, own in scenes.items()}, checked)


def _without_segments(scenes: Scenes) -> Scenes:
    """Return scenes with what rows state beside the segments: they are small, and alike in all attempts."""
    columns = {name: getattr(scenes, name)[..., :0] for name in UNUSED}
    bodies = {name: getattr(scenes.persons, name)[..., :0] for name in ("habits", "rest", "shape")}
    return replace(scenes, persons=replace(scenes.persons, **bodies), **columns)


@stage("captions")
def _describe_samples(config: Config, library: Library, parameters: Parameters, attempts: Sequence[_Attempt]) -> pa.Table:
    """Return the table of all samples, each as its last attempt shows it."""
    variants, names = enabled_variants(config), config.variants.names
    numbers = np.repeat(np.arange(len(attempts)), [len(each.rows) for each in attempts])
    position = np.concatenate([each.rows for each in attempts])
    # Of a sample with several attempts, the last one is assigned last.
    final = np.empty(len(attempts[0].rows), np.int64)
    final[position] = np.arange(len(position))
    scenes = {name: concatenate_scenes([each.scenes[name] for each in attempts]).select(final) for name in names}
    checked = attempts[0].checked
    for each in attempts[1:]:
        checked = checked.append(each.checked)
    number = numbers[final]
    sizes = np.array([len(each.rows) for each in attempts])
    first, animated = np.cumsum(sizes) - sizes, sum(variant.copy is None for variant in variants)
    within = first[number] * (animated - 1) + final
    checked = checked.select(np.concatenate([within + v * sizes[number] for v in range(animated)]))
    sample, theme, length = (
        np.stack([getattr(scenes[name], column) for name in names], axis=1).ravel() for column in ("sample", "theme", "length")
    )
    described = _describe(scenes, checked, library, config)
    parameter = {key: pa.array(values.ravel()) for key, values in parameter_columns(variants, parameters, len(final)).items()}
    columns = {
        "sample": pa.array(sample),
        "variant": pa.array(names * len(final)),
        "theme": pa.array(list(library.themes)).take(pa.array(theme)),
        "length": pa.array(length.astype(np.int32)),
        "duration": pa.array((length / np.float32(config.fps)).astype(np.float32)),
        "captions": described["captions"],
        "actors": described["actors"],
        "parameters": struct_array(parameter),
        "attempt": pa.array(np.repeat(number.astype(np.int32), len(names))),
        "dropped": described["dropped"],
    }
    return pa.table(columns)


def _describe(scenes: dict[str, Scenes], checked: CheckedSegments, library: Library, config: Config) -> dict[str, pa.Array]:
    """Return the columns with captions, actors and dropped statements, of each sample in each variant."""
    variants, base = enabled_variants(config), checked
    names = [variant.name for variant in variants if variant.copy is None]
    for variant in variants:
        if variant.copy is not None and variant.exchanges_sides:
            names.append(variant.name)
            checked = checked.append(base.mirrored(len(scenes[variant.name])))
    together = concatenate_scenes([scenes[name] for name in names])
    described = describe_segments(together, library, config, checked.segments, checked.moving_sides())
    columns = {
        "captions": write_captions(together, library, config, checked.segments),
        "actors": _actors(together, library, described),
        "dropped": statement_lists(checked.dropped),
    }
    # The other copies have the descriptions of the base.
    n, numbers = len(together) // len(names), {name: number for number, name in enumerate(names)}
    first = np.array([numbers.get(variant.name, numbers["base"]) * n for variant in variants])
    order = pa.array((np.arange(n)[:, None] + first).ravel())
    return {name: column.take(order) for name, column in columns.items()}


def concatenate_scenes(parts: Sequence[Scenes]) -> Scenes:
    """Concatenate scenes with room for the same actors and planned segments along the axis of samples."""
    persons = {field.name: np.concatenate([getattr(part.persons, field.name) for part in parts]) for field in fields(Persons)}
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Scenes)
        if field.name != "persons"
    }
    return replace(parts[0], persons=Persons(**persons), **columns)


def _actors(scenes: Scenes, library: Library, segments: pa.ListArray) -> pa.ListArray:
    """Return the actors of each sequence: the person, and the segments."""
    persons, styles, most = scenes.persons, pa.array(list(library.styles)), scenes.action.shape[1]
    present = (np.arange(most) < scenes.actors[:, None]).ravel()
    numbers = {
        "person": persons.index,
        "stature": persons.stature,
        "age": persons.age,
        "male": persons.male,
        "left_handed": persons.left_handed,
        "style": persons.style,
        "seat_height": scenes.seat_height,
    }
    columns = {name: pa.array(values.ravel()) for name, values in numbers.items()}
    columns |= {"style": styles.take(columns["style"]), "segments": segments}
    offsets = np.cumsum([0, *scenes.actors], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, struct_array(columns).filter(pa.array(present)))

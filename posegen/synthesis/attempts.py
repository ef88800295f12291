"""Attempts at samples: plan, animate, check and describe them, and plan those again that fail a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.captions.captions import label_segments, write_captions
from posegen.captions.segments import find_segments, segment_rows
from posegen.checks.limits import check_limits
from posegen.checks.segments import (
    CheckedSegments,
    append,
    check_segments,
    mirror_segments,
    quota_rows,
    remove_false,
    restore_parts,
    unmet_quotas,
)
from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library.load import Library, load_library
from posegen.motion.engine import Motion, animate_into, empty_motion
from posegen.motion.placement import separate_actors
from posegen.planning.quotas import allot
from posegen.planning.scenes import plan_scenes
from posegen.scene import Persons, Scenes
from posegen.stopwatch import stage
from posegen.synthesis.batch import Batch, Row, actor_rows, sequence_rows
from posegen.variants.variant import Variant, draw_parameters, enabled_variants, parameter_rows

MAX_RESAMPLES = 5
"""How often a sample is resampled, at most, after failed caption, limit or quota checks."""


@dataclass(frozen=True)
class _Attempt:
    """Motion of samples, their rows [n * variants], and which samples fail a check."""

    motion: Motion
    rows: list[Row]
    failed: Array

    def replace(self, indices: Array, other: _Attempt) -> None:
        """Replace the samples at `indices` by those of another attempt."""
        for name in ("joints", "action", "contact"):
            getattr(self.motion, name)[indices] = getattr(other.motion, name)
        variants = self.motion.joints.shape[1]
        for i, index in enumerate(indices.tolist()):
            self.rows[index * variants : (index + 1) * variants] = other.rows[i * variants : (i + 1) * variants]
        self.failed[indices] = other.failed


def synthesize(config: Config, indices: ArrayLike) -> Batch:
    """Synthesize samples in memory.

    Each caption statement and joint limit is checked against the joints of every variant. A sample that fails is resampled, up
    to :data:`MAX_RESAMPLES` times. Statements that still fail are removed from the captions and listed in the row's `dropped`
    column, together with limits that are still violated.

    Parameters
    ----------
    config : Config
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
    >>> batch = posegen.synthesize(posegen.load_config("smoke"), [7])
    >>> batch.joints.shape, batch.variants
    ((1, 5, 1, 100, 22, 3), ('base', 'speed', 'position', 'scale', 'mirror'))
    >>> alone = posegen.synthesize(posegen.load_config("smoke"), [3, 7, 5])
    >>> bool((alone.joints[1] == batch.joints[0]).all())
    True
    """
    samples = np.asarray(indices)
    if samples.ndim != 1 or (samples.size and samples.dtype.kind not in "iu"):
        raise UsageError(f"indices must be a list of whole numbers (got an array of shape {samples.shape} of {samples.dtype})")
    if samples.size and samples.min() < 0:
        raise UsageError(f"sample {samples.min()} does not exist: samples are numbered from 0")
    samples = samples.astype(np.int64)
    library = load_library(config.story.library)
    made = _attempt(config, library, samples, 0)
    for attempt in range(1, MAX_RESAMPLES + 1):
        again = np.flatnonzero(made.failed)
        if len(again) == 0:
            break
        made.replace(again, _attempt(config, library, samples[again], attempt))
    motion = made.motion
    return Batch(samples, config.variants.names, motion.joints, motion.action, motion.contact, made.rows)


@stage("attempt")
def _attempt(config: Config, library: Library, samples: Array, attempt: int) -> _Attempt:
    """Make one attempt at samples; the last one removes what is false from the captions."""
    n, names, last = len(samples), config.variants.names, attempt == MAX_RESAMPLES
    variants = enabled_variants(config)
    with stage("plan"):
        base = separate_actors(plan_scenes(config, library, samples, attempt), library, config.fps)
    parameters = draw_parameters(config, samples)
    motion = empty_motion(n, len(names), config.story.actors.max, config.frames)
    scenes = {variant.name: variant.transform(base, parameters) for variant in variants}
    for v, variant in enumerate(variants):
        with stage("motion" if variant.copy is None else "variants"):
            if variant.copy is None:
                animate_into(scenes[variant.name], library, config.fps, motion, v)
            else:
                variant.copy(motion, 0, v, parameters)
    # The other variants are copies of the base, so they show what it shows.
    animated = [variant.name for variant in variants if variant.copy is None]
    with stage("checks"):
        checked = _check_segments(scenes, animated, names, motion, library, config.fps)
        failed = np.zeros(n, bool)
        failed[checked.segments.owner[checked.false.any(axis=1)] // checked.actors % max(n, 1)] = True
        failures = [
            check_limits(motion.joints, motion.action, v, scenes[name].actors, scenes[name].length, library, config.fps)
            for v, name in enumerate(names)
            if name in animated
        ]
        for failure in failures:
            failed |= failure.any()
    if last:
        dropped = [row for failure in failures for row in failure.rows()]
        checked = remove_false(checked, library).add_dropped(dropped)
    if config.quotas is not None:
        asked = allot(config, library, samples)
        unmet = unmet_quotas(asked, checked, motion.joints[:, 0, 0], library, config.fps)
        failed |= unmet
        if last:
            checked = checked.add_dropped(quota_rows(asked, unmet, len(checked.dropped), library))
    with stage("captions"):
        described = _describe(scenes, variants, checked, library, config)
        rows = []
        for variant in variants:
            name, own = variant.name, parameter_rows(variant, parameters, names, n)
            rows.append(sequence_rows(name, scenes[name], library, described[name] | {"parameters": own}, attempt, config.fps))
    return _Attempt(motion, [own[i] for i in range(n) for own in rows], failed)


def _check_segments(
    scenes: dict[str, Scenes], animated: list[str], names: tuple[str, ...], motion: Motion, library: Library, fps: int
) -> CheckedSegments:
    """Check the segments of all samples in the first animated variant, then in the next one."""
    n = len(motion.joints)
    segments = find_segments(concatenate_scenes([scenes[name] for name in animated]), library, fps)
    clips = np.concatenate([np.arange(n) * len(names) + names.index(name) for name in animated])
    return check_segments(segments, motion.joints.reshape(-1, *motion.joints.shape[2:]), clips, library, fps)


def _describe(
    scenes: dict[str, Scenes], variants: tuple[Variant, ...], checked: CheckedSegments, library: Library, config: Config
) -> dict[str, dict[str, list[Any]]]:
    """Return the columns with captions, actors and dropped statements of each variant."""
    names, base = [variant.name for variant in variants if variant.copy is None], checked
    for variant in variants:
        if variant.copy is not None and variant.exchanges_sides:
            names.append(variant.name)
            checked = append(checked, mirror_segments(base, len(scenes[variant.name])))
    together = concatenate_scenes([scenes[name] for name in names])
    segments = segment_rows(together, library, checked.segments)
    label_segments(segments, together, library, config, checked.segments)
    for number, dropped in enumerate(checked.dropped):
        if dropped:
            restore_parts(segments[number], dropped, library)
    actors = actor_rows(together, library, segments)
    captions = write_captions(together, library, config, checked.segments)
    n = len(together) // len(names)
    parts = {name: slice(v * n, (v + 1) * n) for v, name in enumerate(names)}
    columns = {"captions": captions, "actors": actors, "dropped": checked.dropped}
    described = {name: {key: values[part] for key, values in columns.items()} for name, part in parts.items()}
    # The other copies have the descriptions of the base.
    return {variant.name: described.get(variant.name, described["base"]) for variant in variants}


def concatenate_scenes(parts: Sequence[Scenes]) -> Scenes:
    """Concatenate scenes with room for the same actors and planned segments along the axis of samples."""
    persons = {field.name: np.concatenate([getattr(part.persons, field.name) for part in parts]) for field in fields(Persons)}
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Scenes)
        if field.name != "persons"
    }
    return replace(parts[0], persons=Persons(**persons), **columns)

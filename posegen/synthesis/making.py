"""Making samples: planned, moved, told and checked, and where a check fails planned again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posegen.captions.captions import captions, label_segments
from posegen.captions.telling import tell, visible_segments
from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library, load_library
from posegen.motion.engine import Motion, animate_into, empty_motion
from posegen.motion.placement import separate_actors
from posegen.planning.planning import plan
from posegen.planning.quotas import allot
from posegen.scene import Scenes
from posegen.stopwatch import stage
from posegen.synthesis.batch import Array, Batch, Row
from posegen.synthesis.faults import look_for_faults, told_faults
from posegen.synthesis.meeting_quotas import not_shown, told_unmet
from posegen.synthesis.rows import Described, actor_rows, sequence_rows
from posegen.synthesis.scenes import end_to_end
from posegen.synthesis.seeing import Seen, joined, mirrored, restore_parts, see, without_false
from posegen.variants.variant import Parameters, Variant, draw_parameters, enabled_variants, parameter_rows

__all__ = ["FURTHER_ATTEMPTS", "synthesize"]

FURTHER_ATTEMPTS = 5
"""How often a sample is planned again, at most, because a statement about it is false or no body moves so."""


@dataclass(frozen=True)
class _Made:
    """Samples as one attempt made them: their motion, their rows [n * variants], and which of them must not stay so."""

    motion: Motion
    rows: list[Row]
    failed: Array

    def put(self, where: Array, other: _Made) -> None:
        """Put other samples in the places `where`."""
        for name in ("joints", "action", "contact"):
            getattr(self.motion, name)[where] = getattr(other.motion, name)
        variants = self.motion.joints.shape[1]
        for i, place in enumerate(where.tolist()):
            self.rows[place * variants : (place + 1) * variants] = other.rows[i * variants : (i + 1) * variants]
        self.failed[where] = other.failed


def synthesize(config: Config, indices: ArrayLike) -> Batch:
    """Make samples, without a disk.

    Every statement about a sample, in any variant, is held against the joints, and the joints against what bodies can do: the
    ranges of joints, and no limb through the trunk, another limb or another person. If anything is wrong, the sample is
    planned again, at most :data:`FURTHER_ATTEMPTS` times; what is false even then is not told, and the row lists it under
    `dropped`, with the limits that are still left.

    Parameters
    ----------
    config : Config
    indices : int [n]
        Which samples, in any order.

    Returns
    -------
    Batch

    Raises
    ------
    UsageError
        If `indices` are not whole numbers from 0 on, or the config asks for what its library does not have.

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
    samples = _checked(indices)
    library = load_library(config.story.library)
    made = _attempt(config, library, samples, 0)
    for attempt in range(1, FURTHER_ATTEMPTS + 1):
        again = np.flatnonzero(made.failed)
        if len(again) == 0:
            break
        made.put(again, _attempt(config, library, samples[again], attempt))
    motion = made.motion
    return Batch(samples, config.variants.names, motion.joints, motion.action, motion.contact, made.rows)


def _checked(indices: ArrayLike) -> Array:
    samples = np.asarray(indices)
    if samples.ndim != 1 or (samples.size and samples.dtype.kind not in "iu"):
        msg = f"indices must be a list of whole numbers (got an array of shape {samples.shape} of {samples.dtype})"
        raise UsageError(msg)
    if samples.size and samples.min() < 0:
        msg = f"sample {samples.min()} does not exist: samples are numbered from 0"
        raise UsageError(msg)
    return samples.astype(np.int64)


@stage("attempt")
def _attempt(config: Config, library: Library, samples: Array, attempt: int) -> _Made:
    """Make samples by one attempt at planning them; by the last one, what is false is left untold."""
    variants, names = enabled_variants(config), config.variants.names
    with stage("plan"):
        base = separate_actors(plan(config, library, samples, attempt), library, config.fps)
    parameters = draw_parameters(config, samples)
    motion = empty_motion(len(samples), len(names), config.story.actors.max, config.frames)
    scenes = {variant.name: variant.transform(base, parameters) for variant in variants}
    for v, variant in enumerate(variants):
        _move(variant, v, scenes[variant.name], parameters, motion, library, config.fps)
    looked = [variant.name for variant in variants if variant.copy is None]
    seen = _seen(scenes, looked, names, motion, library, config.fps)
    failed = _failed(seen, len(samples))
    with stage("checks"):
        faults = [look_for_faults(motion, names.index(name), scenes[name], library, config.fps) for name in looked]
        for fault in faults:
            failed |= fault.any()
    if attempt == FURTHER_ATTEMPTS:
        seen = told_faults(without_false(seen, library), faults)
    asked = allot(config, library, samples)
    if asked is not None:
        unmet = not_shown(asked, seen, motion.joints[:, 0, 0], library, config.fps)
        failed |= unmet
        if attempt == FURTHER_ATTEMPTS:
            seen = told_unmet(seen, asked, unmet, library)
    described = _described(scenes, variants, looked, seen, library, config)
    with stage("captions"):
        rows = []
        for variant in variants:
            name, own = variant.name, parameter_rows(variant, parameters, names, len(samples))
            rows.append(sequence_rows(name, scenes[name], library, own, described[name], attempt, config.fps))
    return _Made(motion, [variant[i] for i in range(len(samples)) for variant in rows], failed)


def _move(variant: Variant, v: int, scenes: Scenes, parameters: Parameters, motion: Motion, library: Library, fps: int) -> None:
    with stage("variants" if variant.copy is not None else "motion"):
        if variant.copy is not None:
            variant.copy(motion, 0, v, parameters)
        else:
            animate_into(scenes, library, fps, motion, v)


@stage("checks")
def _seen(
    scenes: dict[str, Scenes], looked: list[str], names: tuple[str, ...], motion: Motion, library: Library, fps: int
) -> Seen:
    """Look at the variants that move differently, one behind the other; the others show what the base shows."""
    n = len(motion.joints)
    told = tell(end_to_end([scenes[name] for name in looked]), library, fps)
    clips = np.concatenate([np.arange(n) * len(names) + names.index(name) for name in looked])
    return see(told, motion.joints.reshape(-1, *motion.joints.shape[2:]), clips, library, fps)


def _failed(seen: Seen, n: int) -> Array:
    """Whether any statement about each of n samples is false."""
    failed = np.zeros(n, bool)
    failed[seen.owner[seen.false.any(axis=1)] // seen.actors % max(n, 1)] = True
    return failed


@stage("captions")
def _described(
    scenes: dict[str, Scenes], variants: tuple[Variant, ...], looked: list[str], seen: Seen, library: Library, config: Config
) -> dict[str, Described]:
    """Say who does what in each sequence."""
    copied = [variant for variant in variants if variant.copy is not None]
    mirrors = [variant.name for variant in copied if variant.exchanges_sides]
    names, base = [*looked, *mirrors], seen
    for _ in mirrors:
        seen = joined(seen, mirrored(base, len(scenes["base"])))
    described = _words(end_to_end([scenes[name] for name in names]), names, seen, library, config)
    # Copies that keep the sides share the descriptions of the base.
    return described | {variant.name: described["base"] for variant in copied if not variant.exchanges_sides}


def _words(scenes: Scenes, names: list[str], seen: Seen, library: Library, config: Config) -> dict[str, Described]:
    segments = visible_segments(scenes, library, config.fps, seen.told)
    label_segments(segments, scenes, library, config, seen.told)
    for number, dropped in enumerate(seen.dropped):
        if dropped:
            restore_parts(segments[number], dropped, library)
    actors = actor_rows(scenes, library, segments)
    written = captions(scenes, library, config, told=seen.told)
    n = len(scenes) // len(names)
    parts = {name: slice(v * n, (v + 1) * n) for v, name in enumerate(names)}
    return {name: Described(written[part], actors[part], seen.dropped[part]) for name, part in parts.items()}

"""From a config and sample numbers to motion, labels and captions: what generation, training and viewing all call.

A batch is a pure function of (content version, config, seed, indices); nothing here touches the disk but to read the
action library once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from posegen.config import Config
from posegen.errors import UsageError
from posegen.library import Library, load_library
from posegen.motion.copies import mirror, shift
from posegen.motion.engine import Motion, animate_into, empty_motion
from posegen.motion.spreading import spread
from posegen.scene import Scenes
from posegen.story.captions import captions
from posegen.story.planning import plan
from posegen.story.telling import DIRECTIONS, PATHS, SPEEDS, Told, tell, visible_segments
from posegen.story.variants import VariantParameters, apply_variant, variant_names, variant_parameters
from posegen.truth.check import BOUNDS, direction_seen, path_seen, speed_seen
from posegen.truth.evidence import Stretches, look

__all__ = ["Batch", "rows_schema", "synthesize"]

Array = NDArray[Any]
Row = dict[str, Any]
STEADY = 0.6
"""Share of its time for which a gait must be slow, or fast, to be told so: half of it makes it true."""
Described = tuple[list[list[Row]], list[list[Row]]]
"""Captions and actors of each sequence."""


@dataclass(frozen=True)
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
    rows : list of dict, n * variants
        Captions, actors and parameters of each sequence; see :func:`rows_schema`. Rows that say the same share it, so
        what is in them is not to be changed.
    """

    samples: Array
    variants: tuple[str, ...]
    joints: Array
    action: Array
    contact: Array
    rows: list[Row]

    @property
    def sequences(self) -> pa.Table:
        """The rows as an Arrow table."""
        return pa.Table.from_pylist(self.rows, schema=rows_schema())


def rows_schema() -> pa.Schema:
    """Columns of the table of sequences: a row for each sample and variant."""
    statement = pa.struct(
        [("actor", pa.int32()), ("kind", pa.string()), ("segment", pa.int32()), ("action", pa.string()), ("value", pa.string())]
    )
    caption = pa.struct([("text", pa.string()), ("kind", pa.string()), ("statements", pa.list_(statement))])
    segment = pa.struct(
        [
            ("action", pa.string()),
            ("parts", pa.list_(pa.string())),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("side", pa.string()),
            ("speed", pa.float32()),
            ("turn", pa.float32()),
            ("repetitions", pa.int32()),
        ]
    )
    actor = pa.struct(
        [
            ("person", pa.int64()),
            ("stature", pa.float32()),
            ("age", pa.float32()),
            ("male", pa.bool_()),
            ("left_handed", pa.bool_()),
            ("style", pa.string()),
            ("seat_height", pa.float32()),
            ("segments", pa.list_(segment)),
        ]
    )
    parameters = pa.struct(
        [(name, pa.float32()) for name in ("speed", "scale", "offset_x", "offset_z")] + [("mirrored", pa.bool_())]
    )
    return pa.schema(
        [
            ("sample", pa.int64()),
            ("variant", pa.string()),
            ("theme", pa.string()),
            ("length", pa.int32()),
            ("duration", pa.float32()),
            ("captions", pa.list_(caption)),
            ("actors", pa.list_(actor)),
            ("parameters", parameters),
        ]
    )


def _move(name: str, v: int, scenes: Scenes, parameters: VariantParameters, motion: Motion, library: Library, fps: int) -> None:
    # Position and mirror are defined on the base as stored, so they cost a copy; the others move differently.
    if name == "mirror":
        mirror(motion, 0, v)
    elif name == "position":
        shift(motion, 0, v, parameters.offset_x, parameters.offset_z)
    else:
        animate_into(scenes, library, fps, motion, v)


def _actors(scenes: Scenes, library: Library, segments: list[list[list[Row]]]) -> list[list[Row]]:
    persons, styles = scenes.persons, list(library.styles)
    columns = {
        "person": persons.index.tolist(),
        "stature": persons.stature.tolist(),
        "age": persons.age.tolist(),
        "male": persons.male.tolist(),
        "left_handed": persons.left_handed.tolist(),
        "style": [[styles[style] for style in row] for row in persons.style.tolist()],
        "seat_height": scenes.seat_height.tolist(),
    }
    names = list(columns)
    return [
        [
            {**dict(zip(names, (columns[name][i][a] for name in names), strict=True)), "segments": told}
            for a, told in enumerate(cast)
        ]
        for i, cast in enumerate(segments)
    ]


def _as_seen(told: Told, motion: Motion, variant: int, library: Library, fps: int) -> Told:
    """Take speeds, paths and directions from the joints: what is planned falls short where a start or the end cuts it."""
    rows = [row for row, facts in enumerate(zip(told.pace, told.path, told.direction, strict=True)) if any(facts)]
    variants, most = motion.joints.shape[1:3]
    owner = np.repeat(np.arange(len(told.bounds) - 1), np.diff(told.bounds))[rows]
    start, end, action = (np.array(column, np.int64)[rows] for column in (told.start, told.end, told.action))
    stretches = Stretches(owner // most * variants + variant, owner % most, start, end, action)
    evidence = look(motion.joints.reshape(-1, *motion.joints.shape[2:]), stretches, library, BOUNDS, fps)
    pace, path, direction = list(told.pace), list(told.path), list(told.direction)
    gaits = [library.action(name).gait for name in library.actions]
    for i, row in enumerate(rows):
        if pace[row]:
            pace[row] = SPEEDS.index(speed_seen(evidence, i, gaits[told.action[row]] or "", STEADY))
        if path[row]:
            path[row] = path[row] if PATHS[path[row]] == path_seen(evidence.turn[i]) else 0
        if direction[row]:
            direction[row] = DIRECTIONS.index(direction_seen(evidence.turn[i]))
    return replace(told, pace=pace, path=path, direction=direction)


def _describe(scenes: Scenes, motion: Motion, variant: int, library: Library, config: Config) -> Described:
    """Say who does what in each sequence."""
    told = _as_seen(tell(scenes, library, config.fps), motion, variant, library, config.fps)
    actors = _actors(scenes, library, visible_segments(scenes, library, config.fps, told))
    return captions(scenes, library, config, told=told), actors


def _variant_rows(
    name: str, scenes: Scenes, themes: list[str], parameters: VariantParameters, described: Described, fps: int
) -> list[Row]:
    words, actors = described
    one, zero = np.ones_like(parameters.speed), np.zeros_like(parameters.speed)
    speed = (parameters.speed if name == "speed" else one).tolist()
    scale = (parameters.scale if name == "scale" else one).tolist()
    x, z = ((o if name == "position" else zero).tolist() for o in (parameters.offset_x, parameters.offset_z))
    lengths, seconds = scenes.length.tolist(), (scenes.length / np.float32(fps)).astype(np.float32).tolist()
    return [
        {
            "sample": sample,
            "variant": name,
            "theme": theme,
            "length": lengths[i],
            "duration": seconds[i],
            "captions": words[i],
            "actors": actors[i],
            "parameters": {
                "speed": speed[i],
                "scale": scale[i],
                "offset_x": x[i],
                "offset_z": z[i],
                "mirrored": name == "mirror",
            },
        }
        for i, (sample, theme) in enumerate(zip(scenes.sample.tolist(), themes, strict=True))
    ]


def _checked(indices: ArrayLike) -> Array:
    samples = np.asarray(indices)
    if samples.ndim != 1 or (samples.size and samples.dtype.kind not in "iu"):
        msg = f"indices must be a list of whole numbers (got an array of shape {samples.shape} of {samples.dtype})"
        raise UsageError(msg)
    if samples.size and samples.min() < 0:
        msg = f"sample {samples.min()} does not exist: samples are numbered from 0"
        raise UsageError(msg)
    return samples.astype(np.int64)


def synthesize(config: Config, indices: ArrayLike) -> Batch:
    """Make samples, without a disk.

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
    names = variant_names(config)
    base_scenes = spread(plan(config, library, samples), library, config.fps)
    parameters = variant_parameters(config, samples)
    motion = empty_motion(len(samples), len(names), config.story.actors.max, config.frames)
    known_themes = list(library.themes)
    themes = [known_themes[theme] for theme in base_scenes.theme.tolist()]
    described: dict[str, Described] = {}
    rows: list[list[Row]] = []
    for v, name in enumerate(names):
        scenes = apply_variant(base_scenes, name, parameters)
        _move(name, v, scenes, parameters, motion, library, config.fps)
        # Elsewhere, the same is done by the same people: the words of the base serve.
        if name != "position":
            described[name] = _describe(scenes, motion, v, library, config)
        words = described["base" if name == "position" else name]
        rows.append(_variant_rows(name, scenes, themes, parameters, words, config.fps))
    sample_major = [variant[i] for i in range(len(samples)) for variant in rows]
    return Batch(samples, names, motion.joints, motion.action, motion.contact, sample_major)

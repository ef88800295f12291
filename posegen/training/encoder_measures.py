"""Measure with a trained retrieval model: the motion of a dataset, and what a model generates for captions of a test split.

Of a dataset: R-precision, diversity, and the distance to mocap. Motion is generated for one caption of each sample, taking
captions in turns, with the length and the body of the real clip, which a caption does not determine. Real clips and the mean
pose serve as references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import in_split
from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.distances import EncodedSpread, diversity, encoded_spread
from posegen.evaluation.plausibility import MEASURES, measure_clip
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress
from posegen.foundations.wording import table
from posegen.mocap.recordings import open_reference
from posegen.training.animate import GUIDANCE, STEPS, MotionClip, generate_poses, numbers_of, to_scene
from posegen.training.data.captions import open_captions
from posegen.training.data.poses import AVERAGE_BODY, body_of
from posegen.training.measures import Ranking, chance_of, pools, rank_pairs, ranks_of
from posegen.training.tasks.motion import EVALUATION, draw_noise
from posegen.training.trained_models import TrainedModel, encode_clips, encode_dataset, load_model, view_for

_RANKS = (1, 2, 3)
_POOL, _POOLS_PER_MOTION = 32, 3
"""Motions in a pool for R-precision as it is published (Guo et al., HumanML3D, 2022)."""
_WAYS = {"text_to_motion": "caption to motion", "motion_to_text": "motion to caption"}


@dataclass(frozen=True)
class EncoderMeasures:
    """Measures of a dataset by a trained encoder.

    Attributes
    ----------
    run : Path
        Folder of the training run.
    spread : EncodedSpread
    precision : dict of str to Ranking
    distance : float
        Mean distance of a motion to its captions.
    """

    run: Path
    spread: EncodedSpread
    precision: dict[str, Ranking]
    distance: float

    def document(self) -> dict[str, Any]:
        """Return the measures as one group."""
        return {"run": self.run, **asdict(self.spread), "precision": self.precision, "distance": self.distance}

    def text(self) -> str:
        """Return the measures as text."""
        spread, pool = self.spread, self.precision["text_to_motion"].pool
        shares = {label: self.precision[way].recall for way, label in _WAYS.items()}
        shares["chance"] = self.precision["text_to_motion"].chance
        ranks = [rank for rank in _RANKS if rank <= pool]
        rows = [(label, *(f"{100 * share[rank]:.1f} %" for rank in ranks)) for label, share in shares.items()]
        lines = [
            f"Encoder {self.run}, {spread.clips:,} clips (first variant of each sample):",
            table((f"R-precision, pool of {pool}", *(f"top {rank}" for rank in ranks)), rows),
            f"distance of a motion to its captions {self.distance:.3f}; between two motions {spread.diversity:.3f}",
        ]
        if spread.halves is not None:
            lines.append(f"Fréchet distance between two halves of the clips {spread.halves:.4f}")
        if spread.frechet is not None:
            other = f"{spread.reference_clips:,} intervals, mean distance {spread.reference_diversity:.3f}"
            lines.append(f"Fréchet distance to the reference {spread.frechet:.4f} ({other})")
        return "\n".join(lines)


def measure_by_encoder(
    run: Path, dataset: AnyPath, reference: AnyPath | None, samples: int | None, progress: Progress
) -> EncoderMeasures:
    """Encode a dataset and an optional reference, and measure the vectors.

    Raises
    ------
    UsageError
        If the model, or data that it needs, is missing.
    """
    trained, other = load_model(run, "embeds_captions"), None
    motion, text, words = encode_dataset(trained, dataset, samples, progress)
    if reference is not None:
        mocap = open_reference(reference, float(open_dataset(dataset).header.fps), lambda text: None)
        other = encode_clips(trained, ((clip.joints, clip.fps) for clip in mocap.recordings), mocap.name)
    precision = rank_pairs(motion, text, words, pool=_POOL, times=_POOLS_PER_MOTION)
    apart = np.linalg.norm(motion[:, None] - text, axis=-1)[words >= 0]
    return EncoderMeasures(run, encoded_spread(motion, other), precision, float(apart.mean()))


SAMPLES = 600
"""Default number of samples of the test split."""
REPEATED, TIMES = 32, 8
"""Number of captions for which motion is generated repeatedly, and number of repetitions."""

_PRECISE = 3
_ACTIONS = ("no action", "one action", "two actions", "three actions", "four actions or more")
_MEASURED = 150
"""Maximum number of clips whose plausibility is measured."""
_SHOWN = ("skate, strict", "skate, GMD", "penetration", "bone length", "limits", "overlap", "jerk")


@dataclass(frozen=True)
class Side:
    """How well a set of motions matches captions, and how plausible it is.

    Attributes
    ----------
    frechet : float
        Fréchet distance to the real set; for the real set, between its two halves.
    precision : float
        Share of the motions whose caption ranks among the first three of 32.
    precision_by_actions : dict of str to float
        The same for captions with one action, two actions and so on, in the same pools.
    diversity : float
        Mean distance between two motions.
    figures : dict of str to float
        Means over the clips for which they are defined; see :data:`posegen.evaluation.plausibility.MEASURES`. Empty for the
        mean motion.
    """

    frechet: float
    precision: float
    precision_by_actions: dict[str, float]
    diversity: float
    figures: dict[str, float]


@dataclass(frozen=True)
class AnimationMeasures:
    """Evaluation of the motion that a model generates for captions, with the real motion and the mean motion as controls.

    Attributes
    ----------
    clips : int
    made, real, mean : Side
    chance : float
        Precision of a random ranking.
    multimodality : float
        Mean distance between two motions generated for the same caption.
    """

    clips: int
    made: Side
    real: Side
    mean: Side
    chance: float
    multimodality: float

    def text(self, run: Path) -> str:
        """Return the measures of the model of a run as text."""
        sides = self.made, self.real, self.mean
        rows = [
            ("Fréchet distance to the real", *(f"{side.frechet:.4f}" for side in sides)),
            ("R-precision, top 3 of 32", *(f"{100 * side.precision:.1f} %" for side in sides)),
        ]
        for count in self.made.precision_by_actions:
            rows.append((f"captions with {count}", *(f"{100 * side.precision_by_actions[count]:.1f} %" for side in sides)))
        rows.append(("distance of two motions", *(f"{side.diversity:.3f}" for side in sides)))
        rows += [(name, *(f"{side.figures[name]:.4g}" for side in (self.made, self.real)), "") for name in _SHOWN]
        title = f"Motion of {run} for {self.clips:,} captions of the test split, one per sample"
        return "\n".join(
            [
                table(("", "generated", "real", "mean pose"), rows, title),
                "The Fréchet distance of the real motion is between its two halves.",
                f"R-precision by chance {100 * self.chance:.1f} %; "
                f"distance of two motions for one caption {self.multimodality:.3f}",
            ]
        )


def measure_animation(
    run: Path,
    path: AnyPath,
    retrieval_run: Path,
    samples: int | None,
    log: Callable[[str], None],
) -> AnimationMeasures:
    """Generate motion for captions of a dataset's test split with a model and measure it.

    Parameters
    ----------
    run : Path
        Run of the task motion.
    path : Path
        The dataset, embedded by the text encoder of both models.
    retrieval_run : Path
        Run of the task retrieval.
    samples : int or None
        Limit; None for :data:`SAMPLES`.
    log : callable
        Called with a description of each step.

    Raises
    ------
    UsageError
        If the runs, the dataset and its embeddings do not match, or the test split is too small.
    """
    trained, retrieval = load_model(run, "generates_motion"), load_model(retrieval_run, "embeds_captions")
    dataset = open_dataset(path)
    actors = view_for(trained, dataset)[1].actors
    view_for(retrieval, dataset)
    if retrieval.view.text_encoder != trained.view.text_encoder:
        encoders = f"{retrieval.view.text_encoder}, {run} with {trained.view.text_encoder}"
        raise UsageError(f"{retrieval_run}: was trained with the text encoder {encoders}; give runs with the same encoder")
    test = _Test(dataset, trained, retrieval, actors, samples or SAMPLES)
    fps = float(dataset.header.fps)
    log(f"generating motion for {len(test.samples)} captions")
    generated = test.generate(len(test.samples), 0)
    again = [test.generate(REPEATED, 1 + turn) for turn in range(TIMES)]
    log("embedding motion")
    real, made, mean = (_embedded(retrieval, scenes, fps, path) for scenes in (test.real, generated, test.still()))
    repeated = np.stack([_embedded(retrieval, scenes, fps, path) for scenes in again], axis=1)
    log("measuring plausibility")
    return AnimationMeasures(
        clips=len(test.real),
        made=test.side(made, _figures(generated, fps), real),
        real=test.side(real, _figures(test.real, fps), None),
        mean=test.side(mean, {}, real),
        chance=test.chance,
        multimodality=float(np.mean([diversity(turns) for turns in repeated])),
    )


def _embedded(retrieval: TrainedModel, scenes: Sequence[tuple[MotionClip, ...]], fps: float, path: AnyPath) -> Array:
    """Return the vector of each scene, float32 [scene, dimension]."""
    joints = (np.stack([clip.joints for clip in clips]) for clips in scenes)
    embedded = encode_clips(retrieval, ((every, fps) for every in joints), str(path))
    if len(embedded) != len(scenes):
        msg = f"{path}: some clips are longer than the retrieval model's; give one that was trained on such clips"
        raise UsageError(msg)
    return embedded


class _Test:
    """What motion is generated for: samples of a test split with a caption, the length and the bodies of each.

    Captions are taken in turns: the first of the first sample, the second of the second one.

    Attributes
    ----------
    samples : int64 [n]
    real : list of tuple of MotionClip
        The people of each clip.
    text : Tensor [n, given]
        Embeddings of the captions.
    chance : float
        Precision of a random ranking in pools of the captions.
    """

    def __init__(self, dataset: Dataset, trained: TrainedModel, retrieval: TrainedModel, actors: int, most: int) -> None:
        self.samples = samples = in_split(dataset.header.seed, np.arange(len(dataset)), "test")[:most]
        if len(samples) < REPEATED:
            raise UsageError(f"{dataset.path}: its test split has {len(samples)} samples; at least {REPEATED} are needed")
        captions = open_captions(dataset.path, dataset.header.shard, trained.view.text_encoder)
        every = captions.of(samples, np.zeros_like(samples))
        turn = np.arange(len(samples)) % np.maximum((every["row"] >= 0).sum(axis=1), 1)
        words, text = (every[name][np.arange(len(samples)), turn] for name in ("row", "text"))
        self.text = torch.from_numpy(text)
        with torch.inference_mode():
            self._encoded = retrieval.model.encode_text(self.text).numpy()  # type: ignore[operator]
        self._chosen = pools(len(text), _POOL)
        self._same = [words[pool][:, None] == words[pool] for pool in self._chosen]
        right = np.concatenate([same.sum(axis=1) for same in self._same])
        self.chance = float(chance_of(right, len(self._chosen[0]), _PRECISE).mean())
        rows = [dataset.rows(sample)[0]["captions"] for sample in samples.tolist()]
        stated = [own[own_turn]["statements"] if own else [] for own, own_turn in zip(rows, turn.tolist(), strict=True)]
        # In sequence or at the same time.
        actions = np.array([len({claim["segment"] for claim in own if claim["kind"] == "action"}) for own in stated])
        self._actions = np.minimum(actions[np.concatenate(self._chosen)], len(_ACTIONS) - 1)
        self.real, self._trained = _real_clips(dataset, samples), trained
        # Persons who are not there have the average body.
        absent = [np.array(AVERAGE_BODY)] * actors
        self._bodies = [np.stack([*(body_of(clip.joints) for clip in clips), *absent][:actors]) for clips in self.real]
        frames, stride = trained.view.frames, trained.view.stride
        self._lengths = torch.tensor([min(-(-len(clips[0].joints) // stride), frames) for clips in self.real])

    def side(self, vectors: Array, figures: dict[str, float], reference: Array | None) -> Side:
        """Measure vectors of motions, float [n, d], against those of a reference."""
        scores = (vectors[pool] @ self._encoded[pool].T for pool in self._chosen)
        precise = np.concatenate([ranks_of(*pair) for pair in zip(scores, self._same, strict=True)]) <= _PRECISE
        counts = np.unique(self._actions).tolist()
        by_actions = {_ACTIONS[count]: float(precise[self._actions == count].mean()) for count in counts}
        spread = encoded_spread(vectors, reference)
        frechet = spread.halves if reference is None else spread.frechet
        return Side(float(frechet or 0.0), float(precise.mean()), by_actions, spread.diversity, figures)

    def generate(self, count: int, turn: int) -> list[tuple[MotionClip, ...]]:
        """Return motion for the first captions, with the noise of a turn."""
        model, own = self._trained.model, self.samples[:count]
        drawn = draw_noise(own, np.zeros_like(own), turn, EVALUATION, self._trained.view.frames, 0.0, numbers_of(model))
        noise = torch.from_numpy(drawn["noise"])
        return self._scenes(generate_poses(model, self.text[:count], self._lengths[:count], noise, GUIDANCE, STEPS))

    def still(self) -> list[tuple[MotionClip, ...]]:
        """Return the mean pose for each body."""
        encoder: Any = self._trained.model.encoder
        return self._scenes(encoder.mean.expand(len(self.samples), self._trained.view.frames, -1))

    def _scenes(self, poses: Tensor) -> list[tuple[MotionClip, ...]]:
        view, own = self._trained.view, zip(poses, self._lengths.tolist(), self._bodies, strict=False)
        return [to_scene(clip[:length], bodies, view.fps, view.stride) for clip, length, bodies in own]


def _real_clips(dataset: Dataset, samples: Array) -> list[tuple[MotionClip, ...]]:
    """Read the actors of the first variant of samples."""
    clips = []
    for sample in samples.tolist():
        joints, contact = (dataset.arrays(name, slice(sample, sample + 1))[0, 0] for name in ("joints", "contact"))
        # Actors are numbered from 0, and all have the length of the scene.
        present = ~np.isnan(joints[..., 0, 0])
        own = zip(joints, contact, present, strict=True)
        clips.append(tuple(MotionClip(j[there], c[there, :4] == 1) for j, c, there in own if there.any()))
    return clips


def _figures(scenes: list[tuple[MotionClip, ...]], fps: float) -> dict[str, float]:
    found = [
        measure_clip(Recording("", "", figure.joints.astype(np.float64), fps, figure.contact.astype(np.uint8)))
        for figures in scenes[:_MEASURED]
        for figure in figures
    ]
    columns = {name: np.array([clip[name] for clip in found]) for name in MEASURES}
    return {name: float(np.nanmean(values)) for name, values in columns.items() if np.isfinite(values).any()}

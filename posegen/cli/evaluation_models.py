"""Measurements of ``posegen evaluate`` that need mocap or trained models: --reference, --encoder and --animated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posegen.cli.options import table
from posegen.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from posegen.evaluation.distances import EncodedSpread
    from posegen.evaluation.realism import Reference
    from posegen.evaluation.recording import Recording
    from posegen.progress import Progress
    from posegen.training.animation.animate import MotionClip
    from posegen.training.measures.ranking import Ranking


_RANKS = (1, 2, 3)
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
    run: Path, dataset: Path, reference: Path | None, samples: int | None, progress: Progress
) -> EncoderMeasures:
    """Encode a dataset and an optional reference, and measure the vectors.

    Raises
    ------
    UsageError
        If the model, or data that it needs, is missing.
    """
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.inference import encode_clips, encode_dataset

    encoded = encode_dataset(run, dataset, samples, progress)
    other = None
    if reference is not None:
        mocap = reference_at(reference, float(open_dataset(dataset).header.fps), lambda text: None)
        other = encode_clips(run, ((clip.joints, clip.fps) for clip in mocap.recordings), mocap.name)
    return EncoderMeasures(run, encoded_spread(encoded.motion, other), encoded.precision(), encoded.distance())


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
    run: Path, dataset: Path, judge: Path, samples: int | None, log: Callable[[str], None], **how: Any
) -> AnimationMeasures:
    """Generate motion for captions with a model and measure it.

    Raises
    ------
    UsageError
        If the runs do not match the dataset.
    """
    import numpy as np

    from posegen.evaluation.distances import diversity, encoded_spread
    from posegen.training.animation.evaluation import generate_for_test_captions
    from posegen.training.inference import PRECISION_POOL
    from posegen.training.measures.ranking import chance_of, pools, ranks_of

    made = generate_for_test_captions(run, dataset, judge, log, samples=samples, **how)
    chosen = pools(0, len(made.real), PRECISION_POOL)
    same = [made.words[pool][:, None] == made.words[pool] for pool in chosen]
    actions = np.minimum(made.actions[np.concatenate(chosen)], len(_ACTIONS) - 1)

    def side(vectors: NDArray[Any], figures: dict[str, float], reference: NDArray[Any] | None) -> Side:
        scores = (vectors[pool] @ made.text[pool].T for pool in chosen)
        precise = np.concatenate([ranks_of(*pair) for pair in zip(scores, same, strict=True)]) <= _PRECISE
        by_actions = {_ACTIONS[count]: float(precise[actions == count].mean()) for count in np.unique(actions).tolist()}
        spread = encoded_spread(vectors, reference)
        frechet = spread.halves if reference is None else spread.frechet
        return Side(float(frechet or 0.0), float(precise.mean()), by_actions, spread.diversity, figures)

    log("measuring plausibility")
    right = np.concatenate([pool.sum(axis=1) for pool in same])
    return AnimationMeasures(
        clips=len(made.real),
        made=side(made.generated_vectors, _figures(made.generated, made.fps), made.real_vectors),
        real=side(made.real_vectors, _figures(made.real, made.fps), None),
        mean=side(made.mean_vectors, {}, made.real_vectors),
        chance=float(chance_of(right, len(chosen[0]), _PRECISE).mean()),
        multimodality=float(np.mean([diversity(turns) for turns in made.repeated])),
    )


def _figures(figures: list[MotionClip], fps: float) -> dict[str, float]:
    import numpy as np

    from posegen.evaluation.plausibility import MEASURES, measure_clip
    from posegen.evaluation.recording import Recording

    found = [
        measure_clip(Recording("", "", figure.joints.astype(np.float64), fps, figure.contact.astype(np.uint8)))
        for figure in figures[:_MEASURED]
    ]
    columns = {name: np.array([clip[name] for clip in found]) for name in MEASURES}
    return {name: float(np.nanmean(values)) for name, values in columns.items() if np.isfinite(values).any()}


MOST_FILES = 10_000


def reference_at(path: Path, fps: float, log: Callable[[str], None]) -> Reference:
    """Open the mocap at a path.

    Parameters
    ----------
    path : Path
    fps : float
        Frame rate to which .bvh files are resampled.
    log : callable
        Called with the detected joint names and unit of each .bvh file.

    Raises
    ------
    UsageError
        If the clips cannot be read; raised while reading them.
    """
    from posegen.evaluation.realism import Reference
    from posegen.evaluation.recording import read_reference

    files = _bvh_files(path)
    return Reference(str(path), _recordings(path, files, fps, log) if files else read_reference(path))


def _bvh_files(path: Path) -> list[Path]:
    if not path.is_dir() or (path / "dataset.json").exists():
        return []
    files = list(islice((file for file in path.rglob("*") if file.suffix.lower() == ".bvh"), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        msg = f"{path}: contains more than {MOST_FILES:,} .bvh files; choose a folder with fewer"
        raise UsageError(msg)
    return sorted(files)


def _recordings(path: Path, files: list[Path], fps: float, log: Callable[[str], None]) -> Iterator[Recording]:
    from posegen.dataset.clip_files import resample
    from posegen.evaluation.recording import Recording
    from posegen.exchange.bvh import read_bvh_figure

    for file in files:
        figure = read_bvh_figure(file)
        log(f"{file}: {figure.convention}, {figure.unit}, {len(figure.joints):,} frames at {figure.fps:.4g} FPS")
        # The subject is the folder, or the prefix of the file name, as in 07_01.bvh.
        person = file.stem.partition("_")[0] if file.parent == path else str(file.parent.relative_to(path))
        yield Recording(str(file.relative_to(path)), person, resample(figure.joints, figure.fps, fps), fps)

"""Measure a dataset with a trained retrieval model: R-precision, diversity, and the distance to mocap."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posegen.dataset.read import open_dataset
from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.distances import EncodedSpread, encoded_spread
from posegen.foundations.progress import Progress
from posegen.foundations.wording import table
from posegen.mocap.recordings import open_reference
from posegen.training.measures import Ranking
from posegen.training.trained_models import encode_clips, encode_dataset

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
    run: Path, dataset: AnyPath, reference: AnyPath | None, samples: int | None, progress: Progress
) -> EncoderMeasures:
    """Encode a dataset and an optional reference, and measure the vectors.

    Raises
    ------
    UsageError
        If the model, or data that it needs, is missing.
    """
    encoded = encode_dataset(run, dataset, samples, progress)
    other = None
    if reference is not None:
        mocap = open_reference(reference, float(open_dataset(dataset).header.fps), lambda text: None)
        other = encode_clips(run, ((clip.joints, clip.fps) for clip in mocap.recordings), mocap.name)
    return EncoderMeasures(run, encoded_spread(encoded.motion, other), encoded.precision(), encoded.distance())

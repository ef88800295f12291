"""What ``posegen evaluate --encoder`` measures: the training stage encodes, the evaluation measures what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posegen.evaluation.distances import EncodedSpread
    from posegen.training.measures.ranking import Ranking

__all__ = ["Seen", "seen_by_encoder"]

_SHOWN = (1, 2, 3)
_WAYS = {"text_to_motion": "motion of a caption", "motion_to_text": "caption of a motion"}
_EVERY = 1000


@dataclass(frozen=True)
class Seen:
    """How a dataset looks to an encoder.

    Attributes
    ----------
    run : Path
        Of its training.
    spread : EncodedSpread
    precision : dict of str to Ranking
    distance : float
        Mean distance between a motion and its captions.
    """

    run: Path
    spread: EncodedSpread
    precision: dict[str, Ranking]
    distance: float

    def document(self) -> dict[str, Any]:
        """Give all of it as plain data."""
        ranked = {way: asdict(ranking) for way, ranking in self.precision.items()}
        return {"run": str(self.run), **asdict(self.spread), "precision": ranked, "distance": self.distance}

    def lines(self) -> list[str]:
        """Print it."""
        spread, pool = self.spread, self.precision["text_to_motion"].pool
        lines = ["", f"To the encoder of {self.run}, {spread.clips:,} clips of their samples' first variant:"]
        heads = [f"first {k}" if k > 1 else "first" for k in _SHOWN if k <= pool]
        lines.append(f"  {f'right in a pool of {pool}, of the':<34}" + "".join(f"{head:>9}" for head in heads))
        for way, told in _WAYS.items():
            ranking = self.precision[way]
            shares = "".join(f"{100 * ranking.recall[k]:8.1f}%" for k in _SHOWN if k in ranking.recall)
            lines.append(f"  {told:<34}{shares}")
        chance = self.precision["text_to_motion"].chance
        lines.append(f"  {'by chance':<34}" + "".join(f"{100 * chance[k]:8.1f}%" for k in _SHOWN if k in chance))
        lines.append(f"  distance of a motion and its captions {self.distance:.3f}, of two motions {spread.diversity:.3f}")
        if spread.halves is not None:
            lines.append(f"  Fréchet distance of one half of them from the other {spread.halves:.4f}")
        if spread.frechet is not None:
            lines.append(
                f"  Fréchet distance from the reference {spread.frechet:.4f}; its {spread.reference_clips:,} stretches are "
                f"{spread.reference_diversity:.3f} apart"
            )
        return lines


def seen_by_encoder(run: Path, dataset: Path, reference: Path | None, samples: int | None, tell: Callable[[str], None]) -> Seen:
    """Encode a dataset, and a reference if there is one, and measure the vectors.

    Raises
    ------
    UsageError
        If there is no such model, or what it needs is not there.
    """
    from posegen.cli.references import reference_at
    from posegen.dataset.read import open_dataset
    from posegen.evaluation.distances import encoded_spread
    from posegen.training.trained.encoding import encode_clips, encode_dataset

    def progress(done: int, total: int) -> None:
        if done // _EVERY > (done - 1) // _EVERY:
            tell(f"{done:,} of {total:,} clips encoded")

    encoded = encode_dataset(run, dataset, samples, progress)
    other = None
    if reference is not None:
        captured = reference_at(reference, float(open_dataset(dataset).header.fps), lambda told: None)
        other = encode_clips(run, ((clip.joints, clip.fps) for clip in captured.recordings), captured.name)
    return Seen(run, encoded_spread(encoded.motion, other), encoded.precision(), encoded.distance())

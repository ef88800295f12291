"""Fine-tuning of a table's encoder on the label: encoders with a head on their vectors, averaged with the model of columns.

A first encoder is trained without one fold, which decides the number of steps, and whether encoders are averaged with the
other model, and without the test rows, which it is measured on. The encoders that predict are trained on all rows. Their files
are ``RUN/tuning/ROUND-NUMBER.safetensors``: the trained weights only.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from safetensors.torch import load, save
from scipy.special import softmax
from torch.nn import functional

from posegen.dataset.files import write_durably
from posegen.embedding.models import FoundEncoder
from posegen.embedding.trainer import FineTuning, Trained, chosen_device, fine_tune, load_trainable, trained_weights, try_steps
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.progress import Progress
from posegen.tables.candidates import errors, heated, temperature_of
from posegen.tables.columns import Columns, Rows
from posegen.tables.settings import Tuning
from posegen.training.run_folder import read_checked

FOLDER = "tuning"
_SCALE = 20.0
"""Of cosines, so that probabilities can become small."""
_ADAPTER_RATE, _FULL_RATE = 2e-3, 1e-4
_AT_ONCE = 64


class Labelling(torch.nn.Module):
    """The loss: cross-entropy of categories, or the smooth absolute error of a standardised number."""

    def __init__(self, model: Any, columns: Columns, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.model, self.is_category = model, bool(columns.categories)
        self.head = torch.nn.Linear(model.get_embedding_dimension(), max(1, len(columns.categories)))
        self.to(model.device)

    def forward(self, sentence_features: Sequence[Mapping[str, torch.Tensor]], labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch."""
        vectors = functional.normalize(self.model(dict(sentence_features[0]))["sentence_embedding"], dim=1)
        outputs = self.head(_SCALE * vectors)
        if self.is_category:
            return functional.cross_entropy(outputs, labels.long())
        return functional.smooth_l1_loss(outputs[:, 0], labels.float())


@dataclass(frozen=True)
class Tuned:
    """Fine-tuned encoders of a model.

    Attributes
    ----------
    temperature : float or None
        Of their probabilities; see :func:`posegen.tables.candidates.heated`.
    center, spread : float
        Mean and standard deviation of a number that is predicted.
    encoder : str
        Fingerprint of the encoder that was fine-tuned.
    settings : Tuning
    files : dict of str to str
        Hashes of the files by name.
    """

    temperature: float | None
    center: float
    spread: float
    encoder: str
    settings: Tuning
    files: dict[str, str]


def sentences(rows: Rows, columns: Columns) -> list[str]:
    """Return each row as one text: its texts, then the names and values of its numbers and categories.

    Vectors have no words and are left to the other model.
    """
    found = []
    for row in range(len(rows)):
        numbers = [
            f"{name} {value:g}" for name, value in zip(columns.numbers, rows.numbers[row], strict=True) if value == value
        ]
        small = [f"{name} {value}" for name, value in zip(columns.small, rows.small[row], strict=True) if value]
        found.append(". ".join([*(texts[row] for texts in rows.texts.values() if texts[row]), *numbers, *small]))
    return found


def mixed(scores: Array, tuned: Array, columns: Columns) -> Array:
    """Return the mean of the scores of two models, of categories in logarithms.

    >>> columns = Columns("y", ("a", "b"), False, (), (), (), {}, (), {}, None)
    >>> mixed(np.array([[0.9, 0.1]]), np.array([[0.1, 0.9]]), columns).tolist()
    [[0.5, 0.5]]
    """
    if not columns.categories:
        return (scores + tuned) / 2
    return np.asarray(softmax((np.log(np.maximum(scores, 1e-6)) + np.log(np.maximum(tuned, 1e-6))) / 2, axis=1))


def steps_of(settings: Tuning, rows: int) -> int:
    """Return the number of steps of an encoder on a number of rows."""
    return min(settings.steps, settings.epochs * -(-rows // settings.batch))


def estimate_tuning(found: FoundEncoder, settings: Tuning, columns: Columns, rows: Rows, label: Array) -> tuple[float, int]:
    """Return the seconds that fine-tuning on rows takes, by a few steps, and the bytes of memory of the process."""
    loss = _loss(found, settings, columns, 0)
    chosen = np.arange(0, len(rows), max(1, len(rows) // (8 * settings.batch)))
    steps, (center, spread) = steps_of(settings, len(rows)), _standard(label)
    texts = sentences(rows.take(chosen), columns)
    data = {"text": texts, "label": _targets(label[chosen], columns, center, spread).tolist()}
    pilot = try_steps(loss, data, lambda: float(len(_scores(loss, texts, columns, center, spread))), _steps(settings, steps, 0))
    checks = settings.checks * pilot.check_seconds * len(rows) / 5 / max(1, len(chosen))
    return (1 + settings.members) * steps * pilot.step_seconds + checks, pilot.memory


@dataclass(frozen=True)
class Tuner:
    """Fine-tunes encoders on rows of a table.

    A first encoder is trained on a part of the rows, and measured on the others. Those that predict are trained on all rows.

    Attributes
    ----------
    found : FoundEncoder
    settings : Tuning
    columns : Columns
    rows : Rows
    label : float64 [row]
        As it is trained.
    folder : Path
        For the files and checkpoints.
    name : str
        First part of the names of the files.
    progress : Progress
    deadline : float or None
        End then, by ``time.monotonic``.
    """

    found: FoundEncoder
    settings: Tuning
    columns: Columns
    rows: Rows
    label: Array
    folder: Path
    name: str
    progress: Progress
    deadline: float | None

    def tune(self, known: Array, held: Array, test: Array, scores: Array, tolerance: float) -> tuple[Tuned | None, Array]:
        """Fine-tune the encoders.

        Parameters
        ----------
        known, held, test : int64 [row]
            Rows that the first encoder is trained on, those that decide whether it is used, and those that test the model.
        scores : float64 [row of held, category or 1]
            Calibrated scores of the other model, in cross-validation.
        tolerance : float
            Standard errors that the error of the average may be larger; if negative, that it must be smaller.

        Returns
        -------
        Tuned or None
            None if the average is not better on the fold, or if there was no time.
        outputs : float64 [row of held and test, category or 1]
            Calibrated scores of the first encoder; empty without.
        """
        settings, columns, label, log = self.settings, self.columns, self.label[held], self.progress.log
        texts, (center, spread) = np.array(sentences(self.rows, columns), object), _standard(self.label[known])
        targets, loss = _targets(self.label, columns, center, spread), _loss(self.found, settings, columns, 0)
        nothing, before = (None, scores[:0]), errors(scores, label, columns)

        def average() -> tuple[Array, float | None]:
            own = _scores(loss, texts[held], columns, center, spread)
            temperature = temperature_of(own, label) if columns.categories else None
            return errors(mixed(scores, heated(own, temperature), columns), label, columns), temperature

        log(f"fine-tune the encoder without {len(held):,} rows, which decide whether it is used")
        planned = steps_of(settings, len(known))
        tried = self._train("trial", loss, texts[known], targets[known], planned, lambda: -float(average()[0].mean()))
        if tried.stopped:
            return nothing
        error, temperature = average()
        log(f"error on these rows: {before.mean():.4f} without it, {error.mean():.4f} averaged with it")
        more = error - before
        if not more.mean() < tolerance * more.std() / np.sqrt(len(more)):
            return nothing
        measured = heated(_scores(loss, texts[np.concatenate([held, test])], columns, center, spread), temperature)
        # All rows have more batches in an epoch. Without early stopping, the schedule is the same.
        share = 1.0 if settings.patience is None else tried.best_step / planned
        steps = max(1, round(share * steps_of(settings, len(texts))))
        files = self._train_members(texts, targets, steps)
        tuned = Tuned(temperature, center, spread, self.found.fingerprint, settings, files)
        return (tuned, measured) if files else nothing

    def _train_members(self, texts: Array, targets: Array, steps: int) -> dict[str, str]:
        """Train the encoders that predict, as far as the deadline allows; return the hashes of their files by name."""
        files: dict[str, str] = {}
        for number in range(self.settings.members):
            path = self.folder / f"{self.name}-{number}.safetensors"
            if not path.is_file():
                self.progress.log(f"fine-tune encoder {number + 1} of {self.settings.members} on all rows, {steps:,} steps")
                loss = _loss(self.found, self.settings, self.columns, number)
                if self._train(str(number), loss, texts, targets, steps, seed=number).stopped:
                    break
                write_durably(path, save(trained_weights(loss)))
            files[path.name] = xxhash.xxh3_128_hexdigest(path.read_bytes())
        for done in self.folder.glob(f"{self.name}-*/"):
            shutil.rmtree(done)
        return files

    def _train(
        self, name: str, loss: Labelling, texts: Array, targets: Array, steps: int,
        measure: Callable[[], float] | None = None, seed: int = 0,
    ) -> Trained:  # fmt: skip
        data, run = {"text": texts.tolist(), "label": targets.tolist()}, self.folder / f"{self.name}-{name}"
        tuning = _steps(self.settings, steps, seed)
        return fine_tune(loss, data, measure, tuning, run, self.progress, self.deadline)


def tuned_scores(tuned: Tuned, found: FoundEncoder, folder: Path, rows: Rows, columns: Columns) -> Array:
    """Return the mean of the probabilities [row, category] or numbers [row, 1] of fine-tuned encoders.

    Raises
    ------
    PosegenError
        If a file is damaged or absent, or the encoder has changed.
    """
    if found.fingerprint != tuned.encoder:
        raise PosegenError(f"{found.name}: is another encoder than the one that was fine-tuned. Restore it, or train again")
    texts, scores = sentences(rows, columns), []
    for name, expected in tuned.files.items():
        data = read_checked(folder / name, expected, "Remove it and result.json, and run the training command again")
        loss = _loss(found, tuned.settings, columns, 0)
        loss.load_state_dict(load(data), strict=False)
        scores.append(_scores(loss, texts, columns, tuned.center, tuned.spread))
    return heated(np.mean(scores, axis=0), tuned.temperature)


def _loss(found: FoundEncoder, settings: Tuning, columns: Columns, seed: int) -> Labelling:
    device = chosen_device(settings.device)
    return Labelling(load_trainable(found, settings.rank, settings.tokens, device, seed), columns, seed)


def _steps(settings: Tuning, steps: int, seed: int) -> FineTuning:
    rate = settings.rate or (_FULL_RATE if settings.rank is None else _ADAPTER_RATE)
    return FineTuning(
        steps, settings.batch, settings.accumulated, rate, checks=settings.checks, patience=settings.patience,
        precision=settings.precision, device=settings.device, checkpointing=settings.checkpointing, workers=settings.workers,
        seed=seed,
    )  # fmt: skip


def _standard(label: Array) -> tuple[float, float]:
    return float(label.mean()), float(label.std()) or 1.0


def _targets(label: Array, columns: Columns, center: float, spread: float) -> Array:
    return label.astype(np.int64) if columns.categories else (label - center) / spread


def _scores(loss: Labelling, texts: Iterable[str], columns: Columns, center: float, spread: float) -> Array:
    """Return the probabilities of an encoder for texts, float64 [text, category], or numbers [text, 1]."""
    with torch.inference_mode():
        vectors = loss.model.encode(
            list(texts), batch_size=_AT_ONCE, prompt="", normalize_embeddings=True, convert_to_tensor=True,
            show_progress_bar=False,
        )  # fmt: skip
        outputs = np.asarray(loss.head(_SCALE * vectors).float().cpu().numpy(), np.float64)
    return np.asarray(softmax(outputs, axis=1)) if columns.categories else outputs * spread + center

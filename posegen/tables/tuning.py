"""Fine-tuning of a table's encoder on the label: encoders with a head on their vectors, averaged with the model of columns.

A first encoder is trained without one fold, which decides the number of steps, and whether encoders are averaged with the
other model, and without the test rows, which it is measured on. The encoders that predict are trained on all rows. Their files
are ``RUN/tuning/ROUND-NUMBER.safetensors``: the trained weights only.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from safetensors.torch import load, save
from torch.nn import functional

from posegen.dataset.files import write_durably
from posegen.embedding.models import FoundEncoder
from posegen.embedding.trainer import FineTuning, chosen_device, fine_tune, load_trainable, trained_weights, try_steps
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.progress import Progress
from posegen.tables.candidates import errors, heated, temperature_of
from posegen.tables.columns import Columns, Rows
from posegen.tables.settings import Tuning

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

    def outputs(self, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return logits [text, category], or standardised numbers [text, 1]."""
        vectors = functional.normalize(self.model(dict(features))["sentence_embedding"], dim=1)
        return self.head(_SCALE * vectors)  # type: ignore[no-any-return]

    def forward(self, sentence_features: Sequence[Mapping[str, torch.Tensor]], labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch."""
        outputs = self.outputs(sentence_features[0])
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
    steps : int
    center, spread : float
        Mean and standard deviation of a number that is predicted.
    encoder : str
        Fingerprint of the encoder that was fine-tuned.
    settings : Tuning
    files : dict of str to str
        Hashes of the files by name.
    """

    temperature: float | None
    steps: int
    center: float
    spread: float
    encoder: str
    settings: Tuning
    files: dict[str, str]


@dataclass(frozen=True)
class Trial:
    """Rows of the encoder by which fine-tuning is judged.

    Attributes
    ----------
    known, held, test : int64 [row]
        Rows that it is trained on, those that decide whether it is used, and those that test the model.
    scores : float64 [row of held, category or 1]
        Calibrated scores of the other model, in cross-validation.
    tolerance : float
        Standard errors by which the error of the average may be larger; by which it must be smaller if negative.
    """

    known: Array
    held: Array
    test: Array
    scores: Array
    tolerance: float


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
    logs = (np.log(np.maximum(scores, 1e-6)) + np.log(np.maximum(tuned, 1e-6))) / 2
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def steps_of(settings: Tuning, rows: int) -> int:
    """Return the number of steps of an encoder on a number of rows."""
    return min(settings.steps, settings.epochs * -(-rows // settings.batch))


def estimate_tuning(found: FoundEncoder, settings: Tuning, columns: Columns, rows: Rows, label: Array) -> tuple[float, int]:
    """Return the seconds that fine-tuning on rows takes, by a few steps, and the bytes of memory of the process."""
    loss = _loss(found, settings, columns, 0)
    sample, steps = rows.take(np.arange(0, len(rows), max(1, len(rows) // (8 * settings.batch)))), steps_of(settings, len(rows))
    known = label[:: max(1, len(rows) // (8 * settings.batch))][: len(sample)]
    texts = {"text": sentences(sample, columns), "label": _targets(known, columns, *_standard(label)).tolist()}
    pilot, _ = try_steps(loss, texts, lambda: float(len(_predicted(loss, texts["text"]))), _steps(settings, steps, 0))
    fold = len(rows) / 5
    checks = settings.checks * pilot.check_seconds * fold / max(1, len(sample))
    return (1 + settings.members) * steps * pilot.step_seconds + checks, pilot.memory


def tune(
    found: FoundEncoder, settings: Tuning, columns: Columns, rows: Rows, label: Array, trial: Trial, folder: Path, name: str,
    progress: Progress, deadline: float | None,
) -> tuple[Tuned | None, Array]:  # fmt: skip
    """Fine-tune encoders on rows.

    A first encoder is trained on a part of the rows, and measured on the others. Those that predict are trained on all rows.

    Parameters
    ----------
    found : FoundEncoder
    settings : Tuning
    columns : Columns
    rows : Rows
    label : float64 [row]
        As it is trained.
    trial : Trial
        Rows of the first encoder.
    folder : Path
        For the files and checkpoints.
    name : str
        First part of the names of the files.
    progress : Progress
    deadline : float or None
        End then, by ``time.monotonic``.

    Returns
    -------
    Tuned or None
        None if the average is not better on the fold, or if there was no time.
    outputs : float64 [row of the fold and the test, category or 1]
        Calibrated scores of the first encoder; empty without.
    """
    texts, (center, spread) = sentences(rows, columns), _standard(label[trial.known])
    targets, nothing = _targets(label, columns, center, spread), np.zeros((0, trial.scores.shape[1]))
    loss = _loss(found, settings, columns, 0)

    def scored(chosen: Array) -> Array:
        return _scores(_predicted(loss, [texts[i] for i in chosen]), columns, center, spread)

    def average() -> tuple[Array, float | None]:
        return _averaged(scored(trial.held), trial.scores, label[trial.held], columns)

    progress.log(f"fine-tune the encoder without {len(trial.held):,} rows, which decide whether it is used")
    trained = {"text": [texts[i] for i in trial.known], "label": targets[trial.known].tolist()}
    tried = fine_tune(
        loss, trained, lambda: -float(average()[0].mean()), _steps(settings, steps_of(settings, len(trial.known)), 0),
        folder / f"{name}-trial", progress=progress, deadline=deadline,
    )  # fmt: skip
    if tried.stopped:
        return None, nothing
    (error, temperature), before = average(), errors(trial.scores, label[trial.held], columns)
    progress.log(f"error on these rows: {before.mean():.4f} without it, {error.mean():.4f} averaged with it")
    if not _is_worth(error - before, trial.tolerance):
        return None, nothing
    measured = heated(scored(np.concatenate([trial.held, trial.test])), temperature)
    # All rows have more batches in an epoch. Without early stopping, the schedule is the same.
    share = 1.0 if settings.patience is None else tried.best_step / steps_of(settings, len(trial.known))
    steps = max(1, round(share * steps_of(settings, len(rows))))
    data = {"text": texts, "label": targets.tolist()}
    files = _train_members(found, settings, columns, data, steps, folder, name, progress, deadline)
    if not files:
        return None, nothing
    return Tuned(temperature, steps, center, spread, found.fingerprint, settings, files), measured


def _averaged(own: Array, scores: Array, label: Array, columns: Columns) -> tuple[Array, float | None]:
    """Return the errors of the mean of an encoder's scores and other ones, and the temperature of the encoder's."""
    temperature = temperature_of(own, label) if columns.categories else None
    return errors(mixed(scores, heated(own, temperature), columns), label, columns), temperature


def _is_worth(more: Array, tolerance: float) -> bool:
    """Return whether the mean of added errors is below `tolerance` times its standard error."""
    return bool(more.mean() < tolerance * more.std() / np.sqrt(len(more)))


def _train_members(
    found: FoundEncoder, settings: Tuning, columns: Columns, data: Mapping[str, Sequence[Any]], steps: int, folder: Path,
    name: str, progress: Progress, deadline: float | None,
) -> dict[str, str]:  # fmt: skip
    """Train the encoders that predict, as far as the deadline allows; return the hashes of their files by name."""
    files: dict[str, str] = {}
    for number in range(settings.members):
        path = folder / f"{name}-{number}.safetensors"
        if not path.is_file():
            progress.log(f"fine-tune encoder {number + 1} of {settings.members} on all rows, {steps:,} steps")
            loss, run = _loss(found, settings, columns, number), folder / f"{name}-{number}"
            trained = fine_tune(
                loss, data, None, _steps(settings, steps, number), run, progress=progress, deadline=deadline
            )  # fmt: skip
            if trained.stopped:
                break
            write_durably(path, save(trained_weights(loss)))
        files[path.name] = xxhash.xxh3_128_hexdigest(path.read_bytes())
    for done in folder.glob(f"{name}-*/"):
        shutil.rmtree(done)
    return files


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
    for path, expected in ((folder / name, expected) for name, expected in tuned.files.items()):
        data = path.read_bytes() if path.is_file() else b""
        if xxhash.xxh3_128_hexdigest(data) != expected:
            raise PosegenError(f"{path}: checksum mismatch. Remove it and result.json, and run the training command again")
        loss = _loss(found, tuned.settings, columns, 0)
        loss.load_state_dict(load(data), strict=False)
        scores.append(_scores(_predicted(loss, texts), columns, tuned.center, tuned.spread))
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


def _predicted(loss: Labelling, texts: Sequence[str]) -> Array:
    """Return the outputs of an encoder for texts, float64 [text, output]."""
    with torch.inference_mode():
        vectors = loss.model.encode(
            list(texts), batch_size=_AT_ONCE, prompt="", normalize_embeddings=True, convert_to_tensor=True,
            show_progress_bar=False,
        )  # fmt: skip
        return np.asarray(loss.head(_SCALE * vectors).float().cpu().numpy(), np.float64)


def _scores(outputs: Array, columns: Columns, center: float, spread: float) -> Array:
    if not columns.categories:
        return outputs * spread + center
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))

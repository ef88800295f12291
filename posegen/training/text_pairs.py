"""Fine-tune a text encoder on pairs of texts, and measure it on held-out pairs.

The pairs are those of a user's table (``posegen train --pairs``), or captions of a dataset (``--task text``); they are read by
:mod:`posegen.training.data.pairs`. The steps are those of :mod:`posegen.embedding.trainer`. This module chooses the loss,
measures retrieval and verification before and after, and writes the run's folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.sentence_transformer import losses
from torch import Tensor
from torch.nn import functional

from posegen.config.identity import differences, digest
from posegen.embedding import trainer
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.machine import PeakMemory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.training import hardware, report, run_folder, setup, verification
from posegen.training.data.feature_cache import require_space
from posegen.training.data.pairs import OwnPairs, read_captions, read_pairs
from posegen.training.estimate import Estimate, check_budget
from posegen.training.measures import ranks_of
from posegen.training.settings import NOT_CONTENT, Settings

ENCODER = "encoder"
_MOST_ANSWERS, _MOST_OTHERS = 10_000, 50_000
"""Most texts that are ranked for a query, and most pairs of different texts that are drawn for verification."""
_CHECKPOINTS, _BYTES_PER_WEIGHT = 12, 4
"""Copies of the trained weights in four checkpoints: weights and two moments; and bytes of each."""
_TWINS = 0.2
"""Share of the labelled negatives that are hard: those that the encoder found most similar before."""
_FARTHER, _LEAST_DISTANCE = 2.0, 1e-4
"""How many times as far from a caption as its other caption a hard negative should be."""


@dataclass(frozen=True, kw_only=True)
class PairRequest(setup.Request):
    """A request to train on pairs of texts.

    Attributes
    ----------
    columns : tuple of str
        Columns of texts of a table; empty: captions of a dataset.
    score : str or None
        Column of the score.
    """

    columns: tuple[str, ...] = ()
    score: str | None = None

    def pairs(self) -> OwnPairs:
        """Read the pairs."""
        if self.columns:
            return read_pairs(Path(self.source), self.columns, self.score)
        return read_captions(self.source, self.settings.data.samples)


_NO_PAIRS = verification.ScoredPairs(np.empty(0), np.empty((0, 2), np.int64))


@dataclass(frozen=True)
class Scores:
    """Cosines of the pairs of a split by an encoder.

    Attributes
    ----------
    cosines : float [pair]
    measures : dict of str to float
        ``r1``, ``r10``: share of the anchors with a right answer first, or among the first ten, of all other texts of the
        split; of triplets ``hard_r1``, the share of the anchors to which the answer is nearer than their negative; ``auc`` and
        ``tar``, the true accept rate at a false accept rate of 1 %, of all negatives, and with the prefix ``hard_`` of hard
        ones alone; ``spearman``, the rank correlation with numbers as scores.
    same, other : ScoredPairs
        Pairs that belong together, and others; none where the pairs have numbers as scores.
    hard : float [pair]
        Cosines of hard negatives: of the third column, or the labelled negatives that were most similar before the training.
    """

    cosines: Array
    measures: dict[str, float]
    same: verification.ScoredPairs = _NO_PAIRS
    other: verification.ScoredPairs = _NO_PAIRS
    hard: Array = field(default_factory=lambda: np.empty(0))


def score_pairs(model: Any, pairs: OwnPairs, split: str, most: int | None = None, before: Array | None = None) -> Scores:
    """Compare the pairs of a split by an encoder.

    Parameters
    ----------
    model : SentenceTransformer
    pairs : OwnPairs
    split : str
    most : int, optional
        Most pairs.
    before : float [pair], optional
        Cosines of the encoder before the training, which select hard negatives.
    """
    rows = pairs.splits[split][:most]
    texts = {name: [own[row] for row in rows.tolist()] for name, own in pairs.texts.items()}
    vectors = {name: _encode(model, own) for name, own in texts.items()}
    cosines = (vectors["anchor"] * vectors["positive"]).sum(axis=1)
    score = None if pairs.score is None else pairs.score[rows]
    right = np.ones(len(rows), bool) if score is None else score >= (score.min() + score.max()) / 2
    measures = _retrieval(texts, vectors, right) | {"pairs": float(len(rows))}
    if score is not None and not pairs.is_labelled:
        from scipy.stats import spearmanr

        measures["spearman"] = float(spearmanr(cosines, score).statistic) if len(rows) > 2 else math.nan
        return Scores(cosines, measures)
    same, other = (verification.ScoredPairs(cosines[own], np.flatnonzero(own)[:, None].repeat(2, 1)) for own in (right, ~right))
    earlier = (cosines if before is None else before)[~right]
    hard = other.score[np.argsort(-earlier, kind="stable")[: math.ceil(_TWINS * len(earlier))]]
    if score is None:
        other = _drawn_others(texts, vectors)
    if "negative" in vectors:
        hard = (vectors["anchor"] * vectors["negative"]).sum(axis=1)
        measures["hard_r1"] = float((cosines > hard).mean())
    for name, apart in (("", other.score), ("hard_", hard)):
        if len(same.score) and len(apart):
            measures[f"{name}auc"] = verification.verify_pairs(same.score, apart)["auc"]
            measures[f"{name}tar"] = verification.true_accept_rate(same.score, apart)
    return Scores(cosines, measures, same, other, hard)


def _encode(model: Any, texts: Sequence[str]) -> Array:
    prompt = model.prompts.get("document") or None
    vectors = model.encode(list(texts), prompt=prompt, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, np.float32)


def _retrieval(texts: dict[str, list[str]], vectors: dict[str, Array], right: Array) -> dict[str, float]:
    """Return how often a right answer of an anchor is first, and among the first ten, of the answers of the split."""
    if not right.any():
        return {"r1": math.nan, "r10": math.nan}
    answers = {text: i for i, text in reversed(list(enumerate(texts["positive"][:_MOST_ANSWERS])))}
    columns = {text: column for column, text in enumerate(answers)}
    anchors: dict[str, tuple[int, set[int]]] = {}
    for row in np.flatnonzero(right[:_MOST_ANSWERS]).tolist():
        anchors.setdefault(texts["anchor"][row], (row, set()))[1].add(columns[texts["positive"][row]])
    scores = vectors["anchor"][[row for row, _ in anchors.values()]] @ vectors["positive"][list(answers.values())].T
    is_right = np.zeros(scores.shape, bool)
    for query, (text, (_, own)) in enumerate(anchors.items()):
        is_right[query, list(own)] = True
        if text in columns:  # an anchor that is an answer to others as well is no answer to itself
            scores[query, columns[text]] = -np.inf
    ranks = ranks_of(scores, is_right)
    return {"r1": float((ranks == 1).mean()), "r10": float((ranks <= 10).mean())}


def _drawn_others(texts: dict[str, list[str]], vectors: dict[str, Array]) -> verification.ScoredPairs:
    """Return pairs of the anchor of a pair and the answer of another one, in other words than those of its own pair."""
    count = len(vectors["anchor"])
    offsets = np.arange(1, min(count, 1 + max(1, _MOST_OTHERS // max(1, count))))
    first = np.tile(np.arange(count), len(offsets))
    second = (first + np.repeat(offsets, count)) % max(1, count)
    anchor, positive = (np.array(texts[name], object) for name in ("anchor", "positive"))
    apart = (positive[second] != positive[first]) & (positive[second] != anchor[first])
    first, second = first[apart], second[apart]
    cosines = (vectors["anchor"][first] * vectors["positive"][second]).sum(axis=1)
    return verification.ScoredPairs(cosines, np.stack([first, second], axis=1))


def _load(found: FoundEncoder, settings: Settings) -> Any:
    device = trainer.chosen_device(settings.machine.device)
    return trainer.load_trainable(found, settings.adapter.rank, settings.text.max_tokens, device, settings.seed)


def _loss(model: Any, pairs: OwnPairs, settings: Settings) -> Any:
    scale, micro_batch = 1 / settings.text.temperature, settings.machine.micro_batch
    if pairs.score is not None:
        return losses.CoSENTLoss(model, scale=scale)
    if micro_batch is not None and micro_batch < settings.batch:
        # Each text is compared with all of the batch, however few are computed at a time.
        cached = CachedCaptionLoss if pairs.has_twins else losses.CachedMultipleNegativesRankingLoss
        return cached(model, scale=scale, mini_batch_size=micro_batch)
    return (CaptionLoss if pairs.has_twins else losses.MultipleNegativesRankingLoss)(model, scale=scale)


def twin_loss(query: Tensor, other: Tensor, hard: Tensor) -> Tensor:
    """Return the mean of log(1 + 2 a / b), with the distance a of a caption to the other one and b to its hard negative.

    To a pre-trained encoder a left and a right hand are almost the same, and the cosine of two equal unit vectors has no
    gradient, so InfoNCE does not separate them. The gradient of the logarithm grows as the distance shrinks. Since distances
    are compared, it fades only where a hard negative is farther than the other caption, wherever that is.

    Parameters
    ----------
    query, other, hard : Tensor [text, dimension]
    """
    own, distance = (1 - functional.cosine_similarity(query, each).clamp(max=1) for each in (other, hard))
    return torch.log1p(_FARTHER * own / (distance + _LEAST_DISTANCE)).mean()


class CaptionLoss(losses.MultipleNegativesRankingLoss):  # type: ignore[misc]
    """InfoNCE, and the loss of hard negatives."""

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        """Return the loss of the vectors of each column."""
        ranked: Tensor = super().compute_loss_from_embeddings(embeddings, labels)
        return ranked + 2 * twin_loss(*embeddings)


class CachedCaptionLoss(losses.CachedMultipleNegativesRankingLoss):  # type: ignore[misc]
    """The same for batches that are computed in parts."""

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:  # fmt: skip
        """Return the loss of the vectors of each column, in parts; with gradients of these on request."""
        ranked: Tensor = super().calculate_loss(reps, labels, with_backward=with_backward)
        near = 2 * twin_loss(*map(torch.cat, reps))
        if with_backward:
            near.backward()  # type: ignore[no-untyped-call]
        return ranked + (near.detach() if with_backward else near)


def _fine_tuning(settings: Settings, pairs: OwnPairs) -> trainer.FineTuning:
    machine, optimiser = settings.machine, settings.optimiser
    parts = -(-settings.batch // machine.micro_batch) if machine.micro_batch and pairs.score is not None else 1
    return trainer.FineTuning(
        settings.steps, min(settings.batch, len(pairs.splits["training"])), parts, optimiser.rate, optimiser.decay,
        optimiser.clip, optimiser.warmup, settings.checks.times, settings.checks.patience, machine.precision, machine.device,
        bool(machine.checkpointing), machine.workers or 0, settings.saving.seconds, settings.seed,
    )  # fmt: skip


def train_pairs(request: PairRequest, progress: Progress | None = None) -> run_folder.Result:
    """Fine-tune an encoder on pairs, or resume.

    Raises
    ------
    UsageError
        If the request is invalid, or the folder holds another run.
    PosegenError
        If a file is damaged, or the loss is not finite.
    """
    require_extra("train")
    require_extra("embed")
    display, settings = progress or Progress(), request.settings
    pairs = request.pairs()
    for note in pairs.notes:
        display.log(note)
    found = find_encoder(settings.text.encoder, notify=display.log)
    if settings.machine.threads is not None:
        torch.set_num_threads(settings.machine.threads)
    if request.only_estimate:
        return run_folder.Result(request.run, "text", 0, estimate=_start(request, pairs, found, display)[1])
    try:
        with run_folder.run_folder(request.run), PeakMemory() as memory:
            return _train_run(request, pairs, found, memory, display)
    finally:
        display.stop()


def _train_run(
    request: PairRequest, pairs: OwnPairs, found: FoundEncoder, memory: PeakMemory, progress: Progress
) -> run_folder.Result:  # fmt: skip
    run, settings, begun = request.run, request.settings, time.monotonic()
    record, estimate = run_folder.read_document(run, run_folder.RUN), None
    if record is None:
        record, estimate = _start(request, pairs, found, progress)
        check_budget(estimate, request.budget)
        require_space(run, estimate.disk_bytes)
        run_folder.write_document(run, run_folder.RUN, record)
    now = _identity(request, pairs, found)
    run_folder.refuse_other_run(run, differences({name: record.get(name) for name in now}, now))
    result = run_folder.read_result(run)
    if result is not None:
        return run_folder.Result(run, "text", result["steps"], None, True, result["measures"], result["seconds"])
    model = _load(found, settings)
    deadline = None if request.budget is None else begun + request.budget
    trained = trainer.fine_tune(
        _loss(model, pairs, settings), pairs_columns(pairs), lambda: _check(model, pairs, settings),
        _fine_tuning(settings, pairs), run / "checkpoints", progress, deadline,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    if trained.stopped:
        return run_folder.Result(run, "text", trained.steps, trained.stopped, seconds=seconds, estimate=estimate)
    measures = _finish(run, record, trained, model, pairs, memory, seconds, progress)
    return run_folder.Result(run, "text", trained.steps, None, False, measures, seconds, estimate)


def pairs_columns(pairs: OwnPairs) -> dict[str, list[Any]]:
    """Return the training pairs as columns of the trainer."""
    rows = pairs.splits["training"].tolist()
    columns: dict[str, list[Any]] = {name: [own[row] for row in rows] for name, own in pairs.texts.items()}
    return columns if pairs.score is None else columns | {"label": pairs.score[rows].tolist()}


def _check(model: Any, pairs: OwnPairs, settings: Settings) -> float:
    value = score_pairs(model, pairs, "validation", settings.checks.clips).measures[pairs.monitor]
    return 0.0 if math.isnan(value) else value


def _start(request: PairRequest, pairs: OwnPairs, found: FoundEncoder, progress: Progress) -> tuple[dict[str, Any], Estimate]:
    """Measure the encoder before the training, and a few steps; return the record of the run and its estimate."""
    settings, begun = request.settings, time.monotonic()
    device = trainer.chosen_device(settings.machine.device)
    with progress.working("measure the encoder and a few steps"):
        model = _load(found, settings)
        loss = _loss(model, pairs, settings)
        before = score_pairs(model, pairs, "test")
        tuning = _fine_tuning(settings, pairs)
        pilot = trainer.try_steps(loss, pairs_columns(pairs), lambda: _check(model, pairs, settings), tuning)
    training, checked = (len(pairs.splits[split]) for split in ("training", "validation"))
    clips = min(checked, settings.checks.clips)
    parameters = sum(weight.numel() for weight in trainer.trained_weights(loss).values())
    total = sum(weight.numel() for weight in model.parameters())
    estimate = Estimate(
        choosing_seconds=time.monotonic() - begun,
        start_seconds=0.0,
        step_seconds=pilot.step_seconds,
        clip_seconds=pilot.check_seconds / max(1, clips),
        steps=settings.steps,
        checks=settings.checks.times,
        checked_clips=clips,
        tested_clips=checked + len(pairs.splits["test"]),
        epoch_steps=-(-training // tuning.batch),
        sequences=training,
        parameters=parameters,
        memory_bytes=pilot.memory,
        gpu_bytes=pilot.gpu_memory,
        disk_bytes=_BYTES_PER_WEIGHT * (_CHECKPOINTS * parameters + total),
    )
    for line in estimate.summary():
        progress.log(line)
    kind = f"adapters of rank {settings.adapter.rank}" if settings.adapter.rank else "all weights"
    reasons = [
        hardware.Reason("device", device, "the GPU" if device == "cuda" else "no GPU"),
        hardware.Reason(
            "precision", trainer.chosen_precision(settings.machine.precision, device), "that of the device, unless it is given"
        ),
        hardware.Reason("weights", kind, f"{parameters:,} of {total:,} are trained"),
    ]
    record = _identity(request, pairs, found) | {
        "task": "text", "form": "pairs of a table" if request.columns else "captions", "source": request.source, "init": None,
        "data": {"name": request.source}, "settings": settings.model_dump(mode="json"),
        "reasons": [asdict(reason) for reason in reasons], "estimate": asdict(estimate),
        "rounds": [{"samples": len(pairs.texts["anchor"]), "first": 0}], "started": time.time(),
        "before": before.measures, "scores": before.cosines.astype(float).tolist(),
    }  # fmt: skip
    return record, estimate


def _identity(request: PairRequest, pairs: OwnPairs, found: FoundEncoder) -> dict[str, Any]:
    """Return what a run that is resumed must have in common with its beginning."""
    data = digest({"texts": pairs.texts, "score": None if pairs.score is None else pairs.score.tolist()})
    content = request.settings.model_dump(mode="json", exclude=NOT_CONTENT)
    return {"pairs": data, "columns": list(request.columns), "encoder": found.fingerprint, "content": content}


def _finish(
    run: Path, record: dict[str, Any], trained: trainer.Trained, model: Any, pairs: OwnPairs, memory: PeakMemory,
    seconds: float, progress: Progress,
) -> dict[str, float]:  # fmt: skip
    """Measure the trained encoder beside the one before, and write encoder, report and result."""
    model.eval()
    with progress.working("measure the encoder"):
        known = score_pairs(model, pairs, "validation")
        found = score_pairs(model, pairs, "test", before=np.array(record["scores"]))
    before, measures = record["before"], dict[str, float]()
    for name, value in found.measures.items():
        measures |= {name: value} if name == "pairs" else {name: value, f"{name}_before": before.get(name, math.nan)}
    with progress.working("write the encoder"):
        trainer.save_encoder(model, run / ENCODER)
    is_verified = all(len(scores.same.score) and len(scores.other.score) for scores in (known, found))
    test = found.same.score, found.other.score, found.hard
    rates = verification.verification_rates(known.same, known.other, *test) if is_verified else []
    device = trainer.chosen_device(record["settings"]["machine"]["device"])
    result = {
        "task": "text", "steps": trained.steps, "best_step": trained.best_step, "rounds": 1, "seconds": seconds,
        "measures": measures, "times": None,
        "memory": {"peak": memory.peak, "gpu_peak": torch.cuda.max_memory_allocated() if device == "cuda" else None,
                   "gpu_utilisation": None},
        "losses": trained.losses, "checks": [{"step": step, pairs.monitor: value} for step, value in trained.checks],
        "warnings": [], "table": {"rates": rates},
        "conditions": {"device": device, "threads": torch.get_num_threads(), "torch": torch.__version__},
    }  # fmt: skip
    report.write_report(run, record, result, pairs.monitor)
    return measures

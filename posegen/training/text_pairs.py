"""Fine-tune a text encoder on a user's own pairs of texts, and measure it on held-out pairs (``posegen train --pairs``).

The steps are those of :mod:`posegen.embedding.trainer`. This module reads and splits the pairs, chooses the loss, measures
retrieval and verification before and after, and writes the run's folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from posegen.config.identity import differences, digest
from posegen.dataset.lock import locked
from posegen.dataset.splits import split_groups
from posegen.dataset.table_files import read_table, text_columns
from posegen.embedding.models import FoundEncoder, find_encoder
from posegen.embedding.trainer import (
    FineTuning,
    Trained,
    chosen_device,
    chosen_precision,
    fine_tune,
    load_trainable,
    save_encoder,
    trained_weights,
    try_steps,
)
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.machine import PeakMemory
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.training.estimate import Estimate, check_budget
from posegen.training.hardware import Reason
from posegen.training.measures import ranks_of, true_accept_rate, verify_pairs
from posegen.training.report import write_report
from posegen.training.run_folder import RESULT, RUN, read_document, write_document
from posegen.training.settings import NOT_CONTENT, Settings
from posegen.training.train import Result
from posegen.training.verification import ScoredPairs, calibrated_rates

ENCODER = "encoder"
_FORM = "pairs of a table"
_SAME = {"1", "true", "yes", "same", "similar", "match", "equal", "duplicate", "positive"}
_DIFFERENT = {"0", "false", "no", "different", "other", "unequal", "unrelated", "negative"}
_MOST_ANSWERS, _MOST_OTHERS = 10_000, 50_000
"""Most texts that are ranked for a query, and most pairs of different texts that are drawn for verification."""
_MOST_HELD_OUT = 1000
"""Most validation and most test pairs of a table whose pairs hang together by shared texts."""
_TWINS = 0.2
"""Share of the labelled negatives that are hard: those that the encoder found most similar before."""


@dataclass(frozen=True)
class OwnPairs:
    """Pairs of texts.

    Attributes
    ----------
    texts : dict of str to list of str
        ``anchor``, ``positive`` and, of triplets, ``negative``.
    score : float64 [pair], or None
        Similarity; 1 and 0 for labels.
    splits : dict of str to int64 [n]
        Rows of each split. Splits share no text.
    notes : tuple of str
    """

    texts: dict[str, list[str]]
    score: Array | None
    splits: dict[str, Array]
    notes: tuple[str, ...]

    @property
    def is_labelled(self) -> bool:
        """Whether the score says only whether two texts are the same."""
        return self.score is not None and set(np.unique(self.score)) <= {0.0, 1.0}

    @property
    def monitor(self) -> str:
        """Name of the measure that selects the weights."""
        return "r1" if self.score is None else "auc" if self.is_labelled else "spearman"


@dataclass(frozen=True)
class PairRequest:
    """A request to train on pairs: the table, its columns, and the options of :class:`posegen.training.setup.Request`."""

    source: Path
    columns: tuple[str, ...]
    score: str | None
    preset: str
    settings: Settings
    out: Path | None = None
    budget: float | None = None
    only_estimate: bool = False

    @property
    def run(self) -> Path:
        """Folder of the run."""
        return self.out or Path("runs") / f"pairs-{self.source.stem}-{Path(self.preset).stem}"


def read_pairs(path: Path, columns: Sequence[str], score: str | None) -> OwnPairs:
    """Read the pairs of a table and divide them into splits, of which no two share a text where that is possible.

    Raises
    ------
    UsageError
        If columns are missing or do not hold texts and scores.
    """
    notes = list[str]()
    table = read_table(path, notes.append)
    if len(set(columns)) not in (2, 3) or (len(columns) == 3 and score is not None):
        raise UsageError("--pairs takes two columns of texts, A,B, or three without --score: ANCHOR,POSITIVE,NEGATIVE")
    for name in columns:
        require_known(f"{path}: has no column of texts", name, text_columns(table))
    cells = [[cell or "" for cell in table[name].to_pylist()] for name in columns]
    values = None if score is None else _scores(path, table, score)
    kept = [i for i, row in enumerate(zip(*cells, strict=True)) if all(map(str.strip, row))]
    if values is not None:
        kept = [i for i in kept if math.isfinite(values[i])]
        values = values[kept]
    if len(kept) < len(table):
        notes.append(f"{len(table) - len(kept):,} rows without text or score are left out")
    texts = {name: [own[i] for i in kept] for name, own in zip(("anchor", "positive", "negative"), cells, strict=False)}
    splits, dropped = _split(path, texts)
    if dropped:
        notes.append(f"{dropped:,} training pairs are left out, because a validation or test pair has one of their texts")
    return OwnPairs(texts, values, splits, tuple(notes))


def _scores(path: Path, table: pa.Table, column: str) -> Array:
    """Return scores, or 1 and 0 for labels; NaN where there is none."""
    require_known(f"{path}: has no column", column, table.column_names)
    cells = table[column].to_pylist()
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells):
        return np.array([math.nan if cell is None else float(cell) for cell in cells])
    words = [str(cell or "").strip().lower() for cell in cells]
    unknown = next((word for word in words if word and word not in _SAME | _DIFFERENT), None)
    if unknown is not None:
        raise UsageError(f"{path}: {column}: {unknown!r} is neither a number nor a label. Write 1 (same) or 0 (different)")
    return np.array([float(word in _SAME) if word else math.nan for word in words])


def _split(path: Path, texts: dict[str, list[str]]) -> tuple[dict[str, Array], int]:
    """Return splits of groups of pairs that share texts, and the number of training pairs that had to be left out."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    number = {text: i for i, text in enumerate(dict.fromkeys(text for own in texts.values() for text in own))}
    rows = np.array([[number[text] for text in own] for own in texts.values()])
    shape, ones = (len(number), len(number)), np.ones(rows.shape[1])
    edges = sum(csr_matrix((ones, (rows[0], other)), shape) for other in rows[1:])
    _, group = connected_components(edges, directed=False)
    groups = np.unique(group[rows[0]], return_inverse=True)[1] if rows.size else np.empty(0, np.int64)
    hang_together = bool(rows.size) and np.bincount(groups).max() > rows.shape[1] / 2
    groups = rows[0] if hang_together else groups
    if len(np.unique(groups)) < 3:
        raise UsageError(f"{path}: has too few pairs with different texts: each of three splits needs one. Add pairs")
    splits = split_groups(groups, 0)
    if not hang_together:
        return splits, 0
    # Anchors are divided, and training pairs with texts of held-out pairs go: the fewer are held out, the more are left.
    most = min(_MOST_HELD_OUT, max(1, rows.shape[1] // 20))
    held_out = {split: splits[split][:most] for split in ("validation", "test")}
    seen = np.unique(rows[:2, np.concatenate(list(held_out.values()))])
    training = np.flatnonzero(~np.isin(rows[:2], seen).any(axis=0))
    if not len(training):
        raise UsageError(f"{path}: each pair shares a text with a validation or test pair. Add pairs of other texts")
    return {**held_out, "training": training}, rows.shape[1] - len(training) - sum(map(len, held_out.values()))


def measure_pairs(
    model: Any, pairs: OwnPairs, split: str, most: int | None = None, before: Array | None = None
) -> dict[str, Any]:  # fmt: skip
    """Measure an encoder on the pairs of a split.

    Parameters
    ----------
    model : SentenceTransformer
    pairs : OwnPairs
    split : str
    most : int, optional
        Most pairs.
    before : float [pair], optional
        Cosines of the encoder before the training; the labelled negatives that were most similar are hard.

    Returns
    -------
    dict
        ``r1``, ``r10``: share of the anchors with a right answer first, or among the first ten, of all other texts of the
        split. For triplets and labels ``auc`` and ``tar``, the true accept rate at a false accept rate of 1 %, and both
        for hard negatives alone (``hard_``); for scores ``spearman``. ``scores`` and ``rates`` are not measures.
    """
    rows = pairs.splits[split][:most]
    texts = {name: [own[row] for row in rows.tolist()] for name, own in pairs.texts.items()}
    vectors = {name: _encode(model, own) for name, own in texts.items()}
    cosines = (vectors["anchor"] * vectors["positive"]).sum(axis=1)
    score = None if pairs.score is None else pairs.score[rows]
    right = np.ones(len(rows), bool) if score is None else score >= (score.min() + score.max()) / 2
    measures: dict[str, Any] = _retrieval(texts, vectors, right) | {"pairs": float(len(rows)), "scores": cosines}
    if score is not None and not pairs.is_labelled:
        from scipy.stats import spearmanr

        return measures | {"spearman": float(spearmanr(cosines, score).statistic) if len(rows) > 2 else math.nan}
    if score is None:
        others, ends = _drawn_others(texts, vectors)
        hard = (vectors["anchor"] * vectors["negative"]).sum(axis=1) if "negative" in vectors else np.empty(0)
    else:
        others, ends = cosines[~right], np.flatnonzero(~right)[:, None].repeat(2, 1)
        earlier = (cosines if before is None else before)[~right]
        hard = others[np.argsort(-earlier, kind="stable")[: math.ceil(_TWINS * len(earlier))]]
    for name, apart in (("", others), ("hard_", hard)):
        if right.any() and len(apart):
            found = verify_pairs(cosines[right], apart)
            measures |= {f"{name}auc": found["auc"], f"{name}tar": true_accept_rate(cosines[right], apart)}
    if right.any() and len(others):
        own = np.flatnonzero(right)[:, None].repeat(2, 1)
        measures["rates"] = calibrated_rates(ScoredPairs(cosines[right], own), ScoredPairs(others, ends))
    return measures


def _encode(model: Any, texts: Sequence[str]) -> Array:
    distinct = list(dict.fromkeys(texts))
    found = model.encode(
        distinct, prompt=model.prompts.get("document") or None, normalize_embeddings=True, show_progress_bar=False
    )  # fmt: skip
    number = {text: i for i, text in enumerate(distinct)}
    vectors: Array = np.asarray(found, np.float32)[[number[text] for text in texts]]
    return vectors


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


def _drawn_others(texts: dict[str, list[str]], vectors: dict[str, Array]) -> tuple[Array, Array]:
    """Return cosines of anchors and answers of other pairs, and the numbers of both pairs [pair, 2]."""
    count = len(texts["anchor"])
    offsets = np.arange(1, min(count, 1 + max(1, _MOST_OTHERS // max(1, count))))
    first = np.tile(np.arange(count), len(offsets))
    second = (first + np.repeat(offsets, count)) % max(1, count)
    cosines = (vectors["anchor"][first] * vectors["positive"][second]).sum(axis=1)
    return cosines, np.stack([first, second], axis=1)


def _loss(model: Any, pairs: OwnPairs, settings: Settings) -> Any:
    from sentence_transformers.sentence_transformer import losses

    scale, micro_batch = 1 / settings.text.temperature, settings.machine.micro_batch
    if pairs.score is not None:
        return losses.CoSENTLoss(model, scale=scale)
    if micro_batch is not None and micro_batch < settings.batch:
        # Each text is compared with all of the batch, however few are computed at a time.
        return losses.CachedMultipleNegativesRankingLoss(model, scale=scale, mini_batch_size=micro_batch)
    return losses.MultipleNegativesRankingLoss(model, scale=scale)


def _fine_tuning(settings: Settings, pairs: OwnPairs) -> FineTuning:
    machine, optimiser = settings.machine, settings.optimiser
    parts = -(-settings.batch // machine.micro_batch) if machine.micro_batch and pairs.score is not None else 1
    return FineTuning(
        settings.steps, min(settings.batch, len(pairs.splits["training"])), parts, optimiser.rate, optimiser.decay,
        optimiser.clip, optimiser.warmup, settings.checks.times, settings.checks.patience, machine.precision, machine.device,
        bool(machine.checkpointing), machine.workers or 0, settings.saving.seconds, settings.seed,
    )  # fmt: skip


def train_pairs(request: PairRequest, progress: Progress | None = None) -> Result:
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
    pairs = read_pairs(request.source, request.columns, request.score)
    for note in pairs.notes:
        display.log(note)
    found = find_encoder(settings.text.encoder, notify=display.log)
    if settings.machine.threads is not None:
        torch.set_num_threads(settings.machine.threads)
    if request.only_estimate:
        return Result(request.run, "text", 0, estimate=_start(request, pairs, found, display)[1])
    run = request.run
    is_new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        with locked(run), PeakMemory() as memory:
            return _train_run(request, pairs, found, memory, display)
    except UsageError:
        if is_new and not any(run.iterdir()):
            run.rmdir()
        raise
    finally:
        display.stop()


def _train_run(
    request: PairRequest, pairs: OwnPairs, found: FoundEncoder, memory: PeakMemory, progress: Progress
) -> Result:  # fmt: skip
    run, settings, begun = request.run, request.settings, time.monotonic()
    record, estimate = read_document(run, RUN), None
    if record is None:
        record, estimate = _start(request, pairs, found, progress)
        check_budget(estimate, request.budget)
        write_document(run, RUN, record)
    _check_same(run, record, _identity(request, pairs, found))
    result = read_document(run, RESULT)
    if result is not None:
        return Result(run, "text", result["steps"], None, True, result["measures"], result["seconds"])
    model = load_trainable(
        found, settings.adapter.rank, settings.text.max_tokens, chosen_device(settings.machine.device), settings.seed
    )
    deadline = None if request.budget is None else begun + request.budget
    trained = fine_tune(
        _loss(model, pairs, settings), pairs_columns(pairs), lambda: _check(model, pairs, settings),
        _fine_tuning(settings, pairs), run / "checkpoints", progress=progress, deadline=deadline,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    if trained.stopped:
        return Result(run, "text", trained.steps, trained.stopped, seconds=seconds, estimate=estimate)
    measures = _finish(run, record, trained, model, pairs, memory, seconds, progress)
    return Result(run, "text", trained.steps, None, False, measures, seconds, estimate)


def pairs_columns(pairs: OwnPairs) -> dict[str, list[Any]]:
    """Return the training pairs as columns of the trainer."""
    rows = pairs.splits["training"].tolist()
    columns: dict[str, list[Any]] = {name: [own[row] for row in rows] for name, own in pairs.texts.items()}
    return columns if pairs.score is None else columns | {"label": pairs.score[rows].tolist()}


def _check(model: Any, pairs: OwnPairs, settings: Settings) -> float:
    value = float(measure_pairs(model, pairs, "validation", settings.checks.clips)[pairs.monitor])
    return 0.0 if math.isnan(value) else value


def _start(request: PairRequest, pairs: OwnPairs, found: FoundEncoder, progress: Progress) -> tuple[dict[str, Any], Estimate]:
    """Measure the encoder before the training, and a few steps; return the record of the run and its estimate."""
    settings, begun = request.settings, time.monotonic()
    device = chosen_device(settings.machine.device)
    with progress.working("measure the encoder and a few steps"):
        model = load_trainable(found, settings.adapter.rank, settings.text.max_tokens, device, settings.seed)
        loss = _loss(model, pairs, settings)
        before = measure_pairs(model, pairs, "test")
        tuning = _fine_tuning(settings, pairs)
        pilot, _ = try_steps(loss, pairs_columns(pairs), lambda: _check(model, pairs, settings), tuning)
    training, checked = (len(pairs.splits[split]) for split in ("training", "validation"))
    clips = min(checked, settings.checks.clips)
    parameters = sum(weight.numel() for weight in trained_weights(loss).values())
    estimate = Estimate(
        time.monotonic() - begun, 0.0, pilot.step_seconds, pilot.check_seconds / max(1, clips), 0.0, settings.steps,
        settings.checks.times, clips, 0, len(pairs.splits["test"]), -(-training // tuning.batch), training, parameters,
        pilot.memory, pilot.gpu_memory,
    )  # fmt: skip
    for line in estimate.summary():
        progress.log(line)
    total = sum(weight.numel() for weight in model.parameters())
    kind = f"adapters of rank {settings.adapter.rank}" if settings.adapter.rank else "all weights"
    reasons = [
        Reason("device", device, "the GPU" if device == "cuda" else "no GPU"),
        Reason("precision", chosen_precision(settings.machine.precision, device), "that of the device, unless it is given"),
        Reason("weights", kind, f"{parameters:,} of {total:,} are trained"),
    ]
    record = _identity(request, pairs, found) | {
        "task": "text", "form": _FORM, "source": str(request.source), "init": None,
        "data": {"name": str(request.source)}, "settings": settings.model_dump(mode="json"),
        "reasons": [asdict(reason) for reason in reasons], "estimate": asdict(estimate),
        "rounds": [{"samples": len(pairs.texts["anchor"]), "first": 0}], "started": time.time(),
        "before": {name: value for name, value in before.items() if isinstance(value, float)},
        "scores": before["scores"].astype(float).tolist(),
    }  # fmt: skip
    return record, estimate


def _identity(request: PairRequest, pairs: OwnPairs, found: FoundEncoder) -> dict[str, Any]:
    """Return what a run that is resumed must have in common with its beginning."""
    data = digest({"texts": pairs.texts, "score": None if pairs.score is None else pairs.score.tolist()})
    content = request.settings.model_dump(mode="json", exclude=NOT_CONTENT)
    return {"pairs": data, "columns": list(request.columns), "encoder": found.fingerprint, "content": content}


def _check_same(run: Path, record: dict[str, Any], now: dict[str, Any]) -> None:
    changed = differences({name: record.get(name) for name in now}, now)
    if changed:
        listed = ", ".join(f"{key} was {old!r} and is {new!r}" for key, old, new in changed[:5])
        raise UsageError(f"{run}: holds another run: {listed}. Use the same settings, or train into another folder with --out")


def _finish(
    run: Path, record: dict[str, Any], trained: Trained, model: Any, pairs: OwnPairs, memory: PeakMemory, seconds: float,
    progress: Progress,
) -> dict[str, float]:  # fmt: skip
    """Measure the trained encoder beside the one before, and write encoder, report and result."""
    model.eval()
    with progress.working("measure the encoder"):
        found = measure_pairs(model, pairs, "test", before=np.array(record["scores"]))
    before = record["before"]
    measures: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, float):
            measures |= {name: value} if name == "pairs" else {name: value, f"{name}_before": before.get(name, math.nan)}
    with progress.working("write the encoder"):
        save_encoder(model, run / ENCODER)
    rates = [asdict(rate) for rate in found.get("rates", [])]
    device = chosen_device(record["settings"]["machine"]["device"])
    result = {
        "task": "text", "steps": trained.steps, "best_step": trained.best_step, "rounds": 1, "seconds": seconds,
        "measures": {name: None if math.isnan(value) else value for name, value in measures.items()}, "times": None,
        "memory": {"peak": memory.peak, "gpu_peak": torch.cuda.max_memory_allocated() if device == "cuda" else None,
                   "gpu_utilisation": None},
        "losses": trained.losses, "checks": [{"step": step, pairs.monitor: value} for step, value in trained.checks],
        "warnings": [], "table": {"rates": rates},
        "conditions": {"device": device, "threads": torch.get_num_threads(), "torch": torch.__version__},
    }  # fmt: skip
    write_report(run, record, result, pairs.monitor)
    write_document(run, RESULT, result)
    return measures

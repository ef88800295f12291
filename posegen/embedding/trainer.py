"""Fine-tune sentence encoders with the trainer of sentence-transformers: all weights, or low-rank adapters of peft.

Callers define texts, loss and measure. This module runs the steps: checkpoints, resumption, progress, estimate and deadline. No
checkpoint holds pickled objects other than tensors and numbers, and none is loaded without ``weights_only``.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import torch
import xxhash
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import PrinterCallback, TrainerCallback

from posegen.dataset.documents import Origin, seal, unseal
from posegen.dataset.files import write_durably
from posegen.embedding.models import FoundEncoder
from posegen.embedding.transformer import is_transformer, load_model, model_prompts
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import PeakMemory
from posegen.foundations.progress import Progress

CHECK = "eval_check"
_WEIGHTS, _RECEIPT = "weights.safetensors", "receipt.json"
_PILOT_STEPS = 5
_LOGGED = 100
"""Points of the curve of the loss."""
_ALPHA = 2
"""Factor on adapters, relative to their rank."""


@dataclass(frozen=True)
class FineTuning:
    """Settings of the steps.

    Attributes
    ----------
    steps, batch : int
    accumulated : int
        Parts of a batch whose gradients are accumulated.
    rate, decay, clip, warmup : float
        Highest learning rate, weight decay, largest norm of the gradient, share of the steps in which the rate rises.
    checks : int
        Number of evaluations of the measure; the weights of the best one are kept.
    patience : int or None
        End after this number of checks without improvement.
    precision : str or None
        ``32-true``, ``bf16-mixed`` or ``16-mixed``; None: bf16 on a GPU that has it, fp16 on another, float32 on a CPU.
    device : str or None
        ``cpu`` or ``cuda``; None: a GPU, if there is one.
    checkpointing : bool
        Recompute activations in the backward pass instead of storing them.
    workers : int
        Processes that tokenise.
    saving : float
        Seconds between two checkpoints.
    seed : int
    """

    steps: int
    batch: int = 32
    accumulated: int = 1
    rate: float = 5e-4
    decay: float = 0.01
    clip: float = 1.0
    warmup: float = 0.1
    checks: int = 5
    patience: int | None = None
    precision: str | None = None
    device: str | None = None
    checkpointing: bool = False
    workers: int = 0
    saving: float = 60.0
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """What was trained: steps, step of the best check, points of the loss, checks, and why it is not complete."""

    steps: int
    best_step: int
    losses: list[tuple[int, float]]
    checks: list[tuple[int, float]]
    stopped: str | None = None


@dataclass(frozen=True)
class Pilot:
    """Measured seconds of a step and of a check, and bytes of memory, of the process and on a GPU."""

    step_seconds: float
    check_seconds: float
    memory: int
    gpu_memory: int | None


def chosen_device(device: str | None) -> str:
    """Return ``cuda`` if there is a GPU, unless a device is given."""
    return device or ("cuda" if torch.cuda.is_available() else "cpu")


def chosen_precision(precision: str | None, device: str) -> str:
    """Return the precision of products: bf16 on a GPU that has it, fp16 on others, float32 on a CPU, unless one is given."""
    half = "bf16-mixed" if device == "cuda" and torch.cuda.is_bf16_supported() else "16-mixed"
    return precision or (half if device == "cuda" else "32-true")


def load_trainable(found: FoundEncoder, rank: int | None, max_tokens: int | None, device: str, seed: int) -> Any:
    """Return a SentenceTransformer whose weights, or low-rank adapters of a rank, can be trained.

    Raises
    ------
    UsageError
        If the encoder is no transformer.
    """
    if found.folder is None:
        raise UsageError(f"{found.name}: has no weights that could be trained here. Choose another with --encoder")
    model = load_model(found.folder, device)
    if not is_transformer(model):
        raise UsageError(f"{found.name}: is no transformer that could be trained here. Choose another with --encoder")
    document, query = model_prompts(found.name, dict(model.prompts), model.default_prompt_name)
    # The folder of a run has another name, from which the prompts could not be looked up.
    model.prompts = {"query": query, "document": document}
    if max_tokens is not None:
        model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
    if rank is not None:
        torch.manual_seed(seed)
        # Dropout would make the steps slower and, with few of them, not better.
        config = LoraConfig(r=rank, lora_alpha=_ALPHA * rank, lora_dropout=0.0, target_modules="all-linear")
        with _quiet():
            model[0].model = get_peft_model(model[0].model, config)
    return model


def save_encoder(model: Any, folder: Path) -> None:
    """Merge adapters into the weights of a model, and write it as sentence-transformers does, file by file durably."""
    if hasattr(model[0].model, "merge_and_unload"):
        model[0].model = model[0].model.merge_and_unload()
    with TemporaryDirectory(prefix="posegen-") as made:
        model.cpu().save(made, create_model_card=False)
        for path in sorted(path for path in Path(made).rglob("*") if path.is_file()):
            write_durably(folder / path.relative_to(made), path.read_bytes())


def trained_weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the weights of a module that are trained, by name, on the CPU."""
    return {
        name: weight.detach().cpu().contiguous().clone()
        for name, weight in module.named_parameters()
        if weight.requires_grad
    }  # fmt: skip


class _Trainer(SentenceTransformerTrainer):  # type: ignore[misc]
    """Stores trained weights only, as safetensors, and no arguments, which would be pickled."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        os.makedirs(output_dir or self.args.output_dir, exist_ok=True)
        save_file(trained_weights(self.loss), Path(output_dir or self.args.output_dir) / _WEIGHTS)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        self.loss.load_state_dict(load_file(Path(checkpoint_path) / _WEIGHTS), strict=False)

    def add_model_card_callback(self, default_args_dict: Any) -> None:
        """Write no model card."""

    def compute_loss(self, *given: Any, **options: Any) -> Any:
        """Return the loss of a batch; PosegenError if it is not finite."""
        loss = super().compute_loss(*given, **options)
        if not torch.isfinite(loss[0] if isinstance(loss, tuple) else loss):
            step = self.state.global_step + 1
            raise PosegenError(f"step {step:,}: the loss is not finite. Lower the learning rate: --set optimiser.rate=1e-5")
        return loss


class _Check(BaseEvaluator):  # type: ignore[misc]
    """Calls the measure of the caller."""

    def __init__(self, measure: Callable[[], float]) -> None:
        super().__init__()
        self.measure = measure

    def __call__(self, model: Any, *given: Any, **options: Any) -> dict[str, float]:
        return {"check": self.measure()}


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Reports steps, ends the training early, and writes a receipt beside each complete checkpoint."""

    def __init__(self, settings: FineTuning, progress: Progress, deadline: float | None) -> None:
        self.settings, self.progress, self.deadline = settings, progress, deadline
        self.saved, self.loss, self.stopped = time.monotonic(), "", False
        self.times: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        now = time.monotonic()
        self.times.append(now)
        self.progress.update(state.global_step, self.loss)
        self.stopped = self.deadline is not None and now > self.deadline and state.global_step < state.max_steps
        control.should_training_stop |= self.stopped
        control.should_save |= self.stopped or now - self.saved > self.settings.saving

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if "loss" in (logs or {}):
            self.loss = f"loss {logs['loss']:.3f}"

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        checks = [entry["step"] for entry in state.log_history if CHECK in entry]
        self.progress.log(f"check at step {state.global_step:,}: {state.log_history[-1].get(CHECK, 0):.3f}")
        later = sum(step > state.best_global_step for step in checks) if state.best_global_step else 0
        control.should_training_stop |= self.settings.patience is not None and later >= self.settings.patience

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.saved = time.monotonic()
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_durably(folder / _RECEIPT, seal(_hashes(folder)))


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.name != _RECEIPT)
    return {path.name: xxhash.xxh3_128_hexdigest(path.read_bytes()) for path in files}


def _intact_checkpoint(folder: Path) -> Path | None:
    """Return the last checkpoint whose files are those of its receipt, which is written last."""
    found = folder.glob(f"checkpoint-*/{_RECEIPT}")
    for receipt in sorted(found, key=lambda path: -int(path.parent.name.rpartition("-")[2])):
        try:
            if unseal(receipt.read_bytes(), Origin(str(receipt), "")) == _hashes(receipt.parent):
                return receipt.parent
        except (OSError, PosegenError):
            continue
    return None


@contextmanager
def _quiet() -> Any:
    """Keep the libraries from writing progress bars, advice and warnings."""
    datasets.disable_progress_bars()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _trainer(
    loss: Any, texts: Mapping[str, Sequence[Any]], measure: Callable[[], float] | None, settings: FineTuning, folder: Path,
    watch: _Watch,
) -> Any:  # fmt: skip
    device = chosen_device(settings.device)
    precision = chosen_precision(settings.precision, device)
    every = max(1, -(-settings.steps // settings.checks))
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder.resolve()),
        max_steps=settings.steps,
        per_device_train_batch_size=max(1, settings.batch // settings.accumulated),
        gradient_accumulation_steps=settings.accumulated,
        learning_rate=settings.rate,
        weight_decay=settings.decay,
        max_grad_norm=settings.clip,
        warmup_steps=settings.warmup,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": 0.01},
        prompts=loss.model.prompts.get("document") or None,
        bf16=precision == "bf16-mixed",
        fp16=precision == "16-mixed",
        tf32=True if device == "cuda" and torch.cuda.get_device_capability() >= (8, 0) else None,
        use_cpu=device == "cpu",
        batch_sampler="no_duplicates",
        dataloader_num_workers=settings.workers,
        dataloader_pin_memory=device == "cuda",
        eval_strategy="no" if measure is None else "steps",
        eval_steps=every,
        save_strategy="no" if measure is None else "steps",
        save_steps=every,
        save_total_limit=2,
        metric_for_best_model=None if measure is None else CHECK,
        greater_is_better=True,
        logging_steps=max(1, settings.steps // _LOGGED),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=settings.seed,
    )
    evaluator = None if measure is None else _Check(measure)
    rows = datasets.Dataset.from_dict({name: list(values) for name, values in texts.items()})
    trainer = _Trainer(loss.model, arguments, train_dataset=rows, loss=loss, evaluator=evaluator, callbacks=[watch])
    trainer.remove_callback(PrinterCallback)
    if settings.checkpointing:
        core = loss.model[0].model
        core.enable_input_require_grads()  # adapters need it, whose embeddings are frozen
        core.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return trainer


def try_steps(loss: Any, texts: Mapping[str, Sequence[Any]], measure: Callable[[], float], settings: FineTuning) -> Pilot:
    """Measure what a few steps and a check of the untrained model take. Weights are restored."""
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    watch = _Watch(settings, Progress(), None)
    with PeakMemory() as memory, TemporaryDirectory(prefix="posegen-") as folder, _quiet():
        start = time.monotonic()
        measure()
        check = time.monotonic() - start
        _trainer(loss, texts, None, replace(settings, steps=_PILOT_STEPS), Path(folder), watch).train()
        peak = memory.peak
    loss.load_state_dict(before)
    on_gpu = torch.cuda.max_memory_allocated() if chosen_device(settings.device) == "cuda" else None
    # The first step sets up much.
    return Pilot((watch.times[-1] - watch.times[0]) / (len(watch.times) - 1), check, peak, on_gpu)


def fine_tune(
    loss: Any,
    texts: Mapping[str, Sequence[Any]],
    measure: Callable[[], float] | None,
    settings: FineTuning,
    folder: Path,
    progress: Progress,
    deadline: float | None,
) -> Trained:
    """Train the weights of a loss that require gradients, from the last intact checkpoint in a folder.

    At the end the loss has the weights of the best check.

    Parameters
    ----------
    loss : Module
        A loss of sentence-transformers, with its model.
    texts : mapping of str to sequence
        Columns of texts in the order that the loss takes, and optionally the column ``label``.
    measure : callable or None
        Measures the model on a validation split; higher is better. None: the last step is the best.
    settings : FineTuning
    folder : Path
        For checkpoints.
    progress : Progress
    deadline : float or None
        Stop then, by ``time.monotonic``.

    Raises
    ------
    PosegenError
        If the loss is not finite.
    """
    watch = _Watch(settings, progress, deadline)
    with _quiet():
        trainer = _trainer(loss, texts, measure, settings, folder, watch)
        last = _intact_checkpoint(folder)
        done = 0 if last is None else int(last.name.rpartition("-")[2])
        if last is not None:
            progress.log(f"resuming from step {done:,}")
        progress.start("train", settings.steps, unit="steps", done=done)
        try:
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
        finally:
            progress.stop()
        state = trainer.state
        best = state.best_global_step or state.global_step
        if not watch.stopped and (folder / f"checkpoint-{best}").is_dir():
            trainer._load_from_checkpoint(str(folder / f"checkpoint-{best}"))
    losses, checks = ([(entry["step"], entry[key]) for entry in state.log_history if key in entry] for key in ("loss", CHECK))
    stopped = "the budget is used up; the same command resumes" if watch.stopped else None
    return Trained(state.global_step, best, losses, checks, stopped)

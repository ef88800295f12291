"""Models of a label of a user's own data: a number or a category of the rows of a table, or of clips.

The tasks ``text`` and ``attribute`` use it where ``table.label`` is given. A positive number is trained as its logarithm with
SMAPE as the loss, any other number with the Huber loss, a category with the cross entropy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.arrays import Array
from posegen.randomness import Stream, integers, normal, uniform
from posegen.training.data.captions import VOCABULARY
from posegen.training.data.columns import Columns
from posegen.training.data.features import LENGTH, MOTION, View
from posegen.training.data.tables import INPUTS, ROW_RECIPES, TARGET, decode_label, row_arrays
from posegen.training.measures import (
    balanced_accuracy,
    best_constant,
    errors_of,
    macro_f1,
    mean_error,
    repeated_errors,
    smape,
)
from posegen.training.models.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.models.rows import RowModel
from posegen.training.settings import Model
from posegen.training.task import Clips, CollectedOutputs, Network, Task, apply_to_motion, motion_network

RATIO, NUMBER, CATEGORY = "label: positive number", "label: number", "label: category"
_KINDS = (RATIO, NUMBER, CATEGORY)
_OF_MOTION = "motion, "
LABEL_FORMS = (*_KINDS, *(_OF_MOTION + kind for kind in _KINDS))
"""Forms of a task with a label."""

_EXAMPLE_WORDS = 16
_FEWEST_REPEATED = 20
"""Least number of rows from which a floor is estimated."""


def _columns(view: View) -> Columns:
    assert view.columns is not None, "checked by open_setup"
    return view.columns


class LabelledMotion(nn.Module):
    """Predicts the label of clips.

    Parameters
    ----------
    answers : int
        Number of outputs.
    settings : Model
    """

    def __init__(self, answers: int, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=ANY_SKELETON_SPREAD)
        self.answer = projection(2 * self.encoder.width, settings.dropout, answers)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Return scores of the categories, or one number as the label is encoded: Tensor [clip, answer]."""
        outputs: Tensor = self.answer(pooled(self.encoder(motion, length), frame_mask(motion, length)))
        return outputs.float()


def _build(view: View, settings: Model) -> nn.Module:
    answers, columns = len(view.answers) or 1, _columns(view)
    return RowModel(columns, answers, settings) if columns.texts else LabelledMotion(answers, settings)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    outputs: Tensor = model(clips["words"], clips["values"])
    return outputs


def _ratio_loss(outputs: Tensor, clips: Clips) -> Tensor:
    """Return SMAPE as a share, 2 tanh(|log a - log b| / 2)."""
    return 2 * torch.tanh((outputs[:, 0].float() - clips["target"]).abs() / 2).mean()


def _number_loss(outputs: Tensor, clips: Clips) -> Tensor:
    return functional.huber_loss(outputs[:, 0].float(), clips["target"])


def _category_loss(outputs: Tensor, clips: Clips) -> Tensor:
    return functional.cross_entropy(outputs.float(), clips["target"].long())


def _category_accuracy(outputs: Tensor, clips: Clips) -> Tensor:
    return (outputs.argmax(dim=1) == clips["target"]).float().mean()


class _Numbers(CollectedOutputs):
    """Compares predicted and true numbers."""

    names = ("target", "inputs")

    def measures(self) -> dict[str, float]:
        """Return SMAPE in per cent (of positive labels), MAE and R2 beside those of a constant, and ``skill``.

        ``skill`` is 1 - error / error of the constant, and undefined (NaN) if the constant has no error. Rows with equal inputs
        and different labels give ``floor``: the error of the best constant of the other rows with these inputs, beside the
        model's error of the same rows, ``repeated``.
        """
        columns = _columns(self.view)
        outputs, target, inputs = self.collected()
        predicted, true = decode_label(outputs[:, 0], columns), decode_label(target, columns)
        errors = errors_of(predicted, true) if columns.is_ratio else mean_error(predicted, true)
        constant = best_constant(true) if columns.is_ratio else float(np.median(true))
        name, measure = ("smape", smape) if columns.is_ratio else ("mae", _absolute_error)
        own, reference = measure(predicted, true), measure(np.full(len(true), constant), true)
        repeated = repeated_errors(predicted, true, inputs, is_ratio=columns.is_ratio)
        is_known = repeated.get("repeated_rows", 0) >= _FEWEST_REPEATED
        floors = {f"{name}_{kind}": value for kind, value in repeated.items()} if is_known else {}
        skill = 1 - own / reference if reference else math.nan
        constants = {f"{name}_constant": reference, "mae_median": _absolute_error(np.full(len(true), np.median(true)), true)}
        return {"skill": skill, **errors, **constants, **floors, _unit(self.view): float(len(true))}


class _Categories(CollectedOutputs):
    """Compares predicted and true categories."""

    names = ("target",)

    def _confusion(self) -> Array:
        outputs, target = self.collected()
        count = len(self.view.answers)
        confusion = np.zeros((count, count), np.int64)
        np.add.at(confusion, (target.astype(np.int64), outputs.argmax(axis=1)), 1)
        return confusion

    def measures(self) -> dict[str, float]:
        """Return balanced accuracy with its chance, macro-F1, accuracy, and that of predicting the commonest category.

        Balanced accuracy is the mean over the categories that are tested, and so is its chance.
        """
        confusion = self._confusion()
        rows = confusion.sum()
        return {
            "balanced_accuracy": balanced_accuracy(confusion),
            "chance": 1 / int((confusion.sum(axis=1) > 0).sum()),
            "macro_f1": macro_f1(confusion),
            "accuracy": float(np.trace(confusion) / rows),
            "commonest": float(confusion.sum(axis=1).max() / rows),
            _unit(self.view): float(rows),
        }

    def table(self) -> dict[str, Any]:
        """Return the confusion matrix: true category by predicted category."""
        return {"names": list(self.view.answers), "confusion": self._confusion().tolist()}


def _unit(view: View) -> str:
    return "rows" if _columns(view).texts else "clips"


def _absolute_error(predicted: Array, true: Array) -> float:
    return float(np.abs(predicted - true).mean())


def _describe_rows(model: nn.Module, table: pa.Table, view: View) -> dict[str, list[Any]]:
    """Return the predicted label of each row; of categories also the probability."""
    inputs = {name: torch.from_numpy(values) for name, values in row_arrays(table, _columns(view)).items()}
    return _described(model(**inputs), view)


def _describe_clips(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    return _described(outputs, view)


def _described(outputs: Tensor, view: View) -> dict[str, list[Any]]:
    columns = _columns(view)
    if not view.answers:
        return {columns.label: decode_label(outputs[:, 0].numpy(), columns).tolist()}
    probability, which = outputs.softmax(dim=1).max(dim=1)
    return {columns.label: [view.answers[i] for i in which.tolist()], "probability": probability.tolist()}


class _InUnits(nn.Module):
    """A :class:`RowModel` whose outputs are in the unit of the label, for texts alone or texts and numbers."""

    def __init__(self, model: nn.Module, columns: Columns, *, decodes: bool) -> None:
        super().__init__()
        self.model, self.columns, self.decodes = model, columns, decodes

    def forward(self, words: Tensor, values: Tensor | None = None) -> Tensor:
        given = words.new_zeros((words.shape[0], 0), dtype=torch.float32) if values is None else values
        outputs: Tensor = self.model(words, given)
        return _in_units(outputs, self.columns) if self.decodes else outputs


class _MotionInUnits(nn.Module):
    """A :class:`LabelledMotion` whose outputs are in the unit of the label."""

    def __init__(self, model: nn.Module, columns: Columns) -> None:
        super().__init__()
        self.model, self.columns = model, columns

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        return _in_units(self.model(motion, length), self.columns)


def _in_units(outputs: Tensor, columns: Columns) -> Tensor:
    numbers = outputs * columns.scale + columns.typical
    return numbers.exp() if columns.is_ratio else numbers


def _network(model: nn.Module, view: View) -> Network:
    columns = _columns(view)
    output = f"logits of {', '.join(view.answers)}" if view.answers else f"{columns.label}, in its unit"
    if not columns.texts:
        network = motion_network(model, view, output)
        return network if view.answers else replace(network, module=_MotionInUnits(model, columns))
    texts = len(columns.texts)

    def example(rows: int, words: int) -> dict[str, Array]:
        drawn = integers(uniform(0, np.arange(rows), Stream.AUGMENT, texts * words), 1, VOCABULARY - 1)
        drawn = drawn.reshape(rows, texts, words)
        drawn[:, :, 1:] *= np.arange(1, words) < words - 2 * np.arange(rows)[:, None, None]
        inputs = {"words": drawn.astype(np.int64)}
        if columns.values:
            drawn = normal(0, np.arange(rows), Stream.AUGMENT, columns.values)
            inputs["values"] = (drawn * np.array(columns.spread) + np.array(columns.centre)).astype(np.float32)
        return inputs

    shapes: dict[str, tuple[str | int, ...]] = {"words": ("row", texts, "word")}
    shapes |= {"values": ("row", columns.values)} if columns.values else {}
    return Network(_InUnits(model, columns, decodes=not view.answers), shapes, example, _EXAMPLE_WORDS, output)


def label_task(name: str, form: str) -> Task:
    """Return the task that predicts a label of the rows of a table, or of clips.

    Parameters
    ----------
    name : str
        Name of the task that it belongs to.
    form : str
        One of :data:`LABEL_FORMS`.
    """
    kind, of_motion = form.removeprefix(_OF_MOTION), form.startswith(_OF_MOTION)
    is_category = kind == CATEGORY
    return Task(
        name=name,
        recipes=(MOTION, LENGTH, TARGET, INPUTS) if of_motion else ROW_RECIPES,
        labels=("target",),
        build=_build,
        apply=apply_to_motion if of_motion else _apply,
        loss={RATIO: _ratio_loss, NUMBER: _number_loss, CATEGORY: _category_loss}[kind],
        tally=_Categories if is_category else _Numbers,
        monitor="balanced_accuracy" if is_category else "skill",
        chance="chance" if is_category else 0.0,
        accuracy=_category_accuracy if is_category else None,
        describe=_describe_clips if of_motion else None,
        describe_texts=None if of_motion else _describe_rows,
        network=_network,
        first_variant_only=True,
        takes_motion=of_motion,
        form=form,
    )


def task_of_label(name: str, view: View) -> Task:
    """Return the task of a name for the label of a view; see :attr:`posegen.training.task.Task.labelled`."""
    kind = CATEGORY if view.answers else RATIO if _columns(view).is_ratio else NUMBER
    return label_task(name, kind if _columns(view).texts else _OF_MOTION + kind)

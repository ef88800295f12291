"""The model of a label of a user's own clips: a number or a category, for the task ``attribute`` with ``table.label``.

A positive number is trained as its logarithm with SMAPE as the loss, any other number with the Huber loss, a category with the
cross entropy. Labels of tables are the matter of :mod:`posegen.tables`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.foundations.arrays import Array
from posegen.training.data.features import LENGTH, MOTION, Recipe, View
from posegen.training.data.labels import Label, decode_label
from posegen.training.measures import balanced_accuracy, best_constant, errors_of, macro_f1, mean_error, smape
from posegen.training.models.encoder import ANY_SKELETON_SPREAD, MotionEncoder, frame_mask, pooled, projection
from posegen.training.settings import Model
from posegen.training.task import (
    Abilities,
    Clips,
    CollectedOutputs,
    Forms,
    Network,
    Reading,
    Task,
    apply_to_motion,
    motion_network,
)

RATIO, NUMBER, CATEGORY = "motion, label: positive number", "motion, label: number", "motion, label: category"
LABEL_FORMS = (RATIO, NUMBER, CATEGORY)
"""Forms of a task with a label."""


def _field(name: str, fields: Mapping[str, Array], view: View) -> Array:
    return fields[name]


TARGET = Recipe("target", 1, ("target",), "float32", (), partial(_field, "target"))
"""The number of the label's category, or the label as :func:`posegen.training.data.labels.encode_label` encodes it."""


def _label(view: View) -> Label:
    assert view.label is not None, "checked by open_setup"
    return view.label


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

    names = ("target",)

    def measures(self) -> dict[str, float]:
        """Return SMAPE in per cent (of positive labels), MAE and R2 beside those of a constant, and ``skill``.

        ``skill`` is 1 - error / error of the constant, and undefined (NaN) if the constant has no error.
        """
        label = _label(self.view)
        outputs, target = self.collected()
        predicted, true = decode_label(outputs[:, 0], label), decode_label(target, label)
        errors = errors_of(predicted, true) if label.is_ratio else mean_error(predicted, true)
        constant = best_constant(true) if label.is_ratio else float(np.median(true))
        name, measure = ("smape", smape) if label.is_ratio else ("mae", _absolute_error)
        own, reference = measure(predicted, true), measure(np.full(len(true), constant), true)
        skill = 1 - own / reference if reference else math.nan
        constants = {f"{name}_constant": reference, "mae_median": _absolute_error(np.full(len(true), np.median(true)), true)}
        return {"skill": skill, **errors, **constants, "clips": float(len(true))}


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
            "clips": float(rows),
        }

    def table(self) -> dict[str, Any]:
        """Return the confusion matrix: true category by predicted category."""
        return {"names": list(self.view.answers), "confusion": self._confusion().tolist()}


def _absolute_error(predicted: Array, true: Array) -> float:
    return float(np.abs(predicted - true).mean())


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return the predicted label of each clip; of categories also the probability."""
    label = _label(view)
    if not view.answers:
        return {label.name: decode_label(outputs[:, 0].numpy(), label).tolist()}
    probability, which = outputs.softmax(dim=1).max(dim=1)
    return {label.name: [view.answers[i] for i in which.tolist()], "probability": probability.tolist()}


class _InUnits(nn.Module):
    """A :class:`LabelledMotion` whose outputs are in the unit of the label."""

    def __init__(self, model: nn.Module, label: Label) -> None:
        super().__init__()
        self.model, self.label = model, label

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        numbers: Tensor = self.model(motion, length) * self.label.scale + self.label.typical
        return numbers.exp() if self.label.is_ratio else numbers


def _network(model: nn.Module, view: View) -> Network:
    label = _label(view)
    network = motion_network(
        model, view, f"logits of {', '.join(view.answers)}" if view.answers else f"{label.name}, in its unit"
    )
    return network if view.answers else replace(network, module=_InUnits(model, label))


def label_task(name: str, form: str) -> Task:
    """Return the task that predicts a label of clips.

    Parameters
    ----------
    name : str
        Name of the task that it belongs to.
    form : str
        One of :data:`LABEL_FORMS`.
    """
    is_category = form == CATEGORY
    return Task(
        name=name,
        recipes=(MOTION, LENGTH, TARGET),
        labels=("target",),
        build=lambda view, settings: LabelledMotion(len(view.answers) or 1, settings),
        apply=apply_to_motion,
        loss={RATIO: _ratio_loss, NUMBER: _number_loss, CATEGORY: _category_loss}[form],
        tally=_Categories if is_category else _Numbers,
        monitor="balanced_accuracy" if is_category else "skill",
        chance="chance" if is_category else 0.0,
        accuracy=_category_accuracy if is_category else None,
        reading=Reading(first_variant_only=True),
        abilities=Abilities(describe=_describe, network=_network),
        forms=Forms(form=form),
    )


def task_of_label(name: str, view: View) -> Task:
    """Return the task of a name for the label of a view; see :attr:`posegen.training.task.Forms.labelled`."""
    return label_task(name, CATEGORY if view.answers else RATIO if _label(view).is_ratio else NUMBER)

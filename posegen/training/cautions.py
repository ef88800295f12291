"""Warnings about a trained model: results within chance, and splits with too few samples or categories.

What the data themselves call for, such as small batches, is the matter of :mod:`posegen.training.setup`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from posegen.foundations.arrays import Array
from posegen.training.task import Task

_ENOUGH_SAMPLES = 100
"""Fewer samples measure a share with a standard error of more than 5 %."""
_ERRORS = 2
"""Standard errors within which a share equals that of chance."""
_LEAST_SKILL = 0.05
"""Least share of the error of chance that a model removes. Only shares of right answers have a standard error."""
_MOST_NAMED = 5


def validation_warning(samples: int, unit: str) -> str | None:
    """Return a warning if a validation split is too small to select the weights by.

    Parameters
    ----------
    samples : int
        Independent samples of the split.
    unit : str
        Plural noun.

    Examples
    --------
    >>> validation_warning(25, "samples")
    'warning: only 25 samples select the weights, so checks that differ by less than 20 % may differ by chance. Generate more'
    """
    if samples >= _ENOUGH_SAMPLES:
        return None
    apart = 100 * _ERRORS * math.sqrt(0.25 / max(1, samples))
    return (
        f"warning: only {samples} {unit} select the weights, so checks that differ by less than {apart:.0f} % may differ by "
        "chance. Generate more"
    )


def chance_warning(task: Task, measures: Mapping[str, float], samples: int) -> str | None:
    """Return a warning if the monitored measure of a model is that of a model that learned nothing.

    Parameters
    ----------
    task : Task
    measures : dict of str to float
        Of the test split.
    samples : int
        Independent samples of it that have an answer.
    """
    if math.isnan(measures[task.monitor]):
        hint = "Add data, or choose another label"
        return f"warning: {task.monitor} is undefined: the answers of all {samples} tested are equal. {hint}"
    chance = measures.get(task.chance) if isinstance(task.chance, str) else task.chance
    if chance is None:
        return None
    is_share = task.accuracy is not None
    margin = _ERRORS * math.sqrt(chance * (1 - chance) / max(1, samples)) if is_share else _LEAST_SKILL * (1 - chance)
    value, hint = measures[task.monitor], "Train longer, --preset balanced, or on more samples"
    if value > chance + margin:
        return None
    if task.abilities.generates_motion:
        return (
            f"warning: generated motion hardly follows its text: {task.monitor} is {value:.3f} with the own caption of a clip "
            f"and {chance:.3f} with that of another clip. {hint}"
        )
    return f"warning: {task.monitor} is {value:.3f}, and {chance:.3f} by chance: the difference may be chance. {hint}"


def category_warning(categories: Array, splits: Mapping[str, Array]) -> str | None:
    """Return a warning that names the categories that a split lacks.

    Parameters
    ----------
    categories : str [sample]
        Category of each sample.
    splits : dict of str to int64 [n]
        Samples of each split.

    Examples
    --------
    >>> category_warning(np.array(["a", "b", "a"]), {"test": np.array([0]), "training": np.array([1, 2])})
    'warning: the test split lacks b, so the measures do not cover all categories. Add data of these, or merge rare categories'
    """
    lacking = []
    for split, samples in splits.items():
        absent = np.setdiff1d(categories, categories[samples]).tolist()
        if absent:
            more = f" and {len(absent) - _MOST_NAMED:,} more" if len(absent) > _MOST_NAMED else ""
            lacking.append(f"the {split} split lacks {', '.join(absent[:_MOST_NAMED])}{more}")
    if not lacking:
        return None
    hint = "Add data of these, or merge rare categories"
    return f"warning: {'; '.join(lacking)}, so the measures do not cover all categories. {hint}"

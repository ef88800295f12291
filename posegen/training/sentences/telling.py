"""What a trained classifier says of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from posegen.errors import UsageError
from posegen.training.trained.models import load_model

__all__ = ["families_told"]


def families_told(run: Path, texts: Sequence[str]) -> list[dict[str, float]]:
    """Tell how likely it is that texts tell of each family of actions.

    Parameters
    ----------
    run : Path
        Of ``posegen train --task text --set text.goal=families``.
    texts : sequence of str

    Returns
    -------
    list of dict of str to float
        For each text, by family; what is above .5 is said of it.

    Raises
    ------
    UsageError
        If the run has another model.
    PosegenError
        If it is damaged.

    Examples
    --------
    >>> families_told(Path("runs/families"), ["a person waves"])[0]["gestures"]  # doctest: +SKIP
    0.98
    """
    trained = load_model(run)
    if trained.task.name != "text" or not trained.view.answers:
        msg = f"{run}: its model does not tell families of texts. Train one with --task text --set text.goal=families"
        raise UsageError(msg)
    if not texts:
        return []
    with torch.inference_mode():
        likely = torch.sigmoid(trained.model(list(texts)))
    return [dict(zip(trained.view.answers, row, strict=True)) for row in likely.tolist()]

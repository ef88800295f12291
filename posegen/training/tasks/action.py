"""``action``: what somebody does, in each frame and in a clip as a whole.

A frame's action is what is laid over the body's (a wave), or else that of the whole body (a walk). A clip's action is the one
that most of its frames show; the model's answer for the clip is counted in the same way from its answers for the frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.data.features import ABSENT, ACTION, LENGTH, MOTION, View
from posegen.training.data.feed import LEAST_SPREAD
from posegen.training.models.encoder import MotionEncoder
from posegen.training.settings import Model
from posegen.training.task import Clips, Task

__all__ = ["TASK", "ActionModel"]


class ActionModel(nn.Module):
    """Scores of all actions for each frame.

    Parameters
    ----------
    actions : int
        How many there are.
    settings : Model
    """

    def __init__(self, actions: int, settings: Model) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=LEAST_SPREAD)
        self.score = nn.Linear(self.encoder.width, actions)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Score clips: Tensor [clip, frame, action]."""
        scores: Tensor = self.score(self.encoder(motion, length))
        return scores


def _build(view: View, settings: Model) -> nn.Module:
    return ActionModel(len(view.actions), settings)


def _apply(model: nn.Module, clips: Clips) -> Tensor:
    scores: Tensor = model(clips["motion"], clips["length"])
    return scores


def _loss(scores: Tensor, clips: Clips) -> Tensor:
    """Cross-entropy: the mean over each clip's frames, and of these means."""
    truth = clips["action"].long()
    each = functional.cross_entropy(scores.transpose(1, 2).float(), truth, ignore_index=ABSENT, reduction="none")
    return (each.sum(dim=1) / (truth != ABSENT).sum(dim=1).clamp(min=1)).mean()


class _Actions:
    """Confusion of frames and of clips."""

    def __init__(self, view: View) -> None:
        self._names = view.actions
        count = len(view.actions)
        self._frames = np.zeros((count, count), np.int64)
        self._clips = np.zeros((count, count), np.int64)
        self._long = np.zeros(2, np.int64)

    def add(self, said: Tensor, clips: Clips) -> None:
        truth, found = clips["action"].long().cpu(), said.argmax(dim=-1).cpu()
        known = truth != ABSENT
        pairs = truth[known] * len(self._names) + found[known]
        self._frames += torch.bincount(pairs, minlength=self._frames.size).reshape(self._frames.shape).numpy()
        true, most = _most_common(truth, known, len(self._names))
        answer, _ = _most_common(found, known, len(self._names))
        np.add.at(self._clips, (true.numpy(), answer.numpy()), 1)
        half = most * 2 >= known.sum(dim=1)
        self._long += [int(half.sum()), int((half & (true == answer)).sum())]

    def measures(self) -> dict[str, float]:
        """Tell top-1 and macro-F1 of clips and of frames, and what always saying the commonest action would get."""
        return {
            "clip_top1": _share(np.trace(self._clips), self._clips.sum()),
            "clip_macro_f1": _macro_f1(self._clips),
            "clip_balanced": _balanced(self._clips),
            "clip_top1_of_half": _share(self._long[1], self._long[0]),
            "frame_top1": _share(np.trace(self._frames), self._frames.sum()),
            "frame_macro_f1": _macro_f1(self._frames),
            "commonest": _share(self._clips.sum(axis=1).max(), self._clips.sum()),
            "clips": float(self._clips.sum()),
        }

    def table(self) -> dict[str, Any]:
        """Give the confusion of clips: true action by answer."""
        return {"names": list(self._names), "confusion": self._clips.tolist()}


def _most_common(actions: Tensor, known: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Count actions over the frames of each clip: the commonest, of equals the first by name, and its frames."""
    counts = torch.zeros(len(actions), count, dtype=torch.long)
    counts.scatter_add_(1, actions.clamp(min=0), known.long())
    most, which = counts.max(dim=1)
    return which, most


def _share(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else 0.0


def _macro_f1(confusion: np.ndarray[Any, Any]) -> float:
    """Mean of F1 over the actions that occur."""
    hits, true, said = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    occurs = true > 0
    return float((2 * hits[occurs] / (true + said)[occurs]).mean()) if occurs.any() else 0.0


def _balanced(confusion: np.ndarray[Any, Any]) -> float:
    true = confusion.sum(axis=1)
    occurs = true > 0
    return float((np.diag(confusion)[occurs] / true[occurs]).mean()) if occurs.any() else 0.0


def _tell(said: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """For each clip its action, the share of its frames that show it, and the action of each frame."""
    found = said.argmax(dim=-1).cpu()
    length = clips["length"].cpu()
    known = torch.arange(found.shape[1])[None, :] < length[:, None]
    which, most = _most_common(found, known, len(view.actions))
    return {
        "action": [view.actions[i] for i in which.tolist()],
        "share": (most / length.clamp(min=1)).tolist(),
        "frames": [[view.actions[i] for i in row[:n]] for row, n in zip(found.tolist(), length.tolist(), strict=True)],
    }


TASK = Task(
    name="action",
    recipes=(MOTION, LENGTH, ACTION),
    labels=("action",),
    build=_build,
    apply=_apply,
    loss=_loss,
    tally=_Actions,
    monitor="clip_top1",
    describe=_tell,
    vary_skeleton=True,
)

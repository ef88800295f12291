"""``action``: classify the action in each frame and in a whole clip.

The action of a frame is the overlaid action if there is one (a wave), else that of the whole body (a walk). The action of a
clip is that of most of its frames; the prediction for a clip is counted in the same way from the predictions for its frames.
Where samples have several actors, each of them is a clip.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.training.data.features import ABSENT, ACTION, FEATURES, LENGTH, MOTION, View
from posegen.training.encoder import ANY_SKELETON_SPREAD, MotionEncoder
from posegen.training.measures import balanced_accuracy, macro_f1
from posegen.training.settings import Model
from posegen.training.task import Abilities, Clips, Network, Reading, Tally, Task, apply_to_motion, motion_network


class ActionModel(nn.Module):
    """Scores of all actions in each frame.

    Parameters
    ----------
    view : View
    settings : Model
    numbers : int, optional
        Numbers per frame.
    """

    def __init__(self, view: View, settings: Model, numbers: int = FEATURES) -> None:
        super().__init__()
        self.encoder = MotionEncoder(settings.size, settings.dropout, least_spread=ANY_SKELETON_SPREAD, numbers=numbers)
        self.score = nn.Linear(self.encoder.width, len(view.actions))

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Score clips: Tensor [clip, frame, action]."""
        scores: Tensor = self.score(self.encoder(motion, length))
        return scores


def _loss(scores: Tensor, clips: Clips) -> Tensor:
    """Return the cross entropy: the mean over the frames of each clip, then over the clips."""
    truth = clips["action"].long()
    each = functional.cross_entropy(scores.transpose(1, 2).float(), truth, ignore_index=ABSENT, reduction="none")
    return (each.sum(dim=1) / (truth != ABSENT).sum(dim=1).clamp(min=1)).mean()


def _accuracy(scores: Tensor, clips: Clips) -> Tensor:
    """Return the share of frames whose action is right."""
    known = clips["action"] != ABSENT
    return ((scores.argmax(dim=-1) == clips["action"]) & known).sum() / known.sum().clamp(min=1)


class _Confusion(Tally):
    """Confusion matrices of frames and of clips."""

    def __init__(self, view: View) -> None:
        self._names, self._predicted = view.actions, view.predicted
        count = len(view.actions)
        self._frames = np.zeros((count, count), np.int64)
        self._clips = np.zeros((count, count), np.int64)
        self._majority = np.zeros(2, np.int64)

    def add(self, outputs: Tensor, clips: Clips) -> None:
        truth, predicted = clips["action"].long().cpu(), outputs[..., : self._predicted].argmax(dim=-1).cpu()
        known = truth != ABSENT
        pairs = truth[known] * len(self._names) + predicted[known]
        self._frames += torch.bincount(pairs, minlength=self._frames.size).reshape(self._frames.shape).numpy()
        true, most = _most_common(truth, known, len(self._names))
        answer, _ = _most_common(predicted, known, len(self._names))
        np.add.at(self._clips, (true.numpy(), answer.numpy()), 1)
        half = most * 2 >= known.sum(dim=1)
        self._majority += [int(half.sum()), int((half & (true == answer)).sum())]

    def measures(self) -> dict[str, float]:
        """Return top-1 accuracy and macro-F1 of clips and frames, and the accuracy of predicting the commonest action."""
        return {
            "clip_top1": _ratio(np.trace(self._clips), self._clips.sum()),
            "clip_macro_f1": macro_f1(self._clips),
            "clip_balanced": balanced_accuracy(self._clips),
            "clip_top1_of_half": _ratio(self._majority[1], self._majority[0]),
            "frame_top1": _ratio(np.trace(self._frames), self._frames.sum()),
            "frame_macro_f1": macro_f1(self._frames),
            "commonest": _ratio(self._clips.sum(axis=1).max(), self._clips.sum()),
            "clips": float(self._clips.sum()),
        }

    def table(self) -> dict[str, Any]:
        """Return the confusion matrix of clips: true action by predicted action."""
        return {"names": list(self._names), "confusion": self._clips.tolist()}


def _most_common(actions: Tensor, known: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the commonest action of each clip (of equal ones the first by name), and its number of frames."""
    counts = torch.zeros(len(actions), count, dtype=torch.long)
    counts.scatter_add_(1, actions.clamp(min=0), known.long())
    most, which = counts.max(dim=1)
    return which, most


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else 0.0


def _describe(outputs: Tensor, clips: Clips, view: View) -> dict[str, list[Any]]:
    """Return the action of each clip, the share of its frames with this action, and the action of each frame."""
    predicted = outputs[..., : view.predicted].argmax(dim=-1).cpu()
    length = clips["length"].cpu()
    known = torch.arange(predicted.shape[1])[None, :] < length[:, None]
    which, most = _most_common(predicted, known, len(view.actions))
    return {
        "action": [view.actions[i] for i in which.tolist()],
        "share": (most / length.clamp(min=1)).tolist(),
        "frames": [[view.actions[i] for i in row[:n]] for row, n in zip(predicted.tolist(), length.tolist(), strict=True)],
    }


def _network(model: nn.Module, view: View) -> Network:
    return motion_network(model, view, f"scores in each frame of {', '.join(view.actions)}")


TASK = Task(
    name="action",
    recipes=(MOTION, LENGTH, ACTION),
    labels=("action",),
    build=ActionModel,
    apply=apply_to_motion,
    loss=_loss,
    tally=_Confusion,
    monitor="clip_top1",
    chance="commonest",
    accuracy=_accuracy,
    reading=Reading(vary_skeleton=True, by_actor=True),
    abilities=Abilities(describe=_describe, network=_network),
)

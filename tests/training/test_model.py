"""The motion encoder ignores absent frames; measures of the task action equal naive ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from posegen.training.data.features import FEATURES, View
from posegen.training.settings import Model
from posegen.training.task import find_task
from posegen.training.tasks.action import TASK

VIEW = View(40, 6.25, 4, ("jump", "sit", "walk"))


def test_frames_behind_a_clip_are_ignored() -> None:
    torch.manual_seed(0)
    model = TASK.build(VIEW, Model(dropout=0.0)).eval()
    motion, length = torch.randn(2, 40, FEATURES), torch.tensor([40, 23])
    other = motion.clone()
    other[1, 23:] = 1e3
    with torch.inference_mode():
        one, two, short = model(motion, length), model(other, length), model(motion[1:, :23], length[1:])
    assert torch.equal(one[0], two[0])
    assert torch.equal(one[1, :23], two[1, :23])
    torch.testing.assert_close(one[1, :23], short[0], atol=1e-5, rtol=1e-4)


def test_measures_equal_the_naive_implementation() -> None:
    torch.manual_seed(1)
    truth, said = torch.randint(0, 3, (50, 40)), torch.randn(50, 40, 3)
    truth[:, :25] = truth[:, :1]
    truth[7, 30:] = -1
    said.scatter_add_(2, truth.clamp(min=0)[..., None], torch.full((50, 40, 1), 0.7))
    tally = TASK.tally(VIEW)
    for part in (slice(0, 20), slice(20, 50)):
        tally.add(said[part], {"action": truth[part]})
    found = tally.measures()
    frames, clips = [], []
    for clip in range(50):
        known = [f for f in range(40) if truth[clip, f] >= 0]
        pairs = [(int(truth[clip, f]), int(said[clip, f].argmax())) for f in known]
        frames += pairs
        clips.append(tuple(int(np.bincount([pair[i] for pair in pairs], minlength=3).argmax()) for i in (0, 1)))
    assert found["frame_top1"] == pytest.approx(np.mean([a == b for a, b in frames]))
    assert found["clip_top1"] == pytest.approx(np.mean([a == b for a, b in clips]))
    scores = []
    for name in range(3):
        hits = sum(a == b == name for a, b in clips)
        scores.append(2 * hits / (sum(a == name for a, _ in clips) + sum(b == name for _, b in clips)))
    assert found["clip_macro_f1"] == pytest.approx(np.mean(scores))
    assert 0.4 < found["clip_top1"] < 1


def test_features_that_hardly_vary_count_for_identity_only() -> None:
    spread = np.linspace(0.001, 1, FEATURES)
    for name, least in (("action", 0.1), ("retrieval", 0.1), ("identity", 0.01), ("attribute", 0.1)):
        model = find_task(name).build(replace(VIEW, text_dimension=8), Model())
        model.encoder.normalise_by(np.zeros(FEATURES), spread)  # type: ignore[union-attr, operator]
        kept = model.state_dict()["encoder.spread"]
        np.testing.assert_allclose(kept.numpy(), np.maximum(spread, least), rtol=1e-6)
        # The normalisation is saved with the model, so older models predict as before.
        model.load_state_dict({**model.state_dict(), "encoder.spread": torch.full((FEATURES,), 0.05)})
        assert (model.state_dict()["encoder.spread"] == 0.05).all()

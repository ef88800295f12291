"""A batch computed in micro-batches has the gradient of the whole batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from posegen.training.data.features import FEATURES, View
from posegen.training.loop.learner import apply_in_micro_batches
from posegen.training.settings import Contrast, Model, Settings
from posegen.training.task import find_task

VIEW = View(20, 6.25, 4, ("walk",), "some", 12)


def model_of(dropout: float) -> Any:
    torch.manual_seed(3)
    return find_task("retrieval").build(VIEW, Model(dropout=dropout))


def clips(count: int) -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(1)
    text = torch.randn(count, 2, 12, generator=drawn)
    return {
        "number": 7,
        "motion": torch.randn(count, 20, FEATURES, generator=drawn),
        "length": torch.randint(8, 21, (count,), generator=drawn),
        "text": torch.nn.functional.normalize(text, dim=-1),
        "row": torch.arange(2 * count).reshape(count, 2),
        "sample": torch.arange(count),
    }


def gradients(dropout: float, size: int) -> tuple[float, list[torch.Tensor]]:
    task, model, batch = find_task("retrieval"), model_of(dropout).train(), clips(7)
    torch.manual_seed(11)
    loss = task.loss(apply_in_micro_batches(task, model, batch, size), batch)
    loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach()), [parameter.grad for parameter in model.parameters()]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_the_gradient_is_that_of_the_whole_batch(size: int) -> None:
    whole, expected = gradients(0.0, 7)
    loss, actual = gradients(0.0, size)
    assert loss == pytest.approx(whole, rel=1e-5)
    for one, other in zip(actual, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_dropout_is_the_same_in_the_second_forward_pass() -> None:
    """The gradient equals that of stored activations."""
    task, model, batch = find_task("retrieval"), model_of(0.3).train(), clips(7)
    torch.manual_seed(11)
    arrays = {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}
    kept = [task.apply(model, {name: value[i : i + 3] for name, value in arrays.items()}) for i in (0, 3, 6)]
    task.loss(torch.cat(kept), batch).backward()  # type: ignore[no-untyped-call]
    _, actual = gradients(0.3, 3)
    for one, parameter in zip(actual, model.parameters(), strict=True):
        assert torch.allclose(one, parameter.grad, atol=1e-6)


def test_a_task_with_an_additive_loss_is_not_split() -> None:
    task = replace(find_task("retrieval"), needs_whole_batch=False)
    outputs = apply_in_micro_batches(task, model_of(0.0).eval(), clips(5), 2)
    assert torch.equal(outputs, task.apply(model_of(0.0).eval(), clips(5)))


def test_frames_after_the_end_of_a_clip_do_not_matter() -> None:
    task, model, batch = find_task("retrieval"), model_of(0.0).eval(), clips(4)
    batch["length"] = torch.tensor([8, 12, 19, 20])
    outputs = task.apply(model, batch)
    assert torch.allclose(outputs.norm(dim=-1), torch.ones(4, 3), atol=1e-5)
    for i, length in enumerate(batch["length"].tolist()):
        batch["motion"][i, length:] = 1e3
    assert torch.allclose(task.apply(model, batch), outputs, atol=1e-6)
    shorter = {name: value[:1, :8] if name == "motion" else value[:1] for name, value in batch.items() if name != "number"}
    assert torch.allclose(task.apply(model, shorter), outputs[:1], atol=1e-6)


def test_hard_negatives_and_the_kind_of_loss_change_the_loss() -> None:
    model, batch = model_of(0.0).eval().requires_grad_(False), clips(6)
    plain = find_task("retrieval")
    outputs = plain.apply(model, batch)
    without = {**batch, "text": batch["text"][:, :1], "row": batch["row"][:, :1]}
    missing = {**batch, "row": torch.where(torch.arange(2) == 1, -1, batch["row"])}
    assert float(plain.loss(outputs, missing)) == pytest.approx(float(plain.loss(plain.apply(model, without), without)))
    assert float(plain.loss(outputs, batch)) > float(plain.loss(outputs, missing))
    assert plain.forms.configure is not None
    other = plain.forms.configure(Settings(contrast=Contrast(loss="triplet", margin=0.5)))
    assert float(other.loss(outputs, batch)) != pytest.approx(float(plain.loss(outputs, batch)))

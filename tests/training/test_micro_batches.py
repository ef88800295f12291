"""A batch computed in micro-batches has the gradient of the whole batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posegen.training.data.features import FEATURES, View
from posegen.training.loop import apply_in_micro_batches
from posegen.training.settings import Model
from posegen.training.task import find_task

VIEW = View(20, 6.25, 4, ("walk",), "some", 12)


def model_of(dropout: float) -> Any:
    torch.manual_seed(3)
    return find_task("retrieval").build(VIEW, Model(dropout=dropout))


def clips(count: int) -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(1)
    text = torch.randn(count, 1, 12, generator=drawn)
    return {
        "number": 7,
        "motion": torch.randn(count, 20, FEATURES, generator=drawn),
        "length": torch.randint(8, 21, (count,), generator=drawn),
        "text": torch.nn.functional.normalize(text, dim=-1),
        "row": torch.arange(count)[:, None],
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

"""Contrastive losses against naive loops; in micro-batches their gradient is that of the whole batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from posegen.training.data.features import FEATURES, View
from posegen.training.loop import apply_in_micro_batches
from posegen.training.settings import Model
from posegen.training.task import find_task
from posegen.training.tasks.retrieval import info_nce, valid_pairs

VIEW = View(20, 6.25, 4, ("walk",), "some", 12)


def units(seed: int, *shape: int) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(drawn, dim=-1)


def random_pairs(seed: int, n: int, m: int) -> torch.Tensor:
    counts = torch.rand(n, m, generator=torch.Generator().manual_seed(seed)) < 0.6
    counts[torch.arange(n), torch.arange(n)] = True
    return counts


def naive_info_nce(motion: np.ndarray, text: np.ndarray, scale: float, counts: np.ndarray) -> float:
    n, total = len(motion), 0.0
    for i in range(n):
        texts = [math.exp(scale * float(motion[i] @ text[j])) for j in range(len(text)) if counts[i, j]]
        motions = [math.exp(scale * float(motion[j] @ text[i])) for j in range(n) if counts[j, i]]
        own = math.exp(scale * float(motion[i] @ text[i]))
        total += -math.log(own / sum(texts)) / (2 * n) - math.log(own / sum(motions)) / (2 * n)
    return total


@pytest.mark.parametrize("n", [1, 6, 9])
def test_the_loss_equals_a_naive_loop(n: int) -> None:
    motion, text, counts = units(1, n, 8), units(2, n, 8), random_pairs(3, n, n)
    expected = naive_info_nce(motion.numpy(), text.numpy(), 14.0, counts.numpy())
    assert float(info_nce(motion, text, 14.0, counts)) == pytest.approx(expected)


def test_equal_captions_and_variants_of_a_sample_are_no_negatives() -> None:
    captions = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    counts = valid_pairs(captions, torch.tensor([10, 11, 12, 10]), 0.7)
    assert counts.tolist() == [
        [True, False, True, False],  # 1 has the same words, 3 is of the same sample
        [False, True, True, True],
        [True, True, True, False],  # 3 is alike: 0.8
        [False, True, False, True],
    ]


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

"""Contrastive losses against naive loops, and invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.training.tasks.retrieval import info_nce, valid_pairs  # noqa: E402


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

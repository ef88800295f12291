"""Contrastive losses against naive loops, and invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.training.models.losses import info_nce, triplet, valid_pairs  # noqa: E402

NO_HARD = torch.zeros(0, 2), torch.zeros(0, dtype=torch.long)


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


def naive_triplet(motion: np.ndarray, text: np.ndarray, margin: float, counts: np.ndarray) -> float:
    ways: tuple[list[float], list[float]] = ([], [])
    for i in range(len(motion)):
        for j in range(len(text)):
            if i != j and counts[i, j]:
                score = float(motion[i] @ text[j])
                ways[0].append(max(0.0, margin + score - float(motion[i] @ text[i])))
                if j < len(motion):
                    ways[1].append(max(0.0, margin + score - float(motion[j] @ text[j])))
    return sum(sum(way) / max(1, sum(short > 0 for short in way)) for way in ways)


@pytest.mark.parametrize(("n", "hard"), [(1, 0), (6, 0), (6, 5), (9, 1)])
def test_losses_equal_naive_loops(n: int, hard: int) -> None:
    motion, text, counts = units(1, n, 8), units(2, n + hard, 8), random_pairs(3, n, n + hard)
    plain = (motion.numpy(), text.numpy())
    assert float(info_nce(motion, text, 14.0, counts)) == pytest.approx(naive_info_nce(*plain, 14.0, counts.numpy()))
    assert float(triplet(motion, text, 0.3, counts)) == pytest.approx(naive_triplet(*plain, 0.3, counts.numpy()))


def test_equal_vectors_have_the_loss_of_guessing() -> None:
    same = torch.ones(7, 4, dtype=torch.float64) / 2
    everything = torch.ones(7, 7, dtype=torch.bool)
    assert float(info_nce(same, same, 10.0, everything)) == pytest.approx(math.log(7))
    assert float(triplet(same, same, 0.2, everything)) == pytest.approx(0.4)


def test_the_order_of_pairs_does_not_matter() -> None:
    motion, text, counts = units(4, 8, 6), units(5, 8, 6), random_pairs(6, 8, 8)
    order = torch.tensor([3, 1, 7, 0, 2, 6, 5, 4])
    moved = counts[order][:, order]
    assert float(info_nce(motion[order], text[order], 5.0, moved)) == pytest.approx(float(info_nce(motion, text, 5.0, counts)))
    assert float(triplet(motion[order], text[order], 0.5, moved)) == pytest.approx(float(triplet(motion, text, 0.5, counts)))


def test_excluded_pairs_have_no_gradient() -> None:
    counts = torch.eye(4, 5, dtype=torch.bool)
    counts[0, 1] = counts[1, 0] = counts[2, 4] = True
    for loss in (lambda m, t: info_nce(m, t, 8.0, counts), lambda m, t: triplet(m, t, 2.0, counts)):
        motion, text = units(7, 4, 6).requires_grad_(), units(8, 5, 6).requires_grad_()
        loss(motion, text).backward()
        moved = [motion.grad.abs().sum(dim=1) > 1e-12, text.grad.abs().sum(dim=1) > 1e-12]  # type: ignore[union-attr]
        # Motion 3 and its caption have no negatives.
        assert moved[0].tolist() == [True, True, True, False]
        assert moved[1].tolist() == [True, True, True, False, True]


def test_equal_captions_and_variants_of_a_sample_are_no_negatives() -> None:
    captions = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    counts = valid_pairs(captions, torch.tensor([10, 11, 12, 10]), 0.7, *NO_HARD)
    assert counts.tolist() == [
        [True, False, True, False],  # 1 has the same words, 3 is of the same sample
        [False, True, True, True],
        [True, True, True, False],  # 3 is alike: 0.8
        [False, True, False, True],
    ]


def test_a_hard_negative_is_always_compared_with_its_own_motion() -> None:
    captions = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    hard = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    counts = valid_pairs(captions, torch.tensor([1, 2, 2]), 0.9, hard, torch.tensor([0, 1]))
    assert counts[:, :3].tolist() == valid_pairs(captions, torch.tensor([1, 2, 2]), 0.9, *NO_HARD).tolist()
    assert counts[:, 3:].tolist() == [[True, True], [True, True], [True, False]]


def test_pairs_are_learned() -> None:
    """Gradient descent on either loss brings each pair together, and no other."""
    everything = torch.ones(10, 10, dtype=torch.bool)
    for loss, constant in ((info_nce, 10.0), (triplet, 0.5)):
        motion, text = units(9, 10, 16), units(10, 10, 16)
        for _ in range(60):
            motion.requires_grad_()
            near = torch.nn.functional.normalize(motion, dim=-1)
            (slope,) = torch.autograd.grad(loss(near, text, constant, everything), motion)
            motion = (motion - slope).detach()
        assert (motion @ text.T).argmax(dim=1).tolist() == list(range(10))


def test_hard_pairs_are_verified_separately() -> None:
    from posegen.training.data.features import View
    from posegen.training.tasks.retrieval import TASK

    def unit(*angles: float) -> torch.Tensor:
        return torch.tensor([[np.cos(angle), np.sin(angle)] for angle in angles])

    # The cosines of captions are .980 and .995, those of hard negatives .955 and .989: three of four combinations are right.
    said = torch.stack([unit(0.0, 0.2, 0.3), unit(1.5, 1.6, 1.65)])
    clips = {"row": torch.tensor([[0], [1]]), "sample": torch.tensor([0, 1]), "hard_row": torch.tensor([[5], [6]])}
    tally = TASK.tally(View(10, 10.0, 1, ()))
    tally.add(said, clips)
    found = tally.measures()
    assert found["auc"] == 1
    assert found["hard_auc"] == 0.75
    assert found["hard_equal_error"] == pytest.approx(0.5, abs=0.2)

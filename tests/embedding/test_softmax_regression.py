"""Softmax regression: the model that scikit-learn fits, with the same bits on any number of cores."""

from __future__ import annotations

import numpy as np
import pytest

from posegen.arrays import Array
from posegen.embedding.softmax_regression import fit_softmax_regression


def _clouds(classes: int) -> tuple[Array, Array]:
    """Return overlapping clouds of points around a centre of each class, far from the origin; classes differ in size."""
    random = np.random.default_rng(7)
    label = np.repeat(np.arange(classes), 300 + 40 * np.arange(classes))
    centres = random.normal(size=(classes, 6)) + 3
    return (centres[label] + random.normal(size=(len(label), 6))).astype(np.float32), label


def _probabilities(inputs: Array, fitted: Array) -> Array:
    scores = inputs @ fitted[:, :-1].T + fitted[:, -1]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Array = powers / powers.sum(axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("inverse_strength", [10.0, 1e-3])
def test_the_fit_is_that_of_scikit_learn(inverse_strength: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    inputs, label = _clouds(5)
    fitted = fit_softmax_regression(inputs, label, inverse_strength, tolerance=1e-6, iterations=1000)
    model = linear_model.LogisticRegression(C=inverse_strength, tol=1e-6, max_iter=1000).fit(inputs.astype(np.float64), label)
    np.testing.assert_allclose(_probabilities(inputs, fitted), model.predict_proba(inputs), rtol=0, atol=1e-3)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    inputs, label = _clouds(4)
    one, three = (
        fit_softmax_regression(inputs, label, 1.0, tolerance=1e-4, iterations=50, threads=threads) for threads in (1, 3)
    )
    assert one.tobytes() == three.tobytes()


def test_one_class_has_no_direction() -> None:
    inputs, label = _clouds(1)
    assert not fit_softmax_regression(inputs, label, 1.0, tolerance=1e-4, iterations=50).any()

"""Fit softmax regression: the linear model of the probability of each class, as scikit-learn's LogisticRegression does.

Importing scikit-learn takes longer than this fit of the phrases of a dataset, and its products leave cores idle, or make them
wait for each other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from posegen.arrays import Array
from posegen.machine import available_cores

_BLOCK = 512
"""Rows whose probabilities are computed at a time, which fit into the cache of a core."""
_MAX_LINE_SEARCH = 50
_SMALLEST_DECREASE = 64 * np.finfo(np.float64).eps
"""Relative decrease of the loss at which the fit stops."""


def fit_softmax_regression(
    inputs: Array, classes: Array, inverse_strength: float, *, tolerance: float, iterations: int, threads: int | None = None
) -> Array:
    """Minimise the mean log loss and the squared norm of the coefficients, divided by 2 n `inverse_strength`.

    Parameters
    ----------
    inputs : float [n, dimension]
    classes : int [n]
        Class of each row, from 0 without gaps.
    inverse_strength : float
        Inverse strength of regularisation, scikit-learn's `C`.
    tolerance : float
        The fit stops when no derivative of the loss is larger.
    iterations : int
        Most iterations of L-BFGS.
    threads : int, optional
        Threads, one per core by default. The result has the same bits with any number of them.

    Returns
    -------
    float64 [classes, dimension + 1]
        Coefficients, and the intercept in the last column, which is not regularised.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    count, shape = len(inputs), (int(classes.max()) + 1, inputs.shape[1] + 1)
    # Without the mean, which the intercepts absorb, single precision reaches the tolerance in as many iterations as double.
    mean = inputs.mean(axis=0, dtype=np.float64)
    centred = np.ones((count, shape[1]), np.float32)
    centred[:, :-1] = inputs - mean
    blocks = [slice(first, first + _BLOCK) for first in range(0, count, _BLOCK)]
    shrinkage = 1 / (inverse_strength * count)

    def loss_of(flat: Array) -> tuple[float, Array]:
        """Return the loss and its derivatives; the sum over blocks has the same order with any number of threads."""
        weights = flat.reshape(shape)
        narrow = weights.astype(np.float32)
        found = pool.map(lambda block: _block_loss(centred[block], classes[block], narrow), blocks)
        loss, slope = 0.0, np.zeros(shape)
        for own_loss, own_slope in found:
            loss += own_loss
            slope += own_slope
        slope /= count
        slope[:, :-1] += shrinkage * weights[:, :-1]
        return loss / count + shrinkage / 2 * float((weights[:, :-1] ** 2).sum()), slope.ravel()

    options = {"maxiter": iterations, "gtol": tolerance, "ftol": _SMALLEST_DECREASE, "maxls": _MAX_LINE_SEARCH}
    with threadpool_limits(1), ThreadPoolExecutor(threads or available_cores(), "fitting") as pool:
        result = minimize(loss_of, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options=options)
    fitted: Array = result.x.reshape(shape)
    fitted[:, -1] -= fitted[:, :-1] @ mean
    return fitted


def _block_loss(inputs: Array, classes: Array, weights: Array) -> tuple[float, Array]:
    """Return the sum of the log losses of some rows, and its derivatives by the weights."""
    scores, rows = inputs @ weights.T, np.arange(len(inputs))
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[rows, classes]
    np.exp(scores, out=scores)
    total = scores.sum(axis=1)
    scores /= total[:, None]
    scores[rows, classes] -= 1
    return float((np.log(total) - own).sum(dtype=np.float64)), scores.T @ inputs

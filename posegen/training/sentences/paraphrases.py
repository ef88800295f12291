"""How well paraphrases are found: captions of one scene in different words, among those of other scenes, and beside captions
that differ in one statement.

The rules are those of :mod:`posegen.training.measures.ranking`. Captions take turns as what is asked and what is to be found;
where both have the same words, nothing is asked. Right are the scene's own caption, and what has its words or those of what is
asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.training.measures.ranking import pools, ranking_of, ranks_of
from posegen.training.sentences.alternatives import CHANGED

__all__ = ["POOL", "found_among_hard", "found_in_pools"]

Array = NDArray[Any]

POOL = 256
"""Scenes in a pool, of each one caption."""


def found_in_pools(vectors: Array, words: Array, pool: int = POOL) -> dict[str, float]:
    """Measure recall in pools of scenes.

    Parameters
    ----------
    vectors : float [scene, caption, dimension]
        Of unit length.
    words : int [scene, caption]
        The same number for the same words; -1, behind the others, where a scene has fewer captions.
    pool : int

    Returns
    -------
    dict of str to float
        ``r1``, ``r3``, ``r10`` as far as the pool is so large, ``median`` rank, ``chance_r1``, ``pool`` and ``questions``.
    """
    ranks, rights = [], []
    told = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    size = min(pool, len(told))
    for turn in range(words.shape[1]):
        for places in pools(0, len(told), size, turn):
            chosen = told[places]
            asked, right_one = _turn(words[chosen], turn)
            questions, answers = words[chosen, asked], words[chosen, right_one]
            valid = questions != answers
            scores = vectors[chosen, asked] @ vectors[chosen, right_one].T
            right = (answers[:, None] == answers) | (questions[:, None] == answers)
            if valid.any():
                ranks.append(ranks_of(scores[valid], right[valid]))
                rights.append(right[valid].sum(axis=1))
    if not ranks:
        return {}
    found = ranking_of(np.concatenate(ranks), np.concatenate(rights), size, (1, 3, 10))
    recalls = {f"r{k}": share for k, share in found.recall.items()}
    counted = {"pool": float(found.pool), "questions": float(found.questions)}
    return {**recalls, "median": found.median, "chance_r1": found.chance[1], **counted}


def found_among_hard(vectors: Array, words: Array, hard: Array, changes: Array) -> dict[str, float]:
    """Measure how often a paraphrase is nearer to a caption than all that differs from that caption in one statement.

    Parameters
    ----------
    vectors, words : as :func:`found_in_pools` takes them
    hard : float [scene, caption, alternative, dimension]
        Hard negatives of each caption.
    changes : int [scene, caption, alternative]
        Which kind of statement was changed; -1 where there is no hard negative.

    Returns
    -------
    dict of str to float
        ``hard_r1``, ``hard_chance`` and ``hard_questions``; for each kind that there is ``hard_KIND``, how often the paraphrase
        is nearer than one hard negative of this kind, half by chance.
    """
    first, chance, over = [], [], []
    told = np.flatnonzero((words >= 0).sum(axis=1) > 1)
    for turn in range(words.shape[1]):
        asked, right_one = _turn(words[told], turn)
        query, known = vectors[told, asked], changes[told, asked]
        own = (query * vectors[told, right_one]).sum(axis=-1)
        other = np.einsum("sd,sad->sa", query, hard[told, asked])
        valid = (words[told, asked] != words[told, right_one]) & (known >= 0).any(axis=1)
        nearer = own[:, None] > other
        first.append((nearer | (known < 0)).all(axis=1)[valid])
        chance.append(1 / (1 + (known[valid] >= 0).sum(axis=1)))
        over.append(np.stack([known[valid].ravel(), nearer[valid].ravel()], axis=1))
    right, by_chance, pairs = (np.concatenate(parts) for parts in (first, chance, over))
    if not len(right):
        return {}
    kinds = {
        f"hard_{name}": float(pairs[pairs[:, 0] == kind, 1].mean())
        for kind, name in enumerate(CHANGED)
        if (pairs[:, 0] == kind).any()
    }
    return {
        "hard_r1": float(right.mean()),
        "hard_chance": float(by_chance.mean()),
        "hard_questions": float(len(right)),
        **kinds,
    }


def _turn(words: Array, turn: int) -> tuple[Array, Array]:
    """Tell which caption of each scene is asked for in a turn, and which is to be found."""
    count = (words >= 0).sum(axis=1)
    return turn % count, (turn + 1) % count

"""Draws of a clip in a batch: a function of the seed, the number of the batch, the sample and the variant, of nothing else."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from posegen.randomness import Stream, uniform

__all__ = [
    "CAPTION", "GROUP", "NOISE", "PARTNER", "SHARE", "SHUFFLE", "SKELETON", "STRETCH", "UNTOLD", "draws_of",
]  # fmt: skip

Array = NDArray[Any]

STRETCH, CAPTION, SKELETON, GROUP, PARTNER, SHUFFLE = 1, 2, 3, 4, 5, 6
"""What is drawn: which stretch of a clip is shown, which of its captions, on which skeleton; with which of a person's others it
goes, which ones it is held against, and whose a control takes it for.
"""

NOISE, SHARE, UNTOLD = 16, 17, 18
"""Where motion is made of noise: the noise in a clip, how much of it is motion, and whether its caption is left out."""

_VARIANTS = 16
_ATTEMPTS = 256


def draws_of(sample: Array, variant: Array, seed: int, number: int, what: int, count: int = 1) -> Array:
    """Draw for clips of batch `number`.

    Parameters
    ----------
    sample, variant : int64 [clip]
        Their samples, and the places of their variants.
    seed, number : int
    what : int
        :data:`STRETCH`, :data:`CAPTION` or :data:`SKELETON`.
    count : int
        How many draws each; one does not depend on how many there are.

    Returns
    -------
    float64 [clip, count]
        On [0, 1).
    """
    turn, attempt = divmod(number, _ATTEMPTS)
    which = sample * _VARIANTS + variant
    return uniform((seed + turn) % 2**64, which, Stream.AUGMENT, count, attempt=attempt, substream=what)

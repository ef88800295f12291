"""Columns of a user's table as a model reads them. Reading tables is the matter of :mod:`posegen.training.data.tables`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Columns:
    """Columns that a model reads and predicts.

    Attributes
    ----------
    label : str
        Column that is predicted.
    texts : tuple of str
        Columns of texts.
    numbers : tuple of str
        Columns of numbers.
    vectors : tuple of (str, int)
        Columns of vectors, such as embeddings, with their dimension.
    words : int
        Words of a text that are read.
    centre, spread : tuple of float
        Mean and standard deviation of each number, then of each component of the vectors, in the training split.
    log_centre, log_spread : tuple of float
        The same of the logarithms of the numbers: sign(x) log(1 + abs(x)).
    typical : float
        Median of the label in the training split, as a model of numbers is trained on it; 0 for categories.
    scale : float
        Number that an error of 1 in training corresponds to.
    is_ratio : bool
        Whether the label is a positive number, of which the logarithm is trained.
    """

    label: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    vectors: tuple[tuple[str, int], ...] = ()
    words: int = 1
    centre: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()
    log_centre: tuple[float, ...] = ()
    log_spread: tuple[float, ...] = ()
    typical: float = 0.0
    scale: float = 1.0
    is_ratio: bool = False

    @property
    def values(self) -> int:
        """Number of numbers of a row, those of its vectors included."""
        return len(self.numbers) + sum(size for _, size in self.vectors)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return (*self.texts, *self.numbers, *(name for name, _ in self.vectors))

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the arrays of a row by name; a row without numbers has one that is not read.

        Examples
        --------
        >>> Columns("price", ("title",), ("weight",), (("vector", 4),), words=20).sizes()
        {'text': 1, 'word': 20, 'value': 5}
        """
        return {"text": len(self.texts), "word": self.words, "value": max(1, self.values)}

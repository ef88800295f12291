"""One sample of an open dataset, with all its variants."""

from __future__ import annotations

from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from posegen.foundations.arrays import Array

if TYPE_CHECKING:
    from posegen.dataset.read import Dataset


@dataclass(frozen=True, repr=False)
class Sample:
    """One sample with all its variants.

    Attributes
    ----------
    index : int
    arrays : dict of str to ndarray [variant, ...]
        Values of each field; ``sample.joints`` is short for ``sample.arrays["joints"]``.
    sequences : list of dict
        Row of each variant in the table of sequences.
    text_embedding : float32 [variant, caption, dimension]
        Embeddings of its captions, of unit length, NaN where there is no caption; read on access.
    """

    index: int
    arrays: dict[str, Array]
    sequences: list[dict[str, Any]]
    dataset: Dataset = field(compare=False)

    def __repr__(self) -> str:
        return f"<Sample {self.index}: {', '.join(self.arrays)}; {self.caption[:50]!r}>"

    def __dir__(self) -> list[str]:
        return ["index", "caption", "sequences", "show", "text_embedding", *self.arrays]

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()  # type: ignore[no-any-return]

    def show(self, variant: str | None = None) -> Any:
        """Return a looping animation of a variant, of the first unless given, with its captions, as notebooks show it.

        ``sample.show().save("wave.gif")`` writes it as a file (needs the extra ``view``).
        """
        return resolve_name("posegen.viewing.notebook:show_sample")(self.dataset, self.index, variant)

    @property
    def caption(self) -> str:
        """The first caption of the first variant; empty if it has none."""
        captions = self.sequences[0]["captions"] if self.sequences else ()
        return str(captions[0]["text"]) if captions else ""

    @property
    def text_embedding(self) -> Array:
        """Embeddings of its captions."""
        return self.dataset.sample_embedding(self.index)

    def __getattr__(self, name: str) -> Array:
        arrays = self.__dict__.get("arrays", {})
        if name not in arrays:
            raise AttributeError(f"a sample has no {name!r}, only index, sequences, {', '.join(arrays)}")
        return arrays[name]  # type: ignore[no-any-return]

"""What notebooks show of samples and datasets. Nothing is served: what is shown stays in the notebook file."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from posegen.dataset.read import Dataset
from posegen.foundations.errors import require_known
from posegen.foundations.plugins import require_extra
from posegen.foundations.progress import Progress
from posegen.viewing.clip import Clip, clips_of_sample
from posegen.viewing.collection import collection_of_dataset
from posegen.viewing.page import write_report
from posegen.viewing.render import render

_SIZE, _PER_SECOND, _QUALITY = 240, 8.0, 50


@dataclass(frozen=True, repr=False)
class Animation:
    """A sequence that a notebook shows as a looping picture with captions; see :meth:`posegen.dataset.sample.Sample.show`."""

    clip: Clip

    def __repr__(self) -> str:
        return f"<Animation of {self.clip.title}: {self.clip.frames} frames>"

    def _repr_html_(self) -> str:
        from posegen.viewing.pictures import draw_film

        step, picture = max(1, round(self.clip.fps / _PER_SECOND)), BytesIO()
        first, *others = draw_film(replace(self.clip, caption=""), range(0, self.clip.frames, step), _SIZE)
        milliseconds = round(1000 * step / self.clip.fps)
        first.save(picture, format="WEBP", save_all=True, append_images=others, duration=milliseconds, loop=0, quality=_QUALITY)
        data = base64.b64encode(picture.getvalue()).decode()
        captions = "".join(f"<li>{escape(line)}</li>" for line in self.clip.caption.splitlines())
        image = f'<img alt="{escape(self.clip.title)}" src="data:image/webp;base64,{data}">'
        return f"<figure>{image}<figcaption><ul>{captions}</ul></figcaption></figure>"

    def save(self, path: str | Path) -> Path:
        """Write it as a ``.gif``, ``.mp4`` or ``.png`` file and return the path."""
        return render(self.clip, path)


class Page(str):
    """A page that a notebook shows in a frame; see :meth:`posegen.dataset.read.Dataset.view`."""

    def __repr__(self) -> str:
        return f"<Page of {len(self):,} characters>"

    def _repr_html_(self) -> str:
        return f'<iframe title="posegen" srcdoc="{escape(self)}" width="100%" height="760" style="border: 0"></iframe>'


def show_sample(dataset: Dataset, sample: int, variant: str | None = None) -> Animation:
    """Return an animation of a sample; UsageError if it has no such variant, or the extra ``view`` is missing."""
    require_extra("view")
    name = dataset.variants[0] if variant is None else variant
    require_known("there is no variant", name, dataset.variants)
    return Animation(clips_of_sample(dataset, sample)[dataset.variants.index(name)])


def view_dataset(dataset: Dataset, samples: int) -> Page:
    """Return the page of the first samples of a dataset."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        write_report(collection_of_dataset(dataset.path), samples, file, None, Progress())
        return Page(file.read_text("utf-8"))

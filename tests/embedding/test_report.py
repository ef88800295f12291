"""The report: a self-contained page, and a deterministic map."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from posegen.embedding import open_embeddings
from posegen.embedding.encoder import unit_length
from posegen.embedding.report import even_rows, layout_plane, render_page, write_report

pytest.importorskip("faiss")
pytest.importorskip("sklearn")


def test_the_page_shows_texts_and_loads_nothing(dataset: Path) -> None:
    page = write_report(dataset, points=80)
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|src=|href=|https?:|url\(", text)
    embeddings = open_embeddings(dataset)
    shown = [unescape(title) for title in re.findall(r"<circle[^>]*><title>[a-z_]+: (.*?)</title>", text)]
    assert len(shown) == 80 < embeddings.count
    assert set(shown) <= set(embeddings.texts)
    assert f"<td>{embeddings.count:,} (" in text
    assert write_report(dataset, points=80).read_text(encoding="utf-8") == text


def test_texts_are_escaped_in_the_page() -> None:
    evil = "</title><script>alert(1)</script>"
    page = render_page(
        title=evil,
        facts=[(evil, evil)],
        positions=np.zeros((1, 2)),
        layout="x",
        texts=[evil],
        actions=[evil],
        counts=[(evil, 1)],
        examples=[(evil, [(evil, 1.0)])],
    )
    assert evil.replace("<", "&lt;").replace(">", "&gt;") in page
    assert "<script" not in page


def test_similar_vectors_are_near_each_other_on_the_map() -> None:
    draws = np.random.default_rng(2)
    middles = 4 * draws.normal(size=(4, 16))
    vectors = unit_length(np.repeat(middles, 23, axis=0) + draws.normal(size=(92, 16)))
    positions, layout = layout_plane(vectors)
    assert layout == "t-SNE"
    assert (positions.min(), positions.max()) == (0, 1)
    of_cluster = positions.reshape(4, 23, 2)
    within = np.linalg.norm(of_cluster - of_cluster.mean(axis=1, keepdims=True), axis=-1).mean()
    between = np.linalg.norm(of_cluster.mean(axis=1)[:, None] - of_cluster.mean(axis=1)[None], axis=-1).sum() / 12
    assert between > 3 * within
    assert layout_plane(vectors)[0].tobytes() == positions.tobytes()


def test_few_texts_are_laid_out_by_principal_components() -> None:
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0]], np.float32)
    positions, layout = layout_plane(vectors)
    assert layout == "principal components"
    middle = positions[1, 0]  # the middle one of three on an arc, projected on the chord
    assert min(middle, 1 - middle) == pytest.approx(0.4, abs=0.02)
    assert even_rows(3, 5).tolist() == [0, 1, 2]

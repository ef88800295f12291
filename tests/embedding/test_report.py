"""The report: a render_page that stands for itself, and a map that is the same each time."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from posegen.embedding import open_embeddings
from posegen.embedding.encoder import unit_length
from posegen.embedding.report import Report, even_rows, layout_plane, render_page, write_report

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


def test_what_texts_say_cannot_become_part_of_the_page() -> None:
    evil = "</title><script>alert(1)</script>"
    report = Report(evil, [(evil, evil)], np.zeros((1, 2)), "x", [evil], [evil], [(evil, 1)], [(evil, [(evil, 1.0)])])
    assert "<script" not in render_page(report)


def test_alike_vectors_are_near_each_other_on_the_map() -> None:
    draws = np.random.default_rng(2)
    middles = 4 * draws.normal(size=(4, 16))
    vectors = unit_length(np.repeat(middles, 23, axis=0) + draws.normal(size=(92, 16)))
    places, how = layout_plane(vectors)
    assert how == "t-SNE"
    assert (places.min(), places.max()) == (0, 1)
    of_cluster = places.reshape(4, 23, 2)
    within = np.linalg.norm(of_cluster - of_cluster.mean(axis=1, keepdims=True), axis=-1).mean()
    between = np.linalg.norm(of_cluster.mean(axis=1)[:, None] - of_cluster.mean(axis=1)[None], axis=-1).sum() / 12
    assert between > 3 * within
    assert layout_plane(vectors)[0].tobytes() == places.tobytes()


def test_few_texts_are_laid_out_along_the_directions_in_which_they_differ_most() -> None:
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0]], np.float32)
    places, how = layout_plane(vectors)
    assert how == "principal components"
    middle = places[1, 0]  # of three on an arc, seen along their chord
    assert min(middle, 1 - middle) == pytest.approx(0.4, abs=0.02)
    assert even_rows(3, 5).tolist() == [0, 1, 2]

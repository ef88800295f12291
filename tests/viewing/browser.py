"""Chromium for tests of pages, driven by Playwright; tests are skipped where one of them is not installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["axe_faults", "chromium"]

_FLAGS = (
    # The browser runs in a container, without a GPU and without the network.
    *("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()


def axe_faults(page: Any) -> list[str]:
    """Return what axe-core finds serious or critical on a page."""
    modules = os.environ.get("POSEGEN_NODE_MODULES")
    script = Path(modules or "", "axe-core", "axe.min.js")
    if not modules or not script.is_file():
        pytest.skip("needs POSEGEN_NODE_MODULES: a node_modules folder with axe-core")
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")
    return [f"{v['id']}: {v['nodes'][0]['target']}" for v in found["violations"] if v["impact"] in ("serious", "critical")]

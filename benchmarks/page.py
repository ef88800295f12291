"""Script per frame of the page of `view` and `report` in headless Chromium: ``python -m benchmarks.page REPORT.html [...]``.

The page is played at 1280 x 800, with one variant and with all, in four runs of four seconds each. The time of WebGL is
left out, since a machine without a GPU draws in software.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from tests.viewing.browser import chromium

RUNS, SECONDS, SIZE = 4, 4, {"width": 1280, "height": 800}
_TIMED = """
window.frames_ms = [];
let drawing = 0;
for (const name of Object.getOwnPropertyNames(WebGL2RenderingContext.prototype)) {
  const { value } = Object.getOwnPropertyDescriptor(WebGL2RenderingContext.prototype, name);
  if (typeof value !== "function" || name === "constructor") continue;
  WebGL2RenderingContext.prototype[name] = function (...given) {
    const start = performance.now();
    try { return value.apply(this, given); } finally { drawing += performance.now() - start; }
  };
}
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (action) => ask((now) => {
  drawing = 0;
  const start = performance.now();
  action(now);
  if (drawing) window.frames_ms.push(performance.now() - start - drawing);
});
"""


def script_ms(browser: Any, report: Path, variant: str) -> list[float]:
    """Return the milliseconds of script in a frame that is drawn, mean of each run, while the page plays."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(_TIMED)
    page.goto(f"{report.resolve().as_uri()}#sample=0&variant={variant}")
    page.locator("#captions .caption").first.wait_for()
    means = []
    for _ in range(RUNS):
        page.evaluate("window.frames_ms.length = 0")
        page.wait_for_timeout(1000 * SECONDS)
        means.append(page.evaluate("window.frames_ms.reduce((sum, ms) => sum + ms, 0) / window.frames_ms.length"))
    page.close()
    return means


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    print("| report | size (MB) | variants | script per frame (ms): median, least, most |\n|---|---|---|---|")
    with chromium() as browser:
        for report in parser.parse_args().reports:
            for variant in ("base", "all"):
                runs = script_ms(browser, report, variant)
                figures = f"{median(runs):.1f}, {min(runs):.1f}, {max(runs):.1f}"
                print(f"| {report.name} | {report.stat().st_size / 1e6:.1f} | {variant} | {figures} |", flush=True)


if __name__ == "__main__":
    main()

"""Colours of pictures and of the page. Left limbs are blue and right limbs red; the page gives each actor a pair of its own."""

from __future__ import annotations

from collections.abc import Mapping

COLOURS: Mapping[str, tuple[str, str]] = {
    "left-1": ("#1f6cc8", "#5b9df2"), "right-1": ("#d64030", "#f0705e"), "middle-1": ("#404048", "#b9bcc8"),
    "left-2": ("#1b9aa0", "#43c3c8"), "right-2": ("#e08a1e", "#f2ab4a"), "middle-2": ("#8b8d97", "#858894"),
    "left-3": ("#7a5cd0", "#a48cf0"), "right-3": ("#d0529c", "#ee80bf"), "middle-3": ("#6b5d52", "#a8978a"),
    "left-4": ("#6d8a2c", "#a3c455"), "right-4": ("#a5673f", "#d0925f"), "middle-4": ("#a9a191", "#c4bcab"),
    "contact": ("#149646", "#35d07f"), "seat": ("#bea078", "#8a7351"), "object": ("#e0a02c", "#e0a02c"),
    "shadow": ("#dedde0", "#0b0c0f"), "grid": ("#cdcfd6", "#3a3e49"), "floor": ("#eaeae4", "#1b1d23"),
    "sky": ("#f3f3ef", "#16181d"), "path": ("#6a6e7c", "#a2a6b3"),
}  # fmt: skip
"""On light and on dark paper. Pictures, on light paper, show every actor in the first pair, each lighter than the last."""
BARS = ("#a6cee3", "#b2df8a", "#fdcd78", "#debee2", "#fbb4ae", "#ccebc5", "#e5d8bd", "#b3cde3", "#fed9a6", "#d9d9d9")
"""Bars of actions in pictures."""
PAPER, INK, GREY = "#ffffff", "#28282e", "#78787e"

LEFT, RIGHT, MIDDLE = (COLOURS[f"{side}-1"][0] for side in ("left", "right", "middle"))
SIDES: Mapping[str, str] = {"left": LEFT, "right": RIGHT}
SHADOW, GRID, CONTACT, SEAT = (COLOURS[name][0] for name in ("shadow", "grid", "contact", "seat"))
SEAT_SIDE = "#a18866"


def style_variables() -> str:
    """Return the colours as variables of a style sheet, such as ``--left-1``."""
    lines = (f"  --{name}: light-dark({light}, {dark});" for name, (light, dark) in COLOURS.items())
    return "\n".join([":root {", *lines, "}", ""])

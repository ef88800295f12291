from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

from docs.skeleton_figure import convention_figure
from posegen.exchange.layouts import LAYOUTS
from posegen.foundations.skeleton import CONTACTS, JOINT_LIMITS, JOINTS, MIRROR_JOINTS, PARENTS, PARTS

DOCS = Path(__file__).parents[2] / "docs"


def document():
    return (DOCS / "skeleton.md").read_text(encoding="utf-8")


def test_picture_in_the_documentation_is_the_one_that_the_code_draws():
    with Image.open(DOCS / "skeleton.png") as stored:
        kept = np.asarray(stored.convert("RGB")).astype(int)
    drawn = np.asarray(convention_figure()).astype(int)
    assert kept.shape == drawn.shape
    # Another version of Matplotlib may set letters a little differently.
    assert np.abs(kept - drawn).mean() < 1.0


def test_documentation_lists_joints_as_they_are():
    for number, (name, parent, mirror) in enumerate(zip(JOINTS, PARENTS, MIRROR_JOINTS, strict=True)):
        above = f"{parent} `{JOINTS[parent]}`" if parent >= 0 else ""
        assert f"| {number} | `{name}` | {above} | {mirror} |" in document()


def test_documentation_lists_contacts_and_parts_in_order():
    for names in (CONTACTS, PARTS):
        assert ", ".join(f"`{name}`" for name in names) in document()


def test_documentation_gives_every_range():
    for low, high in JOINT_LIMITS.values():
        assert f"| {low:.0f} to {high:.0f} |" in document()


def test_documentation_says_how_true_each_joint_of_each_layout_is():
    for name, layout in LAYOUTS.items():
        section = document().split(f"### `{name}`")[1].split("\n### ")[0]
        if layout.flat:
            found = re.findall(r"\| `(\w+)` \| `(\w+)` \|", section)
            joints = list(layout.joints)
            assert found == [(joints[a], joints[b]) for a, b in layout.edges]
        else:
            found = re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \|", section, re.MULTILINE)
            assert found == [(str(i), joint, layout.quality(joint)) for i, joint in enumerate(layout.joints)]

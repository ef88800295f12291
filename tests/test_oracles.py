"""Each kernel has an oracle in `tests.naive`, or is listed here with the reason why it has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.naive import ORACLES

PACKAGE = Path(__file__).parent.parent / "posegen"

CALLER = "it only calls other kernels in order; tests and golden hashes cover the result"
PROPERTIES = "its tests check the defining properties of the result; an oracle would repeat the kernel line by line"
TRIVIAL = "it is a single expression, or a copy, that its tests compare with known values"
TOGETHER = "an oracle beside its tests computes what these kernels compute together"

WITHOUT_ORACLE = {
    "posegen.foundations.canonical_floats": {TRIVIAL: "count_noncanonical"},
    "posegen.checks.capsules": {
        TRIVIAL: "fill_columns vector_in put_in difference_in place_of stature_of_legs rod_length",
        PROPERTIES: "fill_aside apart_sideways apart_by_length fill_gaps come_near pass_through limbs_cross",
    },
    "posegen.checks.evidence": {
        CALLER: "fill_evidence",
        PROPERTIES: "count_peaks prevailing_side turn_angle fill_speed_shares",
        TRIVIAL: "hip_height",
    },
    "posegen.checks.limits": {CALLER: "fill_limits", PROPERTIES: "limits_of_clip shows_action"},
    "posegen.checks.ranges": {
        PROPERTIES: "along_axes fill_axes fill_trunk fill_neck fill_leg fill_arm fill_angles "
        "outside leaves_range apply_wider_ranges leaves_ranges"
    },
    "posegen.checks.steps": {PROPERTIES: "count_steps return_of", CALLER: "measured_steps"},
    "posegen.exchange.kernels.decimals": {TRIVIAL: "fill_decimals"},
    "posegen.exchange.kernels.features263": {
        TOGETHER: "set_lengths _bone_length face_ahead _half_angle fill_headings fill_columns _turn_steps _mark_still "
        "_turn_bone _fill_rotations",
        CALLER: "fill_clip",
    },
    "posegen.fields.kernels.rotation": {
        TOGETHER: "fill_rotations rotate_joint fill_axes fill_lateral hip_lateral knee_lateral shoulder_lateral spine_lateral "
        "aim swing fit move_on relate rigid_axes frame between product applied inverse",
        TRIVIAL: "vector direction load copy at put rotation_at put_rotation",
    },
    "posegen.foundations.trigonometry": {TRIVIAL: "ease_towards"},
    "posegen.foundations.vectors": {
        TRIVIAL: "dot cross plus minus scaled length unit across vector_at put_vector difference_at",
        CALLER: "fill_middle_joints",
    },
    "posegen.foundations.randomness": {
        CALLER: "_fill _fill_keyed",
        TOGETHER: "_keyed_block keyed_uniform keyed_uniforms keyed_normal",
    },
    "posegen.variants.copies": {TRIVIAL: "copy_joints copy_labels"},
}
"""For each module: reason, and the kernels it applies to."""
MEASURED = "posegen.motion."
"""Modules whose kernels need no oracle: golden hashes hold every bit, and tests/motion measures what they compute together."""


def kernels() -> Iterator[str]:
    for source in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts)
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                decorators = {getattr(getattr(d, "func", d), "id", "") for d in node.decorator_list}
                if decorators & {"kernel", "inline_kernel"}:
                    yield f"{module}.{node.name}"


def test_each_kernel_has_an_oracle_or_a_reason() -> None:
    listed = [
        f"{module}.{name}" for module, reasons in WITHOUT_ORACLE.items() for names in reasons.values() for name in names.split()
    ]
    assert len(listed) == len(set(listed))
    assert not set(listed) & set(ORACLES)
    existing = set(kernels())
    missing = {name for name in existing - set(listed) - set(ORACLES) if not name.startswith(MEASURED)}
    stale = (set(listed) | set(ORACLES)) - existing
    assert not missing, f"no oracle in tests/naive.py and no reason here: {sorted(missing)}"
    assert not stale, f"these kernels do not exist: {sorted(stale)}"

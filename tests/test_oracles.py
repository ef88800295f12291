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
PUBLISHED = "its tests compare it with published values"
TOGETHER = "an oracle beside its tests computes what these kernels compute together"

WITHOUT_ORACLE = {
    "posegen.foundations.canonical_floats": {TRIVIAL: "count_noncanonical"},
    "posegen.checks.capsules": {
        TRIVIAL: "stature_of_legs rod_length",
        PROPERTIES: "fill_aside apart_sideways apart_by_length fill_gaps come_near pass_through limbs_cross",
    },
    "posegen.checks.columns": {TRIVIAL: "fill_columns joint_column"},
    "posegen.checks.evidence": {
        CALLER: "fill_evidence",
        PROPERTIES: "count_peaks prevailing_side turn_angle fill_speed_shares",
        TRIVIAL: "hip_height",
    },
    "posegen.checks.limits": {CALLER: "fill_limits", PROPERTIES: "limits_of_clip"},
    "posegen.checks.ranges": {
        PROPERTIES: "put along fill_axes fill_trunk fill_neck fill_leg fill_arm fill_angles "
        "outside leaves_range apply_wider_ranges leaves_ranges"
    },
    "posegen.exchange.kernels.decimals": {TRIVIAL: "fill_decimals"},
    "posegen.exchange.kernels.features263": {
        TOGETHER: "set_lengths _bone_length face_ahead _half_angle fill_headings fill_columns _turn_steps _mark_still "
        "_turn_bone _fill_rotations add_moments",
        CALLER: "fill_clip",
    },
    "posegen.fields.kernels.rotation": {
        TOGETHER: "fill_rotations rotate_joint fill_axes fill_lateral hip_lateral knee_lateral shoulder_lateral spine_lateral "
        "aim swing fit move_on relate rigid_axes frame between product applied inverse across",
        TRIVIAL: "unit cross dot plus minus scaled vector direction load copy at put rotation_at put_rotation",
    },
    "posegen.motion.arms": {
        CALLER: "place_hand clear_thighs",
        PROPERTIES: "fill_hand_channels pull_wrist fix_floor_anchor push_wrist_out raise_wrists",
        TRIVIAL: "arm_of anchor_axes body_anchor perpendicular_part ground_level meeting_axes",
    },
    "posegen.motion.channels": {
        CALLER: "add_gait add_cycle_harmonics add_track fill_channels run_height angles_height",
        PUBLISHED: "gait_series segment_series",
        PROPERTIES: "fill_layer_weight remove_style_posture counter_lean add_sway lean_into_curves look_ahead turn_shoulders "
        "lean_with_acceleration wander",
        TRIVIAL: "is_arm nominal_height",
    },
    "posegen.motion.clearance": {CALLER: "clear_body clear_forearms", PROPERTIES: "push_forearm_out part_forearms"},
    "posegen.motion.engine": {
        CALLER: "animate_scenes animate_actor",
        PROPERTIES: "fall_freely centre_height write_segments",
        TRIVIAL: "write_joints write_contacts mark_flight",
    },
    "posegen.motion.feet.footsteps": {
        CALLER: "place_stance_feet lower_pelvis clear_ground swing_leg solve_legs mark_lifted_feet swing_foot clear_swings",
        PROPERTIES: "stair_levels fill_ground fill_swing fill_open_swing to_path_frame to_world_frame clear_floor guide_swings",
        TRIVIAL: "nominal_feet surface_height raise_body raise_feet heading_changes",
    },
    "posegen.motion.feet.legs": {
        PROPERTIES: "nominal_leg place_foot ease_reach solve_knee turn_knee add_excess_height smooth_upper_envelope "
        "shank_lean excess_dorsiflexion excess_plantarflexion limit_swing_ankles roll_stance_foot limit_stance_ankles",
        TRIVIAL: "from_hip move_foot fill_shank_leans widen_ankle_range upright_share",
    },
    "posegen.motion.feet.stances": {
        PROPERTIES: "find_stances contact_offset time_stances mark_contact plan_footprints flatten_pitch pivot_turn "
        "place_stance_foot flatten_stances drop_brief_contacts shorten_stances separate_footprints guide_footprints "
        "raise_heels moved_foot",
        CALLER: "plan_stances",
        TRIVIAL: "rest_frame roll_forward rise_on_toes rolled_height guide_pitch guided_from fade_pitch standing_ankle_ahead",
    },
    "posegen.motion.gait.curves": {PUBLISHED: "run_contact_seconds", PROPERTIES: "curve_warp run_rise"},
    "posegen.motion.gait.personal": {PROPERTIES: "vary_series _bend_swing", TRIVIAL: "_scale"},
    "posegen.motion.gait.steps": {
        PUBLISHED: "stride_rate stance_share",
        TRIVIAL: "step_in_style has_bounce add_bounce",
    },
    "posegen.motion.habits": {PROPERTIES: "hanging_offset drawn_offset", TRIVIAL: "most_lag"},
    "posegen.motion.joint_ranges": {PROPERTIES: "ease_range hip_flexion tuck_pelvis", CALLER: "keep_ranges"},
    "posegen.motion.key_poses": {
        PROPERTIES: "repetition_span time_in_cycle fill_times stage_knots knot_speeds knots_of_channel fill_track "
        "mark_intervals mark_airborne stage_span passes_on repetition_offset travel_knots",
        TRIVIAL: "flight_seconds flight_count takeoff_share stage_bounds flight_begin is_foot is_together set_knot "
        "root_height_unit flatten_ends time_in_stage row_of_repetition is_used most_keys travels own_key_size pose_tables",
    },
    "posegen.motion.placement": {
        CALLER: "fill_paths",
        PROPERTIES: "face_partners choose_starts smallest_distance",
        TRIVIAL: "path_position arm_length stature_from_legs hands_apart candidate_position",
    },
    "posegen.motion.rests": {PROPERTIES: "fill_resting_weight rest_anew", TRIVIAL: "change_begin"},
    "posegen.motion.scene_arrays": {TRIVIAL: "person_at role_at"},
    "posegen.motion.timeline": {
        CALLER: "fill_timeline fill_speeds travel",
        PROPERTIES: "pace plan_ramps plan_rates fill_acceleration integrate_path glide",
        TRIVIAL: "_half_ramp ramped_seconds steps_continue fill_ramp path_increment segment_rates add_stride_parameters",
    },
    "posegen.motion.trigonometry": {TRIVIAL: "ease_towards"},
    "posegen.motion.trunk": {
        PROPERTIES: "fill_pelvis_height soften_steps pelvis_path hold_arms_out",
        CALLER: "pelvis_rotation place_hips spine_rotation",
    },
    "posegen.motion.workspace": {TRIVIAL: "between fill_row copy_row leg_length to_grid"},
    "posegen.foundations.randomness": {CALLER: "_fill"},
    "posegen.variants.copies": {TRIVIAL: "copy_joints copy_labels"},
}
"""For each module: reason, and the kernels it applies to."""


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
    missing, stale = existing - set(listed) - set(ORACLES), (set(listed) | set(ORACLES)) - existing
    assert not missing, f"no oracle in tests/naive.py and no reason here: {sorted(missing)}"
    assert not stale, f"these kernels do not exist: {sorted(stale)}"

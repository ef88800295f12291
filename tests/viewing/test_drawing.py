from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from docs.skeleton_figure import ANGLES, posed, rotation
from posegen.foundations.skeleton import CONTACTS, JOINTS, MIRROR_JOINTS
from posegen.viewing.canvas import COLOURS, Placement, draw_figures, draw_floor, draw_seats, facing, middle, view_from
from posegen.viewing.clip import Seat

SIZE = 300
ORIGIN = np.zeros(3)
FRONT = Placement(view_from(0, 0), 120.0, (SIZE / 2, SIZE - 40.0))


def moved(x, y, z):
    return posed() + np.array([x, y, z])


def blank():
    picture = Image.new("RGB", (SIZE, SIZE), (255, 255, 255))
    return picture, ImageDraw.Draw(picture)


def colour_at(picture, point, placement=FRONT):
    x, y = placement.pixels(np.asarray(point, float), ORIGIN)
    return picture.getpixel((round(float(x)), round(float(y))))


def joint(figure, name):
    return figure[JOINTS.index(name)]


def draw(figures, placement=FRONT, contacts=None):
    picture, canvas = blank()
    draw_figures(canvas, placement, ORIGIN, np.asarray(figures), contacts)
    return picture


class TestView:
    def test_front_sees_the_left_side_on_the_right(self):
        pixels = FRONT.pixels(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), ORIGIN)
        np.testing.assert_allclose(pixels, [[270, 260], [150, 140], [150, 260]], atol=1e-9)

    def test_left_side_and_heading(self):
        from_left = Placement(view_from(90, 0), 1.0, (0, 0))
        np.testing.assert_allclose(from_left.pixels(np.array([0, 0, 1.0]), ORIGIN), [-1, 0], atol=1e-12)
        # A figure that is turned by a quarter to its left faces +x: its front is seen from there.
        np.testing.assert_allclose(view_from(0, 0, np.pi / 2)[2], [1, 0, 0], atol=1e-12)

    @pytest.mark.parametrize(("azimuth", "elevation"), [(0, 0), (-40, 16), (180, 90), (75, 8)])
    def test_axes_are_a_right_handed_frame(self, azimuth, elevation):
        axes = view_from(azimuth, elevation, 0.3)
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1)

    @pytest.mark.parametrize("heading", [0.0, 1.0, -2.5])
    def test_facing(self, heading):
        turned = posed() @ rotation("y", np.degrees(heading)).T
        assert facing(turned[None, None]) == pytest.approx(heading, abs=1e-9)

    def test_facing_skips_absent_frames(self):
        joints = np.stack([np.full((22, 3), np.nan), posed() @ rotation("y", 90).T])[None]
        assert facing(joints) == pytest.approx(np.pi / 2)

    def test_middle_of_two_actors_one_of_whom_leaves(self):
        joints = np.stack([[moved(0, 0, 1)] * 3, [moved(2, 0, 3)] * 3])
        joints[1, 1:] = np.nan
        joints[0, 2] = np.nan
        np.testing.assert_allclose(middle(joints)[:, [0, 2]], [[1, 2 - 0.0], [0, 1], [0, 1]], atol=0.02)


class TestFigures:
    def test_sides_have_their_colours_where_they_are_projected(self):
        figure = posed()
        picture = draw([figure])
        for side in ("left", "right"):
            for a, b in (("elbow", "wrist"), ("knee", "ankle")):
                middle_of_limb = (joint(figure, f"{side}_{a}") + joint(figure, f"{side}_{b}")) / 2
                assert colour_at(picture, middle_of_limb) == COLOURS[side]
        assert colour_at(picture, joint(figure, "spine2")) == COLOURS["middle"]
        assert colour_at(picture, joint(moved(0, 0.03, 0), "head")) == COLOURS["middle"]
        assert colour_at(picture, [0.6, 1.0, 0]) == (255, 255, 255)

    def test_mirrored_figure_is_the_mirrored_picture_in_swapped_colours(self):
        figure = posed({"left_shoulder": rotation("z", 80)})
        raised = joint(figure, "left_wrist")
        mirrored = figure[list(MIRROR_JOINTS)] * [-1, 1, 1]
        assert colour_at(draw([figure]), raised) == COLOURS["left"]
        assert colour_at(draw([mirrored]), raised) == (255, 255, 255)
        assert colour_at(draw([mirrored]), raised * [-1, 1, 1]) == COLOURS["right"]

    def test_the_near_limb_covers_the_far_one(self):
        figure = posed()
        knee = (joint(figure, "left_knee") + joint(figure, "left_ankle")) / 2
        for azimuth, side in ((90, "left"), (-90, "right")):
            placement = Placement(view_from(azimuth, 0), 120.0, (SIZE / 2, SIZE - 40.0))
            assert colour_at(draw([figure], placement), knee, placement) == COLOURS[side]

    def test_shadow_lies_on_the_floor_under_a_jump(self):
        above = Placement(view_from(0, 35), 100.0, (SIZE / 2, SIZE - 60.0))
        figure = moved(0, 0.5, 0)
        under_shoulder = (joint(figure, "left_collar") + joint(figure, "left_shoulder")) / 2 * [1, 0, 1]
        assert colour_at(draw([figure], above), under_shoulder, above) == COLOURS["shadow"]

    def test_contacts_are_green_dots(self):
        figure = posed({"left_hip": rotation("z", 40)})
        contacts = np.zeros((1, len(CONTACTS)), np.uint8)
        assert colour_at(draw([figure], contacts=contacts), joint(figure, "left_wrist")) == COLOURS["left"]
        contacts[0, CONTACTS.index("left_hand")] = 1
        contacts[0, CONTACTS.index("right_hand")] = 255
        picture = draw([figure], contacts=contacts)
        assert colour_at(picture, joint(figure, "left_wrist")) == COLOURS["contact"]
        assert colour_at(picture, joint(figure, "right_wrist")) == COLOURS["right"]

    def test_absent_figures_are_left_out(self):
        assert draw([np.full((22, 3), np.nan)]).getcolors() == [(SIZE * SIZE, (255, 255, 255))]
        np.testing.assert_array_equal(draw([posed(), np.full((22, 3), np.nan)]), draw([posed()]))

    def test_the_second_actor_is_lighter(self):
        figures = [moved(-0.6, 0, 0), moved(0.6, 0, 0)]
        picture = draw(figures)
        first, second = (np.array(colour_at(picture, joint(figure, "left_elbow"))) for figure in figures)
        assert tuple(first) == COLOURS["left"]
        assert second.sum() > first.sum() + 90


def test_floor_lines_stay_where_they_are_in_the_world():
    above = Placement(view_from(0, 90), 100.0, (SIZE / 2, SIZE / 2))
    for centre_x in (0.0, 0.13):
        picture, canvas = blank()
        draw_floor(canvas, above, np.array([centre_x, 0, 0]), (1.2, 1.2))
        columns = np.flatnonzero((np.asarray(picture)[40] != 255).any(-1))
        # Lines at every half metre in the world.
        expected = [150 + 100 * (x - centre_x) for x in np.arange(-1, 1.6, 0.5) if abs(x - centre_x) < 1.2]
        np.testing.assert_allclose(columns, expected, atol=1.01)


def test_floor_ends_at_its_reach():
    above = Placement(view_from(0, 90), 100.0, (SIZE / 2, SIZE / 2))
    picture, canvas = blank()
    draw_floor(canvas, above, ORIGIN, (0.8, 0.3))
    rows, columns = np.nonzero((np.asarray(picture) != 255).any(-1))
    assert rows.min() >= 150 - 31
    assert rows.max() <= 150 + 31
    assert columns.min() == pytest.approx(150 - 80, abs=2)
    assert columns.max() == pytest.approx(150 + 80, abs=2)


def test_seat_is_drawn_at_its_height():
    picture, canvas = blank()
    draw_seats(canvas, FRONT, ORIGIN, [Seat((0.5, 0.45, 0.0), 0.4)])
    filled = (np.asarray(picture) != 255).any(-1)
    rows, columns = np.nonzero(filled)
    assert (rows.min(), rows.max()) == (pytest.approx(260 - 54, abs=1), pytest.approx(260, abs=1))
    assert (columns.min(), columns.max()) == (pytest.approx(150 + 36, abs=1), pytest.approx(150 + 84, abs=1))


class TestConvention:
    """The signs of the angles do what the words beside them say."""

    @pytest.mark.parametrize(
        ("name", "axis", "sign"),
        [
            ("hip flexion", 2, 1),
            ("hip abduction", 0, 1),
            ("hip external rotation", 0, 1),
            ("knee flexion", 2, -1),
            ("ankle dorsiflexion", 1, 1),
            ("shoulder flexion", 2, 1),
            ("shoulder abduction", 0, 1),
            ("shoulder ext. rotation", 0, 1),
            ("elbow flexion", 2, 1),
            ("trunk, neck flexion", 2, 1),
            ("trunk, neck lateral flexion", 0, 1),
            ("trunk, neck rotation", 2, 1),
            ("pelvis tilt", 2, 1),
            ("pelvis obliquity", 1, 1),
        ],
    )
    def test_tip_moves_that_way(self, name, axis, sign):
        angle = next(angle for angle in ANGLES if angle.name == name)
        before, after = (joint(posed(angle.turns(degrees)), angle.tip) for degrees in (0.0, 10.0))
        assert sign * (after - before)[axis] > 0.01

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL.ImageColor import getrgb

import posegen
from docs.skeleton_figure import ANGLES, posed, rotation
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.viewing.canvas import Camera, add_view, draw_figures, draw_seats, facing, middle, new_page, view_from
from posegen.viewing.clip import Seat
from posegen.viewing.page import page_style
from posegen.viewing.palette import COLOURS, CONTACT, LEFT, MIDDLE, RIGHT, SHADOW, SIDES
from posegen.viewing.pictures import image_of

SIZE = 300
BOUNDS = -1.25, 1.25, -1 / 3, 2.5 - 1 / 3
"""Of a picture with 120 pixels a metre."""
FRONT = Camera(view_from(0, 0), np.zeros(3))


def moved(x, y, z):
    return posed() + np.array([x, y, z])


def colour_at(picture, point, camera=FRONT):
    x, y = camera.project(np.asarray(point, float))
    return picture.getpixel((int(SIZE / 2 + 120 * x), int(SIZE - 40 - 120 * y)))


def joint(figure, name):
    return figure[JOINTS.index(name)]


def drawn(draw, *arguments, **options):
    page = new_page(SIZE, SIZE)
    draw(add_view(page, (0, 0, SIZE, SIZE), BOUNDS), *arguments, **options)
    return image_of(page)


def draw(figures, camera=FRONT, contacts=None):
    return drawn(draw_figures, camera, np.asarray(figures), contacts)


class TestView:
    def test_front_sees_the_left_side_on_the_right(self):
        np.testing.assert_allclose(FRONT.project(np.eye(3)), [[1, 0], [0, 1], [0, 0]], atol=1e-9)

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
                assert colour_at(picture, middle_of_limb) == getrgb(SIDES[side])
        assert colour_at(picture, joint(figure, "spine2")) == getrgb(MIDDLE)
        assert colour_at(picture, joint(moved(0, 0.03, 0), "head")) == getrgb(MIDDLE)
        assert colour_at(picture, [0.6, 1.0, 0]) == (255, 255, 255)

    def test_the_near_limb_covers_the_far_one(self):
        figure = posed()
        knee = (joint(figure, "left_knee") + joint(figure, "left_ankle")) / 2
        for azimuth, side in ((90, "left"), (-90, "right")):
            camera = Camera(view_from(azimuth, 0), np.zeros(3))
            assert colour_at(draw([figure], camera), knee, camera) == getrgb(SIDES[side])

    def test_shadow_lies_on_the_floor_under_a_jump(self):
        above = Camera(view_from(0, 35), np.zeros(3))
        figure = moved(0, 0.5, 0)
        under_shoulder = (joint(figure, "left_collar") + joint(figure, "left_shoulder")) / 2 * [1, 0, 1]
        assert colour_at(draw([figure], above), under_shoulder, above) == getrgb(SHADOW)

    def test_contacts_are_green_dots(self):
        figure = posed({"left_hip": rotation("z", 40)})
        contacts = np.zeros((1, len(CONTACTS)), np.uint8)
        assert colour_at(draw([figure], contacts=contacts), joint(figure, "left_wrist")) == getrgb(LEFT)
        contacts[0, CONTACTS.index("left_hand")] = 1
        contacts[0, CONTACTS.index("right_hand")] = 255
        picture = draw([figure], contacts=contacts)
        assert colour_at(picture, joint(figure, "left_wrist")) == getrgb(CONTACT)
        assert colour_at(picture, joint(figure, "right_wrist")) == getrgb(RIGHT)

    def test_absent_figures_are_left_out(self):
        assert draw([np.full((22, 3), np.nan)]).getcolors() == [(SIZE * SIZE, (255, 255, 255))]
        np.testing.assert_array_equal(draw([posed(), np.full((22, 3), np.nan)]), draw([posed()]))

    def test_the_second_actor_is_lighter(self):
        figures = [moved(-0.6, 0, 0), moved(0.6, 0, 0)]
        picture = draw(figures)
        first, second = (np.array(colour_at(picture, joint(figure, "left_elbow"))) for figure in figures)
        assert tuple(first) == getrgb(LEFT)
        assert second.sum() > first.sum() + 90


def test_seat_is_drawn_at_its_height():
    filled = (np.asarray(drawn(draw_seats, FRONT, [Seat((0.5, 0.45, 0.0), 0.4)])) < 200).any(-1)
    rows, columns = np.nonzero(filled)
    assert (rows.min(), rows.max()) == (pytest.approx(260 - 54, abs=1), pytest.approx(260, abs=1))
    assert (columns.min(), columns.max()) == (pytest.approx(150 + 36, abs=1), pytest.approx(150 + 84, abs=1))


def test_only_the_palette_has_colours_of_limbs():
    package = Path(posegen.__file__).parent
    sources = [file for kind in ("py", "css", "j2") for file in package.rglob(f"*.{kind}") if file.name != "palette.py"]
    limbs = [pair for name, pair in COLOURS.items() if "-" in name]
    colours = [*(colour for pair in limbs for colour in pair), *(str(getrgb(colour)) for colour in (LEFT, RIGHT, MIDDLE))]
    defined = re.compile(
        rf"(?<!border-)\b(left|right|middle)(-\d)?[\"']?:[^;}}\n]*#[0-9a-f]{{3,8}}|{'|'.join(map(re.escape, colours))}",
        re.IGNORECASE,
    )
    assert len(sources) > 300
    assert [file for file in sources if defined.search(file.read_text("utf-8"))] == []
    assert defined.search('"left": "#27c"')
    assert all(f"--{name}: light-dark({light}, {dark});" in page_style() for name, (light, dark) in COLOURS.items())


TIPS = {
    "hip flexion": "+z", "hip abduction": "+x", "hip external rotation": "+x", "knee flexion": "-z", "ankle dorsiflexion": "+y",
    "shoulder flexion": "+z", "shoulder abduction": "+x", "shoulder ext. rotation": "+x", "elbow flexion": "+z",
    "trunk, neck flexion": "+z", "trunk, neck lateral flexion": "+x", "trunk, neck rotation": "+z", "pelvis tilt": "+z",
    "pelvis obliquity": "+y",
}  # fmt: skip


def test_the_signs_of_the_angles_do_what_the_words_beside_them_say():
    assert [angle.name for angle in ANGLES] == list(TIPS)
    for angle in ANGLES:
        before, after = (joint(posed(angle.turns(degrees)), angle.tip) for degrees in (0.0, 10.0))
        sign, axis = TIPS[angle.name]
        assert float(f"{sign}1") * (after - before)["xyz".index(axis)] > 0.01, angle.name

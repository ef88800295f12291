from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageColor

from docs.skeleton_figure import posed
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import CONTACTS, JOINTS
from posegen.viewing.clip import clip_of_sequence, make_clip, seats_of, tracks_of, treads_of
from posegen.viewing.palette import BARS, CONTACT, INK, LEFT, RIGHT
from posegen.viewing.pictures import sheet_of_clip
from posegen.viewing.render import render

CAPTION = "A person stands still, then walks forward and waves with the left hand."


def draw(joints, caption, fps, path):
    return render(make_clip(joints, caption, fps), path)


def acting(clip, labels):
    return replace(clip, tracks={"action": labels})


def gliding(frames=30, speed=0.02):
    """A figure in the rest pose that glides ahead."""
    way = np.arange(frames)[:, None, None] * np.array([0.0, 0.0, speed])
    return (posed() + way)[None]


def pixels_of(picture, colour, near=40):
    away = np.abs(np.asarray(picture.convert("RGB")).astype(int) - ImageColor.getrgb(colour)).sum(-1)
    return int((away < near).sum())


class TestGif:
    @pytest.mark.parametrize(
        ("frames", "fps", "shown", "each"),
        [(10, 25, 10, {40}), (10, 20, 10, {50}), (18, 60, 9, {30, 40}), (36, 120, 9, {30, 40})],
    )
    def test_has_its_frames_and_lasts_as_long_as_the_sequence(self, tmp_path, frames, fps, shown, each):
        path = draw(gliding(frames), CAPTION, fps, tmp_path / "a.gif")
        with Image.open(path) as picture:
            durations = []
            for number in range(picture.n_frames):
                picture.seek(number)
                durations.append(picture.info["duration"])
            assert picture.info["loop"] == 0
        assert len(durations) == shown
        assert set(durations) == each
        assert sum(durations) == pytest.approx(1000 * frames / fps, abs=5)

    def test_camera_follows_and_grid_moves(self, tmp_path):
        path = draw(gliding(26), CAPTION, 25, tmp_path / "a.gif")
        with Image.open(path) as picture:
            first = np.asarray(picture.convert("RGB")).astype(int)
            picture.seek(13)
            later = np.asarray(picture.convert("RGB")).astype(int)
        # Blue pixels stay, as the figure only glides; the floor's lines pass under it.
        blue = [np.abs(frame - ImageColor.getrgb(LEFT)).sum(-1) < 60 for frame in (first, later)]
        assert blue[0].sum() > 500
        assert (blue[0] != blue[1]).sum() < 0.1 * blue[0].sum()
        assert (np.abs(first - later).sum(-1) > 60).sum() > 500

    def test_current_action_is_written(self, tmp_path):
        actions = ["stand"] * 5 + ["walk"] * 5
        frames = []
        for labels, name in ((actions, "a"), ([""] * 10, "b")):
            clip = acting(make_clip(gliding(10), CAPTION, 25), labels)
            with Image.open(render(clip, tmp_path / f"{name}.gif")) as picture:
                picture.seek(7)
                frames.append(np.asarray(picture.convert("RGB")).astype(int))
        changed = np.abs(frames[0] - frames[1]).sum(-1) > 150  # the palettes differ a little
        rows, columns = np.nonzero(changed)
        assert len(rows) > 50
        assert rows.max() < 60
        assert columns.max() < 80

    def test_is_the_same_each_time(self, tmp_path):
        one, other = (draw(gliding(5), CAPTION, 25, tmp_path / name).read_bytes() for name in ("a.gif", "b.gif"))
        assert one == other


class TestSheet:
    def test_shows_figure_words_and_bars(self):
        contact = np.zeros((1, 30, len(CONTACTS)), np.uint8)
        contact[0, :15, 0] = 1
        clip = make_clip(gliding(), CAPTION, 25, title="sample 3, base", contact=contact)
        sheet = sheet_of_clip(acting(clip, ["walk"] * 30))
        assert sheet.width == 1440
        assert pixels_of(sheet, LEFT) > 3000
        assert pixels_of(sheet, RIGHT) > 3000
        assert pixels_of(sheet, BARS[0]) > 10_000
        assert pixels_of(sheet, CONTACT) > 50
        bottom = sheet.crop((0, sheet.height - 30, sheet.width, sheet.height))
        assert pixels_of(bottom, INK) > 100

    def test_more_poses_more_ink_and_no_more_than_frames(self):
        few, many, most = (sheet_of_clip(make_clip(gliding(8), CAPTION, 25), poses=poses) for poses in (2, 8, 40))
        assert pixels_of(many, LEFT) > 2 * pixels_of(few, LEFT)
        np.testing.assert_array_equal(many, most)

    def test_distant_actors_all_fit(self):
        joints = np.concatenate([gliding(), gliding() + np.array([6.0, 0, 0])])
        sheet = sheet_of_clip(make_clip(joints, CAPTION, 25))
        assert sheet.width == 1440
        assert pixels_of(sheet, LEFT) > 1000

    def test_frames_behind_the_end_are_not_shown(self):
        joints = np.concatenate([gliding(20), np.full((1, 30, 22, 3), np.nan)], axis=1)
        action, contact = np.zeros((1, 50, 5), int), np.zeros((1, 50, len(CONTACTS)), np.uint8)
        clip = make_clip(joints, CAPTION, 25, action=action, names=["walk"], contact=contact)
        assert clip.frames == 20
        shown = make_clip(gliding(20), CAPTION, 25, action=action[:, :20], names=["walk"], contact=contact[:, :20])
        np.testing.assert_array_equal(sheet_of_clip(clip), sheet_of_clip(shown))

    def test_a_bar_is_as_long_as_its_action(self):
        sheet = sheet_of_clip(acting(make_clip(gliding(20), "", 25), ["stand"] * 5 + ["walk"] * 15))
        stand, walk = (pixels_of(sheet, colour, 3) for colour in BARS[:2])
        assert walk == pytest.approx(3 * stand, rel=0.05)

    def test_captions_keep_their_lines_within_the_page(self):
        for caption, lines in (("Another.", 1), (f"{CAPTION}\nAnother.", 2), (CAPTION * 3, 2), ("", 0)):
            sheet = sheet_of_clip(make_clip(gliding(4), caption, 25))
            assert sheet.height - sheet_of_clip(make_clip(gliding(4), "", 25)).height == pytest.approx(19 * lines, abs=1)
            assert pixels_of(sheet.crop((sheet.width - 10, sheet.height - 60, *sheet.size)), INK) == 0


class TestSamples:
    def test_one_track_for_each_part_that_does_something_else(self):
        action = np.full((1, 4, 5), 1)
        action[0, 2:, 2] = 0
        action[0, :, 4] = 65535
        assert tracks_of(action, ("wave_hand", "walk")) == {
            "legs": ("walk",) * 4,
            "left arm": ("walk", "walk", "wave hand", "wave hand"),
        }

    def test_tracks_of_several_actors(self):
        action = np.zeros((2, 3, 5), int)
        action[1] = 65535
        assert tracks_of(action, ("walk",)) == {"1 legs": ("walk",) * 3}

    def test_all_captions_are_there(self):
        row = {"sample": 7, "variant": "mirror", "actors": [], "captions": [{"text": "One."}, {"text": "Two."}]}
        clip = clip_of_sequence(gliding(4), row, 25, action=np.zeros((1, 4, 5), int), names=("walk",))
        assert clip.caption == "One.\nTwo."
        assert clip.title == "sample 7, mirror"
        assert clip.tracks == {"legs": ("walk",) * 4}


class TestMistakes:
    @pytest.mark.parametrize("name", ["a.avi", "a", "a.gif.txt"])
    def test_suffix(self, tmp_path, name):
        with pytest.raises(UsageError, match=r"must end in \.gif or \.mp4 or \.png"):
            draw(gliding(), CAPTION, 25, tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_shapes(self, tmp_path):
        path = tmp_path / "a.png"
        with pytest.raises(UsageError, match=r"\[actors, frames, 22, 3\], not \[1, 30, 24, 3\]"):
            draw(np.zeros((1, 30, 24, 3)), CAPTION, 25, path)
        with pytest.raises(UsageError, match="nothing to draw"):
            draw(np.full((1, 30, 22, 3), np.nan), CAPTION, 25, path)

    def test_without_pillow_the_command_to_install_it_is_given(self, tmp_path):
        program = f"""
import sys
sys.modules["PIL"] = None
import numpy as np
from posegen.foundations.errors import UsageError
from posegen.viewing.clip import make_clip
from posegen.viewing.render import render
try:
    render(make_clip(np.zeros((1, 3, 22, 3))), {str(tmp_path / "a.png")!r})
except UsageError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "[view]'" in done.stdout, done.stderr


def test_a_video_has_every_frame(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = render(make_clip(gliding(50), CAPTION, 25), tmp_path / "a.MP4")
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (50, pytest.approx(2.0, abs=0.1))
    reader = imageio_ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    first = np.frombuffer(next(reader), np.uint8).reshape(height, width, 3).astype(int)
    render(make_clip(gliding(50), CAPTION, 25), tmp_path / "a.gif")
    with Image.open(tmp_path / "a.gif") as picture:
        still = np.asarray(picture.convert("RGB")).astype(int)
    assert (width - still.shape[1], height - still.shape[0]) in {(0, 0), (0, 1), (1, 0), (1, 1)}
    # The same picture but for what compression and the palette change.
    assert np.abs(first[: still.shape[0], : still.shape[1]] - still).mean() < 4


def test_a_seat_stands_under_the_pelvis_for_each_stretch_of_sitting() -> None:
    joints = np.zeros((1, 8, 22, 3))
    joints[0, :, 0, 0], joints[0, :, 0, 1] = np.arange(8), 0.55
    contact = np.zeros((1, 8, len(CONTACTS)), np.uint8)
    contact[0, [0, 1, 5, 6, 7], CONTACTS.index("seat")] = 1
    seats = seats_of(joints, contact, [0.45])
    assert [seat.top for seat in seats] == [pytest.approx((0.0, 0.45, 0.0)), pytest.approx((5.0, 0.45, 0.0))]
    # Who lies touches the floor with the seat.
    joints[0, :, 0, 1] = 0.1
    assert seats_of(joints, contact, [0.45]) == []


def test_a_tread_lies_under_each_foot_that_is_set_down_above_the_floor() -> None:
    joints, contact = np.zeros((1, 9, 22, 3)), np.zeros((1, 9, len(CONTACTS)), np.uint8)
    left, right = JOINTS.index("left_foot"), JOINTS.index("right_foot")
    joints[0, :, left, 1], joints[0, :, right, 1] = 0.02, 0.19
    joints[0, :, right, 2] = np.arange(9)
    contact[0, [0, 1, 4, 5], CONTACTS.index("right_toe")] = 1
    contact[0, :, CONTACTS.index("left_toe")] = 1  # on the floor
    treads = treads_of(joints, contact)
    assert [tread.top for tread in treads] == [pytest.approx((0.0, 0.17, 0.0)), pytest.approx((0.0, 0.17, 4.0))]
    assert all(tread.thickness is not None for tread in treads)

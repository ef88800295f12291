from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageColor, ImageDraw

from docs.skeleton_figure import posed
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import CONTACTS
from posegen.viewing.canvas import COLOURS
from posegen.viewing.clip import clip_of_sequence, label_intervals, make_clip, tracks_of
from posegen.viewing.pictures import (
    PALETTE,
    draw_bars,
    sheet_of_clip,
    sheet_of_samples,
    shown_frames,
    typeface,
    wrap,
)
from posegen.viewing.render import render_all

CAPTION = "A person stands still, then walks forward and waves with the left hand."


def render(joints, caption, fps, path):
    return render_all([make_clip(joints, caption, fps)], path)


def acting(clip, labels):
    return replace(clip, tracks={"action": labels})


def gliding(frames=30, speed=0.02):
    """A figure in the rest pose that glides ahead."""
    way = np.arange(frames)[:, None, None] * np.array([0.0, 0.0, speed])
    return (posed() + way)[None]


def colours(picture):
    return {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}


def pixels_of(picture, colour, near=40):
    away = np.abs(np.asarray(picture.convert("RGB")).astype(int) - colour).sum(-1)
    return int((away < near).sum())


class TestGif:
    @pytest.mark.parametrize(
        ("frames", "fps", "shown", "each"),
        [(30, 25, 30, {40}), (30, 20, 30, {50}), (60, 60, 30, {30, 40}), (120, 120, 30, {30, 40})],
    )
    def test_has_its_frames_and_lasts_as_long_as_the_sequence(self, tmp_path, frames, fps, shown, each):
        path = render(gliding(frames), CAPTION, fps, tmp_path / "a.gif")
        with Image.open(path) as picture:
            durations = []
            for number in range(picture.n_frames):
                picture.seek(number)
                durations.append(picture.info["duration"])
            assert picture.info["loop"] == 0
        assert len(durations) == shown
        assert set(durations) == each
        assert sum(durations) == pytest.approx(1000 * frames / fps, abs=5)

    @pytest.mark.parametrize("fps", [20, 25, 30, 50, 60, 120])
    def test_durations_add_up(self, fps):
        for frames in (1, 7, 250):
            shown, durations = shown_frames(frames, fps)
            assert len(shown) == len(durations)
            assert sum(durations) == pytest.approx(1000 * frames / fps, abs=5)

    def test_camera_follows_and_grid_moves(self, tmp_path):
        path = render(gliding(26), CAPTION, 25, tmp_path / "a.gif")
        with Image.open(path) as picture:
            first = np.asarray(picture.convert("RGB")).astype(int)
            picture.seek(13)
            later = np.asarray(picture.convert("RGB")).astype(int)
        # Blue pixels stay, as the figure only glides; the floor's lines pass under it.
        blue = [np.abs(frame - COLOURS["left"]).sum(-1) < 60 for frame in (first, later)]
        assert blue[0].sum() > 500
        assert (blue[0] != blue[1]).sum() < 0.1 * blue[0].sum()
        assert (np.abs(first - later).sum(-1) > 60).sum() > 500

    def test_current_action_is_written(self, tmp_path):
        actions = ["stand"] * 5 + ["walk"] * 5
        frames = []
        for labels, name in ((actions, "a"), ([""] * 10, "b")):
            clip = acting(make_clip(gliding(10), CAPTION, 25), labels)
            with Image.open(render_all([clip], tmp_path / f"{name}.gif")) as picture:
                picture.seek(7)
                frames.append(np.asarray(picture.convert("RGB")).astype(int))
        changed = np.abs(frames[0] - frames[1]).sum(-1) > 60
        rows, columns = np.nonzero(changed)
        assert len(rows) > 50
        assert rows.max() < 60
        assert columns.max() < 80

    def test_is_the_same_each_time(self, tmp_path):
        one, other = (render(gliding(5), CAPTION, 25, tmp_path / name).read_bytes() for name in ("a.gif", "b.gif"))
        assert one == other


class TestSheet:
    def test_shows_figure_words_and_bars(self):
        contact = np.zeros((1, 30, len(CONTACTS)), np.uint8)
        contact[0, :15, 0] = 1
        clip = make_clip(gliding(), CAPTION, 25, title="sample 3, base", contact=contact)
        sheet = sheet_of_clip(acting(clip, ["walk"] * 30))
        assert sheet.width == 1440
        assert pixels_of(sheet, COLOURS["left"]) > 3000
        assert pixels_of(sheet, COLOURS["right"]) > 3000
        assert pixels_of(sheet, ImageColor.getrgb(PALETTE[0])) > 10_000
        assert pixels_of(sheet, COLOURS["contact"]) > 50
        bottom = sheet.crop((0, sheet.height - 30, sheet.width, sheet.height))
        assert pixels_of(bottom, (40, 40, 46)) > 100

    def test_more_poses_more_ink_and_no_more_than_frames(self):
        few, many, most = (sheet_of_clip(make_clip(gliding(8), CAPTION, 25), poses=poses) for poses in (2, 8, 40))
        assert pixels_of(many, COLOURS["left"]) > 2 * pixels_of(few, COLOURS["left"])
        np.testing.assert_array_equal(many, most)

    def test_distant_actors_all_fit(self):
        joints = np.concatenate([gliding(), gliding() + np.array([6.0, 0, 0])])
        sheet = sheet_of_clip(make_clip(joints, CAPTION, 25))
        assert sheet.width == 1440
        assert pixels_of(sheet, COLOURS["left"]) > 1000

    def test_of_samples_stacks_them(self):
        clips = [make_clip(gliding(), f"{number}", 25) for number in range(3)]
        single = sheet_of_clip(clips[0], poses=10, width=1200, scale=70.0)
        whole = sheet_of_samples(clips)
        assert whole.size == (1200, 3 * single.height)
        assert sheet_of_samples(clips, poses=4, columns=2).height == 2 * single.height
        blues = [
            pixels_of(whole.crop((0, i * single.height, 1200, (i + 1) * single.height)), COLOURS["left"]) for i in range(3)
        ]
        assert len(set(blues)) == 1
        assert blues[0] > 1000

    def test_frames_behind_the_end_are_not_shown(self):
        joints = np.concatenate([gliding(20), np.full((1, 30, 22, 3), np.nan)], axis=1)
        action, contact = np.zeros((1, 50, 5), int), np.zeros((1, 50, len(CONTACTS)), np.uint8)
        clip = make_clip(joints, CAPTION, 25, action=action, names=["walk"], contact=contact)
        assert clip.frames == 20
        shown = make_clip(gliding(20), CAPTION, 25, action=action[:, :20], names=["walk"], contact=contact[:, :20])
        np.testing.assert_array_equal(sheet_of_clip(clip), sheet_of_clip(shown))


class TestBars:
    def test_stretches(self):
        assert list(label_intervals(["a", "a", "b", "a"])) == [("a", 0, 2), ("b", 2, 3), ("a", 3, 4)]

    def test_a_bar_is_as_long_as_its_action(self):
        clip = acting(make_clip(gliding(20), "", 25), ["stand"] * 5 + ["walk"] * 15)
        picture = Image.new("RGB", (500, 30), (255, 255, 255))
        draw_bars(ImageDraw.Draw(picture), clip, 0, 0, 492)
        stand, walk = (int((np.asarray(picture)[11] == colour).all(-1).sum()) for colour in map(ImageColor.getrgb, PALETTE[:2]))
        assert stand == pytest.approx(100, abs=3)
        assert walk == pytest.approx(300, abs=3)


def test_wrapping_keeps_all_words_within_the_width_and_line_breaks():
    lines = wrap(f"{CAPTION}\nAnother.", 14, 150)
    assert " ".join(lines) == f"{CAPTION} Another."
    assert lines[-1] == "Another."
    assert len(lines) > 3
    assert all(typeface(14).getlength(line) <= 150 for line in lines)
    assert wrap("", 14, 100) == []
    assert wrap("a incomprehensibilities b", 14, 20) == ["a", "incomprehensibilities", "b"]


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
            render(gliding(), CAPTION, 25, tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_upper_case_suffix_is_fine(self, tmp_path):
        assert render(gliding(3), CAPTION, 25, tmp_path / "a.PNG").stat().st_size > 1000

    def test_folder(self, tmp_path):
        with pytest.raises(UsageError, match="does not exist; create it first"):
            render(gliding(), CAPTION, 25, tmp_path / "no" / "a.gif")

    def test_shapes(self, tmp_path):
        path = tmp_path / "a.png"
        with pytest.raises(UsageError, match=r"\[actors, frames, 22, 3\], not \[1, 30, 24, 3\]"):
            render(np.zeros((1, 30, 24, 3)), CAPTION, 25, path)
        with pytest.raises(UsageError, match="nothing to draw"):
            render(np.full((1, 30, 22, 3), np.nan), CAPTION, 25, path)

    def test_a_gif_of_several(self, tmp_path):
        clips = [make_clip(gliding(3), CAPTION, 25)] * 2
        with pytest.raises(UsageError, match=r"a \.gif file shows one sequence, and 2 were asked for: write a \.png"):
            render_all(clips, tmp_path / "a.gif")
        with pytest.raises(UsageError, match="no sequence"):
            render_all([], tmp_path / "a.png")

    def test_without_pillow_the_command_to_install_it_is_given(self, tmp_path):
        program = f"""
import sys
sys.modules["PIL"] = None
import numpy as np
from posegen.foundations.errors import UsageError
from posegen.viewing.clip import make_clip
from posegen.viewing.render import render_all
try:
    render_all([make_clip(np.zeros((1, 3, 22, 3)))], {str(tmp_path / "a.png")!r})
except UsageError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "[view]'" in done.stdout, done.stderr


def test_a_video_has_every_frame(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = render_all([make_clip(gliding(50), CAPTION, 25)], tmp_path / "a.MP4")
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (50, pytest.approx(2.0, abs=0.1))
    reader = imageio_ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    first = np.frombuffer(next(reader), np.uint8).reshape(height, width, 3).astype(int)
    render_all([make_clip(gliding(50), CAPTION, 25)], tmp_path / "a.gif")
    with Image.open(tmp_path / "a.gif") as picture:
        still = np.asarray(picture.convert("RGB")).astype(int)
    assert (width - still.shape[1], height - still.shape[0]) in {(0, 0), (0, 1), (1, 0), (1, 1)}
    # The same picture but for what compression and the palette change.
    assert np.abs(first[: still.shape[0], : still.shape[1]] - still).mean() < 4

"""The page in a browser: served, and as one file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from PIL import Image

import posegen
from docs.skeleton_figure import posed
from posegen.evaluation.recording import Recording
from posegen.foundations.progress import Progress
from posegen.viewing.collection import Collection, collection_of_clips, collection_of_dataset
from posegen.viewing.page import write_report
from posegen.viewing.server import Server
from tests.once import generated_once
from tests.viewing.browser import axe_faults, chromium

pytestmark = pytest.mark.slow  # starts a browser

HOSTILE = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
SIZES = {"phone": (390, 844), "desk": (1280, 800)}
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    options = ("frames=75", "store.shard=20", "store.chunk=20")
    return collection_of_dataset(generated_once(tmp_path_factory, "page", 60, *options))


@pytest.fixture(scope="module")
def url(collection: Collection) -> Iterator[str]:
    with Server(collection) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield server.url
        server.shutdown()


@pytest.fixture
def opened(browser: Any, url: str) -> Iterator[Opened]:
    """Open the page at a place; nothing may be reported on its console."""
    problems, pages = [], []

    def open_page(place: str = "", address: str = url, size: str = "desk") -> Any:
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZES[size], strict=True)))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto(address + place)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []


def frame_of(page: Any) -> int:
    return int(page.evaluate("document.documentElement.dataset.frame"))


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition. Playwright's own function for it evaluates text in the page, whose policy forbids that."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {condition}")


def wait_for_frame(page: Any, frame: int) -> None:
    wait_until(page, f"document.documentElement.dataset.frame === '{frame}'")


def test_playing_scrubbing_and_keys(opened: Opened) -> None:
    page = opened("#sample=3&variant=base&frame=10")
    wait_for_frame(page, 10)
    assert page.locator("#captions .caption").count() == 3
    page.keyboard.press("ArrowRight")
    assert frame_of(page) == 11
    page.keyboard.press("Shift+ArrowLeft")
    assert frame_of(page) == 0
    page.keyboard.press("End")
    assert frame_of(page) == 74
    page.locator("#scrub").fill("40")
    assert frame_of(page) == 40
    page.get_by_role("button", name="Play", exact=True).click()
    wait_until(page, "Number(document.documentElement.dataset.frame) > 42")
    page.get_by_role("button", name="Pause").click()
    stopped = frame_of(page)
    wait_until(page, f"location.hash === '#sample=3&variant=base&frame={stopped}'")
    page.keyboard.press("v")
    assert page.locator("#variants [aria-pressed=true]").inner_text() == "speed"
    page.keyboard.press("a")
    assert page.locator(".tile-label").count() == 5


def test_captions_and_bars_are_lit_while_their_segment_lasts(opened: Opened, collection: Collection) -> None:
    page = opened("#sample=3&variant=base&frame=0")
    wait_for_frame(page, 0)
    segments = page.locator("#captions .segment")
    times = [re.search(r"([\d.]+)\u2013([\d.]+) s", text) for text in segments.all_inner_texts()]
    bounds = [(round(float(match[1]) * 25), round(float(match[2]) * 25)) for match in times if match]
    assert len(bounds) == segments.count() > 0
    for frame in {start for start, end in bounds if end - start > 4} | {60}:
        page.locator("#scrub").fill(str(frame + 2))
        lit = ["now" in (segments.nth(i).get_attribute("class") or "") for i in range(len(bounds))]
        # Times are rounded to tenths, so that a segment may begin or end two frames beside.
        for on, (start, end) in zip(lit, bounds, strict=True):
            if min(abs(frame + 2 - start), abs(frame + 2 - end)) > 2:
                assert on == (start <= frame + 2 < end)
    assert page.locator(".run.now").count() > 0


def test_filters_and_the_next_match(opened: Opened, collection: Collection) -> None:
    page = opened("#sample=0&frame=0")
    wait_for_frame(page, 0)
    rows = collection.read_rows(0)
    action = next(action for row in rows for action in row["actions"] if action != "stand")
    matching = [row["sample"] for row in rows if action in row["actions"]]
    page.locator("#action").select_option(action)
    wait_until(page, "document.querySelector('#found').textContent.includes(' of ')")
    shown = [int(text) for text in page.locator("#rows .number").all_text_contents()]
    assert shown[: len(matching)] == matching
    word = rows[matching[0]]["texts"][0].split()[-1]
    page.locator("#words").fill(word.upper())
    wait_until(page, f"document.querySelector('#rows a').dataset.sample === '{matching[0]}'")
    assert all(word in text.lower() for text in page.locator("#rows .text").all_text_contents()[:1])
    page.locator("#words").fill("")
    following = next((sample for sample in shown if sample > 0), None)
    wait_until(page, f"document.querySelectorAll('#rows a').length >= {len(shown)}")
    page.locator("#next").click()
    wait_until(page, f"document.querySelector('#number').value === '{following}'")
    page.locator("#clear").click()
    wait_until(page, "document.querySelectorAll('#rows a').length >= 20")


def test_speeds_are_filtered(opened: Opened, collection: Collection) -> None:
    page = opened("#sample=0&frame=0")
    wait_for_frame(page, 0)
    rows = collection.read_rows(0)
    low = sorted(speed for row in rows for speed in row["speeds"])[1]
    page.click("#more-filters summary")
    page.locator("#slowest").fill(str(low))
    page.locator("#fastest").fill(str(low + 1))
    expected = [row["sample"] for row in rows if any(low <= speed <= low + 1 for speed in row["speeds"])]
    wait_until(page, f"document.querySelector('#rows a')?.dataset.sample === '{expected[0]}'")
    wait_until(page, "document.querySelector('#found').textContent.includes(' of ')")
    shown = [int(text) for text in page.locator("#rows .number").all_text_contents()]
    assert [sample for sample in shown if sample < len(rows)] == expected


def test_an_address_that_names_nothing_is_explained(opened: Opened) -> None:
    page = opened("#sample=4&variant=mirrored&frame=2")
    wait_for_frame(page, 2)
    assert page.locator("#message").inner_text() == "Sample 4 has no variant mirrored."
    wait_until(page, "location.hash.includes('variant=base')")  # which the page writes itself
    page.evaluate("location.hash = '#sample=five'")
    wait_until(page, "document.querySelector('#message').textContent.startsWith('There is no sample five')")


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off_and_axe_finds_no_fault(opened: Opened, size: str) -> None:
    page = opened("#sample=2&frame=5", size=size)
    wait_for_frame(page, 5)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    box = page.locator("#canvas").bounding_box()
    assert box["width"] > 0.7 * SIZES[size][0]
    assert box["height"] >= 240
    assert axe_faults(page) == []
    page.locator("#tab-overview").click()
    page.locator("#overview-page dl").wait_for()
    assert axe_faults(page) == []


def test_a_picture_is_drawn(opened: Opened) -> None:
    page = opened("#sample=2&frame=5")
    wait_for_frame(page, 5)
    page.wait_for_timeout(500)
    first = page.locator("#canvas").screenshot()
    page.locator("#scrub").fill("60")
    page.wait_for_timeout(500)
    assert len(first) > 20_000  # a canvas of one colour takes a tenth
    assert page.locator("#canvas").screenshot() != first


@pytest.mark.parametrize("follow", [True, False])
def test_who_climbs_stays_in_view(opened: Opened, tmp_path: Path, *, follow: bool) -> None:
    climb = np.concatenate([np.linspace(0, 2.6, 130), np.full(20, 2.6)])
    joints = np.tile(posed(), (150, 1, 1)) + climb[:, None, None] * [0, 1, 0]
    out = tmp_path / "page.html"
    write_report(collection_of_clips("stairs", [Recording("up", "", joints, 25.0, family="up")], {}), 1, out, None, Progress())
    page = opened("#sample=0&frame=149", address=out.as_uri())
    wait_for_frame(page, 149)
    if not follow:
        page.keyboard.press("f")
    page.wait_for_timeout(500)
    picture = np.asarray(Image.open(BytesIO(page.locator("#canvas").screenshot())).convert("RGB")).astype(int)
    is_limb = np.ptp(picture, axis=2) > 90  # blue and red; the floor and the sky are grey
    high = np.flatnonzero(is_limb.any(axis=1))
    assert is_limb.sum() > 1000
    assert 0.03 < high[0] / len(picture) < high[-1] / len(picture) < 0.97


@pytest.fixture(scope="module")
def hostile() -> Collection:
    joints = np.broadcast_to(posed().astype(np.float64), (8, 22, 3))
    return collection_of_clips(HOSTILE, [Recording(HOSTILE, "", joints, 25.0, family=HOSTILE)] * 2, {HOSTILE: HOSTILE})


def test_texts_of_others_are_text(opened: Opened, hostile: Collection, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write_report(hostile, 2, out, {"clips": 1, "verdict": [(HOSTILE,) * 4], "measures": [], "statements": []}, Progress())
    for place in ("#sample=1&frame=3", "#overview"):
        page = opened(place, address=out.as_uri())
        wait_for_frame(page, 3) if "sample" in place else page.locator("#overview-page dl").wait_for()
        assert page.locator("img").count() == 0
        assert "run" not in page.title().split("·")[-1]
        assert HOSTILE in page.locator("body").inner_text()


def test_one_file_loads_nothing_and_shows_every_sample(opened: Opened, collection: Collection, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    size = write_report(collection, 3, out, None, Progress())
    assert size == out.stat().st_size
    asked: list[str] = []
    page = opened("#sample=0&frame=1", address=out.as_uri())
    page.on("request", lambda request: asked.append(request.url))
    wait_for_frame(page, 1)
    for sample in (1, 2):
        page.keyboard.press("j")
        wait_until(page, f"document.querySelector('#number').value === '{sample}'")
    assert not [address for address in asked if address.startswith(("http", "file"))]
    assert page.locator("#rows a").count() == 3


@pytest.fixture(scope="module")
def pairs_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Server(collection_of_dataset(generated_once(tmp_path_factory, "page of pairs", 4, preset="pairs"))) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield server.url
        server.shutdown()


@pytest.mark.parametrize("size", SIZES)
def test_everybody_is_in_view_whatever_sample_comes_next(opened: Opened, pairs_url: str, size: str) -> None:
    page = opened("#sample=0&frame=0", address=pairs_url, size=size)
    wait_for_frame(page, 0)
    for sample in (1, 2, 3):
        page.keyboard.press("j")
        wait_until(page, f"document.querySelector('#number').value === '{sample}'")
        page.locator("#scrub").fill("30")
        page.wait_for_timeout(300)
        stage = page.locator("#canvas").bounding_box()
        labels = [label.bounding_box() for label in page.locator(".person-label").all()]
        assert len(labels) == 2
        for label in labels:  # None where the person is outside the picture
            assert stage["x"] <= label["x"] <= stage["x"] + stage["width"] - label["width"]


def test_words_match_by_stem_in_all_samples_and_a_match_opens_where_it_begins(opened: Opened) -> None:
    page = opened()
    whole = "/^[0-9]+ of 60 samples$/.test(document.querySelector('#found').textContent)"  # while it searches: of the first 40
    page.fill("#words", "person walks")
    wait_until(page, whole)
    walks = page.inner_text("#found")
    assert not walks.startswith("60 ")
    page.fill("#words", "zebras")
    wait_until(page, "document.querySelector('#found').textContent === '0 of 60 samples'")
    page.fill("#words", "persons walking")
    wait_until(page, f"{whole} && !document.querySelector('#found').textContent.startsWith('0 ')")
    assert page.inner_text("#found") == walks
    page.click("#clear")
    page.click("#tab-overview")
    bar = page.locator(".bars .pick").nth(1)
    action = bar.inner_text()
    bar.click()
    wait_until(page, "document.querySelector('#found').textContent.includes(' of ')")
    assert page.input_value("#action") == action


def test_a_sequence_is_downloaded_as_stored(opened: Opened, tmp_path: Path) -> None:
    page = opened()
    wait_until(page, "document.documentElement.dataset.frame !== undefined")
    with page.expect_download() as taken:
        page.click("#download")
    taken.value.save_as(tmp_path / "clip.npz")
    with np.load(tmp_path / "clip.npz") as clip:
        assert clip["joints"].shape == (1, 75, 22, 3)
        assert clip["fps"] == 25


@pytest.mark.parametrize("ending", ["bvh", "glb"])
def test_a_sequence_is_downloaded_as_it_is_exported(
    ending: str, opened: Opened, collection: Collection, tmp_path: Path
) -> None:
    page = opened("#sample=3")
    wait_until(page, "document.documentElement.dataset.frame !== undefined")
    with page.expect_download() as taken:
        page.click(f"#download-{ending}")
    assert taken.value.suggested_filename == f"sample-3-base.{ending}"
    taken.value.save_as(tmp_path / "own")
    posegen.export(collection.provenance["dataset"], ending, tmp_path / "all", variants=["base"], workers=1)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "all" / f"000003.{ending}").read_bytes()


def test_the_files_of_several_people_are_in_one_archive(opened: Opened, pairs_url: str, tmp_path: Path) -> None:
    page = opened(address=pairs_url)
    wait_until(page, "document.documentElement.dataset.frame !== undefined")
    with page.expect_download() as taken:
        page.click("#download-bvh")
    assert taken.value.suggested_filename == "sample-0-base.bvh.zip"
    taken.value.save_as(tmp_path / "own.zip")
    with zipfile.ZipFile(tmp_path / "own.zip") as archive:
        assert archive.namelist() == ["000000.bvh", "000000_1.bvh"]
        assert archive.read("000000_1.bvh").startswith(b"HIERARCHY")

"""The progress display of long commands."""

from __future__ import annotations

import io
import re
import time

import pytest

from posegen.foundations.progress import LineProgress, Progress, TerminalProgress, make_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that moves the cursor, wherever the tests run."""
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock whose seconds a test sets."""
    now = [0.0]
    monkeypatch.setattr("posegen.foundations.progress.time.monotonic", lambda: now[0])
    return now


def test_lines_are_rare_but_the_last_one_is_printed(clock: list[float]) -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.start("generate", 1000)
    for done in range(100, 1001, 100):
        clock[0] = done / 1000
        progress.update(done, "500 MB")
    progress.stop()
    first, last = stream.getvalue().splitlines()
    assert first == "generate: 0 of 1,000 samples (0%)"
    assert last == "generate: 1,000 of 1,000 samples (100%), 1,000 samples/s, 500 MB, 0s left"


def test_rate_and_time_left_follow_from_this_session(clock: list[float]) -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.start("train", 200, unit="steps", done=100)
    clock[0] = 8.0
    progress.update(140)
    assert stream.getvalue().splitlines()[-1] == "train: 140 of 200 steps (70%), 5.0 steps/s"
    for clock[0], done in ((9.0, 145), (10.0, 150), (11.0, 155), (12.0, 160), (13.0, 165)):
        progress.update(done)
    assert stream.getvalue().splitlines()[-1] == "train: 165 of 200 steps (82%), 5.0 steps/s, 7s left"


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("setup", [0.0, 57.0])
def test_the_time_left_is_right_whatever_precedes_the_first_unit(clock: list[float], workers: int, setup: float) -> None:
    """Shards of a second each, after a setup: no estimate is off by more than half, and one shard of each worker."""
    stream, total = io.StringIO(), 640
    progress = LineProgress(stream)
    progress.start("generate", total, unit="shards")
    stated = []
    for done in range(1, total):
        clock[0] = setup + (done + workers - 1) // workers + 0.01 * ((done - 1) % workers)
        progress.update(done)
        line = stream.getvalue().splitlines()[-1]
        shown = re.search(r" (\d+) of .*, (?:(\d+)m )?(\d+)s left", line)
        assert "0.0 shards" not in line
        if shown and int(shown[1]) == done:
            left = 60 * int(shown[2] or 0) + int(shown[3])
            actual = setup + -(-total // workers) - clock[0]
            assert abs(left - actual) <= 0.5 * actual + 2
            stated.append(done)
    assert stated


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    progress = make_progress(stream=stream)
    assert isinstance(progress, TerminalProgress)
    progress.start("generate", 10)
    progress.update(10, "2 MB [green]")
    progress.log("a message [red]")
    progress.stop()
    progress.stop()
    shown = " ".join(stream.getvalue().split())
    assert "10/10 samples" in shown
    assert "2 MB [green]" in shown
    assert "a message [red]" in shown


def test_other_streams_get_lines_and_quiet_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_progress(stream=io.StringIO()), LineProgress)
    with monkeypatch.context() as dumb:
        dumb.setenv("TERM", "dumb")
        assert isinstance(make_progress(stream=Terminal()), LineProgress)
    stream = Terminal()
    silent = make_progress(quiet=True, stream=stream)
    assert type(silent) is Progress
    silent.log("something")
    silent.start("generate", 1)
    silent.update(1)
    silent.stop()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_what_a_narrow_terminal_has_no_room_for_are_figures(
    columns: int, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    progress = TerminalProgress(stream)
    progress.start("generate", 1000)
    for clock[0] in (4.0, 6.0, 8.0):
        progress.update(25 * int(clock[0]))
    clock[0] = 10.0
    progress.update(250, "195 sequences/s, 12.3 MB, CPU 183%, 484 MB memory")
    progress.stop()
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).splitlines()[-1]
    assert len(last.rstrip()) <= columns
    assert "━" * 8 in last.replace("╸", "━").replace("╺", "━")
    assert re.search(r" 25% +30s left", last)
    assert ("484 MB memory" in last) == (columns == 200)
    assert ("250/1,000 samples" in last) == (columns >= 80)
    assert columns == 200 or last.rstrip().endswith("…")


def test_a_terminal_shows_what_is_waited_for_until_there_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posegen.foundations.progress.SECONDS_UNTIL_WAITING", 0.0)
    stream = Terminal()
    progress = TerminalProgress(stream)
    progress.wait("load the encoder")
    deadline = time.monotonic() + 30
    while "load the encoder" not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "load the encoder" in stream.getvalue()
    progress.wait("")
    progress.stop()
    shown = stream.getvalue()
    assert shown.endswith("\x1b[1A\x1b[2K") or "\x1b[2K" in shown.rpartition("load the encoder")[2]  # it is removed
    time.sleep(0.05)
    assert stream.getvalue() == shown


def test_work_after_a_task_is_a_line() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.wait("load the encoder")
    progress.start("embed", 1)
    progress.wait("prepare the search")
    progress.wait("")
    assert stream.getvalue().splitlines() == ["embed: 0 of 1 sample (0%)", "prepare the search"]


def test_a_task_that_starts_again_soon_is_one_line(clock: list[float]) -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    for done in range(3):
        progress.start("compile", 9, unit="kernels", done=done)
        progress.stop()
    assert stream.getvalue() == "compile: 0 of 9 kernels (0%)\n"
    clock[0] = 6.0
    progress.start("compile", 9, unit="kernels", done=3)
    assert stream.getvalue().splitlines()[1:] == ["compile: 3 of 9 kernels (33%)"]


def test_work_that_is_not_counted_is_shown_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posegen.foundations.progress.SECONDS_BETWEEN_SIGNS", 0.01)
    stream, quiet = io.StringIO(), Progress()
    with LineProgress(stream).working("measure trial steps"), quiet.working("nothing"):
        deadline = time.monotonic() + 30
        while stream.getvalue().count("\n") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    assert len(lines) > 2
    assert all(line.startswith("measure trial steps: ") for line in lines)
    time.sleep(0.05)
    assert stream.getvalue().splitlines() == lines

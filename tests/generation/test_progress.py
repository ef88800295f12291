"""What a run says while it works."""

from __future__ import annotations

import io

from posegen.generation.progress import Bar, Lines, Machine, Progression, Silence, reporter
from posegen.quantities import human_bytes, human_time


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rates_and_the_time_left_follow_from_what_is_done() -> None:
    progression = Progression(samples=50, total=200, sequences=250, bytes=5_000_000, seconds=10)
    assert progression.samples_per_second == 5
    assert progression.sequences_per_second == 25
    assert progression.seconds_left == 30


def test_before_anything_is_done_the_time_left_is_unknown() -> None:
    progression = Progression(samples=0, total=200, sequences=0, bytes=0, seconds=0)
    assert progression.samples_per_second == 0
    assert progression.seconds_left is None


def test_lines_come_seldom_but_the_last_one_comes() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.start(Progression(0, 1000, 0, 0, 0))
    for done in range(100, 1001, 100):
        lines.update(Progression(done, 1000, 5 * done, 1_000_000 * done, done / 100))
    lines.stop()
    first, last = stream.getvalue().splitlines()
    assert first == "1,000 samples to make"
    assert last.startswith("1,000 of 1,000 samples (100%), 100 samples/s, 500 sequences/s, 1 GB, CPU ")
    assert last.endswith(" memory, 0s left")


def test_a_terminal_gets_a_bar() -> None:
    stream = Terminal()
    bar = reporter(stream=stream)
    assert isinstance(bar, Bar)
    bar.start(Progression(0, 10, 0, 0, 0))
    bar.update(Progression(10, 10, 50, 2_000_000, 2))
    bar.stop()
    assert "10/10 samples, 5 samples/s, 25 sequences/s, 2 MB" in " ".join(stream.getvalue().split())


def test_elsewhere_it_is_lines_and_with_quiet_nothing() -> None:
    assert isinstance(reporter(stream=io.StringIO()), Lines)
    stream = Terminal()
    silence = reporter(quiet=True, stream=stream)
    assert isinstance(silence, Silence)
    silence.say("something")
    silence.start(Progression(0, 1, 0, 0, 0))
    assert stream.getvalue() == ""


def test_memory_is_that_of_this_process_at_least() -> None:
    machine = Machine()
    machine.measure()
    assert machine.memory > 10_000_000


def test_sizes_and_times_read_well() -> None:
    assert [human_bytes(n) for n in (0, 999, 1500, 1.65e9, 5e15)] == ["0 B", "999 B", "1.5 kB", "1.65 GB", "5,000 TB"]
    assert [human_time(s) for s in (0.4, 59, 61, 3600, 7322)] == ["0s", "59s", "1m 01s", "1h 00m", "2h 02m"]

"""`posegen view` and `posegen report`: their messages, and how they end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.skeleton_figure import posed
from posegen.cli.main import main
from tests.once import generated_once
from tests.running import hear_interrupts


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated_once(tmp_path_factory, "view", 3, "frames=50")


def test_mistakes_are_explained(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    for arguments, message in (
        (["view"], "Missing argument 'PATH'"),
        (["view", str(dataset), "--fps", "30"], "--fps has no effect on a dataset"),
        (["view", str(tmp_path / "absent.bvh")], "absent.bvh: there is no such file or folder; check the path"),
        (["view", str(dataset.parent)], f"is not a dataset: it has no dataset.json. It holds datasets; name one: {dataset}"),
        (["report", str(dataset), "-o", str(tmp_path / "page.pdf")], "must end in .html"),
        (["report", str(dataset), "--samples", "0", "-o", page], "--samples must be at least 1 (got 0)"),
        (["report", str(dataset), "--samples", "3000", "-o", page], "--samples must be at most 2,000"),
        (["report", str(tmp_path), "-o", page], "is not a dataset"),
    ):
        assert main(arguments) == 2, arguments
        printed = capsys.readouterr()
        assert message in printed.err
        assert printed.out == ""
    assert not list(tmp_path.glob("page.*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_success(number: signal.Signals, tmp_path: Path) -> None:
    """The address is printed first, so that a script can read it; it answers until the signal."""
    clips = tmp_path / "walk.npz"
    np.savez(clips, joints=np.broadcast_to(posed().astype(np.float32), (30, 22, 3)), fps=25.0)
    command = [sys.executable, "-m", "posegen", "view", str(clips), "--no-browser", "--json"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=hear_interrupts) as process:
        assert process.stdout is not None
        lines = ""
        while not lines.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            lines += line
        url = json.loads(lines)["url"]
        with urllib.request.urlopen(f"{url}about") as answer:
            assert json.loads(answer.read())["title"] == "walk.npz"
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert "ended" in process.stderr.read()


def test_a_taken_port_is_refused(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["view", str(dataset), "--port", str(port), "--no-browser"]) == 2
    assert f"--port {port}: cannot be used" in capsys.readouterr().err


def test_a_report_has_the_evaluation(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert main(["report", str(dataset), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(out), "samples": 3, "bytes": out.stat().st_size}
    text = out.read_text(encoding="utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    evaluation = data["overview"]["evaluation"]
    assert evaluation["clips"] == 15
    assert evaluation["verdict"][0][::3] == ["false statements in captions", "pass"]
    assert {row[0] for row in evaluation["measures"]} >= {"skate, GMD", "bone length", "limits"}
    assert data["overview"]["samples"] == 3
    assert dict(data["about"]["provenance"])["licence"] == "CC0-1.0"


@pytest.mark.slow
def test_a_signal_ends_it_also_while_python_discards_exceptions(dataset: Path) -> None:
    """As in a finaliser or here in a callback of the garbage collector, in which SIGTERM arrives."""
    script = """
import gc, os, signal, sys, threading
from posegen.cli import main
armed = []
def in_callback(phase, info):
    if armed and threading.current_thread() is threading.main_thread():
        armed.clear()
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(10_000))
def arm(number, frame):
    armed.append(True)
    gc.set_threshold(1)
gc.callbacks.append(in_callback)
signal.signal(signal.SIGUSR1, arm)
sys.argv[1:] = ["view", sys.argv[1], "--no-browser"]
sys.exit(main.main())
"""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", script, str(dataset)], **pipes)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://")
        process.send_signal(signal.SIGUSR1)
        _, printed = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in printed  # which Python reports and discards
    assert "ended" in printed
    assert process.returncode == 0

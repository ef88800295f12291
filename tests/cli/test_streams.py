"""Standard streams that are closed, full or broken, and signals while the program starts: work that is done stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from posegen.cli.main import main

ROOT = Path(__file__).parents[2]
POSEGEN = f"{sys.executable} -m posegen"
GENERATE = "generate --config smoke --set frames=40 --samples 2 --workers 1 --out dataset"


def shell(command: str, folder: Path) -> tuple[int, str, str]:
    """Run a command of bash; `posegen` is the program under test."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = ["bash", "-o", "pipefail", "-c", command.replace("posegen ", f"{POSEGEN} ")]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", ["config presets", "config presets --json", "--help", "config show --help"])
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")], ids=["-", "full"]
)
def test_a_result_that_cannot_be_printed_is_an_error(arguments: str, redirection: str, reason: str, tmp_path: Path) -> None:
    code, _, error = shell(f"posegen {arguments} {redirection}", tmp_path)
    problem = f"standard output cannot be written ({reason})"
    assert error == f"posegen: error: {problem}; redirect it elsewhere. Written files are complete\n"
    assert code == 1


def test_a_reader_that_wants_no_more_is_no_error_message(tmp_path: Path) -> None:
    assert shell("posegen config show default | true", tmp_path) == (1, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_messages_that_cannot_be_printed_do_not_change_the_outcome(redirection: str, tmp_path: Path) -> None:
    assert shell(f"posegen config shw {redirection}", tmp_path) == (2, "", "")
    assert shell(f"posegen config presets {redirection}", tmp_path)[0] == 0
    code, out, error = shell(f"posegen {GENERATE} {redirection}", tmp_path)
    assert (code, error) == (0, "")
    assert "Generated 10 sequences" in out
    assert main(["verify", str(tmp_path / "dataset"), "--quiet"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("redirection", [">&- 2>&- <&-", ">/dev/full 2>/dev/full"])
def test_without_any_stream_the_work_is_done(redirection: str, tmp_path: Path) -> None:
    assert shell(f"posegen {GENERATE} {redirection}", tmp_path) == (1, "", "")
    assert main(["verify", str(tmp_path / "dataset"), "--quiet"]) == 0


def test_letters_that_the_output_lacks_are_escaped(tmp_path: Path) -> None:
    library = tmp_path / "\u4e94"
    library.mkdir()
    (library / "styles.yaml").write_text("styles: {}", encoding="utf-8")
    (tmp_path / "config.yaml").write_text(f"story: {{library: {library}}}", encoding="utf-8")
    code, out, error = shell("PYTHONIOENCODING=latin-1 posegen config diff default config.yaml", tmp_path)
    assert (code, error) == (0, "")
    assert r"\u4e94" in out


PROGRAM = """
import os, signal, sys

module = sys.argv.pop(1)

class Signal:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Signal())
from posegen.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("click", -signal.SIGTERM),  # before the program has begun
        ("posegen.cli.generate", 130),
        ("pydantic", 130),
        ("posegen.generation.run", 130),
        ("numba", 130),
        ("posegen.motion.engine", 130),
    ],
)
def test_sigterm_while_the_program_starts(module: str, code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, module, *GENERATE.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, error = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in error
    assert error.endswith("posegen: interrupted\n" if code > 0 else "")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # no child is left

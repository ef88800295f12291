"""Invalid input on the command line: one clear line, exit code 2, nothing written, no traceback."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from posegen.cli.main import main

Refused = Callable[..., str]

GENERATE = ("generate", "--config", "smoke", "--workers", "1", "--out", "made")
BOMB = "a: &a [x, x]\n" + "".join(f"{name}: &{name} [{f'*{before}, ' * 9}x]\n" for before, name in pairwise("abcdefgh"))
LARGE = 10 << 30
DOUBLED = re.compile(r"[.;:,?!]\)?[;:,!?](?!')|\.\. |; ;|\\t")
"""Punctuation after punctuation, such as "?;", and tabs that are spelled out."""


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Return everything in a folder, with types and times."""
    return {str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in [folder, *folder.rglob("*")]}


def assert_one_line(error: str) -> None:
    assert error.startswith("posegen: error: ")
    assert error.endswith("\n")
    assert error[:-1].isprintable()
    assert len(error) < 6000
    assert not DOUBLED.search(error.replace("...", "").replace("!!", "").replace(" .:", "")), error  # of quoted text


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must fail in an empty folder, and return the printed line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        before = tree(tmp_path)
        assert main(arguments) == 2
        out, error = capsys.readouterr()
        assert out == ""
        assert_one_line(error)
        assert tree(tmp_path) == before
        return error

    return run


def process(*arguments: str | bytes, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "posegen", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False, **options
    )  # type: ignore[call-overload,no-any-return]


# Options and keys


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--samples=0", "samples: must be at least 1 (got 0)"),
        ("--samples=" + "9" * 30, "samples: must be at most 1000000000"),
        ("--samples=" + "9" * 5000, "'--samples': must be a whole number of at most 40 digits (got '999"),
        ("--samples=1e400", "'--samples': must be a whole number"),
        ("--samples=١٢", "'--samples': must be a whole number"),
        ("--samples=\x1b[2J", r"'--samples=\x1b[2J': must be one line of UTF-8 text without control characters"),
        ("--workers=1000000000", "workers: must be at most 1024"),
        ("--seed=9223372036854775808", "seed: must be at most 9223372036854775807"),
        ("--smaples=5", "Did you mean '--samples'?"),
        ("--set=" + "a." * 5000 + "b=1", "must be KEY=VALUE"),
        ("--set=\x1b[2Jx=1", r"'--set=\x1b[2Jx=1': must be one line"),
        ("--set=a\u202eb=1", r"'--set=a\u202eb=1': must be one line"),
        ("--set=frames=3\x07", "without control characters"),
        ("--set=frames=\udcff", r"'--set=frames=\udcff': must be one line of UTF-8 text"),
        (
            "--set=story.actions={walk: 0, turn: 0, stand: 0, salute: 0, wave: 0, clap: 0, shout: 0, celebrate: 0, march: 0,"
            " march_in_place: 0, drums: 0, raise_arm: 0, stomp: 0, nod: 0, spread_arms: 0, sway: 0, spin: 0, raise_knee: 0}",
            "--set story.actions: leaves the theme 'parade' without an action; raise one of them, or drop the theme",
        ),
        ("--set=story.themes={nowhere: 1}", "--set story.themes.nowhere: unknown theme; there are"),
        ("--set=population={persons: 2}", "population.persons: is 2, and story.actors.max asks for 3 different ones; raise it"),
        ("--config=nowhere/smoke.yaml", "there is no such config file; check the path, or name a preset: crowd, default"),
        ("--config=\x1b[31mred", r"'--config=\x1b[31mred': must be one line"),
        ("--config=a\0b", r"'--config=a\x00b': must be one line"),
        ("--out=a\0b", r"'--out=a\x00b': must be one line"),
        ("--out=" + "x" * 300, "File name too long"),
        ("--out=ftp://server/motion", "ftp://server/motion: is an address; name a local folder or file. Datasets in object"),
        ("--out=s3://bucket", "must be the address of a folder in a bucket, such as s3://BUCKET/PATH"),
        ("--out=file:///tmp/motion", "is an address"),
        ("--out=/dev/null", "is a file or lies in one. Choose a folder with --out"),
    ],
)  # fmt: skip
def test_options(option: str, message: str, refused: Refused) -> None:
    assert message in refused(*GENERATE, "--set=story.actors.max=3", option)


# Config files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "quotas: {samples: 9, exact: [{samples: 1}, {samples: 2, actions: [walk], speed: {min: 1, max: 2, mox: 3}}]}",
            "quotas.exact[1].speed.mox: unknown key; did you mean 'quotas.exact[1].speed.max'?",
        ),
        (BOMB, "has an anchor or alias, which posegen refuses"),
        ("name: \x1b]0;owned\x07", "control characters are not allowed"),
        ("? " + "k" * 300_000 + "\n: 1", "unknown key; there are captions, fps, frames"),
        (b"\xef\xbb\xbfsamples: zero", "samples: must be a whole number (got 'zero')"),
        ("story: {library: nowhere}", "there is no such folder of action files"),
        ('story: {library: "a\\0b"}', "has the character U+0000 (control character)"),
        ("story: {library: " + "x" * 5000 + "}", "story.library: must be a UTF-8 path of at most 4000 characters"),
        ("story: {library: ~nobody-of-this-name/moves}", "~nobody-of-this-name/moves: there is no such folder"),
        ("story: {library: config.yaml}", "there is no such folder of action files"),
    ],
)  # fmt: skip
def test_config_files(content: str | bytes, message: str, refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused(*GENERATE, "--config", str(file))
    assert line.startswith(f"posegen: error: {file}: ")
    assert message in line


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pipe", "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
        ("huge", "is larger than 1,000,000 bytes"),
        ("loop", "there is no such config file"),
        ("secret", "cannot be read (Permission denied); check the path"),
    ],
)
def test_what_is_not_a_config(kind: str, message: str, refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "loop":
        file.symlink_to(kind)
    elif kind in ("huge", "secret"):
        file.write_text("samples: 5")
        os.truncate(file, LARGE if kind == "huge" else 10)
        file.chmod(0o600 if kind == "huge" else 0)
    if kind == "secret" and os.access(file, os.R_OK):
        pytest.skip("this user may read every file")
    assert message in refused(*GENERATE, "--config", str(file))


# Places to write to


@pytest.mark.parametrize("place", ["notes", "notes/in/it", "link"])
def test_a_file_is_not_an_output_folder(place: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "link").symlink_to("link")
    assert f"{place}: is a file or lies in one. Choose a folder with --out" in refused(*GENERATE, "--out", place)


def test_a_folder_with_other_files_is_not_an_output_folder(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").write_text("mine")
    # The lock is taken and given back, which changes the time of the folder and nothing else.
    before = set(tree(tmp_path))
    assert main([*GENERATE, "--out", "full"]) == 2
    assert set(tree(tmp_path)) == before


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder on a read-only file system; for users other than root, a folder without write permission."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    mounts = [["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]]
    mounted = (
        os.geteuid() == 0 and shutil.which("mount") and all(subprocess.run(m, check=False).returncode == 0 for m in mounts)
    )
    folder.chmod(0o555) if os.geteuid() else None
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)
        folder.chmod(0o755)


@pytest.mark.parametrize("place", ["", "new/folder"])
def test_a_read_only_output_folder(place: str, read_only: Path, refused: Refused) -> None:
    try:
        (read_only / "probe").touch()
    except OSError:
        pass
    else:
        pytest.skip("a folder cannot be made read-only here: root may write everywhere, and mounting is not allowed")
    line = refused(*GENERATE, "--out", str(read_only / place))
    assert f"{read_only}" in line
    assert "Read-only file system" in line or "Permission denied" in line
    assert "choose another path" in line or "Choose a writable folder" in line


# Libraries

ACTIONS = "family: mine\nactions: {wink: {parts: [head], duration: [1, 2]}}"
WORDS = "actions: {wink: {verbs: [winks|winking|winked|wink]}}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", ACTIONS.replace("}}", ", enter_keys: [{at: 1}]}}"), "actions.wink.enter_keys[0].pose: is missing; add it"),
        ("a.yaml", ACTIONS.replace("wink", '"\\e[2J"'), "has the character U+001B (control character)"),
        ("words/en.yaml", "actions: {}", "actions.wink: is missing; give the action words"),
    ],
)  # fmt: skip
def test_libraries(name: str, content: str, message: str, refused: Refused, tmp_path: Path) -> None:
    for file, text in {"a.yaml": ACTIONS, "words/en.yaml": WORDS, name: content}.items():
        (tmp_path / "moves" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "moves" / file).write_text(text)
    line = refused(*GENERATE, "--set=story.library=moves")
    assert line.startswith(f"posegen: error: --set story.library: {tmp_path / 'moves' / name}: ")
    assert message in line


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "there is no such folder of action files; check the path"),
        ("file", "there is no such folder of action files"),
        ("empty", "has no action file; add one whose name ends in .yaml"),
        ("looping file", "a.yaml: cannot be read (Too many levels of symbolic links)"),
        ("pipe", "a.yaml: is not a regular file"),
        ("crowded", "has 1,001 action files; at most 1,000 are allowed"),
    ],
)
def test_folders_that_are_not_libraries(kind: str, message: str, refused: Refused, tmp_path: Path) -> None:
    moves = tmp_path / "moves"
    if kind == "file":
        moves.write_text(ACTIONS)
    elif kind != "missing":
        moves.mkdir()
    if kind == "looping file":
        (moves / "a.yaml").symlink_to("a.yaml")
    if kind == "pipe":
        os.mkfifo(moves / "a.yaml")
    for number in range(1001 if kind == "crowded" else 0):
        (moves / f"{number}.yaml").touch()
    assert message in refused(*GENERATE, "--set=story.library=moves")


# Datasets and samples that are not there


@pytest.mark.parametrize("place", ["", "nowhere", "notes", "notes/x", "a\0b", "x" * 300, "link", "\x1b[2J", "a\nb", "\udcff"])
@pytest.mark.parametrize("command", [["info"], ["verify"], ["diff", "."], ["show", "-o", "a.png"]])
def test_paths_that_are_not_datasets(command: list[str], place: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "link").symlink_to("link")
    refused(*command, place)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample=" + "9" * 30], "a dataset has at most 1,000,000,000 samples"),
        (["--variant=\x1b[2J"], r"'--variant=\x1b[2J': must be one line"),
        (["-o", "nowhere/a.gif"], "the folder 'nowhere' does not exist; create it first"),
        (["-o", "x" * 300 + ".gif"], "cannot be used (File name too long)"),
    ],
)
def test_pictures(options: list[str], message: str, refused: Refused) -> None:
    assert message in refused("show", "--config", "smoke", "-o", "a.gif", *options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generat"], "unknown command 'generat'; did you mean 'generate'? See posegen --help"),
        (["--nothing"], "No such option '--nothing'"),
        (["config", "shw"], "Did you mean 'show'? See posegen config --help"),
        (["config", "show", "--st", "a=1"], "See posegen config show --help"),
        (["\x1b[2J"], r"'\x1b[2J': must be one line"),
        (["generate", "extra"], "unexpected extra argument (extra)"),
        (["diff", "one"], "Missing argument 'B'"),
        (["train", "smoke"], "Missing option '--task' (Task: action, retrieval, motion,"),
        (["export", "data", "--to", "bvh"], "'--out' (Folder to write, or s3://BUCKET/PATH); see posegen export --help"),
    ],
)
def test_commands(arguments: list[str], message: str, refused: Refused) -> None:
    assert message in refused(*arguments)


# Real processes


def test_a_yaml_bomb_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "bomb.yaml").write_text(BOMB)
    (tmp_path / "huge.yaml").touch()
    os.truncate(tmp_path / "huge.yaml", LARGE)
    before = tree(tmp_path)
    little_memory = partial(resource.setrlimit, resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for name in ("bomb.yaml", "huge.yaml"):
        done = process("config", "show", name, folder=tmp_path, preexec_fn=little_memory)
        assert (done.returncode, done.stdout) == (2, "")
        assert_one_line(done.stderr)
    assert tree(tmp_path) == before


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    done = process(*GENERATE, "--out", b"sch\xf6n", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert_one_line(done.stderr)
    assert r"'sch\udcf6n': must be one line of UTF-8 text" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["info", "\x1b]0;owned\x07"], ["config", "show", "config.yaml"]])
def test_control_sequences_in_names_are_escaped(arguments: list[str], tmp_path: Path) -> None:
    """Click strips such sequences if the output is not a terminal, so a pseudo-terminal is used."""
    (tmp_path / "config.yaml").write_text('story: {library: "moves\\e[2J"}')
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "posegen", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUTF8": "1"}
    assert subprocess.run(command, cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs, check=False).returncode == 2
    os.close(theirs)
    printed = os.read(ours, 10_000).decode()
    os.close(ours)
    # A terminal may have shown that the command is at work.
    printed = printed[printed.index("posegen: error: ") :]
    assert printed.removesuffix("\r\n").isprintable()


@pytest.mark.parametrize("options", [[], ["--task", "action"]])
def test_a_source_of_training_that_is_nothing_is_named(options: list[str], refused: Refused) -> None:
    assert "'nope': is neither a dataset, nor a file, nor one of the presets crowd, default" in refused(
        "train", "nope", *options
    )


def test_an_unknown_task_is_refused_with_the_names_once(refused: Refused) -> None:
    pytest.importorskip("peft")
    line = refused("train", "smoke", "--task", "nope")
    assert line.endswith(
        "there is no task 'nope'; there are action, attribute, identity, imu, lifting, motion, retrieval, text\n"
    )

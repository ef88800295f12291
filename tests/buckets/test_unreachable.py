"""A server that cannot be reached: soon a line that states what is tried, and an error with its address, cause and fix."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.storage import bucket as bucket_module
from posegen.foundations.errors import ServerError
from tests.buckets.servers import Proxy, Server
from tests.faults.forks import SETTINGS

REFUSES, IS_SILENT, DROPS = "refuses", "is silent", "drops packets"
STATED = {REFUSES: "it refuses the connection", IS_SILENT: "it does not answer", DROPS: "it does not answer"}


@pytest.fixture(params=STATED)
def unreachable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that refuses connections, accepts them and is silent, or drops them; what is stated about it."""
    with ExitStack() as opened:
        listening = opened.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        if request.param != REFUSES:
            listening.listen(0 if request.param == DROPS else 100)
        for _ in range(3 * (request.param == DROPS)):  # Linux drops what does not fit into the queue of connections
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        keys = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-3"}
        for name, value in (keys | {"AWS_ENDPOINT_URL": address}).items():
            monkeypatch.setenv(name, value)
        yield f"cannot reach {address}: {STATED[request.param]}"


def fixes(cause: str) -> str:
    """Return a pattern of the error that ends the attempts."""
    return f"s3://[^ ]*: {re.escape(cause)}. Check AWS_ENDPOINT_URL, the network and the keys in the environment"


def test_the_server_that_is_tried_is_named_before_the_end(
    unreachable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bucket_module, "FIRST_PATIENCE_SECONDS", 2.5)
    with pytest.raises(ServerError, match=fixes(unreachable)) as caught:
        posegen.open(f"s3://opened-{abs(hash(unreachable))}/dataset")
    noted = capsys.readouterr().err
    assert re.fullmatch(rf"posegen: s3://.*: {re.escape(unreachable)} \(attempt \d+, trying for 2 seconds\)\n", noted)
    assert not re.search("Generic|HTTP|error sending|Debug", f"{caught.value}{noted}")


@pytest.mark.slow
def test_every_command_ends_with_address_cause_and_fix(
    unreachable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bucket_module, "FIRST_PATIENCE_SECONDS", 0.0)
    posegen.generate(posegen.load_config("smoke", SETTINGS), samples=2, workers=1, out=tmp_path / "here")
    local, away = str(tmp_path / "here"), f"s3://commands-{abs(hash(unreachable))}/dataset"
    for command in (
        f"generate --config smoke --samples 2 --workers 1 --out {away}",
        f"generate --config smoke --samples 2 --workers 1 --out {away} --part 1/2",
        *(
            f"{name} {away}"
            for name in ("finish", "status", "info", "verify", "verify --repair", "derive", "embed", "evaluate")
        ),
        f"search {away} walk",
        f"diff {local} {away}",
        f"mix {local} {away} -o {tmp_path}/mix.json",
        f"export {away} --to csv -o {tmp_path}/csv",
        f"export {local} --to csv -o {away}",
        f"push {away} s3://another/x",
        f"push {local} {away} --to csv",
        f"train {away} --task action --out {tmp_path}/run",
        f"report {away} -o {tmp_path}/report.html",
        f"show {away} -o {tmp_path}/shown.png",
    ):
        code = main(command.split())
        printed = capsys.readouterr().err
        assert (code, bool(re.search(fixes(unreachable), printed))) == (1, True), f"{command}: {printed}"
        assert not re.search("Traceback|Generic|error sending", printed), command


def test_a_server_that_has_answered_is_waited_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bucket_module, "FIRST_PATIENCE_SECONDS", 0.0)
    with Proxy(server.address, tmp_path / "log.txt") as proxy:
        for name, value in server.environment(proxy.address).items():
            monkeypatch.setenv(name, value)
        path = bucket_module.BucketPath(f"s3://{server.make_bucket()}", "of-tests")
        path.write(b"one")
        proxy.stop()
        monkeypatch.setattr(bucket_module, "PATIENCE_SECONDS", 2.5)
        with pytest.raises(ServerError, match="refuses the connection"):
            path.read()
        assert "(attempt " in capsys.readouterr().err  # so it was tried for longer than two seconds

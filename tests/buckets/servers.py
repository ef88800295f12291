"""Object storage on this machine: moto in a process of its own, and a proxy before it that can fail and count requests.

``python -m tests.buckets.servers moto`` and ``... proxy PORT TARGET LOG FAULTS SEED`` print the port that they listen on.
FAULTS are those of :class:`Faults`, as JSON.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

__all__ = ["KEY", "REGION", "SECRET", "Faults", "Proxy", "Server", "finish"]

KEY, SECRET, REGION = "AKIDTHEKEYOFTESTS", "secret/of+tests0123456789", "eu-west-3"
FAULTS = ("500", "503", "500 after", "closed after")
DISORDERS = ("delayed", "repeated", "answer lost", "late")
_LATE = "/-/late"
_PIECE = 1 << 12
_ROOT = Path(__file__).parents[2]


@dataclass
class Server:
    """A server of S3 that is running."""

    address: str
    made: count[int]
    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> Server:
        process, port = _start("moto")
        return cls(f"http://127.0.0.1:{port}", count(1), process)

    @cached_property
    def _client(self) -> Any:
        from botocore.config import Config
        from botocore.session import get_session

        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
        settings = Config(signature_version="s3v4", s3={"addressing_style": "path"})
        return get_session().create_client("s3", endpoint_url=self.address, config=settings, **keys)

    def make_bucket(self) -> str:
        name = f"test-{os.getpid()}-{next(self.made)}"
        self._client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return name

    def environment(self, address: str = "") -> dict[str, str]:
        """Return the variables with which programs find the server."""
        keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}
        return keys | {"AWS_ENDPOINT_URL": address or self.address}

    def stop(self) -> None:
        _stop(self.process)


@dataclass(frozen=True)
class Faults:
    """How a proxy fails.

    Attributes
    ----------
    share : float
        Share of the requests that fail: in turn, with status 500 or 503 instead of being passed on, with 500 after they were
        passed on, and with a connection that is closed without an answer after they were passed on.
    refused : str
        Requests whose method and path match this regular expression are answered with 403.
    conditions : bool
        Whether PUT takes If-Match; OpenStack Swift answers it with 501.
    delay : float
        Seconds before each request is passed on.
    rate : float
        Bytes per second of each body in either direction, which is passed on in small pieces; 0 for no limit.
    repeated : str
        Requests whose method and path match this regular expression are passed on once more after the next PUT that matches it:
        a client or a network may repeat a request whose answer was lost, and late.
    disorder : float
        Share of the requests PUT and DELETE to each of which one of these happens: it is delayed, so that later ones overtake
        it; it is passed on once more after later ones; its answer is lost, and it may be passed on once more; or it is answered
        with 500 and passed on after later ones.
    """

    share: float = 0.0
    refused: str = ""
    conditions: bool = True
    delay: float = 0.0
    rate: float = 0.0
    repeated: str = ""
    disorder: float = 0.0


class Proxy:
    """A proxy before a server, which can be stopped and started again at the same port.

    Parameters
    ----------
    target : str
        Address of the server.
    log : Path
        File with the method, the path, the status and the bytes of each request.
    faults : Faults, optional
    seed : int, optional
        Of what is drawn about the faults.
    """

    def __init__(self, target: str, log: Path, faults: Faults | None = None, seed: int = 1) -> None:
        options = (target, str(log), json.dumps(asdict(faults or Faults())), str(seed))
        self._options, self._log, self._process, self.port = options, log, None, 0
        self.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        self._process, self.port = _start("proxy", str(self.port), *self._options)

    def stop(self) -> None:
        if self._process is not None:
            _stop(self._process)

    def pass_on_late(self) -> int:
        """Pass on all requests that are still to be passed on late, and return the number of those so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", _LATE)
        late = int(connection.getresponse().read())
        connection.close()
        return late

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take_log(self) -> list[tuple[str, str, int, int, int]]:
        """Return method, path, status, bytes sent and bytes received of each request so far, and forget them."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        self._log.write_text("")
        return [(method, path, int(status), int(sent), int(got)) for method, path, status, sent, got in lines]

    def wait_for(self, ending: str, times: int = 1, patience: float = 60.0) -> None:
        """Wait until objects whose names end so were stored a number of times."""
        stop = time.monotonic() + patience
        while time.monotonic() < stop:
            lines = [line.split() for line in self._log.read_text().splitlines()]
            if sum(line[0] == "PUT" and line[1].endswith(ending) for line in lines if len(line) == 5) >= times:
                return
            time.sleep(0.05)
        raise TimeoutError(f"{ending} was not stored {times} times")


def finish(*runs: subprocess.Popen[str]) -> None:
    """Wait for commands, which must succeed."""
    for run in runs:
        messages = run.communicate()[1]
        assert run.returncode == 0, messages


def _start(*arguments: str) -> tuple[subprocess.Popen[str], int]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "tests.buckets.servers", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=_ROOT, env={**environment, "PYTHONPATH": str(_ROOT)}
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms until the client confirms the head
    target: str
    log: Path
    faults: Faults
    faulty: ClassVar = count()
    draw: ClassVar = random.Random(1)
    late: ClassVar[list[tuple[str, str, bytes, dict[str, str]]]] = []
    due: ClassVar[list[tuple[int, tuple[str, str, bytes, dict[str, str]]]]] = []
    changes: ClassVar = count(1)
    passed_late: ClassVar = count(0)

    def do_GET(self) -> None:
        if self.path == _LATE:
            self._pass_on_due(sys.maxsize)
            self._answer(200, [], str(next(self.passed_late)).encode(), 0)
            return
        body = b"".join(self._in_pieces(int(self.headers.get("Content-Length") or 0), self.rfile.read))
        fault = ""
        if self.faults.refused and re.search(self.faults.refused, f"{self.command} {unquote(urlsplit(self.path).path)}"):
            self._answer(403, [], b"<Error><Code>AccessDenied</Code></Error>", len(body))
            return
        if self.command == "PUT" and "If-Match" in self.headers and not self.faults.conditions:
            self._answer(501, [], b"<Error><Code>NotImplemented</Code></Error>", len(body))
            return
        time.sleep(self.faults.delay)
        if self.draw.random() < self.faults.share:
            fault = FAULTS[next(self.faulty) % len(FAULTS)]
        if fault in ("500", "503"):
            self._answer(int(fault), [], b"<Error><Code>SlowDown</Code></Error>", len(body))
            return
        request = self.command, self.path, body, dict(self.headers)
        disorder, change = "", 0
        if self.command in ("PUT", "DELETE"):
            change = next(self.changes)
            disorder = self.draw.choice(DISORDERS) if self.draw.random() < self.faults.disorder else ""
        if disorder == "delayed":
            time.sleep(self.draw.uniform(0.02, 0.5))
        if disorder == "late":
            self._pass_on_later(change, request)
            self._answer(500, [], b"<Error><Code>InternalError</Code></Error>", len(body))
            return
        found, data = self._pass_on(*request)
        if disorder == "repeated" or (disorder == "answer lost" and self.draw.random() < 0.5):
            self._pass_on_later(change, request)
        if change:
            self._pass_on_due(change)
        if disorder == "answer lost":
            fault = "closed after"
        if self.faults.repeated and re.search(self.faults.repeated, f"{self.command} {unquote(urlsplit(self.path).path)}"):
            while self.command == "PUT" and self.late:
                self._pass_on(*self.late.pop())
            self.late.append(request)
        if fault == "500 after":
            self._answer(500, [], b"<Error><Code>InternalError</Code></Error>", len(body))
        elif fault == "closed after":
            self._note(0, len(body), 0)
            self.close_connection = True
        else:
            self._answer(found.status, found.getheaders(), data, len(body))

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def _pass_on_later(self, change: int, request: tuple[str, str, bytes, dict[str, str]]) -> None:
        self.due.append((change + self.draw.choice([1, 2, 3, 5, 8, 13, 21, 10**6]), request))

    def _pass_on_due(self, change: int) -> None:
        """Pass on what is to be passed on after a change."""
        for each in [each for each in self.due if each[0] <= change]:
            with suppress(ValueError):  # another thread has taken it
                self.due.remove(each)
                next(self.passed_late)
                self._pass_on(*each[1])

    def _pass_on(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request to the server, and return its answer."""
        connection = http.client.HTTPConnection(urlsplit(self.target).netloc, timeout=60)
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        data = found.read()
        connection.close()
        return found, data

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, sent: int) -> None:
        self._note(status, sent, len(data))
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding") and (
                name.lower() != "content-length" or self.command == "HEAD"
            ):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            pieces = iter(range(0, len(data), _PIECE)) if self.faults.rate else iter([0])
            for piece in self._in_pieces(len(data), lambda size: data[(start := next(pieces)) : start + size]):
                self.wfile.write(piece)
                self.wfile.flush()

    def _in_pieces(self, size: int, read: Callable[[int], bytes]) -> Iterator[bytes]:
        """Read a body, all at once or as slowly as the faults say."""
        if not self.faults.rate:
            yield read(size)
            return
        for start in range(0, size, _PIECE):
            length = min(_PIECE, size - start)
            yield read(length)
            time.sleep(length / self.faults.rate)

    def _note(self, status: int, sent: int, got: int) -> None:
        with self.log.open("a") as file:
            file.write(f"{self.command} {unquote(urlsplit(self.path).path)} {status} {sent} {got}\n")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def _run_proxy(port: str, target: str, log: str, faults: str, seed: str) -> None:
    _Handler.draw.seed(seed)
    _Handler.target, _Handler.log, _Handler.faults = target, Path(log), Faults(**json.loads(faults))
    _Handler.log.touch()
    ThreadingHTTPServer.request_queue_size = 100
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), _Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that was killed
    print(server.server_address[1], flush=True)
    server.serve_forever()


def _run_moto() -> None:
    import logging

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    WSGIRequestHandler.disable_nagle_algorithm = True
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    answer, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def one_at_a_time(environ: dict[str, Any], start: Any) -> Any:
        # moto looks whether there is an object, and then stores one: of two requests at the same time, both would find none.
        if length := int(environ.get("CONTENT_LENGTH") or 0):
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
        with lock:
            return answer(environ, start)

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"moto": _run_moto, "proxy": _run_proxy}[sys.argv[1]](*sys.argv[2:])

"""A real server on this machine that answers chat completions, well or badly, as a test defines."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """Requests of a server: how often each caption came, the last headers and body, and the most simultaneous requests."""

    captions: Counter[str] = field(default_factory=Counter)
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    busy: int = 0
    busiest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Bad:
    """A bad answer: a status with headers, or any bytes; it may be delayed, cut off or endless."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    wait: threading.Event | None = None
    drop: bool = False
    endless: bool = False


Answering = Callable[[str, int], str | Bad]
"""Takes a caption and how often it was asked for before."""


def completion(text: object) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


@contextmanager
def serving(answering: Answering) -> Iterator[Received]:
    """Serve until the block ends."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def do_POST(self) -> None:
            with received.lock:
                received.busy += 1
                received.busiest = max(received.busiest, received.busy)
            try:
                self.answer()
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with received.lock:
                    received.busy -= 1

        def answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            caption = body["messages"][-1]["content"]
            with received.lock:
                before = received.captions[caption]
                received.captions[caption] += 1
                received.headers, received.body = dict(self.headers), body
            answer = answering(caption, before) if self.path == "/v1/chat/completions" else Bad(404)
            self.send(answer if isinstance(answer, Bad) else Bad(body=completion(answer)))

        def send(self, answer: Bad) -> None:
            if answer.wait is not None:
                answer.wait.wait()
            if answer.drop:
                # A part of the announced length, and then nothing.
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices"')
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.endless:
                self.end_headers()
                while True:
                    self.wfile.write(b" " * (1 << 16))
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

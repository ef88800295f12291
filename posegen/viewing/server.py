"""Serve the page of a collection to the browser of this machine.

Only this machine can connect. A request that names another host is refused, since a page elsewhere could point its name at this
machine (DNS rebinding), and so is one that a page of another origin makes.
"""

from __future__ import annotations

import json
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from posegen.foundations.errors import PosegenError
from posegen.viewing.collection import FILE_FORMATS, Collection
from posegen.viewing.page import MODULES, STYLE, page_style, read_asset, served_page

ADDRESS = "127.0.0.1"
_OWN_NAME = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?")  # any port, as ssh forwards another one
_NUMBERED = re.compile(r"/(rows|samples)/([0-9]{1,15})")
_FILE = re.compile(rf"/files/([0-9]{{1,15}})/(\w+)\.({'|'.join(FILE_FORMATS)})")
_SCRIPT, _JSON, _BYTES = "text/javascript; charset=utf-8", "application/json", "application/octet-stream"


class Server(ThreadingHTTPServer):
    """A server for one collection; `url` is its address.

    Parameters
    ----------
    collection : Collection
    port : int
        0: any free one.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, collection: Collection, port: int = 0) -> None:
        page, policy = served_page(collection.title)
        self.policy = policy
        self.files = {f"/{file}": (_SCRIPT, read_asset(file)) for file in MODULES.values()}
        self.files[f"/{STYLE}"] = "text/css; charset=utf-8", page_style().encode()
        self.files["/"] = "text/html; charset=utf-8", page.encode()
        self.collection = collection
        # Arrays are read and samples synthesized one at a time: neither is made for many threads.
        self.reading = Lock()
        super().__init__((ADDRESS, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless the browser has only left the page."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def read(self, path: str) -> tuple[str, bytes] | None:
        """Return media type and content at a path; None if there is none."""
        if path in self.files:
            return self.files[path]
        match = _NUMBERED.fullmatch(path)
        collection = self.collection
        with self.reading:
            if path == "/about":
                return _JSON, _document(collection.about())
            if path == "/overview":
                return _JSON, _document(collection.read_overview())
            if match and match[1] == "rows" and int(match[2]) * collection.page < collection.samples:
                return _JSON, _document(collection.read_rows(int(match[2])))
            if match and match[1] == "samples" and int(match[2]) < collection.samples:
                return _BYTES, collection.read_sample(int(match[2]))
            file, read = _FILE.fullmatch(path), collection.read_file
            if file and read and int(file[1]) < collection.samples:
                return _BYTES, read(int(file[1]), file[2], file[3])
        return None


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # The head and the content are two packets, and the second would wait 40 ms until the browser confirms the first.
    disable_nagle_algorithm = True
    server_version, sys_version = "posegen", ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request."""
        if not _OWN_NAME.fullmatch(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"this address is served to its own machine only\n")
        elif self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and self.path != "/":
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"this page is not served to other pages\n")
        else:
            self._read(self.path.partition("?")[0])

    def _read(self, path: str) -> None:
        try:
            found = self.server.read(path)
        except (PosegenError, OSError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", str(error).encode())
            return
        if found is None:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there is nothing here\n")
        else:
            self._answer(HTTPStatus.OK, *found)

    def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": self.server.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _document(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()

"""The server of the page: what it answers, and whom."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter

import numpy as np
import pytest

from docs.skeleton_figure import posed
from posegen.evaluation.recording import Recording
from posegen.foundations.errors import PosegenError
from posegen.foundations.progress import Progress
from posegen.viewing.collection import Collection, collection_of_clips
from posegen.viewing.page import MODULES, write_report
from posegen.viewing.server import Server


@pytest.fixture(scope="module")
def collection() -> Collection:
    joints = np.broadcast_to(posed().astype(np.float64), (8, 22, 3))
    found = collection_of_clips("clips", [Recording(f"{i}.bvh", "", joints, 25.0) for i in range(3)], {"file": "</script>"})

    def read_sample(sample: int) -> bytes:
        if sample == 2:
            raise PosegenError("motion.zarr/joints/c.0: checksum mismatch")
        return found.read_sample(sample)

    return replace(found, read_sample=read_sample)


@pytest.fixture(scope="module")
def server(collection: Collection) -> Iterator[Server]:
    with Server(collection) as found:
        Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield found
        found.shutdown()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_small_answers_do_not_wait_for_the_receipt_of_their_head(server: Server) -> None:
    """On a connection that is kept, each of them would take 40 ms; large ones fill packets and never wait."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    large = max(server.files, key=lambda path: len(server.files[path][1]))

    def seconds(path: str) -> float:
        begin = perf_counter()
        connection.request("GET", path)
        connection.getresponse().read()
        return perf_counter() - begin

    assert median(seconds("/about") for _ in range(21)) < 10 * median(seconds(large) for _ in range(21))
    connection.close()


def test_only_this_machine_is_served(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    for host in ("example.org", "127.0.0.1.example.org", "example.org:80@localhost", "10.0.0.1", ""):
        assert ask(server, "/", Host=host)[0].status == 403
    for host in ("localhost", "localhost:4000", "127.0.0.1:1"):
        assert ask(server, "/", Host=host)[0].status == 200
    assert ask(server, "/about", Sec_Fetch_Site="cross-site")[0].status == 403
    assert ask(server, "/about", Sec_Fetch_Site="same-origin")[0].status == 200


def test_nothing_but_the_page_is_served(server: Server) -> None:
    outside = "/page.html.j2 /__init__.py /../server.py /%2e%2e/server.py /etc/passwd"
    for path in f"{outside} /samples/ /samples/3 /samples/-1 /samples/0/x /rows/1 /rows/x".split():
        assert ask(server, path)[0].status == 404, path
    assert ask(server, "/", "POST")[0].status == 501
    for file in MODULES.values():
        response, content = ask(server, f"/{file}")
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/javascript")
        assert content


def test_every_answer_forbids_what_the_page_does_not_need(server: Server) -> None:
    response, page = ask(server, "/")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "data:" not in re.search(r"script-src([^;]*)", policy)[1]  # type: ignore[index]
    inline = re.findall(rb"<script(?: type=\"(?:importmap|module)\")?>(.*?)</script>", page, re.DOTALL)
    assert len(inline) == 2
    for script in inline:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy
    for path in ("/", "/about", "/samples/0", "/nothing"):
        headers = ask(server, path)[0].headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Content-Security-Policy"] == policy


def test_rows_samples_and_damage(server: Server, collection: Collection) -> None:
    assert json.loads(ask(server, "/about")[1])["samples"] == 3
    assert json.loads(ask(server, "/rows/0")[1]) == json.loads(json.dumps(collection.read_rows(0)))
    assert ask(server, "/samples/1")[1] == collection.read_sample(1)
    response, content = ask(server, "/samples/2")
    assert (response.status, content) == (500, b"motion.zarr/joints/c.0: checksum mismatch")


def test_one_file_holds_its_data_and_no_address(collection: Collection, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write_report(collection, 2, out, None, Progress())
    text = out.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    document = json.loads(data)
    assert document["about"]["provenance"] == [["file", "</script>"]]
    assert [base64.b64decode(sample) for sample in document["samples"].values()] == [collection.read_sample(i) for i in (0, 1)]
    assert not re.search(r'(?:src|href)="(?!data:,")', text)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "connect-src" not in policy[1]  # as default-src: nothing
    assert "default-src &#39;none&#39;" in policy[1]


def test_a_browser_that_leaves_prints_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for error in (BrokenPipeError(), ConnectionResetError(), TimeoutError()):
        try:
            raise error
        except OSError:
            server.handle_error(None, ("127.0.0.1", 1))
    assert capsys.readouterr().err == ""
    try:
        raise ValueError("a bug")
    except ValueError:
        server.handle_error(None, ("127.0.0.1", 1))
    assert "a bug" in capsys.readouterr().err

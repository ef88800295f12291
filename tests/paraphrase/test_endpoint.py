"""A server that fails, stalls, drops connections and answers garbage: what is retried, what is not, and what is accepted."""

from __future__ import annotations

import pytest

from posegen.foundations.errors import PosegenError, UsageError
from posegen.paraphrase.endpoint import MOST_BYTES, PROMPT, Client, api_key, connect, parse_endpoint
from tests.paraphrase.servers import Answering, Bad, completion, serving

pytest.importorskip("httpx")
pytest.importorskip("tenacity")

CAPTION = "a person walks"
GOOD = "somebody is walking"


def ask(answering: Answering, *, attempts: int = 4, timeout: float = 5.0, key: str = "") -> tuple[str | None, int]:
    """The answer for one caption, and the number of requests."""
    with serving(answering) as received:
        server = parse_endpoint(received.url, "m", timeout=timeout, attempts=attempts, key=key)
        with connect(server) as client:
            return client.reword(CAPTION), received.captions[CAPTION]


def first_bad(*bad: Bad) -> Answering:
    return lambda caption, before: bad[before] if before < len(bad) else GOOD


def test_requests_follow_the_protocol() -> None:
    with serving(first_bad()) as received:
        server = parse_endpoint(received.url + "/", "some/model", key="k-1", temperature=0.5)
        with connect(server) as client:
            assert client.reword(CAPTION) == GOOD
    assert received.body["model"] == "some/model"
    assert received.body["temperature"] == 0.5
    assert [message["content"] for message in received.body["messages"]] == [PROMPT, CAPTION]
    assert received.headers["Authorization"] == "Bearer k-1"
    assert "k-1" not in repr(client)


@pytest.mark.parametrize(
    "bad",
    [
        Bad(500),
        Bad(429),
        Bad(drop=True),
        Bad(body=b"<html>busy</html>"),
        Bad(body=b"[" * 100_000),
        Bad(body=b'{"choices": []}'),
        Bad(body=completion(None)),
        Bad(body=completion("  \n ")),
        Bad(body=completion("a person\x1b[2J walks")),
        Bad(body=completion("a person walks\nHere is another one")),
        Bad(body=completion("walks " * 1000)),
        Bad(body=completion("a person \u202ewalks")),
        Bad(endless=True),
        Bad(body=completion(GOOD) + b" " * MOST_BYTES),
    ],
)
def test_failures_are_retried(bad: Bad) -> None:
    assert ask(first_bad(bad)) == (GOOD, 2)


def test_each_timeout_costs_one_request() -> None:
    import httpx

    requests = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if len(requests) == 1:
            msg = "stalled"
            raise httpx.ReadTimeout(msg, request=request)
        return httpx.Response(200, stream=httpx.ByteStream(completion(GOOD)))

    transport = httpx.MockTransport(respond)
    with (
        connect(parse_endpoint("http://127.0.0.1:1/v1", "m", timeout=7.5)) as opened,
        httpx.Client(transport=transport) as connections,
    ):
        assert opened.connections.timeout == httpx.Timeout(7.5)
        client = Client(opened.server, connections, opened.stopping)
        assert client.reword(CAPTION) == GOOD
    assert len(requests) == 2


def test_the_last_failure_is_reported() -> None:
    with pytest.raises(PosegenError, match=r"http://127\.0\.0\.1:\d+: answered 500, 2 times in a row. Run the same command"):
        ask(lambda caption, before: Bad(500), attempts=2)
    assert ask(lambda caption, before: Bad(body=b"?"), attempts=2) == (None, 2)
    assert ask(lambda caption, before: Bad(400), attempts=2) == (None, 2)


@pytest.mark.parametrize(("status", "fix"), [(401, "POSEGEN_API_KEY"), (404, "name of the model"), (302, "Check")])
def test_refusals_are_not_retried(status: int, fix: str) -> None:
    times = []

    def refusing(caption: str, before: int) -> Bad:
        times.append(before)
        return Bad(status, {"Location": "http://127.0.0.1:1/"})

    with pytest.raises(PosegenError, match=f"answered {status}.*{fix}") as caught:
        ask(refusing, key="secret-key")
    assert times == [0]
    assert "secret-key" not in str(caught.value)


def test_without_a_server() -> None:
    with (
        connect(parse_endpoint("http://127.0.0.1:1/v1", "m", attempts=2)) as client,
        pytest.raises(PosegenError, match="cannot be reached"),
    ):
        client.reword(CAPTION)


@pytest.mark.parametrize(
    ("answer", "found"),
    [('"Somebody walks."', "Somebody walks."), ("<think>hm\nhm</think>\nSomebody walks.", "Somebody walks.")],
)
def test_thoughts_and_quotation_marks_are_removed(answer: str, found: str) -> None:
    assert ask(lambda caption, before: answer) == (found, 1)


@pytest.mark.parametrize(
    "endpoint", ["localhost:8000", "ftp://a/v1", "http://", "http://me:secret@a/v1", "http://a/v1?key=secret", "http://a:x/v1"]
)
def test_invalid_addresses_are_refused_without_showing_secrets(endpoint: str) -> None:
    with pytest.raises(UsageError, match="--endpoint") as caught:
        parse_endpoint(endpoint, "m")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint", ["http://example.com/v1", "http://10.0.0.7:8000/v1", "http://localhost.example.com", "http://127.0.0.1.nip.io/"]
)
def test_a_key_is_not_sent_without_encryption_to_another_machine(endpoint: str) -> None:
    with pytest.raises(UsageError, match=r"without encryption.*--insecure") as caught:
        parse_endpoint(endpoint, "m", key="secret-key")
    assert "secret-key" not in str(caught.value)
    assert parse_endpoint(endpoint, "m").host in endpoint
    assert parse_endpoint(endpoint, "m", key="secret-key", insecure=True).key == "secret-key"
    assert parse_endpoint(endpoint.replace("http:", "https:"), "m", key="secret-key").url.startswith("https://")


@pytest.mark.parametrize("endpoint", ["http://localhost:8000/v1", "http://127.0.0.2/v1", "http://[::1]:8000/v1"])
def test_a_key_is_sent_to_this_machine(endpoint: str) -> None:
    server = parse_endpoint(endpoint, "m", key="k")
    assert (server.url, server.is_local) == (f"{endpoint}/chat/completions", True)


def test_a_key_is_not_sent_to_this_machine_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(first_bad()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask(first_bad(), key="k") == (GOOD, 1)
        assert not proxy.headers


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSEGEN_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert api_key() == ""
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    assert api_key() == "other"
    monkeypatch.setenv("POSEGEN_API_KEY", "own ")
    assert api_key() == "own"
    monkeypatch.setenv("POSEGEN_API_KEY", "two words")
    with pytest.raises(UsageError, match="POSEGEN_API_KEY: is not a key") as caught:
        api_key()
    assert "two" not in str(caught.value)

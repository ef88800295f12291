"""A server that fails, stalls, drops the line and answers garbage: what is tried again, what is not, and what is believed."""

from __future__ import annotations

import time

import pytest

from posegen.errors import PosegenError, UsageError
from posegen.paraphrase.endpoint import MOST_BYTES, PROMPT, asking, key_of_environment, server_at
from tests.paraphrase.servers import Answering, Bad, completion, serving

pytest.importorskip("httpx")
pytest.importorskip("tenacity")

CAPTION = "a person walks"
GOOD = "somebody is walking"


def asked(answering: Answering, *, attempts: int = 4, timeout: float = 5.0, key: str = "") -> tuple[str | None, int]:
    """What comes of one caption, and how often the server was asked."""
    with serving(answering) as told, asking(server_at(told.url, "m", timeout=timeout, attempts=attempts, key=key)) as asker:
        return asker.ask(CAPTION), told.captions[CAPTION]


def first_bad(*bad: Bad) -> Answering:
    return lambda caption, before: bad[before] if before < len(bad) else GOOD


def test_a_caption_is_asked_for_as_the_protocol_has_it() -> None:
    with serving(first_bad()) as told, asking(server_at(told.url + "/", "some/model", key="k-1", temperature=0.5)) as asker:
        assert asker.ask(CAPTION) == GOOD
    assert told.body["model"] == "some/model"
    assert told.body["temperature"] == 0.5
    assert [message["content"] for message in told.body["messages"]] == [PROMPT, CAPTION]
    assert told.headers["Authorization"] == "Bearer k-1"
    assert "k-1" not in repr(asker)


@pytest.mark.parametrize(
    "bad",
    [
        Bad(500),
        Bad(429, {"Retry-After": "0"}),
        Bad(503, {"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}),
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
    ],
)
def test_what_goes_wrong_is_tried_again(bad: Bad) -> None:
    assert asked(first_bad(bad)) == (GOOD, 2)


def test_a_server_that_stalls_is_not_waited_for() -> None:
    begun = time.monotonic()
    assert asked(first_bad(Bad(pause=3.0)), timeout=0.2) == (GOOD, 2)
    assert time.monotonic() - begun < 2.5


def test_the_time_that_a_server_asks_for_is_waited() -> None:
    begun = time.monotonic()
    assert asked(first_bad(Bad(429, {"Retry-After": "1"}))) == (GOOD, 2)
    assert time.monotonic() - begun >= 1.0


def test_what_never_goes_well_ends_with_what_was_wrong() -> None:
    with pytest.raises(PosegenError, match=r"http://127\.0\.0\.1:\d+: answered 500, 2 times in a row. Run the same command"):
        asked(lambda caption, before: Bad(500), attempts=2)
    assert asked(lambda caption, before: Bad(body=b"?"), attempts=2) == (None, 2)
    assert asked(lambda caption, before: Bad(400), attempts=2) == (None, 2)


@pytest.mark.parametrize(("status", "cure"), [(401, "POSEGEN_API_KEY"), (404, "name of the model"), (302, "Look at")])
def test_what_a_server_refuses_is_not_tried_again(status: int, cure: str) -> None:
    times = []

    def refusing(caption: str, before: int) -> Bad:
        times.append(before)
        return Bad(status, {"Location": "http://127.0.0.1:1/"})

    with pytest.raises(PosegenError, match=f"answered {status}.*{cure}") as caught:
        asked(refusing, key="secret-key")
    assert times == [0]
    assert "secret-key" not in str(caught.value)


def test_nobody_there() -> None:
    with (
        asking(server_at("http://127.0.0.1:1/v1", "m", attempts=2)) as asker,
        pytest.raises(PosegenError, match="cannot be reached"),
    ):
        asker.ask(CAPTION)


@pytest.mark.parametrize(
    ("answer", "found"),
    [('"Somebody walks."', "Somebody walks."), ("<think>hm\nhm</think>\nSomebody walks.", "Somebody walks.")],
)
def test_what_stands_around_a_caption_is_left_out(answer: str, found: str) -> None:
    assert asked(lambda caption, before: answer) == (found, 1)


@pytest.mark.parametrize(
    "endpoint", ["localhost:8000", "ftp://a/v1", "http://", "http://me:secret@a/v1", "http://a/v1?key=secret", "http://a:x/v1"]
)
def test_bad_addresses_are_refused_and_secrets_in_them_not_shown(endpoint: str) -> None:
    with pytest.raises(UsageError, match="--endpoint") as caught:
        server_at(endpoint, "m")
    assert "secret" not in str(caught.value)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSEGEN_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert key_of_environment() == ""
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    assert key_of_environment() == "other"
    monkeypatch.setenv("POSEGEN_API_KEY", "own ")
    assert key_of_environment() == "own"
    monkeypatch.setenv("POSEGEN_API_KEY", "two words")
    with pytest.raises(UsageError, match="POSEGEN_API_KEY: is no key") as caught:
        key_of_environment()
    assert "two" not in str(caught.value)


def test_more_than_an_answer_may_have_is_not_read() -> None:
    padded = completion(GOOD) + b" " * MOST_BYTES
    assert asked(first_bad(Bad(body=padded))) == (GOOD, 2)

"""Asking a server for other words: any that speaks OpenAI's chat completions.

What it answers is not trusted: it may be late, endless, no JSON, or not what was asked for. What goes wrong on the way is tried
again, as is an answer that cannot be used; what the server refuses is not.
"""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from posegen.errors import PosegenError, UsageError
from posegen.wording import shown

__all__ = ["KEYS", "PROMPT", "Asker", "Server", "asking", "key_of_environment", "server_at"]

KEYS = ("POSEGEN_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the server's key; the first that is set counts."""

PROMPT = (
    "You reword captions of short clips of human motion. Answer with one rewording of the caption and nothing else. "
    "It must say exactly the same: keep every left and right, every number of times, every speed and direction, the order of "
    "what is done, what is done at the same time, and who does it. Add nothing and leave nothing out. Vary the verbs and the "
    "shape of the sentence. One line, plain text, no quotation marks."
)

MOST_BYTES = 1 << 20
"""Of an answer as it comes over the line."""
MOST_LETTERS = 1000
"""Of a paraphrase."""
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_AGAIN = frozenset((408, 409, 425, 429, 500, 502, 503, 504))
_HOPELESS = frozenset((401, 403, 404, 405, 407, 410))
_THINKING = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_MOST_SHOWN = 200


@dataclass(frozen=True)
class Server:
    """Where to ask whom.

    Attributes
    ----------
    url : str
        Of its chat completions.
    host : str
        Scheme, name and port: all of it that is ever stored.
    model : str
    key : str
        Empty for a server that wants none.
    timeout : float
        Seconds that one answer may take in all.
    attempts : int
        How often one caption is asked for at most.
    temperature : float or None
        As the server has it by default where it is None.
    """

    url: str
    host: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    attempts: int = 6
    temperature: float | None = None


class _Again(Exception):  # noqa: N818  # it is no error yet
    """What may go well another time; `wait` is for how many seconds the server asks to be left alone."""

    def __init__(self, reason: str, wait: float | None = None, *, answered: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.answered = answered


def server_at(endpoint: str, model: str, **settings: Any) -> Server:
    """Find a server by the address that its users are told, such as ``http://localhost:8000/v1``.

    Raises
    ------
    UsageError
        If that is no such address, or holds a password, or the model has no name.
    """
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError as error:
        msg = f"--endpoint {shown(endpoint)}: is no address ({error}); it looks like http://localhost:8000/v1"
        raise UsageError(msg) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        msg = f"--endpoint {shown(endpoint)}: must be an http or https address, such as http://localhost:8000/v1"
        raise UsageError(msg)
    if parts.username or parts.password or parts.query or parts.fragment:
        msg = f"--endpoint: must hold no name, password, query or fragment; put the key into the variable {KEYS[0]}"
        raise UsageError(msg)
    if not model.strip():
        msg = "--model: is empty; name the model as the server does"
        raise UsageError(msg)
    host = f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port else "")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return Server(f"{parts.scheme}://{parts.netloc}{path}/chat/completions", host, model, **settings)


def key_of_environment() -> str:
    """Take the server's key from the environment; empty where there is none.

    Raises
    ------
    UsageError
        If it cannot be sent; it is not shown.
    """
    name = next((name for name in KEYS if os.environ.get(name)), "")
    key = os.environ.get(name, "").strip() if name else ""
    if not all("!" <= letter <= "~" for letter in key):
        msg = f"{name}: is no key: it has blanks or letters beyond ASCII"
        raise UsageError(msg)
    return key


@dataclass(frozen=True)
class Asker:
    """Asks one server; may be used by several threads at once. `leaving` ends all waiting."""

    server: Server
    client: Any
    leaving: Event

    def ask(self, caption: str) -> str | None:
        """Ask for other words for a caption.

        Returns
        -------
        str or None
            None where the server answers, but never with what can be used.

        Raises
        ------
        PosegenError
            If it does not answer, or refuses.
        """
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Again),
            stop=tenacity.stop_after_attempt(self.server.attempts) | tenacity.stop_when_event_set(self.leaving),
            wait=_wait,
            sleep=tenacity.sleep_using_event(self.leaving),
            reraise=True,
        )
        try:
            return str(retrying(self._once, caption))
        except _Again as error:
            if error.answered:
                return None
            msg = f"{self.server.host}: {error}, {self.server.attempts} times in a row. Run the same command again to go on"
            raise PosegenError(msg) from error

    def _once(self, caption: str) -> str:
        import httpx

        body: dict[str, Any] = {
            "model": self.server.model,
            "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": caption}],
        }
        if self.server.temperature is not None:
            body["temperature"] = self.server.temperature
        try:
            with self.client.stream("POST", self.server.url, json=body) as response:
                _check_status(response, self.server)
                return _content(_received(response, time.monotonic() + self.server.timeout))
        except httpx.TimeoutException as error:
            reason = f"did not answer within {self.server.timeout:g} seconds"
            raise _Again(reason) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            reason = f"cannot be reached ({type(error).__name__}: {str(error)[:_MOST_SHOWN]})"
            raise _Again(reason) from error


@contextmanager
def asking(server: Server) -> Iterator[Asker]:
    """Hold connections to a server.

    Raises
    ------
    UsageError
        If what is needed for that is not installed.
    """
    try:
        import httpx
        import tenacity  # noqa: F401
    except ImportError as error:
        msg = "paraphrasing needs httpx and tenacity, which are not installed; install them with: pip install 'posegen[words]'"
        raise UsageError(msg) from error
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {server.key}"} if server.key else {})
    leaving = Event()
    # Redirects are not followed: the key is for this server.
    with httpx.Client(headers=headers, timeout=server.timeout, follow_redirects=False) as client:
        try:
            yield Asker(server, client, leaving)
        finally:
            leaving.set()


def _wait(state: Any) -> float:
    """Wait as long as the server asks, or a random time that doubles with each attempt."""
    import tenacity

    error = state.outcome.exception()
    if isinstance(error, _Again) and error.wait is not None:
        return min(error.wait, _LONGEST_WAIT)
    return tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)(state)


def _check_status(response: Any, server: Server) -> None:
    status = response.status_code
    if status == 200:
        return
    if status in _AGAIN or status >= 500:
        reason = f"answered {status}"
        raise _Again(reason, _retry_after(response.headers.get("Retry-After", "")))
    if status in _HOPELESS or status < 400:
        cure = {401: f"Put its key into the variable {KEYS[0]}", 404: "Look at the address and the name of the model"}
        msg = (
            f"{server.host}: answered {status}. {cure.get(status, 'Look at the address, the key and the rights that it gives')}"
        )
        raise PosegenError(msg)
    # Such as 400 for a caption that a filter of the server's does not like.
    reason = f"answered {status}"
    raise _Again(reason, answered=True)


def _retry_after(value: str) -> float | None:
    """Seconds that a header asks to wait, given as such or as a date; None where it says nothing that can be read."""
    if value.isascii() and value.isdigit():
        return float(value[:6])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _received(response: Any, deadline: float) -> bytes:
    received = bytearray()
    # As it comes: what a compressed answer would grow to, nobody knows.
    for piece in response.iter_raw():
        received += piece
        if len(received) > MOST_BYTES:
            reason = f"answers with more than {MOST_BYTES} bytes"
            raise _Again(reason, answered=True)
        if time.monotonic() > deadline:
            reason = "answers too slowly"
            raise _Again(reason)
    return bytes(received)


def _content(received: bytes) -> str:
    try:
        content = json.loads(received)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        reason = "answers with what is no chat completion"
        raise _Again(reason, answered=True) from error
    text = _plain(content) if isinstance(content, str) else ""
    if not text:
        reason = "answers with what is no caption"
        raise _Again(reason, answered=True)
    return text


def _plain(content: str) -> str:
    """One line of letters that can be shown, without thoughts and quotation marks around it; empty if it is no such line."""
    text = _THINKING.sub("", content[:MOST_BYTES]).strip()
    if len(text) > 1 and (text[0], text[-1]) in {('"', '"'), ("'", "'"), ("\u201c", "\u201d")}:
        text = text[1:-1].strip()
    if not text or len(text) > MOST_LETTERS or any(unicodedata.category(letter)[0] == "C" for letter in text):
        return ""
    return text if any(letter.isalpha() for letter in text) else ""

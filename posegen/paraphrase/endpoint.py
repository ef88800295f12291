"""Endpoint: ask a server that speaks OpenAI's chat completions to reword captions.

Answers are not trusted: one may be late, endless, not JSON, or not what was asked for. Failures of transport and unusable
answers are retried; refusals of the server are not.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from threading import Event
from typing import Any

from pydantic import HttpUrl, TypeAdapter, ValidationError

from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import hidden_character

KEYS = ("POSEGEN_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the server's key; the first one that is set is used."""

PROMPT = (
    "You reword captions of short clips of human motion. Answer with one rewording of the caption and nothing else. "
    "It must say exactly the same: keep every left and right, every number of times, every speed and direction, the order of "
    "what is done, what is done at the same time, and who does it. Add nothing and leave nothing out. Vary the verbs and the "
    "shape of the sentence. One line, plain text, no quotation marks."
)

MOST_BYTES = 1 << 20
"""Of an answer as received."""
MOST_LETTERS = 1000
"""Of a paraphrase."""
_USUAL_PORTS = {"http": 80, "https": 443}
_FIRST_WAIT, _MAX_WAIT = 0.5, 60.0
_RETRIED = frozenset((408, 409, 425, 429))
_FATAL = frozenset((401, 403, 404, 405, 407, 410))
_FIXES = {401: f"Put its key into the variable {KEYS[0]}", 404: "Check the address and the name of the model"}
_THINKING = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_QUOTES = ('""', "''", "\u201c\u201d")
_MOST_SHOWN = 200


@dataclass(frozen=True)
class Server:
    """A server and how it is asked.

    Attributes
    ----------
    url : str
        Of its chat completions.
    host : str
        Scheme, name and port: all of it that is ever stored.
    model : str
    is_local : bool
        Whether it runs on this machine.
    key : str
        Empty for a server that needs none.
    timeout : float
        Seconds for one answer.
    attempts : int
        Most requests for one caption.
    temperature : float or None
        None for the server's default.
    """

    url: str
    host: str
    model: str
    is_local: bool = False
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    attempts: int = 6
    temperature: float | None = None


class _RetryableError(Exception):
    """A failed request that may succeed later."""


class _UnusableError(_RetryableError):
    """The server answered, but not with a caption."""


def parse_endpoint(endpoint: str, model: str, *, insecure: bool = False, **settings: Any) -> Server:
    """Return the server of an address such as ``http://localhost:8000/v1``.

    Parameters
    ----------
    endpoint, model : str
    insecure : bool
        Whether a key may be sent without encryption to another machine.
    **settings
        Further attributes of the server.

    Raises
    ------
    UsageError
        If the address is invalid or contains a password, the model has no name, or the key would be sent without encryption.
    """
    try:
        url = TypeAdapter(HttpUrl).validate_python(endpoint)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        msg = f"--endpoint: is not an http or https address ({reason}); it looks like http://localhost:8000/v1"
        raise UsageError(msg) from None
    if url.username or url.password or url.query or url.fragment:
        msg = f"--endpoint: must not contain a name, password, query or fragment; put the key into the variable {KEYS[0]}"
        raise UsageError(msg)
    if not model.strip():
        raise UsageError("--model: is empty; name the model as the server does")
    host = f"{url.scheme}://{url.host}" + ("" if url.port == _USUAL_PORTS[url.scheme] else f":{url.port}")
    is_local = is_loopback(str(url.host))
    if settings.get("key") and url.scheme == "http" and not is_local and not insecure:
        msg = (
            f"--endpoint: the key would be sent to {host} without encryption. Use an https address, or unset "
            f"{' and '.join(KEYS)}, or give --insecure if the network is trusted"
        )
        raise UsageError(msg)
    path = (url.path or "").rstrip("/").removesuffix("/chat/completions")
    return Server(f"{host}{path}/chat/completions", host, model, is_local, **settings)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "[::1]", "localhost.example.com", "10.0.0.1")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def api_key() -> str:
    """Return the server's key from the environment; empty for none.

    Raises
    ------
    UsageError
        If it contains characters that cannot be sent; the key is not shown.
    """
    name = next((name for name in KEYS if os.environ.get(name)), "")
    key = os.environ.get(name, "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise UsageError(f"{name}: is not a key: it has blanks or letters beyond ASCII; set it to the key of the server")
    return key


@dataclass(frozen=True)
class Client:
    """Connections to one server; several threads may use it. Setting `stopping` ends all waiting."""

    server: Server
    connections: Any
    stopping: Event

    def reword(self, caption: str) -> str | None:
        """Ask for a rewording of a caption.

        Returns
        -------
        str or None
            None where the server answers, but never with a usable text.

        Raises
        ------
        PosegenError
            If it does not answer, or refuses.
        """
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_RetryableError),
            stop=tenacity.stop_after_attempt(self.server.attempts) | tenacity.stop_when_event_set(self.stopping),
            wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_MAX_WAIT),
            sleep=tenacity.sleep_using_event(self.stopping),
            reraise=True,
        )
        try:
            return str(retrying(self._request, caption))
        except _UnusableError:
            return None
        except _RetryableError as error:
            msg = f"{self.server.host}: {error}, {self.server.attempts} times in a row. Run the same command again to resume"
            raise PosegenError(msg) from error

    def _request(self, caption: str) -> str:
        import httpx

        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": caption}]
        body: dict[str, Any] = {"model": self.server.model, "messages": messages}
        if self.server.temperature is not None:
            body["temperature"] = self.server.temperature
        try:
            with self.connections.stream("POST", self.server.url, json=body) as response:
                _check_status(response.status_code, self.server.host)
                return _caption(_receive(response, time.monotonic() + self.server.timeout))
        except httpx.TimeoutException as error:
            raise _RetryableError(f"did not answer within {self.server.timeout:g} seconds") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _RetryableError(f"cannot be reached ({type(error).__name__}: {str(error)[:_MOST_SHOWN]})") from error


@contextmanager
def connect(server: Server) -> Iterator[Client]:
    """Open connections to a server.

    Raises
    ------
    UsageError
        If the packages for it are not installed.
    """
    require_extra("words")
    import httpx

    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {server.key}"} if server.key else {})
    # Redirects are not followed, and no proxy is between this machine and itself: the key is for this server only.
    with httpx.Client(
        headers=headers, timeout=server.timeout, follow_redirects=False, trust_env=not server.is_local
    ) as connections:
        yield Client(server, connections, Event())


def _check_status(status: int, host: str) -> None:
    reason = f"answered {status}"
    if status in _FATAL or (status < 400 and status != 200):
        raise PosegenError(
            f"{host}: {reason}. {_FIXES.get(status, 'Check the address, the key and the permissions of the key')}"
        )
    if status != 200:  # such as 400 for a caption that the server's filter rejects
        raise (_RetryableError if status >= 500 or status in _RETRIED else _UnusableError)(reason)


def _receive(response: Any, deadline: float) -> bytes:
    received = bytearray()
    # Raw bytes: the size of a decompressed answer would be unlimited.
    for piece in response.iter_raw():
        received += piece
        if len(received) > MOST_BYTES:
            raise _UnusableError(f"answers with more than {MOST_BYTES} bytes")
        if time.monotonic() > deadline:
            raise _RetryableError("answers too slowly")
    return bytes(received)


def _caption(received: bytes) -> str:
    """Return the one printable line of an answer, without thoughts and enclosing quotation marks."""
    try:
        content = json.loads(received)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _UnusableError("does not answer with a chat completion") from error
    text = _THINKING.sub("", content).strip() if isinstance(content, str) else ""
    if len(text) > 1 and text[0] + text[-1] in _QUOTES:
        text = text[1:-1].strip()
    if len(text) > MOST_LETTERS or hidden_character(text) or not any(letter.isalpha() for letter in text):
        raise _UnusableError("does not answer with a caption")
    return text

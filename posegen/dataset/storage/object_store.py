"""Connections to object storage by obstore: settings, keys, and messages for errors.

Settings and keys are read from the environment, and from the standard files of each provider, only. They appear in no error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from configparser import ConfigParser, Error
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from posegen.foundations.errors import ServerError, UsageError, without_secrets

LONGEST_REQUEST = 120.0
"""Seconds after which a request without an answer has failed."""
OWN_PATIENCE = timedelta(seconds=1)
"""Time for which obstore itself repeats a failing request. Python sees Ctrl-C only after them."""
ROLE_SERVER = "169.254."
"""Address of the server that obstore asks for the keys of a machine's role if there are no others."""

_STORES = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
_ENDPOINT_VARIABLES = {
    "s3": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT",),
}


_CAUSES = {
    "dns error": "the name of the server is not known",
    "kind: ConnectionRefused": "it refuses the connection",
    "kind: Timeout|kind: TimedOut": "it does not answer",
    "kind: (Host|Network)Unreachable": "there is no route to it",
    "[cC]ertificate|InvalidContentType": "it has no valid TLS certificate",
    "": "it closes the connection without an answer",
}
"""Why a server does not answer, by a pattern of what obstore states."""


def open_store(bucket: str, prefix: str = "", longest: float = LONGEST_REQUEST) -> Any:
    """Return obstore's connection to a bucket such as ``s3://BUCKET``.

    Parameters
    ----------
    bucket : str
    prefix : str, optional
        What the names of all objects begin with.
    longest : float, optional
        Seconds after which a request without an answer has failed.

    Raises
    ------
    UsageError
        If this process was forked from one that has opened a bucket: the threads of obstore do not exist here.
    ServerError
        If the settings of the environment are not valid.
    """
    if _opening_process() != os.getpid():
        raise UsageError(
            f"{bucket}: cannot be read in a process that is a fork of one that has read a bucket. Start processes otherwise: "
            "DataLoader(..., multiprocessing_context='spawn')"
        )
    return _open_store(bucket, prefix, longest)


@cache
def _opening_process() -> int:
    return os.getpid()


@cache
def _open_store(bucket: str, prefix: str, longest: float) -> Any:
    import obstore.store
    from obstore.exceptions import BaseError

    scheme, _, name = bucket.partition("://")
    settings = _aws_settings(os.environ) if scheme == "s3" else {}
    # obstore refuses plain HTTP, which servers on the own machine use.
    endpoints = [settings.get("endpoint_url"), *map(os.environ.get, _ENDPOINT_VARIABLES[scheme])]
    for endpoint in filter(None, endpoints):
        _check_endpoint(endpoint)
    client = {"timeout": timedelta(seconds=longest), "allow_http": any(str(each).startswith("http://") for each in endpoints)}
    retry = {"max_retries": 100, "retry_timeout": OWN_PATIENCE}
    options = {"prefix": prefix or None, "config": settings, "client_options": client, "retry_config": retry}
    try:
        return getattr(obstore.store, _STORES[scheme])(name, **options)
    except (BaseError, ValueError) as error:
        raise server_error(bucket, error) from None


def _check_endpoint(address: str) -> None:
    """Raise UsageError for an address that obstore cannot read."""
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(
            "AWS_ENDPOINT_URL, GOOGLE_BASE_URL or AZURE_STORAGE_ENDPOINT: is not the address of a server, such as "
            "https://HOST:PORT. Correct it"
        ) from None


def _aws_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the standard files of AWS state for the profile and the environment does not; obstore does not read them."""
    profile = environment.get("AWS_PROFILE", "default")
    files = {
        environment.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"): profile,
        environment.get("AWS_CONFIG_FILE", "~/.aws/config"): profile if profile == "default" else f"profile {profile}",
    }
    found: dict[str, str] = {}
    for file, section in files.items():
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(Path(file).expanduser(), encoding="utf-8")
        except (Error, UnicodeDecodeError):
            raise UsageError(f"{file}: is not a valid file of settings of AWS. Correct it") from None
        found |= dict(parser[section]) if parser.has_section(section) else {}
    keys = {name: found[name] for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token") if name in found}
    if any(name.startswith(("AWS_ACCESS_KEY", "AWS_WEB_IDENTITY", "AWS_CONTAINER_")) for name in environment):
        keys = {}
    settings = {"region": ("AWS_REGION", "AWS_DEFAULT_REGION"), "endpoint_url": _ENDPOINT_VARIABLES["s3"]}
    return keys | {
        name: found[name]
        for name, names in settings.items()
        if name in found and not any(each in environment for each in names)
    }


def has_answered(error: Exception) -> bool:
    """Return whether an error of obstore states the answer of a server, and not that there was none."""
    return not re.search("HTTP error(?!: builder)", str(error))


def reason_of(error: Exception) -> str:
    """Return what an error of obstore states, without what a server could repeat of a request."""
    server = re.search(r"(https?://)(?:[^\s/@]*@)?([^\s/?]+)", str(error))
    if server and not has_answered(error):
        cause = next(cause for pattern, cause in _CAUSES.items() if re.search(pattern, str(error)))
        return f"cannot reach {server[1]}{server[2]}: {cause}"
    return without_secrets(str(error)).partition("<")[0].rstrip(": .")


def server_error(where: str, error: Exception) -> ServerError:
    """Return the error that states for the user what obstore states of `where`."""
    if "status code: 404" in str(error):
        return ServerError(f"{where}: there is no such bucket. Create it, or name another one")
    if ROLE_SERVER in str(error):
        return ServerError(f"{where}: there are no keys in the environment or in ~/.aws. Set them: posegen docs object-storage")
    suspects = "the bucket, its region"
    if not has_answered(error):
        suspects = f"{_ENDPOINT_VARIABLES[where.partition(':')[0]][0]}, the network"
    return ServerError(
        f"{where}: {reason_of(error)}. Check {suspects} and the keys in the environment, then run the same command again: "
        "what is complete is kept"
    )

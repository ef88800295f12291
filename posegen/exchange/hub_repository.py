"""A dataset repository of the Hugging Face Hub as a place to upload files to.

The token is that of ``hf auth login`` or of the variable ``HF_TOKEN``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import disable_progress_bars

from posegen.exchange.remote import PushedFile
from posegen.foundations.errors import PosegenError, without_secrets

_TYPE = "dataset"
_NO_ACCESS = (401, 403)
_NETWORK: type[Exception] = next(kind for kind in HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")
"""Errors of the HTTP client of huggingface_hub, which differs between its versions."""


class HubRepository:
    """A dataset repository, given as ``USER/NAME``. Files appear in it with :meth:`commit`, all of them at once."""

    def __init__(self, name: str, *, private: bool) -> None:
        disable_progress_bars()  # posegen shows its own
        self._api, self._private = HfApi(library_name="posegen"), private
        self.dataset_name = name
        self.url = f"{self._api.endpoint}/datasets/{name}"
        self._sent: list[Any] = []

    def compare(self, files: Sequence[PushedFile], is_ours: Callable[[str], bool]) -> dict[str, bool]:
        """Return for each file that is there, and whose name is one of ours, whether it equals the one to upload."""
        expected = {file.name: file for file in files}
        with self._explained():
            try:
                tree = list(self._api.list_repo_tree(self.dataset_name, recursive=True, repo_type=_TYPE))
            except RepositoryNotFoundError:
                return {}
        there = [entry for entry in tree if isinstance(entry, RepoFile) and is_ours(entry.path)]
        return {entry.path: _equals(entry, expected.get(entry.path)) for entry in there}

    def send(self, file: PushedFile, report: Callable[[int], None]) -> None:
        """Upload a file; the Hub keeps what was uploaded until it is committed, and does not take it twice."""
        addition = CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=str(file.path))
        addition.upload_info.sha256 = bytes.fromhex(file.sha256)
        with self._explained():
            if not self._sent:
                self._api.create_repo(self.dataset_name, repo_type=_TYPE, private=self._private or None, exist_ok=True)
            self._api.preupload_lfs_files(self.dataset_name, [addition], repo_type=_TYPE, free_memory=False)
        self._sent.append(addition)
        report(file.size)

    def commit(self, removed: Sequence[str]) -> None:
        """Show the files that were sent, and remove others, in one commit."""
        operations = [*self._sent, *(CommitOperationDelete(path_in_repo=name) for name in removed)]
        if operations:
            with self._explained():
                message = f"Upload {len(self._sent)} files with posegen"
                self._api.create_commit(self.dataset_name, operations, commit_message=message, repo_type=_TYPE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise PosegenError for errors of the server and of the network, without tokens and signed addresses."""
        try:
            yield
        except (OSError, ValueError, RuntimeError, _NETWORK) as error:
            cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
            response = cause.response if isinstance(cause, HfHubHTTPError) else None
            denied = response.status_code in _NO_ACCESS if response is not None else "token" in str(cause).lower()
            fix = (
                "Run `hf auth login`, or set HF_TOKEN to a token that may write there"
                if denied
                else "Check the network, then run the same command again: files that are there are skipped"
            )
            raise PosegenError(f"{self.url}: {without_secrets(str(cause)).rstrip('.')}. {fix}") from None


def _equals(there: RepoFile, file: PushedFile | None) -> bool:
    """Return whether a file of a repository has the content of another. Git's hash is that of small files."""
    if file is None or there.size != file.size:
        return False
    if there.lfs is not None:
        return bool(there.lfs.sha256 == file.sha256)
    data = file.path.read_bytes()
    return bool(there.blob_id == hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest())

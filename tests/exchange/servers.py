"""A server of the Hub that uploads are tested against, in a process of its own: ``python -m tests.exchange.servers FOLDER``.

It speaks the requests that huggingface_hub sends, keeps what it receives in FOLDER, and logs requests to ``FOLDER/log.txt``. It
refuses requests without its token. A file ``FOLDER/broken`` makes uploads fail, with an address that contains a signature.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

__all__ = ["TOKEN", "serving"]

TOKEN = "hf_secretsecretsecret"
COMMIT = "0" * 40


class Hub(BaseHTTPRequestHandler):
    """Repositories as folders ``repos/USER/NAME``, uploaded objects in ``objects``."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    folder: Path

    def answer(self, code: int, content: object = b"", **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def log_message(self, format: str, *arguments: object) -> None:
        with (self.folder / "log.txt").open("a") as file:
            file.write(f"{self.command} {self.path}\n")

    def do_GET(self) -> None:
        self.handle_request(urlsplit(self.path).path, self.body())

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def handle_request(self, path: str, body: bytes) -> None:
        objects = self.folder / "objects"
        own = f"http://{self.headers['Host']}"
        if path.startswith("/upload/"):  # an address with a signature, as that of a bucket
            if (self.folder / "broken").exists():
                self.answer(403, b"SignatureDoesNotMatch")
                return
            (objects / path.rpartition("/")[2]).write_bytes(body)
            self.answer(200)
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": f"Invalid token {self.headers.get('Authorization')}"})
        elif path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            (self.folder / "repos" / name).mkdir(parents=True, exist_ok=True)
            self.answer(200, {"url": f"{own}/datasets/{name}", "name": name})
        elif path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif path.endswith("/info/lfs/objects/batch"):
            self.answer(
                200, {"transfer": "basic", "objects": [self.batch(entry, own) for entry in json.loads(body)["objects"]]}
            )
        elif found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self.resolve(self.folder / "repos" / found[1] / found[2])
        elif found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+?)(?:/(?:([\w-]+)(?:/.*)?))?", path):
            repository = self.folder / "repos" / found[1]
            if not repository.exists():
                self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
            else:
                self.answer(200, getattr(self, (found[2] or "revision").replace("-", "_"))(repository, body))
        else:
            self.answer(404, {"error": f"not spoken: {path}"})

    def batch(self, entry: dict[str, object], own: str) -> dict[str, object]:
        if (self.folder / "objects" / str(entry["oid"])).exists():
            return entry
        return {**entry, "actions": {"upload": {"href": f"{own}/upload/{entry['oid']}?X-Amz-Signature=f00d"}}}

    def resolve(self, file: Path) -> None:
        """Answer with a file."""
        if not file.is_file():
            self.answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
            return
        data = file.read_bytes()
        self.answer(200, data, X_Repo_Commit=COMMIT, ETag=f'"{hashlib.sha256(data).hexdigest()}"', Accept_Ranges="bytes")

    def revision(self, repository: Path, body: bytes) -> dict[str, object]:
        files = [{"rfilename": entry["path"]} for entry in self.tree(repository, body) if entry["type"] == "file"]
        return {"id": "me/motion", "sha": COMMIT, "siblings": files, "private": False, "tags": [], "downloads": 0, "likes": 0}

    def paths_info(self, repository: Path, body: bytes) -> list[dict[str, object]]:
        asked = body.decode()
        return [
            entry
            for entry in self.tree(repository, body)
            if f'"{entry["path"]}"' in asked or entry["path"] in parse_qs(asked).get("paths", [])
        ]

    def tree(self, repository: Path, body: bytes) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        address = urlsplit(self.path)
        folder = repository / address.path.partition("/tree/")[2].partition("/")[2]
        whole = "/tree/" not in address.path or "true" in address.query.lower() or "recursive=1" in address.query
        for path in sorted(folder.rglob("*") if whole else folder.glob("*")):
            if path.is_dir():
                found.append({"type": "directory", "path": path.relative_to(repository).as_posix(), "oid": COMMIT})
                continue
            data = path.read_bytes()
            oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            entry = {"type": "file", "path": path.relative_to(repository).as_posix(), "size": len(data), "oid": oid}
            lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            found.append(entry | ({"lfs": lfs} if path.suffix == ".parquet" else {}))
        return found

    def preupload(self, repository: Path, body: bytes) -> dict[str, object]:
        names = [file["path"] for file in json.loads(body)["files"]]
        modes = {True: "lfs", False: "regular"}
        return {"files": [{"path": n, "uploadMode": modes[n.endswith(".parquet")], "shouldIgnore": False} for n in names]}

    def commit(self, repository: Path, body: bytes) -> dict[str, object]:
        for line in body.splitlines():
            kind, value = (entry := json.loads(line))["key"], entry["value"]
            path = repository / value.get("path", "")
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "lfsFile":
                path.write_bytes((self.folder / "objects" / value["oid"]).read_bytes())
            elif kind == "file":
                path.write_bytes(base64.b64decode(value["content"]))
            elif kind == "deletedFile":
                path.unlink()
        return {
            "commitUrl": f"http://{self.headers['Host']}/datasets/me/motion/commit/{COMMIT}",
            "commitOid": COMMIT,
            "pullRequestUrl": None,
        }


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server, and yield its address."""
    (folder / "objects").mkdir(parents=True)
    command = [sys.executable, "-m", "tests.exchange.servers", str(folder)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    ) as run:
        assert run.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(run.stdout.readline())}"
        finally:
            run.kill()


def main(folder: str) -> None:
    Hub.folder = Path(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

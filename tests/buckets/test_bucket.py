"""Objects of a bucket: conditional writes, ranges, listings, addresses, keys, and errors without secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from posegen.dataset.storage import bucket as bucket_module
from posegen.dataset.storage.address import to_path
from posegen.dataset.storage.bucket import BucketPath, map_requests
from posegen.dataset.storage.storage import ConflictError
from posegen.foundations.errors import ServerError, UsageError
from tests.buckets.servers import KEY, REGION, SECRET, Faults, Proxy, Server


def test_an_object_is_written_under_a_condition(bucket: BucketPath) -> None:
    path = bucket / "a/document.json"
    assert not path.is_file()
    path.write(b"one", expected=b"")
    path.write(b"one", expected=b"")  # as if the answer had been lost
    with pytest.raises(ConflictError, match=r"a/document\.json: another run has written it"):
        path.write(b"two", expected=b"")
    with pytest.raises(ConflictError):
        path.write(b"two", expected=b"three")
    assert path.read() == b"one"
    path.write(b"two", expected=b"one")
    path.write(b"three")
    assert path.read() == b"three"
    path.remove()
    path.remove()
    assert not path.is_file()
    path.write(b"four", expected=b"three")  # the folder was removed, and is made again
    assert path.read() == b"four"


def test_nothing_is_replaced_once_its_receipt_is_there(bucket: BucketPath) -> None:
    path, receipt = bucket / "file", bucket / "receipt"
    path.write(b"of a run that died")
    assert path.write(b"one", claim=(receipt, b""))
    receipt.write(b"of another run")
    assert not path.write(b"one", claim=(receipt, b""))
    with pytest.raises(ConflictError):
        path.write(b"two", claim=(receipt, b""))
    with pytest.raises(ConflictError):
        path.remove(claim=(receipt, b""))
    assert path.read() == b"one"


def test_of_writers_at_the_same_time_one_wins(bucket: BucketPath) -> None:
    path = bucket / "document.json"

    def write(number: int) -> bool:
        try:
            path.write(b"%d" % number, expected=b"")
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(16)))
    assert sum(won) == 1
    assert path.read() == b"%d" % won.index(True)


def test_updates_at_the_same_time_lose_none(bucket: BucketPath) -> None:
    path, updates = bucket / "names", 12
    path.write(b"begin")

    def add(number: int) -> None:
        while True:
            before = path.read()
            try:
                path.write(before + b" %d" % number, expected=before)
            except ConflictError:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(updates)))
    assert sorted(map(int, path.read().split()[1:])) == list(range(updates))


def test_a_server_that_cannot_replace_on_a_condition_is_refused(
    server: Server, bucket: BucketPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(server.address, tmp_path / "log.txt", Faults(conditions=False)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        path = BucketPath(bucket.bucket, "of-tests/names")
        path.write(b"one")
        with pytest.raises(ServerError, match="the server does not write on a condition"):
            path.write(b"two")
        assert path.read() == b"one"


def test_ranges_and_listings(bucket: BucketPath) -> None:
    list(map_requests(lambda number: (bucket / f"x/{number:04}").write(b"x" * number), range(1, 30)))
    (bucket / "xy").write(b"not in the folder")
    folder = bucket / "x"
    assert {name: entry.size for name, entry in folder.list().items()} == {f"{n:04}": n for n in range(1, 30)}
    seen = bucket.listed() / "x"
    (folder / "0007").remove()
    assert len(seen.list()) == 29
    assert len(folder.list()) == 28
    assert (seen / "0007").is_file()
    (bucket / "digits").write(b"0123456789")
    assert (bucket / "digits").read(3, 5) == b"34"
    assert (bucket / "digits").read(8, 100) == b"89"
    assert (bucket / "digits").read(20, 30) == b""
    (bucket / "empty").write(b"")
    assert (bucket / "empty").read(0, 5) == b""
    with pytest.raises(FileNotFoundError):
        (bucket / "none").read()
    with pytest.raises(ValueError, match="stored again"):
        (bucket / "digits").read(0, 1, expected=(10, "0" * 32))


@pytest.mark.parametrize(
    "address", ["s3://bucket", "s3://key:word@bucket/x", "s3://bucket/a//b", "s3://bucket/../x", "s3://b/x?a=1"]
)
def test_addresses_that_are_none_are_refused(address: str) -> None:
    with pytest.raises(UsageError, match="must be the address of a folder in a bucket, such as s3://BUCKET/PATH") as refused:
        to_path(address)
    assert "word" not in str(refused.value)


def test_addresses_are_read() -> None:
    path = to_path("gs://motion.example/a/b/")
    assert isinstance(path, BucketPath)
    assert (path.bucket, path.key, path.name, str(path / "c")) == (
        "gs://motion.example",
        "a/b",
        "b",
        "gs://motion.example/a/b/c",
    )
    assert to_path(Path("data")) == Path("data")
    with pytest.raises(UsageError, match="is an address"):
        to_path("https://example.org/data")


def test_a_bucket_that_does_not_exist_is_named(bucket: BucketPath) -> None:
    absent = BucketPath("s3://absent", "x")
    for use in (lambda: absent.write(b""), absent.list):
        with pytest.raises(ServerError, match="s3://absent/x: there is no such bucket"):
            use()


@pytest.mark.slow
def test_errors_do_not_state_keys(bucket: BucketPath, monkeypatch: pytest.MonkeyPatch) -> None:
    key, secret = "AKIDANOTHERKEY", "another/secret+0123456789"  # a slash makes the first address invalid
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{key}:{secret}@127.0.0.1:9")
    with pytest.raises(UsageError, match=r"AWS_ENDPOINT_URL, .*: is not the address of a server, such as") as refused:
        BucketPath("s3://nowhere", "x").read()
    assert key not in str(refused.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{key}:{quote(secret, safe='')}@127.0.0.1:9")
    monkeypatch.setattr(bucket_module, "FIRST_PATIENCE_SECONDS", 0.0)
    with pytest.raises(ServerError) as caught:
        BucketPath("s3://elsewhere", "x").read()
    assert "s3://elsewhere/x: " in str(caught.value)
    assert not any(text in str(caught.value) for text in (key, secret, quote(secret, safe="")))


def test_keys_are_read_from_the_standard_files(proxy: Proxy, bucket: BucketPath, tmp_path: Path) -> None:
    """A process without keys in its environment reads them and the address of the server from the files of AWS."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(f"[mine]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    (tmp_path / ".aws/config").write_text(f"[profile mine]\nregion = {REGION}\nendpoint_url = {proxy.address}\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    code = f"from posegen.dataset.storage.address import to_path; to_path({str(bucket)!r} + '/x').write(b'content')"
    run = [sys.executable, "-c", code]
    subprocess.run(run, check=True, env=environment | {"HOME": str(tmp_path), "AWS_PROFILE": "mine"})
    assert (bucket / "x").read() == b"content"


def test_without_obstore_the_command_that_installs_it_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['obstore'] = None; from posegen.cli.main import main; sys.exit(main(['info', 's3://a/b']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "obstore is not installed. Run: " in done.stderr
    assert "[cloud]" in done.stderr

"""Object stores for blobs: the stores of obstore, and a server that speaks the protocol of S3 and fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Objects
from scrubjay.store.objects import cloud
from scrubjay.store.objects.blobs import Blobs
from scrubjay.store.objects.cloud import Cloud
from scrubjay.store.objects.objects import blobs_of
from tests.data.fake_s3 import FakeS3, fake_s3

pytest.importorskip("obstore", reason="obstore is not installed (extra objects)")


@pytest.fixture
def s3() -> Iterator[FakeS3]:
    with fake_s3() as server:
        yield server


@pytest.fixture(params=["s3", "folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    with fake_s3() as server:
        urls = {"s3": server.url("below/it"), "folder": tmp_path.as_uri(), "memory": "memory:///"}
        yield Cloud(urls[request.param])


def test_blobs_are_stored_listed_and_deleted(blobs: Blobs) -> None:
    data = bytes(range(256)) * 5
    blobs.put("index/ab/abcd", data)
    blobs.put("index/ab/empty", b"")
    blobs.put("other/ab/abcd", b"other")
    assert blobs.get("index/ab/abcd", len(data)) == data
    assert blobs.get("index/ab/abcd", 10) == data[:10]
    found = sorted(blobs.list("index"))
    assert [(one.name, one.n_bytes) for one in found] == [("index/ab/abcd", 1280), ("index/ab/empty", 0)]
    assert all(-2 < one.age < 60 for one in found)
    blobs.put("index/ab/abcd", b"new")
    assert blobs.get("index/ab/abcd", 3) == b"new"
    blobs.delete(["index/ab/abcd", "index/ab/never", "index/ab/empty"])
    assert list(blobs.list("index")) == []
    with pytest.raises(FileNotFoundError):
        blobs.get("index/ab/abcd", 3)
    assert blobs.get("other/ab/abcd", 5) == b"other"


def test_a_large_blob_is_read_in_pieces(s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud, "_PIECE_BYTES", 1000)
    place = Cloud(s3.url())
    data = os.urandom(3500)
    place.put("a/b", data)
    s3.requests.clear()
    assert place.get("a/b", 3500) == data
    assert s3.requests == ["GET /bucket/a/b"] * 4
    monkeypatch.setattr(cloud, "_GET_SECONDS", -1)
    with pytest.raises(TimeoutError, match="longer"):
        place.get("a/b", 3500)


def test_many_are_deleted_page_by_page(s3: FakeS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud, "_MANY", 2)
    place = Cloud(s3.url())
    for i in range(5):
        place.put(f"a/{i}", b"x")
    place.delete(f"a/{i}" for i in range(5))
    assert s3.kept == {}


@pytest.mark.parametrize("fault", ["error", "cut", "silence", "gone"])
def test_a_place_that_fails_is_an_os_error_in_time(
    s3: FakeS3, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_REQUEST_SECONDS", 0.3), ("_RETRY_SECONDS", 0.5), ("_CONNECT_SECONDS", 0.3)):
        monkeypatch.setattr(cloud, name, value)
    place: Any = Cloud(s3.url())
    place.put("a/b", b"x" * 100)
    url = s3.url()
    if fault == "error":
        s3.status = 500
    elif fault == "cut":
        s3.cut = True
    elif fault == "silence":
        s3.delay = 1.5
    else:
        place = Cloud(url.replace(f":{s3.port}", ":1"))  # a closed port
    started = time.monotonic()
    calls = [lambda: place.get("a/b", 100), lambda: list(place.list("a"))]
    if fault != "cut":
        calls.append(lambda: place.put("a/b", b"y"))
    for call in calls:
        with pytest.raises(OSError, match="s3://bucket") as raised:
            call()
        assert "not-a-secret" not in str(raised.value)
        assert not isinstance(raised.value, FileNotFoundError)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "url", ["ftp://host/path", "nonsense", "s3:/bucket", "", "s3://b/p?no_such_option=1"]
)
def test_an_invalid_address_is_an_error_without_secrets(url: str) -> None:
    with pytest.raises(ValueError, match="objects: expected"):
        blobs_of(Objects(url))
    with pytest.raises(ValueError, match="objects: expected") as raised:
        blobs_of(Objects("ftp://user:pass@host/path?token=hidden"))
    assert "hidden" not in str(raised.value) and "pass" not in str(raised.value)


def test_addresses_of_all_places_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    for url in ("s3://bucket/path", "gs://bucket/path", "az://container/path"):
        place = blobs_of(Objects(url))
        assert isinstance(place, Cloud) and place.place == url


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("was_used", [True, False])
def test_a_forked_child_gets_an_error_instead_of_waiting_forever(s3: FakeS3, was_used: bool) -> None:
    """The library's threads belong to the parent."""
    if not was_used:
        program = _CHILD.format(url=s3.url())
        assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
        return
    Cloud(s3.url()).put("a/b", b"of the parent")
    child = os.fork()
    if child == 0:
        answer = 1
        try:
            Cloud(s3.url()).get("a/b", 13)
        except OSError as error:
            answer = 0 if "forked" in str(error) else 2
        finally:
            os._exit(answer)
    assert _ended(child) == 0


_CHILD = """
import os, sys
from scrubjay import Objects
from scrubjay.store.objects.cloud import Cloud
from scrubjay.store.objects.objects import blobs_of

place = blobs_of(Objects({url!r}))  # made, and not used
if os.fork() == 0:
    Cloud({url!r}).put("a/b", b"of the child")
    os._exit(0 if place.get("a/b", 12) == b"of the child" else 3)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def _ended(child: int) -> int | None:
    """Return the exit code of a child; None if it hung and was killed."""
    latest = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > latest:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(done[1])

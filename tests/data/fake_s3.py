"""An object store with the part of S3's protocol that is used here, and with faults; signatures are not checked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

__all__ = ["FakeS3", "fake_s3"]


class FakeS3:
    """The content of the only bucket, and the faults of requests.

    Attributes:
        kept: name -> (bytes, time of the put).
        status: the status of every answer; 0 for correct answers.
        delay: seconds before each answer.
        cut: whether answers are cut in the middle.
        requests: method and path of each request.
    """

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, float]] = {}
        self.status = 0
        self.delay = 0.0
        self.cut = False
        self.requests: list[str] = []
        self.port = 0

    def url(self, path: str = "") -> str:
        """Return the address of the bucket, or of a path in it."""
        return (
            f"s3://bucket/{path}?endpoint=http://127.0.0.1:{self.port}&region=eu-west-1&access_key_id=test"
            "&secret_access_key=not-a-secret&virtual_hosted_style_request=false"
        )


@contextmanager
def fake_s3() -> Iterator[FakeS3]:
    """Run a server in this process for the duration of the block."""
    store = FakeS3()

    class Handler(_Handler):
        state = store

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    state: FakeS3
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _begin(self) -> tuple[str, dict[str, list[str]], bytes] | None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.state.requests.append(f"{self.command} {parts.path}")
        time.sleep(self.state.delay)
        if self.state.status:
            self._answer(b"<Error><Code>Fault</Code><Message>told to</Message></Error>", self.state.status)
            return None
        name = unquote(parts.path).removeprefix("/bucket").removeprefix("/")
        return name, parse_qs(parts.query, keep_blank_values=True), body

    def _answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.state.cut and len(body) > 1:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        with suppress(OSError):  # the client has given up
            self.wfile.write(body)

    def do_PUT(self) -> None:
        if (request := self._begin()) is not None:
            name, _, body = request
            self.state.kept[name] = body, time.time()
            self._answer(ETag='"1"')

    def do_GET(self) -> None:
        if (request := self._begin()) is None:
            return
        name, query, _ = request
        if "list-type" in query:
            self._list(query.get("prefix", [""])[0])
            return
        if name not in self.state.kept:
            self._answer(b"<Error><Code>NoSuchKey</Code></Error>", 404)
            return
        data, at = self.state.kept[name]
        when = datetime.fromtimestamp(at, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None:
            self._answer(data, ETag='"1"', Last_Modified=when)
            return
        start, end = int(asked[1]), min(int(asked[2]), len(data) - 1)
        if start >= len(data):
            self._answer(b"<Error><Code>InvalidRange</Code></Error>", 416)
            return
        shown = f"bytes {start}-{end}/{len(data)}"
        self._answer(data[start : end + 1], 206, ETag='"1"', Last_Modified=when, Content_Range=shown)

    def _list(self, prefix: str) -> None:
        entries = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size><ETag>1</ETag><LastModified>"
            f"{datetime.fromtimestamp(at, timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.000Z')}</LastModified></Contents>"
            for name, (data, at) in sorted(self.state.kept.items())
            if name.startswith(prefix)
        )
        self._answer(
            f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()
        )

    def do_POST(self) -> None:
        if (request := self._begin()) is None:
            return
        _, query, body = request
        assert "delete" in query
        names = re.findall(r"<Key>(.*?)</Key>", body.decode())
        for name in names:
            self.state.kept.pop(name, None)
        gone = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
        self._answer(f"<DeleteResult>{gone}</DeleteResult>".encode())

    def do_DELETE(self) -> None:
        if (request := self._begin()) is not None:
            self.state.kept.pop(request[0], None)
            self._answer(status=204)

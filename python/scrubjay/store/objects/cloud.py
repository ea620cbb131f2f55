"""Object stores as places for blobs: S3 and compatible services, Google, Azure, through the library obstore."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from scrubjay.base.extras import imported
from scrubjay.store.objects.blobs import Blob

# Searches wait for these. Meanwhile the connection that reads the rows may be silent for 60 seconds.
_CONNECT_SECONDS, _REQUEST_SECONDS, _RETRY_SECONDS, _GET_SECONDS = 3, 15, 10, 30
_PIECE_BYTES = 32 << 20  # per request
_MANY = 1000  # names per request
_used_in: int | None = None
"""The process in which the library started its threads: a forked child has none of them, and would hang."""


class Cloud:
    """A bucket, or a path in a bucket.

    Args:
        url: s3://bucket/path, gs://bucket/path, az://container/path, ... Credentials are those of the environment
            (`AWS_ACCESS_KEY_ID`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME`, ..., or of the
            machine); its query has further options of obstore
            (`?region=eu-central-1&endpoint=https://minio.example`).

    Raises:
        MissingExtraError: obstore is not installed.
        ValueError: the address is invalid.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self.place = bare
        """The address without options and secrets."""
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        store = _module()
        client: dict[str, Any] = {
            "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            "timeout": timedelta(seconds=_REQUEST_SECONDS),
            "allow_http": options.get("endpoint", "").startswith("http://"),
        }
        retry = {"max_retries": 2, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)}
        try:
            with self._translated():
                self._store = store.from_url(bare, config=options, client_options=client, retry_config=retry)
        except OSError as error:
            raise ValueError(
                "objects: expected file:///folder, s3://bucket/path, gs://bucket/path or az://container/path, got "
                f"{bare}: {error}"
            ) from None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Guard a call of the library: every failure becomes an OSError."""
        global _used_in
        if _used_in not in (None, os.getpid()):
            raise OSError(
                f"{self.place}: the process that this one was forked from used the object store already, so this one "
                "cannot; start processes by spawn, or use objects only after the fork"
            )
        _used_in = os.getpid()
        with self._translated():
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{self.place}: {_said(error)}") from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a panic of the Rust library
                raise
            raise OSError(f"{self.place}: {_said(error)}") from None

    def put(self, name: str, data: bytes) -> None:
        with self._asking():
            self._store.put(name, data)

    def get(self, name: str, n_bytes: int) -> bytes:
        pieces, latest = [], time.monotonic() + _GET_SECONDS
        for start in range(0, n_bytes, _PIECE_BYTES):
            if time.monotonic() > latest:
                raise TimeoutError(f"{self.place}: {name} took longer than {_GET_SECONDS} s")
            with self._asking():
                length = min(_PIECE_BYTES, n_bytes - start)
                pieces.append(self._store.get_range(name, start=start, length=length).to_bytes())
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def delete(self, names: Iterable[str]) -> None:
        left = iter(names)
        while page := list(islice(left, _MANY)):
            try:
                with self._asking():
                    self._store.delete(page)
            except FileNotFoundError:  # some services report one missing name
                for name in page:
                    self._delete_one(name)

    def _delete_one(self, name: str) -> None:
        try:
            with self._asking():
                self._store.delete(name)
        except FileNotFoundError:
            pass

    def list(self, prefix: str) -> Iterator[Blob]:
        now = datetime.now(timezone.utc)
        with self._asking():
            pages = self._store.list(prefix)
        while True:
            with self._asking():
                page = next(pages, None)
            if page is None:
                return
            for blob in page:
                yield Blob(blob["path"], blob["size"], (now - blob["last_modified"]).total_seconds())


def _said(error: BaseException) -> str:
    """Return an error's message in one line, without the queries of URLs, which may contain a signature."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"\?\S*", "", first)


def _module() -> Any:
    return imported("obstore.store", "an object store", "objects")

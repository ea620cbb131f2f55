"""Hints, and the buckets of tenants, which limit hints to processes that may have the tenant in memory."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

_N_BUCKETS = 4096
ALL = _N_BUCKETS
"""The bucket of listeners that want all hints."""
MOST_BUCKETS = 48
"""The most buckets of one listener, before it listens to all: each is a lock in the server's memory."""
QUIET_SECONDS = 0.5
"""The longest time for which a bucket is assumed to have no listener, after a check found none."""


class Hint(NamedTuple):
    """A scope that was written to: the number of its collection, the number of its key, the bucket of its home."""

    collection: int
    key: int
    bucket: int = 0


@lru_cache(maxsize=4096)
def bucket_of(home: str) -> int:
    """Return the bucket of a home.

    >>> 0 <= bucket_of("acme") < 4096
    True
    """
    return zlib.crc32(home.encode("utf-8", "surrogatepass")) % _N_BUCKETS

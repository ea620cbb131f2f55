"""A blob store with faults on demand: it loses, truncates, swaps and damages blobs, fails, or is slow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from scrubjay.store.objects.blobs import Blob

__all__ = ["FAULTS", "FaultyBlobs"]

FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"x",
    "one bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "empty": lambda data: b"",
}
"""Name of a fault -> function from the bytes of a blob to the damaged ones."""


class FaultyBlobs:
    """A store of blobs in memory.

    Attributes:
        kept: name -> (bytes, time of the put).
        refuses: names of calls ("put", "get", "delete", "list") that raise OSError.
        delay: duration of each call in seconds.
        calls: the names of all calls so far.
        on_put: called with the name of a blob after it was stored.
    """

    place = "memory of a test"

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, float]] = {}
        self.refuses: set[str] = set()
        self.delay = 0.0
        self.calls: list[str] = []
        self.on_put: Callable[[str], None] = lambda name: None

    def _call(self, what: str) -> None:
        self.calls.append(what)
        time.sleep(self.delay)
        if what in self.refuses:
            raise OSError(f"{what}: the place does not answer")

    def put(self, name: str, data: bytes) -> None:
        self._call("put")
        self.kept[name] = data, time.time()
        self.on_put(name)

    def get(self, name: str, n_bytes: int) -> bytes:
        self._call("get")
        if name not in self.kept:
            raise FileNotFoundError(name)
        return self.kept[name][0][:n_bytes]

    def delete(self, names: Iterable[str]) -> None:
        self._call("delete")
        for name in names:
            self.kept.pop(name, None)

    def list(self, prefix: str) -> Iterator[Blob]:
        self._call("list")
        for name, (data, at) in list(self.kept.items()):
            if name.startswith(f"{prefix}/"):
                yield Blob(name, len(data), time.time() - at)

    def damage(self, fault: str) -> None:
        """Apply a fault to all blobs."""
        for name, (data, at) in list(self.kept.items()):
            if fault == "missing":
                del self.kept[name]
            else:
                self.kept[name] = FAULTS[fault](data), at

    def swap(self) -> None:
        """Exchange the bytes of the blobs."""
        names, values = list(self.kept), list(self.kept.values())
        assert len(names) > 1
        self.kept = dict(zip(names, values[1:] + values[:1], strict=True))

    def grow_old(self, seconds: float) -> None:
        """Increase the age of all blobs."""
        self.kept = {name: (data, at - seconds) for name, (data, at) in self.kept.items()}

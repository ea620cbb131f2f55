"""Let each write step of each operation fail once, and check that the operation is atomic.

    python -m tests.crash.faults size|pages|space [--every N] [OPERATION ...]

An operation is run repeatedly on a fresh copy of the same file, each time with a little more room, until it succeeds:
so each of its writes fails once; with `--every N` one in N. The room is limited by:

    size    the system's limit on the size of a file
    pages   SQLite's limit on its pages
    space   the size of the file system (to be run in a mount namespace of its own: unshare -m)

After a failure the open index has the state before or after the operation, and so has the file when it is reopened.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import scrubjay
from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from tests.crash.workload import State, ordered, stored
from tests.data.keys import provider

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
STEP_BYTES = 4096
MOST_STEPS = 200


class Toy:
    """An embedder of dimension 8."""

    name, dim = "toy", 8

    def embed_documents(self, texts: Any) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        return np.float32([len(text), text.count("o") + 1, 1, 2, 3, 4, 5, 6])


def rows(first: int, n: int, scope: Scope, word: str) -> list[dict[str, Any]]:
    """Return records with vectors."""
    return [
        {
            "id": first + i,
            "text": f"{word} {first + i} " + "leaves " * 30,
            "scope": scope,
            "vector": np.arange(8) + first + i,
        }
        for i in range(n)
    ]


def prepare(path: Path) -> None:
    """Create the file on which every operation is tried."""
    with Index.open(path, dim=8, durability="normal") as index:
        index.upsert_many(rows(0, 40, JANE, "oak") + rows(10, 40, JOE, "oak"))  # some ids in both
        index.upsert(99, "gone oak", scope=JANE, expires_at=1)
        index.collection("side").upsert_many(rows(0, 20, JANE, "beech"))
        index.admin.compact()
        index.delete(3, scope=JANE)
        index.upsert_many(rows(4, 2, JANE, "replaced oak"))
        index.feedback(20, query="which oak?", scope=JANE)
        index.feedback(21, query="not this one?", scope=JANE)


def save_images(index: Index) -> None:
    """Write the images of all resident partitions."""
    residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
    for partition in residency.resident():
        if not residency.save(partition, wait=True):
            raise scrubjay.StoreError("images were not written")


class Away(Toy):
    """The same embedder, but unavailable."""

    def embed_documents(self, texts: Any) -> Any:
        raise ConnectionError("no route to host")


def write_pending(index: Index) -> None:
    """Write texts while the embedder fails, so that they stay pending."""
    index.embedder = Away()
    index.upsert_many([{**row, "vector": None} for row in rows(20, 60, JANE, "pending oaks")])


def change_together(index: Index) -> None:
    """Make several writes in one change, as the memory layer does."""
    with Backend.of(index).changing("changing") as change:
        change.delete([20, 21], scope=JANE, reason="test")
        many = rows(20, 40, JANE, "changed oak")
        change.upsert(
            [row["id"] for row in many],
            [row["text"] for row in many],
            scopes=[JANE] * 40,
            vectors=[row["vector"] for row in many],
            payloads=[None] * 40,
        )
        change.erase(JOE, reason="test", everywhere=True)


def open_index(path: Path, name: str) -> Index:
    """Open a file for an operation, with keys if it needs them."""
    return Index.open(path, durability="normal", keys=provider if name in KEYED else None, encryption="mixed")


KEYED = ("first key", "encrypt")
OPERATIONS: dict[str, Callable[[Index], Any]] = {
    "upsert": lambda index: index.upsert(7, "a new oak", scope=JANE, vector=np.ones(8)),
    "upsert_many": lambda index: index.upsert_many(rows(20, 60, JANE, "many oaks")),
    "first pending": write_pending,
    "delete": lambda index: index.delete(20, scope=JANE),
    "delete by filter": lambda index: index.delete_many(
        range(25, 99), filter={"stars": {"$exists": False}}, scope=JANE
    ),
    "patch": lambda index: index.patch(20, scope=JANE, metadata={"stars": 5}, vector=np.ones(8)),
    "versioned": lambda index: index.upsert_many(
        [{**row, "version": 0} for row in rows(200, 60, JANE, "new oaks")]
    ),
    "erase": lambda index: index.erase(Scope("acme")),
    "erase everywhere": lambda index: index.erase(JANE, everywhere=True),
    "erase names": lambda index: index.erase(JANE, names=True),
    "changing": change_together,
    "sweep": lambda index: index.admin.sweep(),
    "compact": lambda index: index.admin.compact(),
    "images": save_images,
    "reembed": lambda index: index.admin.reembed(Toy(), batch_size=30, progress=False),
    "collection": lambda index: index.collection("new").upsert(1, "oak", scope=JANE),
    "drop": lambda index: index.admin.drop_collection("side"),
    "feedback": lambda index: index.feedback(22, query="and this?", scope=JANE),
    "first feedback": lambda index: index.collection("side").feedback(1, query="which beech?", scope=JANE),
    "first key": lambda index: index.upsert_many(rows(20, 60, JANE, "sealed oaks")),
    "encrypt": lambda index: index.admin.encrypt("acme"),
}


class Room:
    """A limit on the room for writes."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder

    def limit(self, index: Index, step: int) -> None:
        """Leave room for `step` steps."""
        if self.kind == "size":
            unlimited = resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_FSIZE, (step * STEP_BYTES, unlimited))
        elif self.kind == "pages":
            writer = Backend.of(index).engine.store._writer  # type: ignore[union-attr]
            (n_pages,) = writer.execute("PRAGMA page_count").fetchone()
            writer.execute(f"PRAGMA max_page_count = {n_pages + step}")
        else:
            usage = os.statvfs(self.folder)
            used = (usage.f_blocks - usage.f_bfree) * usage.f_frsize
            self._remount(used + step * STEP_BYTES)

    def lift(self, index: Index) -> None:
        """Remove the limit."""
        if self.kind == "size":
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        elif self.kind == "pages":
            Backend.of(index).engine.store._writer.execute("PRAGMA max_page_count = 1073741823")  # type: ignore[union-attr]
        else:
            self._remount(1 << 28)

    def _remount(self, n_bytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={n_bytes}", str(self.folder)], check=True)


def content(index: Index) -> list[Any]:
    """Return the whole content of an index."""
    state: State = stored(index)
    notes = [(note.id, note.query, note.scope, note.document_scope) for note in index.admin.feedbacks()]
    return [index.admin.collections(), ordered(state), notes]


def judge(path: Path, name: str = "") -> list[Any]:
    """Reopen the file, check it, and return its content."""
    with open_index(path, name) as index:
        for one in [index, *(index.collection(name) for name in index.admin.collections())]:
            report = one.admin.check()
            assert report.clean, report.problems
        return content(index)


def copy(source: Path, target: Path) -> Path:
    """Return a fresh copy of a file that is not open."""
    for old in target.parent.glob(target.name + "*"):
        old.unlink()
    shutil.copy(source, target)
    return target


def run(name: str, kind: str, folder: Path, every: int = 1) -> int:
    """Try one operation with increasing room; return how often it failed before it succeeded."""
    operation = OPERATIONS[name]
    prepared = folder / "prepared.scrubjay"
    if not prepared.exists():
        prepare(prepared)
    before = judge(copy(prepared, folder / "before.scrubjay"))
    with open_index(copy(prepared, folder / "after.scrubjay"), name) as index:
        operation(index)
        after = content(index)
    room = Room(kind, folder)
    for n_failed, step in enumerate(range(sum(map(ord, name)) % every, MOST_STEPS, every)):
        path = copy(prepared, folder / "tried.scrubjay")
        index = open_index(path, name)
        index.admin.warm(JANE)
        room.limit(index, step)
        failed = False
        try:
            operation(index)
        except scrubjay.StoreError:
            failed = True
        answers = [hit.text for hit in index.search("oak", scope=JANE, k=100, query=Query(mode="lexical"))]
        assert answers or name.startswith("erase"), (name, step)
        room.lift(index)
        now = content(index)
        # A new collection remains, empty, if the write to it did not fit.
        assert now in ([before, after] if failed else [after]) or (name == "collection" and failed), (
            name,
            step,
        )
        index.close()
        found = judge(path, name)
        assert found == now, (name, step)
        if not failed:
            return n_failed
    raise AssertionError(f"{name} never succeeded")


def main(kind: str, names: list[str], every: int) -> None:
    """Try operations, and print how often each failed."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if kind == "space":
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(folder)], check=True)
        try:
            for name in names or OPERATIONS:
                print(name, run(name, kind, folder, every), flush=True)
        finally:
            if kind == "space":
                subprocess.run(["umount", str(folder)], check=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.crash.faults")
    parser.add_argument("kind", choices=["size", "pages", "space"])
    parser.add_argument("names", nargs="*", metavar="OPERATION")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_intermixed_args()
    main(given.kind, given.names, given.every)

"""The process whose disk loses power: threads that write, each to its own scope, and one that compacts.

The writes of a thread follow from the seed, so that the judge can derive them, too.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scrubjay import ClosedError, Index, Scope, StoreBusyError

__all__ = ["N_THREADS", "Texts", "check", "expected"]

N_THREADS = 3
N_WRITES = 20  # of each thread, before the index is reopened and again afterwards
_WORDS = ["oak", "jay", "acorn", "cache", "winter", "feather"]

Texts = dict[str, tuple[str, int | None]]
"""Id -> text and stars of a document."""


class Write(NamedTuple):
    """One call, and the documents that it writes (None: deleted)."""

    kind: str
    documents: dict[str, tuple[str, int | None] | None]


def scope_of(thread: int) -> Scope:
    """Return the scope of a thread."""
    return Scope("acme", user=f"user{thread}")


def write_of(seed: int, thread: int, number: int, texts: Texts) -> Write:
    """Return call number `number` of a thread."""
    rng = random.Random(f"{seed}:{thread}:{number}")
    kind = rng.choices(["upsert", "many", "delete", "patch"], weights=[50, 20, 15, 15])[0]
    if kind in ("delete", "patch") and texts:
        id = rng.choice(sorted(texts))
        return Write(kind, {id: None if kind == "delete" else (texts[id][0], number)})
    n = 1 if kind != "many" else rng.randint(2, 25)
    documents: dict[str, tuple[str, int | None] | None] = {}
    for id in rng.sample(range(60), n):
        n_words = rng.choice([3, 20, 200, 3000 if n == 1 else 20])
        documents[f"m{id}"] = (" ".join(rng.choices(_WORDS, k=n_words)) + f" v{number}", None)
    return Write("many", documents)


def apply_write(texts: Texts, write: Write) -> Texts:
    """Return the content of a scope after a call."""
    changed = {**texts, **write.documents}
    return {id: one for id, one in changed.items() if one is not None}


def expected(seed: int, thread: int, n_done: int) -> Texts:
    """Return the content of a thread's scope after `n_done` calls."""
    texts: Texts = {}
    for number in range(n_done):
        texts = apply_write(texts, write_of(seed, thread, number, texts))
    return texts


def do(index: Index, scope: Scope, write: Write) -> None:
    """Make a call."""
    if write.kind == "many":
        rows = [
            {"id": id, "text": one[0], "vector": np.arange(4) + len(id)}
            for id, one in write.documents.items()
            if one is not None
        ]
        index.upsert_many(rows, scope=scope)
        return
    ((id, one),) = write.documents.items()
    if one is None:
        index.delete(id, scope=scope)
    else:
        index.patch(id, scope=scope, metadata={"stars": one[1]})


def work(path: Path, seed: int) -> None:
    """Write from several threads while one compacts; close and reopen; exit without closing."""
    said = os.open(path.with_name("said"), os.O_WRONLY | os.O_CREAT)
    lock = threading.Lock()

    def say(word: str) -> None:
        with lock:
            os.write(said, word.encode() + b"\n")

    def write(index: Index, thread: int, first: int) -> None:
        texts = expected(seed, thread, first)
        for number in range(first, first + N_WRITES):
            one = write_of(seed, thread, number, texts)
            say(f"b{thread} {number}")
            do(index, scope_of(thread), one)
            say(f"a{thread} {number}")
            texts = apply_write(texts, one)

    def compact(index: Index, over: Callable[[], bool]) -> None:
        while not over():
            try:
                index.admin.compact()
                say("c")
            except (ClosedError, StoreBusyError):
                pass

    for first in (0, N_WRITES):
        index = Index.open(path, dim=4)
        threads = [threading.Thread(target=write, args=(index, n, first)) for n in range(N_THREADS)]
        is_over = threading.Event()
        compacting = threading.Thread(target=compact, args=(index, is_over.is_set))
        for one in (*threads, compacting):
            one.start()
        for one in threads:
            one.join()
        is_over.set()
        compacting.join()
        if first == 0:
            index.close()
    os._exit(0)


def check(path: Path, states: list[list[Texts]]) -> list[str]:
    """Open the file after a power loss; return the problems: each thread's scope must have one of its states."""
    if not path.exists():
        return [] if all({} in some for some in states) else ["there is no file"]
    problems = []
    with Index.open(path, durability="normal") as index:
        for thread, some in enumerate(states):
            records = index.list(scope_of(thread), exact=True)
            found = {str(one.id): (one.text, one.metadata.get("stars")) for one in records}
            if found not in some:
                wanted = some[0]
                lost = sorted(id for id in wanted if id not in found)
                more = sorted(id for id in found if id not in wanted)
                other = sorted(id for id in found if id in wanted and found[id] != wanted[id])
                problems.append(f"thread {thread}: lost {lost}, more {more}, other {other}")
        problems += [str(one) for one in index.admin.check().problems]
        index.admin.compact()
        problems += [str(one) for one in index.admin.check().problems]
    with closing(sqlite3.connect(path)) as connection:
        (said,) = connection.execute("PRAGMA integrity_check").fetchone()
        problems += [] if said == "ok" else [str(said)]
    return problems

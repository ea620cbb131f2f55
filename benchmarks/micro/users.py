"""The data of the micro suite: indexes of users with n memories, a memory of facts, and questions.

Texts by Zipf's law, vectors around a few centres, all from fixed seeds: identical on every machine.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.micro import cases, filters
from benchmarks.micro.data import ZipfTexts
from scrubjay import Index, Memory, embedders
from scrubjay._native import Scope
from scrubjay.memory import FactCandidate

TENANT = "micro"
N_QUESTIONS = 500
N_FACTS = 1_000


@dataclass(frozen=True)
class Asked:
    """A question, its vector, and the user whose memories it searches."""

    text: str
    vector: Any
    user: str

    @property
    def scope(self) -> Scope:
        """A new scope object, as in a request."""
        return Scope(TENANT, user=self.user)


def records(n: int) -> list[dict[str, Any]]:
    """Return n memories of 20 to 40 words with metadata and vectors."""
    texts, numbers = ZipfTexts(seed=1), random.Random(0)
    vectors = cases.vectors(n, seed=n)
    return [
        {"id": f"m{row}", "text": text, "vector": vectors[row], "metadata": filters.attributes(numbers)}
        for row, text in enumerate(texts.texts(n))
    ]


@lru_cache(maxsize=4)
def questions(user: str, n_words: int = 6) -> tuple[Asked, ...]:
    """Return distinct questions to a user."""
    texts, vectors = ZipfTexts(seed=9), cases.vectors(N_QUESTIONS, seed=9)
    return tuple(Asked(texts.text(n_words), vectors[row], user) for row in range(N_QUESTIONS))


class Users:
    """Indexes in memory and in files, and a memory, opened and filled on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._opened = folder, ExitStack()
        self._indexes: dict[tuple[str, int], Index] = {}
        self._memory: Memory | None = None

    def __enter__(self) -> Users:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def index(self, kind: str, n: int) -> Index:
        """Return the index of a user `f"u{n}"` with n memories, without an embedder. `kind`: "memory" or "file"."""
        key = kind, n
        if key not in self._indexes:
            index = Index() if kind == "memory" else Index.open(self._folder / f"{n}.scrubjay")
            self._opened.enter_context(index)
            index.upsert_many(records(n), scope=Scope(TENANT, user=f"u{n}"), progress=False)
            self._indexes[key] = index
        return self._indexes[key]

    def fresh(self, kind: str) -> Index:
        """Return a separate index for writes, with a user "u1000" of 1,000 memories."""
        index = Index() if kind == "memory" else Index.open(self._folder / f"{len(self._indexes)}-w.scrubjay")
        self._opened.enter_context(index)
        self._indexes[kind, -len(self._indexes)] = index
        index.upsert_many(records(1_000), scope=Scope(TENANT, user="u1000"), progress=False)
        return index

    @property
    def memory(self) -> Memory:
        """A memory in a file, with a user "u0" of 1,000 facts, some preferences and a policy; the default embedder."""
        if self._memory is None:
            texts, scope = ZipfTexts(seed=4), Scope(TENANT, user="u0")
            memory = Memory.open(self._folder / "memory.scrubjay", embedders.default())
            self._opened.enter_context(memory)
            memory.propose_all([(FactCandidate(texts.text(25)), scope, "micro") for _ in range(N_FACTS)])
            memory.policy("refunds", "Never promise refunds.", tenant=TENANT, by="micro")
            for number in range(10):
                memory.prefer(f"habit {number}", texts.text(8), scope=scope)
            self._memory = memory
        return self._memory


def new_records(n: int) -> list[dict[str, Any]]:
    """Return n memories that no index of :class:`Users` contains."""
    texts, vectors = ZipfTexts(seed=3), cases.vectors(n, seed=6)
    return [{"id": f"new{row}", "text": texts.text(30), "vector": vectors[row]} for row in range(n)]

"""An entry of the shared cache that is not what was put there is a miss: no error, no memory of another scope."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Query, Retriever, Scope
from scrubjay.retrieval import RedisCache

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
N_MUTATIONS = 3_000


class Server:
    """A Redis of one dict."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self.entries.get(key)

    def set(self, key: str, value: Any, px: int | None = None) -> None:
        self.entries[key] = value


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index.open(tmp_path / "m.scrubjay", durability="normal")
    for i in range(4):
        index.upsert(f"jane{i}", f"note {i} of jane", scope=JANE)
        index.upsert(f"joe{i}", f"note {i} of joe", scope=JOE)
    return index


def ask(index: Index, server: Server, scope: Scope = JANE) -> Any:
    return Retriever(index, cache=False, shared_cache=RedisCache(client=server)).search("note", scope=scope)


def put(index: Index, server: Server) -> tuple[str, str, dict[str, Any]]:
    """Let an entry be written; return its key, its generation and its value."""
    ask(index, server)
    ((key, text),) = server.entries.items()
    held, value = json.loads(text)
    return key, held, value


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a JSON value."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in items:
        found += places(one, (*path, name))
    return found


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], change)
    return copy


HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 5, 1 << 70, 1.5, 1e308, "", "joe1", "jane1", "\ud800", "hybrid", [], [5], {},
    {"id": "joe1"}, [[]], ["joe0", "joe1"], "x" * 100_000, [None] * 1000, float("inf"), float("nan"),
]  # fmt: skip


def mutation(rng: random.Random, held: str, value: dict[str, Any]) -> str | bytes | int | None:
    """Return an entry that is not what was put there."""
    kind = rng.randrange(5)
    whole = [held, value]
    if kind < 3:
        for _ in range(rng.choice([1, 1, 2])):
            path = rng.choice(places(whole)[1:] or [()])
            whole = changed(whole, path, lambda old: rng.choice(HOSTILE))
            if not isinstance(whole, list) or len(whole) != 2:
                break
        return json.dumps(whole)
    text = json.dumps(whole)
    if kind == 3:
        data = bytearray(text.encode())
        for _ in range(rng.choice([1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.4 else data)
    return rng.choice(
        [b"", "", "[]", "[1]", "[1,2,3]", "null", "7", b"\xff\xfe", "[" * 100_000, 5, "{}", text + text]
    )


def test_a_changed_entry_is_a_miss(index: Index) -> None:
    server = Server()
    key, held, value = put(index, server)
    expected = {hit.id for hit in ask(index, server)}
    assert ask(index, server).cached
    rng = random.Random(20)
    n_missed = 0
    for number in range(N_MUTATIONS):
        server.entries = {key: mutation(rng, held, value)}
        found = ask(index, server)
        ids = [str(hit.id) for hit in found]
        assert all(id.startswith("jane") for id in ids), (number, ids)
        assert all(hit.scope == JANE for hit in found)
        assert found.degraded == () or all(isinstance(reason, str) for reason in found.degraded)
        found.to_dicts()
        repr(found)
        n_missed += not found.cached
        if not found.cached:
            assert set(ids) == expected
    assert n_missed > N_MUTATIONS / 2
    with index:
        pass


def test_memories_of_one_id_keep_their_scopes(index: Index) -> None:
    """What another process asked comes back from the scopes that it was found in; their names are in no entry."""
    asker = Scope("acme", "jane", "coder")
    for scope in asker.visible():
        index.upsert("twin", f"a twin of {scope!r}", scope=scope)
    server = Server()
    retriever = [Retriever(index, cache=False, shared_cache=RedisCache(client=server)) for _ in range(2)]
    first, second = (one.search("twin", scope=asker, query=Query(mode="lexical")) for one in retriever)
    assert (first.cached, second.cached) == (False, True)
    assert second.keys == first.keys and second.texts == first.texts
    assert dict(zip(second.keys, second.texts, strict=True)) == {
        (scope, "twin"): f"a twin of {scope!r}" for scope in asker.visible()
    }
    (text,) = server.entries.values()
    assert not any(name in text for name in ("acme", "jane", "coder", "a twin"))
    index.close()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("degraded", [5]),
        ("degraded", "text"),
        ("mode", 5),
        ("mode", "everything"),
        ("hits", None),
        ("hits", [5]),
        ("hits", [{}]),
    ],
)
def test_a_value_of_another_type_is_a_miss(index: Index, name: str, wrong: Any) -> None:
    server = Server()
    key, held, value = put(index, server)
    server.entries[key] = json.dumps([held, {**value, name: wrong}])
    found = ask(index, server)
    assert not found.cached and len(found) == 4
    index.close()


def test_a_huge_entry_is_not_read(index: Index) -> None:
    server = Server()
    key, held, value = put(index, server)
    server.entries[key] = json.dumps([held, value]) + " " * (17 << 20)
    assert not ask(index, server).cached
    index.close()

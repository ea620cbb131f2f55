"""An entry of the shared cache that was changed is a miss: no error, no memory of another scope."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Query, Retriever, Scope
from scrubjay.retrieval import RedisCache
from scrubjay.retrieval.cache import _read

JANE, JOE = Scope("acme", user="jane"), Scope("acme", user="joe")
N_MUTATIONS = 3_000


class Server:
    """A Redis server made of one dict."""

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
    """Have an entry written; return its key, its generation and its value."""
    ask(index, server)
    ((key, entry),) = server.entries.items()
    held, value = json.loads(entry[16:])
    assert entry == signed(json.dumps([held, value]))
    return key, held, value


def signed(text: str) -> str:
    """Return an entry with the checksum of its text, which a malicious writer can compute, too."""
    return sha256(text.encode()).hexdigest()[:16] + text


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield every position of a JSON value."""
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
    """Return an entry that was changed."""
    kind = rng.randrange(5)
    whole = [held, value]
    if kind < 3:
        for _ in range(rng.choice([1, 1, 2])):
            path = rng.choice(places(whole)[1:] or [()])
            whole = changed(whole, path, lambda old: rng.choice(HOSTILE))
            if not isinstance(whole, list) or len(whole) != 2:
                break
        return signed(json.dumps(whole))
    text = json.dumps(whole)
    if kind == 3:
        data = bytearray(signed(text).encode())
        for _ in range(rng.choice([1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.4 else data)
    return rng.choice(
        [
            b"", 5, b"\xff\xfe", "\ud800", text, signed(text) + text,
            *map(signed, ["", "[]", "[1]", "[1,2,3]", "null", "7", "[" * 100_000, "{}", text + text]),
        ]
    )  # fmt: skip


def test_any_byte_of_an_entry_that_changed_is_a_miss(index: Index) -> None:
    """Even a digit of a score or of an id, which would pass for another one."""
    server = Server()
    key, held, value = put(index, server)
    whole = signed(json.dumps([held, value])).encode()
    assert ask(index, server).cached
    for at in range(len(whole)):
        for bit in (0, 1, 4, 7):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            assert _read(bytes(damaged)) == (None, None), (at, bit)
    for end in range(len(whole)):
        assert _read(whole[:end]) == (None, None)
    for entry in (whole, whole.decode()):
        server.entries = {key: entry}
        assert ask(index, server).cached
    index.close()


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
    """Hits of another process are restored from their scopes; no entry contains the names of scopes."""
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
    server.entries[key] = signed(json.dumps([held, {**value, name: wrong}]))
    found = ask(index, server)
    assert not found.cached and len(found) == 4
    index.close()


def test_a_huge_entry_is_not_read(index: Index) -> None:
    server = Server()
    key, held, value = put(index, server)
    server.entries[key] = signed(json.dumps([held, value]) + " " * (17 << 20))
    assert not ask(index, server).cached
    index.close()

"""A random workload that writer and judge both derive from its seed: operation number n is the same for both."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors
from scrubjay.documents.payload import fields_of

DIM = 8
SCOPES = [
    Scope("acme"),
    Scope("acme", user="jane"),
    Scope("acme", agent="coder"),
    Scope("acme", user="jane", agent="coder"),
    Scope("globex"),
]
WORDS = ["oak", "jay", "acorn", "cache", "sk-stg-0041", "trains", "winter", "feather", "naïve", "鸟"]
LIMIT_BYTES = 60_000  # of memory, so that partitions are evicted and loaded

COLLECTIONS = ["", "side"]

# The vector of a document, or those of its passages.
Vector = tuple[float, ...] | tuple[tuple[float, ...], ...] | None

# (collection, scope, id) -> (text, vector, stars), in order of writing within each collection
State = dict[tuple[str, Scope, int], tuple[str, Vector, int | None]]


class Operation(NamedTuple):
    """One write: the kind of call, and its rows or arguments."""

    kind: str
    rows: tuple[tuple[int, Scope, str, Vector], ...] = ()
    keys: tuple[tuple[Scope, int], ...] = ()
    scope: Scope | None = None
    exact: bool = False
    collection: str = ""
    everywhere: bool = False
    stars: int | None = None
    vector: Vector = None


def operation(seed: int, number: int, n_ids: int = 300) -> Operation:
    """Return operation `number` of the workload `seed`."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choices(
        [
            "upsert",
            "many",
            "delete",
            "erase",
            "compact",
            "save",
            "search",
            "reopen",
            "drop",
            "change",
            "encrypt",
            "passages",
            "patch",
        ],
        weights=[30, 30, 12, 3, 4, 6, 15, 3, 1, 20, 3, 14, 12],
    )[0]
    collection = rng.choice(COLLECTIONS)
    if kind in ("upsert", "many"):
        n = 1 if kind == "upsert" else rng.randint(2, 40)
        return Operation(kind, rows=tuple(_row(rng, n_ids) for _ in range(n)), collection=collection)
    if kind == "passages":
        return Operation(kind, rows=(_long_row(rng, n_ids),), collection=collection)
    if kind == "patch":
        vector = None if rng.random() < 0.5 else _vector(rng)
        return Operation(
            kind, keys=(_key(rng, n_ids),), collection=collection, stars=rng.randrange(100), vector=vector
        )
    if kind == "delete":
        keys = tuple(_key(rng, n_ids) for _ in range(rng.randint(1, 5)))
        return Operation(kind, keys=keys, collection=collection)
    if kind == "change":  # the deleted and the written keys may overlap
        rows = tuple(_row(rng, n_ids) for _ in range(rng.randint(1, 20)))
        keys = tuple(_key(rng, n_ids) for _ in range(rng.randint(0, 8)))
        scope = rng.choice(SCOPES[1:]) if rng.random() < 0.2 else None
        return Operation(kind, rows, keys, scope, exact=True, collection=collection)
    if kind == "erase":
        return Operation(
            kind,
            scope=rng.choice(SCOPES[1:]),
            exact=rng.random() < 0.5,
            collection=collection,
            everywhere=rng.random() < 0.5,
        )
    return Operation(kind, scope=rng.choice(SCOPES), collection=collection)


def upsert_operation(rng: random.Random, collection: str, n_ids: int) -> Operation:
    """Return an operation that writes one row."""
    return Operation("upsert", rows=(_row(rng, n_ids),), collection=collection)


def _key(rng: random.Random, n_ids: int) -> tuple[Scope, int]:
    """Return a random scope and id; all scopes have the same few ids, so that they collide."""
    return rng.choice(SCOPES), rng.randrange(n_ids // len(SCOPES))


def _row(rng: random.Random, n_ids: int) -> tuple[int, Scope, str, Vector]:
    scope, id = _key(rng, n_ids)
    return id, scope, _text(rng, rng.randint(1, 12)), None if rng.random() < 0.3 else _vector(rng)


def _long_row(rng: random.Random, n_ids: int) -> tuple[int, Scope, str, Vector]:
    """Return a row whose text takes up to several pages of the file, with passages."""
    scope, id = _key(rng, n_ids)
    text = _text(rng, rng.choice([40, 400, 3000]))
    return id, scope, text, tuple(_vector(rng) for _ in range(rng.randint(1, 9)))


def _text(rng: random.Random, n_words: int) -> str:
    """Return a text of random words that ends with a unique one."""
    return " ".join(rng.choices(WORDS, k=n_words)) + f" v{rng.randrange(10**8, 10**9)}"


def _vector(rng: random.Random) -> tuple[float, ...]:
    return tuple(float(rng.randint(-8, 8) or 1) for _ in range(DIM))


def words_of(state: State) -> set[str]:
    """Return the unique words of the texts."""
    return {text.rpartition(" ")[2] for text, _, _ in state.values()}


def expected(state: State, op: Operation) -> State:
    """Return the state after an operation."""
    after = dict(state)
    if op.kind == "change":  # order: erase, delete, write
        if op.scope is not None:
            after = {k: row for k, row in after.items() if k[:2] != (op.collection, op.scope)}
        for scope, id in op.keys:
            after.pop((op.collection, scope, id), None)
    for id, scope, text, vector in op.rows:
        after.pop((op.collection, scope, id), None)  # an update is a new write, and moves to the end
        after[op.collection, scope, id] = (text, vector, None)
    for scope, id in op.keys if op.kind == "delete" else ():
        after.pop((op.collection, scope, id), None)
    for key in [(op.collection, *key) for key in op.keys] if op.kind == "patch" else ():
        if key in after:
            text, vector, _ = after.pop(key)
            after[key] = (text, vector if op.vector is None else op.vector, op.stars)
    if op.kind == "erase":
        assert op.scope is not None
        for collection, scope, id in state:
            here = op.everywhere or collection == op.collection
            if here and (scope == op.scope if op.exact else op.scope.contains(scope)):
                del after[collection, scope, id]
    elif op.kind == "drop":
        after = {key: row for key, row in after.items() if key[0] != "side"}
    return after


def ordered(state: State) -> list[tuple[tuple[str, Scope, int], tuple[str, Vector, int | None]]]:
    """Return a sorted form in which equal states are equal: with the order of writing within each collection."""
    return sorted(state.items(), key=lambda item: item[0][0])


def run(index: Index, op: Operation) -> None:
    """Run an operation on an index."""
    if op.kind == "encrypt":
        if Backend.of(index).engine.store.cipher.ring is not None:  # type: ignore[union-attr]
            index.admin.encrypt("acme")
        return
    if op.kind == "drop":
        if "side" in index.admin.collections():
            index.admin.drop_collection("side")
        return
    if op.collection:
        index = index.collection(op.collection)
    if op.kind == "change":
        _change(index, op)
        return
    if op.kind == "patch":
        _patch(index, op)
        return
    if op.rows:
        records: list[dict[str, Any]] = [
            {"id": id, "scope": scope, "text": text, "vector": vector} for id, scope, text, vector in op.rows
        ]
        if op.kind == "passages":
            (_, _, text, vectors), n = op.rows[0], len(op.rows[0][3] or ())
            borders = np.linspace(0, len(text), n + 1).astype(int).tolist()
            spans = list(pairwise(borders))
            index.upsert(**{**records[0], "vector": np.array(vectors)}, passages=spans)
        elif op.kind == "upsert":
            index.upsert(**records[0])
        else:
            index.upsert_many(records)
    for scope, id in op.keys:
        index.delete(id, scope=scope)
    if op.kind == "erase":
        assert op.scope is not None
        index.erase(op.scope, exact=op.exact, everywhere=op.everywhere)
    elif op.kind == "compact":
        index.admin.compact()
    elif op.kind == "save":
        residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
        for partition in residency.resident():
            residency.save(partition, wait=True)
    elif op.kind == "search":
        assert op.scope is not None
        index.search("oak winter", vector=np.ones(DIM), scope=op.scope)


def _patch(index: Index, op: Operation) -> None:
    ((scope, id),) = op.keys
    if op.vector is None:
        index.patch(id, scope=scope, metadata={"stars": op.stars})
    else:
        index.patch(id, scope=scope, metadata={"stars": op.stars}, vector=np.array(op.vector))


def _change(index: Index, op: Operation) -> None:
    with Backend.of(index).changing("changing") as change:
        if op.scope is not None:
            change.erase(op.scope, exact=op.exact, reason="test")
        change.delete([id for _, id in op.keys], scope=[scope for scope, _ in op.keys], reason="test")
        change.upsert(
            [row[0] for row in op.rows],
            [row[2] for row in op.rows],
            scopes=[row[1] for row in op.rows],
            vectors=[row[3] for row in op.rows],
            payloads=[None] * len(op.rows),
        )


def stored(index: Index, leaving_out: tuple[str, ...] = ()) -> State:
    """Return the content of an index in the order of writing, without some collections."""
    state: State = {}
    names = [name for name in index.admin.collections() if name not in leaving_out]
    for one in [index, *(index.collection(name) for name in names)]:
        engine = Backend.of(one).engine
        for seq, _ in engine.store.ids_after(0, 1 << 30, now=engine.clock()):  # type: ignore[union-attr]
            found = engine.store.at(seq)  # type: ignore[union-attr]
            assert found is not None
            document = engine.document(*found)  # type: ignore[union-attr]
            stars = fields_of(document.payload).get("metadata", {}).get("stars")
            state[one.name, document.scope, int(document.id)] = (
                document.text,
                vector_of(document.vector),
                stars,
            )
    return state


def vector_of(vector: DocumentVector | None) -> Vector:
    if isinstance(vector, PassageVectors):
        return tuple(tuple(row) for row in vector.rows.tolist())
    return None if vector is None else tuple(vector.tolist())

"""The key of a document is its exact scope and its id: in rows, in memory, after a kill, encrypted or not.

One tenant's actions cost and tell another nothing: statements look documents up by key, never by the id alone.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend
from scrubjay.index import Admin
from tests.data.keys import provider
from tests.data.stores import use_postgres

ACME, JANE, JOE = Scope("acme"), Scope("acme", user="jane"), Scope("acme", user="joe")
CODER, BOTH = Scope("acme", agent="coder"), Scope("acme", user="jane", agent="coder")
OTHER, GLOBEX = Scope("other"), Scope("globex")
SCOPES = [ACME, JANE, JOE, CODER, BOTH, OTHER, GLOBEX]


FILE_ONLY = {
    "test_a_process_that_was_killed_leaves_every_one": "the child makes the file; test_postgres_outage kills",
    "test_repair_takes_every_one_over": "a database is repaired by the server's tools",
    "test_ids_of_other_tenants_change_neither_answers_nor_cost": "counts the steps of SQLite",
    "test_documents_are_looked_up_by_key": "reads the plans of SQLite",
}
"""Tests that do not concern a database, each with the reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    stores = ["file"] if metafunc.function.__name__ in FILE_ONLY else ["file", "postgres"]
    metafunc.parametrize("store", stores, indirect=True)


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the store of this run of a test, "file" or "postgres"."""
    kind: str = request.param
    if kind == "postgres":
        use_postgres(monkeypatch)
    return kind


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


@pytest.fixture(params=[False, True], ids=["clear", "encrypted"])
def keys(request: pytest.FixtureRequest) -> Any:
    if request.param:
        pytest.importorskip("cryptography")
        return provider
    return None


def fill(index: Index, id: Any = "m") -> None:
    for i, scope in enumerate(SCOPES):
        index.upsert(id, f"oak of {scope!r}", scope=scope, vector=[1.0, float(i), 2.0], metadata={"i": i})


def text(index: Index, scope: Scope, id: Any = "m") -> str | None:
    record = index.get(id, scope=scope)
    return None if record is None else record.text


def hits(index: Index, scope: Scope, **options: Any) -> set[Scope]:
    query = Query(**options)
    return {hit.scope for hit in index.search("oak", vector=[1.0, 1.0, 1.0], scope=scope, k=50, query=query)}


def holds(index: Index, scopes: list[Scope]) -> None:
    """The index has the id in exactly these scopes."""
    left = set(scopes)
    for scope in SCOPES:
        visible = left & set(scope.visible())
        assert hits(index, scope) == hits(index, scope, ids=["m"]) == visible
        assert hits(index, scope, exclude=["m"]) == set()
        assert {record.scope for record in index.list(scope, ids=["m"])} == visible
        assert index.count(scope) == index.count(scope, ids=["m"]) == len(visible)
        specific = sorted(visible, key=lambda one: (one.user is None, one.agent is None))
        assert text(index, scope) == (f"oak of {specific[0]!r}" if specific else None)
    for within in (ACME, JANE, CODER, OTHER, GLOBEX):
        found = index.find("m", within=within)
        assert [record.scope for record in found] == sorted(one for one in left if within.contains(one))
        assert [record.text for record in found] == [f"oak of {record.scope!r}" for record in found]
    assert len(index) == len(left)
    assert index.admin.check().problems == []


def test_an_id_in_every_scope_is_as_many_documents(path: Path, keys: Any) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        holds(index, SCOPES)
    with Index.open(path, keys=keys, durability="normal") as index:
        holds(index, SCOPES)
        index.admin.compact()  # with images
    with Index.open(path, keys=keys, durability="normal") as index, Index.open(path, keys=keys) as other:
        holds(index, SCOPES)
        holds(other, SCOPES)
        for i, scope in enumerate(SCOPES):
            assert index.delete("m", scope=scope)
            assert not index.delete("m", scope=scope)
            holds(index, SCOPES[i + 1 :])
            holds(other, SCOPES[i + 1 :])  # replays the deletions, scope by scope
    with Index.open(path, keys=keys, durability="normal") as index:
        holds(index, [])
        assert [(event.scope, event.documents) for event in index.admin.events()] == [
            (one, 1) for one in SCOPES
        ]


def test_a_replaced_document_leaves_its_namesakes_alone(path: Path, keys: Any) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        index.admin.compact()
        index.upsert("m", "beech", scope=JANE)
        assert (text(index, JANE), text(index, JOE), text(index, ACME)) == (
            "beech",
            f"oak of {JOE!r}",
            f"oak of {ACME!r}",
        )
    with Index.open(path, keys=keys, durability="normal") as index:  # from images, and what came since
        assert hits(index, JANE, mode="lexical") == {ACME}
        assert hits(index, JOE, mode="lexical") == {ACME, JOE}
        assert text(index, JANE) == "beech"
        assert index.admin.check().problems == []


@pytest.mark.parametrize("exact", [True, False])
def test_erasing_a_scope_leaves_its_namesakes_alone(path: Path, keys: Any, exact: bool) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        assert index.erase(JANE, exact=exact) == (1 if exact else 2)
        gone = [JANE] if exact else [JANE, BOTH]
        holds(index, [scope for scope in SCOPES if scope not in gone])
    with Index.open(path, keys=keys, durability="normal") as index:
        holds(index, [scope for scope in SCOPES if scope not in gone])


def test_several_scopes_are_deleted_in_one_transaction(path: Path, keys: Any) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        engine = Backend.of(index).engine
        wanted = [JANE, GLOBEX, JANE, Scope("nobody")]
        assert engine.delete_many(["m"] * 4, scope=wanted) == 2  # one of them twice, and one unknown
        holds(index, [scope for scope in SCOPES if scope not in wanted])
        for scope, error in (
            ([JANE], ValueError),
            ([JANE, None], TypeError),
            ("acme", TypeError),
            (None, TypeError),
        ):
            with pytest.raises(error, match="scope"):
                engine.delete_many(["m", "m"], scope=scope)
        with pytest.raises(TypeError, match="scope"):
            engine.delete("m")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="scope"):
            engine.get("m")  # type: ignore[call-arg]
        for bad in (None, "acme", [JANE]):
            with pytest.raises(TypeError, match=r"scope: expected a scrubjay\.Scope"):
                engine.get("m", scope=bad)


def test_one_batch_may_name_an_id_for_several_scopes(path: Path, keys: Any) -> None:
    records = [
        {"id": "m", "text": f"{word} of {s!r}", "scope": s} for word in ("beech", "oak") for s in SCOPES
    ]
    with Index.open(path, keys=keys, durability="normal") as index:
        assert index.upsert_many(records, progress=False) == len(SCOPES)  # the last of each scope counts
        holds(index, SCOPES)
        with Backend.of(index).changing("moving") as change:
            assert change.delete(["m", "m"], scope=[JANE, JOE], reason="moved") == 2
            change.upsert(["m"], [f"oak of {JOE!r}"], scopes=[JOE], vectors=[None], payloads=[None])
        holds(index, [scope for scope in SCOPES if scope != JANE])


def test_one_that_expired_lets_the_more_general_one_be_seen(path: Path, keys: Any) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        index.upsert("m", "soon over", scope=JANE, expires_at=1)
        holds(index, [scope for scope in SCOPES if scope != JANE])
        assert text(index, JANE) == f"oak of {ACME!r}"
        assert index.admin.sweep(JOE) == 0
        assert index.admin.sweep(JANE) == 1
        holds(index, [scope for scope in SCOPES if scope != JANE])


def test_an_export_carries_scopes_and_ids(path: Path, keys: Any, tmp_path: Path) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        assert index.admin.export(tmp_path / "export") == len(SCOPES)
    with Index.open(tmp_path / "other", keys=keys, durability="normal") as index:
        index.upsert("m", "of before", scope=JANE)
        index.upsert("m", "of before", scope=Scope("nobody"))
        for _ in range(2):  # it can be repeated
            assert index.admin.import_(tmp_path / "export", batch_size=3) == len(SCOPES)
        assert text(index, Scope("nobody")) == "of before"
        assert index.erase(Scope("nobody")) == 1
        holds(index, SCOPES)


def test_another_model_reads_and_writes_every_one(path: Path, keys: Any) -> None:
    from scrubjay.embedders import Function

    toy = Function(lambda texts: [[len(t), 1.0] for t in texts], dim=2, name="toy")
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        assert index.admin.reembed(toy, progress=False) == len(SCOPES)
        for scope in SCOPES:
            record = index.get("m", scope=scope)
            assert record is not None and record.vector is not None
            assert np.asarray(record.vector).tolist() == [len(record.text), 1.0]
        assert index.admin.check().problems == []


def test_repair_takes_every_one_over(path: Path, keys: Any, tmp_path: Path) -> None:
    with Index.open(path, keys=keys, durability="normal") as index:
        fill(index)
        for scope in (JANE, JOE, ACME):
            index.feedback("m", query=f"asked by {scope!r}", scope=scope)
        before = index.admin.feedbacks()
        assert [note.document_scope for note in before] == [JANE, JOE, ACME]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE scope SET documents = 77")
    connection.commit()
    connection.close()
    report = Admin.repair(path, keys=keys)
    assert report.changed and report.left_out == []
    if keys is not None:
        with Index.open(path, keys=keys) as index:
            for tenant in ("acme", "other"):
                index.admin.encrypt(tenant, accept=True)
    with Index.open(path, keys=keys) as index:
        holds(index, SCOPES)
        assert index.admin.feedbacks() == before
    assert not Admin.repair(path, keys=keys).changed


def test_a_tenant_that_is_encrypted_later_keeps_all(path: Path) -> None:
    pytest.importorskip("cryptography")
    with Index.open(path, durability="normal") as index:
        fill(index)
        index.feedback("m", query="whose?", scope=JANE)
    with Index.open(path, keys=provider, durability="normal") as index:
        assert (index.admin.encrypt("acme"), index.admin.encrypt("other")) == (5, 1)
        holds(index, SCOPES)
        index.admin.rotate_key("acme", provider("acme"))  # type: ignore[arg-type]
        index.feedback("m", query="whose?", scope=JOE)
        index.admin.compact()
        assert [note.document_scope for note in index.admin.feedbacks()] == [JANE, JOE]
    with Index.open(path, keys=provider, encryption="strict") as index:
        holds(index, SCOPES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_was_killed_leaves_every_one(path: Path, keys: Any) -> None:
    child = os.fork()
    if child == 0:
        try:
            index = Index.open(path, keys=keys)
            fill(index)
            index.delete("m", scope=JOE)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with Index.open(path, keys=keys) as index:
        holds(index, [scope for scope in SCOPES if scope != JOE])


# ---------------------------------------------------------------------- one tenant's ids are nothing to another


WAYS: dict[str, Callable[[Index], Any]] = {
    "get": lambda index: index.get("m", scope=JANE),
    "get nothing": lambda index: index.get("n", scope=BOTH),
    "list": lambda index: index.list(JANE, ids=["m", "n"]),
    "upsert": lambda index: index.upsert("m", "oak anew", scope=JANE),
    "upsert new": lambda index: index.upsert("n", "oak anew", scope=JANE),
    "delete": lambda index: index.delete("m", scope=JANE),
    "delete nothing": lambda index: index.delete("n", scope=JANE),
    "feedback": lambda index: index.feedback("m", query="which?", scope=JANE),
    "feedback nothing": lambda index: index.feedback("n", query="which?", scope=JANE),
    "delete with notes": lambda index: index.delete("m2", scope=JANE),
    "feedbacks": lambda index: [note.document_scope for note in index.admin.feedbacks(JANE)],
    "erase": lambda index: index.erase(JANE),
    "export": lambda index: Backend.of(index).engine.store.at(1),  # type: ignore[union-attr]
}


def connections(index: Index) -> list[Any]:
    store = Backend.of(index).engine.store  # type: ignore[union-attr]
    return [store.reading_connection(), store._writer]


def watched(index: Index, way: Callable[[Index], Any]) -> tuple[Any, list[str], int]:
    """Return the result of a call, the statements it executes, and the number of steps of SQLite for them."""
    statements: list[str] = []
    n_steps = 0

    def step() -> int:
        nonlocal n_steps
        n_steps += 1
        return 0

    for connection in connections(index):
        connection.set_trace_callback(statements.append)
        connection.set_progress_handler(step, 1)
    try:
        given = way(index)
    finally:
        for connection in connections(index):
            connection.set_trace_callback(None)
            connection.set_progress_handler(None, 1)
    return given, statements, n_steps


def prepare(path: Path, taken: tuple[str, ...]) -> None:
    """Jane's documents, and those of 60 scopes of other tenants under these ids."""
    with Index.open(path, durability="normal") as index:
        index.upsert_many({"id": f"x{i}", "text": "oak", "scope": JANE} for i in range(20))
        index.upsert("m", "oak", scope=JANE)
        index.upsert("m2", "oak", scope=JANE)
        index.feedback("m2", query="which?", scope=JANE)
        others = [Scope(f"tenant {i}", user=("jane", None)[i % 2]) for i in range(60)]
        index.upsert_many(
            [{"id": id, "text": "oak", "scope": other} for other in others for id in taken], progress=False
        )
        for other in others:
            index.feedback(taken[0], query="which?", scope=other)


@pytest.mark.parametrize("name", WAYS)
def test_ids_of_other_tenants_change_neither_answers_nor_cost(tmp_path: Path, name: str) -> None:
    """The same answer, and the same number of steps of SQLite, whether others have these ids or some that are never
    requested."""
    seen = []
    for taken in (("z", "z2", "z3"), ("m2", "m", "n")):
        path = tmp_path / taken[0]
        prepare(path, taken)
        with Index.open(path, durability="normal") as index:
            Backend.of(index).generation(JANE)
            given, _, n_steps = watched(index, WAYS[name])
            seen.append((given, n_steps))
            assert index.admin.check().problems == []
    (alone, n_alone), (among, n_among) = seen
    assert among == alone
    assert n_among == n_alone


@pytest.mark.parametrize("name", WAYS)
def test_documents_are_looked_up_by_key(path: Path, name: str) -> None:
    prepare(path, ("m", "m2", "n"))
    with Index.open(path, durability="normal") as index:
        Backend.of(index).generation(JANE)
        _, statements, _ = watched(index, WAYS[name])
        assert statements
        plans = [plan for statement in statements for plan in plans_of(path, statement)]
    for plan in plans:
        for table, alias in (("document", "d"), ("feedback", "f")):
            if plan.startswith((f"SEARCH {table} ", f"SEARCH {alias} ")):
                by_id = "(id=?" in plan
                assert not by_id or "(id=? AND scope=?)" in plan, plan
            assert not plan.startswith((f"SCAN {table}", f"SCAN {alias} ")), plan


def plans_of(path: Path, statement: str) -> Iterator[str]:
    if statement.lstrip().upper().startswith(("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "CREATE", "--")):
        return
    connection = sqlite3.connect(path)
    try:
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"):
            yield row[3]
    finally:
        connection.close()

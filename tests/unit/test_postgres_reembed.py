"""A change of the model over PostgreSQL: reads while vectors are not in place, and lock waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scrubjay import EmbedderMismatchError, Index, Scope
from scrubjay.backend import Backend
from scrubjay.embedders import Function
from scrubjay.store.postgres.store import PostgresStore
from tests.data.postgres import as_superuser, new_url
from tests.unit.test_postgres_row_security import Roles, roles

psycopg = pytest.importorskip("psycopg")
__all__ = ["roles"]

SCOPES = [Scope("acme"), Scope("acme", user="jane"), Scope("globex", user="joe")]
JANE = SCOPES[1]


def old() -> Function:
    return Function(lambda texts: [[t.count("a") + 1, t.count("b")] for t in texts], dim=2, name="old")


def new(name: str = "new") -> Function:
    return Function(
        lambda texts: [[t.count("b") + 1, t.count("c"), t.count("a")] for t in texts], dim=3, name=name
    )


def documents(n: int = 12) -> list[dict[str, Any]]:
    return [
        {"id": f"m{i}", "text": "abc"[i % 3] * (i % 5 + 1), "scope": scope}
        for scope in SCOPES
        for i in range(n)
    ]


@pytest.fixture
def url() -> str:
    url = new_url()
    with Index.open(url, old()) as index:
        index.upsert_many(documents())
        index.admin.compact()
    return url


def run(url: str, statement: str) -> list[Any]:
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def store_of(index: Index) -> Any:
    return Backend.of(index).engine.store  # type: ignore[union-attr]


def answers(index: Index) -> list[Any]:
    return [
        (hits.mode, [(hit.id, hit.scope, hit.score) for hit in hits])
        for scope in SCOPES
        for hits in [index.search("bbc", scope=scope, k=50)]
    ]


@pytest.fixture
def expected() -> Iterator[list[Any]]:
    with Index(new()) as index:
        index.upsert_many(documents())
        yield answers(index)


def test_vectors_that_are_not_in_place_are_read_and_a_write_puts_those_of_its_scope_there(
    url: str, monkeypatch: pytest.MonkeyPatch, expected: list[Any]
) -> None:
    with Index.open(url, old()) as index, monkeypatch.context() as killed:
        killed.setattr(PostgresStore, "settle", lambda self: None)  # the process ends right after the change
        assert index.admin.reembed(new(), progress=False) == 36
        assert run(url, "SELECT count(*) FROM sj_staged") == [(36,)]
        assert answers(index) == expected
        with Index.open(url, new()) as cold:  # reads rows; the images are of the old model
            assert answers(cold) == expected
            assert cold.admin.check().problems == []
            found = cold.get("m4", scope=JANE)
            assert found is not None
            np.testing.assert_array_equal(np.asarray(found.vector), [6, 0, 0])
            store = store_of(cold)
            assert all(store.image(state.key) is None for _, state in store.scopes())
        cold.close()
        # A writer of one scope puts only the vectors of that scope in place.
        index.upsert("m0", "bbb", scope=JANE)
        index.upsert("m0", "a", scope=JANE)
        assert run(url, "SELECT count(*) FROM sj_staged") == [(24,)]
        assert answers(index) == answers_of_fresh(url)
        assert index.admin.check().problems == []
    with Index.open(url, new()) as index:
        before = answers(index)
        index.admin.compact()
        assert run(url, "SELECT count(*) FROM sj_staged") == [(0,)]
        assert answers(index) == before and index.admin.check().problems == []
    assert answers_of_fresh(url) == before
    assert run(url, "SELECT DISTINCT embedding FROM sj_scope WHERE home <> ''") == [(1,)]


def answers_of_fresh(url: str) -> list[Any]:
    with Index.open(url, new()) as index:
        return answers(index)


def test_another_change_does_not_lose_vectors_that_are_not_in_place(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.open(url, old()) as index, monkeypatch.context() as killed:
        killed.setattr(PostgresStore, "settle", lambda self: None)
        index.admin.reembed(new(), progress=False)
    with Index.open(url, new()) as index:
        before = answers(index)

        def fail(texts: list[str]) -> list[list[float]]:
            raise RuntimeError("out of coffee")

        with pytest.raises(Exception, match="coffee"):
            index.admin.reembed(Function(fail, dim=5, name="third"), progress=False)
        assert run(url, "SELECT count(*) FROM sj_staged") == [(0,)]
        assert answers(index) == before and index.admin.check().problems == []
        assert index.admin.reembed(new("again"), progress=False) == 36
    with Index.open(url, new("again")) as index:
        assert answers(index) == before


def test_a_writer_that_has_not_heard_of_the_change_writes_no_vector_of_the_old_model(url: str) -> None:
    with Index.open(url, old()) as one, Index.open(url, old(), max_stale=60) as late:
        assert len(late.search("bbb", scope=JANE)) == 10
        store_of(late)._feed.hints.stop()  # and with them the polling thread
        one.admin.reembed(new(), progress=False)
        with pytest.raises((EmbedderMismatchError, ValueError)):
            late.upsert("late", "abc", scope=JANE)
        with pytest.raises((EmbedderMismatchError, ValueError)):
            late.upsert("late", "abc", scope=Scope("a tenant that is new"))
        assert late.delete("m1", scope=JANE)  # a write without a vector is allowed
        assert one.get("late", scope=JANE) is None and one.admin.check().problems == []


def test_the_change_waits_for_writes_that_began_before(url: str) -> None:
    with Index.open(url, old()) as index, Index.open(url, old()) as writer:
        in_turn, go_on = threading.Event(), threading.Event()

        def write() -> None:
            with Backend.of(writer).engine.changing("writing") as change:  # type: ignore[union-attr]
                change.lock(["acme"])
                change.upsert(["slow"], ["bb"], scopes=[JANE], vectors=[[1.0, 2.0]], payloads=[None])
                in_turn.set()
                go_on.wait(20)

        thread = threading.Thread(target=write)
        thread.start()
        assert in_turn.wait(20)
        threading.Timer(0.5, go_on.set).start()
        assert index.admin.reembed(new(), progress=False) == 37
        thread.join()
        found = index.get("slow", scope=JANE)
        assert found is not None
        np.testing.assert_array_equal(np.asarray(found.vector), [3, 0, 0])
        assert index.admin.check().problems == []


def test_names_that_are_erased_meanwhile_lose_no_vector_of_others(
    url: str, monkeypatch: pytest.MonkeyPatch, expected: list[Any]
) -> None:
    with Index.open(url, old()) as index, monkeypatch.context() as killed:
        killed.setattr(PostgresStore, "settle", lambda self: None)
        index.admin.reembed(new(), progress=False)
        index.erase(JANE, names=True)
        index.admin.compact()
        assert index.search("bbc", scope=SCOPES[2], k=50).mode == "hybrid"
        assert answers(index)[2] == expected[2] and answers(index)[0] == expected[0]
        assert run(url, "SELECT count(*) FROM sj_staged") == [(24,)]
        assert index.admin.check().problems == []


def test_the_role_that_serves_may_change_the_model(roles: Roles) -> None:
    with Index.open(roles.url(roles.serve), old()) as index:
        index.upsert_many(documents())
        assert index.admin.reembed(new(), progress=False) == 36
        assert index.admin.check().problems == []
        assert run(roles.admin, "SELECT count(*) FROM sj_staged") == [(0,)]

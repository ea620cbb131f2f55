"""The search for erased rows over PostgreSQL: what it finds, and what it claims to prove."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Memory, Scope, StoreError
from scrubjay.backend import Backend
from scrubjay.store.postgres.erasure_search import NOT_COVERED
from scrubjay.store.postgres.maintenance import vacuum
from scrubjay.store.postgres.sessions import Sessions
from tests.data.postgres import as_superuser, new_url
from tests.unit.test_postgres_row_security import Roles, roles

psycopg = pytest.importorskip("psycopg")
__all__ = ["roles"]

JANE, JOE = Scope("acme", user="Jané.Doe@example.org"), Scope("globex", user="joe")
SECRET, NUL = "The door code of the boathouse is 4711-XYZZY.", "a plover\0and an egret"


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index.open(url) as opened:
        yield opened


def run(url: str, statement: str) -> list[Any]:
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def places(index: Index, *arguments: Any, **options: Any) -> set[str]:
    return {str(place) for place, _, _ in index.admin.verify_erased(*arguments, **options).found}


def test_every_table_that_holds_a_text_is_searched_and_the_report_says_what_is_proved(index: Index) -> None:
    vector = np.linspace(0, 1, 16, dtype=np.float32)
    index.upsert("m1", SECRET, scope=JANE, vector=vector, metadata={"colour": "heliotrope"})
    index.upsert("m2", SECRET + " Again.", scope=JOE, vector=vector)
    index.feedback("m1", scope=JANE, query="which boathouse?")
    index.admin.compact()  # images, too
    report = index.admin.verify_erased([SECRET])
    assert report.proof == "rows" and report.not_covered == NOT_COVERED and report.files == ()
    assert {"sj_document", "sj_image", "sj_scope", "sj_home", "sj_event"} <= set(report.tables)
    assert ("sj_document.text", 2, 0) in report.found and not report.clean
    assert report.n_sequences == 1 and report.n_bytes > len(SECRET) * 2
    assert "sj_image.data" in places(index, [SECRET]) | places(index, [], [vector])
    assert "sj_document.vector" in places(index, vectors=[vector])
    assert places(index, ["heliotrope"]) >= {"sj_document.payload"}
    assert places(index, ["which boathouse?"]) == {"sj_feedback.query"}
    assert places(index, sequences=[b"m2"]) >= {"sj_document.id"}
    found = index.admin.verify_erased(["nowhere", SECRET, "absent"], names=["nobody at all"])
    assert {number for _, _, number in found.found} == {1} and found.n_sequences == 4
    index.erase(JANE)
    index.erase(JOE)
    assert index.admin.compact() == 0
    everything = ([SECRET, "heliotrope", "which boathouse?"], [vector], [b"m2"])
    assert index.admin.verify_erased(*everything).clean


def test_expired_rows_and_other_collections_are_searched(index: Index) -> None:
    index.upsert("m1", SECRET, scope=JANE, expires_at=1.0)
    assert index.get("m1", scope=JANE) is None and index.count(JANE) == 0
    assert ("sj_document.text", 1, 0) in index.admin.verify_erased([SECRET]).found
    index.admin.sweep()
    assert index.admin.verify_erased([SECRET]).clean
    index.collection("side").upsert("s", SECRET, scope=JOE)
    assert not index.admin.verify_erased([SECRET]).clean


def test_a_compaction_leaves_no_replaced_text_in_images_of_other_collections(index: Index) -> None:
    side = index.collection("side")
    side.upsert("m1", "xyzzy", scope=JANE)
    side.upsert("m2", "plover", scope=JOE)
    side.admin.compact()
    assert places(index, ["xyzzy"]) == {"sj_document.text", "sj_image.data"}
    side.upsert("m1", "the door is open", scope=JANE)
    assert places(index, ["xyzzy"]) == {"sj_image.data"}
    index.admin.compact()
    assert places(index, ["xyzzy"]) == set()
    assert places(index, ["plover"]) == {"sj_document.text", "sj_image.data"}  # that image is current
    assert side.search("door", scope=JANE).ids == ["m1"]


def test_names_are_found_in_every_form(index: Index) -> None:
    index.upsert("m1", "Jané.Doe@example.org".encode().hex().upper(), scope=Scope("acme"))
    index.upsert("m2", "JANÉ.DOE@example.ORG", scope=Scope("acme"))
    index.upsert("m3", "amFuZUBleGFtcGxlLm9yZw==", scope=Scope("acme"))  # jane@example.org
    assert index.admin.verify_erased(names=["Jané.Doe@example.org"]).found == (("sj_document.text", 2, 0),)
    assert "sj_document.text" in places(index, names=["jane@example.org"])
    assert places(index, names=["jané@example.net"]) == set()
    index.upsert("m4", "oak", scope=JANE)
    assert {"sj_scope.usr"} <= places(index, names=["JANÉ.DOE@EXAMPLE.ORG"])
    index.erase(JANE)
    assert "sj_scope.usr" in places(
        index, names=["jané.doe@example.org"]
    )  # the scope's row outlives its documents


def test_of_a_long_text_a_part_is_found(index: Index) -> None:
    index.upsert("m1", "x" * 100 + SECRET[:40], scope=JANE)
    assert not index.admin.verify_erased([SECRET]).clean
    assert index.admin.verify_erased([SECRET[-20:]]).clean


def test_memorys_tables_are_searched(url: str) -> None:
    with Memory.open(url) as memory:
        memory.propose(f"Jane says {NUL}", scope=JANE, source="r1")
        with memory.session(JANE, "chat") as session:
            session.user(SECRET)
        report = memory.admin.verify_erased(JANE, [NUL, SECRET])
        assert report.files is not None and report.files.proof == "rows"
        found = {(str(place), number) for place, _, number in report.files.found}
        assert ("sj_memory_fact.content", 0) in found and ("sj_memory_event.content", 1) in found
        memory.forget(JANE)
        assert memory.admin.verify_erased(JANE, [NUL, SECRET]).clean


def test_verify_erased_sees_every_row_or_refuses(roles: Roles) -> None:
    with Index.open(roles.url(roles.serve)) as index:
        index.upsert("m1", SECRET, scope=JANE)
        index.upsert("m2", SECRET, scope=JOE)
        assert ("sj_document.text", 2, 0) in index.admin.verify_erased([SECRET]).found
        with Index.open(roles.url(roles.migrate)) as owner:
            assert ("sj_document.text", 2, 0) in owner.admin.verify_erased([SECRET]).found
        run(roles.admin, "DROP POLICY sj_across ON sj_tombstone")
        with pytest.raises(StoreError, match="may not see every row of sj_tombstone"):
            index.admin.verify_erased([SECRET])


def test_compacting_vacuums_what_the_role_may(roles: Roles) -> None:
    with psycopg.connect(roles.url(roles.serve), autocommit=True) as connection:
        assert vacuum(connection) == []
    with Index.open(roles.url(roles.migrate)) as index:
        index.upsert_many([{"id": f"m{i}", "text": SECRET, "scope": JANE} for i in range(50)])
        index.erase(JANE)
    with Index.open(roles.url(roles.serve)) as index:
        assert index.admin.compact() == 0  # without the privilege it is left to the server
    if not run(roles.admin, "SELECT 1 FROM pg_available_extensions WHERE name = 'pgstattuple'"):
        pytest.skip("the server has no pgstattuple to count dead rows by")
    run(roles.admin, "CREATE EXTENSION IF NOT EXISTS pgstattuple SCHEMA public")
    dead = "SELECT dead_tuple_count FROM public.pgstattuple('sj_document'::regclass)"
    assert run(roles.admin, dead) == [(50,)]
    for _ in range(10):  # rows stay while any transaction of the server may still see them
        with Index.open(roles.url(roles.migrate)) as index:
            index.admin.compact()
        if run(roles.admin, dead) == [(0,)]:
            return
    assert run(roles.admin, dead) == [(0,)]


def test_the_store_says_what_it_searched_within_one_snapshot(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    index.upsert("m1", "oak", scope=JANE)
    asked: list[Any] = []
    answered = Sessions._answered

    def move(self: Sessions, statements: Any, doing: str) -> Any:
        rows = answered(self, statements, doing)
        asked.append(statements)
        if len(asked) == 1:
            with Index.open(store.server._url) as other:
                other.upsert("m2", SECRET, scope=JOE)
        return rows

    monkeypatch.setattr(Sessions, "_answered", move)
    assert index.admin.verify_erased([SECRET]).clean
    monkeypatch.undo()
    assert not index.admin.verify_erased([SECRET]).clean


def test_an_image_that_is_being_written_does_not_outlive_an_erasure(index: Index, url: str) -> None:
    """A writer of images does not take the tenant's lock."""
    index.upsert_many([{"id": f"m{i}", "text": f"oak number {i}", "scope": JOE} for i in range(30)])
    engine: Any = Backend.of(index).engine
    state = engine.store.scope_state(JOE)
    chunks = engine.native.save_partition(JOE)
    erased = threading.Event()
    with Index.open(url) as other:

        def erase() -> None:
            other.erase(JOE)
            erased.set()

        with engine.store.writing("writing images", scopes=()) as transaction:
            transaction.write_image(JOE, state.version, chunks)
            transaction.flush()  # the row exists, but only this transaction sees it
            thread = threading.Thread(target=erase)
            thread.start()
            assert not erased.wait(0.3)  # it waits for the image
        thread.join()
    assert run(url, "SELECT count(*) FROM sj_image") == [(0,)]

"""Names erased over PostgreSQL: which rows move, what other processes see, and concurrent writers."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from tests.data.postgres import new_url
from tests.unit.test_postgres_row_security import Roles, roles

pytest.importorskip("psycopg")
__all__ = ["roles"]

NAME, TENANT = "jane.doe", "acme-boats"
ACME, JANE, BOT = Scope(TENANT), Scope(TENANT, user=NAME), Scope(TENANT, user=NAME, agent="coxswain")
OTHER = Scope("globex", user="ann")


def fill(index: Index) -> None:
    for name in (None, "side"):
        one = index if name is None else index.collection(name)
        for scope in (ACME, JANE, BOT, OTHER):
            one.upsert_many([{"id": f"m{i}", "text": f"oak {i}", "scope": scope} for i in range(3)])
            one.delete("m0", scope=scope)
    index.feedback("m1", scope=JANE, query="which oak?")
    index.admin.compact()


def names_in(index: Index, *names: str) -> bool:
    return not index.admin.verify_erased(names=names).clean


@pytest.mark.parametrize(("erased", "left"), [(JANE, [TENANT]), (ACME, [])])
def test_names_go_as_the_role_that_serves(roles: Roles, erased: Scope, left: list[str]) -> None:
    with Index.open(roles.url(roles.serve)) as index:
        fill(index)
        before = index.admin.stamp(JANE)
        n_events = len(index.admin.events())
        assert index.erase(erased, names=True) == (8 if erased == JANE else 12)
        index.admin.compact()
        assert not names_in(index, NAME, *([] if left else ["coxswain"]))
        assert all(names_in(index, name) for name in left) and names_in(index, "globex")
        events = index.admin.events()
        assert len(events) == n_events + (2 if erased == JANE else 3)
        gone = [event.scope for event in events if "erased-" in repr(event.scope)]
        assert len(gone) == (4 if erased == JANE else 6)
        assert len({scope.tenant for scope in gone}) == 1 and (gone[0].tenant == TENANT) == bool(left)
        assert len({scope.user for scope in gone if scope.user}) == 1, "they are known to be of one user"
        assert [scope.agent for scope in gone if scope.agent and left] == (["coxswain"] * 2 if left else [])
        for one in (index, index.collection("side")):
            assert one.admin.check().problems == []
            assert [hit.id for hit in one.search("oak", scope=JANE)] == (["m1", "m2"] if left else [])
            assert len(one.search("oak", scope=OTHER)) == 2
        # The same name later belongs to another user, whose versions do not start over.
        index.upsert("again", "an oak again", scope=JANE)
        assert [hit.id for hit in index.search("again", scope=JANE)] == ["again"]
        assert index.admin.stamp(JANE).version > before.version
    with Index.open(roles.url(roles.serve)) as index:
        assert index.admin.check().problems == []
        assert [hit.id for hit in index.search("again", scope=JANE)] == ["again"]


def test_erasing_twice_or_nobody_changes_nothing() -> None:
    with Index.open(new_url()) as index:
        fill(index)
        generation = store_of(index).identity().generation
        assert index.erase(Scope("nobody"), names=True) == 0
        assert store_of(index).identity().generation == generation
        assert index.erase(JANE, names=True) == 8
        events = index.admin.events()
        assert index.erase(JANE, names=True) == 0 and index.admin.events() == events
        assert store_of(index).identity().generation == generation + 1


def store_of(index: Index) -> Any:
    return Backend.of(index).engine.store  # type: ignore[union-attr]


def test_other_processes_read_everything_anew_within_max_stale() -> None:
    url = new_url()
    with Index.open(url) as index, Index.open(url, max_stale=0.5) as other:
        fill(index)
        for one in (other, other.collection("side")):
            assert len(one.search("oak", scope=JANE)) == 4 and len(one.search("oak", scope=OTHER)) == 2
        index.erase(JANE, names=True)
        time.sleep(0.6)
        for one in (other, other.collection("side")):
            assert {hit.scope for hit in one.search("oak", scope=JANE)} == {ACME}
            engine: Any = Backend.of(one).engine
            assert engine.native.count(JANE) == 2, "those of the tenant"
            assert len(one.search("oak", scope=OTHER)) == 2


def test_a_writer_that_waits_for_an_erasure_writes_afterwards() -> None:
    url = new_url()
    errors: list[BaseException] = []
    done = threading.Event()

    def write(number: int) -> None:
        try:
            with Index.open(url) as index:
                while not done.is_set():
                    index.upsert(f"w{number}", f"oak of writer {number}", scope=JANE)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    try:
        with Index.open(url) as index:
            for _ in range(12):
                index.erase(ACME, names=True)
                time.sleep(0.02)
    finally:
        done.set()
        for writer in writers:
            writer.join()
    assert errors == []
    with Index.open(url) as index:
        assert index.admin.check().problems == []
        index.erase(ACME, names=True)
        assert not names_in(index, TENANT, NAME) and index.admin.check().problems == []

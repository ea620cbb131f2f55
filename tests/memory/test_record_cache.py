"""A cached record must always equal the store's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index
from scrubjay.base.errors import ClosedError
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory
from scrubjay.memory.read import row_cache as module
from tests.memory.setting import JANE, Clock, address_of, lives, open_memory

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.scrubjay"


@pytest.fixture
def memory(path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(path, clock) as opened:
        yield opened


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The parameters of each query of rows: the owners, over a database, and the ids."""
    asked: list[list[str]] = []
    original = module.rows_where

    def counted(connection: Any, kind: str, condition: str, values: Any, **options: Any) -> Any:
        asked.append(list(values))
        return original(connection, kind, condition, values, **options)

    monkeypatch.setattr(module, "rows_where", counted)
    return asked


def records(memory: Memory, text: str = "Jane lives") -> list[Any]:
    return [hit.record for hit in memory.recall(text, JANE)]


CHANGES: dict[str, Callable[[Memory, str], object]] = {
    "revoked": lambda memory, id: memory.revoke(id, reason="r", scope=JANE),
    "deleted": lambda memory, id: memory.delete(id, scope=JANE),
    "forgotten": lambda memory, id: memory.forget("jane", "acme"),
    "updated": lambda memory, id: memory.update(id, scope=JANE, confidence=0.8),
    "used": lambda memory, id: memory.feedback(id, scope=JANE),
    "restated": lambda memory, id: lives(memory, "Oslo", evidence="so she said", value="Oslo"),
    "superseded": lambda memory, id: lives(memory, "Bern"),
}
"""Kind of change of a record -> function that makes it."""


@pytest.mark.parametrize("what", CHANGES)
def test_a_cached_record_shows_every_change_at_once(memory: Memory, what: str) -> None:
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    before = hit.record
    assert before is not None and before == hit.record
    CHANGES[what](memory, id)
    assert hit.record == memory.get(id, JANE) != before
    assert all(record != before for record in records(memory))


@pytest.mark.parametrize("what", CHANGES)
def test_changes_of_another_process_invalidate_cached_records(path: Path, clock: Clock, what: str) -> None:
    with open_memory(path, clock, max_stale=0) if _is_database(path) else open_memory(path, clock) as memory:
        id = lives(memory, "Oslo").id or ""
        hit = memory.recall("Jane lives in Oslo", JANE)[0]
        before = hit.record
        assert before == hit.record and before is not None
        code = (
            "import sys; from pathlib import Path; from tests.memory.setting import Clock, open_memory;"
            "from tests.memory.test_record_cache import CHANGES;"
            "memory = open_memory(Path(sys.argv[1]), Clock());"
            "CHANGES[sys.argv[2]](memory, sys.argv[3]); memory.close()"
        )
        subprocess.run([sys.executable, "-c", code, str(path), what, id], cwd=ROOT, check=True)
        assert hit.record == memory.get(id, JANE) != before


def _is_database(path: Path) -> bool:
    return address_of(path) != str(path)


def test_another_memory_over_the_same_index_is_another_writer(memory: Memory, clock: Clock) -> None:
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    assert hit.record is not None
    Memory(memory.index, clock=clock).revoke(id, reason="r", scope=JANE)
    assert hit.record is None


def test_another_index_on_the_file_in_this_process_is_another_writer(
    memory: Memory, path: Path, clock: Clock
) -> None:
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    assert hit.record is not None
    with open_memory(path, clock) as other:
        other.revoke(id, reason="r", scope=JANE)
    if not _is_database(path):  # where another index learns of it with a delay
        assert hit.record is None


def test_appending_to_a_trace_keeps_cached_records(memory: Memory, read: list[list[str]], store: str) -> None:
    id = lives(memory, "Oslo").id
    with memory.session(JANE, "r1") as session:
        for _ in range(3):
            session.user("Where do I live?")
            assert [record.id for record in records(memory)] == [id]
            session.assemble()
            session.model("In Oslo.")
    assert len(read) == (1 if store == "file" else 3)


def test_only_records_missing_from_the_cache_are_read(memory: Memory, read: list[list[str]]) -> None:
    oslo = lives(memory, "Oslo", single=False).id
    memory.propose("Jane lives well.", scope=JANE, source="r")
    first = memory.recall("Oslo", JANE, k=1)
    assert [hit.record.id for hit in first if hit.record] == [oslo] == read[0][-1:]
    assert len(records(memory)) == 2
    assert len(read) == 2 and len(read[0]) == len(read[1]) and oslo not in read[1]


def test_a_change_while_rows_are_read_is_not_missed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows read are from before the change, whenever it is committed."""
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    original = module.rows_where

    def changed(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(module, "rows_where", original)
        rows = list(original(*arguments, **options))
        memory.feedback(id, scope=JANE)
        return rows

    monkeypatch.setattr(module, "rows_where", changed)
    assert hit.record is not None and hit.record.uses == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_records_of_a_rolled_back_change_are_not_cached(memory: Memory, is_taken_back: bool) -> None:
    id = lives(memory, "Oslo").id or ""
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    seen: list[Any] = []

    def look(change: Any, outcomes: Any) -> None:
        seen.append(hit.record)
        if is_taken_back:
            raise ZeroDivisionError

    with suppress(ZeroDivisionError):
        memory.propose_all([("Jane sails.", JANE, "r")], also=look, revoke=[(id, JANE, "no")])
    assert len(seen) == 1 and (hit.record is None) == (not is_taken_back)


def test_a_record_can_be_changed_by_its_holder_alone(memory: Memory) -> None:
    memory.propose(FactCandidate("Jane lives here.", metadata=None), scope=JANE, source="r")
    memory.propose(
        FactCandidate("Jane lives there.", metadata={"a": [1]}, value={"b": [2]}), scope=JANE, source="r"
    )
    memory.propose(
        EpisodeCandidate("Jane lives on.", "success", artifacts=({"c": [3]},)), scope=JANE, source="r"
    )
    before = [repr(record) for record in records(memory)]
    assert len(before) == 3
    for record in records(memory):
        record.metadata.setdefault("a", []).append("mine")
        for held in (getattr(record, "value", None), *getattr(record, "artifacts", ())):
            if held is not None:
                held["d"] = "mine"
    assert [repr(record) for record in records(memory)] == before


def test_cached_records_begin_and_expire_with_the_clock(memory: Memory, clock: Clock) -> None:
    begins, ends = (clock.now + 5_000_000) / 1e6, (clock.now + 9_000_000) / 1e6
    memory.propose(
        FactCandidate("Jane lives in Rome", valid_from=begins, valid_until=ends), scope=JANE, source="r"
    )
    memory.propose(FactCandidate("Jane lives on air", ttl=7), scope=JANE, source="r")
    clock.now += 6_000_000
    found = memory.recall("Jane lives", JANE)
    assert len(found) == 2 and {hit.record.status for hit in found if hit.record} == {"active"}  # type: ignore[union-attr]
    clock.now += 2_000_000
    assert sorted(hit.text for hit in found if hit.record) == ["Jane lives in Rome"]
    clock.now += 2_000_000
    assert not any(hit.record for hit in found)
    clock.now -= 6_000_000  # set back
    assert [hit.record is not None for hit in found] == [hit.text.endswith("air") for hit in found]


def test_the_record_cache_is_bounded(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT", 4)
    memory.propose_all([(f"Jane lives with cat {n}.", JANE, "r") for n in range(10)])
    for n in range(10):
        found = memory.recall(f"cat {n}", JANE, k=1)
        assert found[0].record is not None and found[0].record.text == f"Jane lives with cat {n}."
        assert len(memory._parts.recall.kept._state.rows) <= 4


def test_erased_records_do_not_come_back(memory: Memory, path: Path) -> None:
    lives(memory, "Oslo")
    found = memory.recall("Jane lives in Oslo", JANE)
    assert found[0].record is not None
    memory.forget("jane", "acme")
    lives(memory, "Bern")
    assert found[0].record is None and records(memory)[0].content == "Jane lives in Bern"
    assert not any("Oslo" in repr(row) for row in memory._parts.recall.kept._state.rows.values())


def test_encrypted_records_are_not_cached(path: Path, store: str) -> None:
    if store != "file":
        pytest.skip("tenants are encrypted in files only")
    with open_memory(path, keys=lambda tenant: b"k" * 32) as memory:
        lives(memory, "Oslo")
        assert [record.content for record in records(memory)] == ["Jane lives in Oslo"]
        assert not memory._parts.recall.kept._state.rows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_use_its_parents_cache(memory: Memory) -> None:
    lives(memory, "Oslo")
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    assert hit.record is not None
    child = os.fork()
    if child == 0:
        try:
            hit.record  # noqa: B018 - raises
        except ClosedError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_closed_memory_gives_no_records(memory: Memory) -> None:
    lives(memory, "Oslo")
    hit = memory.recall("Jane lives in Oslo", JANE)[0]
    assert hit.record is not None
    memory.close()
    with pytest.raises(ClosedError):
        hit.record  # noqa: B018 - raises


def test_a_store_that_writes_something_else_is_noticed(path: Path, store: str) -> None:
    """A separate connection writes the notes."""
    if store != "file":
        pytest.skip("commits are not told apart in a database")
    with Index.open(path) as index, Memory(index) as memory:
        lives(memory, "Oslo")
        rows = memory._parts.context.store
        version = rows.rows_version()
        assert version is not None and rows.rows_version() == version
        memory.session(JANE, "r1").user("Hello")
        assert rows.rows_version() == version
        index.upsert("n1", "Hello", scope=JANE)
        assert rows.rows_version() != version
        with memory._parts.context.changing("testing"):
            assert rows.rows_version() is None

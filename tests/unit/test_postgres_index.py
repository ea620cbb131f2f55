"""An index in PostgreSQL answers as one in a file, bit for bit, and reports unsupported verbs."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from scrubjay import (
    AsyncIndex,
    ClosedError,
    Index,
    MissingExtraError,
    Query,
    Scope,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnavailableError,
    UnsupportedError,
    VersionConflictError,
)
from scrubjay.backend import Backend
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.store import PostgresStore
from tests.data.postgres import new_url
from tests.data.stores import superuser_rows

SCOPES = [Scope("acme"), Scope("acme", user="jane"), Scope("acme", agent="bot"), Scope("globex", user="jané")]
WORDS = ["oak", "jay", "acorn", "winter", "sk-stg-0041", "Zürich", "東京", "tr\0ain"]
JANE = SCOPES[1]


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index.open(url) as opened:
        yield opened


def store_of(index: Index) -> PostgresStore:
    store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
    assert isinstance(store, PostgresStore)
    return store


def workload(seed: int, n: int) -> list[Callable[[Index], Any]]:
    """Writes of every kind, the same for every index."""
    chance = random.Random(seed)
    steps: list[Callable[[Index], Any]] = []

    def record(i: int) -> dict[str, Any]:
        return {
            "id": f"m{chance.randrange(25)}",
            "text": " ".join(chance.choices(WORDS, k=chance.randrange(1, 9))),
            "scope": chance.choice(SCOPES),
            "metadata": {"n": i, "kind": chance.choice(["a", "b"])},
            "vector": None if chance.random() < 0.2 else [chance.uniform(-1, 1) for _ in range(4)],
        }

    for i in range(n):
        scope, id, kind = chance.choice(SCOPES), f"m{chance.randrange(25)}", chance.random()
        if kind < 0.5:
            records = [record(i) for _ in range(chance.choice([1, 1, 3, 40]))]
            steps.append(lambda index, records=records: index.upsert_many(records))
        elif kind < 0.65:
            steps.append(lambda index, id=id, scope=scope: index.delete(id, scope=scope))
        elif kind < 0.8:
            steps.append(
                lambda index, id=id, scope=scope, i=i: (
                    index.patch(id, scope=scope, metadata={"patched": i}) is not None
                )
            )
        elif kind < 0.9:
            steps.append(lambda index, scope=scope: index.delete_many(filter={"kind": "a"}, scope=scope))
        elif kind < 0.95:
            steps.append(lambda index, scope=scope: index.erase(scope, exact=True))
        else:
            steps.append(lambda index, scope=scope: len(index.search("oak jay", scope=scope)))
    return steps


def answers(index: Index) -> list[Any]:
    found: list[Any] = []
    for scope in (Scope("acme", user="jane", agent="bot"), *SCOPES):
        for text, vector in (
            ("oak", None),
            ("winter jay 東京", [0.3, -0.2, 0.9, 0.1]),
            ("sk-stg-0041", None),
        ):
            hits = index.search(text, scope=scope, vector=vector, k=20, explain=True)
            found.append(
                [(hit.id, hit.scope, hit.text, hit.metadata, hit.bm25, hit.similarity) for hit in hits]
            )
            found.append(hits.scores.tobytes())
        found.append([(one.id, one.scope) for one in index.list(scope)])
        found.append(index.count(scope, filter={"kind": "b"}))
        found.append(index.values("kind", scope=scope))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_same_bits_and_the_same_export_as_a_file(seed: int, url: str, tmp_path: Path) -> None:
    with Index.open(tmp_path / "m.scrubjay", durability="normal") as file, Index.open(url) as served:
        for step in workload(seed, 40):
            assert step(served) == step(file)
        assert answers(served) == answers(file)
        with Index.open(url) as cold:
            assert answers(cold) == answers(file)
        n = file.admin.export(tmp_path / "file.jsonl")
        assert served.admin.export(tmp_path / "served.jsonl") == n > 0
        assert (tmp_path / "served.jsonl").read_bytes() == (tmp_path / "file.jsonl").read_bytes()
        assert served.admin.compact() >= 0
        assert served.admin.check().problems == []
        events = [(event.reason, event.scope, event.documents) for event in file.admin.events()]
        assert [(event.reason, event.scope, event.documents) for event in served.admin.events()] == events
    with Index.open(url) as again:  # from the images that compact wrote
        assert again.admin.check().images > 0
        with Index.open(tmp_path / "m.scrubjay") as file:
            assert answers(again) == answers(file)


def test_an_export_comes_back(url: str, tmp_path: Path) -> None:
    with Index.open(url) as first:
        for step in workload(9, 20):
            step(first)
        n = first.admin.export(tmp_path / "one.jsonl")
    with Index.open(new_url()) as second:
        assert second.admin.import_(tmp_path / "one.jsonl") == n
        second.admin.export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


class TestOthers:
    def test_writes_of_another_process_are_found_within_max_stale(self, url: str) -> None:
        with Index.open(url, max_stale=0.4) as reader, Index.open(url) as writer:
            for i in range(5):
                assert len(reader.search("oak", scope=JANE, k=50)) == i
                writer.upsert(i, "oak", scope=JANE)
                written = time.monotonic()
                while len(reader.search("oak", scope=JANE, k=50)) == i:
                    assert time.monotonic() - written < 5
                    time.sleep(0.005)

    def test_with_zero_every_search_asks(self, url: str) -> None:
        with Index.open(url, max_stale=0) as reader, Index.open(url, max_stale=0) as writer:
            for i in range(30):
                writer.upsert(i, "oak", scope=JANE)
                assert len(reader.search("oak", scope=JANE, k=50)) == i + 1
            writer.delete(3, scope=JANE)
            writer.erase(Scope("acme", user="joe"))
            assert {hit.id for hit in reader.search("oak", scope=JANE, k=50)} == {*range(30)} - {3}
            writer.erase(JANE)
            assert len(reader.search("oak", scope=JANE)) == 0

    def test_an_erasure_everywhere_is_seen_by_other_collections(self, url: str) -> None:
        with Index.open(url, max_stale=0) as reader, Index.open(url) as writer:
            reader.collection("traces").upsert("m", "oak", scope=JANE)
            assert writer.erase(JANE, everywhere=True) == 1
            assert len(reader.collection("traces").search("oak", scope=JANE)) == 0

    def test_versions_are_conditions(self, url: str) -> None:
        with Index.open(url) as one, Index.open(url) as two:
            one.upsert("m", "oak", scope=JANE)
            seen = two.get("m", scope=JANE)
            assert seen is not None
            one.upsert("m", "jay", scope=JANE, version=seen.version)
            with pytest.raises(VersionConflictError):
                two.upsert("m", "acorn", scope=JANE, version=seen.version)
            with pytest.raises(VersionConflictError):
                two.upsert("m", "acorn", scope=JANE, version=0)
            found = two.get("m", scope=JANE)
            assert found is not None and found.text == "jay"

    def test_a_writer_waits_for_another_of_its_tenant_only(self, url: str) -> None:
        with Index.open(url) as one, Index.open(url, busy_timeout=0.3) as two:
            one.upsert("m", "oak", scope=JANE)
            with Backend.of(one).changing("holding") as change:
                change.delete(["m"], scope=JANE, reason="later")
                two.upsert("m", "oak", scope=Scope("globex"))
                with pytest.raises(StoreBusyError, match="busy_timeout"):
                    two.upsert("n", "oak", scope=Scope("acme", user="jane", agent="bot"))
            two.upsert("n", "oak", scope=Scope("acme"))
            assert one.get("m", scope=JANE) is None

    def test_a_change_that_fails_leaves_nothing(self, index: Index) -> None:
        index.upsert("m", "oak", scope=JANE)

        def fail() -> None:
            with Backend.of(index).changing("failing") as change:
                change.upsert(["n"], ["jay"], scopes=[JANE], vectors=[None], payloads=[None])
                change.delete(["m"], scope=JANE, reason="gone")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert [hit.id for hit in index.search("oak jay", scope=JANE)] == ["m"]
        assert index.admin.events() == []
        assert index.admin.check().clean


def statements(index: Index, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the statements from now on."""
    recorded: list[str] = []
    ask = Batch.ask_each

    def counted(batch: Batch, given: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():  # not the feed's
            recorded.extend(query for _, (query, _) in given)
        return ask(batch, given, **options)

    monkeypatch.setattr(Batch, "ask_each", counted)
    return recorded


OPENER = """
import sys
from scrubjay import Index
print("ready", flush=True)
sys.stdin.readline()
Index.open(sys.argv[1]).close()
"""


def test_processes_that_open_an_empty_database_at_once(url: str) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for opener in openers:
        assert opener.stdout is not None and opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    assert [opener.communicate(timeout=60)[1] for opener in openers] == [""] * 6


class TestWarm:
    def test_a_search_of_a_warmed_scope_sends_no_statement(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Index.open(url) as first:
            for step in workload(3, 20):
                step(first)
        with Index.open(url, max_stale=60) as index:
            told = statements(index, monkeypatch)
            n = index.admin.warm(SCOPES)
            assert n == sum(index.count(scope) for scope in SCOPES) > 0
            assert told != []
            told.clear()
            for scope in SCOPES:
                index.search("oak jay", scope=scope)
            assert told == []
            with pytest.raises((TypeError, ValueError), match="scope"):
                index.admin.warm("acme")  # type: ignore[arg-type]

    def test_warm_works_from_an_event_loop(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async def warmed() -> int:
            async with await AsyncIndex.open(url) as index:
                await index.upsert("m", "oak", scope=JANE)
                return await index.admin.warm([JANE, Scope("globex")])

        assert asyncio.run(warmed()) == 1

    def test_warm_without_the_server_is_store_unavailable(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Index.open(url) as index:
            monkeypatch.setattr(store_of(index).server, "take", _away)
            with pytest.raises(StoreUnavailableError):
                index.admin.warm([JANE])


def _away(**options: Any) -> Any:
    raise StoreUnavailableError("away")


class TestWhatItCannotDo:
    @pytest.mark.parametrize(
        ("verb", "call"),
        [
            ("backup", lambda index, path: index.admin.backup(path / "copy")),
            ("tables beside the documents", lambda index, path: Backend.of(index).store),
        ],
    )
    def test_a_verb_that_needs_a_file_says_so(
        self, index: Index, tmp_path: Path, verb: str, call: Callable[[Index, Path], Any]
    ) -> None:
        index.upsert("m", "oak", scope=JANE)
        with pytest.raises(UnsupportedError, match=verb) as raised:
            call(index, tmp_path)
        assert raised.value.verb.startswith(verb) and "password" not in raised.value.place
        found = index.get("m", scope=JANE)
        assert found is not None and found.text == "oak"  # nothing was changed
        assert index.admin.check().clean

    def test_names_with_nul_are_refused_by_writes_and_found_by_no_read(self, index: Index) -> None:
        odd = Scope("ac\0me")
        with pytest.raises(ValueError, match=r"scope: .*NUL"):
            index.upsert("m", "oak", scope=odd)
        assert len(index.search("oak", scope=odd)) == index.count(odd) == index.erase(odd) == 0
        assert index.get("m", scope=odd) is None and index.list(odd) == []
        assert not index.delete("m", scope=odd)


class TestErrors:
    def test_an_address_that_cannot_be_read(self) -> None:
        with pytest.raises(StoreFormatError, match=r"path: expected postgresql://"):
            Index.open("postgresql://u:secret@host:port:port/x?y")

    def test_no_password_in_a_message(self) -> None:
        for url in ("postgresql://u:secret@[::1/x", "postgresql://u:secret@127.0.0.1:1/x"):
            with pytest.raises(StoreError) as raised:
                Index.open(url)
            assert "secret" not in str(raised.value)

    def test_an_unreachable_server_is_store_unavailable(self) -> None:
        with pytest.raises(StoreUnavailableError, match=r"connecting: .* 127.0.0.1:1|connecting: .*refused"):
            Index.open("postgresql://u@127.0.0.1:1/x")

    def test_a_missing_database_is_a_store_error_with_the_remedy(self, url: str) -> None:
        with pytest.raises(StoreError, match="createdb"):
            Index.open(url.replace("/postgres?", "/nowhere?"))

    def test_an_unknown_user_is_a_store_error(self, url: str) -> None:
        with pytest.raises(StoreError, match="refuses this user"):
            Index.open(url.replace("app@", "nobody_at_all@"))

    def test_missing_rights_are_a_store_error_with_the_grant(self, url: str) -> None:
        role = f"r{random.randrange(10**9)}"
        superuser_rows(url, f"CREATE ROLE {role} LOGIN")
        own = url.replace("app@", f"{role}@")
        with pytest.raises(StoreError, match=r"the schema does not exist|lacks a right: GRANT"):
            Index.open(own)
        (name,) = superuser_rows(url, "SELECT current_schema()")[0]
        superuser_rows(url, f"GRANT USAGE ON SCHEMA {name} TO {role}")
        with pytest.raises(StoreError, match="lacks a right: GRANT"):
            Index.open(own)
        Index.open(url).close()
        with pytest.raises(StoreError, match="lacks a right: GRANT"):
            Index.open(own)
        superuser_rows(url, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {role}")
        with Index.open(own) as served:
            served.upsert("m", "oak", scope=JANE)
            assert len(served.search("oak", scope=JANE)) == 1

    def test_a_missing_schema_is_a_store_error_with_the_remedy(self, url: str) -> None:
        with pytest.raises(StoreError, match="CREATE SCHEMA"):
            Index.open(url.rpartition("%3D")[0] + "%3Dnowhere")

    def test_a_newer_format(self, url: str) -> None:
        Index.open(url).close()
        superuser_rows(url, "UPDATE sj_schema SET version = %s", schema.VERSION + 1)
        with pytest.raises(StoreFormatError, match="newer Scrubjay"):
            Index.open(url)

    def test_other_dim_or_metric_than_the_databases_is_refused(self, url: str) -> None:
        Index.open(url, dim=3).close()
        with pytest.raises(StoreFormatError, match="dim"):
            Index.open(url, dim=4)
        with pytest.raises(StoreFormatError, match="metric"):
            Index.open(url, metric="l2")

    def test_a_read_only_index_needs_existing_tables_and_refuses_writes(self, url: str) -> None:
        with pytest.raises(StoreFormatError, match="once for writing"):
            Index.open(url, read_only=True)
        with Index.open(url) as index:
            index.upsert("m", "oak", scope=JANE)
        with Index.open(url, read_only=True) as reader:
            assert len(reader.search("oak", scope=JANE)) == 1
            with pytest.raises(StoreError, match="reading only"):
                reader.upsert("n", "oak", scope=JANE)
            with pytest.raises(StoreFormatError, match="there is no 'x'"):
                reader.collection("x")

    def test_a_missing_psycopg_is_named_with_its_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtraError, match=r"scrubjay\[postgres\]"):
            Index.open("postgresql://localhost/x")

    def test_an_invalid_max_stale_is_refused(self) -> None:
        for wrong in (-1, True, "1", 1e9):
            with pytest.raises(ValueError, match="max_stale"):
                Index.open("postgresql://localhost/x", max_stale=wrong)  # type: ignore[arg-type]

    def test_a_closed_index_raises_closed_error(self, url: str) -> None:
        index = Index.open(url)
        index.upsert("m", "oak", scope=JANE)
        index.close()
        index.close()
        for call in (lambda: index.search("oak", scope=JANE), lambda: index.upsert("n", "oak", scope=JANE)):
            with pytest.raises(ClosedError):
                call()


class TestTables:
    """The requirements of a server that shards by `home` for the tables."""

    def test_home_begins_every_key(self, index: Index, url: str) -> None:
        found = superuser_rows(
            url,
            "SELECT c.relname, i.indexrelid::regclass::text, a.attname FROM pg_index i JOIN pg_class c ON c.oid = "
            "i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
            "WHERE c.relnamespace = current_schema()::regnamespace AND (i.indisunique OR i.indisprimary)",
        )
        assert {table for table, *_ in found} >= {*schema.TABLES, "sj_home"}
        small = {"sj_schema", "sj_collection"}  # whole on every server
        assert {(table, column) for table, _, column in found if table not in small} == {
            (table, "home") for table in (*schema.TABLES, "sj_home", "sj_user_key")
        }

    def test_no_trigger_sequence_or_computed_default(self, index: Index, url: str) -> None:
        here = "= current_schema()::regnamespace"
        assert (
            superuser_rows(url, f"SELECT 1 FROM pg_class WHERE relkind = 'S' AND relnamespace {here}") == []
        )
        triggers = (
            f"SELECT 1 FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace {here}"
        )
        assert superuser_rows(url, triggers) == []
        # A constant lets processes of the previous version write beside those of this one.
        defaults = (
            "SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid "
            f"WHERE c.relnamespace {here}"
        )
        assert {expression for (expression,) in superuser_rows(url, defaults)} <= {"0"}

    def test_damage_is_found(self, index: Index, url: str) -> None:
        index.upsert_many([{"id": f"m{i}", "text": f"oak {i}", "scope": JANE} for i in range(5)])
        superuser_rows(url, "UPDATE sj_document SET text = %s WHERE id = %s", b"forged", b"m1")
        superuser_rows(url, "UPDATE sj_scope SET documents = 9")
        problems = " ".join(index.admin.check().problems)
        assert "m1" in problems and "count of documents" in problems
        with pytest.raises(Exception, match="not what was written"):
            index.get("m1", scope=JANE)

    def test_an_image_that_is_damaged_is_not_used(self, index: Index, url: str) -> None:
        index.upsert_many([{"id": f"m{i}", "text": f"oak {i}", "scope": JANE} for i in range(50)])
        index.admin.compact()
        assert superuser_rows(url, "SELECT count(*) FROM sj_image") == [(1,)]
        superuser_rows(
            url, "UPDATE sj_image SET data = overlay(data PLACING %s FROM 200)", b"\0\1\2\3\4\5\6\7"
        )
        with Index.open(url) as cold:
            assert len(cold.search("oak", scope=JANE, k=100, query=Query(mode="lexical"))) == 50

    def test_an_index_is_in_the_schema_that_the_address_names(self, url: str) -> None:
        other = new_url()
        with Index.open(url) as one, Index.open(other) as two:
            one.upsert("m", "oak", scope=JANE)
            assert len(two.search("oak", scope=JANE)) == 0 and len(two) == 0
            assert store_of(one).lineage() != store_of(two).lineage()
            assert (
                repr(one).startswith("<scrubjay.Index 1 memory") and quote("oak") not in store_of(one).place
            )

"""Users of a tenant in their own homes: written concurrently, found, erased and encrypted as without homes."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import (
    ClosedError,
    CorruptIndexError,
    EncryptionError,
    HeldError,
    Index,
    Memory,
    Scope,
    StoreBusyError,
    StoreFormatError,
)
from scrubjay.backend import Backend
from scrubjay.cli import main
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.home_locks import Turns
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.row_security import EVERY_HOME
from tests.data.postgres import as_superuser, new_url
from tests.data.routed_databases import route, server_of
from tests.data.stores import superuser_rows
from tests.long.citus import plan
from tests.unit.test_postgres_index import SCOPES, answers, workload

psycopg = pytest.importorskip("psycopg")

ACME = Scope("acme")
NAMES = st.text("a#1", min_size=1, max_size=6)
USERS = [f"user-{i}" for i in range(24)]


@pytest.fixture
def url() -> str:
    return new_url()


def store_of(index: Index) -> Any:
    return Backend.of(index).engine.store  # type: ignore[union-attr]


def homes_of(url: str, table: str) -> set[str]:
    return {home for (home,) in superuser_rows(url, f"SELECT DISTINCT home FROM {table}")}


def users_of(homes: Homes, home: str) -> list[str]:
    return [user for user in USERS if homes.of_user("acme", user) == home]


class TestNames:
    @given(st.lists(NAMES, min_size=2, max_size=2, unique=True), st.integers(1, 20))
    @example(["a", "a#1"], 3)
    @example(["a", "a#"], 20)
    @example(["a#", "a##1"], 2)
    def test_no_two_tenants_have_a_home_in_common(self, tenants: list[str], n: int) -> None:
        homes = Homes(n)
        first, second = (homes.all(tenant) for tenant in tenants)
        assert not set(first) & set(second)
        assert len(set(first)) == n + 1 and first[0] == min(first)
        for tenant, all_of in zip(tenants, (first, second), strict=True):
            assert {homes.tenant(home) for home in all_of} == {tenant}
            assert [home for home in all_of if homes.is_own(home)] == [homes.own(tenant)]
            assert homes.of_user(tenant, "jane") in all_of[1:] and homes.of(Scope(tenant)) == all_of[0]

    @given(NAMES)
    def test_without_buckets_a_home_is_a_tenant(self, tenant: str) -> None:
        homes = Homes()
        assert homes.all(tenant) == [tenant] == [homes.of(Scope(tenant, user="jane"))]
        assert homes.tenant(tenant) == tenant and homes.is_own(tenant)

    def test_users_are_spread_evenly_over_homes(self) -> None:
        found = [Homes(64).of_user("acme", f"user {i}") for i in range(6400)]
        counts = [found.count(home) for home in Homes(64).all("acme")[1:]]
        assert min(counts) > 50 and max(counts) < 160


class TestOpening:
    def test_the_number_is_that_of_the_database(self, url: str) -> None:
        with Index.open(url, user_homes=5) as index:
            index.upsert("m", "oak", scope=Scope("acme", user="jane"))
        for given_again in (5, None):
            with Index.open(url, user_homes=given_again) as index:
                assert store_of(index).homes == Homes(5)
        for other in (0, 6):
            with pytest.raises(StoreFormatError, match=r"expected 5, .* got \d; `scrubjay copy --user-homes"):
                Index.open(url, user_homes=other)
        assert homes_of(url, "sj_document") == {Homes(5).of_user("acme", "jane")}

    def test_without_it_a_tenant_is_one_home(self, url: str) -> None:
        with Index.open(url, user_homes=0) as index:
            index.upsert("m", "oak", scope=Scope("a#1", user="jane"))
        assert homes_of(url, "sj_document") == {"a#1"}

    def test_every_table_is_distributed_or_whole_everywhere(self, url: str) -> None:
        """What `tests/long/citus.py` does on a Citus, which accepts only keys that begin with the home."""
        Memory.open(url, user_homes=2).close()
        with psycopg.connect(as_superuser(url)) as connection:
            statements = plan(connection)
        whole = [one for one in statements if "create_reference_table" in one]
        assert [one.split("'")[1] for one in whole] == ["sj_collection", "sj_memory_schema", "sj_schema"]
        spread = [one.split("'")[1] for one in statements if "create_distributed_table" in one]
        assert spread[0] == "sj_home" and {*schema.TABLES, "sj_user_key", "sj_memory_fact"} <= set(spread)
        tables = superuser_rows(url, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
        assert tables == [(len(statements),)]
        keys = superuser_rows(
            url,
            "SELECT c.relname::text, a.attname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE i.indisunique "
            "AND c.relnamespace = current_schema()::regnamespace",
        )
        assert {column for table, column in keys if table in spread} == {"home"}
        collations = superuser_rows(
            url,
            "SELECT count(DISTINCT (atttypid, attcollation)) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            "WHERE a.attname = 'home' AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace",
        )
        assert collations == [(1,)]  # or they cannot be colocated

    def test_an_invalid_number_of_homes_is_refused(self, url: str, tmp_path: Path) -> None:
        for bad, error in ((-1, ValueError), (4097, ValueError), (True, TypeError), ("8", TypeError)):
            with pytest.raises(error, match="user_homes: expected"):
                Index.open(url, user_homes=bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="user_homes: expected None for an index in a file"):
            Index.open(tmp_path / "a.scrubjay", user_homes=4)
        assert not list(tmp_path.iterdir())

    def test_tables_of_version_6_go_on_without_buckets(self, url: str) -> None:
        with Index.open(url, user_homes=0) as index:
            index.upsert("m", "oak", scope=Scope("acme", user="jane"))
        superuser_rows(url, "ALTER TABLE sj_schema DROP user_homes")
        superuser_rows(url, "DROP TABLE sj_cold")
        superuser_rows(url, "ALTER TABLE sj_scope DROP cold, DROP used")
        superuser_rows(url, "UPDATE sj_schema SET version = 6")
        with pytest.raises(StoreFormatError, match="user_homes: expected 0"):
            Index.open(url, user_homes=4)
        with Index.open(url) as index:
            assert store_of(index).homes == Homes(0)
            assert len(index.search("oak", scope=Scope("acme", user="jane"))) == 1
            assert index.admin.check().problems == []

    def test_a_changed_number_of_homes_is_reported(self, url: str) -> None:
        with Index.open(url, user_homes=4) as index:
            index.upsert_many(
                {"id": user, "text": "oak", "scope": Scope("acme", user=user)} for user in USERS
            )
        superuser_rows(url, "UPDATE sj_schema SET user_homes = 3")
        with Index.open(url) as index:
            assert any("expected the home 'acme#" in problem for problem in index.admin.check().problems)
        superuser_rows(url, "UPDATE sj_schema SET user_homes = -1")
        with pytest.raises(CorruptIndexError, match="user_homes"):
            Index.open(url)

    def test_a_copy_moves_everything(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        with Index.open(url, user_homes=0) as index:
            fill(index)
            wanted = {
                scope: [hit.id for hit in index.search("oak", scope=scope, k=50)] for scope in index.scopes()
            }
        targets = [new_url(), new_url()]
        for source, target, n in ((url, targets[0], 8), (targets[0], targets[1], 3)):
            assert main(["copy", source, target, "--user-homes", str(n), "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["written"] == len(USERS) * 2 + 1
            with Index.open(target, user_homes=n) as index:
                found = {
                    scope: [hit.id for hit in index.search("oak", scope=scope, k=50)]
                    for scope in index.scopes()
                }
                assert found == wanted and index.admin.check().problems == []
        assert main(["copy", url, "a.scrubjay", "--user-homes", "3"]) == 2
        assert "expected a database" in capsys.readouterr().err


def fill(index: Index) -> None:
    index.upsert("shared", "an oak of all", scope=ACME)
    records = [
        {"id": f"{user} {i}", "text": f"oak {i}", "scope": Scope("acme", user=user)}
        for user in USERS
        for i in (0, 1)
    ]
    index.upsert_many(records)


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index.open(url, user_homes=4, max_stale=0) as index:
        fill(index)
        yield index


def test_a_closed_collection_answers_no_question_about_several_homes(url: str) -> None:
    jane, joe = Scope("acme", user=USERS[0]), Scope("acme", user=USERS[1])
    with Index.open(url, user_homes=97) as index:
        homes = store_of(index).homes
        assert homes.of(jane) != homes.of(joe)
        side = index.collection("side")
        side.upsert("s", "oak", scope=jane)
        store = store_of(side)
        assert [state is not None for state in store.scope_states([jane, joe])] == [True, False]
        side.close()
        with pytest.raises(ClosedError):
            store.scope_states([jane])
        with pytest.raises(ClosedError):
            store.scope_states([jane, joe])
        assert index.count(scope=jane) == 0  # the index itself is open


class TestReading:
    def test_verbs_on_a_whole_tenant_reach_all_its_homes(self, index: Index, url: str) -> None:
        scopes = [ACME, *(Scope("acme", user=user) for user in sorted(USERS))]
        assert homes_of(url, "sj_document") == set(Homes(4).all("acme"))
        assert sorted(index.scopes(ACME)) == sorted(scopes) and index.count(ACME) == 1
        assert len(index) == sum(index.count(scope) for scope in scopes) - len(USERS) == len(USERS) * 2 + 1
        jane = Scope("acme", user=USERS[3])
        assert (
            index.get("shared", scope=jane) is not None and index.get(f"{USERS[3]} 0", scope=jane) is not None
        )
        assert [one.id for one in index.list(jane)] == [f"{USERS[3]} 1", f"{USERS[3]} 0", "shared"]
        found = index.search("oak", scope=jane, k=100)
        assert sorted(hit.id for hit in found) == ["shared", f"{USERS[3]} 0", f"{USERS[3]} 1"]

    def test_pages_of_scopes(self, index: Index) -> None:
        index.upsert("n", "oak", scope=Scope("acme", user=USERS[0], agent="bot"))
        index.upsert("n", "oak", scope=Scope("acme0"))
        store = store_of(index)
        every = sorted(store.living_scopes(ACME, now=0))
        assert len(every) == len(USERS) + 2
        for size in (1, 3, 40):
            pages: list[Scope] = []
            while page := store.living_scopes(ACME, now=0, after=pages[-1] if pages else None, limit=size):
                pages += page
            assert pages == every
        some = store.living_scopes(ACME, now=0, users=("user-1", "user-2"), limit=4)
        assert [scope.user for scope in some] == sorted(user for user in USERS if user[:6] == "user-1")[:4]


class TestTurns:
    def test_users_of_other_homes_do_not_wait(self, index: Index, url: str) -> None:
        homes = store_of(index).homes
        mine = users_of(homes, homes.all("acme")[1])
        other = users_of(homes, homes.all("acme")[2])[0]
        with Index.open(url, busy_timeout=0.05) as second:
            with store_of(index).writing("writing", scopes=[Scope("acme", user=mine[0])]):
                second.upsert("x", "oak", scope=Scope("acme", user=other))
                second.upsert("x", "oak", scope=ACME)
                with pytest.raises(StoreBusyError):
                    second.upsert("x", "oak", scope=Scope("acme", user=mine[1]))
            second.upsert("x", "oak", scope=Scope("acme", user=mine[1]))

    def test_writes_to_many_homes_in_any_order_lose_nothing(self, url: str) -> None:
        """Even if a home was never written to before."""
        failed: list[BaseException] = []

        def write(index: Index, number: int) -> None:
            rng = random.Random(number)
            try:
                for step in range(12):
                    users = rng.sample(USERS, 6)
                    index.upsert_many(
                        {"id": f"{number} {step} {user}", "text": "oak", "scope": Scope("acme", user=user)}
                        for user in users
                    )
            except BaseException as error:  # noqa: BLE001 - shown below
                failed.append(error)

        with Index.open(url, user_homes=7) as one, Index.open(url) as two:
            threads = [
                threading.Thread(target=write, args=(index, i))
                for i, index in enumerate((one, two, one, two))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            assert len(two) == 4 * 12 * 6 and one.admin.check().problems == []

    def test_transactions_that_take_homes_in_their_own_orders_do_not_wait_for_each_other(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Batches take the homes of two tenants at once; a memory takes the tenants' own first, and those of users as
        it discovers them; an erasure takes all of a tenant; a single write takes one."""
        failed: list[BaseException] = []
        read = Turns._read

        def read_slowly(self: Turns, home: str, scopes: Any) -> None:
            read(self, home, scopes)
            time.sleep(0.005)  # during which others take the next home

        monkeypatch.setattr(Turns, "_read", read_slowly)

        def take(store: Any, number: int) -> None:
            rng = random.Random(number)
            try:
                for _ in range(40):
                    scopes = [
                        Scope(rng.choice(["acme", "globex"]), user=user) for user in rng.sample(USERS, 8)
                    ]
                    kind = rng.choice(["batch", "batch", "memory", "memory", "tenant", "one"])
                    at_once = {"batch": scopes, "one": scopes[:1]}.get(kind, [])
                    with store.writing("writing", scopes=at_once) as transaction:
                        if kind == "memory":
                            transaction.lock({scope.tenant for scope in scopes})
                            for scope in scopes:
                                transaction.lock_scopes([scope])
                        elif kind == "tenant":
                            transaction.lock_tenant(scopes[0].tenant)
            except BaseException as error:  # noqa: BLE001 - shown below
                failed.append(error)

        with Index.open(url, user_homes=5) as one, Index.open(url) as two:
            threads = [
                threading.Thread(target=take, args=(store_of(index), i))
                for i, index in enumerate((one, two, one, two, one))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert failed == []


class TestWalls:
    def test_every_statement_names_one_home(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A statement restricted to a home sees only the home that its parameters name; an unrestricted one reads
        all."""
        sent: list[tuple[Any, str, Any]] = []
        names: dict[str, Any] = {"ask_each": Batch.ask_each, "add": Batch.add, "run": Batch.run}

        def ask_each(batch: Batch, statements: Any, **options: Any) -> Any:
            sent.extend((home, *statement) for home, statement in statements)
            return names["ask_each"](batch, statements, **options)

        def add(batch: Batch, query: str, parameters: Any = (), **options: Any) -> None:
            sent.append((options.get("home", ""), query, parameters))
            names["add"](batch, query, parameters, **options)

        def run(batch: Batch, query: str, parameters: Any, *, home: Any) -> Any:
            sent.append((home, query, parameters))
            return names["run"](batch, query, parameters, home=home)

        for name, method in (("ask_each", ask_each), ("add", add), ("run", run)):
            monkeypatch.setattr(Batch, name, method)
        homes = Homes(4)
        with Index.open(url, user_homes=4, max_stale=0) as index:
            fill(index)
            verbs(index)
        buckets = {home for tenant in ("acme", "acme 2") for home in homes.all(tenant)[1:]}
        n_about_one = 0
        for home, query, parameters in sent:
            values = parameters.values() if isinstance(parameters, dict) else parameters
            named = {value for value in values if isinstance(value, str) and value in buckets}
            if home is EVERY_HOME:
                assert query.startswith(("SELECT", "WITH")) and not named, query
            else:
                assert named <= {home}, (home, query)
                n_about_one += bool(named)
                if not homes.is_own(home) and query != "COMMIT":
                    assert (
                        " home = " in query or ".home = " in query or "INSERT" in query or "SET" in query
                    ), query
        assert n_about_one > 100

    def test_a_statement_that_forgets_its_home_sees_one(self, index: Index, url: str) -> None:
        store, forgetful = store_of(index), "SELECT DISTINCT home FROM sj_document"
        every = store.homes.all("acme")
        for home in every:
            assert store.ask(forgetful, home=home) == [(home,)]
        assert store.ask(forgetful) == []
        with store.writing("writing", scopes=[Scope("acme", user=USERS[0])]) as transaction:
            home = store.homes.of_user("acme", USERS[0])
            assert transaction.batch.ask("DELETE FROM sj_document RETURNING home", home=home) != []
            transaction.batch.add("DELETE FROM sj_document")
            transaction.flush()
            left = superuser_rows(url, "SELECT count(*) FROM sj_document")
            transaction.roll_back()
            transaction.committed = True
        assert left == [(len(USERS) * 2 + 1,)] and homes_of(url, "sj_document") == set(every)


def verbs(index: Index) -> None:
    """Every verb of an index that writes, or concerns a whole tenant."""
    jane = Scope("acme", user=USERS[0])
    index.feedback(index.search("oak", scope=jane)[0], scope=jane, used=True)
    index.patch(f"{USERS[0]} 1", scope=jane, metadata={"a": 1})
    index.upsert("late", "oak", scope=jane, expires_at="2001-01-01T00:00:00Z")
    assert index.admin.sweep(ACME) == 1
    index.delete(f"{USERS[1]} 1", scope=Scope("acme", user=USERS[1]))
    index.collection("notes").upsert("n", "oak", scope=jane)
    index.admin.compact()
    assert index.scopes(ACME) and index.count(ACME) and index.admin.feedbacks(ACME)
    index.erase(jane, everywhere=True)
    index.erase(Scope("acme", user=USERS[2]), names=True)
    index.upsert("x", "oak", scope=Scope("acme 2", user=USERS[3]))
    index.erase(Scope("acme 2"), names=True)
    assert index.admin.check().problems == []
    index.admin.drop_collection("notes")
    index.erase(ACME)


class TestErasing:
    def test_erasing_a_user_leaves_others_in_its_home(self, index: Index, url: str) -> None:
        homes = store_of(index).homes
        jane, joe = users_of(homes, homes.of_user("acme", USERS[0]))[:2]  # in one home
        scope = Scope("acme", user=jane)
        for user in (jane, joe):  # feedback on shared memories is in the tenant's own home
            index.feedback("shared", query=f"what does {user} ask?", scope=Scope("acme", user=user))
            index.feedback(f"{user} 0", query=f"what does {user} ask?", scope=Scope("acme", user=user))
        index.admin.compact()
        assert {note.scope.user for note in index.admin.feedbacks(ACME)} == {jane, joe}
        assert len(index.admin.feedbacks(scope)) == 2
        assert index.erase(scope) == 2
        assert index.admin.feedbacks(scope) == []
        assert len(index.admin.feedbacks(ACME)) == 2
        assert index.admin.verify_erased([f"what does {jane} ask?", f"{jane} 0"]).clean
        assert len(index.search("oak", scope=Scope("acme", user=joe))) == 3
        assert index.admin.check().problems == []
        assert superuser_rows(
            url, "SELECT count(*) FROM sj_image i JOIN sj_scope s ON s.key = i.scope WHERE s.usr = %s", jane
        ) == [(0,)]

    @pytest.mark.parametrize("names", [False, True])
    def test_erasing_a_tenant_covers_its_homes_and_no_look_alike(
        self, index: Index, url: str, names: bool
    ) -> None:
        neighbour = Scope("acme#1")  # its name looks like a home of acme
        index.upsert("n", "oak", scope=neighbour)
        index.upsert("n", "oak", scope=Scope("acme#1", user=USERS[0]))
        index.feedback("shared", query="which oak?", scope=Scope("acme", user=USERS[5]))
        assert index.erase(ACME, names=names) == len(USERS) * 2 + 1
        assert len(index) == 2 and index.scopes(ACME) == []
        of_acme = set(Homes(4).all("acme"))
        for table in (
            "sj_document",
            "sj_tombstone",
            "sj_image",
            "sj_feedback",
            *(("sj_home", "sj_scope") if names else ()),
        ):
            assert not homes_of(url, table) & of_acme, table
        if names:  # the neighbour has the first one
            assert index.admin.verify_erased(USERS[1:]).clean
        assert len(index.search("oak", scope=Scope("acme#1", user=USERS[0]))) == 2
        index.upsert("again", "oak", scope=Scope("acme", user=USERS[0]))
        assert len(index.search("oak", scope=Scope("acme", user=USERS[0]))) == 1
        assert index.admin.check().problems == []

    def test_erasing_an_agent_covers_every_home(self, index: Index) -> None:
        for user in USERS[:6]:
            index.upsert("n", "oak of a bot", scope=Scope("acme", user=user, agent="bot"))
        assert index.erase(Scope("acme", agent="bot")) == 6
        assert len(index) == len(USERS) * 2 + 1


def key_of(tenant: str) -> bytes | None:
    return b"0123456789abcdef" if tenant == "acme" else None


class TestKeys:
    def test_a_tenant_has_one_key_in_all_homes(self, url: str) -> None:
        pytest.importorskip("cryptography")
        indexes = [Index.open(url, user_homes=4, keys=key_of) for _ in range(4)]
        barrier, failed = threading.Barrier(4), []

        def write(number: int) -> None:
            try:
                barrier.wait(60)
                for user in USERS[number::4]:
                    indexes[number].upsert("m", f"secret oak of {user}", scope=Scope("acme", user=user))
            except BaseException as error:  # noqa: BLE001 - shown below
                failed.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        keys = superuser_rows(url, "SELECT DISTINCT key_id, key_wrapped FROM sj_home")
        assert len(keys) == 1 and keys[0][0] is not None
        assert homes_of(url, "sj_home") == set(Homes(4).all("acme"))
        with Index.open(url, keys=key_of) as index:
            assert index.admin.encrypted_tenants() == ["acme"] and index.admin.check().problems == []
            for user in USERS:
                assert len(index.search("oak", scope=Scope("acme", user=user))) == 1
        with Index.open(url) as without, pytest.raises(EncryptionError):
            without.upsert("x", "oak", scope=Scope("acme", user=USERS[0]))
        indexes[0].erase(ACME)
        assert superuser_rows(url, "SELECT count(*) FROM sj_home WHERE key_id IS NOT NULL") == [(0,)]
        for index in indexes:
            index.close()

    def test_a_tenant_in_the_clear_is_encrypted_and_its_key_rotated(self, url: str) -> None:
        pytest.importorskip("cryptography")
        with Index.open(url, user_homes=4) as plain:
            fill(plain)
            plain.feedback("shared", query="which secret?", scope=Scope("acme", user=USERS[0]))
        other = b"another key of 32 bytes in all.."
        with Index.open(url, keys=key_of) as index:
            with pytest.raises(EncryptionError, match="encrypt"):
                index.upsert("x", "oak", scope=Scope("acme", user=USERS[0]))
            assert index.admin.encrypt("acme") == len(USERS) * 2 + 1
            assert index.admin.check().problems == []
        assert superuser_rows(
            url, "SELECT count(*) FROM sj_document WHERE position('oak'::bytea IN text) > 0"
        ) == [(0,)]
        with Index.open(url, keys=lambda tenant: other if tenant == "acme" else None) as index:
            index.admin.rotate_key("acme", key_of("acme"))  # type: ignore[arg-type]
            assert len(index.search("oak", scope=Scope("acme", user=USERS[7]))) == 3
            index.upsert("x", "oak", scope=Scope("acme", user="somebody new"))
            assert [note.query for note in index.admin.feedbacks(ACME)] == ["which secret?"]
            assert index.admin.check().problems == []
        assert len(superuser_rows(url, "SELECT DISTINCT key_wrapped FROM sj_home")) == 1


class TestThreeDatabases:
    """A statement about several homes cannot be answered if the homes are in several places."""

    @pytest.mark.parametrize("user_homes", [0, 16])
    def test_homes_in_three_databases_answer_as_a_file(
        self, user_homes: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        urls = route(monkeypatch)
        scopes = [*SCOPES, *(Scope("acme", user=f"u{i}") for i in range(6))]
        monkeypatch.setattr("tests.unit.test_postgres_index.SCOPES", scopes)
        with (
            Index.open(tmp_path / "m.scrubjay", durability="normal") as file,
            Index.open(urls[0], user_homes=user_homes, durability="normal", max_stale=0) as served,
        ):
            for step in workload(5, 40):
                assert step(served) == step(file)
            assert answers(served) == answers(file)
            with Index.open(urls[0], max_stale=0) as cold:
                assert answers(cold) == answers(file)
            served.admin.compact()
            assert served.admin.check().problems == []
            for index in (file, served):
                verbs_alike(index)
            assert answers(served) == answers(file)
            assert sorted(served.scopes()) == sorted(file.scopes()) and len(served) == len(file)
        for number, url in enumerate(urls):
            for table in ("sj_document", "sj_scope", "sj_home", "sj_feedback", "sj_tombstone"):
                assert {server_of(home) for home in homes_of(url, table) - {""}} <= {number}, table
        assert all(homes_of(url, "sj_scope") - {""} for url in urls) or user_homes == 0


def verbs_alike(index: Index) -> None:
    """The calls that concern several homes at once."""
    scope = Scope("acme", user="u1")
    index.upsert_many(
        {"id": f"x{i}", "text": "an oak", "scope": Scope("acme", user=f"u{i}")} for i in range(6)
    )
    index.feedback("x1", query="which oak?", scope=scope)
    index.collection("side").upsert("s", "oak", scope=scope)
    assert len(index.admin.feedbacks(ACME)) == 1
    index.erase(scope, everywhere=True)
    assert index.admin.feedbacks(ACME) == []
    index.erase(Scope("acme", user="u2"), names=True)
    assert index.admin.drop_collection("side") == 0
    assert index.erase(Scope("globex")) >= 0


class TestHolds:
    def test_a_hold_waits_for_current_writers_and_binds_later_ones(self, url: str) -> None:
        scope = Scope("acme", user=USERS[0])
        with Memory.open(url, user_homes=4, max_stale=0, busy_timeout=0.05) as memory:
            index = memory.index
            index.upsert("m", "oak", scope=scope)
            with store_of(index).writing("writing", scopes=[scope]):
                held: list[BaseException] = []

                def hold() -> None:
                    try:
                        memory.admin.hold(scope, reason="a case", by="legal")
                    except BaseException as error:  # noqa: BLE001 - looked at below
                        held.append(error)

                thread = threading.Thread(target=hold)
                thread.start()
                thread.join()
                assert [type(error) for error in held] == [StoreBusyError]
            memory.admin.hold(ACME, reason="a case", by="legal")
            for call in (
                lambda: index.delete("m", scope=scope),
                lambda: index.upsert("m", "another oak", scope=scope),
                lambda: index.erase(scope),
                lambda: index.erase(ACME),
                lambda: memory.forget(scope),
            ):
                with pytest.raises(HeldError):
                    call()
            with Index.open(url) as other, pytest.raises(HeldError):
                other.delete("m", scope=scope)
            memory.admin.release(ACME, by="legal")
            assert index.delete("m", scope=scope)

    def test_records_of_two_tenants_whose_names_look_like_homes(self, url: str) -> None:
        """Rows in a tenant's own home are distinguished from those in a user home of another tenant."""
        home = Homes(4).of_user("acme", USERS[0])
        with Memory.open(url, user_homes=4, max_stale=0) as memory:
            jane, other = Scope("acme", user=USERS[0]), Scope(home, user=USERS[0])
            for scope in (jane, other):
                memory.prefer("tone", f"as in {scope.tenant}", scope=scope)
                memory.propose("I live in Oslo", scope=scope, source="run-1")
            assert len(memory.list(jane)) == len(memory.list(other)) == 2
            assert memory.list(Scope("acme", user="somebody")) == []
            memory.forget(Scope(home))
            assert memory.list(other) == [] and len(memory.list(jane)) == 2
            assert "I live in Oslo" in memory.recall("Where do I live?", jane).texts
            assert memory.admin.check() == [] and memory.index.admin.check().clean

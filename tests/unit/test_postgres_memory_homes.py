"""Users of a tenant whose users are in their own homes change their memories concurrently, and lose nothing.

Without homes of users a change of one user waits for those of all others of the tenant.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scrubjay import FactCandidate, Index, Scope, StoreBusyError, StoreError, StoreFormatError
from scrubjay.cli import main
from scrubjay.memory import Memory, Outcome
from scrubjay.memory.ledger import postgres
from scrubjay.store.postgres import row_homes
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.home_locks import Turns
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.transaction import PostgresTransaction
from tests.data.keys import provider
from tests.data.postgres import new_url
from tests.data.routed_databases import route
from tests.data.stores import superuser_rows

pytest.importorskip("psycopg")

ACME = Scope("acme")
HOMES, HOMES_16 = Homes(4), Homes(16)
USERS = [f"user-{i}" for i in range(24)]


def homes_of(url: str, table: str) -> set[str]:
    return {home for (home,) in superuser_rows(url, f"SELECT DISTINCT home FROM {table}")}


def users_of(bucket: int) -> list[Scope]:
    return [Scope("acme", user=user) for user in USERS if HOMES.of_user("acme", user) == f"acme#{bucket}"]


JANE, HER_NEIGHBOUR = users_of(0)[:2]
JOE = users_of(1)[0]


@pytest.fixture
def url() -> str:
    return new_url()


@contextmanager
def opened(url: str, **options: Any) -> Iterator[Memory]:
    with Memory.open(url, durability="normal", max_stale=0, **{"user_homes": 4, **options}) as memory:
        yield memory


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with opened(url, busy_timeout=30) as memory:
        for scope in (JANE, HER_NEIGHBOUR, JOE):
            memory.propose(f"{scope.user} keeps bees", scope=scope, source="r")
        yield memory


def about(content: str) -> FactCandidate:
    return FactCandidate(content, "Acme", "ships")


def test_changes_of_one_user_wait_for_those_of_its_home_only(memory: Memory, url: str) -> None:
    context = memory._parts.context
    with opened(url, busy_timeout=0.2) as other:
        waits = other.propose(about("Acme ships to Norway"), scope=ACME, source="r")
        mine = other.propose("Jane lives in Oslo", scope=JOE, source="r")
        with context.changing("holding a user", of=[JANE]):
            assert other.propose("Joe lives in Oslo", scope=JOE, source="r")
            assert other.prefer("tone", "brief", scope=JOE)
            episode = {"summary": "Fixed it", "outcome": "success"}
            assert other.propose(episode, scope=Scope("acme", user=JOE.user, agent="bot"), source="r")
            other.session(JOE, "run").user("Hello.")
            other.update(mine.id, scope=JOE, content="Joe lives in Rome")
            other.revoke(mine.id, reason="moved", scope=JOE)
            assert other.policy("refunds", "up to 100", tenant="acme", by="ann").active
            assert other.delete(mine.id, scope=JOE)
            other.forget(JOE)
            assert [fact.scope for fact in other.list(JOE, ["fact"])] == [ACME]
            for change in (
                lambda: other.propose("lives in Oslo", scope=HER_NEIGHBOUR, source="r"),
                lambda: other.session(JANE, "run").user("Hello."),
                lambda: other.propose(about("Acme ships to Chile"), scope=JOE, source="r"),
                lambda: other.confirm(waits.id, by="ann", scope=ACME),
                lambda: other.forget(tenant="acme"),
                lambda: other.admin.hold(JOE, reason="a case", by="ann"),
            ):
                with pytest.raises(StoreBusyError):
                    change()
        assert other.propose("lives in Oslo", scope=HER_NEIGHBOUR, source="r")
        with context.changing("holding a tenant", of=["acme"]), pytest.raises(StoreBusyError):
            other.propose("Joe lives in Oslo", scope=JOE, source="r")
    assert memory.admin.check() == []


def test_without_homes_of_users_they_wait_for_each_other(url: str) -> None:
    with (
        opened(url, user_homes=0) as memory,
        opened(url, user_homes=0, busy_timeout=0.2) as other,
        memory._parts.context.changing("holding a user", of=[JANE]),
        pytest.raises(StoreBusyError),
    ):
        other.propose("Joe lives in Oslo", scope=JOE, source="r")


def test_a_change_without_the_turn_of_a_user_writes_nothing_of_that_user(memory: Memory) -> None:
    context = memory._parts.context
    (row,) = memory.list(JOE, ["fact"])
    for of in ([JANE], [ACME]):
        with (
            pytest.raises(StoreError, match="expected the lock of the user whose memory_fact is written"),
            context.changing("writing", of=of) as change,
        ):
            change.connection.execute("UPDATE memory_fact SET uses = 7 WHERE id = ?", (row.id,))
    with context.changing("writing", of=["acme"]) as change:
        change.connection.execute("UPDATE memory_fact SET uses = 7 WHERE id = ?", (row.id,))
    assert [fact.uses for fact in memory.list(JOE, ["fact"])] == [7]


def test_a_tenant_fact_said_by_two_users_is_promoted_once(memory: Memory, url: str) -> None:
    """Both are the second source if each sees the other's observation, and none is if they do not wait."""
    outcomes: list[Outcome] = []

    def proposing(one: Memory, scope: Scope, said: FactCandidate) -> Callable[[], None]:
        return lambda: outcomes.append(one.propose(said, scope=scope, source=f"run of {scope.user}"))

    with opened(url, busy_timeout=30) as other:
        for i in range(6):
            outcomes.clear()
            said = about(f"Acme ships to country {i}")
            run_all([proposing(memory, JANE, said), proposing(other, JOE, said)])
            assert sorted("promoted" in outcome.reason for outcome in outcomes) == [False, True]
            (fact,) = [fact for fact in memory.list(ACME, ["fact"]) if fact.text == said.content]
            assert fact.status == "active"
            for scope in (JANE, JOE):
                assert [one.text for one in memory.recall(said.content, scope, k=1)] == [said.content]
    assert memory.admin.check() == []


def run_all(functions: Iterable[Callable[[], None]]) -> None:
    failed: list[BaseException] = []

    def run(function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("keys", [None, provider], ids=["clear", "keys"])
def test_verbs_of_users_and_of_the_tenant_at_once_leave_a_sound_memory(
    url: str, keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No deadlock, whatever they take in whichever order; every acknowledged write exists."""
    read = Turns._read

    def read_slowly(self: Turns, home: str, scopes: Any) -> None:
        read(self, home, scopes)
        time.sleep(0.002)  # during which others take the next home

    monkeypatch.setattr(Turns, "_read", read_slowly)
    kept: list[set[tuple[Scope, str]]] = []

    def work(memory: Memory, number: int) -> Callable[[], None]:
        return lambda: kept.append(verbs(memory, number))

    with (
        opened(url, keys=keys, busy_timeout=30) as one,
        opened(url, keys=keys, busy_timeout=30) as two,
    ):
        run_all(work(memory, i) for i, memory in enumerate((one, two, one, two, one)))
        there: set[tuple[Scope, str]] = set()
        for user in USERS:
            scope = Scope("acme", user=user)
            there |= {(scope, fact.text) for fact in one.list(scope, ["fact"]) if fact.scope == scope}
        own = {(scope, text) for scope, text in there if text.startswith("writer")}
        assert own == set().union(*kept)
        assert one.admin.check() == [] and one.documents.admin.check().clean
        numbers = superuser_rows(url, "SELECT number FROM sj_memory_log")
        assert len(numbers) == len(set(numbers)) > 100
        events = two.feed.changes(scope=ACME, within=True)
        assert [event.cursor for event in events] == sorted(event.cursor for event in events)


def verbs(memory: Memory, number: int) -> set[tuple[Scope, str]]:
    """Change rows of some users, and of the tenant; return the facts of this writer's users that must exist.

    Each writer has its own users, whose homes it shares with others.
    """
    rng = random.Random(number)
    users = [Scope("acme", user=user) for user in USERS[number::5]]
    kept: dict[tuple[Scope, str], str] = {}
    for step in range(24):
        scope = rng.choice(users)
        kind = rng.choice(
            ["fact"] * 4 + ["several", "tenant", "policy", "wish", "run", "delete", "forget", "sweep"]
        )
        text = f"writer {number} has seen bird {step}"
        if kind == "fact":
            kept[scope, text] = memory.propose(text, scope=scope, source=f"r{number}").id
        elif kind == "several":
            some = rng.sample(users, 3)
            outcomes = memory.propose_all([(text, one, f"r{number}") for one in some])
            kept.update(((one, text), outcome.id) for one, outcome in zip(some, outcomes, strict=True))
        elif kind == "tenant":
            memory.propose(about(f"Acme ships to {rng.randrange(3)}"), scope=scope, source=f"r{number}")
        elif kind == "policy":
            memory.policy(f"p{rng.randrange(3)}", text, tenant="acme", by="ann")
        elif kind == "wish":
            memory.prefer("tone", text, scope=rng.choice([scope, ACME]))
        elif kind == "run":
            memory.session(scope, f"run {number}").user(text)
        elif kind == "delete" and kept:
            (of, said), id = rng.choice(list(kept.items()))
            assert memory.delete(id, scope=of)
            del kept[of, said]
        elif kind == "forget":
            memory.forget(scope)
            kept = {place: id for place, id in kept.items() if place[0] != scope}
        elif kind == "sweep":
            memory.admin.sweep()
    return set(kept)


def test_no_two_homes_of_a_tenant_give_a_row_the_same_number(memory: Memory, url: str) -> None:
    """Rows of all users are in one table under the tenant's own home, and several writers number them there."""
    given: list[int] = []
    with opened(url) as second, opened(url) as third:
        stores: list[Any] = [one._parts.context.store for one in (memory, second, third)]
        with ExitStack() as stack:
            for store, scope in zip(stores, (ACME, JANE, JOE), strict=True):
                transaction = stack.enter_context(store.writing("numbering"))
                transaction.lock([scope])
                last = transaction._turns._last
                last.update(dict.fromkeys(last, 10**17))  # at the same time
                given += [transaction.number() for _ in range(50)]
                assert given[-50:] == sorted(set(given[-50:])) and given[-50] > 10**17
            assert len(set(given)) == 150
        with stores[0].writing("numbering") as transaction:  # continues above all of them
            transaction.lock(["acme"])
            assert transaction.number() > max(given)


class TestFeed:
    def test_the_feed_shows_own_changes_at_once(self, url: str) -> None:
        """Numbers of a home are a subset of all numbers, so a change may have one that is ahead of the server's
        clock."""
        with opened(url, user_homes=4096) as memory:
            for i in range(40):
                said = [(f"Joe has seen bird {i}-{j}", JOE, "r") for j in range(5)]
                memory.propose_all(said)
                assert len(memory.feed.changes(scope=JOE)) == 5 * (i + 1)

    def test_no_change_of_a_tenant_is_missed_that_commits_after_a_later_one(
        self, memory: Memory, url: str
    ) -> None:
        """Of two concurrent users, the one with the smaller number commits last."""
        cursor = memory.feed.cursor
        with memory._parts.context.changing("holding a user", of=[JANE]) as change:
            change.connection.execute(
                "INSERT INTO memory_rejection(at, tenant, user, agent, kind, reason, content, source_run) "
                "VALUES (1, ?, ?, '', 'fact', 'none', 'none', 'r')",
                ("acme", JANE.user),
            )  # has its number
            (fact,) = (fact for fact in self.rows(memory) if fact[1] == JANE.user)
            change.connection.execute(
                "INSERT INTO memory_log(at, record, what, by, tenant, user, agent) VALUES (1, ?, 'updated', NULL, "
                "?, ?, '')",
                (fact[0], "acme", fact[1]),
            )
            with opened(url) as other:
                later = other.propose("Joe lives in Oslo", scope=JOE, source="r")
                assert other.feed.changes(cursor, scope=ACME, within=True) == []  # an earlier one is open
                seen = other.feed.cursor
        found = memory.feed.changes(cursor, scope=ACME, within=True)
        assert [event.record for event in found] == [fact[0], later.id]
        assert [event.record for event in memory.feed.changes(seen, scope=ACME, within=True)] == [
            fact[0],
            later.id,
        ]

    def test_a_page_ends_behind_all_changes_of_its_last_number(self, memory: Memory) -> None:
        """Two tenants may have the same number."""
        globex = Scope("globex", user="jane")
        for tenant, user, id in (
            ("acme", JANE.user, memory.propose("Jane rides", scope=JANE, source="r").id),
            ("globex", "jane", memory.propose("Jane rides", scope=globex, source="r").id),
        ):
            for number in (7, 8):
                with memory._parts.context.changing("writing", of=[tenant]) as change:
                    change.connection.execute(
                        "INSERT INTO memory_log(number, at, record, what, by, tenant, user, agent) "
                        "VALUES (?, 1, ?, 'updated', NULL, ?, ?, '')",
                        (number, id, tenant, user),
                    )
        pages = [memory.admin.changes(since, limit=1) for since in (0, 7)]
        assert [[event.cursor for event in page] for page in pages] == [[7, 7], [8, 8]]
        assert all({event.scope for event in page} == {JANE, globex} for page in pages)

    @staticmethod
    def rows(memory: Memory) -> list[tuple[str, str]]:
        with memory._parts.context.reading() as connection:
            return connection.execute("SELECT id, user FROM memory_fact WHERE tenant = 'acme'").fetchall()


def test_a_memory_of_homes_in_three_databases_keeps_what_a_file_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The lock of a user is in one database, the records are in another one."""
    urls = route(monkeypatch)
    with (
        Memory.open(tmp_path / "m.scrubjay", durability="normal") as file,
        opened(urls[0], user_homes=16) as served,
    ):
        for memory in (file, served):
            for user in USERS[:6]:
                scope = Scope("acme", user=user)
                first = memory.propose(f"{user} keeps bees", scope=scope, source="r")
                memory.propose(f"{user} lives in Oslo", scope=scope, source="r")
                memory.session(scope, "run").user("Hello.")
                memory.prefer("tone", "brief", scope=scope)
                memory.revoke(str(first.id), reason="sold them", scope=scope)
                memory.propose(about("Acme ships to Norway"), scope=scope, source=f"run of {user}")
            memory.forget(Scope("acme", user=USERS[1]))
            assert memory.admin.check() == []
        for scope in (ACME, *(Scope("acme", user=user) for user in USERS[:7])):
            said, told = (
                sorted((str(one.scope), one.kind, one.text) for one in memory.list(scope))
                for memory in (served, file)
            )
            assert said == told
            assert [event.action for event in served.feed.changes(scope=scope)] == [
                event.action for event in file.feed.changes(scope=scope)
            ]
            assert len(served.session(scope, "run").events()) == len(file.session(scope, "run").events())
    locked = [homes_of(url, "sj_home") - {"acme", ""} for url in urls]
    assert sum(map(len, locked)) == len({HOMES_16.of_user("acme", user) for user in USERS[:6]})
    assert len(list(filter(None, locked))) > 1
    facts = [homes_of(url, "sj_memory_fact") for url in urls]
    assert sorted(home for some in facts for home in some) == sorted(
        {"acme", *(HOMES_16.of_user("acme", user) for user in USERS[:6] if user != USERS[1])}
    )


OF_USERS = ("preference", "fact", "episode", "log", "rejection", "stamp", "run")
OF_RUNS = ("event", "distilled")
OF_TENANTS = ("policy", "observation", "deletion", "hold")


def likes_tea(transcript: Any) -> list[FactCandidate]:
    return [FactCandidate("The user likes tea", "the user", "likes")]


def fill(memory: Memory) -> None:
    """Write rows of every table, of users in several homes, of their agents, and of the tenant."""
    memory.policy("refunds", "up to 100", tenant="acme", by="ann")
    memory.prefer("tone", "polite", scope=ACME)
    for user in USERS[:6]:
        scope = Scope("acme", user=user)
        first = memory.propose(f"{user} lives in Oslo", scope=scope, source="r1")
        memory.propose(f"{user} lives in Rome", scope=scope, source="r2")
        memory.update(first.id, scope=scope, content=f"{user} lives in Bergen") if user == USERS[4] else None
        memory.propose(
            {"summary": f"Fixed {user}", "outcome": "success"},
            scope=Scope("acme", user=user, agent="bot"),
            source="r",
        )
        memory.prefer("tone", f"as {user} likes", scope=scope)
        memory.propose("", scope=scope, source="r")  # refused
        memory.propose(about("Acme ships to Norway"), scope=scope, source=f"run of {user}")
        session = memory.session(scope, "run")
        session.user(f"I am {user} and I like tea.")
        memory.distil("run", likes_tea, scope)
    memory.admin.hold(Scope("acme", user=USERS[2]), reason="a case", by="ann")
    memory.forget(Scope("acme", user=USERS[5]))


def said(memory: Memory) -> list[Any]:
    """Return a memory's answers to every scope, without ids and numbers."""
    found: list[Any] = []
    for scope in (ACME, *(Scope("acme", user=user) for user in USERS[:6])):
        found.append(sorted((str(one.scope), one.kind, one.text) for one in memory.list(scope, hidden=True)))
        found.append(sorted(memory.recall("Who lives in Rome and likes tea?", scope, k=20).texts))
        found.append([(one.key, one.text) for one in memory.known(scope)])
        found.append([(event.action, str(event.scope)) for event in memory.feed.changes(scope=scope)])
        found.append([event.content for event in memory.session(scope, "run").events()])
        found.append([one.reason for one in memory.rejections(scope)])
        for one in memory.list(scope):
            why = memory.why(one.id, scope=scope)
            assert why is not None
            found.append((one.text, [event.action for event in why.events], len(why.supersedes)))
    found.append(sorted(event.action for event in memory.feed.changes(scope=ACME, within=True)))
    found.append([(str(one.scope), one.reason) for one in memory.admin.deletions("acme")])
    found.append(len(list(memory.files.lines(ACME))))
    return found


def rows_in(url: str, table: str) -> set[tuple[str, str]]:
    return set(superuser_rows(url, f"SELECT home, usr FROM sj_memory_{table} WHERE tenant = 'acme'"))


def assert_placed(url: str) -> None:
    """Every row is in the home of its user, or in the tenant's own."""
    for table in OF_USERS:
        found = rows_in(url, table)
        assert found and all(home == HOMES.of_user("acme", user) for home, user in found), table
        assert len({home for home, _ in found}) > 1, table
    for table in OF_RUNS:
        found = superuser_rows(
            url, f"SELECT t.home, r.home FROM sj_memory_{table} t LEFT JOIN sj_memory_run r ON r.key = t.run"
        )
        assert found and all(home == other for home, other in found), table
    for table in OF_TENANTS:
        assert homes_of(url, f"sj_memory_{table}") == {"acme"}, table
    named = superuser_rows(
        url,
        "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'sj\\_memory%'",
    )
    every = {f"sj_memory_{table}" for table in (*OF_USERS, *OF_RUNS, *OF_TENANTS)}
    assert {table for (table,) in named} - every == {"sj_memory_schema"}


class TestPlaces:
    def test_rows_of_a_user_are_in_the_home_of_the_user(self, url: str, tmp_path: Path) -> None:
        with (
            opened(url) as memory,
            Memory.open(tmp_path / "m.scrubjay", durability="normal") as file,
        ):
            for one in (memory, file):
                fill(one)
            assert_placed(url)
            assert said(memory) == said(file)
            assert memory.admin.check() == []

    def test_a_copy_puts_every_row_where_it_belongs(self, url: str, tmp_path: Path) -> None:
        file, back = str(tmp_path / "m.scrubjay"), str(tmp_path / "back.scrubjay")
        with Memory.open(file, durability="normal") as memory:
            fill(memory)
            before = said(memory)
        assert main(["copy", file, url, "--user-homes", "4"]) == 0
        with opened(url) as memory:
            assert_placed(url)
            assert said(memory) == before and memory.admin.check() == []
        assert main(["copy", url, back]) == 0
        with Memory.open(back, durability="normal") as memory:
            assert said(memory) == before and memory.admin.check() == []

    def test_forgetting_a_user_leaves_nothing_in_the_home(self, url: str) -> None:
        with opened(url) as memory:
            fill(memory)
            gone = Scope("acme", user=USERS[0])
            memory.forget(gone)
            for table in OF_USERS:
                left = superuser_rows(url, f"SELECT count(*) FROM sj_memory_{table} WHERE usr = %s", USERS[0])
                assert left == [({"log": 1, "stamp": 1}.get(table, 0),)], table
            assert memory.admin.verify_erased(gone).clean
            memory.forget(Scope("acme", user=USERS[1]), names=True)
            for table in (*OF_USERS, "observation", "deletion"):
                assert superuser_rows(
                    url, f"SELECT count(*) FROM sj_memory_{table} WHERE usr = %s", USERS[1]
                ) == [(0,)]
            assert memory.admin.check() == []

    def test_a_row_that_is_elsewhere_is_found_by_the_check(self, url: str) -> None:
        with opened(url) as memory:
            fill(memory)
            home = HOMES.of_user("acme", USERS[0])
            superuser_rows(url, "UPDATE sj_memory_preference SET home = 'acme' WHERE usr = %s", USERS[0])
            superuser_rows(url, "UPDATE sj_memory_run SET home = 'acme' WHERE usr = %s", USERS[0])
            problems = memory.admin.check()
            assert any(
                f"sj_memory_preference of 'acme', {USERS[0]!r}: expected the home {home!r}" in one
                for one in problems
            )
            assert any(one.startswith("sj_memory_event: 1 rows without") for one in problems)

    def test_statements_of_a_user_name_two_homes_at_most(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the user's home and, for rows that all users share, in the tenant's own."""
        seen: dict[Any, set[str]] = {}
        add, run, ask_each = Batch.add, Batch.run, Batch.ask_each

        def adding(self: Batch, query: str, parameters: Any = (), *, home: Any = "") -> None:
            seen.setdefault(home, set()).add(query)
            add(self, query, parameters, home=home)

        def running(self: Batch, query: str, parameters: Any, *, home: Any) -> Any:
            seen.setdefault(home, set()).add(query)
            return run(self, query, parameters, home=home)

        def asking(self: Batch, statements: Any, **options: Any) -> Any:
            for home, (query, _) in statements:
                seen.setdefault(home, set()).add(query)
            return ask_each(self, statements, **options)

        mine, hers = HOMES.of_user("acme", JOE.user), HOMES.of_user("acme", JANE.user)
        id = memory.propose("Joe lives in Oslo", scope=JOE, source="r").id
        monkeypatch.setattr(Batch, "add", adding)
        monkeypatch.setattr(Batch, "run", running)
        monkeypatch.setattr(Batch, "ask_each", asking)
        memory.propose("Joe lives in Rome", scope=JOE, source="r")
        memory.prefer("tone", "brief", scope=JOE)
        session = memory.session(JOE, "run")
        session.user("I like tea.")
        memory.distil("run", likes_tea, JOE)
        assert "Joe lives in Rome" in memory.recall("Where does Joe live?", JOE).texts
        assert memory.known(JOE)["tone"].text == "brief"
        assert memory.get(id, JOE, hidden=True) is not None and memory.why(id, scope=JOE) is not None
        memory.update(id, scope=JOE, content="Joe lived in Oslo")
        memory.revoke(id, reason="moved", scope=JOE)
        memory.list(JOE)
        memory.recall("Where does Joe live?", JOE, as_of=1_700_000_000, known_at=2_000_000_000)
        every = seen.pop(EVERY_HOME, set())
        assert mine != hers and seen.keys() - {""} == {"acme", mine}
        assert {query for query in every if "sj_memory" in query} == set()


class TestMoving:
    """Databases before format 4 had the rows of users in their tenants' own homes."""

    @staticmethod
    def older(url: str, **options: Any) -> list[Any]:
        """Create a database of that format; return its answers."""
        with pytest.MonkeyPatch.context() as patch:
            lock = PostgresTransaction.lock

            def with_tenant(self: PostgresTransaction, whose: Iterable[Any]) -> None:
                whose = list(whose)
                tenants = {one if isinstance(one, str) else one.tenant for one in whose}
                lock(self, [*map(Scope, filter(None, tenants)), *whose])

            patch.setattr(PostgresTransaction, "lock", with_tenant)
            patch.setattr(postgres, "_SPREAD", frozenset())
            patch.setattr(postgres, "_RUNS", {})
            with opened(url, **options) as memory:
                fill(memory)
                found = said(memory)
        superuser_rows(url, "UPDATE sj_memory_stamp SET home = 'acme' WHERE tenant = 'acme'")
        superuser_rows(url, "UPDATE sj_memory_schema SET format = 3")
        assert {home for table in OF_USERS for home in homes_of(url, f"sj_memory_{table}")} == {"acme"}
        return found

    @pytest.mark.parametrize("keys", [None, provider])
    def test_rows_are_moved_when_it_is_opened(self, url: str, keys: Any) -> None:
        before = self.older(url, keys=keys)
        with opened(url, keys=keys) as memory:
            assert_placed(url)
            assert said(memory) == before
            assert memory.admin.check() == [] and memory.index.admin.check().problems == []
            memory.propose("moved to Rome", scope=JOE, source="r")
            assert memory.admin.check() == []
        assert superuser_rows(url, "SELECT format FROM sj_memory_schema") == [(4,)]

    def test_the_next_process_finishes_an_interrupted_move_of_rows(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = self.older(url)
        monkeypatch.setattr(row_homes, "_USERS_AT_ONCE", 2)
        move, moved = row_homes._move, []

        def dying(*arguments: Any) -> None:
            moved.append(arguments[-1])
            if len(moved) == 4:
                raise KeyboardInterrupt
            move(*arguments)

        monkeypatch.setattr(row_homes, "_move", dying)
        with pytest.raises(KeyboardInterrupt):
            Memory.open(url, durability="normal")
        assert superuser_rows(url, "SELECT format FROM sj_memory_schema") == [(3,)]
        users = {user for home, user in rows_in(url, "fact") if home != "acme"}
        assert users == set(moved[:2])
        monkeypatch.setattr(row_homes, "_move", move)
        with opened(url) as memory:
            assert_placed(url)
            assert said(memory) == before and memory.admin.check() == []

    def test_without_the_key_of_a_tenant_nothing_is_moved(self, url: str) -> None:
        self.older(url, keys=provider)
        with pytest.raises(StoreFormatError, match="needs the tenant's key"):
            Memory.open(url)
        assert homes_of(url, "sj_memory_fact") == {"acme"}

    def test_a_read_only_memory_of_an_older_format_is_refused(self, url: str) -> None:
        self.older(url)
        with pytest.raises(StoreFormatError, match="open it once for writing"):
            Memory(Index.open(url, read_only=True))


def test_with_keys_changes_of_one_user_wait_for_those_of_its_home_only(url: str) -> None:
    """From the second change of a process on: the first one may make the tenant's key."""
    with opened(url, keys=provider) as memory, opened(url, keys=provider, busy_timeout=0.2) as other:
        context = memory._parts.context
        memory.propose("Jane keeps bees", scope=JANE, source="r")
        with context.changing("holding a user", of=[JANE]):
            mine = other.propose("Joe lives in Oslo", scope=JOE, source="r")
        with context.changing("holding the tenant's own home", of=[ACME]):
            assert other.propose("Joe keeps bees", scope=JOE, source="r")
            assert other.prefer("tone", "brief", scope=JOE)
            other.session(JOE, "run").user("Hello.")
            other.update(mine.id, scope=JOE, content="Joe lives in Rome")
            other.revoke(mine.id, reason="moved", scope=JOE)
            with pytest.raises(StoreBusyError):
                other.propose("Acme ships to Chile", scope=ACME, source="r")
        with context.changing("holding a user", of=[JANE]):
            with pytest.raises(StoreBusyError):
                other.propose("lives in Oslo", scope=HER_NEIGHBOUR, source="r")
            with pytest.raises(StoreBusyError):
                other.forget(tenant="acme")
        assert other.propose("Joe lives in Bonn", scope=JOE, source="r")
        assert {fact.text for fact in memory.list(JOE, ["fact"])} == {"Joe keeps bees", "Joe lives in Bonn"}
        assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_an_encrypted_tenant_has_sound_digests(url: str) -> None:
    """Each table has one digest for a home, which every change counts on."""
    with (
        opened(url, keys=provider, busy_timeout=30) as one,
        opened(url, keys=provider, busy_timeout=30) as two,
    ):

        def work(memory: Memory, scope: Scope) -> Callable[[], None]:
            def run() -> None:
                for i in range(6):
                    memory.propose(f"{scope.user} has seen bird {i}", scope=scope, source="r")
                    memory.prefer("tone", f"wish {i}", scope=scope)

            return run

        run_all(work(memory, scope) for memory, scope in ((one, JANE), (two, JOE), (one, HER_NEIGHBOUR)))
        assert [len(one.list(scope, ["fact"])) for scope in (JANE, JOE, HER_NEIGHBOUR)] == [6, 6, 6]
        assert one.admin.check() == [] and one.documents.admin.check().clean

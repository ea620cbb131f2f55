"""Memory over PostgreSQL where it differs from a file: concurrent writers, homes, the feed, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import precondition, rule

from scrubjay import Index, OwnedCollectionError, Scope, StoreBusyError
from scrubjay.memory import Decay, Memory
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.scope_reading import ScopeReader
from scrubjay.store.postgres.write_order import SETTLED
from scrubjay.store.rows.values import RowRefusedError
from tests.data.postgres import as_superuser, new_url
from tests.memory.setting import ACME, DAY, GLOBEX, JANE, JOE, ONE_AT_A_TIME, Clock, lives, row_count
from tests.memory.test_kills import OPERATIONS, fill
from tests.memory.test_machine import MemoryMachine
from tests.memory.test_raw_writes import WRITES

psycopg = pytest.importorskip("psycopg")

GLOBEX_JANE = Scope("globex", user="jane")


@pytest.fixture
def url() -> str:
    return new_url()


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with Memory.open(url, durability="normal") as memory:
        yield memory


def test_raw_writes_are_refused_as_in_a_file(memory: Memory, url: str) -> None:
    lives(memory, "Oslo")
    ((id, text, version),) = [(str(one.id), one.text, one.version) for one in memory.documents.list(JANE)]
    with Index.open(url, collection="memory") as opened, Index.open(url) as beside:
        for index in (memory.documents, opened, beside.collection("memory")):
            for write in WRITES.values():
                with pytest.raises(OwnedCollectionError):
                    write(index, id)
    assert [(one.id, one.text, one.version) for one in memory.documents.list(JANE)] == [(id, text, version)]
    assert memory.admin.check() == []


# ---------------------------------------------------------------------- the model


class MemoryOverPostgres(MemoryMachine):
    """The same machine; a database cannot be copied like a file, so a kill ends every connection."""

    url: str
    user_homes = 0

    def _open(self) -> Memory:
        if not hasattr(self, "url"):
            self.url = new_url()
        options: dict[str, Any] = {
            "durability": "normal",
            "max_stale": 0,
            "user_homes": self.user_homes,
        }  # the next call may use another process
        decay = Decay(sink_below=0, expire_below=0)
        return Memory.open(self.url, clock=self.clock, judge=ONE_AT_A_TIME, decay=decay, **options)

    @precondition(lambda self: hasattr(self, "path"))
    @rule()
    def killed(self) -> None:
        """Simulate a killed process: only the rows remain."""
        for memory in [self.memory, *self.others]:
            memory.close()
        self.others = []
        self.memory = self._open()


TestMemoryOverPostgres = MemoryOverPostgres.TestCase
TestMemoryOverPostgres.settings = settings(
    max_examples=max(5, settings().max_examples // 12), stateful_step_count=20
)


class MemoryOverBuckets(MemoryOverPostgres):
    """The same, with users in homes of their own."""

    user_homes = 2


TestMemoryOverBuckets = MemoryOverBuckets.TestCase
TestMemoryOverBuckets.settings = settings(
    max_examples=max(5, settings().max_examples // 24), stateful_step_count=20
)


# ---------------------------------------------------------------------- several writers


PROPOSE = """
    import sys
    from scrubjay import FactCandidate, Scope
    from scrubjay.memory import DefaultJudge, Memory
    url, who = sys.argv[1:]
    with Memory.open(url, durability="normal", busy_timeout=60, judge=DefaultJudge(single=["lives in"])) as memory:
        sys.stdin.readline()
        for i in range(15):
            said = FactCandidate(f"Jane lives in {who}{i}", "Jane", "lives in")
            outcome = memory.propose(said, scope=Scope("acme", user="jane"), source=f"{who}-{i}")
            print(outcome.id, outcome.superseded or "-", flush=True)
"""


def test_two_processes_lose_nothing_and_decide_each_supersession_once(url: str, memory: Memory) -> None:
    program = [sys.executable, "-c", textwrap.dedent(PROPOSE), url]
    children = [
        subprocess.Popen([*program, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in ("a", "b")
    ]
    said = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        said += [line.split() for line in child.communicate(timeout=120)[0].splitlines()]
        assert child.returncode == 0
    facts = memory.history("Jane", "lives in", JANE)
    assert {fact.id for fact in facts} == {id for id, _ in said} and len(facts) == 30
    ended = [old for _, old in said if old != "-"]
    assert len(ended) == len(set(ended)) == 29
    assert [fact.status for fact in facts].count("active") == 1
    events = memory.feed.changes(scope=JANE)
    assert [event.cursor for event in events] == sorted({event.cursor for event in events})
    told = [event.record for event in events if event.action == "superseded"]
    assert sorted(map(str, told)) == sorted(ended)
    assert memory.admin.check() == [] and memory.documents.admin.check().clean


def test_processes_that_open_the_first_memory_at_once(url: str) -> None:
    """Processes that waited while another created the tables see them."""
    Index.open(url, collection="memory").close()
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = ANY(%s)"
    mine = "SELECT pid FROM pg_stat_activity WHERE application_name = 'opener'"
    opened: list[Memory] = []
    threads = [
        threading.Thread(target=lambda: opened.append(Memory.open(f"{url}&application_name=opener")))
        for _ in range(3)
    ]
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (schema._LOCK,))
        for thread in threads:
            thread.start()
        last = time.monotonic() + 20
        while len(connection.execute(waiting, ([n for (n,) in connection.execute(mine)],)).fetchall()) < 3:
            assert time.monotonic() < last
            time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert len(opened) == 3
    for one in opened:
        assert lives(one, "Oslo", run=f"run {id(one)}").status in ("written", "deduplicated")
        one.close()


def test_opening_beside_the_first_process_recognises_its_memory(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = ScopeReader.count

    def first_count(self: ScopeReader, *arguments: Any, **options: Any) -> int:
        monkeypatch.undo()  # between the two queries of the opening process
        with Memory.open(url) as first:
            assert lives(first, "Oslo").status == "written"
        return count(self, *arguments, **options)

    monkeypatch.setattr(ScopeReader, "count", first_count)
    with Memory.open(url) as second:
        assert second.recall("Oslo", JANE).texts == ["Jane lives in Oslo"]


def test_tenants_do_not_wait_for_each_other(url: str, memory: Memory) -> None:
    with Memory.open(url, durability="normal", busy_timeout=0.3) as other:
        with memory._parts.context.changing("holding acme", of=["acme"]):
            assert lives(other, "Oslo", GLOBEX_JANE).status == "written"
            with pytest.raises(StoreBusyError):
                lives(other, "Oslo", JANE)
        assert lives(other, "Oslo", JANE).status == "written"


# ---------------------------------------------------------------------- the feed


def test_no_change_is_missed_that_commits_after_a_later_one(url: str, memory: Memory) -> None:
    """Two tenants write at once: the one with the smaller number commits last."""
    told: list[str] = []
    with Memory.open(url, durability="normal") as other:
        other.prefer("a", "x", scope=GLOBEX)
        (first,) = memory.admin.changes()
        started, go = threading.Event(), threading.Event()

        def slowly() -> None:
            def wait(*_: Any) -> None:
                started.set()
                go.wait(30)

            other.propose_all([("Globex is late", GLOBEX_JANE, "r")], also=wait)

        slow = threading.Thread(target=slowly)
        slow.start()
        assert started.wait(30)
        lives(memory, "Oslo")
        assert memory.admin.changes(first.cursor) == []  # an earlier change is in progress
        assert [event.action for event in memory.feed.changes(scope=JANE)] == [
            "proposed"
        ]  # the change in progress belongs to another tenant
        cursor = memory.feed.cursor
        go.set()
        slow.join()
        told = [str(event.scope) for event in memory.admin.changes(first.cursor)]
        assert told == [str(GLOBEX_JANE), str(JANE)]
        assert len(memory.admin.changes(cursor)) == 2


def test_the_settled_time_is_taken_before_the_locks_are_read(url: str) -> None:
    """A transaction may take its lock and its numbers just after the query: they must be later than the time
    returned."""
    slow = SETTLED.replace("FROM pg_locks WHERE", "FROM (SELECT p.* FROM pg_sleep(0.3), pg_locks p) l WHERE")
    assert slow != SETTLED
    with psycopg.connect(url, autocommit=True) as connection:
        at, _, _ = connection.execute(slow).fetchone()
        after = connection.execute(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        ).fetchone()[0]
    assert after - at > 300_000


def test_a_stamp_covers_documents_erased_by_the_memory(url: str, memory: Memory) -> None:
    """Memory also erases documents of the index beside it, in a transaction of another collection."""
    with Index.open(url, max_stale=60) as other:
        memory.index.upsert(1, "oak", scope=JANE)
        assert len(other.search("oak", scope=JANE, after=memory.index.admin.stamp(JANE))) == 1
        memory.forget(JANE)
        assert len(other.search("oak", scope=JANE, after=memory.index.admin.stamp(JANE))) == 0


def test_changes_of_rules_reach_other_processes_within_max_stale(url: str, memory: Memory) -> None:
    with Memory.open(url, durability="normal", max_stale=0.4) as other:
        assert len(other.known(JANE)) == 0
        memory.prefer("tone", "brief", scope=JANE)
        memory.policy("refunds", "never", tenant="acme", by="boss")
        memory.admin.global_policy("law", "obey", by="us")
        last = time.monotonic() + 5
        while len(other.known(JANE)) < 3 and time.monotonic() < last:
            time.sleep(0.02)
        assert {one.key for one in other.known(JANE).policies} == {"law", "refunds"}
        assert [one.key for one in other.known(JANE).preferences] == ["tone"]
        assert other.known(JANE) is other.known(JANE)


# ---------------------------------------------------------------------- texts


@pytest.mark.parametrize("text", ["a\0b", "\U0010ffff", "\U0010ffff0\0\U0010ffff1", "e\u0301 ü 東京"])
def test_every_character_comes_back(memory: Memory, text: str) -> None:
    id = memory.propose(f"Jane says {text}!", scope=JANE, source="r").id or ""
    memory.prefer("tone", text, scope=JANE)
    (fact,) = memory.list(JANE, kinds=("fact",))
    assert fact.text == f"Jane says {text}!" and memory.known(JANE)["tone"].text == text
    assert memory.recall("says", JANE).texts == [fact.text] and memory.get(id, JANE) is not None
    with memory.session(JANE, "run") as session:
        session.user(text)
    assert [event.content for event in memory.replay("run", JANE).events] == [text]


# ---------------------------------------------------------------------- kills


def killed_child(url: str, operation: Callable[[Memory], Any], step: int) -> bool:
    """Run an operation in a child that kills itself before its `step`-th send; return False if it completed."""
    child = os.fork()
    if child == 0:
        try:
            with Memory.open(url, durability="normal", clock=later(), judge=ONE_AT_A_TIME) as memory:
                n_left, own = step, threading.get_ident()

                def counting(method: Any) -> Any:
                    def count(self: Any, *arguments: Any, **named: Any) -> Any:
                        nonlocal n_left
                        n_left -= threading.get_ident() == own  # the feed queries at any time
                        if n_left == 0:
                            os.kill(os.getpid(), signal.SIGKILL)
                        return method(self, *arguments, **named)

                    return count

                for name in ("ask_each", "run"):
                    setattr(Batch, name, counting(getattr(Batch, name)))
                operation(memory)
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def state(url: str) -> list[Any]:
    """Return the content of a database, without ids and numbers."""
    with Memory.open(url, clock=later(), judge=ONE_AT_A_TIME) as memory:
        assert memory.admin.check() == [] and memory.documents.admin.check().clean
        assert memory.index.admin.check().clean
        kept = []
        for line in memory.files.lines(ACME):
            said = json.loads(line)
            if said.get("kind") != "policy":
                said = {k: v for k, v in said.items() if k not in LEFT_OUT}
                kept.append(json.dumps(said, sort_keys=True))
        return [sorted(kept), len(memory.index), row_count(memory, "memory_log")]


LEFT_OUT = {
    "id",
    "slot",
    "superseded_by",
    "fact",
    "record",
    "detail",
    "number",
    "shared_as",
    "policy_version",
}
LEFT_OUT |= {"replaces", "replaced_by", "decided_at"}


@pytest.mark.parametrize("name", ["supersede", "promote", "several", "forget", "sweep"])
def test_killed_before_anything_is_sent(name: str, share_of: Callable[[int, int], int]) -> None:
    """Quick: before every ninth; --slow: before every third; --long: before each."""
    stride = share_of(9, 3)
    url = prepared()
    before = state(url)
    assert not killed_child(url, OPERATIONS[name], 10_000)
    after = state(url)
    assert before != after
    n_killed = 0
    url = prepared()
    for step in range(1 + sum(map(ord, name)) % stride, 400, stride):
        if not killed_child(url, OPERATIONS[name], step):
            assert state(url) == after
            break
        n_killed += 1
        assert state(url) == before, (name, step)
    else:
        raise AssertionError(f"{name} never got through")
    assert n_killed > 0


def later() -> Clock:
    return Clock(Clock().now + 300 * DAY)


def prepared() -> str:
    url = new_url()
    fill(lambda **options: Memory.open(url, clock=Clock(), judge=ONE_AT_A_TIME, **options))
    return url


# ---------------------------------------------------------------------- the tables


def test_home_begins_every_key_and_nothing_computes(url: str, memory: Memory) -> None:
    with psycopg.connect(url) as connection:
        keys = connection.execute(
            "SELECT c.relname, (SELECT attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = i.indkey[0])"
            " FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique "
            "AND c.relnamespace = current_schema()::regnamespace AND c.relname LIKE 'sj_memory%'"
        ).fetchall()
        assert len({table for table, _ in keys}) >= 13
        assert {first for table, first in keys if table != "sj_memory_schema"} == {"home"}
        (n,) = connection.execute(
            "SELECT (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
            "WHERE c.relnamespace = current_schema()::regnamespace) + (SELECT count(*) FROM pg_class "
            "WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace)"
        ).fetchone() or (None,)
        assert n == 0
        computed = connection.execute(
            "SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid "
            "WHERE c.relnamespace = current_schema()::regnamespace"
        ).fetchall()
        assert {text for (text,) in computed} <= {"0", "''::text"}


def test_a_rule_of_the_tables_refuses_a_row(memory: Memory) -> None:
    lives(memory, "Oslo")
    with (
        pytest.raises(RowRefusedError, match="a constraint of the tables"),
        memory._parts.context.changing("trying", of=["acme"]) as change,
    ):
        change.connection.execute("UPDATE memory_fact SET confidence = 9 WHERE tenant = ?", ("acme",))
    assert memory.list(JANE)[0].confidence == 1.0  # type: ignore[union-attr]


def test_the_collection_has_to_be_the_memorys(url: str) -> None:
    with Index.open(url) as index:
        assert len(index) == 0
    with Memory.open(url) as memory:
        assert lives(memory, "Oslo").status == "written"
    with Index.open(url) as index:
        again = Memory(index)
        assert [hit.text for hit in again.recall("Oslo", JANE)] == ["Jane lives in Oslo"]
        assert again.recall("Oslo", JOE).texts == []
        again.close()

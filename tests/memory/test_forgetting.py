"""Forgotten data is gone: of every kind, in every collection, from the file's bytes; deletion events remain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import Index, Scope
from scrubjay.memory import Decay, EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate, Provenance
from scrubjay.memory.ledger.event_drafts import Draft
from scrubjay.memory.ledger.trace import Traces
from tests.memory.setting import (
    ACME,
    CODER,
    GLOBEX,
    JANE,
    JANES_CODER,
    JOE,
    OF_RECORDS,
    Clock,
    is_gone,
    lives,
    open_memory,
    row_count,
    texts,
)

OWNED = ["preference", "fact", "episode", "rejection", "run", "event", "distilled"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def fill(memory: Memory, scope: Scope, word: str) -> None:
    """Write records of every kind that contain a word that occurs nowhere else."""
    source = Provenance(f"run {word}", turn=1, author=f"author {word}", place=f"place {word}")
    fact = FactCandidate(
        f"fact {word} one", word, "is", evidence=f"evidence {word}", metadata={"m": f"meta {word}"}
    )
    memory.propose(fact, scope=scope, source=source)
    memory.propose(FactCandidate(f"fact {word} two", word, "is"), scope=scope, source=source)  # supersedes
    memory.propose(FactCandidate(f"low {word}", confidence=0.1), scope=scope, source=source)  # rejected
    memory.propose(EpisodeCandidate(f"episode {word}", f"outcome {word}"), scope=scope, source=source)
    if scope.user:
        memory.propose(PreferenceCandidate("tone", f"tone {word}"), scope=scope, source=source)
        memory.propose(PreferenceCandidate("tone", f"manner {word}"), scope=scope, source=source)
    gone = memory.propose(f"revoked {word}", scope=scope, source=source)
    memory.revoke(gone.id or "", reason=f"reason {word}", scope=scope, by=f"by {word}")
    traces = Traces(memory._parts.context.store, memory._parts.context.clock)
    traces.append(scope, f"run {word}", [Draft.of("user", f"said {word}", data={"d": f"data {word}"})])
    memory.index.upsert(f"plain {word}", f"a plain document of {word}", scope=scope)
    memory.index.collection("side").upsert(f"side {word}", f"a side document of {word}", scope=scope)


def test_everything_of_a_user_and_nothing_of_anybody_else(memory: Memory) -> None:
    owners = {
        JANE: "zanzibar",
        JANES_CODER: "xylophone",
        JOE: "quokka",
        CODER: "vuvuzela",
        GLOBEX_JANE: "yttrium",
    }
    for scope, word in owners.items():
        fill(memory, scope, word)
    memory.policy("refunds", "never", tenant="acme", by="boss")
    memory.known(JANE)
    before = {scope: everything(memory, scope) for scope in (JOE, CODER, GLOBEX_JANE)}
    forgotten = memory.forget("jane", tenant="acme", reason="asked for", by="jane")
    assert {
        what: forgotten.counts.get(what) for what in ("preference", "fact", "episode", "rejection", "trace")
    } == {
        "preference": 4,
        "fact": 6,
        "episode": 2,
        "rejection": 2,
        "trace": 2,
    }
    assert forgotten.counts["documents"] == 2 * (4 + 2) and forgotten.total == 16
    for scope in (JANE, JANES_CODER):
        assert everything(memory, scope) == everything(memory, Scope("acme", "nobody", scope.agent))
    assert {scope: everything(memory, scope) for scope in before} == before
    memory.admin.compact()
    for word in ("zanzibar", "xylophone"):
        assert is_gone(memory, JANE, word), word
    for word in ("quokka", "vuvuzela", "yttrium"):
        assert not is_gone(memory, JANE, word)
    assert (
        not memory.admin.verify_erased(JOE).clean and memory.admin.verify_erased(Scope("acme", "jane")).clean
    )
    (event,) = memory.admin.deletions("acme")
    assert (event.scope, event.reason, event.by, event.counts) == (
        JANE,
        "asked for",
        "jane",
        forgotten.counts,
    )


GLOBEX_JANE = Scope("globex", user="jane")


def everything(memory: Memory, scope: Scope) -> Any:
    """Return all answers for a scope."""
    sides = [memory.index, memory.index.collection("side"), memory.documents]
    return (
        memory.list(scope, hidden=True),
        memory.known(scope),
        memory.rejections(scope),
        [
            sorted(str(hit.id) for hit in index.search("of one two plain", scope=scope, k=50))
            for index in sides
        ],
        [run.run_id for run in Traces(memory._parts.context.store, memory._parts.context.clock).runs(scope)],
    )


def test_a_whole_tenant_goes_with_its_policies(memory: Memory) -> None:
    for scope, word in ((JANE, "zanzibar"), (CODER, "vuvuzela"), (GLOBEX_JANE, "yttrium")):
        fill(memory, scope, word)
    memory.policy("refunds", "never zanzibar", tenant="acme", by="boss")
    memory.policy("refunds", "always", tenant="globex", by="boss")
    memory.known(JANE)
    memory.propose(FactCandidate("Acme is zanzibar", "acme", "is"), scope=ACME, source="r1")
    memory.forget(tenant="acme")
    for table in [*OWNED[:4], "policy", "observation"]:
        assert row_count(memory, f"memory_{table}", "tenant = 'acme'") == 0, table
        assert table == "observation" or row_count(memory, f"memory_{table}", "tenant = 'globex'") > 0, table
    assert row_count(memory, "memory_log", "by LIKE '%zanzibar' OR by = 'boss'") == 1
    assert len(memory.known(JANE)) == 0 and len(memory.known(GLOBEX).policies) == 1
    memory.admin.compact()
    assert is_gone(memory, ACME, "zanzibar", "vuvuzela")
    assert memory.policy("refunds", "new", tenant="acme", by="boss").status == "written"


def test_an_agent_of_a_user(memory: Memory) -> None:
    for scope, word in ((JANE, "zanzibar"), (JANES_CODER, "xylophone")):
        fill(memory, scope, word)
    memory.forget("jane", tenant="acme", agent="coder")
    assert texts(memory, "fact", JANE) == ["fact zanzibar two"]
    assert len(memory.known(JANE).preferences) == 1  # it belongs to the user, not to the agent
    memory.forget(JANE)
    assert memory.admin.verify_erased(JANE).clean


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, TypeError),
        ({"user": "jane"}, TypeError),
        ({"agent": "coder"}, TypeError),
        ({"user": JANE, "tenant": "acme"}, TypeError),
        ({"tenant": ""}, ValueError),
        ({"tenant": 3}, TypeError),
    ],
)
def test_forget_with_incomplete_arguments_is_refused(
    memory: Memory, arguments: Any, error: type[Exception]
) -> None:
    fill(memory, JANE, "zanzibar")
    with pytest.raises(error):
        memory.forget(**arguments)
    assert texts(memory, "fact", JANE) == ["fact zanzibar two"] and memory.admin.deletions("acme") == []


def test_tenant_facts_survive_a_forgotten_user_if_others_said_them(memory: Memory) -> None:
    def said(what: str, *who: tuple[Scope, str]) -> str:
        id = ""
        for scope, run in who:
            candidate = FactCandidate(f"Acme {what}", "acme", what)
            source = Provenance(run, author=scope.user)
            id = memory.propose(candidate, scope=scope, source=source).id or ""
        return id

    shared = said("ships", (JOE, "run of joe"), (JANE, "run of jane"))  # promoted by jane's observation
    own = said("builds", (JANE, "run of jane"))
    confirmed = said("sells", (ACME, "import"))
    memory.confirm(confirmed, by="boss", scope=ACME)
    memory.forget(JANE)
    assert texts(memory, "acme", JOE) == ["Acme sells", "Acme ships"]
    assert memory.get(own, scope=JANE, hidden=True) is None
    why = memory.why(shared, scope=JOE)
    assert why is not None and "jane" not in str(why) and why.provenance.run == "forgotten"
    memory.admin.compact()
    assert is_gone(memory, JANE, "run of jane")
    assert said("builds", (JOE, "r9")) and texts(memory, "builds", JANE) == []  # jane's observation is gone
    memory.forget(JOE)  # that Acme ships has no observer left; that it sells was confirmed
    assert texts(memory, "acme", CODER) == ["Acme sells"]
    assert memory.get(shared, scope=ACME, hidden=True) is None


def test_other_openers_see_a_forgetting_at_once(memory: Memory, tmp_path: Path) -> None:
    """A second memory and a plain index over the file, both with everything loaded."""
    fill(memory, JANE, "zanzibar")
    path = tmp_path / "m.scrubjay"
    with open_memory(path, Clock()) as other, Index.open(path) as plain:
        assert len(other.recall("fact", JANE)) == 1 and len(plain.search("plain", scope=JANE)) == 1
        assert len(other.known(JANE)) == 1
        memory.forget(JANE)
        assert len(other.recall("fact", JANE)) == 0 and len(plain.search("plain", scope=JANE)) == 0
        assert len(other.known(JANE)) == 0 and other.list(JANE, hidden=True) == []


def test_searches_during_a_forgetting_see_all_or_nothing(memory: Memory) -> None:
    for round in range(15):
        memory.propose_all([(f"fact {i} of jane {round}", JANE, "r") for i in range(10)])
        seen: list[int] = []
        done = threading.Event()

        def look(seen: list[int] = seen, done: threading.Event = done) -> None:
            while not done.is_set():
                seen.append(len(memory.documents.search("fact", scope=JANE, k=20)))

        looker = threading.Thread(target=look)
        looker.start()
        memory.forget(JANE)
        assert len(memory.recall("fact", JANE)) == 0
        done.set()
        looker.join()
        assert set(seen) <= {0, 10}


def test_the_erasing_mark_is_removed_after_an_erasure(memory: Memory) -> None:
    fill(memory, JANE, "zanzibar")
    memory.forget(JANE)
    assert row_count(memory, "memory_meta", "name = 'erasing'") == 0


# ---------------------------------------------------------------------- little by little


def test_a_sweep_deletes_what_is_past_its_time(memory: Memory, clock: Clock) -> None:
    lives(memory, "Oslo", ttl=10)
    memory.propose(EpisodeCandidate("Went home", "success", ttl=10), scope=JANE, source="r")
    memory.prefer("tone", "brief", scope=JANE, ttl=10)
    keep = lives(memory, "Rome", scope=JOE, ttl=100).id
    assert memory.admin.sweep() == (swept := memory.admin.sweep()) and swept.expired == 0
    clock.now += 10_000_000
    assert memory.list(JANE) == [] and len(memory.list(JANE, hidden=True)) == 3
    swept = memory.admin.sweep()
    assert (swept.expired, swept.faded, swept.let_go) == (3, 0, 0)
    assert memory.list(JANE, hidden=True) == [] and row_count(memory, "memory_log", OF_RECORDS) == 1
    assert [record.id for record in memory.list(JOE)] == [keep] and len(memory.documents) == 1
    assert [(d.scope, d.reason, d.counts) for d in memory.admin.deletions("acme")] == [
        (JANE, "expired", {"preference": 1, "fact": 1, "episode": 1})
    ]
    assert memory.documents.admin.check().clean


def test_histories_are_kept_for_a_while(memory: Memory, clock: Clock) -> None:
    old = lives(memory, "Oslo").id or ""
    lives(memory, "Rome")
    memory.prefer("tone", "brief", scope=JANE)
    memory.prefer("tone", "long", scope=JANE)
    trip = memory.propose(EpisodeCandidate("Went home", "success"), scope=JANE, source="r").id or ""
    memory.revoke(trip, reason="x", scope=JANE)
    memory.propose(FactCandidate("x", confidence=0.1), scope=JANE, source="r")
    clock.pass_days(89)
    assert memory.admin.sweep().let_go == 0 and memory.why(old, scope=JANE) is not None
    clock.pass_days(2)
    assert memory.admin.sweep().let_go == 3 and memory.why(old, scope=JANE) is not None
    assert memory.rejections(JANE) == [] and len(memory.list(JANE, hidden=True)) == 3
    assert row_count(memory, "memory_log", OF_RECORDS) == 4


def test_ended_facts_are_deleted_after_history_days(tmp_path: Path, clock: Clock) -> None:
    with open_memory(tmp_path / "short.scrubjay", clock, history_days=30) as memory:
        old, stay = lives(memory, "Oslo"), memory._parts.context.clock()
        lives(memory, "Rome")
        memory.propose(FactCandidate("Jane is in Bern", valid_until=stay / 1e6 + 10), scope=JANE, source="r")
        clock.pass_days(29)
        assert memory.admin.sweep().let_go == 0 and len(memory.documents) == 3
        clock.pass_days(2)
        assert memory.admin.sweep().let_go == 2 and memory.why(old.id or "", scope=JANE) is None
        assert (
            len(memory.documents) == 1 and memory.admin.check() == [] and memory.documents.admin.check().clean
        )
    for wrong in (-1, "30", True):
        with pytest.raises((TypeError, ValueError), match="history_days: expected"):
            open_memory(tmp_path / "m.scrubjay", history_days=wrong)


def test_traces_go_by_their_retention(memory: Memory, clock: Clock) -> None:
    traces = Traces(memory._parts.context.store, clock)
    traces.append(JANE, "r1", [Draft.of("user", "hello")])
    clock.pass_days(91)
    assert memory.admin.sweep().traces == 1 and memory.admin.sweep().traces == 0


# ---------------------------------------------------------------------- decay


def aged(memory: Memory, clock: Clock, days: float) -> Any:
    clock.pass_days(days)
    return memory.admin.sweep()


def test_old_unused_weak_facts_sink_and_expire(memory: Memory, clock: Clock) -> None:
    weak = memory.propose(FactCandidate("tea: weak", confidence=0.7), scope=JANE, source="r").id or ""
    sure = memory.propose(FactCandidate("tea: sure tea tea", confidence=1.0), scope=JANE, source="r").id or ""
    assert memory.recall("tea weak", JANE).ids[0] == weak
    assert aged(memory, clock, 200).faded == 0
    assert aged(memory, clock, 50).faded == 1  # 0.7 * 2 ** (-250 / 180) < 0.3
    assert memory.recall("tea weak", JANE).ids == [sure, weak]  # although it matches better
    assert memory.recall("tea weak", JANE, k=1).ids == [sure]
    assert memory.recall("weak", JANE).ids == [weak]
    assert memory.get(weak, scope=JANE).faded  # type: ignore[union-attr]
    swept = aged(memory, clock, 450)  # 0.7 * 2 ** (-700 / 180) < 0.05
    assert (swept.expired, swept.faded) == (1, 0)
    assert memory.recall("tea weak", JANE).ids == [sure] and memory.get(weak, scope=JANE, hidden=True) is None
    assert aged(memory, clock, 100_000).expired == 0  # facts of high confidence stay


def test_facts_with_feedback_do_not_fade(memory: Memory, clock: Clock) -> None:
    used = memory.propose(FactCandidate("tea: used", confidence=0.7), scope=JANE, source="r").id or ""
    memory.propose(FactCandidate("tea: unused", confidence=0.7), scope=JANE, source="r")
    clock.pass_days(200)
    memory.feedback(used, scope=JANE)
    assert aged(memory, clock, 100).faded == 1
    assert not memory.get(used, scope=JANE).faded and memory.get(used, scope=JANE).uses == 1  # type: ignore[union-attr]
    assert aged(memory, clock, 600).expired == 1
    assert texts(memory, "tea", JANE) == ["tea: used"]


@pytest.mark.parametrize("how", ["used", "said again", "updated"])
def test_a_faded_fact_can_be_restored(memory: Memory, clock: Clock, how: str) -> None:
    weak = memory.propose(FactCandidate("tea: weak", confidence=0.7), scope=JANE, source="r").id or ""
    memory.propose(FactCandidate("tea: sure", confidence=1.0), scope=JANE, source="r")
    assert aged(memory, clock, 300).faded == 1
    assert memory.recall("weak tea", JANE).ids[-1] == weak
    if how == "used":
        memory.feedback(weak, False, scope=JANE)
        assert memory.recall("weak tea", JANE).ids[-1] == weak
        memory.feedback(weak, scope=JANE)
    elif how == "said again":
        memory.propose(FactCandidate("tea: weak", confidence=0.7), scope=JANE, source="r2")
    else:
        memory.update(weak, scope=JANE, confidence=0.71)
    assert memory.recall("weak tea", JANE).ids[0] == weak
    assert aged(memory, clock, 100).faded == 0
    assert memory.documents.admin.check().clean


def test_a_policy_of_decay_is_the_callers(tmp_path: Path, clock: Clock) -> None:
    never = Decay(sink_below=0, expire_below=0)
    with open_memory(tmp_path / "m.scrubjay", clock, decay=never) as memory:
        memory.propose(FactCandidate("tea", confidence=0.7), scope=JANE, source="r")
        swept = aged(memory, clock, 10_000)
        assert (swept.faded, swept.expired) == (0, 0)
    for wrong in (
        {"half_life_days": 0},
        {"sink_below": 0.1, "expire_below": 0.2},
        {"sink_below": 2},
        {"half_life_days": "x"},
    ):
        with pytest.raises((TypeError, ValueError)):
            Decay(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="retention_days"):
        open_memory(tmp_path / "m.scrubjay", retention_days=-1)


def test_feedback_counts_for_visible_records_only(memory: Memory) -> None:
    id = lives(memory, "Oslo").id or ""
    tone = memory.prefer("tone", "brief", scope=JANE).id or ""
    trip = memory.propose(EpisodeCandidate("Went home", "success"), scope=JANE, source="r").id or ""
    memory.feedback(trip, scope=JANE)
    for one, scope in ((id, JOE), (tone, JANE), ("fact_x", JANE)):
        with pytest.raises(KeyError):
            memory.feedback(one, scope=scope)
    with pytest.raises(TypeError, match="used"):
        memory.feedback(id, used="yes", scope=JANE)  # type: ignore[arg-type]
    assert memory.get(trip, scope=JANE).uses == 1  # type: ignore[union-attr]


def test_a_memory_needs_an_index_with_a_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="index: expected an Index with a file"):
        Memory(Index())
    with Index.open(tmp_path / "i.scrubjay") as index:
        memory = Memory(index)
        lives(memory, "Oslo")
        memory.close()
        assert len(index.collection("memory")) == 1  # the index belongs to the caller, and stays open
    text = tmp_path / "text"
    text.write_text("no database, but long enough to be looked at" * 9)
    with pytest.raises(scrubjay.StoreFormatError):
        Memory.open(text)


def test_replacing_an_expired_record_deletes_its_log(memory: Memory, clock: Clock) -> None:
    """A restated expired record is deleted with its log: an erasure of its user would not find the log any more."""
    said: list[Any] = [
        FactCandidate("Jane lives in Oslo", "Jane", "lives in", ttl=10),
        EpisodeCandidate("Moved to Oslo", "done", ttl=10),
        PreferenceCandidate("tone", "briefly", ttl=10),
    ]
    for candidate in said:
        memory.propose(candidate, scope=JANE, source=Provenance("r1", author="by-jane"))
    clock.now += 60_000_000
    for candidate in said:
        assert (
            memory.propose(candidate, scope=JANE, source=Provenance("r2", author="by-jane")).status
            == "written"
        )
    stale = memory.add("Jane works in Bergen", scope=JANE, ttl=10)
    other = memory.add("Jane works in Oslo", scope=JANE)
    clock.now += 60_000_000
    memory.update(other.id, scope=JANE, content="Jane works in Bergen")  # replaces the expired one
    assert memory.get(stale.id, scope=JANE) is None
    connection = memory._parts.context.store.reading_connection()
    assert row_count(memory, "memory_log") > 0
    orphans = connection.execute(
        "SELECT record, what FROM memory_log WHERE record NOT IN (SELECT id FROM memory_fact UNION "
        "SELECT id FROM memory_episode UNION SELECT id FROM memory_preference UNION SELECT id FROM memory_policy) "
        f"AND {OF_RECORDS}"
    ).fetchall()
    assert orphans == []
    memory.forget(tenant="acme", user="jane")
    assert row_count(memory, "memory_log", OF_RECORDS) == 0
    left = connection.execute("SELECT record, what, detail FROM memory_log").fetchall()
    assert left == [("", "forgotten", None)]

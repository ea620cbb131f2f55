"""Memory of encrypted tenants: no content is stored unencrypted, everything works, a lost key loses its tenant."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import CorruptIndexError, EncryptionError, Index, KeyErasedError, Scope
from scrubjay.backend import Backend
from scrubjay.memory import (
    EpisodeCandidate,
    FactCandidate,
    Memory,
    PreferenceCandidate,
    Provenance,
)
from tests.memory.setting import (
    ACME,
    GLOBEX,
    JANE,
    JOE,
    Clock,
    by_ann,
    lives,
    open_memory,
    row_count,
    texts,
)

pytest.importorskip("cryptography")

ROOT = Path(__file__).parents[2]
GLOBEX_JANE = Scope("globex", user="jane")


class Provider:
    """Keys that a test can change; by default every tenant has one."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes | Exception | None] = {}

    def __call__(self, tenant: str) -> bytes | None:
        key = self.keys.get(tenant, tenant.encode().ljust(32, b"k"))
        if isinstance(key, Exception):
            raise key
        return key


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "file"
    folder.mkdir()
    return folder / "memory.scrubjay"


def in_the_files(path: Path, words: list[str]) -> list[str]:
    """Return the words that occur in any byte of any file, in UTF-8 or UTF-16, in any case."""
    data = b"".join(file.read_bytes() for file in sorted(path.parent.iterdir())).lower()
    return [
        word for word in words if word.lower().encode() in data or word.lower().encode("utf-16-le") in data
    ]


# ---------------------------------------------------------------------- nothing unencrypted


def write_policies(memory: Memory, s: Callable[[], str]) -> None:
    memory.policy("refunds", f"Never promise {s()}.", tenant="acme", by="legal")
    memory.policy("refunds", f"Never promise {s()} either.", tenant="acme")


def write_preferences(memory: Memory, s: Callable[[], str]) -> None:
    memory.prefer("tone", f"Answer {s()}.", scope=JANE, provenance=Provenance("r", place=s()))
    second = memory.prefer("tone", f"Answer {s()}.", scope=JANE)
    memory.update(str(second.id), scope=JANE, text=s())


def write_facts(memory: Memory, s: Callable[[], str]) -> None:
    for _ in range(2):  # the second one supersedes the first
        candidate = FactCandidate(
            f"Jane lives in {s()}",
            "Jane sub93842",
            "lives pred7731",
            evidence=s(),
            metadata={s(): [s(), {"a": s()}]},
        )
        memory.propose(candidate, scope=JANE, source=Provenance("r", 1, "jane", s()))
    other = memory.propose(s(), scope=JANE, source="r")
    memory.update(str(other.id), scope=JANE, content=s(), subject=s(), predicate=s(), metadata={"b": s()})
    memory.revoke(str(other.id), reason=f"she said {s()}", scope=JANE)
    for run, user in (("r1", JANE), ("r2", JOE)):
        memory.propose(FactCandidate("acme has dog82731", "acme", "has zz48213"), scope=user, source=run)
    waiting = memory.propose(FactCandidate(s(), "acme", s()), scope=ACME, source="r1")
    memory.confirm(str(waiting.id), by="boss", scope=ACME)


def write_episodes(memory: Memory, s: Callable[[], str]) -> None:
    candidate = EpisodeCandidate(s(), s(), s(), (s(), s()), (s(),), metadata={"c": s()})
    done = memory.propose(candidate, scope=JANE, source=Provenance("r", place=s()))
    memory.update(str(done.id), scope=JANE, summary=s(), steps=(s(),), artifacts=(s(),))


def write_rejections(memory: Memory, s: Callable[[], str]) -> None:
    assert not memory.propose(FactCandidate(s(), confidence=0.1), scope=JANE, source="r")
    assert not memory.propose(PreferenceCandidate("tone", s(), "inferred"), scope=JANE, source="r")


def write_traces(memory: Memory, s: Callable[[], str]) -> None:
    with memory.session(JANE, "chat") as session:
        event = session.user(s(), data={"d": s()})
        session.tool(s(), author=s())
        session.assemble(s())
        session.retract(event.seq, s())
        session.user(f"I like {s()}")
    memory.distil("chat", lambda run: [FactCandidate(said.text) for said in run.utterances], scope=JANE)


def write_notes(memory: Memory, s: Callable[[], str]) -> None:
    folder = memory.index.path.parent.parent / "notes"  # type: ignore[union-attr]
    folder.mkdir()
    for content in (f"# {s()}\n\nFirst {s()}.\n", f"# {s()}\n\nThen {s()}.\n"):
        (folder / f"{SECRET_FILE}.md").write_text(content)
        memory.ingest(folder, scope=JANE)


SECRET_FILE = "file55512"
GIVEN = ["sub93842", "pred7731", "dog82731", "zz48213", SECRET_FILE]
WRITES = [
    write_policies,
    write_preferences,
    write_facts,
    write_episodes,
    write_rejections,
    write_traces,
    write_notes,
]


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "clear"])
def test_no_content_is_in_any_byte_after_any_write(path: Path, provider: Provider, sealed: bool) -> None:
    said: list[str] = []

    def secret() -> str:
        said.append(f"Sekret{len(said):04}x")
        return said[-1]

    with open_memory(path, keys=provider if sealed else None) as memory:
        for write in WRITES:
            n_before = len(said)
            write(memory, secret)
            found = in_the_files(path, said + GIVEN)
            if sealed:
                assert found == [], write.__name__
            else:  # the words are really written
                assert set(said[n_before:]) <= set(found), write.__name__
        report = memory.admin.verify_erased(GLOBEX, said + GIVEN)
        assert report.clean == sealed
        assert texts(memory, "dog82731", JANE) == ["acme has dog82731"]
        memory.admin.compact()
    found = in_the_files(path, said + GIVEN)
    assert (found == []) if sealed else set(GIVEN) <= set(found)


def test_equal_contents_have_hashes_that_cannot_be_guessed(path: Path, provider: Provider) -> None:
    query = "SELECT hash FROM memory_fact UNION SELECT topic FROM memory_fact UNION SELECT hash FROM memory_episode "
    query += "UNION SELECT hash FROM memory_observation"
    hashes = []
    for file, keys in (("sealed", provider), ("clear", None)):
        with open_memory(path.with_name(file), keys=keys) as memory:
            lives(memory, "Oslo")
            memory.propose(EpisodeCandidate("booked", "success"), scope=JANE, source="r")
            memory.propose(FactCandidate("acme has a dog", "acme", "has"), scope=JANE, source="r1")
            found = {hash for (hash,) in memory._parts.context.store.reading_connection().execute(query)}
            assert len(found) == 6
            hashes.append(found)
    assert not hashes[0] & hashes[1]


# ---------------------------------------------------------------------- everything works


def test_the_tests_of_memory_pass_with_keys(store: str) -> None:
    """Run a few suites, which reach every table, except tests that open no memory, or start a program without keys."""
    pass_with_keys(store, ["gate", "records", "forgetting", "session"] if store == "file" else ["session"])


@pytest.mark.long
def test_all_tests_of_memory_pass_with_keys(store: str) -> None:
    names = [
        "gate",
        "known",
        "supersession",
        "records",
        "forgetting",
        "session",
        "distil",
        "ingest",
        "schema",
    ]
    names += ["values", "global_policies"]
    if store == "postgres":
        names = ["gate", "forgetting", "session", "values"]
    pass_with_keys(store, names)


def pass_with_keys(store: str, names: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [f"tests/memory/test_{name}.py" for name in names]
        + ["-k", "not (another_process or killed)"],
        cwd=ROOT,
        env={**os.environ, "SCRUBJAY_TEST_KEYS": "1" if store == "file" else store},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_sealed_records_are_readable_by_another_opener(path: Path, provider: Provider) -> None:
    with open_memory(path, keys=provider) as memory:
        oslo = lives(memory, "Oslo", evidence="she said so", metadata={"n": 1})
        gone = memory.propose("Jane has a boat", scope=JANE, source="r")
        memory.revoke(str(gone.id), reason="sold", scope=JANE)
        memory.propose(FactCandidate("maybe", confidence=0.1), scope=JANE, source="r")
        did = memory.propose(
            EpisodeCandidate("Booked a train", "success", "travel", ("one",), ("ticket",)),
            scope=JANE,
            source="r",
        )
        memory.prefer("tone", "Briefly.", scope=JANE)
        with memory.session(JANE, "chat") as session:
            session.user("Where do I live?")
            prompt = session.assemble().text
    with open_memory(path, keys=provider) as memory:
        fact = memory.get(str(oslo.id), scope=JANE)
        assert (fact.content, fact.subject, fact.evidence, fact.metadata) == (  # type: ignore[union-attr]
            "Jane lives in Oslo",
            "Jane",
            "she said so",
            {"n": 1},
        )
        episode = memory.get(str(did.id), scope=JANE)
        assert (episode.outcome, episode.task_type, episode.steps) == ("success", "travel", ("one",))  # type: ignore[union-attr]
        assert lives(memory, "oslo.").status == "deduplicated"
        assert lives(memory, "Rome").superseded == oslo.id
        why = memory.why(str(gone.id), scope=JANE)
        assert why is not None
        assert [(event.action, event.detail) for event in why.events] == [
            ("written", None),
            ("revoked", "sold"),
        ]
        assert [(one.content, "confidence" in one.reason) for one in memory.rejections(JANE)] == [
            ("maybe", True)
        ]
        assert [one.text for one in memory.known(JANE).preferences] == ["Briefly."]
        replayed = memory.replay("chat", JANE).prompts()
        assert [(one.faithful, one.assembled.text) for one in replayed] == [(True, prompt)]  # type: ignore[union-attr]
        assert memory.admin.check() == []


def test_check_and_reindex_read_sealed_documents(path: Path, provider: Provider) -> None:
    with open_memory(path, keys=provider) as memory:
        lives(memory, "Oslo")
        assert memory.admin.check() == []
        Backend.of(memory.documents).engine.erase(JANE)
        assert len(memory.admin.check()) == 1
        assert memory.admin.reindex() == 1
        assert memory.admin.check() == []
        assert texts(memory, "Oslo", JANE) == ["Jane lives in Oslo"]


def test_a_sweep_ages_facts_and_leaves_those_whose_key_is_away(path: Path, provider: Provider) -> None:
    clock = Clock()
    with open_memory(path, clock, keys=provider) as memory:
        for scope in (JANE, GLOBEX_JANE):
            lives(memory, "Oslo", scope=scope, confidence=0.7)
            memory.propose(FactCandidate("soon over", ttl=60.0), scope=scope, source="r")
        clock.pass_days(300)
    provider.keys["globex"] = EncryptionError("away")
    with open_memory(path, clock, keys=provider) as memory:
        swept = memory.admin.sweep()
        assert (swept.expired, swept.faded) == (1, 1)
        assert row_count(memory, "memory_fact", "faded = 1 AND tenant = 'acme'") == 1
        assert memory.admin.deletions("globex") == []
        assert row_count(memory, "memory_fact", "tenant = 'globex'") == 2
    del provider.keys["globex"]
    with open_memory(path, clock, keys=provider) as memory:
        swept = memory.admin.sweep()
        assert (swept.expired, swept.faded) == (1, 1)
        (event,) = memory.admin.deletions("globex")
        assert event.counts == {"fact": 1}
        assert memory.index.admin.check().problems == []


# ---------------------------------------------------------------------- encrypting later


def fill(memory: Memory, scope: Scope = JANE) -> dict[str, str]:
    """Write an unencrypted record of every kind; return the ids by name."""
    tenant = Scope(scope.tenant)
    ids = {
        "oslo": lives(memory, "Oslo", scope=scope, evidence="sekret evidence").id,
        "sold": memory.propose("sekret boat", scope=scope, source="r").id,
        "episode": memory.propose(EpisodeCandidate("sekret task", "sekret end"), scope=scope, source="r").id,
        "policy": memory.policy("refunds", "sekret rule", tenant=tenant.tenant, by="legal").id,
        "preference": memory.prefer("tone", "sekret tone", scope=scope).id,
        "waiting": memory.propose(
            FactCandidate("sekret dog", tenant.tenant, "has"), scope=tenant, source="r1"
        ).id,
    }
    memory.revoke(str(ids["sold"]), reason="sekret reason", scope=scope)
    memory.propose(FactCandidate("sekret maybe", confidence=0.1), scope=scope, source="r")
    with memory.session(scope, "chat") as session:
        session.user("sekret words", data={"sekret": 1})
        session.tool("", author="sekret tool")
    return {name: str(id) for name, id in ids.items()}


def still_works(memory: Memory, ids: dict[str, str], scope: Scope = JANE) -> None:
    """Check that everything written by :func:`fill` is known again, and has its effects."""
    tenant = Scope(scope.tenant)
    assert lives(memory, "Oslo", scope=scope).id == ids["oslo"]
    task = EpisodeCandidate("sekret task", "other end")
    assert memory.propose(task, scope=scope, source="r").id == ids["episode"]
    assert memory.prefer("tone", "sekret tone", scope=scope).id == ids["preference"]
    assert memory.policy("refunds", "sekret rule", tenant=tenant.tenant).id == ids["policy"]
    dog = memory.propose(FactCandidate("sekret dog", tenant.tenant, "has"), scope=tenant, source=by_ann("r2"))
    assert (dog.id, dog.active) == (ids["waiting"], True)  # promoted by the earlier observation
    assert lives(memory, "Rome", scope=scope).superseded == ids["oslo"]
    why = memory.why(ids["sold"], scope=scope)
    assert why is not None
    assert why.events[-1].detail == "sekret reason"
    assert [one.content for one in memory.rejections(scope)] == ["sekret maybe"]
    assert [event.content for event in memory.replay("chat", scope).events] == ["sekret words", ""]
    known = memory.known(scope)
    assert [one.text for one in (*known.policies, *known.preferences)] == ["sekret rule", "sekret tone"]
    assert memory.admin.check() == []


@pytest.mark.parametrize("how", ["encrypt", "encrypt through the index", "first write"])
def test_a_tenant_that_was_in_the_clear_is_sealed_and_its_memory_goes_on(
    path: Path, provider: Provider, how: str
) -> None:
    with open_memory(path) as memory:
        ids = fill(memory)
        others = fill(memory, GLOBEX_JANE)
        schema = (
            memory._parts.context.store.reading_connection()
            .execute("SELECT name, sql FROM sqlite_master")
            .fetchall()
        )
    provider.keys["globex"] = None
    if how == "encrypt":
        with open_memory(path, keys=provider) as memory:
            assert memory.index.admin.encrypt("acme") >= 2
    elif how == "encrypt through the index":
        with Index.open(path, keys=provider) as index:
            index.admin.encrypt("acme")
    mode = "mixed" if how == "first write" else "sealed"
    with open_memory(path, keys=provider, encryption=mode) as memory:
        if how == "first write":
            still_works(memory, ids)
            memory.index.admin.encrypt("acme")  # the documents that were not rewritten
        now = (
            memory._parts.context.store.reading_connection()
            .execute("SELECT name, sql FROM sqlite_master")
            .fetchall()
        )
        assert set(schema) <= set(now)  # including triggers
        assert sealed_cells(memory, "acme") == []
        assert len(sealed_cells(memory, "globex")) == 10
        memory.forget(tenant="globex")
        memory.admin.compact()
        assert in_the_files(path, ["sekret"]) == []
        still_works(memory, ids) if how != "first write" else None
        assert memory.get(others["oslo"], scope=GLOBEX_JANE) is None


def sealed_cells(memory: Memory, tenant: str) -> list[Any]:
    """Return a tenant's cells that are unencrypted but should be encrypted."""
    record_tables = ("policy", "preference", "fact", "episode")
    columns = {
        "policy": "text",
        "preference": "text",
        "fact": "content",
        "episode": "summary",
        "rejection": "content",
    }
    clear = []
    execute = memory._parts.context.store.reading_connection().execute
    for table, column in columns.items():
        clear += execute(
            f"SELECT {column} FROM memory_{table} WHERE tenant = ? AND typeof({column}) = 'text'", (tenant,)
        ).fetchall()
    clear += execute(
        "SELECT content FROM memory_event JOIN memory_run ON key = memory_event.run WHERE memory_run.tenant = ? "
        "AND (typeof(content) = 'text' OR typeof(author) = 'text')",
        (tenant,),
    ).fetchall()
    for table in record_tables:
        clear += execute(
            f"SELECT l.detail FROM memory_log l JOIN memory_{table} r ON r.id = l.record WHERE r.tenant = ? "
            "AND typeof(l.detail) = 'text'",
            (tenant,),
        ).fetchall()
    return clear


def test_the_first_write_of_any_kind_after_the_key_seals_all_that_was_there(
    path: Path, provider: Provider
) -> None:
    writes: list[Callable[[Memory, dict[str, str]], Any]] = [
        lambda memory, ids: memory.prefer("colour", "blue", scope=JANE),
        lambda memory, ids: memory.update(
            ids["oslo"], scope=JANE, content="Jane moved", subject="", predicate=""
        ),
        lambda memory, ids: memory.confirm(ids["waiting"], by="boss", scope=ACME),
        lambda memory, ids: memory.revoke(ids["policy"], reason="old", scope=ACME),
        lambda memory, ids: memory.session(JANE, "other").user("hello"),
    ]
    for n, write in enumerate(writes):
        file = path.with_name(f"{n}.scrubjay")
        with open_memory(file) as memory:
            ids = fill(memory)
        with open_memory(file, keys=provider, encryption="mixed") as memory:
            assert [one.text for one in memory.known(JANE).preferences] == ["sekret tone"]  # still readable
            assert texts(memory, "Oslo", JANE) == ["Jane lives in Oslo"]
            write(memory, ids)
            assert sealed_cells(memory, "acme") == []
            assert len(memory.rejections(JANE)) == 1


def test_a_write_that_fails_seals_nothing_and_keeps_the_rules(path: Path, provider: Provider) -> None:
    with open_memory(path) as memory:
        fill(memory)
    with open_memory(path, keys=provider, encryption="mixed") as memory:

        def fail(*_: Any) -> None:
            raise RuntimeError("at the end")

        with pytest.raises(RuntimeError, match="at the end"):
            memory.propose_all([("new", JANE, "r")], also=fail)
        assert len(sealed_cells(memory, "acme")) == 10
        memory.prefer("colour", "blue", scope=JANE)
    with sqlite3.connect(path) as file:
        for change in (
            "UPDATE memory_policy SET text = x'ff01'",
            "UPDATE memory_event SET content = x'ff01'",
            "UPDATE memory_log SET detail = x'ff01'",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                file.execute(change)
    file.close()


def killed_before(path: Path, provider: Provider, step: int) -> bool:
    """Write with keys for the first time, in a child that kills itself before a statement; False if it completed."""
    child = os.fork()
    if child == 0:
        try:
            memory = open_memory(path, keys=provider, encryption="mixed")
            n_left = step

            def trace(statement: str) -> None:
                nonlocal n_left
                if statement.split(None, 1)[0].upper() not in ("SELECT", "PRAGMA", "--"):
                    n_left -= 1
                    if n_left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            memory._parts.context.store._writer.set_trace_callback(trace)
            memory.prefer("colour", "blue", scope=JANE)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_a_tenant_is_sealed_all_of_it_is_or_nothing(path: Path, provider: Provider) -> None:
    with open_memory(path) as memory:
        ids = fill(memory)
        query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'memory%' ORDER BY name"
        schema = memory._parts.context.store.reading_connection().execute(query).fetchall()
    step = 1
    while killed_before(path, provider, step):
        with open_memory(path, keys=provider, encryption="mixed") as memory:
            assert len(sealed_cells(memory, "acme")) == 10
            assert memory._parts.context.store.reading_connection().execute(query).fetchall() == schema
        step += 3
    assert step > 50
    with open_memory(path, keys=provider, encryption="mixed") as memory:
        assert sealed_cells(memory, "acme") == []
        assert memory._parts.context.store.reading_connection().execute(query).fetchall() == schema
        assert [one.text for one in memory.known(JANE).preferences] == ["blue", "sekret tone"]
        memory.delete(memory.known(JANE).preferences[0].id, scope=JANE)
        still_works(memory, ids)


def test_threads_of_two_openers_that_write_first_at_once_lose_nothing(path: Path, provider: Provider) -> None:
    with open_memory(path) as memory:
        ids = fill(memory)
        memory.propose_all([(f"note number {i}", JANE, "r") for i in range(30)])
    failed: list[Exception] = []

    def write(memory: Memory) -> None:
        try:
            for i in range(10):
                assert memory.propose(f"note number {i}", scope=JANE, source="r").status == "deduplicated"
                assert len(memory.known(JANE).preferences) == 1
                memory.session(JANE, "other").user("hi")
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    options: Any = {"keys": provider, "encryption": "mixed"}
    with open_memory(path, **options) as one, open_memory(path, **options) as two:
        threads = [threading.Thread(target=write, args=(memory,)) for memory in (one, two, one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert sealed_cells(one, "acme") == []
        assert [event.seq for event in two.replay("other", JANE).events] == [*range(1, 41)]
        still_works(two, ids)


def test_openers_without_keys_are_refused_after_encryption(path: Path, provider: Provider) -> None:
    with open_memory(path) as memory:
        ids = fill(memory)
        with Index.open(path, keys=provider) as index:
            index.admin.encrypt("acme")
        for write in (
            lambda: memory.prefer("colour", "blue", scope=JANE),
            lambda: memory.update(ids["preference"], scope=JANE, text="blue"),
            lambda: memory.session(JANE, "chat").user("hello"),
            lambda: lives(memory, "Rome"),
        ):
            with pytest.raises(EncryptionError):
                write()
    with open_memory(path, keys=provider) as memory:
        still_works(memory, ids)


@pytest.mark.parametrize("text", ["ÿ\x01abc", "a\x00b", "𝔘nicode ✓", "\u00ff", "x" * 20_000, '"]['])
def test_any_text_and_any_name_come_back(path: Path, provider: Provider, text: str) -> None:
    scope = Scope("tén\x01ant", user='jä"ne')
    candidate = FactCandidate(text, "s\x00", "ÿ", evidence=text, metadata={"k": text})
    with open_memory(path, keys=provider) as memory:
        id = str(memory.propose(candidate, scope=scope, source="r").id)
        found = memory.get(id, scope=scope)
        assert (found.content, found.evidence, found.metadata) == (text, text, {"k": text})  # type: ignore[union-attr]


# ---------------------------------------------------------------------- keys that are wrong, lost, changed, destroyed


def test_without_the_key_nothing_is_read_or_written_and_others_go_on(path: Path, provider: Provider) -> None:
    with open_memory(path, keys=provider) as memory:
        ids = fill(memory)
        provider.keys["globex"] = None
        lives(memory, "Oslo", scope=GLOBEX_JANE)
    wrong = Provider()
    wrong.keys["acme"] = b"w" * 32
    wrong.keys["globex"] = None
    away = Provider()
    away.keys["acme"] = OSError("away")
    away.keys["globex"] = None
    for keys in (wrong, away, None):
        with open_memory(path, keys=keys) as memory:
            for ask in (
                lambda memory: memory.known(JANE),
                lambda memory: memory.get(ids["oslo"], scope=JANE),
                lambda memory: memory.list(JANE),
                lambda memory: memory.why(ids["oslo"], scope=JANE),
                lambda memory: memory.rejections(JANE),
                lambda memory: memory.replay("chat", JANE),
                lambda memory: lives(memory, "Rome"),
                lambda memory: memory.prefer("colour", "blue", scope=JANE),
                lambda memory: memory.policy("colour", "blue", tenant="acme"),
                lambda memory: memory.session(JANE, "chat").user("hello"),
                lambda memory: memory.propose(FactCandidate("x", confidence=0.1), scope=JOE, source="r"),
            ):
                with pytest.raises(EncryptionError):
                    ask(memory)
            recalled = memory.recall("Oslo", JANE)  # a retrieval that cannot search reports it
            assert (recalled.texts, recalled.mode, recalled.degraded != ()) == ([], "none", True)
            assert texts(memory, "Oslo", GLOBEX_JANE) == ["Jane lives in Oslo"]
            assert lives(memory, "Oslo", scope=GLOBEX_JANE).status == "deduplicated"
    with open_memory(path, keys=provider) as memory:
        still_works(memory, ids)


def test_a_key_that_was_changed_opens_everything(path: Path, provider: Provider) -> None:
    with open_memory(path, keys=provider) as memory:
        ids = fill(memory)
        old, provider.keys["acme"] = provider("acme"), b"n" * 32
        memory.index.admin.rotate_key("acme", old or b"")
    with open_memory(path, keys=provider) as memory:
        still_works(memory, ids)


def test_a_destroyed_key_hides_its_tenant_like_an_erasure(path: Path, provider: Provider, store: str) -> None:
    with open_memory(path, keys=provider) as memory:
        ids = fill(memory)
        others = fill(memory, GLOBEX_JANE)
        assert memory.known(JANE).preferences
    provider.keys["acme"] = KeyErasedError("destroyed")
    with open_memory(path, keys=provider) as memory:
        known = memory.known(JANE)
        assert (known.policies, known.preferences) == ((), ())
        assert list(memory.recall("Oslo", JANE)) == []
        assert memory.list(JANE, hidden=True) == memory.rejections(JANE) == memory.policies("acme") == []
        assert memory.get(ids["oslo"], scope=JANE, hidden=True) is None
        assert memory.why(ids["oslo"], scope=JANE) is None
        assert memory.runs(JANE) == memory.admin.find_in_traces("sekret", JANE) == []
        assert memory._parts.slots.facts_about(JANE, "Jane", "lives in") == []
        assert not memory.delete(ids["oslo"], scope=JANE)
        assert memory.admin.check() == []
        with pytest.raises(KeyError):
            memory.replay("chat", JANE)
        for write in (
            lambda: lives(memory, "Rome"),
            lambda: memory.prefer("colour", "blue", scope=JANE),
            lambda: memory.revoke(ids["oslo"], reason="x", scope=JANE),
            lambda: memory.session(JANE, "chat").user("hello"),
        ):
            with pytest.raises(KeyErasedError):
                write()
        memory.admin.sweep()
        still_works(memory, others, GLOBEX_JANE)
        assert memory.forget(tenant="acme").counts["fact"] == 3
        assert memory.admin.verify_erased(ACME).clean
        if store == "file":
            assert row_count(memory, "memory_sealed", "tenant = 'acme'") == 0
        assert memory.index.admin.encrypted_tenants() == ["globex"]
    provider.keys["acme"] = b"f" * 32
    with open_memory(path, keys=provider) as memory:  # starts over with a new key
        assert lives(memory, "Oslo").status == "written"


def test_destroying_a_key_clears_the_caches_of_an_open_memory(
    path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrubjay.store.keys.encryption.KEY_SECONDS", 0.0)
    with open_memory(path, keys=provider) as memory:
        memory.prefer("tone", "sekret", scope=JANE)
        assert memory.known(JANE).preferences
        provider.keys["acme"] = KeyErasedError("destroyed")
        assert memory.known(JANE).preferences == ()
        with pytest.raises(KeyErasedError):
            memory.prefer("tone", "again", scope=JANE)


def test_a_page_of_changes_is_full_though_some_are_of_a_tenant_whose_key_was_destroyed(
    path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short page is the last one: a reader that pages to the end, such as a hook, must not stop before it."""
    monkeypatch.setattr("scrubjay.store.keys.encryption.KEY_SECONDS", 0.0)
    with open_memory(path, keys=provider) as memory:
        for number in range(4):
            memory.prefer(f"tone {number}", "plain", scope=JANE)
        for number in range(3):
            memory.prefer(f"tone {number}", "plain", scope=GLOBEX)
        provider.keys["acme"] = KeyErasedError("destroyed")
        pages = []
        since = 0
        while page := memory.admin.changes(since, limit=2):
            pages.append([event.scope for event in page])
            since = page[-1].cursor
        assert pages == [[GLOBEX, GLOBEX], [GLOBEX]]


def test_forgetting_one_user_keeps_the_key_that_others_and_traces_need(
    path: Path, provider: Provider
) -> None:
    with open_memory(path, keys=provider) as memory:
        with memory.session(JOE, "chat") as session:  # no other table with a tenant's name has rows of acme
            session.user("sekret words")
        memory.prefer("tone", "sekret", scope=JANE)
        memory.forget("jane", tenant="acme")
        memory.index.erase(ACME)  # documents only
    with open_memory(path, keys=provider) as memory:
        assert [event.content for event in memory.replay("chat", JOE).events] == ["sekret words"]
        memory.forget("joe", tenant="acme")
        memory.forget(tenant="acme")
        assert memory.index.admin.encrypted_tenants() == []


# ---------------------------------------------------------------------- tampering with the file


def forge(path: Path, *changes: str) -> None:
    """Change the file without the memory, and past the rules of its schema."""
    with sqlite3.connect(path) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        for change in changes:
            assert file.execute(change).rowcount > 0, change
    file.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memory_preference SET text = (SELECT text FROM memory_preference WHERE user = 'joe')",
        "UPDATE memory_preference SET text = (SELECT text FROM memory_policy LIMIT 1)",
        "UPDATE memory_preference SET text = 'put there'",
        "UPDATE memory_preference SET text = substr(text, 1, 20)",
        "UPDATE memory_preference SET user = 'jane', key = 'other' WHERE user = 'joe'",
        "UPDATE memory_preference SET key = 'other'",
        "UPDATE memory_preference SET text = 5",
        "UPDATE memory_policy SET key = 'other'",
        "UPDATE memory_policy SET version = 7",
        "UPDATE memory_policy SET text = 'put there'",
    ],
)
def test_inserted_moved_or_changed_sealed_rows_are_corrupt(
    path: Path, provider: Provider, change: str
) -> None:
    with open_memory(path, keys=provider) as memory:
        fill(memory)
        memory.prefer("tone", "joe's own", scope=JOE)
        memory.index.admin.encrypt("acme")
    forge(path, change)
    with open_memory(path, keys=provider) as memory, pytest.raises(CorruptIndexError):
        memory.known(JANE)


@pytest.mark.parametrize("column", ["content", "subject", "evidence", "metadata"])
def test_cells_of_two_facts_cannot_be_exchanged(path: Path, provider: Provider, column: str) -> None:
    with open_memory(path, keys=provider) as memory:
        one = memory.propose(
            FactCandidate("a", "b", "c", evidence="d", metadata={"e": 1}), scope=JANE, source="r"
        )
        two = memory.propose(
            FactCandidate("f", "g", "h", evidence="i", metadata={"j": 1}), scope=JANE, source="r"
        )
    forge(
        path,
        f"UPDATE memory_fact SET {column} = (SELECT {column} FROM memory_fact WHERE id = '{two.id}') "
        f"WHERE id = '{one.id}'",
    )
    with open_memory(path, keys=provider) as memory:
        with pytest.raises(CorruptIndexError):
            memory.get(str(one.id), scope=JANE)
        assert memory.get(str(two.id), scope=JANE) is not None


def test_events_and_details_cannot_be_exchanged(path: Path, provider: Provider) -> None:
    with open_memory(path, keys=provider) as memory:
        with memory.session(JANE, "chat") as session:
            session.user("yes")
            session.user("no")
        ids = []
        for content in ("a", "b"):
            ids.append(str(memory.propose(content, scope=JANE, source="r").id))
            memory.revoke(ids[-1], reason=content, scope=JANE)
    last = "(SELECT detail FROM memory_log ORDER BY number DESC LIMIT 1)"
    forge(
        path,
        "UPDATE memory_event SET content = (SELECT content FROM memory_event WHERE seq = 2)",
        f"UPDATE memory_log SET detail = {last} WHERE what = 'revoked'",
    )
    with open_memory(path, keys=provider) as memory:
        with pytest.raises(CorruptIndexError):
            memory.replay("chat", JANE)
        with pytest.raises(CorruptIndexError):
            memory.why(ids[0], scope=JANE)
        assert memory.why(ids[1], scope=JANE) is not None

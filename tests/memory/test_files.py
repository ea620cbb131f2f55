"""Memory in files: exports are lossless, and edits made by hand are recognised."""

from __future__ import annotations

import json
import random
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate, Provenance
from scrubjay.memory.exchange.markdown import _digest, _item, _written
from tests.data.keys import provider
from tests.memory.setting import ACME, GLOBEX, JANE, JANES_CODER, JOE, Clock, by_ann, lives, open_memory

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
TABLES = {
    "memory_policy": "number",
    "memory_preference": "id",
    "memory_fact": "id",
    "memory_episode": "id",
    "memory_observation": "run, user, fact",
    "memory_log": "number",
    "memory_rejection": "number",
    "memory_deletion": "number",
    "memory_run": "key",
    "memory_event": "run, seq",
    "memory_distilled": "run, first_seq",
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def tables(memory: Memory) -> dict[str, Any]:
    """Return all rows of all tables, without the numbers that a file assigns."""
    found = {}
    for table, order in TABLES.items():
        cursor = memory._parts.context.store.reading_connection().execute(
            f"SELECT * FROM {table} ORDER BY {order}"
        )
        names = [one[0] for one in cursor.description]
        found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        for row in found[table]:
            if table in ("memory_log", "memory_rejection", "memory_deletion"):
                del row["number"]
    return found


def fill(memory: Memory, clock: Clock) -> None:
    """Write records of every kind, status and relation, with values and both times."""
    rng = random.Random(1)
    for n in range(40):
        clock.pass_days(0.3)
        scope = rng.choice([JANE, JOE, JANES_CODER])
        said_at = (clock.now - rng.randrange(10) * 86_400_000_000) / 1e6
        options: dict[str, Any] = {"said_at": said_at} if n % 3 else {"valid_from": said_at - 1000}
        if n % 7 == 0:
            options |= {"relation": rng.choice(["corrects", "ends", "plans"]), "metadata": {"n": n}}
        if n % 5 == 0:
            options |= {"value": {"n": n}, "entities": ["Jane"], "importance": 0.5, "evidence": "said so"}
        lives(memory, f"place {n % 9}", scope, f"run-{n}", **options)
    memory.revoke(lives(memory, "Atlantis").id or "", reason="a joke", scope=JANE, by="jane")
    memory.propose(FactCandidate("x", confidence=0.1), scope=JANE, source=Provenance("r", 3, "jane"))
    memory.delete(memory.add("Jane sings", scope=JANE).id or "", scope=JANE, by="jane")
    memory.prefer("tone", "brief", scope=JANE)
    memory.prefer("tone", {"style": [1, 2.5, True]}, scope=JANE, ttl=1000)
    memory.prefer("tone", "formal", scope=ACME)
    memory.revoke(memory.prefer("hat", "red", scope=JANE).id or "", reason="no", scope=JANE)
    memory.policy("refunds", {"usd": 5}, tenant="acme", by="legal")
    old = memory.policy("refunds", "never", tenant="acme", by="legal").id
    memory.revoke(old or "", reason="wrong", scope=ACME)
    memory.propose({"kind": "policy", "key": "hours", "text": "nine to five"}, scope=ACME, source="r")
    trip = EpisodeCandidate(
        "Went home", "success", "travel", ["walk"], {"t": 1}, title="Home", completed_at=1e9
    )
    memory.propose(
        trip,
        scope=JANE,
        source="r",
    )
    episode = memory.propose(EpisodeCandidate("Sang", "success"), scope=ACME, source="r").id
    memory.revoke(episode or "", reason="no", scope=ACME)
    acme = FactCandidate("acme is old", "acme", "is")
    memory.propose(acme, scope=JOE, source="r1")
    memory.propose(acme, scope=JANE, source="r2")
    memory.propose(FactCandidate("acme is blue", "acme", "colour"), scope=ACME, source=by_ann("r1"))
    with memory.session(JANE, "chat-7") as session:
        session.user("Where do I live?")
        session.assemble(budget_tokens=900)
        session.model("Somewhere.")
    memory.distil("chat-7", lambda _: [FactCandidate("Jane asked")], scope=JANE)


def prompt_of(memory: Memory) -> str:
    (prompt,) = memory.replay("chat-7", JANE).prompts()
    assert prompt.assembled is not None and prompt.faithful
    return prompt.assembled.text


@pytest.mark.parametrize("encrypted", [(False, False), (True, False), (False, True), (True, True)])
def test_an_export_comes_back_row_by_row(
    tmp_path: Path, clock: Clock, encrypted: tuple[bool, bool], store: str
) -> None:
    if store == "postgres" and any(encrypted):
        pytest.skip("tenants are encrypted in files only")
    keys = [provider if one else None for one in encrypted]
    path = tmp_path / "acme.jsonl"
    with open_memory(tmp_path / "a.scrubjay", clock, keys=keys[0]) as memory:
        fill(memory, clock)
        lives(memory, "elsewhere", Scope("globex", user="jane"))
        n_lines = memory.files.export(path, scope=ACME)
        assert n_lines == len(path.read_text().splitlines()) and "globex" not in path.read_text()
        before = tables(memory) if store == "file" and not any(encrypted) else {}
        records = {scope: memory.list(scope, hidden=True) for scope in (ACME, JANE, JOE, JANES_CODER)}
        whys = {one.id: memory.why(one.id, scope=JANE) for one in records[JANE]}
        known = memory.known(JANE)
        recalled = [memory.recall(f"place {n}", JANE, k=20).texts for n in range(9)]
        replayed = prompt_of(memory)
        lines = list(memory.files.lines(ACME))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with open_memory(tmp_path / "b.scrubjay", clock, keys=keys[1]) as memory:
        done = memory.files.import_(path, scope=ACME)
        assert done.left_out == {} and done.same == {} and sum(done.written.values()) == n_lines - 1
        assert memory.admin.check() == [] and memory.documents.admin.check().clean
        for scope, found in records.items():
            assert memory.list(scope, hidden=True) == found
        assert {id: memory.why(id, scope=JANE) for id in whys} == whys
        assert memory.known(JANE) == known and memory.rejections(JANE)[0].run == "r"
        assert [memory.recall(f"place {n}", JANE, k=20).texts for n in range(9)] == recalled
        assert prompt_of(memory) == replayed
        assert list(memory.files.lines(ACME)) == lines
        if before:
            for rows in before.values():
                rows[:] = [row for row in rows if row.get("tenant") != "globex"]
            gone = [row for row in before["memory_log"] if row["what"] in ("forgotten", "expired")]
            before["memory_log"] = [row for row in before["memory_log"] if row not in gone]
            after = tables(memory)
            for rows in (*before.values(), *after.values()):
                for row in rows:
                    row.pop("key", None) if "n_events" in row else None
            assert after == before
        again = memory.files.import_(path, scope=ACME)
        assert (
            again.written == {} and again.left_out == {} and memory.list(JANE, hidden=True) == records[JANE]
        )
        assert memory.files.import_(path, scope=ACME).same == again.same


@pytest.mark.parametrize("name", ["memory-1.scrubjay", "memory-1-encrypted.scrubjay"])
def test_files_of_format_1_export_and_import_unchanged(tmp_path: Path, name: str) -> None:
    shutil.copy(GOLDEN / name, tmp_path / "old.scrubjay")
    keys = provider if "encrypted" in name else None
    with Memory.open(tmp_path / "old.scrubjay", keys=keys) as memory:
        memory.files.export(tmp_path / "acme.jsonl", scope=ACME)
        records, lines = memory.list(JANE, hidden=True), list(memory.files.lines(ACME))
    with Memory.open(tmp_path / "new.scrubjay") as memory:
        assert memory.files.import_(tmp_path / "acme.jsonl", scope=ACME).left_out == {}
        assert memory.list(JANE, hidden=True) == records and memory.admin.check() == []
        assert list(memory.files.lines(ACME)) == lines


def test_an_import_keeps_existing_records_and_decides_slots_from_all_facts(
    memory: Memory, tmp_path: Path, clock: Clock
) -> None:
    path = tmp_path / "jane.jsonl"
    with open_memory(tmp_path / "other.scrubjay", clock) as other:
        clock.pass_days(1)
        oslo = lives(other, "Oslo").id
        other.prefer("tone", "brief", scope=JANE)
        other.add("Jane owns a cello", scope=JANE)
        other.files.export(path, scope=JANE)
    clock.pass_days(1)
    rome = lives(memory, "Rome").id
    memory.prefer("tone", "long", scope=JANE)
    memory.add("Jane owns a cello", scope=JANE)
    done = memory.files.import_(path, scope=JANE)
    assert (
        done.written["fact"] == 1 and done.left_out == {"preference": 1, "fact": 1} and len(done.reasons) == 2
    )
    where = memory.history("Jane", "lives in", JANE)
    assert [(one.id, one.superseded_by) for one in where] == [(oslo, rome), (rome, None)]
    assert memory.known(JANE)["tone"].text == "long" and memory.admin.check() == []
    memory.update(oslo or "", scope=JANE, confidence=0.9) if where[0].status == "active" else None
    memory.revoke(rome or "", reason="x", scope=JANE)
    again = memory.files.import_(path, scope=JANE)
    assert (
        again.written == {}
        and again.left_out["fact"] >= 1
        and len(memory.history("Jane", "lives in", JANE)) == 2
    )


def test_an_export_is_of_one_scope(memory: Memory, tmp_path: Path, clock: Clock) -> None:
    fill(memory, clock)
    said = [json.loads(line) for line in memory.files.lines(JANE)]
    assert {one.get("user") for one in said if one["table"] in ("fact", "episode", "run")} == {"jane"}
    assert not [one for one in said if one["table"] == "policy"]
    assert {one["agent"] for one in said if one["table"] == "fact"} == {"", "coder"}
    assert len(list(memory.files.lines(GLOBEX))) == 1
    memory.files.export(tmp_path / "jane.jsonl", scope=JANE)
    with pytest.raises(ValueError, match=r"line 2: .*user: expected 'joe', got 'jane'"):
        memory.files.import_(tmp_path / "jane.jsonl", scope=JOE)
    with pytest.raises(FileExistsError):
        memory.files.export(tmp_path / "jane.jsonl", scope=JANE)
    assert memory.files.export(tmp_path / "jane.jsonl", scope=JANE, replace=True) == len(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: expected JSON"),
        ("[]", "line 1: expected an object"),
        ('{"table": "fact"}', "line 1: expected an export of memory of format 1"),
        ('{"table": "memory", "format": 9}', "line 1: expected an export of memory of format 1"),
        (
            '{"table": "memory", "format": 1}\n{"table": "fact", "id": "fact_1"}',
            "line 2: expected a row of 'fact'",
        ),
        (
            '{"table": "memory", "format": 1}\n{"table": "tea", "tenant": "acme", "user": "jane"}',
            "table: expected",
        ),
    ],
)
def test_other_files_are_refused(memory: Memory, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(ValueError, match=said):
        memory.files.import_(tmp_path / "f", scope=JANE)
    assert memory.list(JANE, hidden=True) == []


# ---------------------------------------------------------------------- Markdown


def exported_markdown(memory: Memory, tmp_path: Path, scope: Scope = JANE) -> str:
    memory.files.export_markdown(tmp_path / "m.md", scope=scope, replace=True)
    return (tmp_path / "m.md").read_text()


def import_markdown(memory: Memory, tmp_path: Path, text: str, scope: Scope = JANE, **options: Any) -> Any:
    (tmp_path / "m.md").write_text(text)
    return memory.files.import_markdown(tmp_path / "m.md", scope=scope, by="ann", **options)


@pytest.mark.parametrize("name", ["import_", "import_markdown", "import_from"])
def test_a_file_that_is_not_in_utf_8_is_refused_by_name(memory: Memory, tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_bytes(b"- Jane sails\n- caf\xe9\n")
    kind = ("mem0",) if name == "import_from" else ()
    with pytest.raises(ValueError, match=r"^path: expected a file in UTF-8, got other bytes: .*x$"):
        getattr(memory.files, name)(tmp_path / "x", *kind, scope=JANE)
    assert memory.list(JANE, hidden=True) == []


def test_files_with_a_byte_order_mark_are_read(memory: Memory, tmp_path: Path) -> None:
    """Editors on Windows write U+FEFF first."""
    memory.propose("Jane sails", scope=JANE, source="r")
    for name in ("export", "export_markdown"):
        getattr(memory.files, name)(tmp_path / name, scope=JANE)
        (tmp_path / name).write_text("\ufeff" + (tmp_path / name).read_text("utf-8"), "utf-8")
    assert memory.files.import_(tmp_path / "export", scope=JANE).same["fact"] == 1
    done = memory.files.import_markdown(tmp_path / "export_markdown", scope=JANE)
    assert (done.updated, done.proposed, done.left_alone) == ([], [], [])


def test_a_person_edits_deletes_and_adds(memory: Memory, tmp_path: Path) -> None:
    oslo = lives(memory, "Oslo").id or ""
    cello = memory.add("Jane owns a cello", scope=JANE).id or ""
    cat = memory.add("Jane has a cat\n\nand a dog", scope=JANE).id or ""
    tone = memory.prefer("to*ne", "brief", scope=JANE).id or ""
    trip = memory.add("Went home", scope=JANE, kind="episode", outcome="success").id or ""
    text = exported_markdown(memory, tmp_path)
    assert (
        import_markdown(memory, tmp_path, text).unchanged == 5 and exported_markdown(memory, tmp_path) == text
    )
    lines = [line for line in text.split("\n") if cello not in line or line.startswith("<!--")]
    edited = "\n".join(lines).replace("Oslo <!--", "Rome <!--").replace("brief", "long and\n  formal")
    edited = edited.replace("**success**: Went home", "**gave up**: Went home")
    edited = edited.replace("## Facts\n", "## Facts\n\n- Jane sings\n  and dances\n- **Jane** jumps\n")
    before = memory.list(JANE, hidden=True)
    tried = import_markdown(memory, tmp_path, edited, dry_run=True)
    assert memory.list(JANE, hidden=True) == before and set(tried.updated) == {oslo, tone, trip}
    done = import_markdown(memory, tmp_path, edited)
    assert set(done.updated) == {oslo, tone, trip} and done.revoked == tried.revoked == [cello]
    assert (
        done.unchanged == 1
        and done.left_alone == []
        and [one.status for one in done.proposed] == ["written"] * 2
    )
    assert sorted(one.text for one in memory.list(JANE)) == [
        "**Jane** jumps", "Jane has a cat\n\nand a dog", "Jane lives in Rome", "Jane sings\nand dances", "Went home",
        "long and\nformal",
    ]  # fmt: skip
    assert memory.get(cat, scope=JANE) is not None and memory.known(JANE)["to*ne"].text == "long and\nformal"
    why = memory.why(cello, scope=JANE)
    assert why is not None and (why.events[-1].action, why.events[-1].by) == ("revoked", "ann")
    text = exported_markdown(memory, tmp_path)
    assert (
        import_markdown(memory, tmp_path, text).unchanged == 6 and exported_markdown(memory, tmp_path) == text
    )


def test_records_changed_since_the_export_are_left_alone(memory: Memory, tmp_path: Path) -> None:
    ids = [
        memory.add(f"Jane has {what}", scope=JANE).id or "" for what in ("a cat", "a dog", "an owl", "a bee")
    ]
    text = exported_markdown(memory, tmp_path)
    for id in ids[:2]:
        memory.update(id, scope=JANE, content=f"Jane knows {id}")
    memory.revoke(ids[2], reason="x", scope=JANE)
    new = memory.add("Jane has a new wolf", scope=JANE).id or ""
    edited = "\n".join(line for line in text.split("\n") if "a dog" not in line).replace("a cat", "a cow")
    done = import_markdown(memory, tmp_path, edited.replace("an owl", "an elk"))
    assert done.updated == [] and done.revoked == [] and done.proposed == [] and done.unchanged == 1
    assert [id for id in ids[:3] if any(one.startswith(id) for one in done.left_alone)] == ids[:3]
    assert memory.get(new, scope=JANE) is not None


def test_a_line_that_is_no_item_is_named(memory: Memory, tmp_path: Path) -> None:
    memory.add("Jane skis", scope=JANE)
    text = exported_markdown(memory, tmp_path)
    assert import_markdown(memory, tmp_path, text).left_alone == []
    edited = text.replace("## Facts\n", "## Facts\n\nJane has a boat\n1. Jane has a car\n-Jane has a bike\n")
    done = import_markdown(memory, tmp_path, edited)
    place = edited.split("\n").index("Jane has a boat") + 1
    assert done.left_alone == [
        f"line {place + n}: expected an item, which begins with '- ', got '{line}'"
        for n, line in enumerate(["Jane has a boat", "1. Jane has a car", "-Jane has a bike"])
    ]
    assert done.proposed == [] and done.unchanged == 1


def test_policies_of_a_tenant_get_versions(memory: Memory, tmp_path: Path) -> None:
    memory.policy("refunds", "never", tenant="acme", by="legal")
    memory.policy("hours", "nine to five", tenant="acme", by="legal")
    text = exported_markdown(memory, tmp_path, ACME)
    lines = [line for line in text.split("\n") if "nine to five" not in line]
    done = import_markdown(memory, tmp_path, "\n".join(lines).replace("never", "sometimes"), ACME)
    assert len(done.updated) == len(done.revoked) == 1
    assert [(one.version, one.text, one.status) for one in memory.policies("acme", "refunds")] == [
        (1, "never", "active"),
        (2, "sometimes", "provisional"),  # needs a confirmation
    ]
    assert [one.status for one in memory.policies("acme", "hours")] == ["revoked"]


def test_mismatched_lines_and_scopes_are_named(memory: Memory, tmp_path: Path) -> None:
    memory.prefer("tone", "brief", scope=JANE)
    text = exported_markdown(memory, tmp_path)
    assert (
        "key: expected 'tone'"
        in import_markdown(memory, tmp_path, text.replace("**tone**", "**hat**")).left_alone[0]
    )
    with pytest.raises(ValueError, match="scope: expected that of the file"):
        import_markdown(memory, tmp_path, text, JOE)
    with pytest.raises(ValueError, match="path: expected the last line"):
        import_markdown(memory, tmp_path, "- Jane sings")
    memory.add("Jane sings", scope=JANE)
    memory.add("Jane dances", scope=JANE)
    clash = import_markdown(
        memory, tmp_path, exported_markdown(memory, tmp_path).replace("Jane sings <", "Jane dances <")
    )
    assert "already has this content" in clash.left_alone[0] and clash.updated == []


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.text(min_size=1, max_size=20),
    st.booleans(),
)
def test_any_text_is_read_as_it_was_written(text: str, key: str, by_key: bool) -> None:
    record: Any = type(
        "R", (), {"text": text.strip() or "x", "kind": "preference" if by_key else "fact", "key": key}
    )
    item = _written(record)
    id = f"{record.kind}_{'0' * 32}"
    for line_end in ("\n", " \n"):
        read = _item("fact", f"{item} <!-- {id} {_digest(item)} -->".replace("\n", line_end).rstrip())
        assert (read.id, read.digest, read.kind) == (id, None, record.kind)
    plain = record.text.replace("\r\n", "\n").replace("\r", "\n")
    found = _item(record.kind, item)
    assert found.text == plain.strip() and (found.head == key if by_key else True)


def test_preferences_of_the_tenant_are_not_in_a_users_file(memory: Memory, tmp_path: Path) -> None:
    memory.propose(PreferenceCandidate("tone", "brief"), scope=ACME, source="r")
    assert "brief" not in exported_markdown(memory, tmp_path) and "brief" in exported_markdown(
        memory, tmp_path, ACME
    )

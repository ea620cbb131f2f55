"""Policies of all tenants: who writes them, their precedence, and that nobody else can change them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import KeyErasedError, Scope
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.ledger import schema
from tests.memory.setting import ACME, CODER, DAY, EVERYWHERE, GLOBEX, JANE, START, Clock, open_memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


def rules(memory: Memory, scope: Scope = JANE) -> dict[str, Any]:
    return {one.key: one.value for one in memory.known(scope).policies}


def test_a_global_policy_is_in_force_for_every_tenant(memory: Memory) -> None:
    assert rules(memory) == {}
    outcome = memory.admin.global_policy("tone", {"forbidden": ["risk-free"]}, by="ops", type="guardrail")
    assert (outcome.status, outcome.active, outcome.reason) == ("written", True, "confirmed by ops")
    for scope in [*EVERYWHERE, Scope("made later", user="ann")]:
        (one,) = memory.known(scope).policies
        assert (one.tenant, one.scope, one.type, one.mandatory) == (None, None, "guardrail", False)
        assert one.value == {"forbidden": ["risk-free"]} and one.decided_by == "ops"
        assert memory.get(one.id, scope=scope) == one
        assert memory.list(scope, kinds=["policy"]) == [one]
        assert memory.list(scope, kinds=["policy"], exact=True) == []
        why = memory.why(one.id, scope=scope)
        assert why is not None and [event.action for event in why.events] == ["written", "confirmed"]
        assert '- tone: {"forbidden": ["risk-free"]}' in memory.assemble("?", scope).text
    assert memory.policies("acme") == [] and [one.id for one in memory.policies(None)] == [outcome.id]


def test_which_policy_of_a_key_counts(memory: Memory) -> None:
    memory.admin.global_policy("a", "global", by="ops")
    memory.admin.global_policy("b", "global", by="ops", mandatory=True)
    memory.admin.global_policy("c", "global", by="ops")
    assert rules(memory) == {"a": "global", "b": "global", "c": "global"}
    own = memory.policy("a", "own", tenant="acme", by="boss")
    assert own.reason == "confirmed by boss"
    shadowed = memory.policy("b", "own", tenant="acme", by="boss")
    assert "the global policy of this key is mandatory" in shadowed.reason
    assert rules(memory) == {"a": "own", "b": "global", "c": "global"}
    assert rules(memory, GLOBEX) == {"a": "global", "b": "global", "c": "global"}
    memory.admin.global_policy("b", "softer", by="ops")
    assert rules(memory)["b"] == "own", "the newest version says whether it is mandatory"
    memory.admin.global_policy("a", "harder", by="ops", mandatory=True)
    assert rules(memory)["a"] == "harder"
    assert [(one.key, one.version, one.mandatory) for one in memory.policies(None)] == [
        ("a", 1, False),
        ("a", 2, True),
        ("b", 1, True),
        ("b", 2, False),
        ("c", 1, False),
    ]
    assert memory.admin.global_policy("a", "harder", by="ops", mandatory=True).status == "deduplicated"
    assert memory.admin.global_policy("a", "harder", by="ops").status == "written"


def test_a_global_policy_has_its_times(memory: Memory, clock: Clock) -> None:
    day = DAY / 1e6
    now = START / 1e6
    memory.policy("a", "own", tenant="acme", by="boss")
    memory.admin.global_policy(
        "a", "campaign", by="ops", mandatory=True, effective_from=now + day, effective_until=now + 2 * day
    )
    told = []
    for _ in range(3):
        told.append(rules(memory)["a"])
        clock.pass_days(1)
    assert told == ["own", "campaign", "own"]


def test_caches_of_every_tenant_and_opener_notice(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.scrubjay"
    with open_memory(path, clock) as one, open_memory(path, clock) as two:
        for memory in (one, two):
            assert rules(memory) == rules(memory, GLOBEX) == {}
        id = str(one.admin.global_policy("a", 1, by="ops").id)
        for memory in (one, two):
            assert rules(memory) == rules(memory, GLOBEX) == {"a": 1}
            assert memory.known(JANE) is memory.known(JANE)
        two.admin.revoke_global_policy(id, reason="x", by="ops")
        for memory in (one, two):
            assert rules(memory) == rules(memory, GLOBEX) == {}


def test_no_scope_may_change_a_global_policy(memory: Memory, store: str) -> None:
    id = str(memory.admin.global_policy("a", 1, by="ops").id)
    for scope in EVERYWHERE:
        assert memory.delete(id, scope=scope) is False
        for call in (
            lambda scope=scope: memory.revoke(id, reason="x", scope=scope),
            lambda scope=scope: memory.confirm(id, by="x", scope=scope),
            lambda scope=scope: memory.update(id, scope=scope, text="x"),
        ):
            with pytest.raises(KeyError):
                call()
    with pytest.raises((TypeError, ValueError)):
        memory.policy("a", 2, tenant=None, by="x")  # type: ignore[arg-type]  # a tenant that is missing
    with pytest.raises(ValueError, match="tenant"):
        memory.policy("a", 2, tenant="", by="x")
    with pytest.raises(ValueError, match="mandatory: unknown field"):
        memory.propose({"kind": "policy", "key": "a", "mandatory": True}, scope=ACME, source="r")
    memory.forget(JANE)
    memory.forget(tenant="acme", names=store == "file")
    assert rules(memory) == {"a": 1} and memory.admin.verify_erased(ACME).clean
    assert memory.admin.sweep().let_go == 0 and rules(memory) == {"a": 1}


def test_a_global_policy_is_revoked_for_all(memory: Memory) -> None:
    own = str(memory.policy("a", "own", tenant="globex", by="boss").id)
    waits = str(memory.policy("b", "own", tenant="globex").id)
    id = str(memory.admin.global_policy("a", "global", by="ops").id)
    for other in (own, waits, "policy_x", "fact_x"):
        with pytest.raises(KeyError):
            memory.admin.revoke_global_policy(other, reason="x", by="ops")
    memory.admin.revoke_global_policy(id, reason="over", by="ops")
    with pytest.raises(KeyError):
        memory.admin.revoke_global_policy(id, reason="over", by="ops")
    assert rules(memory) == {} and rules(memory, GLOBEX) == {"a": "own"}
    assert memory.get(id, scope=JANE) is None
    why = memory.why(id, scope=JANE)
    assert why is not None
    assert [(event.action, event.by, event.detail) for event in why.events[-1:]] == [
        ("revoked", "ops", "over")
    ]
    assert memory.admin.global_policy("a", "global", by="ops").status == "written"
    assert [one.version for one in memory.policies(None, "a")] == [1, 2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": ""}, ValueError, "by: expected 1 to 1,000"),
        ({"by": None}, TypeError, "by: expected a str"),
        ({"key": ""}, ValueError, "key: expected some text"),
        ({"text": ""}, ValueError, "text: expected some text"),
        ({"text": b"x"}, TypeError, "text: expected a str"),
        ({"value": object()}, TypeError, "value: expected a JSON value"),
        ({"mandatory": 1}, TypeError, "mandatory: expected a bool"),
        ({"effective_from": 10, "effective_until": 10}, ValueError, "effective_until"),
        ({"source": ""}, ValueError, "source.run"),
    ],
    ids=repr,
)
def test_invalid_global_policies_are_refused(
    memory: Memory, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    given = {"key": "a", "text": "b", "by": "ops", **options}
    with pytest.raises(error, match=message):
        memory.admin.global_policy(given.pop("key"), given.pop("text"), **given)
    id = str(memory.admin.global_policy("a", "b", by="ops").id)
    for name in ("reason", "by"):
        with pytest.raises(ValueError, match=name):
            memory.admin.revoke_global_policy(id, **{"reason": "x", "by": "y", name: ""})
    assert [one.status for one in memory.policies(None)] == ["active"]


def test_records_say_under_which_policies_they_were_written(memory: Memory, store: str) -> None:
    memory.admin.global_policy("a", 1, by="ops")
    memory.policy("b", 1, tenant="acme")  # number 2, not confirmed
    id = str(memory.propose(FactCandidate("Jane sails"), scope=JANE, source="r").id)
    memory.admin.global_policy("c", 1, by="ops")
    other = str(memory.propose(FactCandidate("Jane rows"), scope=JANE, source="r").id)
    versions = [memory.get(one, scope=JANE).provenance.policy_version for one in (id, other)]  # type: ignore[union-attr]
    numbers = dict(_numbers(memory))
    assert versions == [numbers["a"], numbers["c"]]
    if store == "file":
        assert versions == [1, 3]


def _numbers(memory: Memory) -> Any:
    connection = memory._parts.context.store.reading_connection()
    return connection.execute("SELECT key, number FROM memory_policy").fetchall()


def test_no_key_is_asked_for(tmp_path: Path) -> None:
    """Writing and reading a global policy need no key; a tenant whose key was destroyed sees no policies."""
    asked: list[str] = []

    def provider(tenant: str) -> bytes | None:
        asked.append(tenant)
        if tenant == "gone":
            raise KeyErasedError(tenant)
        if not tenant:
            raise AssertionError("asked for the key of no tenant")
        return tenant.encode().ljust(32, b".")

    path = tmp_path / "m.scrubjay"
    for mode in ("sealed", "strict"):
        with open_memory(path, keys=provider, encryption=mode) as memory:
            memory.prefer("wish", 1, scope=JANE)
            memory.admin.global_policy(mode, {"x": "in the clear"}, by="ops")
            assert rules(memory)[mode] == {"x": "in the clear"}
            assert len(memory.known(Scope("gone"))) == 0
            assert memory.index.admin.check().clean and memory.documents.admin.check().clean
    assert "" not in asked
    assert b"in the clear" in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    with open_memory(path) as memory:  # without any keys
        assert rules(memory, GLOBEX) == {mode: {"x": "in the clear"} for mode in ("sealed", "strict")}


def test_a_backup_has_them(memory: Memory, clock: Clock, tmp_path: Path) -> None:
    memory.admin.global_policy("a", 1, by="ops")
    memory.index.admin.backup(tmp_path / "copy.scrubjay")
    with open_memory(tmp_path / "copy.scrubjay", clock) as copy:
        assert rules(copy, CODER) == {"a": 1}


def test_numbers_of_policies_go_on_after_an_upgrade(tmp_path: Path) -> None:
    """A record keeps the number of the policies under which it was written: no other policy may get it."""
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        memory.policy("a", 1, tenant="acme", by="x")
        memory.policy("b", 1, tenant="globex", by="x")
        memory.forget(tenant="globex")
    connection = sqlite3.connect(path)
    with connection:  # the tables have the present format; only the recorded format changes
        connection.execute("UPDATE memory_meta SET value = 1 WHERE name = 'format'")
    connection.close()
    with open_memory(path) as memory:
        memory.policy("c", 1, tenant="acme", by="x")
        with memory._parts.context.reading() as connection:
            numbers = connection.execute("SELECT number FROM memory_policy ORDER BY number").fetchall()
        assert numbers == [(1,), (3,)] and memory.admin.check() == []
    assert schema.FORMAT >= 2

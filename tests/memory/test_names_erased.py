"""Erased names of users and tenants: none is left in any byte, and every process learns of the erasure."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Scope
from scrubjay.memory import FactCandidate, Memory
from tests.data.postgres import as_superuser
from tests.memory.setting import GLOBEX, JOE, address_of, lives, open_memory, texts

NAME, TENANT = "Jané.Doe@example.org", "acme"
ACME, JANE = Scope(TENANT), Scope(TENANT, user=NAME)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "file"
    folder.mkdir()
    return folder / "memory.scrubjay"


def everywhere(path: Path, name: str) -> list[str]:
    """Return the forms in which a name occurs in the files, or in the rows of the database for which the path stands;
    found independently of the library."""
    raw = name.encode()
    forms = {
        "utf-8": raw,
        "utf-16": name.encode("utf-16-le"),
        "hex": raw.hex().encode(),
        "base64": base64.b64encode(raw)[: len(raw) // 3 * 4],
    }
    address = address_of(path)
    contents = (
        [file.read_bytes() for file in path.parent.iterdir()] if address == str(path) else dumped(address)
    )
    return [
        what
        for data in contents
        for what, form in forms.items()
        if form in data or form.lower() in data.lower()
    ]


def dumped(address: str) -> list[bytes]:
    """Return every table of a database as bytes: texts encoded, and bytes."""
    psycopg = pytest.importorskip("psycopg")
    contents = []
    with psycopg.connect(as_superuser(address), autocommit=True) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
        for (table,) in tables:
            for row in connection.execute(f"SELECT * FROM {table}", binary=True).fetchall():
                contents += [one if isinstance(one, bytes) else str(one).encode() for one in row]
    return contents


def fill(memory: Memory) -> None:
    """Write the name wherever it can occur."""
    lives(memory, "Oslo", scope=JANE)
    lives(memory, "Oslo", scope=Scope(TENANT, user=NAME, agent="bot"))
    lives(memory, "Rome", scope=JOE)
    memory.prefer("tone", "Answer briefly.", scope=JANE)
    memory.policy("refunds", "Never promise one.", tenant=TENANT, by=NAME)
    waiting = memory.propose(FactCandidate("acme has a dog", TENANT, "has"), scope=ACME, source="r1")
    memory.confirm(str(waiting.id), by=NAME, scope=ACME)
    gone = memory.propose("a boat", scope=JANE, source="r")
    memory.delete(str(gone.id), scope=JANE, by=NAME)
    memory.propose(FactCandidate("perhaps", confidence=0.1), scope=JANE, source="r")
    with memory.session(JANE, "chat") as session:
        session.user("hello")
    memory.index.upsert("note", "oak", scope=JANE, vector=np.ones(4))
    memory.index.feedback("note", query="which oak?", scope=JANE)
    memory.index.collection("side").upsert("note", "oak at the side", scope=JANE)
    memory.index.delete("note", scope=JANE)


def keys_of(encrypted: bool) -> dict[str, Any]:
    if encrypted:
        pytest.importorskip("cryptography")
    return {"keys": lambda tenant: b"k" * 32} if encrypted else {}


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_name_of_a_user_is_in_no_byte_of_any_file(path: Path, encrypted: bool) -> None:
    with (
        open_memory(path, **keys_of(encrypted)) as memory,
        open_memory(path, **keys_of(encrypted)) as other,
    ):
        fill(memory)
        assert texts(other, "Oslo", JANE) == ["Jane lives in Oslo"]
        assert other.known(JANE).preferences
        assert not memory.admin.verify_erased(JANE, names=[NAME]).clean
        assert "utf-8" in everywhere(path, NAME)
        counts = memory.forget(NAME, tenant=TENANT, by=NAME, names=True).counts
        assert counts["preference"] == 1
        assert counts["documents"] == 3
        for one in (memory, other):
            assert texts(one, "Oslo", JANE) == []
            assert one.known(JANE).preferences == ()
            assert texts(one, "Rome", JOE) == ["Jane lives in Rome"]
            assert str(one.policies(TENANT)[0].decided_by).startswith("erased-")
        memory.admin.compact()
        assert memory.admin.verify_erased(JANE, names=[NAME]).clean
        assert everywhere(path, NAME) == []
        deletions = memory.admin.deletions(TENANT)
        assert len({deletion.scope.user for deletion in deletions}) == 1, "they are known to be of one user"
        assert all(str(deletion.scope.user).startswith("erased-") for deletion in deletions)
        assert all(str(deletion.by).startswith("erased-") for deletion in deletions)
        assert all("erased-" in str(event.scope.user) for event in memory.index.admin.events())
        assert (
            memory.admin.check()
            == memory.index.admin.check().problems
            == memory.documents.admin.check().problems
            == []
        )
        # A new user of the same name is unrelated to the erased one.
        memory.prefer("tone", "Answer at length.", scope=JANE)
        lives(memory, "Paris", scope=JANE)
        for one in (memory, other):
            assert [known.text for known in one.known(JANE).preferences] == ["Answer at length."]
            assert texts(one, "Jane lives", JANE) == ["Jane lives in Paris", "acme has a dog"][:1]
    with open_memory(path, **keys_of(encrypted)) as memory:
        assert texts(memory, "Jane lives", JANE) == ["Jane lives in Paris"]
        assert memory.index.admin.check().problems == []


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_names_of_a_tenant_and_its_users_are_in_no_byte(path: Path, encrypted: bool, store: str) -> None:
    with open_memory(path, **keys_of(encrypted)) as memory:
        fill(memory)
        lives(memory, "Bern", scope=Scope("globex", user="ann"))
        memory.forget(tenant=TENANT, names=True)
        memory.admin.compact()
        assert memory.admin.verify_erased(ACME, names=[NAME, TENANT, "joe"]).clean
        assert everywhere(path, NAME) == everywhere(path, TENANT) == []
        assert texts(memory, "Bern", Scope("globex", user="ann")) == ["Jane lives in Bern"]
        assert memory.index.admin.check().problems == []
        if store == "file":
            assert TENANT not in memory.index.admin.encrypted_tenants()
        lives(memory, "Oslo", scope=JANE)
        assert texts(memory, "Oslo", JANE) == ["Jane lives in Oslo"]


def test_without_the_option_names_stay_in_events(path: Path) -> None:
    with open_memory(path) as memory:
        fill(memory)
        memory.forget(NAME, tenant=TENANT)
        memory.admin.compact()
        assert not memory.admin.verify_erased(JANE, names=[NAME]).clean
        assert memory.admin.deletions(TENANT)[-1].scope == JANE
        # A name that an erasure kept can be removed later.
        memory.forget(NAME, tenant=TENANT, names=True)
        memory.admin.compact()
        assert memory.admin.verify_erased(JANE, names=[NAME]).clean


PROGRAM = """
import sys
from scrubjay import Index, Scope
from scrubjay.backend import Backend
scope = Scope("acme", user=sys.argv[2])
options = {"max_stale": 0} if sys.argv[1].startswith("postgresql:") else {}
with Index.open(sys.argv[1], **options) as index:
    print(len(index.search("oak", scope=scope)), flush=True)
    sys.stdin.readline()
    engine = Backend.of(index).engine
    print(len(index.search("oak", scope=scope)), index.count(scope), engine.native.count(scope), flush=True)
    sys.stdin.readline()
    print([hit.id for hit in index.search("oak", scope=scope)], flush=True)
    print(index.admin.check().problems, flush=True)
"""


def test_another_process_learns_of_the_erasure_of_a_name(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many({"id": i, "text": f"oak {i}", "scope": JANE} for i in range(5))
        index.collection("side").upsert("s", "oak", scope=JANE)
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address_of(path), NAME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "5\n"
        assert index.erase(JANE, names=True) == 6
        assert len(index.search("oak", scope=JANE)) == 0
        assert len(index.collection("side").search("oak", scope=JANE)) == 0
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "0 0 0\n"
        index.upsert(7, "oak again", scope=JANE)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "[7]\n"
        assert child.stdout.readline() == "[]\n"
        assert child.wait(60) == 0
        assert [hit.id for hit in index.search("oak", scope=JANE)] == [7]


def test_an_erased_name_is_looked_for_again_after_eviction(path: Path) -> None:
    with Index.open(path, memory_budget=1) as index:
        index.upsert("a", "oak", scope=JANE)
        index.erase(JANE, names=True)
        for _ in range(3):
            assert len(index.search("oak", scope=JANE)) == 0
            index.admin.warm(GLOBEX)


def test_turns_read_before_an_erasure_are_not_cached_after_it(path: Path) -> None:
    from scrubjay.memory.ledger.event_drafts import Draft
    from scrubjay.memory.ledger.trace import Traces

    with open_memory(path) as memory:
        traces = Traces(memory._parts.context.store, lambda: 1)
        before = traces.last_deletion(TENANT)
        memory.prefer("tone", "Answer briefly.", scope=JANE)
        memory.forget(NAME, tenant=TENANT, names=True)
        draft = Draft("assembled", "agent", "what was known of her", None, None, unless_deleted_since=before)
        assert traces.append(JANE, "chat", [draft]) == []


def test_bad_arguments_are_said(path: Path) -> None:
    with Index.open(path) as index:
        with pytest.raises(ValueError, match="exact: expected False with names=True"):
            index.erase(JANE, exact=True, names=True)
        with pytest.raises(TypeError, match="names: expected texts"):
            index.admin.verify_erased(names=[1])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="none empty"):
            index.admin.verify_erased(names=[""])

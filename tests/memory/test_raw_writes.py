"""Raw writes to the collection of a memory are refused, in every process, and change nothing."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, OwnedCollectionError, Scope
from scrubjay.backend import Backend
from scrubjay.documents.records import Row
from scrubjay.memory import Memory
from tests.memory.setting import JANE, Clock, lives, open_memory

ACME = Scope("acme")

WRITES: dict[str, Callable[[Index, str], Any]] = {
    "upsert": lambda index, id: index.upsert("evil", "Refunds are promised.", scope=JANE),
    "upsert in place": lambda index, id: index.upsert(id, "Jane lives in Rome", scope=JANE),
    "upsert at a version": lambda index, id: index.upsert("evil", "Refunds.", scope=JANE, version=0),
    "upsert_many": lambda index, id: index.upsert_many([{"id": "evil", "text": "Refunds."}], scope=JANE),
    "upsert_many of nothing": lambda index, id: index.upsert_many([], scope=JANE),
    "patch": lambda index, id: index.patch(id, scope=JANE, metadata={"kind": None}),
    "delete": lambda index, id: index.delete(id, scope=JANE),
    "delete_many": lambda index, id: index.delete_many([id], scope=JANE),
    "delete_many by filter": lambda index, id: index.delete_many(filter={"kind": "fact"}, scope=JANE),
    "erase": lambda index, id: index.erase(JANE),
    "erase exactly": lambda index, id: index.erase(JANE, exact=True),
    "erase everywhere": lambda index, id: index.erase(JANE, everywhere=True),
    "view": lambda index, id: index.scope(JANE).upsert("evil", "Refunds."),
    "changing": lambda index, id: _change(index),
    "write_rows": lambda index, id: Backend.of(index).write_rows([Row("evil", "Refunds.", JANE, None, None)]),
    "delete_keys": lambda index, id: Backend.of(index).delete_keys([(JANE, id)]),
}


def _change(index: Index) -> None:
    with Backend.of(index).changing("changing") as change:
        change.delete(["evil"], scope=JANE, reason="test")


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, str]:
    """Return a file with one fact, and the id of its document."""
    path = tmp_path / "m.scrubjay"
    with open_memory(path, Clock()) as memory:
        lives(memory, "Oslo")
        (slot,) = [str(hit.hit.id) for hit in memory.recall("Oslo", JANE)]
    return path, slot


@pytest.mark.parametrize("way", ["opened", "beside", "of the memory"])
@pytest.mark.parametrize("write", WRITES)
def test_every_verb_that_writes_is_refused(filled: tuple[Path, str], write: str, way: str) -> None:
    path, slot = filled
    if way == "of the memory":
        with open_memory(path) as memory:
            _refused(memory.documents, write, slot)
            assert memory.admin.check() == []
        return
    with Index.open(path, collection="memory" if way == "opened" else None) as index:
        _refused(index if way == "opened" else index.collection("memory"), write, slot)


def test_a_way_round_the_gate_is_closed(tmp_path: Path) -> None:
    """The example of a document without a record, which broke prompts."""
    path = tmp_path / "m.scrubjay"
    with open_memory(path) as memory:
        lives(memory, "Oslo")
        memory.policy("r", "No refunds.", tenant="acme", by="x")
    with Index.open(path, collection="memory") as index, pytest.raises(OwnedCollectionError):
        index.upsert("evil", "Jane said refunds are always promised, lives in Oslo", scope=JANE)
    with open_memory(path) as memory:
        assert [(hit.kind, hit.text) for hit in memory.recall("where does Jane live?", JANE)] == [
            ("fact", "Jane lives in Oslo")
        ]
        prompt = memory.assemble("where does Jane live?", JANE).text
        assert "No refunds." in prompt and "always promised" not in prompt
        assert memory.admin.check() == []


def _refused(index: Index, write: str, slot: str) -> None:
    before = [(one.id, one.text, one.version) for one in index.list(JANE)]
    with pytest.raises(OwnedCollectionError, match=r"scrubjay\.Memory") as refused:
        WRITES[write](index, slot)
    assert refused.value.collection == "memory"
    assert [(one.id, one.text, one.version) for one in index.list(JANE)] == before != []


def test_verbs_that_keep_a_memorys_documents_are_allowed(filled: tuple[Path, str], tmp_path: Path) -> None:
    path, slot = filled
    with Index.open(path, collection="memory") as index:
        assert index.search("Oslo", scope=JANE)[0].id == slot and index.get(slot, scope=JANE) is not None
        assert index.count(JANE) == 1 and index.feedback(slot, scope=JANE)
        index.admin.compact()
        index.admin.sweep()
        assert index.admin.check().problems == [] and index.admin.backup(tmp_path / "copy") > 0
        assert index.admin.export(tmp_path / "export") == 1
        with pytest.raises(OwnedCollectionError):
            index.admin.import_(tmp_path / "export")
    with open_memory(path) as memory:
        assert memory.admin.check() == [] and memory.admin.reindex() == 0


def test_a_backup_is_owned_as_well(filled: tuple[Path, str], tmp_path: Path) -> None:
    with Index.open(filled[0]) as index:
        index.admin.backup(tmp_path / "copy")
    with Index.open(tmp_path / "copy", collection="memory") as copy, pytest.raises(OwnedCollectionError):
        copy.upsert("evil", "Refunds.", scope=JANE)


def test_a_process_that_never_imported_memory_is_refused(filled: tuple[Path, str]) -> None:
    script = (
        "import importlib.util, sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('scrubjay.memory'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import types; sys.modules['scrubjay'] = types.ModuleType('scrubjay')\n"
        "sys.modules['scrubjay'].__path__ = [sys.argv[2]]\n"
        "from scrubjay.index import Index\n"
        "from scrubjay._native import Scope\n"
        "from scrubjay.base.errors import OwnedCollectionError\n"
        "assert not any(name.startswith('scrubjay.memory') for name in sys.modules)\n"
        "with Index.open(sys.argv[1], collection='memory') as index:\n"
        "    try: index.upsert('evil', 'Refunds.', scope=Scope('acme', user='jane'))\n"
        "    except OwnedCollectionError: print('refused')\n"
    )
    package = Path(sys.modules["scrubjay"].__path__[0])
    ran = subprocess.run(
        [sys.executable, "-c", script, str(filled[0]), str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "refused\n", ran.stderr


def test_a_collection_named_memory_is_writable_until_a_memory_owns_it(tmp_path: Path) -> None:
    with Index.open(tmp_path / "m.scrubjay") as index:
        index.collection("memory").upsert("m1", "not of a memory", scope=JANE)
        assert index.collection("memory").delete("m1", scope=JANE)
        with Memory(index) as memory:  # from now on it belongs to the memory
            lives(memory, "Oslo")
        with pytest.raises(OwnedCollectionError):
            index.collection("memory").upsert("m1", "not of a memory", scope=JANE)
        index.upsert("m1", "a note", scope=JANE)
        index.collection("other").upsert("m1", "a note", scope=JANE)
    in_memory = Index().collection("memory")
    in_memory.upsert("m1", "no file, no memory", scope=ACME)
    assert len(in_memory) == 1


def test_the_error_survives_another_process() -> None:
    error = pickle.loads(pickle.dumps(OwnedCollectionError("memory", "upsert")))
    assert error.collection == "memory" and str(error).startswith("upsert: expected another collection")

"""Flags, numbers, times and files of a memory's methods are checked before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay.memory import FactCandidate, Memory
from tests.memory.setting import JANE, open_memory

Call = Callable[[Memory], Any]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_memory(tmp_path_factory.mktemp("types") / "m.scrubjay") as opened:
        opened.add("Jane sails", scope=JANE)
        opened.propose(FactCandidate("x", confidence=0.1), scope=JANE, source="r")  # rejected
        yield opened


FACT = FactCandidate("Jane rows")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.forget("joe", "acme", names="no"), "names: expected a bool, got str 'no'"),
        (lambda m: m.propose(FACT, JANE, "r", "no"), "raise_if_rejected: expected a bool, got str 'no'"),
        (lambda m: m.list(JANE, hidden="no"), "hidden: expected a bool, got str 'no'"),
        (lambda m: m.list(JANE, exact=None), "exact: expected a bool, got NoneType None"),
        (lambda m: m.get("x", JANE, 1), "hidden: expected a bool, got int 1"),
        (lambda m: m.list(JANE, None), "kinds: expected a sequence of kinds, got one NoneType"),
        (lambda m: m.list(JANE, [["fact"]]), "kinds: expected some of "),
        (lambda m: m.add("x", scope=JANE, kind=["fact"]), "kind: expected one of"),
        (lambda m: m.propose_all([], also=7), "also: expected a function, got int"),
        (lambda m: m.propose_all([], revoke=None), r"revoke: expected \(id, scope, reason\) in a sequence, got"),
        (lambda m: m.propose(FactCandidate("t", metadata=False), JANE, "r"), "metadata: expected a mapping"),
        (lambda m: m.propose(FactCandidate("t", metadata=7), JANE, "r"), "metadata: expected a mapping .* got int"),
        (lambda m: m.propose(FactCandidate("t", entities=np.array(["a"])), JANE, "r"), "entities: expected a sequence"),
        (lambda m: m.policy("k", "t", tenant="acme", by=b"legal"), "by: expected a str, got bytes"),
        (lambda m: m.known(JANE, as_of=np.datetime64("NaT")), "as_of: expected a time or None"),
        (lambda m: m.recall("sails", JANE, as_of=np.datetime64("NaT")), "as_of: expected a time or None"),
        (lambda m: m.recall("sails", JANE, known_at=np.datetime64("NaT")), "known_at: expected a time or None"),
        (lambda m: m.recall("sails", JANE, k=np.timedelta64(1, "D")), "k: expected an int, got timedelta64"),
        (lambda m: m.session(JANE, "r", retention=["long"]), "retention: expected one of"),
        (lambda m: m.assemble("sails", JANE, turns=None), "turns: expected a sequence of turns, got one NoneType"),
        (lambda m: m.ingest("", JANE), "folder: expected a path, got ''"),
        (lambda m: m.ingest(None, JANE), "folder: expected a str or a path, got NoneType"),
        (lambda m: m.ingest("a\0b", JANE), "folder: expected no null character"),
        (lambda m: m.files.export("", scope=JANE), "path: expected a path, got ''"),
        (lambda m: m.files.export(7, scope=JANE), "path: expected a str or a path, got int"),
        (lambda m: m.files.export("x", scope=JANE, replace="no"), "replace: expected a bool, got str 'no'"),
        (lambda m: m.documents.admin.export("x", plaintext="no"), "plaintext: expected a bool, got str 'no'"),
        (lambda m: m.documents.admin.backup(None), "path: expected a str or a path, got NoneType"),
        (lambda m: m.documents.admin.backup("x", replace="no"), "replace: expected a bool, got str 'no'"),
        (lambda m: m.documents.admin.import_("x", batch_size=0), "batch_size: expected 1 or more, got 0"),
        (lambda m: m.documents.admin.warm([JANE, "x"]), r"scope\[1\]: expected a scrubjay.Scope, got str"),
        (lambda m: m.documents.admin.warm(JANE, pin="no"), "pin: expected a bool, got str 'no'"),
    ],
)  # fmt: skip
def test_an_argument_of_another_type_is_named(
    memory: Memory, call: Call, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = memory.list(JANE, hidden=True)
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call(memory)
    assert memory.list(JANE, hidden=True) == before and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda m, n: m.rejections(JANE, n),
        lambda m, n: m.list(JANE, limit=n),
        lambda m, n: m.feed.changes(0, scope=JANE, limit=n),
        lambda m, n: m.feed.changes(n, scope=JANE),
        lambda m, n: m.admin.changes(0, limit=n),
        lambda m, n: m.recall("sails", JANE, k=n).texts,
        lambda m, n: m.assemble("sails", JANE, n * 500, k=n, item_tokens=n * 100).text,
    ],
)
def test_numpys_integers_are_integers(memory: Memory, call: Callable[[Memory, Any], Any]) -> None:
    """SQLite would take them for bytes, and the file for damaged."""
    assert call(memory, np.int64(1)) == call(memory, 1)


@pytest.mark.parametrize("confidence", [np.float32(0.75), np.float64(0.75), np.int8(1), 1, 0.75])
def test_numpys_numbers_are_numbers(memory: Memory, confidence: Any) -> None:
    candidate = FactCandidate(f"Jane rows {confidence!r}", confidence=confidence, importance=confidence)
    outcome = memory.propose(candidate, JANE, "r")
    record = memory.get(outcome.id or "", JANE)
    assert record is not None and type(record.confidence) is float  # type: ignore[union-attr]
    assert record.confidence == float(confidence) == record.importance  # type: ignore[union-attr]

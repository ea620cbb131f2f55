"""Finds which of several worlds a file holds, and checks that rows, words and vectors agree."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import EmbedderMismatchError, Query, Scope
from scrubjay.backend import Backend
from scrubjay.memory import Decay, Memory
from scrubjay.memory.ledger.context import COLLECTION
from scrubjay.store.engine import DurableEngine
from tests.crash import workload
from tests.crash.both_workload import EMBEDDERS, World, status_of
from tests.data.keys import provider
from tests.memory.model import key_of, seen_from
from tests.memory.setting import EVERYWHERE, ONE_AT_A_TIME, Clock

ALL = 1000  # more than the number of records
RECORDS = ("fact", "episode")


class DisagreementError(AssertionError):
    """The file has none of the possible states, or its parts disagree."""


def open_memory(path: Path, clock: Clock, durability: str, keyed: bool, worlds: list[World]) -> Memory:
    """Open a file with the embedder of one of the worlds."""
    memory = Memory.open(
        path,
        clock=clock,
        durability=durability,
        memory_budget=workload.LIMIT_BYTES,
        keys=provider if keyed else None,
        encryption="mixed",
        judge=ONE_AT_A_TIME,
        decay=Decay(sink_below=0, expire_below=0),
    )
    for name in dict.fromkeys(world.embedder for world in worlds):
        try:
            memory.documents.embedder = EMBEDDERS[name]
        except EmbedderMismatchError:
            continue
        return memory
    raise DisagreementError(f"the vectors are of neither {[world.embedder for world in worlds]}")


def judge(memory: Memory, worlds: list[World], *, thorough: bool) -> int:
    """Return the number of the world that the file holds; all its answers must agree with that world.

    Raises:
        DisagreementError: the file holds none of them, or an answer disagrees.
    """
    chosen = _agreeing(memory, worlds, _matching(memory, worlds))
    if thorough:
        problems = [str(problem) for problem in memory.admin.check()]
        for name in ["", *memory.index.admin.collections()]:
            one = memory.index if name == "" else memory.index.collection(name)
            report = one.admin.check()
            problems += [] if report.clean else [f"{name!r}: {report.problems}"]
        if problems:
            raise DisagreementError(f"check: {problems}")
        _nothing_left(memory, worlds[chosen])
    return chosen


def _nothing_left(memory: Memory, world: World) -> None:
    """Compact the file, and search its bytes for deleted and for encrypted texts."""
    engine = Backend.of(memory.index).engine
    assert isinstance(engine, DurableEngine)
    sealed = "acme" if engine.store.cipher.ring is not None else None
    if sealed is not None:
        memory.index.admin.encrypt(sealed)
    memory.admin.compact()
    paths = [path for path in engine.store.files() if path.exists()]
    # Use the descriptors of the store: closing another one would release SQLite's locks.
    data = b"".join(os.pread(engine.store.looking.descriptor(path), 1 << 30, 0) for path in paths)
    found = {word.decode() for word in re.findall(rb"v[1-9][0-9]{8}", data)}
    plain = {key: row for key, row in world.index.items() if key[1].tenant != sealed}
    if left := found - workload.words_of(plain):
        raise DisagreementError(f"left after a compaction: {sorted(left)}")
    if lost := workload.words_of(plain) - found:
        raise DisagreementError(f"lost by a compaction: {sorted(lost)}")


def _agreeing(memory: Memory, worlds: list[World], matching: list[int]) -> int:
    """Return the first world with which all answers agree. Rows do not distinguish all worlds: an expired preference,
    and the same one after it was stated again, are one row, with different ends."""
    for number in matching:
        try:
            _index_agrees(memory, worlds[number])
            _memory_agrees(memory, worlds[number])
        except DisagreementError:
            if number == matching[-1]:
                raise
        else:
            return number
    raise AssertionError("no world was given")


# ---------------------------------------------------------------------- rows


def _records(memory: Memory) -> list[tuple[Any, ...]]:
    """Return every record as a tuple of the fields that do not depend on its id."""
    found = []
    for scope in EVERYWHERE:
        for one in memory.list(scope, hidden=True, exact=True):
            about = (
                (one.subject.lower(), one.predicate) if one.kind == "fact" else (getattr(one, "key", ""), "")
            )
            end = getattr(one, "expires_at", None)
            until = None if end is None else round(end.timestamp() * 1_000_000)
            status = status_of(one.kind, one.status)
            found.append((one.kind, key_of(one.scope), one.text, status, about, str(until)))
    return sorted(found)


def _expected_records(world: World) -> list[tuple[Any, ...]]:
    found = []
    for one in world.model.entries:
        found.append((one.kind, one.key, one.text, one.status, one.topic, str(one.until)))
    for rule in world.model.rules:
        found.append(("policy", (rule.tenant, "", ""), rule.text, rule.status, (rule.key, ""), "None"))
    return sorted(found)


def _runs(memory: Memory) -> dict[Any, list[str]]:
    return {
        (key_of(scope), run): [event.content for event in memory._parts.runs.traces.events(scope, run)]
        for scope in EVERYWHERE
        for run in memory.runs(scope)
    }


def _matching(memory: Memory, worlds: list[World]) -> list[int]:
    """Return the numbers of the worlds that agree with the rows."""
    index = workload.ordered(workload.stored(memory.index, leaving_out=(COLLECTION,)))
    records, runs = _records(memory), _runs(memory)
    engine = Backend.of(memory.documents).engine
    assert isinstance(engine, DurableEngine)
    model = engine.identity.model
    why, matching = [], []
    for number, world in enumerate(worlds):
        differ = [
            f"{what}: lost {_less(wanted, found)}, phantom {_less(found, wanted)}"
            for what, wanted, found in (
                ("documents", workload.ordered(world.index), index),
                ("records", _expected_records(world), records),
                ("runs", sorted(world.runs.items()), sorted(runs.items())),
                ("model", [world.embedder if model else None], [model]),
            )
            if wanted != found
        ]
        if not differ:
            matching.append(number)
        why.append(f"state {number}: {'; '.join(differ)}")
    if not matching:
        raise DisagreementError(" | ".join(why))
    return matching


def _less(some: list[Any], others: list[Any]) -> list[Any]:
    left = list(others)
    return [one for one in some if one not in left or left.remove(one)]  # type: ignore[func-returns-value]


# ---------------------------------------------------------------------- both retrievers


def _index_agrees(memory: Memory, world: World) -> None:
    words = " ".join(workload.WORDS)
    collections = {"": memory.index}
    if "side" in memory.index.admin.collections():
        collections["side"] = memory.index.collection("side")
    for name, one in collections.items():
        rows = {(scope, id): row for (of, scope, id), row in world.index.items() if of == name}
        _same(f"number of documents of {name!r}", len(one), len(rows))
        for scope in workload.SCOPES:
            seen = seen_from(key_of(scope))
            visible = {key: row for key, row in rows.items() if key_of(key[0]) in seen}
            by_word = one.search(words, scope=scope, k=ALL, query=Query(mode="lexical"))
            _same(f"words of {name!r} from {scope!r}", _keys(by_word), sorted(visible))
            if not any(row[1] is not None for row in rows.values()):
                continue
            by_vector = one.search(
                vector=np.ones(workload.DIM), scope=scope, k=ALL, query=Query(mode="vector")
            )
            with_vector = sorted(key for key, row in visible.items() if row[1] is not None)
            _same(f"vectors of {name!r} from {scope!r}", _keys(by_vector), with_vector)
        # The newest documents: by their unique word, by their vector, and by their id.
        for (scope, id), (text, vector, _) in list(rows.items())[-3:]:
            first = one.search(text.split()[-1], scope=scope, k=1, query=Query(mode="lexical"))
            _same(f"the first for the word of {id} of {scope!r}", _keys(first), [(scope, id)])
            record = one.get(id, scope=scope)
            _same(f"{id} of {scope!r}", (record.scope, record.text) if record else None, (scope, text))
            if vector is not None:
                asked = np.array(vector, ndmin=2)[0]  # that of the first passage
                nearest = one.search(vector=asked, scope=scope, k=ALL, query=Query(mode="vector"))
                best = {(hit.scope, hit.id) for hit in nearest if hit.score > nearest[0].score - 1e-3}
                _same(f"the vector of {id} of {scope!r}", (scope, id) in best, True)


def _memory_agrees(memory: Memory, world: World) -> None:
    model = world.model
    for scope in EVERYWHERE:
        key = key_of(scope)
        visible = model.visible(key, ("fact", "episode"))
        for mode in ("lexical", "vector"):
            if mode == "vector" and not visible:
                continue
            texts = sorted(memory.recall("oak", scope, k=ALL, kinds=RECORDS, query=Query(mode=mode)).texts)
            _same(f"recall by {mode} from {scope!r}", texts, visible)
        known = memory.known(scope)
        told = ([one.text for one in known.policies], [one.text for one in known.preferences])
        _same(f"what is known to {scope!r}", told, model.known(key))
    in_force = [one for one in model.entries if one.kind in ("fact", "episode") and model.in_force(one)]
    for one in in_force[-3:]:
        scope = Scope(one.key[0], one.key[1] or None, one.key[2] or None)
        for mode in ("lexical", "vector"):
            first = memory.recall(one.text, scope, k=1, kinds=RECORDS, query=Query(mode=mode)).texts
            _same(f"the first for {one.text!r} by {mode}", first, [one.text])


def _keys(hits: Any) -> list[Any]:
    return sorted((hit.scope, hit.id) for hit in hits)


def _same(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise DisagreementError(f"{what}: expected {expected}, found {found}")

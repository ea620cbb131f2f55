"""Reads the content of a fleet's database in a fresh process, while there are no writes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from scrubjay import Query
from scrubjay.memory import Memory
from scrubjay.store.objects import objects
from tests.crash.fleet_history import Key
from tests.crash.fleet_service import DIM, SCOPES, USERS, fact_of, named, open_memory, seen_values

__all__ = ["read_rows"]


def read_rows(url: str, path: Path, thorough: bool, erased: list[str], say: Callable[[str], None]) -> None:
    """Write a file with the values of all keys, and with the problems of the rows.

    Args:
        url: the address of the database.
        path: the path of the file.
        thorough: whether to search and check everything, and to look for erased words.
        erased: words that no row may contain.
        say: called when the file is written.
    """
    with open_memory(url, 0, path.parent) as memory:
        values: dict[Key, str] = {}
        problems: list[str] = []
        _read_documents(memory, values)
        _read_facts(memory, values, problems)
        if thorough:
            _compare_searches(memory, values, problems)
            _check(memory, erased, problems)
    path.write_text(json.dumps([[[*key, value] for key, value in values.items()], problems]))
    say("read")
    time.sleep(60)  # the driver kills this process


def _read_documents(memory: Memory, values: dict[Key, str]) -> None:
    for scope in SCOPES:
        for record in memory.index.list(scope, exact=True):
            values[Key("document", named(scope), str(record.id))] = record.text.split()[-1]


def _read_facts(memory: Memory, values: dict[Key, str], problems: list[str]) -> None:
    for scope in USERS:
        for record in memory.list(scope, kinds=["fact"], hidden=True, exact=True):
            key, value = fact_of(named(scope), record.text)
            if key.part == "fact":
                values[key] = value
                continue
            values[Key("record", key.scope, value)] = "there"
            if record.status == "active":
                if key in values:
                    problems.append(f"two facts of one slot hold: {values[key]} and {value}")
                values[key] = value
        told = Counter(
            event.record
            for event in memory.feed.changes(scope=scope, limit=10_000)
            if event.action == "superseded"
        )
        problems += [f"the feed tells {n} times that {id} was superseded" for id, n in told.items() if n > 1]


def _compare_searches(memory: Memory, values: dict[Key, str], problems: list[str]) -> None:
    """Note a problem where the results of a search and the rows differ."""
    ways: list[dict[str, Any]] = [
        {"query": Query(mode="lexical")},
        {"query": Query(mode="vector"), "vector": np.ones(DIM)},
    ]
    for scope in SCOPES:
        visible = {named(one) for one in scope.visible()}
        for part, parts, options in [
            *(("document", ("document",), way) for way in ways),
            ("fact", ("fact", "slot"), {}),
        ]:
            rows = {k: v for k, v in values.items() if k.part in parts and k.scope in visible}
            found = seen_values(memory.index, memory, scope, part, **options)[0]
            if found != rows:
                less = sorted(rows.items() - found.items())
                more = sorted(found.items() - rows.items())
                problems.append(f"{part} from {scope!r} {options}: not found {less}, not in the rows {more}")


def _check(memory: Memory, erased: list[str], problems: list[str]) -> None:
    for index in (memory.index, memory.documents):
        problems += [f"check: {problem}" for problem in index.admin.check().problems]
    problems += [f"check: {problem}" for problem in memory.admin.check()]
    if erased:
        # Killed services left objects that no row references; no object is being written now.
        with patch.object(objects, "GRACE_SECONDS", 0):
            memory.index.admin.compact()
        report = memory.index.admin.verify_erased(erased)
        if not report.clean:
            problems.append(f"erased, and found: {report}")

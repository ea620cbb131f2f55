"""Runs of traces as they are written to an export, and read from one: events keep their numbers, gaps included."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay.memory.ledger.sealing import EVENT, Sealer, place_of_event, settle

__all__ = ["read_runs", "write_run"]

_RUN = ("tenant", "user", "agent", "run", "started_at", "retention", "n_events", "n_turns")
_EVENT = ("seq", "turn", "at", "expires_at", "kind")
_DISTILLED = ("first_seq", "last_seq", "at", "extractor", "outcomes")


def read_runs(
    connection: sqlite3.Connection, store: Any, where: str, values: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield each run with its events and what was distilled of it, in JSON's own types."""
    sealer = Sealer(store)
    for key, *found in connection.execute(
        f"SELECT key, {', '.join(_RUN)} FROM memory_run WHERE {where} ORDER BY key", values
    ).fetchall():
        run = dict(zip(_RUN, found, strict=True))
        events = []
        for row in connection.execute(
            f"SELECT {', '.join((*_EVENT, *EVENT))} FROM memory_event WHERE run = ? ORDER BY seq", (key,)
        ).fetchall():
            event = dict(zip((*_EVENT, *EVENT), row, strict=True))
            for column in EVENT:
                said = sealer.open(run["tenant"], place_of_event(column, key, event["seq"]), event[column])
                event[column] = None if said is None else said.decode()
            events.append(event)
        distilled = []
        for row in connection.execute(
            f"SELECT {', '.join(_DISTILLED)} FROM memory_distilled WHERE run = ? ORDER BY first_seq", (key,)
        ).fetchall():
            texts = [value.decode() if isinstance(value, bytes) else value for value in row]
            distilled.append(dict(zip(_DISTILLED, texts, strict=True)))
        yield {**run, "events": events, "distilled": distilled}


def write_run(connection: sqlite3.Connection, store: Any, said: dict[str, Any]) -> bool:
    """Write a run with its events; False if its scope has a run of this name. The caller holds the transaction."""
    execute, tenant = connection.execute, said["tenant"]
    names = [said[name] for name in ("tenant", "user", "agent", "run")]
    if execute(
        "SELECT 1 FROM memory_run WHERE tenant = ? AND user = ? AND agent = ? AND run = ?", names
    ).fetchone():
        return False
    settle(connection, tenant)
    sealer = Sealer(store)
    key = execute(
        "INSERT INTO memory_run(tenant, user, agent, run, started_at, retention) VALUES (?, ?, ?, ?, ?, ?)",
        (*names, said["started_at"], said["retention"]),
    ).lastrowid
    for event in said["events"]:
        execute(
            "UPDATE memory_run SET n_events = ? WHERE key = ?", (event["seq"] - 1, key)
        )  # what retention deleted
        author, content, data = (
            sealer.seal(tenant, place_of_event(column, int(key or 0), event["seq"]), event[column])
            for column in EVENT
        )
        if isinstance(data, str):
            json.loads(data)
            data = data.encode()
        execute(
            "INSERT INTO memory_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, *(event[name] for name in _EVENT), author, content, data, tenant),
        )
    execute(
        "UPDATE memory_run SET n_events = ?, n_turns = ? WHERE key = ?",
        (said["n_events"], said["n_turns"], key),
    )
    for one in said["distilled"]:
        execute(
            "INSERT INTO memory_distilled VALUES (?, ?, ?, ?, ?, ?)",
            (key, *(one[name] for name in _DISTILLED[:4]), one["outcomes"].encode()),
        )
    return True

"""Runs of traces in exports: writing and reading them; events keep their numbers, gaps included."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay.memory.ledger.sealing import EVENT, Sealer, place_of_event, settle
from scrubjay.memory.ledger.trace import INSERT_DISTILLED, insertion_of_event

_RUN = ("tenant", "user", "agent", "run", "started_at", "retention", "n_events", "n_turns")
_EVENT = ("seq", "turn", "at", "expires_at", "kind")
_EVENTS = ", ".join(f"e.{column}" for column in (*_EVENT, *EVENT))
_DISTILLED = ("first_seq", "last_seq", "at", "extractor", "outcomes")


def read_runs(
    connection: sqlite3.Connection, store: Any, where: str, values: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield each run with its events and its distillations, in JSON types."""
    sealer = Sealer(store)
    for key, *found in connection.execute(
        f"SELECT key, {', '.join(_RUN)} FROM memory_run WHERE {where} ORDER BY key", values
    ).fetchall():
        run = dict(zip(_RUN, found, strict=True))
        if not sealer.readable(run["tenant"], run["user"]):
            continue
        events = []
        for row in connection.execute(
            f"SELECT {_EVENTS} FROM memory_run r JOIN memory_event e ON e.run = r.key "
            "WHERE r.tenant = ? AND r.user = ? AND r.key = ? ORDER BY e.seq",
            (run["tenant"], run["user"], key),
        ).fetchall():
            event = dict(zip((*_EVENT, *EVENT), row, strict=True))
            for column in EVENT:
                plain = sealer.open(run["tenant"], place_of_event(column, key, event["seq"]), event[column])
                event[column] = None if plain is None else plain.decode()
            events.append(event)
        distilled = []
        for row in connection.execute(
            f"SELECT {', '.join(_DISTILLED)} FROM memory_run r JOIN memory_distilled d ON d.run = r.key "
            "WHERE r.tenant = ? AND r.user = ? AND r.key = ? ORDER BY first_seq",
            (run["tenant"], run["user"], key),
        ).fetchall():
            texts = [value.decode() if isinstance(value, bytes) else value for value in row]
            distilled.append(dict(zip(_DISTILLED, texts, strict=True)))
        yield {**run, "events": events, "distilled": distilled}


def write_run(connection: sqlite3.Connection, store: Any, said: dict[str, Any]) -> bool:
    """Write a run with its events; return False if its scope has a run of this name. The caller holds the
    transaction."""
    execute, tenant = connection.execute, said["tenant"]
    names = [said[name] for name in ("tenant", "user", "agent", "run")]
    if execute(
        "SELECT 1 FROM memory_run WHERE tenant = ? AND user = ? AND agent = ? AND run = ?", names
    ).fetchone():
        return False
    settle(connection, tenant)
    sealer = Sealer(store)
    execute(
        "INSERT INTO memory_run(tenant, user, agent, run, started_at, retention) VALUES (?, ?, ?, ?, ?, ?)",
        (*names, said["started_at"], said["retention"]),
    )
    (key,) = execute(
        "SELECT key FROM memory_run WHERE tenant = ? AND user = ? AND agent = ? AND run = ?", names
    ).fetchone()
    for event in said["events"]:
        execute(
            "UPDATE memory_run SET n_events = ? WHERE tenant = ? AND user = ? AND key = ?",
            (event["seq"] - 1, tenant, said["user"], key),
        )  # reproduces the gaps that retention left
        author, content, data = (
            sealer.seal(
                tenant,
                place_of_event(column, int(key or 0), event["seq"]),
                event[column],
                user=said["user"],
            )
            for column in EVENT
        )
        if isinstance(data, str):
            json.loads(data)
            data = data.encode()
        values = (key, *(event[name] for name in _EVENT), author, content, data, tenant)
        execute(*insertion_of_event(connection, values, said["user"]))
    execute(
        "UPDATE memory_run SET n_events = ?, n_turns = ? WHERE tenant = ? AND user = ? AND key = ?",
        (said["n_events"], said["n_turns"], tenant, said["user"], key),
    )
    for row in said["distilled"]:
        execute(
            INSERT_DISTILLED,
            (
                *(row[name] for name in _DISTILLED[:4]),
                row["outcomes"].encode(),
                tenant,
                said["user"],
                key,
            ),
        )
    return True

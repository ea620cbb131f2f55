"""Rejections of the gate (table `memory_rejection`) with their reasons, kept for a limited time."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.sealing import next_number, opened_in, place_in, sealed_values, settle
from scrubjay.memory.model.answers import Rejection
from scrubjay.memory.model.candidates import Provenance
from scrubjay.memory.model.decoding import are_texts, as_moment, decoded
from scrubjay.store.rows.decoding import optional_integer
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.writing.write_batches import Change


def write_rejection(
    change: Change, scope: Scope, kind: str, reason: str, content: str, source: Provenance
) -> None:
    """Record a rejection in a scope. Reason and content are sealed if the tenant is."""
    connection, (tenant, *names) = change.connection, names_of(scope)
    number = next_number(connection, "memory_rejection", wanted=settle(connection, tenant))
    sealed = sealed_values(
        connection,
        "memory_rejection",
        tenant,
        names[0],
        number,
        names,
        {"reason": reason, "content": content},
    )
    connection.execute(
        "INSERT INTO memory_rejection"
        "(number, at, tenant, user, agent, kind, reason, content, source_run, source_turn, author) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            change.now,
            tenant,
            *names,
            kind,
            sealed["reason"],
            sealed["content"],
            source.run,
            source.turn,
            source.author,
        ),
    )


def rejections_of(
    connection: sqlite3.Connection, cipher: Cipher, scope: Scope, limit: int
) -> list[Rejection]:
    """Return the rejections in exactly a scope, newest first.

    Raises:
        CorruptIndexError: a row is not what was written.
    """
    rows = connection.execute(
        "SELECT number, at, kind, reason, content, source_run, source_turn, author FROM memory_rejection "
        "WHERE tenant = ? AND user = ? AND agent = ? ORDER BY number DESC LIMIT ?",
        (*names_of(scope), limit),
    ).fetchall()
    return [decoded(f"rejection {row[0]}", None, partial(_rejection, cipher, scope, row)) for row in rows]


def _rejection(cipher: Cipher, scope: Scope, row: Any) -> Rejection:
    number, at, kind, reason, content, run, turn, author = row
    _, user, agent = names_of(scope)
    texts = [
        opened_in(cipher, scope.tenant, place_in("memory_rejection", column, number, (user, agent)), sealed)
        for column, sealed in (("reason", reason), ("content", content))
    ]
    if not are_texts(kind, *texts) or not are_texts(run, author, optional=True):
        raise CorruptIndexError("its texts cannot be read")
    return Rejection(
        as_moment(at), scope, kind, texts[0], texts[1], run, optional_integer(turn, "its turn"), author
    )

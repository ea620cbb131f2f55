"""Provenance columns of rows."""

from __future__ import annotations

from typing import Any

from scrubjay.memory.model.candidates import Provenance
from scrubjay.store.writing.write_batches import Change


def provenance_columns(change: Change, tenant: str, source: Provenance) -> dict[str, Any]:
    """Return the columns of a row that name its source."""
    return {
        "source_run": source.run,
        "source_turn": source.turn,
        "author": source.author,
        "place": source.place,
        "policy_version": policy_version(change, tenant, source),
    }


def policy_version(change: Change, tenant: str, source: Provenance) -> int:
    """Return the number of the newest policy in force for a source, looked up if the source does not state it."""
    version = source.policy_version
    if version is None:
        version = change.known.get(("newest policy", tenant))
    if version is None:
        (version,) = change.connection.execute(
            "SELECT ifnull(max(number), 0) FROM memory_policy WHERE tenant IN (?, '') AND status = 'active' "
            "AND effective_from <= ? AND (effective_until IS NULL OR effective_until > ?)",
            (tenant, change.now, change.now),
        ).fetchone()
        change.known["newest policy", tenant] = version
    return int(version)

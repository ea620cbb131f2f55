"""Versions of policies, of a tenant or global.

A global policy is written and revoked by the operator of the service, never on behalf of a scope. Its row names no
tenant ('') and is stored in the clear even where tenants are encrypted. A tenant's policy with the same key takes
precedence over a global one, unless the global one is mandatory (:func:`prevailing`).
"""

from __future__ import annotations

from typing import Any

from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.gate.sources import provenance_columns
from scrubjay.memory.ledger.context import MemoryContext, absent
from scrubjay.memory.ledger.log import log
from scrubjay.memory.ledger.rows import find_row, insert, new_id, rows_where
from scrubjay.memory.model.candidates import Outcome, PolicyCandidate, Provenance
from scrubjay.memory.model.checking import checked_source, verify
from scrubjay.memory.model.content import named
from scrubjay.memory.model.precedence import EVERYWHERE
from scrubjay.memory.model.proposal import Window, window_of
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.rows import PolicyRow, is_global
from scrubjay.memory.model.statements import is_in_force
from scrubjay.memory.model.values import fault, is_same, kept_detail, said, with_text
from scrubjay.store.writing.write_batches import Change


def policy_of(
    key: str,
    text: Any,
    effective_from: CreatedAt | None,
    effective_until: CreatedAt | None,
    value: Any,
    type: str,
    sensitivity: str = "",
) -> PolicyCandidate:
    """Return the candidate of a policy; `text` may be its value."""
    text, value = said(text, value)
    return PolicyCandidate(key, text, effective_from, effective_until, value, type, sensitivity)


def write_policy(
    change: Change,
    candidate: PolicyCandidate,
    tenant: str,
    window: Window,
    source: Provenance,
    *,
    mandatory: bool = False,
) -> Outcome:
    """Write the next version of a policy as provisional, unless the newest version has the same content and times."""
    since_us, ends_at = window
    detail = kept_detail(
        value=candidate.value, type=candidate.type, mandatory=mandatory, sensitivity=candidate.sensitivity
    )
    latest: PolicyRow | None = next(
        rows_where(
            change.connection,
            "policy",
            "tenant = ? AND key = ? ORDER BY version DESC LIMIT 1",
            (tenant, candidate.key),
        ),
        None,
    )
    if latest is not None and latest.status != "revoked":
        same_window = latest.expires_at == ends_at and since_us in (None, latest.begins_at)
        is_classified = bool(candidate.sensitivity) and not getattr(record_of(latest), "sensitivity", "")
        if same_window and not is_classified and is_same(latest, candidate.text, detail):
            active = latest.status == "active"
            return Outcome("deduplicated", "policy", latest.id, f"version {latest.version}", active=active)
    id = new_id("policy")
    row = PolicyRow(
        id=id,
        tenant=tenant,
        user="",
        agent="",
        status="provisional",
        begins_at=change.now if since_us is None else since_us,
        expires_at=ends_at,
        created_at=change.now,
        **provenance_columns(change, tenant, source),
        key=candidate.key,
        version=1 if latest is None else latest.version + 1,
        text=candidate.text,
        decided_by=None,
        detail=detail,
    )
    insert(change.connection, "memory_policy", row)
    log(change, id, "written", source.author)
    return Outcome("written", "policy", id, "provisional: it needs a confirmation", active=False)


def confirm_policy(change: Change, row: PolicyRow, by: str) -> Outcome:
    """Bring a provisional policy into force."""
    change.connection.execute(
        "UPDATE memory_policy SET status = 'active', decided_by = ?, decided_at = ? WHERE id = ?",
        (by, change.now, row.id),
    )
    log(change, row.id, "confirmed", by)
    reason = f"confirmed by {by}"
    if not is_global(row) and _is_mandatory(change, row.key):
        reason += "; the global policy of this key is mandatory and overrides it"
    return Outcome("written", "policy", row.id, reason)


# ---------------------------------------------------------------------- global policies


def _is_mandatory(change: Change, key: str) -> bool:
    """Whether the global policy in force now for a key is mandatory."""
    rows = rows_where(
        change.connection,
        "policy",
        "tenant = '' AND key = ? AND status = 'active' ORDER BY version DESC",
        (key,),
    )
    newest = next((row for row in rows if is_in_force(row, change.now)), None)
    policy: Any = None if newest is None else record_of(newest)
    return policy is not None and policy.mandatory


def write_global(
    context: MemoryContext, candidate: PolicyCandidate, *, by: str, source: Provenance | str, mandatory: bool
) -> Outcome:
    """Write the next version of a global policy; it is in force at once, or from its start time on.

    Raises:
        TypeError, ValueError: an argument is invalid; nothing is written, not even a rejection.
    """
    by, source = named(by, "by"), checked_source(source)
    if not isinstance(mandatory, bool):
        raise TypeError(f"mandatory: expected a bool, got {type(mandatory).__name__}")
    try:
        candidate = verify("policy", with_text(candidate), source)
    except Refusal as unfit:
        raise ValueError(str(unfit)) from None
    refused = fault(context.settings.validate, candidate)
    if refused:
        raise ValueError(refused)
    window = window_of(candidate, context.clock())
    with context.changing("writing a global policy", of=[EVERYWHERE]) as change:
        outcome = write_policy(change, candidate, EVERYWHERE, window, source, mandatory=mandatory)
        row: Any = find_row(change.connection, outcome.id)
        return outcome if outcome.active else confirm_policy(change, row, by)


def revoke_global(context: MemoryContext, id: str, *, reason: str, by: str) -> None:
    """Take a version of a global policy out of force permanently; its row stays.

    Raises:
        KeyError: no global policy with this id exists that is not revoked.
        TypeError, ValueError: the reason or the name is invalid or empty.
    """
    reason, by = named(reason, "reason"), named(by, "by")
    with context.changing("revoking a global policy", of=[EVERYWHERE]) as change:
        row: Any = find_row(change.connection, id)
        if row is None or not is_global(row) or row.status == "revoked":
            raise absent(id)
        change.connection.execute(
            "UPDATE memory_policy SET status = 'revoked', decided_at = ? WHERE id = ?", (change.now, id)
        )
        log(change, id, "revoked", by, reason)

"""Preparation of proposals before the file is locked: what is known, the embedder's vectors, the judge's
contradictions."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from scrubjay._native import Scope
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.rows import IN_SCOPE
from scrubjay.memory.ledger.schema import LIVING
from scrubjay.memory.ledger.sealing import keyed
from scrubjay.memory.ledger.statements import facts_of_slot
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.proposal import Proposal
from scrubjay.memory.model.records import Fact
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.rows import FactRow
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.writing.write_batches import Change

# The wording of each table's index on hashes: without it SQLite reads the whole scope.

_LIVES = f"SELECT hash FROM memory_fact WHERE {IN_SCOPE}AND {LIVING} AND hash IN "
_SAYS_SO = {
    "fact": f"SELECT hash FROM memory_fact WHERE {IN_SCOPE}AND {LIVING} AND status = 'active' AND hash IN ",
    "episode": f"SELECT hash FROM memory_episode WHERE {IN_SCOPE}AND status = 'active' AND hash IN ",
}
_AT_ONCE = 200  # hashes in one statement


class Preparation:
    """Queries the file, the embedder and the judge about proposals; embedder and judge may be slow."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def gather(self, proposals: Sequence[Proposal]) -> None:
        """Read what is known about proposals, embed those that will probably be written, in one call of the embedder,
        and let the judge compare undecided facts with known ones."""
        fit = [
            proposal for proposal in proposals if proposal.kind in ("fact", "episode") and not proposal.unfit
        ]
        if not fit:
            return
        with self._context.reading() as connection:
            for proposal in fit:
                _hash(connection, proposal)
            fresh = _fresh(connection, [proposal for proposal in fit if proposal.embedded is None])
        if fresh:
            for proposal, embedded in zip(
                fresh, self._context.embed_texts([proposal.text for proposal in fresh]), strict=True
            ):
                proposal.embedded = embedded
        for proposal in fit:
            if not proposal.is_decided:
                self._compare(proposal)

    def hash_again(self, change: Change, proposals: Sequence[Proposal]) -> None:
        """Compute the digests of proposals again, because the tenant may have been sealed in the meantime."""
        for proposal in proposals:
            if proposal.kind in ("fact", "episode") and not proposal.unfit:
                _hash(change.connection, proposal)

    def embedded(self, proposal: Proposal) -> Embedded:
        """Return the embedding of a proposal; it is embedded now if it was taken for a duplicate before."""
        if proposal.embedded is None:
            proposal.embedded = self._context.embed_texts([proposal.text])[0]
        return proposal.embedded

    def _compare(self, proposal: Proposal) -> None:
        """Let the judge compare a fact with the known ones."""
        targets = {proposal.target}
        if proposal.about_tenant:
            targets.add(Scope(proposal.scope.tenant))
        for target in targets:
            assert target is not None
            with self._context.reading() as connection:
                rivals = facts_of_slot(connection, names_of(target), proposal.topics)
            self.contradicted(proposal, rivals)

    def contradicted(self, proposal: Proposal, rivals: Iterable[FactRow]) -> list[str]:
        """Return the ids of a slot's facts that a candidate contradicts; the judge is called once for each."""
        if proposal.is_decided:
            return []
        ids = []
        for rival in rivals:
            if rival.status != "active" or (rival.relation or "asserts") == "ends":
                continue
            if rival.id not in proposal.contradicted:
                known = record_of(rival)
                assert isinstance(known, Fact)
                proposal.contradicted[rival.id] = bool(
                    self._context.judge.contradicts(known, proposal.candidate)
                )
            if proposal.contradicted[rival.id]:
                ids.append(rival.id)
        return ids

    def note_new(self, change: Change, proposals: Sequence[Proposal]) -> None:
        """Mark the facts of a batch that are new to their scopes, before anything is written, so that they need no
        look-up of their own."""
        scopes: dict[Scope, Counter[bytes]] = {}
        for proposal in proposals:
            if proposal.kind == "fact" and proposal.target is not None and not proposal.unfit:
                scopes.setdefault(proposal.target, Counter())[proposal.hash] += 1
        known = {
            scope: _known(change.connection, _LIVES, scope, list(hashes)) for scope, hashes in scopes.items()
        }
        for proposal in proposals:
            if proposal.kind == "fact" and proposal.target is not None and not proposal.unfit:
                proposal.is_new = (
                    scopes[proposal.target][proposal.hash] == 1
                    and proposal.hash not in known[proposal.target]
                )


def _hash(connection: sqlite3.Connection, proposal: Proposal) -> None:
    """Set the digests of a fact or episode in the form that the file has."""
    assert proposal.target is not None
    tenant, (content, topics, value) = proposal.target.tenant, proposal.digests
    proposal.hash = keyed(connection, tenant, content)
    proposal.topics = tuple([keyed(connection, tenant, topic) for topic in topics])
    proposal.topic = proposal.topics[0] if topics else b""
    proposal.value_hash = None if value is None else keyed(connection, tenant, value)


def _fresh(connection: sqlite3.Connection, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals whose content is new to their scopes."""
    places: dict[tuple[str, Scope], list[Proposal]] = {}
    for proposal in proposals:
        assert proposal.target is not None
        places.setdefault((proposal.kind, proposal.target), []).append(proposal)
    fresh: list[Proposal] = []
    for (kind, target), some in places.items():
        known = _known(connection, _SAYS_SO[kind], target, [proposal.hash for proposal in some])
        fresh += [proposal for proposal in some if proposal.hash not in known]
    return fresh


def _known(connection: sqlite3.Connection, query: str, target: Scope, hashes: Sequence[bytes]) -> set[bytes]:
    """Return the hashes that a query finds in exactly this scope."""
    known: set[bytes] = set()
    for first in range(0, len(hashes), _AT_ONCE):
        some = hashes[first : first + _AT_ONCE]
        statement = f"{query}({', '.join('?' * len(some))})"
        known.update(hash for (hash,) in connection.execute(statement, (*names_of(target), *some)))
    return known

"""What is asked about proposals before the file is locked: vectors of the embedder, contradictions of the judge."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrubjay._native import Scope
from scrubjay.memory.gate.checking import content_of, with_values
from scrubjay.memory.gate.proposal import Proposal
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import Embedded
from scrubjay.memory.ledger.making import as_moment, record_of
from scrubjay.memory.ledger.rows import IN_SCOPE, FactRow
from scrubjay.memory.ledger.schema import LIVING
from scrubjay.memory.ledger.statements import facts_of_slot
from scrubjay.memory.model.records import Fact
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.together import Change

__all__ = ["Asking"]

# In the words of each table's index on hashes: without them SQLite reads the whole scope.

_LIVES = f"SELECT hash FROM memory_fact WHERE {IN_SCOPE}AND {LIVING} AND hash IN "
_SAYS_SO = {
    "fact": f"SELECT hash FROM memory_fact WHERE {IN_SCOPE}AND {LIVING} AND status = 'active' AND hash IN ",
    "episode": f"SELECT hash FROM memory_episode WHERE {IN_SCOPE}AND status = 'active' AND hash IN ",
}
_AT_ONCE = 200  # hashes in one statement


class Asking:
    """Asks the embedder and the judge, both of which may be slow.

    Args:
        context: of the memory.
    """

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def embed(self, proposals: Sequence[Proposal]) -> None:
        """Embed what will probably be written, in one call of the embedder."""
        places: dict[tuple[str, Scope], list[Proposal]] = {}
        for one in proposals:
            if one.kind in ("fact", "episode") and not one.unfit and one.embedded is None:
                assert one.target is not None
                places.setdefault((one.kind, one.target), []).append(one)
        fresh: list[Proposal] = []
        with self._context.reading() as connection:
            for (kind, target), some in places.items():
                known = _known(connection, _SAYS_SO[kind], target, [one.hash for one in some])
                fresh += [one for one in some if one.hash not in known]
        if fresh:
            texts = [content_of(one.kind, one.candidate) for one in fresh]
            for one, embedded in zip(fresh, self._context.embed_texts(texts), strict=True):
                one.embedded = embedded

    def embedded(self, one: Proposal) -> Embedded:
        """Return what a proposal's text became; embedded now if it was taken for a duplicate before."""
        if one.embedded is None:
            one.embedded = self._context.embed_texts([content_of(one.kind, one.candidate)])[0]
        return one.embedded

    def judge(self, proposals: Sequence[Proposal]) -> None:
        """Decide of each fact whether its predicate has one value at a time. A judge that does not know that compares
        the fact with those that are known, before the file is locked."""
        for one in proposals:
            if one.kind != "fact" or one.unfit:
                continue
            candidate = one.candidate
            if one.said_at is not None and candidate.said_at is None and candidate.single is None:
                candidate = replace(candidate, said_at=as_moment(one.said_at))
            single = self._context.cardinality(candidate)
            is_single = None if single is None else bool(single)
            if one.candidate.single is not is_single:
                one.candidate = with_values(one.candidate, {"single": is_single})
            if self._is_decided(one):
                continue
            for target in {one.target, Scope(one.scope.tenant)} if one.about_tenant else {one.target}:
                assert target is not None
                with self._context.reading() as connection:
                    rivals = facts_of_slot(connection, names_of(target), one.topics)
                self.contradicted(one, rivals)

    def contradicted(self, one: Proposal, rivals: Iterable[FactRow]) -> list[str]:
        """Return the ids of those of a slot that a candidate contradicts; the judge is asked once about each."""
        if self._is_decided(one):
            return []
        found = []
        for rival in rivals:
            if rival.status != "active" or (rival.relation or "asserts") == "ends":
                continue
            if rival.id not in one.contradicted:
                known = record_of(rival)
                assert isinstance(known, Fact)
                one.contradicted[rival.id] = bool(self._context.judge.contradicts(known, one.candidate))
            if one.contradicted[rival.id]:
                found.append(rival.id)
        return found

    def _is_decided(self, one: Proposal) -> bool:
        """Whether the judge need not compare a fact with others: its words say it, or the projection does."""
        if one.candidate.single is not None or one.candidate.relation not in ("asserts", "plans"):
            return True
        return hasattr(self._context.judge, "is_single")

    def note_new(self, change: Change, proposals: Sequence[Proposal]) -> None:
        """Note which facts of several are new to their scopes, before anything is written: those are not looked for one
        by one."""
        scopes: dict[Scope, Counter[bytes]] = {}
        for one in proposals:
            if one.kind == "fact" and one.target is not None and not one.unfit:
                scopes.setdefault(one.target, Counter())[one.hash] += 1
        known = {
            scope: _known(change.connection, _LIVES, scope, list(hashes)) for scope, hashes in scopes.items()
        }
        for one in proposals:
            if one.kind == "fact" and one.target is not None and not one.unfit:
                one.is_new = scopes[one.target][one.hash] == 1 and one.hash not in known[one.target]


def _known(connection: sqlite3.Connection, query: str, target: Scope, hashes: Sequence[bytes]) -> set[bytes]:
    """Return those of some hashes that a query finds in exactly this scope."""
    known: set[bytes] = set()
    for first in range(0, len(hashes), _AT_ONCE):
        some = hashes[first : first + _AT_ONCE]
        statement = f"{query}({', '.join('?' * len(some))})"
        known.update(hash for (hash,) in connection.execute(statement, (*names_of(target), *some)))
    return known

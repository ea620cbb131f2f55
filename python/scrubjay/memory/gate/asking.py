"""What is asked about proposals before the file is locked: vectors of the embedder, contradictions of the judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrubjay._native import Scope
from scrubjay.memory.gate.checking import content_of
from scrubjay.memory.gate.proposal import Proposal
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import Embedded
from scrubjay.memory.ledger.making import record_of
from scrubjay.memory.ledger.rows import IN_SCOPE, FactRow
from scrubjay.memory.ledger.schema import LIVING
from scrubjay.memory.ledger.statements import facts_of_slot
from scrubjay.memory.model.records import Fact
from scrubjay.store.reading import names_of

__all__ = ["Asking"]

# In the words of each table's index on hashes: without them SQLite reads the whole scope.

_SAYS_SO = {
    kind: f"SELECT 1 FROM memory_{kind} WHERE {IN_SCOPE}AND hash = ? AND {living}status = 'active'"
    for kind, living in (("fact", f"{LIVING} AND "), ("episode", ""))
}


class Asking:
    """Asks the embedder and the judge, both of which may be slow.

    Args:
        context: of the memory.
    """

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def embed(self, proposals: Sequence[Proposal]) -> None:
        """Embed what will probably be written, in one call of the embedder."""
        fresh = []
        with self._context.reading() as connection:
            for one in proposals:
                if one.kind in ("fact", "episode") and not one.unfit and one.embedded is None:
                    assert one.target is not None
                    known = connection.execute(
                        _SAYS_SO[one.kind], (*names_of(one.target), one.hash)
                    ).fetchone()
                    if known is None:
                        fresh.append(one)
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
            single = self._context.cardinality(one.candidate)
            one.candidate = replace(one.candidate, single=None if single is None else bool(single))
            if one.candidate.single is not None or one.candidate.relation not in ("asserts", "plans"):
                continue
            for target in {one.target, Scope(one.scope.tenant)} if one.about_tenant else {one.target}:
                assert target is not None
                with self._context.reading() as connection:
                    rivals = facts_of_slot(connection, names_of(target), one.topics)
                self.contradicted(one, rivals)

    def contradicted(self, one: Proposal, rivals: Iterable[FactRow]) -> list[str]:
        """Return the ids of those of a slot that a candidate contradicts; the judge is asked once about each."""
        if one.candidate.single is not None or one.candidate.relation not in ("asserts", "plans"):
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

"""One ranking over several scopes.

One native call searches everything that the scopes see, as if one scope saw it: the weights of a question's words
depend on their frequency in all of it, and on nothing else. More scopes than one call takes are searched in groups,
each of which contributes its best memories; these are ranked by the same query as an index of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.backend.conditions import Admitted, Key, Node, admit_all
from scrubjay.backend.queries import USUAL
from scrubjay.documents.records import Row
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index
from scrubjay.index.backend import Backend

_AT_ONCE = 50_000
"""Scopes per call: it takes 65,536 chunks, and all but huge scopes have one chunk."""

_LEAST_DEPTH = 50
"""The minimum number of memories that each group contributes."""

_RANKED = Scope("ranked together")


class _JointHit(Hit):
    """A hit of the joint ranking, under its own key."""

    __slots__ = ("_key",)

    def __init__(self, hit: Hit, key: Key) -> None:
        super().__init__(hit._hits, hit._position)
        self._key = key

    @property
    def id(self) -> str | int:
        return self._key[1]

    @property
    def scope(self) -> Scope:
        return self._key[0]


def search_together(
    index: Index,
    scopes: Sequence[Scope],
    text: str | bytes | None = None,
    *,
    k: int = 10,
    where: Node | None = None,
    vector: ArrayLike | None = None,
    query: Query = USUAL,
    explain: bool = False,
) -> list[Hit]:
    """Return the best `k` memories that any of the scopes sees, best first, each once.

    Like :meth:`scrubjay.Index.search` of these scopes, but also with conditions that only Python can check; those cost
    one listing per scope.

    Args:
        index, scopes: to be searched.
        text, vector, query, explain, k: as for :meth:`scrubjay.Index.search`.
        where: conditions, native or a tree.

    >>> index = Index()
    >>> for user in ("jane", "joe"):
    ...     index.upsert("m1", f"The staging key of {user}.", scope=Scope("acme", user=user))
    >>> both = [Scope("acme", user="jane"), Scope("acme", user="joe")]
    >>> [(hit.id, hit.scope.user) for hit in search_together(index, both, "joe's staging key")]
    [('m1', 'joe'), ('m1', 'jane')]
    """
    scopes = list(dict.fromkeys(scopes))
    if not scopes:
        return []
    if len(scopes) > _AT_ONCE:
        hits: dict[Key, Hit] = {}
        depth, alone = max(k, _LEAST_DEPTH), query.replace(mmr=None, min_score=None)  # these need all groups
        for at in range(0, len(scopes), _AT_ONCE):
            group = scopes[at : at + _AT_ONCE]
            for hit in search_together(index, group, text, k=depth, where=where, vector=vector, query=alone):
                hits.setdefault((hit.scope, hit.id), hit)
        return _ranked(index, hits, text, k, vector, query, explain)
    admitted = Admitted() if where is None else admit_all(index, scopes, where)
    if admitted.ids == []:
        return []
    options = admitted.asked(query)
    return list(index.search(text, scope=scopes, k=k, vector=vector, explain=explain, **options))


def _ranked(
    index: Index,
    best_hits: dict[Key, Hit],
    text: str | bytes | None,
    k: int,
    vector: ArrayLike | None,
    query: Query,
    explain: bool,
) -> list[Hit]:
    if not best_hits:
        return []
    backend = Backend.of(index)
    with backend.scratch() as scratch:
        Backend.of(scratch).write_rows([_row(number, hit) for number, hit in enumerate(best_hits.values())])
        if isinstance(text, str):
            backend.lend_query(text, Backend.of(scratch))
        again = query.replace(ids=None, exclude=None, rankings=None)
        hits = scratch.search(text, scope=_RANKED, k=k, vector=vector, query=again, explain=explain)
        keys = list(best_hits)
        return [_JointHit(hit, keys[int(hit.id)]) for hit in hits]


def _row(number: int, hit: Hit) -> Row:
    result: Any = hit._hits._result
    at = hit._position
    return Row(number, hit.text, _RANKED, result.vector(at), result.payload(at))

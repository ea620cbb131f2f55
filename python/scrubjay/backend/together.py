"""One ranking over several scopes.

A search sees one scope, and its scores hold within that scope: the words of a question weigh by how rare they are
there. So memories of several scopes are not merged by score. Each scope contributes its best memories, and these are
ranked by the same query as if they were an index of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.backend.conditions import EVERYTHING, Key, Node, admit, admit_each
from scrubjay.backend.queries import USUAL
from scrubjay.backend.seam import Backend
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index
from scrubjay.records import Row

__all__ = ["search_together"]

_LEAST_DEPTH = 50
"""How many memories each scope contributes at least."""

_WORTH_THREADS = 16
"""Searches of small scopes take less time than waking threads for them."""

_RANKED = Scope("ranked together")


class _Joined(Hit):
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

    One scope is searched as :meth:`scrubjay.Index.search` does. Of several each contributes its best `k`, at least 50,
    and those are ranked among each other; by vectors alone that is the exact order. Costs a search for each scope, and
    some 50 us for each memory that is contributed.

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
    if len(scopes) == 1:
        admitted = admit(index, scopes[0], where or EVERYTHING)
        if admitted.ids == []:
            return []
        hits = index.search(
            text,
            scope=scopes[0],
            k=k + admitted.n_twins,
            vector=vector,
            explain=explain,
            **admitted.asked(query),
        )
        return admitted.of(hits, k)
    near = vector
    if near is None and text is not None and query.mode != "lexical" and query.keywords is None:
        near = Backend.of(index).query_vector(text)  # once for all scopes
    ask = partial(_contributed, index, scopes, text, max(k, _LEAST_DEPTH), where or EVERYTHING, near)
    # Reading unknown words as known ones costs more than all else in a small scope.
    found = ask(query.replace(mmr=None, min_score=None, spelling=False))
    if len(found) < k and query.spelling:
        found = ask(query.replace(mmr=None, min_score=None))
    return _ranked(index, found, text, k, vector, query, explain)


def _contributed(
    index: Index,
    scopes: Sequence[Scope],
    text: str | bytes | None,
    depth: int,
    where: Node,
    vector: ArrayLike | None,
    query: Query,
) -> dict[Key, Hit]:
    """Return the best of each scope. `query` compares no memory with others of its ranking: not all are there yet."""
    found: dict[Key, Hit] = {}
    for group, admitted in admit_each(index, scopes, where):
        n = len(group)
        answers = index.search_batch(
            None if text is None else [text] * n,
            vectors=None if vector is None else [vector] * n,
            scope=group,
            k=depth + admitted.n_twins,
            threads=1 if n < _WORTH_THREADS else None,
            **admitted.asked(query),
        )
        for hits in answers:
            for hit in admitted.of(hits, depth):
                found.setdefault((hit.scope, hit.id), hit)
    return found


def _ranked(
    index: Index,
    found: dict[Key, Hit],
    text: str | bytes | None,
    k: int,
    vector: ArrayLike | None,
    query: Query,
    explain: bool,
) -> list[Hit]:
    if not found:
        return []
    backend = Backend.of(index)
    with backend.scratch() as scratch:
        Backend.of(scratch).write_rows([_row(number, hit) for number, hit in enumerate(found.values())])
        if isinstance(text, str):
            backend.lend_query(text, Backend.of(scratch))
        again = query.replace(ids=None, exclude=None, rankings=None)
        hits = scratch.search(text, scope=_RANKED, k=k, vector=vector, query=again, explain=explain)
        keys = list(found)
        return [_Joined(hit, keys[int(hit.id)]) for hit in hits]


def _row(number: int, hit: Hit) -> Row:
    result: Any = hit._hits._result
    at = hit._position
    encoded = result.payload(at)
    expiry = payload.expiry(encoded)
    return Row(
        number,
        hit.text,
        _RANKED,
        result.vector(at),
        encoded,
        None if expiry is None else payload.microseconds(expiry),
    )

"""Listings of the native engine against a log of writes, with equal ids in several scopes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Engine, Scope
from scrubjay.store.local import LocalEngine
from scrubjay.store.rows.listing import listing_of

SCOPES = [Scope("a"), Scope("a", user="u"), Scope("a", agent="x"), Scope("a", "u", "x"), Scope("b")]
IDS = st.integers(0, 5)
KEYS = st.tuples(st.sampled_from(SCOPES), IDS)
STEPS = st.one_of(
    st.tuples(st.just("upsert"), st.lists(KEYS, min_size=1, max_size=5)),
    st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=2)),
    st.tuples(st.just("erase"), st.lists(KEYS, min_size=1, max_size=1)),
    st.tuples(st.just("compact"), st.just([])),
)


class Log:
    """Return the documents that were written and not deleted since, in order of the last write."""

    def __init__(self) -> None:
        self.documents: dict[tuple[Scope, int], tuple[str, int]] = {}
        self.n_writes = 0

    def write(self, key: tuple[Scope, int]) -> tuple[str, bytes]:
        text, number = f"t{self.n_writes}", self.n_writes % 3
        self.n_writes += 1
        self.documents.pop(key, None)
        self.documents[key] = (text, number)
        return text, b'{"metadata":{"n":%d}}' % number

    def listed(
        self, scope: Scope, *, exact: bool, newest: bool, n: int | None
    ) -> list[tuple[Scope, int, str]]:
        seen = [scope] if exact else scope.visible()
        rows = [
            (own, id, text)
            for (own, id), (text, number) in self.documents.items()
            if own in seen and n in (None, number)
        ]
        return rows[::-1] if newest else rows


def _rows(result: Any) -> list[tuple[Scope, int, str]]:
    return [(result.scope(i), result.id(i), result.text(i)) for i in range(len(result))]


@given(steps=st.lists(STEPS, min_size=1, max_size=30), chunk_docs=st.sampled_from([1, 3, 65536]))
def test_listings_follow_the_order_of_writing(steps: list[Any], chunk_docs: int) -> None:
    engine, log = LocalEngine(Engine(chunk_docs=chunk_docs), dict), Log()
    for verb, keys in steps:
        if verb == "upsert":
            rows = [log.write(key) for key in keys]
            engine.upsert_many(
                [id for _, id in keys],
                [text for text, _ in rows],
                scope=[scope for scope, _ in keys],
                payloads=[payload for _, payload in rows],
            )
        elif verb == "delete":
            n_gone = sum(log.documents.pop(key, None) is not None for key in keys)
            ids, scopes = [id for _, id in keys], [scope for scope, _ in keys]
            assert engine.delete_many(ids, scope=scopes) == n_gone
        elif verb == "erase":
            scope = keys[0][0]
            gone = [key for key in log.documents if key[0] == scope]
            assert engine.erase(scope, exact=True) == len(gone)
            for key in gone:
                del log.documents[key]
        else:
            engine.compact()
    assert sorted(engine.scopes()) == sorted({scope for scope, _ in log.documents})
    for scope in SCOPES:
        for exact in (False, True):
            for newest in (True, False):
                for n in (None, 1):
                    order, filter = "newest" if newest else "oldest", None if n is None else {"n": n}
                    expected = log.listed(scope, exact=exact, newest=newest, n=n)
                    whole = engine.listed(listing_of(scope, exact=exact, filter=filter, order=order))
                    assert [(one.scope, one.id, one.text) for one in whole] == expected
                    middle = listing_of(scope, exact=exact, filter=filter, order=order, offset=1, limit=2)
                    part = engine.listed(middle)
                    assert [(one.scope, one.id, one.text) for one in part] == expected[1:3]
                    paged, after = [], 0
                    while len(
                        page := engine.native.scroll(
                            scope, exact=exact, filter=filter, newest=newest, after=after, limit=2
                        )
                    ):
                        paged += _rows(page)
                        after = page.cursor
                    assert paged == expected


def test_listing_arguments_are_checked() -> None:
    engine = Engine()
    for wrong in ({"after": -1}, {"skip": -1}, {"limit": -1}, {"limit": "2"}, {"ids": [None]}):
        with pytest.raises((TypeError, ValueError)):
            engine.scroll(Scope("a"), **wrong)
    with pytest.raises(TypeError, match="scope"):
        engine.scroll("a")
    with pytest.raises(TypeError, match="within"):
        engine.scopes("a")

"""Engine and model stay equal under any sequence of writes and searches."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from scrubjay.documents.payload import encode
from tests.data import strategies as draw
from tests.data.engines import engine_kit
from tests.data.replay import Pair
from tests.stateful import invariants

vectors = draw.some_exact_vectors
CONDITIONS = [None, "absent", "current", "stale"]
payloads = st.one_of(
    st.none(), st.binary(max_size=5), draw.texts.map(lambda text: encode(None, None, context=text or None))
)


places = draw.weighted((3, st.integers(0, 7)), (1, st.integers(0, 39)))
"""Of ids: few, so that many exist in several scopes at once."""


class EngineMachine(RuleBasedStateMachine):
    """Writes go to both; each reading rule is an invariant with drawn arguments."""

    pair: Pair
    ids: list[Any]

    @initialize(
        str_ids=st.booleans(),
        metric=st.sampled_from(["ip", "l2"]),
        with_dim=st.booleans(),
        chunk_docs=draw.chunk_sizes,
    )
    def start(self, str_ids: bool, metric: str, with_dim: bool, chunk_docs: int | None) -> None:
        self.pair = Pair(engine_kit(), chunk_docs, metric=metric, dim=draw.DIM if with_dim else None)
        self.ids = [f"m{i}" for i in range(40)] if str_ids else list(range(-5, 35))

    @rule(id=places, text=draw.texts, key=draw.scope_keys, vector=vectors, payload=payloads)
    def upsert(self, id: int, text: str, key: tuple, vector: Any, payload: bytes | None) -> None:
        scope = self.pair.scope(key)
        self.pair.both(lambda e: e.upsert(self.ids[id], text, scope=scope, vector=vector, payload=payload))

    @rule(place=st.integers(0, 39), text=draw.texts, vector=vectors)
    def update(self, place: int, text: str, vector: Any) -> None:
        """Write a new version of a live document, in its scope."""
        live = self.pair.model.live_keys()
        if live:
            home, id = live[place % len(live)]
            self.pair.both(lambda e: e.upsert(id, text, scope=self.pair.scope(home), vector=vector))

    @rule(place=st.integers(0, 39), text=draw.texts, key=draw.scope_keys)
    def copy(self, place: int, text: str, key: tuple) -> None:
        """Write the id of a live document, usually in another scope: the original document must not change."""
        live = self.pair.model.live_keys()
        if live:
            _, id = live[place % len(live)]
            self.pair.both(lambda e: e.upsert(id, text, scope=self.pair.scope(key)))

    @rule(
        rows=st.lists(st.tuples(places, draw.texts, draw.scope_keys, vectors, payloads), max_size=12),
        one_scope=st.booleans(),
    )
    def upsert_many(self, rows: list[tuple[int, str, tuple, Any, bytes | None]], one_scope: bool) -> None:
        scopes = [self.pair.scope(key) for _, _, key, _, _ in rows]
        self.pair.both(
            lambda e: e.upsert_many(
                [self.ids[id] for id, *_ in rows],
                [text for _, text, *_ in rows],
                scope=scopes[0] if one_scope and scopes else scopes,
                vectors=[vector for _, _, _, vector, _ in rows],
                payloads=[payload for *_, payload in rows],
            )
        )

    @rule(id=places, key=draw.scope_keys)
    def delete(self, id: int, key: tuple) -> None:
        self.pair.both(lambda e: e.delete(self.ids[id], scope=self.pair.scope(key)))

    @rule(place=st.integers(0, 39))
    def delete_live(self, place: int) -> None:
        live = self.pair.model.live_keys()
        if live:
            home, id = live[place % len(live)]
            self.pair.both(lambda e: e.delete(id, scope=self.pair.scope(home)))

    @rule(rows=st.lists(st.tuples(places, draw.scope_keys), max_size=20), one_scope=st.booleans())
    def delete_many(self, rows: list[tuple[int, tuple]], one_scope: bool) -> None:
        scopes = [self.pair.scope(key) for _, key in rows]
        scope = scopes[0] if one_scope and scopes else scopes
        self.pair.both(lambda e: e.delete_many([self.ids[id] for id, _ in rows], scope=scope))

    def versions(self, engine: Any, keys: list[tuple[int, tuple]], conditions: list[str | None]) -> list[Any]:
        """Return the versions of conditional writes, in the engine's own numbering."""
        found = []
        for (id, key), condition in zip(keys, conditions, strict=True):
            scope = self.pair.scope(key)
            try:
                document = engine.get(self.ids[id], scope=scope)
            except TypeError:  # ids of the other type
                document = None
            current = document.version if document is not None and document.scope == scope else 0
            found.append({"absent": 0, "current": current, "stale": current + 1}.get(condition or ""))
        return found

    @rule(
        rows=st.lists(
            st.tuples(places, draw.texts, draw.scope_keys, vectors, st.sampled_from(CONDITIONS)), max_size=8
        )
    )
    def upsert_versioned(self, rows: list[tuple[int, str, tuple, Any, str | None]]) -> None:
        keys, conditions = [(id, key) for id, _, key, *_ in rows], [row[-1] for row in rows]

        def write(engine: Any) -> int:
            written = engine.upsert_versioned(
                [self.ids[id] for id, _ in keys],
                [text for _, text, *_ in rows],
                scope=[self.pair.scope(key) for _, key in keys],
                versions=self.versions(engine, keys, conditions),
                vectors=[vector for _, _, _, vector, _ in rows],
            )
            last = {key: i for i, key in enumerate(keys)}
            current = self.versions(engine, [keys[i] for i in sorted(last.values())], ["current"] * len(last))
            assert written == current
            return len(written)

        self.pair.both(write)

    @rule(
        rows=st.lists(
            st.tuples(places, draw.scope_keys, st.sampled_from(CONDITIONS[1:])), max_size=8, unique=True
        )
    )
    def delete_versions(self, rows: list[tuple[int, tuple, str]]) -> None:
        keys, conditions = [(id, key) for id, key, _ in rows], [row[-1] for row in rows]
        self.pair.both(
            lambda e: e.delete_many(
                [self.ids[id] for id, _ in keys],
                scope=[self.pair.scope(key) for _, key in keys],
                versions=self.versions(e, keys, conditions),
            )
        )

    @rule(key=draw.scope_keys, exact=st.booleans())
    def erase(self, key: tuple, exact: bool) -> None:
        self.pair.both(lambda e: e.erase(self.pair.scope(key), exact=exact))

    @rule()
    def compact(self) -> None:
        self.pair.engine.compact()

    @rule(key=draw.scope_keys, id=places)
    def look_up(self, key: tuple, id: int) -> None:
        invariants.same_number_of_documents(self.pair, key)
        invariants.same_documents(self.pair, self.ids[id], key)
        invariants.same_statistics(self.pair, key)

    @rule(key=draw.scope_keys, ids=st.lists(places, max_size=6))
    def search_ids(self, key: tuple, ids: list[int]) -> None:
        if self.pair.model._id_type is not None:
            invariants.same_admitted_ids(self.pair, key, [self.ids[id] for id in ids])

    @rule(key=draw.scope_keys, picks=draw.picks)
    def search_rankings(self, key: tuple, picks: list[tuple[int, bool]]) -> None:
        invariants.same_rankings(self.pair, key, self.pair.entries(picks))

    @rule(query=draw.queries, key=draw.scope_keys)
    def search_text(self, query: str, key: tuple) -> None:
        invariants.same_lexical_results(self.pair, query, key)
        invariants.nothing_foreign(self.pair, query, key)

    @rule(vector=draw.exact_vectors, key=draw.scope_keys)
    def search_vector(self, vector: Any, key: tuple) -> None:
        invariants.same_vector_results(self.pair, vector, key)

    @rule(query=draw.queries, vector=draw.exact_vectors, key=draw.scope_keys, k=st.integers(1, 12))
    def search_hybrid(self, query: str, vector: Any, key: tuple, k: int) -> None:
        invariants.same_hybrid_results(self.pair, query, vector, key, k)

    def teardown(self) -> None:
        if not hasattr(self, "pair"):
            return
        for tenant in ("acme", "globex", "a"):
            for user in (None, "jane"):
                key = (tenant, user, "coder")
                invariants.same_lexical_results(self.pair, "jay oak the key sk-stg-0041", key)
                invariants.same_number_of_documents(self.pair, key)
                for id in self.ids:
                    invariants.same_documents(self.pair, id, key)


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings()

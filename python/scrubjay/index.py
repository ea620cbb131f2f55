"""The index: an engine, an embedder, and texts with metadata. What most callers use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from numpy.typing import ArrayLike

from scrubjay._native import Engine, Scope
from scrubjay.degrade import Plan, make_plan, make_plans
from scrubjay.embedders.protocol import Embedder
from scrubjay.expiry import Expiry
from scrubjay.payload import CreatedAt
from scrubjay.progress import open_progress
from scrubjay.records import Record, VectorRule, as_scope, check_row, read_rows, to_record
from scrubjay.results import Hits
from scrubjay.semantic import Semantics
from scrubjay.store.engine import DurableEngine
from scrubjay.store.open import open_engine
from scrubjay.stored import StoredIndex

__all__ = ["Index"]


class Index(StoredIndex):
    """Memories, in this process or in a file (:meth:`open`): searched by keywords and by meaning, inside one
    scope, fused in native code.

    Args:
        embedder: turns texts into vectors (see :mod:`scrubjay.embedders`). None: vectors are the caller's, and without
            them the index answers by keywords alone and says so.
        dim: length of the vectors; by default the embedder's, or that of the first vector written.
        metric: "cosine", "ip" (inner product) or "l2" (similarities are negated squared distances).
        dtype: how vectors are stored, "f16" or "f32".
        analyzer: "english" (Porter2 stems), "plain" (no stems), or any name of yours along with `stemmer`.
        stemmer: word -> stem, for other languages (:func:`scrubjay.snowball`); called once per distinct word.
        k1, b: of BM25.
        query_cache: how many query vectors are kept; 0 for none. An embedder that is native code needs none.

    All methods may be called from any thread; reads never wait for writes. A write is visible to the next search as
    soon as it returns.

    >>> index = Index()
    >>> jane = Scope("acme", user="jane")
    >>> index.upsert("m1", "The staging API key prefix is sk-stg-0041.", scope=jane, metadata={"category": "keys"})
    >>> index.upsert("m2", "Prefers trains to planes.", scope=jane, created_at="2026-03-01")
    >>> hits = index.search("which key prefix for staging?", scope=jane)
    >>> hits[0].id, hits[0].metadata, hits.mode
    ('m1', {'category': 'keys'}, 'lexical')
    >>> len(index.search("staging", scope=Scope("globex", user="jane")))
    0
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        dim: int | None = None,
        metric: str = "cosine",
        dtype: str = "f16",
        analyzer: str = "english",
        stemmer: Callable[[str], str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        query_cache: int = 1024,
    ) -> None:
        self._semantics = Semantics(embedder, dim, query_cache)
        if embedder is not None:
            dim = embedder.dim
        self._engine: Engine | DurableEngine = Engine(
            dim, metric, dtype=dtype, analyzer=analyzer, stemmer=stemmer, k1=k1, b=b
        )
        self._expiry = Expiry(self._engine)

    @classmethod
    def open(
        cls,
        path: str | Path,
        embedder: Embedder | None = None,
        *,
        dim: int | None = None,
        metric: str | None = None,
        dtype: str | None = None,
        analyzer: str | None = None,
        stemmer: Callable[[str], str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        query_cache: int = 1024,
        durability: str = "full",
        busy_timeout: float = 5.0,
        memory_budget: int | None = None,
    ) -> Index:
        """Open the index in a file, or create it; what is written survives.

        Args:
            path: one SQLite file (beside it, while it is open, its log `-wal` and `-shm`). Several processes
            may have it
                open on one machine, not over a network file system.
            embedder: as in the constructor; it must be the model whose vectors the file holds (see :meth:`reembed`).
            dim, metric, dtype, analyzer: of a new index, by default as in the constructor; of an existing one they are
                known, and what is given must agree.
            stemmer, k1, b, query_cache: as in the constructor; a custom stemmer must be given every time.
            durability: "full": an acknowledged write survives the loss of power. "normal": it survives the death of the
                process; after a loss of power the last writes may be missing, but nothing is torn.
            busy_timeout: seconds to wait for another writer.
            memory_budget: bytes for the index in memory, three quarters of them for partitions; what was used
            least recently makes room. The partitions of one
                search are in memory together, whatever the budget. None: no limit.

        A partition is read when a search first needs it. Use the index as a context manager, or :meth:`close` it.

        Raises:
            StoreFormatError: the file is no index, is of a newer format, or holds another kind of index.
            StoreError, StoreBusyError, CorruptIndexError: it cannot be opened, or is damaged.
            EmbedderMismatchError: it holds vectors of another model.

        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.search("train", scope=Scope("acme"))[0].id
        'm1'
        >>> folder.cleanup()
        """
        index = cls.__new__(cls)
        index._semantics = Semantics(None, None, query_cache)
        index._engine = open_engine(
            Path(path),
            dim=dim if embedder is None else embedder.dim,
            metric=metric,
            dtype=dtype,
            analyzer=analyzer,
            stemmer=stemmer,
            k1=k1,
            b=b,
            durability=durability,
            busy_timeout=busy_timeout,
            memory_budget=memory_budget,
            with_embedder=embedder is not None,
            model=lambda: None if index._semantics.embedder is None else index._semantics.embedder.name,
        )
        index._expiry = Expiry(index._engine)
        try:
            index._semantics.restore(index._engine.identity.model)
            index._semantics.use(embedder, index._engine.dim)
            index._engine.on_new_model = index._semantics.restore
            if embedder is not None and dim is not None and dim != embedder.dim:
                raise ValueError(f"dim: expected the embedder's {embedder.dim}, got {dim}")
        except BaseException:
            index.close()
            raise
        return index

    # ------------------------------------------------------------------ writing

    def upsert(
        self,
        id: str | int,
        text: str | bytes,
        *,
        scope: Scope,
        vector: ArrayLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_at: CreatedAt | None = None,
        expires_at: CreatedAt | None = None,
        ttl: timedelta | float | None = None,
    ) -> None:
        """Write one memory; one with this id in this scope is replaced whole.

        Args:
            id: str or int; the first write settles which of the two this index has.
            text: is embedded and indexed. bytes are UTF-8; invalid ones become U+FFFD.
            scope: who may find it.
            vector: (dim,) numbers in place of the embedding.
            metadata: JSON values under str keys; returned with each hit. Tuples come back as lists.
            created_at: a datetime, an ISO 8601 str, or seconds since 1970; naive times are UTC.
            expires_at, ttl: from when on nobody finds it any more: a time, or how long from now (a timedelta
            or seconds).

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            ConflictError: the id exists in another scope.
            EmbedderError: the embedder failed.
            StoreError, StoreBusyError: the file could not be written.
            In each case nothing was written.
        """
        row = check_row(id, text, scope, vector, metadata, created_at, self._vector_rule(), expires_at, ttl)
        if vector is None and self._semantics.embedder is not None:
            row.vector = self._semantics.documents(
                [text], 1, open_progress(False, total=0, what="", unit="")
            )[0]
            embedded = row.vector is not None
        else:
            embedded = False
        self._engine.upsert(row.id, row.text, scope=row.scope, vector=row.vector, payload=row.payload)
        self._expiry.add([row])
        if embedded:
            self._semantics.wrote()

    def upsert_many(
        self,
        records: Iterable[Mapping[str, Any] | Any],
        *,
        scope: Scope | None = None,
        progress: bool | None = None,
        batch_size: int = 256,
    ) -> int:
        """Write many memories: all, or none if one of them is wrong or the embedder fails.

        Args:
            records: mappings or dataclass instances (:class:`Record`, or one of yours) with the fields of
                :meth:`upsert`: id, text, scope, vector, metadata, created_at, expires_at, ttl. A mapping's
                `scope` may itself be a mapping of tenant, user, agent. Of several records with one id the last
                one counts.
            scope: for the records that have none.
            progress: show a bar on standard error; None: if that is a terminal.
            batch_size: texts the embedder gets at a time.

        Returns:
            The number of memories written (distinct ids).

        Raises:
            TypeError, ValueError: the message names the record's position, the field, what was expected and given.
            ConflictError: an id exists in another scope.
            EmbedderError: the embedder failed.

        All records and their vectors are in memory at once; write a larger stream in slices.

        >>> index = Index()
        >>> index.upsert_many([{"id": 1, "text": "one"}, {"id": 2, "text": "two"}], scope=Scope("acme"))
        2
        >>> index.upsert_many([{"id": 3, "text": "three"}, {"id": 4, "text": None}], scope=Scope("acme"))
        Traceback (most recent call last):
        ...
        ValueError: records[1]: text: expected a value, it is missing
        """
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        rows = read_rows(records, scope, self._vector_rule())
        to_embed = [row for row in rows if row.vector is None] if self._semantics.embedder is not None else []
        bar = open_progress(progress, total=len(to_embed), what="embedding", unit="texts")
        try:
            vectors = self._semantics.documents([row.text for row in to_embed], batch_size, bar)
        finally:
            bar.close()
        for row, vector in zip(to_embed, vectors, strict=True):
            row.vector = vector
        written = self._engine.upsert_many(
            [row.id for row in rows],
            [row.text for row in rows],
            scope=[row.scope for row in rows],
            vectors=[row.vector for row in rows],
            payloads=[row.payload for row in rows],
        )
        self._expiry.add(rows)
        if any(vector is not None for vector in vectors):
            self._semantics.wrote()
        return written

    def delete(self, id: str | int) -> bool:
        """Delete one memory; False if there was none with this id."""
        return self._engine.delete(id)

    def erase(self, scope: Scope, *, exact: bool = False) -> int:
        """Delete every memory whose scope agrees with all given components; return how many.

        `Scope("acme")` erases all of the tenant, its users and agents included; with `exact` only what has precisely
        this scope (the tenant's shared memories).
        """
        return self._engine.erase(scope, exact=exact)

    # ------------------------------------------------------------------ searching

    def search(
        self,
        text: str | bytes | None = None,
        *,
        scope: Scope,
        vector: ArrayLike | None = None,
        keywords: str | bytes | None = None,
        k: int = 10,
        mode: str = "hybrid",
        candidates: int | None = None,
        rrf_k: float = 60.0,
        weights: tuple[float, float] | None = None,
        explain: bool = False,
    ) -> Hits:
        """Return the k best memories that `scope` may see: its own and those shared with it.

        Args:
            text: the question; goes to the embedder and to the keyword ranking.
            scope: who asks. Sees (tenant), (tenant, user), (tenant, agent) and (tenant, user, agent), nothing else.
            vector: (dim,) numbers in place of the text's embedding.
            keywords: replaces the text for the keyword ranking only.
            k: how many hits at most.
            mode: "hybrid" (both rankings, fused), "lexical" or "vector".
            candidates: how many of each ranking are fused; by default the larger of 100 and k.
            rrf_k: of reciprocal rank fusion: a ranking adds weight / (rrf_k + rank).
            weights: of the (lexical, vector) ranking; by default equal.
            explain: have BM25, similarity, matched terms and coverage for each hit.

        One of text, vector, keywords must be given. What is missing for the mode degrades the search instead of
        failing it (no embedder, an embedder that raises, no text): `hits.mode` says what ran, `hits.degraded` why.

        Ties: score descending, then tenant before user before agent memories, then the order of writing.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.

        >>> index = Index()
        >>> index.upsert(7, "Sails on Saturdays", scope=Scope("acme"), vector=[1.0, 0.0])
        >>> hit = index.search("sailing", vector=[0.6, 0.8], scope=Scope("acme"), explain=True)[0]
        >>> hit.id, hit.lexical_rank, hit.vector_rank, hit.matched_terms, round(hit.cosine, 2)
        (7, 1, 1, ['sail'], 0.6)
        """
        generation = self._generation
        embeds = vector is None and text is not None and mode != "lexical"
        if embeds and keywords is None and (native := self._semantics.native) is not None:
            plan = Plan(mode, text, None, (), native)
        elif embeds and text is not None:
            embedded, degraded = self._semantics.query(text)
            embeds = embedded is not None
            plan = make_plan(mode, text, embedded, keywords, degraded)
        else:
            plan = make_plan(mode, text, vector, keywords, ())
        if self._expiry.pending:
            self._expiry.remove_due()
        try:
            result = self._engine.search(
                plan.lexical_text,
                vector=plan.vector,
                scope=scope,
                k=k,
                mode=plan.mode,
                candidates=candidates,
                rrf_k=rrf_k,
                weights=weights,
                explain=explain,
                embedder=plan.embedder,
            )
        except ValueError:
            if self._generation == generation or not embeds:
                raise
            result = None
        if result is None or (embeds and self._generation != generation):
            # Another process changed the model while the text was embedded with the old one.
            return self.search(
                text,
                scope=scope,
                keywords=keywords,
                k=k,
                mode=mode,
                candidates=candidates,
                rrf_k=rrf_k,
                weights=weights,
                explain=explain,
            )
        return Hits(result, plan.degraded, explain)

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        keywords: Sequence[str | bytes | None] | None = None,
        k: int = 10,
        mode: str = "hybrid",
        candidates: int | None = None,
        rrf_k: float = 60.0,
        weights: tuple[float, float] | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> list[Hits]:
        """Answer several questions at once: embedded in one call of the embedder, searched on `threads` threads.

        `texts`, `vectors` (n, dim) and `keywords` have one entry a question (None where it has none), `scope` is one
        for all or one each. The other arguments and each of the results are those of :meth:`search`.
        """
        for name, given in (("texts", texts), ("keywords", keywords)):
            if isinstance(given, (str, bytes)):
                raise TypeError(f"{name}: expected a sequence of str, got one {type(given).__name__}")
        questions: list[Any] = [given for given in (texts, vectors, keywords) if given is not None]
        if not questions:
            raise ValueError("texts, vectors, keywords: expected at least one of them")
        if not isinstance(scope, Scope):
            scope = [as_scope(one) for one in scope]
            questions.append(scope)
        n_questions = len(questions[0])
        if any(len(given) != n_questions for given in questions):
            lengths = ", ".join(str(len(given)) for given in questions)
            raise ValueError(f"texts, vectors, keywords, scope: expected equal lengths, got {lengths}")
        nothing: list[None] = [None] * n_questions
        generation = self._generation
        plans = make_plans(
            self._semantics,
            mode,
            nothing if texts is None else texts,
            nothing if vectors is None else vectors,
            nothing if keywords is None else keywords,
        )
        found: list[Hits | None] = list(nothing)
        self._expiry.remove_due()

        def again() -> list[Hits]:
            """Another process changed the model while the texts were embedded with the old one."""
            return self.search_batch(
                texts,
                scope=scope,
                vectors=vectors,
                keywords=keywords,
                k=k,
                mode=mode,
                candidates=candidates,
                rrf_k=rrf_k,
                weights=weights,
                explain=explain,
                threads=threads,
            )

        for run_mode, embedder in {(plan.mode, plan.embedder) for plan in plans}:
            rows = [
                row for row, plan in enumerate(plans) if (plan.mode, plan.embedder) == (run_mode, embedder)
            ]
            try:
                results = self._engine.search_batch(
                    [plans[row].lexical_text for row in rows],
                    vectors=[plans[row].vector for row in rows],
                    scope=scope if isinstance(scope, Scope) else [scope[row] for row in rows],
                    k=k,
                    mode=run_mode,
                    candidates=candidates,
                    rrf_k=rrf_k,
                    weights=weights,
                    explain=explain,
                    threads=threads,
                    embedder=embedder,
                )
            except ValueError:
                if self._generation == generation:
                    raise
                return again()
            if self._generation != generation:
                return again()
            for row, result in zip(rows, results, strict=True):
                found[row] = Hits(result, plans[row].degraded, explain)
        return [hits for hits in found if hits is not None]

    # ------------------------------------------------------------------ looking

    def get(self, id: str | int) -> Record | None:
        """Return the memory with this id, its vector included; None if there is none."""
        self._expiry.remove_due()
        document = self._engine.get(id)
        return None if document is None else to_record(document)

    def count(self, scope: Scope | None = None) -> int:
        """Return how many memories a search from `scope` would look at; without one, how many there are."""
        self._expiry.remove_due()
        return self._engine.count(scope)

    def stats(self) -> dict[str, int | float | str | None]:
        """Return the engine's counts (documents, partitions, vectors, memory_bytes, ...), embedder and query cache."""
        cache = self._semantics.cache.stats()
        return {
            **self._engine.stats(),
            "embedder": self._semantics.model,
            "dim": self._engine.dim,
            "metric": self._engine.metric,
            "dtype": self._engine.dtype,
            "analyzer": self._engine.analyzer,
            "query_cache_entries": cache["entries"],
            "query_cache_hits": cache["hits"],
            "query_cache_misses": cache["misses"],
        }

    @property
    def embedder(self) -> Embedder | None:
        """The embedder. Assigning another object is refused unless it is the model whose vectors the index holds.

        Raises (on assignment):
            EmbedderMismatchError: another model, or another dimension; the message names the remedy.
        """
        return self._semantics.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        if len(self._engine) == 0:
            self._semantics.forget()
        self._semantics.use(embedder, self._engine.dim)

    @property
    def engine(self) -> Engine | DurableEngine:
        """The engine below: the native one, or the one over a file. What is written to it is found here too, but is not
        embedded."""
        return self._engine

    def _vector_rule(self) -> VectorRule:
        return VectorRule(self._engine.dim, self._engine.metric)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        self._expiry.remove_due()
        return len(self._engine)

    def __contains__(self, id: object) -> bool:
        self._expiry.remove_due()
        return isinstance(id, (str, int)) and id in self._engine

    def __repr__(self) -> str:
        n = len(self._engine)
        model = self._semantics.model
        vectors = "no vectors" if self._engine.dim is None else f"{self._engine.dim}-dim {self._engine.dtype}"
        return (
            f"<scrubjay.Index {n:,} {'memory' if n == 1 else 'memories'}, "
            f"{vectors} {self._engine.metric}, {model or 'no embedder'}, {self._engine.analyzer}>"
        )

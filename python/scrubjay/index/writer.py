"""Writing to a collection: upsert, patch, delete, erase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from numpy.typing import ArrayLike

from scrubjay._native import Filter, Scope
from scrubjay.base.arguments import checked_flag, shown
from scrubjay.base.errors import VersionConflictError
from scrubjay.base.initialised import guarded
from scrubjay.base.progress import open_progress
from scrubjay.documents.ids import checked_id, checked_ids
from scrubjay.documents.payload import CreatedAt, checked_context, with_pending
from scrubjay.documents.records import (
    Row,
    VectorRule,
    as_scope,
    check_row,
    checked_vector,
    checked_version,
    read_rows,
)
from scrubjay.filters import FilterLike
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.owners import check_nothing_owned, check_unowned
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.patching import KEEP, Keep, Patch
from scrubjay.store.writing.write_path import checked_reason

_PASSAGES_AT_A_TIME = 256  # per call of the embedder


@guarded
class Writer:
    """Changes the documents of one collection. Thread-safe; a write is visible to the next search when it returns."""

    __slots__ = ("_collection", "_rule")

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection
        self._rule = VectorRule(None, collection.engine.metric)

    def upsert(
        self,
        id: str | int,
        text: str | bytes,
        scope: Scope,
        vector: ArrayLike | None,
        metadata: Mapping[str, Any] | None,
        created_at: CreatedAt | None,
        expires_at: CreatedAt | None,
        ttl: timedelta | float | None,
        entities: Sequence[str] | None,
        version: int | None,
        context: str | None = None,
        passages: Sequence[tuple[int, int]] | Literal[False] | None = None,
    ) -> None:
        """Write one memory, replacing the memory with this id in this scope, if any.

        Args:
            id: str or int; the first write decides which of the two this index has.
            text: is embedded and indexed, at most 16 MiB as UTF-8 and 8,388,608 tokens. bytes are UTF-8; invalid
                sequences become U+FFFD.
            scope: the scope that may find it.
            vector: (dim,) numbers in place of the embedding, or (n, dim) numbers: a vector for each of n passages, of
                which a search uses the nearest.
            metadata: JSON values and datetimes under str keys; returned with each hit and tested by filters. Tuples
                come back as lists, datetimes as ISO 8601 (UTC). At most 16 MiB as JSON.
            created_at: a datetime, an ISO 8601 str, or seconds since 1970; naive times are UTC.
            expires_at, ttl: when it expires and is no longer found: a time, or a duration from now (a timedelta
            or seconds).
            entities: the people and things that it is about; stored in the metadata under `entities` in normalised form
                (see :mod:`scrubjay.documents.entities`), for searches that weigh them.
            version: write only if the memory is still at this version (`Record.version`, as :meth:`Index.get` returned
                it); 0: only if this scope has no memory with this id. None: unconditionally.
            context: where the text comes from, such as a title or a summary of its surroundings: at most 65,536 bytes.
                It is embedded before the text, and its words are searched like the text's, but it does not count
                towards the length that BM25 uses, and hits do not show it (`Record.context` does).
            passages: the passages of the text, (first character, end) of each with an exclusive end, 1 to 16,384; each
                gets its own vector. None: a text longer than the embedder handles well (`whole_chars`; WordLlama:
                16,000 characters; most others have no such limit) is cut at headings, paragraphs, code and sentences.
                False: one vector for the whole text. Keywords are those of the whole text in any case.

        An embedder that raises does not fail a write: the memory is stored without a vector and is `pending`
        (`Record.pending`, `Hit.pending`); keyword searches find it at once, and its text is embedded later
        (:meth:`Admin.backfill`) in a write of its own, which gives it a new version.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            VersionConflictError: the memory is at another version; `found` is that version (0: it is absent).
            OwnedCollectionError: only :class:`scrubjay.Memory` writes to this collection; every method that writes
                raises this.
            HeldError: the memory that it would replace is under a legal hold (`Memory.admin.hold`); every method that
                would change or delete one raises this. New memories are written.
            EmbedderError: the embedder returned something other than a vector of its dimension, or it raised and the
                index was created with `on_embedder_error="raise"`.
            StoreError, StoreBusyError: the file could not be written.
            In each case nothing was written.

        >>> from scrubjay import Index, VersionConflictError
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "Prefers trains.", scope=jane, version=0)
        >>> seen = index.get("m1", scope=jane)
        >>> index.upsert("m1", "Prefers planes.", scope=jane, version=seen.version)
        >>> try:
        ...     index.upsert("m1", "Prefers ships.", scope=jane, version=seen.version)
        ... except VersionConflictError as conflict:
        ...     conflict.expected == seen.version, conflict.found == index.get("m1", scope=jane).version
        (True, True)
        """
        collection = self._collection
        check_unowned(collection, "upsert")
        semantics = collection.semantics
        row = check_row(
            id, text, scope, vector, metadata, created_at, self._vector_rule(), expires_at, ttl, entities, version,
            context, passages,
        )  # fmt: skip
        if vector is None:
            (row.vector,), n_tried = semantics.embed_documents(
                [(text, row.payload)], _PASSAGES_AT_A_TIME, open_progress(False, total=0, what="", unit="")
            )
            if n_tried == 0:
                row.payload = with_pending(row.payload)
        if row.version is None:
            collection.engine.upsert(
                row.id, row.text, scope=row.scope, vector=row.vector, payload=row.payload
            )
        else:
            _write_versioned(collection, [row])
        if vector is None and n_tried == 0:
            collection.backfill.wake()
        if vector is None and row.vector is not None:
            semantics.wrote()

    def upsert_many(
        self,
        records: Iterable[Mapping[str, Any] | Any],
        scope: Scope | None = None,
        progress: bool | None = None,
        batch_size: int = 256,
    ) -> int:
        """Write many memories: all of them, or none if anything fails.

        Args:
            records: a pandas or polars DataFrame or an Arrow table (columns are fields; `tenant`, `user` and `agent`
                form the scope; other columns go to the metadata); or an iterable of mappings or dataclass instances
                (:class:`Record`, or your own) with the fields of :meth:`Index.upsert`: id, text, scope, vector,
                metadata, created_at, expires_at, ttl, entities, context, passages. The `scope` of a mapping may itself
                be a mapping of tenant, user, agent; the `version` of a mapping is a condition as for
                :meth:`Index.upsert`, that of a dataclass is ignored (so `vars(record)` of a :class:`Record` that was
                read is written only if the memory is unchanged since). If several records have the same scope and id,
                the last one counts, including its `version`.
            scope: for records without a scope.
            progress: show a progress bar on standard error; None: if that is a terminal.
            batch_size: the number of texts per call of the embedder.

        Returns:
            The number of memories written (distinct keys).

        Raises:
            TypeError, ValueError: the message names the record's position, the field, what was expected and given.
            VersionConflictError: a memory is not at the `version` of its record; `id` names the memory.
            EmbedderError: as for :meth:`Index.upsert`.

        All records and their vectors are in memory at once; split larger streams.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert_many([{"id": 1, "text": "one"}, {"id": 2, "text": "two"}], scope=Scope("acme"))
        2
        >>> index.upsert_many([{"id": 3, "text": "three"}, {"id": 4, "text": None}], scope=Scope("acme"))
        Traceback (most recent call last):
        ...
        ValueError: records[1]: text: expected a value, it is missing
        """
        collection = self._collection
        check_unowned(collection, "upsert_many")
        semantics = collection.semantics
        batch_size = checked_count(batch_size, "batch_size", at_least=1)
        rows = read_rows(records, scope, self._vector_rule())
        to_embed = [row for row in rows if row.vector is None and row.embeds]
        bar = open_progress(progress, total=len(to_embed), what="embedding", unit="texts")
        try:
            vectors, n_tried = semantics.embed_documents(
                [(row.text, row.payload) for row in to_embed], batch_size, bar
            )
        finally:
            bar.close()
        for row, vector in zip(to_embed, vectors, strict=True):
            row.vector = vector
        for row in to_embed[n_tried:]:
            row.payload = with_pending(row.payload)
        if any(row.version is not None for row in rows):
            written = _write_versioned(collection, rows)
        else:
            written = collection.engine.upsert_many(
                [row.id for row in rows],
                [row.text for row in rows],
                scope=[row.scope for row in rows],
                vectors=[row.vector for row in rows],
                payloads=[row.payload for row in rows],
            )
        if n_tried < len(to_embed):
            collection.backfill.wake()
        if any(vector is not None for vector in vectors):
            semantics.wrote()
        return written

    def patch(
        self,
        id: str | int,
        scope: Scope,
        metadata: Mapping[str, Any] | None,
        created_at: CreatedAt | Keep | None,
        expires_at: CreatedAt | Keep | None,
        vector: ArrayLike | Keep | None,
        version: int | None,
        context: str | Keep | None = KEEP,
    ) -> int | None:
        """Change one memory but not its text; return its new version, or None if it does not exist.

        Args:
            id, scope: of the memory, which is in exactly this scope. Memories shared with the scope are not changed.
            metadata: merged with the stored metadata key by key (a value replaces the whole value of its key, even if
                both are objects); None as a value removes the key.
            created_at, expires_at: as for :meth:`Index.upsert`; None removes the time.
            vector: (dim,) numbers, or (n, dim) for passages; None removes the vector. Nothing is embedded, and a
                pending memory is not pending any more. Passages of the writer that do not fit the new vector are
                forgotten.
            version: change only if the memory is still at this version, as for :meth:`Index.upsert`.
            context: as for :meth:`Index.upsert`; None removes it. If the index has an embedder and no `vector` is
                given, the text is embedded again with it, before the write lock is taken; the memory is pending if the
                embedder fails.

        Omitted arguments leave their values unchanged. A patch is a write like any other: all or nothing, with a new
        version, and the memory becomes the last in the order of writing.

        Raises:
            VersionConflictError: the memory is at another version, or absent (`found` is 0).
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            CorruptIndexError: the memory is damaged; it stays as it is.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "Prefers trains.", scope=jane, metadata={"stars": 2, "draft": True})
        >>> before = index.get("m1", scope=jane).version
        >>> after = index.patch("m1", scope=jane, metadata={"stars": 5, "draft": None}, version=before)
        >>> record = index.get("m1", scope=jane)
        >>> record.metadata, record.version == after > before
        ({'stars': 5}, True)
        >>> index.patch("m2", scope=jane, metadata={"stars": 5}) is None
        True
        """
        collection, scope = self._collection, as_scope(scope)
        check_unowned(collection, "patch")
        change = Patch.of(metadata, created_at, expires_at)
        if not isinstance(context, Keep):
            change = change.with_context(checked_context(context))
        if not isinstance(vector, Keep):
            rule = self._vector_rule()
            change = change.with_vector(None if vector is None else checked_vector(vector, rule))
        expected = checked_version(version, at_least=1)
        if isinstance(context, Keep) or not isinstance(vector, Keep):
            return collection.engine.patch(checked_id(id, None), change, scope=scope, version=expected)
        return _patch_context(collection, checked_id(id, None), change, scope, expected)

    def delete(self, id: str | int, scope: Scope, reason: str) -> bool:
        """Delete one memory; return False if this exact scope has none with this id.

        An expired memory may still count, until it is swept.

        Args:
            id: of the memory.
            scope: of the memory. A memory shared with the scope is not deleted: delete it from its own scope.
            reason: 1 to 1,000 characters for the event that is recorded in the file (see :meth:`Admin.events`).
        """
        collection, scope = self._collection, as_scope(scope)
        check_unowned(collection, "delete")
        return collection.engine.delete(id, scope=scope, reason=checked_reason(reason))

    def delete_many(
        self, ids: Iterable[str | int] | None, scope: Scope, filter: FilterLike | None, reason: str
    ) -> int:
        """Delete several memories at once, in a file in one transaction; return how many existed.

        Args:
            ids: of the memories; unknown ones are ignored, and expired ones may still count, until they are swept.
            scope, reason: as for :meth:`Index.delete`.
            filter: conditions on metadata, created_at and expires_at; memories that match are deleted, restricted to
                `ids` if these are given, too. Reads every memory of the scope (other writers of a file wait). Damaged
                memories stay in a file, and are listed in a :class:`~scrubjay.CorruptDataWarning`.

        Raises:
            TypeError: neither ids nor a filter was given.
            ValueError: the filter admits everything, as {} does, and no ids are given; :meth:`Index.erase` deletes
                everything.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> for id in ("m1", "m2", "m3"):
        ...     index.upsert(id, "Prefers trains.", scope=Scope("acme"))
        >>> index.delete_many(["m1", "m3", "m9"], scope=Scope("acme")), len(index)
        (2, 1)
        >>> index.upsert("m4", "Paid in May.", scope=Scope("acme"), metadata={"kind": "invoice"})
        >>> index.delete_many(filter={"kind": "invoice"}, scope=Scope("acme")), len(index)
        (1, 1)
        """
        collection = self._collection
        check_unowned(collection, "delete_many")
        if filter is not None:
            return _delete_matching(collection, ids, filter, as_scope(scope), checked_reason(reason))
        if ids is None:
            raise TypeError("ids: expected several, or a filter in their place, got neither")
        gone, scope = checked_ids(ids), as_scope(scope)
        checked_reason(reason)
        return collection.engine.delete_many(gone, scope=scope, reason=reason) if gone else 0

    def erase(self, scope: Scope, exact: bool, reason: str, everywhere: bool, names: bool) -> int:
        """Delete every memory whose scope agrees with all given components; return the number deleted.

        `Scope("acme")` erases the whole tenant, including its users and agents; with `exact` only memories of exactly
        this scope (the tenant's shared memories).

        Args:
            scope: of the memories.
            exact: only memories of exactly this scope.
            reason: 1 to 1,000 characters for the events that are recorded in the file, one per scope (see
                :meth:`Admin.events`).
            everywhere: erase from all collections of the file, not only from this one. Refused if the file
                holds a :class:`scrubjay.Memory`, whose records its documents mirror: `Memory.forget` erases both, and
                those of all other collections.
            names: also remove the names of the erased user, agent or tenant (and its users) from the file, in all
                collections. Random pseudonyms, drawn for this erasure, replace them in the rows of scopes and so in
                :meth:`Admin.events`; texts of others and reasons are not searched. Every process that has the file open
                reloads its partitions. After :meth:`Admin.compact`, :meth:`Admin.verify_erased` with `names` verifies
                it.

        If the key of an encrypted tenant is unavailable, whole scopes can be erased, but not if other scopes' recorded
        questions would have to be (EncryptionError). If users have their own keys (:mod:`scrubjay.keystores`), the key
        of the scope's user is destroyed once no data of the user is left in the file, so that earlier copies become
        unreadable.

        Raises:
            EncryptionError: as above; or everything was erased, but the user's key could not be destroyed: the next
                erasure or opening destroys it.
            OwnedCollectionError: `everywhere` or `names` was given, and there is a Memory; nothing was erased.
            HeldError: some of the memories are under a legal hold (`Memory.admin.hold`); nothing was erased.
        """
        collection = self._collection
        scope = as_scope(scope)
        exact, everywhere = checked_flag(exact, "exact"), checked_flag(everywhere, "everywhere")
        names = checked_flag(names, "names")
        check_unowned(collection, "erase")
        if everywhere or names:
            check_nothing_owned(collection, "erase of all collections (Memory.forget does it)")
        return collection.engine.erase(
            scope, exact=exact, reason=checked_reason(reason), everywhere=everywhere, names=names
        )

    def _vector_rule(self) -> VectorRule:
        """Return the current requirements for vectors. The metric never changes; the dimension does with the model."""
        dim = self._collection.engine.dim
        if self._rule.dim != dim:
            self._rule = self._rule._replace(dim=dim)
        return self._rule


def _patch_context(
    collection: OpenCollection, id: str | int, change: Patch, scope: Scope, version: int | None
) -> int | None:
    """Patch a document's context. The text is embedded before the write; if the document changes meanwhile, retry."""
    engine, semantics = collection.engine, collection.semantics
    while True:
        document = engine.get(id, scope=scope)
        current = 0 if document is None or document.scope != scope else document.version
        if version is not None and current != version:
            raise VersionConflictError(id, version, current)
        if document is None or not current:
            return None
        if semantics.embedder is None and semantics.model is None:
            whole = change  # the caller supplies vectors
        else:
            changed = (document.text, change.applied(document.payload))
            silent = open_progress(False, total=0, what="", unit="")
            (vector,), n_tried = semantics.embed_documents([changed], _PASSAGES_AT_A_TIME, silent)
            whole = change.with_vector(vector) if n_tried else change.to_embed()
        try:
            written = engine.patch(id, whole, scope=scope, version=current)
        except VersionConflictError:
            if version is not None:
                raise
            continue  # it was written meanwhile
        if whole.pending:
            collection.backfill.wake()
        elif not isinstance(whole.vector, Keep) and whole.vector is not None:
            semantics.wrote()
        return int(written) if written is not None else None


def _write_versioned(collection: OpenCollection, rows: Sequence[Row]) -> int:
    """Write rows, some of them conditional; return the number of distinct rows."""
    written = collection.engine.upsert_versioned(
        [row.id for row in rows],
        [row.text for row in rows],
        scope=[row.scope for row in rows],
        versions=[row.version for row in rows],
        vectors=[row.vector for row in rows],
        payloads=[row.payload for row in rows],
    )
    return len(written)


def _delete_matching(
    collection: OpenCollection,
    ids: Iterable[str | int] | None,
    filter: FilterLike,
    scope: Scope,
    reason: str,
) -> int:
    """Delete the documents that match a filter, restricted to `ids` if given; return how many."""
    compiled = filter if isinstance(filter, Filter) else Filter(filter)
    if ids is None and compiled.admits_everything:
        raise ValueError(
            f"filter: expected conditions, got {shown(filter)}; erase(scope, exact=True) deletes everything"
        )
    valid_ids = None if ids is None else checked_ids(ids)
    return len(collection.engine.delete_matching(compiled, scope=scope, ids=valid_ids, reason=reason))

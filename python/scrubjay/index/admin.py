"""Administration of an index: its file, its keys, its collections.

Without a file, these calls do what makes sense in memory, or raise StoreError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag, checked_path
from scrubjay.base.errors import EmbedderError
from scrubjay.base.initialised import guarded
from scrubjay.base.progress import open_progress
from scrubjay.documents.records import Stamp, as_scope
from scrubjay.embedders.protocol import Embedder
from scrubjay.index import file_repair
from scrubjay.index.backfill import BackfillReport
from scrubjay.index.collections import Collections
from scrubjay.index.feedback import FeedbackBook
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.semantic import Semantics, checked_embedder, checked_policy
from scrubjay.index.transfer import export_collection, import_collection
from scrubjay.store.check import check_store
from scrubjay.store.keys.encryption import KeyProvider
from scrubjay.store.maintenance import encrypt_tenant, made_pending, reembed_store, rotate_key
from scrubjay.store.repair.repairing import RepairReport, SalvageReport
from scrubjay.store.rows.erasure_search import ErasureReport, byte_needles, text_needles, vector_needles
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.model_change import ModelChange
from scrubjay.store.rows.report import CheckReport, FreezeReport
from scrubjay.store.rows.values import Event
from scrubjay.store.sqlite.files import back_up


@guarded
class Admin:
    """The operator's verbs of an index; `index.admin`. Thread-safe.

    They act on all tenants at once and take no scope, unlike the verbs of :class:`scrubjay.Index`. :meth:`repair` and
    :meth:`salvage` take a file that is not open anywhere: `scrubjay.Admin.repair(path)`.

    >>> from scrubjay import Index
    >>> index = Index()
    >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
    >>> index.admin
    <scrubjay.Admin 1 memory, no vectors cosine, no embedder, english-...>
    >>> index.admin.stats()["documents"], index.admin.collections()
    (1, [])
    """

    __slots__ = ("_collection", "_collections")

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection
        self._collections = Collections(collection)

    def __repr__(self) -> str:
        return f"<scrubjay.Admin {self._collection.description()}>"

    # ------------------------------------------------------------------ inspection

    def stats(self) -> dict[str, int | float | str | None]:
        """Return the engine's counts (documents, partitions, vectors, memory_bytes, ...), embedder and query cache.

        For a file or database, `documents`, `vectors` and `partitions` count what it holds, `resident_documents` and so
        on what is resident. A document counts once among the vectors, whatever its number of passages.

        `loads_from_image`, `loads_from_rows` and `loads_of_changes` count the loads of partitions of this collection by
        this process, `load_seconds` is their total time, `evictions` counts evicted partitions of all collections
        (`memory_budget`). Over a database, `feed_lag_seconds` is the time since the change feed was last read;
        `feed_role` is "leader" if this process polls for others of its machine, "follower" if another one polls for it,
        else "alone"; `feed_polls` counts its polls. With an object store, `objects_read` and `objects_cached` count
        large images read from it and from the copies on the local disk; `objects_lost` (missing or altered) and
        `objects_away` (no answer) count the loads that fell back to rows; `objects_written` counts uploads.

        `pending` counts memories written while the embedder failed (:meth:`backfill`).
        """
        engine, semantics = self._collection.engine, self._collection.semantics
        cache = semantics.cache.stats()
        return {
            **engine.stats(),
            "pending": self._collection.backfill.count(),
            "embedder": semantics.model,
            "dim": engine.dim,
            "metric": engine.metric,
            "dtype": engine.dtype,
            "analyzer": engine.analyzer,
            "query_cache_entries": cache["entries"],
            "query_cache_hits": cache["hits"],
            "query_cache_misses": cache["misses"],
        }

    def query_cache_stats(self) -> dict[str, int]:
        """Return hits, misses, entries and size of the cache of query vectors (a native embedder needs none)."""
        return self._collection.semantics.cache.stats()

    def feedbacks(self, scope: Scope | None = None) -> list[Feedback]:
        """Return the feedback that :meth:`Index.feedback` recorded, oldest first, for memories that still exist.

        Args:
            scope: only feedback from this scope and those within it (for a tenant: from all its users); None:
                everything.
        """
        return FeedbackBook(self._collection).notes(scope)

    def stamp(self, scope: Scope) -> Stamp:
        """Return a stamp of exactly this scope that covers all writes of this process to it.

        In another process, `search(after=stamp)` sees these writes, too (docs/fleet.md).

        >>> from scrubjay import Index, Stamp
        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> header = str(index.admin.stamp(Scope("acme")))
        >>> len(index.search("train", scope=Scope("acme"), after=Stamp.read(header)))
        1
        """
        scope = as_scope(scope)
        self._collection.check_open()
        engine = self._collection.engine
        return Stamp(scope, engine.residency.stamp(scope), str(engine.lineage))

    def events(self) -> list[Event]:
        """Return the deletions from the file, without their content: time, reason, scope, number of memories."""
        return self._collection.durable("events").store.events()

    def check(self, *, progress: bool | None = False) -> CheckReport:
        """Compare rows, images and the engine's state of each partition; the report lists the problems.

        Every partition is loaded, and built a second time from its rows.

        Args:
            progress: whether to show progress on standard error; None: if that is a terminal.
        """
        engine = self._collection.durable("check")
        bar = open_progress(progress, total=len(engine.store.scopes()), what="checking", unit="partitions")
        try:
            return check_store(engine, bar)
        finally:
            bar.close()

    def verify_erased(
        self,
        texts: Iterable[str] = (),
        vectors: Iterable[ArrayLike] = (),
        sequences: Iterable[bytes] = (),
        names: Iterable[str] = (),
        *,
        scope: Scope | None = None,
    ) -> ErasureReport:
        """Search the index's own files, or the tables of its database, for data that should be gone: texts, vectors,
        any bytes, or names. The report's `proof` says what was shown: that no byte contains them, or that no row does;
        with an object store also that no object does, for which every object is read.

        Names are searched in UTF-8 and UTF-16, in upper and lower case, as hexadecimal digits and in base64; a name of
        fewer than four letters may match by chance.

        Run :meth:`compact` first. Parts of long sequences are searched as well, so words that an erased memory shares
        with a remaining one are found, too: the report says where and which.

        Args:
            texts, vectors, sequences, names: the data: texts in UTF-8, vectors as they are stored, bytes as given,
                names of tenants, users and agents.
            scope: of a user, if users have their own keys (:mod:`scrubjay.keystores`): the report's `keys` say what
                became of them. May be given alone.
        Raises:
            EncryptionError: the key store, or the tenant's key, is unavailable.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Index.open(folder.name + "/memories.scrubjay") as index:
        ...     index.upsert("m1", "The door code is 4711.", scope=Scope("acme"))
        ...     n = index.erase(Scope("acme"))
        ...     n = index.admin.compact()
        ...     index.admin.verify_erased(["The door code is 4711."]).clean
        True
        >>> folder.cleanup()
        """
        engine = self._collection.durable("verify_erased")
        needles = [*text_needles(texts), *vector_needles(vectors, engine.dtype), *byte_needles(sequences)]
        if isinstance(names, (str, bytes)):  # its letters would be searched
            raise TypeError(f"names: expected a sequence of str, got one {type(names).__name__}")
        names = list(names)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"names: expected texts, got {names!r}")
        if not (needles or names or scope) or not all(needles) or not all(names):
            raise ValueError("texts, vectors, sequences, names: expected at least one, and none empty")
        if scope is None:
            return engine.store.search(needles, names)
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        searched = needles or names
        report = (
            engine.store.search(needles, names) if searched else ErasureReport((), 0, 0, (), proof="keys")
        )
        keys = () if scope.user is None else engine.store.cipher.proofs(scope.tenant, scope.user)
        return replace(report, keys=keys)

    # ------------------------------------------------------------------ collections

    def collections(self) -> list[str]:
        """Return the names of the collections in alphabetical order, without the default collection."""
        return self._collections.names()

    def drop_collection(self, name: str) -> int:
        """Delete a collection with everything in it; return how many memories it had.

        Events of the default collection record the scopes. After :meth:`compact` the bytes are gone.

        Raises:
            KeyError: no collection has this name.
        """
        return self._collections.drop(name)

    # ------------------------------------------------------------------ maintenance

    def warm(self, scope: Scope | Iterable[Scope], *, pin: bool = False) -> int:
        """Load what a search from `scope` sees, so that the next search finds it resident; return the number of
        memories.

        Useful when a user logs in: over PostgreSQL, and in a file after its opening, the first search of a scope loads
        it.

        Args:
            scope: the scope or scopes, loaded in order; partitions that several share are loaded once, and counted for
                each. A scope that does not fit into `memory_budget` beside the later ones is evicted again.
            pin: keep their partitions resident, whatever the budget.

        Raises:
            StoreUnavailableError: the database does not answer.
        """
        pin = checked_flag(pin, "pin")
        several = isinstance(scope, Iterable) and not isinstance(scope, (Scope, Mapping, str, bytes))
        if several and getattr(scope, "ndim", 1) != 0:
            scopes = [as_scope(each, f"scope[{i}]") for i, each in enumerate(cast("Iterable[Scope]", scope))]
        else:
            scopes = [as_scope(scope)]
        engine = self._collection.engine
        for each in scopes:
            engine.warm(each, pin=pin)
        return sum(engine.count(each) for each in scopes)

    def sweep(self, within: Scope | None = None) -> int:
        """Delete expired memories for good (searches do not see them anyway); return how many.

        Args:
            within: only in scopes that agree with all components of this one, as for :meth:`Index.erase`; None: all.
                Ignored in memory, where expired memories are deleted automatically.
        """
        within = None if within is None else as_scope(within, "within")
        return self._collection.engine.sweep(within)

    def freeze(
        self, older_than: int, *, within: Scope | None = None, progress: bool | None = False
    ) -> FreezeReport:
        """Move the rows of scopes that were not searched, read or written for `older_than` days to the object store,
        one object per scope, and delete them from the database.

        Searches return the same results. The first write to a scope restores its rows, and so does, soon after, the
        second read by id or list. Scopes are skipped that are being written, that have pending memories, whose key is
        unavailable, or that have more than 256 MB. The object store must be as durable as the database (docs/fleet.md).

        Args:
            older_than: days, in UTC; 0: all scopes.
            within: only scopes that agree with all components of this one; None: all.
            progress: whether to show progress on standard error; None: if that is a terminal.

        Raises:
            StoreError: the index is in a file or in memory, or was opened without `objects`.
            StoreUnavailableError: the object store does not answer; scopes frozen so far stay frozen.
        """
        checked_count(older_than, "older_than", at_least=0)
        within = None if within is None else as_scope(within, "within")
        engine = self._collection.durable("freeze")
        bar = open_progress(progress, total=0, what="freezing", unit="partitions")
        try:
            return engine.freeze(within, older_than, bar)
        finally:
            bar.close()

    def compact(self, *, progress: bool | None = False) -> int:
        """Release memory, and remove deleted and erased data from the files; return the number of deleted documents
        that were still in memory.

        Partitions without an image get one, which makes the next opening fast. A file is compacted in steps, between
        which others can write; an interrupted compaction continues at the next call. The first compaction of a file of
        an older version rewrites the whole file: other writers wait, and for a moment it needs twice the space. Objects
        that no row refers to are removed from an object store once they are an hour old.

        Args:
            progress: whether to show progress on standard error; None: if that is a terminal.

        Raises:
            StoreBusyError: another process reads a snapshot, or writes, for longer than `busy_timeout`; call it again.
            StoreUnavailableError: the object store does not answer; everything else is done.
        """
        engine = self._collection.engine
        bar = open_progress(progress, total=len(engine.stale_scopes()), what="compacting", unit="partitions")
        try:
            return engine.compact(bar)
        finally:
            bar.close()

    def reembed(
        self, embedder: Embedder, *, progress: bool | None = None, batch_size: int = 256,
        on_embedder_error: str = "raise",
    ) -> int:  # fmt: skip
        """Change the model: give every memory a vector of `embedder`, then search with it; return how many
        were embedded.

        Searches use the old model until everything is embedded. If the process dies before, another call with the same
        embedder continues where it stopped. Other processes that have the file open answer by keywords until they open
        it with the new embedder; over PostgreSQL within `max_stale`. Vectors that callers supplied are replaced, too.
        Memories of a tenant whose key was destroyed lose their vectors.

        Args:
            embedder: the new embedder.
            progress: whether to show a progress bar; None: if the terminal can.
            batch_size: the number of texts per call of the embedder.
            on_embedder_error: what to do if it raises. "raise" (the default, because the old vectors stay): what was
                embedded is kept for the next call. "pending": change the model all the same; memories without a new
                vector are pending.

        Memories that were pending already are embedded with the new model at the end (:meth:`backfill`).

        Raises:
            EmbedderError: the embedder failed; the index is unchanged.
            EncryptionError: a tenant's key is unavailable; what was embedded is kept for the next call.
        """
        checked_embedder(embedder)
        checked_policy(on_embedder_error)
        checked_count(batch_size, "batch_size", at_least=1)
        collection, engine = self._collection, self._collection.durable("reembed")
        fresh = Semantics(embedder, None, 0)
        silent = open_progress(False, total=0, what="", unit="")
        bar = open_progress(progress, total=len(engine), what="reembedding", unit="texts")
        try:
            n_embedded = reembed_store(
                engine.store,
                ModelChange(
                    embedder.name,
                    embedder.dim,
                    engine.dtype,
                    embed=lambda documents: fresh.reembedded(documents, batch_size, silent),
                    failing=(EmbedderError,) if on_embedder_error == "pending" else (),
                    batch_size=batch_size,
                    progress=bar,
                    make_pending=partial(made_pending, engine),
                    adopt=engine.adopt_model,
                ),
            )
        finally:
            bar.close()
        collection.semantics.replace(embedder)
        collection.backfill.look()
        return n_embedded + (self.backfill(progress=progress).embedded if collection.backfill.any else 0)

    def backfill(self, *, progress: bool | None = None, batch_size: int = 256) -> BackfillReport:
        """Embed pending memories, which were written while the embedder failed.

        A background thread does the same when the embedder answers again, or at most a minute after; this call does it
        now. It stops when the embedder fails on any text; texts on which it fails although it answers for others are
        skipped and stay pending. If the process is killed, nothing is lost and the next call continues. Each memory
        gets a new version and becomes the last in the order of writing; a memory that is written or deleted meanwhile
        is left alone.

        Args:
            progress: whether to show a progress bar; None: if the terminal can.
            batch_size: the number of texts per call of the embedder.

        Raises:
            EmbedderError: the embedder returned something other than vectors of its dimension.
            StoreError, StoreBusyError: the file could not be written; memories embedded so far are stored.

        >>> from scrubjay import Index
        >>> from scrubjay.embedders import Function
        >>> def ones(texts):
        ...     if not is_up:
        ...         raise ConnectionError("no route to host")
        ...     return [[1.0, 1.0] for text in texts]
        >>> is_up, index = False, Index(Function(ones, dim=2, name="ones"))
        >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> index.search("train", scope=Scope("acme"))[0].pending, index.admin.backfill().pending
        (True, 1)
        >>> is_up = True
        >>> index.admin.backfill()
        BackfillReport(embedded=1, refused=0, pending=0)
        """
        checked_count(batch_size, "batch_size", at_least=1)
        self._collection.check_open()
        backfill = self._collection.backfill
        bar = open_progress(progress, total=backfill.count(), what="embedding", unit="texts")
        try:
            return backfill.fill(batch_size, bar)
        finally:
            bar.close()

    # ------------------------------------------------------------------ keys

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have encrypted data, in alphabetical order."""
        return self._collection.durable("encrypted_tenants").store.encrypted_tenants()

    def encrypt(self, tenant: str, *, accept: bool = False, progress: bool | None = False) -> int:
        """Encrypt a tenant's unencrypted data, in every collection; return the number of memories encrypted.

        This is for data written before `keys` had a key: later writes are encrypted anyway. Memory's tables and
        feedback are encrypted as well, whether or not :mod:`scrubjay.memory` was imported: the file records what has to
        be. Until it was called, a tenant that has a key and unencrypted rows is refused (`encryption="mixed"` at
        opening allows reading). An interrupted call can be repeated; other processes may write meanwhile.
        :meth:`compact` removes the unencrypted bytes from the files; copies of the file are unchanged.

        Afterwards unencrypted rows, and rows that another program restored or removed, are refused, also by this
        method: it is safe to call at every start.

        Args:
            tenant: whose memories.
            accept: accept the rows as they are, even if another program changed them since the tenant was encrypted:
                unencrypted rows are encrypted, and the digests are computed anew. For a file that was repaired by hand.
            progress: whether to show a progress bar; None: if the terminal can.

        Raises:
            EncryptionError: `keys` has no key for the tenant.
            CorruptIndexError: the tenant was encrypted, and another program changed its rows since.

        >>> import tempfile
        >>> from scrubjay import Index
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/memories.scrubjay"
        >>> with Index.open(path) as index:
        ...     index.upsert("m1", "The door code is 4711.", scope=Scope("acme"))
        >>> with Index.open(path, keys={"acme": b"0123456789abcdef"}.get) as index:
        ...     index.admin.encrypt("acme"), index.admin.compact()
        ...     index.admin.verify_erased(["The door code is 4711."]).clean
        (1, 0)
        True
        >>> folder.cleanup()
        """
        engine = self._collection.durable("encrypt")
        bar = open_progress(progress, total=engine.count(), what="encrypting", unit="memories")
        try:
            return encrypt_tenant(
                engine.store, Scope(tenant).tenant, bar, accept=checked_flag(accept, "accept")
            )
        finally:
            bar.close()

    def rotate_key(self, tenant: str, old: bytes) -> None:
        """Change a tenant's key from `old` to the one that `keys` has now, atomically for every collection.

        Memories are encrypted with a data key, which is stored in the file, wrapped by yours: only that key is wrapped
        again. So copies from before still need the old key, and a holder of both could read later writes, too: in that
        case erase the tenant, and write the memories again. Calling it again does nothing.

        Raises:
            EncryptionError: the tenant is not encrypted, `old` is not its key, or `keys` has none.
        """
        rotate_key(self._collection.durable("rotate_key").store, Scope(tenant).tenant, old)

    def forget_keys(self, tenant: str | None = None) -> None:
        """Remove a tenant's decrypted data (None: of all tenants) from this process's memory, and ask `keys` again.

        For a key that was just destroyed or changed: other processes notice it when they next use the tenant.
        """
        if tenant is not None:
            tenant = Scope(tenant).tenant
        self._collection.check_open()
        for member in self._collection.family.everyone():
            member.durable("forget_keys").forget_keys(tenant)

    # ------------------------------------------------------------------ copies

    def backup(self, path: str | Path, *, replace: bool = False, progress: bool | None = False) -> int:
        """Copy a snapshot of the index into a new file, without blocking other calls; return the copy's size in bytes.

        The file appears when it is complete, readable by its owner only (mode 0600). With `replace` it may replace an
        existing file and takes its mode, but never this index, or one that is open.

        Args:
            path: the new file.
            replace: whether to overwrite an existing file.
            progress: whether to show progress on standard error; None: if that is a terminal.

        Raises:
            StoreError: the file exists, or cannot be written.
        """
        path, replace = checked_path(path, "path"), checked_flag(replace, "replace")
        store = self._collection.durable("backup").file("backup")
        total = store.path.stat().st_size // 4096
        bar = open_progress(progress, total=total, what="backing up", unit="pages")
        try:
            return back_up(store, path, bar, replace=replace)
        finally:
            bar.close()

    def export(
        self,
        path: str | Path,
        *,
        plaintext: bool = False,
        replace: bool = False,
        progress: bool | None = False,
    ) -> int:
        """Write every memory with its vector to a new JSON Lines file; return how many. :meth:`import_` reads it.

        The file appears when it is complete, readable by its owner only (mode 0600). With `replace` it may replace an
        existing file and takes its mode, but never this index.

        Memories of encrypted tenants stay encrypted in it, for an index whose `keys` has the same key, unless
        `plaintext` is given. Memories of tenants whose keys were destroyed are left out, and so are damaged ones, which
        a :class:`~scrubjay.CorruptDataWarning` lists.

        Args:
            path: the new file.
            plaintext: whether to decrypt memories of encrypted tenants.
            replace: whether to overwrite an existing file.
            progress: whether to show progress on standard error; None: if that is a terminal.

        Raises:
            StoreError: the file exists, or cannot be written.
            EncryptionError: a tenant's key is unavailable.
            In each case there is no new file, and an existing one is unchanged.
        """
        return export_collection(
            self._collection,
            checked_path(path, "path"),
            plaintext=checked_flag(plaintext, "plaintext"),
            replace=checked_flag(replace, "replace"),
            progress=progress,
            damaged=None,
        )

    def import_(self, path: str | Path, *, progress: bool | None = False, batch_size: int = 1000) -> int:
        """Write the memories of an export, in atomic batches; return how many.

        Each memory is written to the scope that it was exported from, replacing a memory with its id there, so an
        interrupted import can be repeated. Vectors are taken from the export; the index's embedder must be the one that
        made them. A memory without a vector by intent (`patch(vector=None)`) stays without one; a pending one is
        embedded, or pending until there is an embedder. An export of an index that never had vectors is embedded.

        Args:
            path: a file that :meth:`export` wrote.
            progress: whether to show progress on standard error; None: if that is a terminal.
            batch_size: memories per transaction.

        Raises:
            StoreFormatError: the file is not an export.
            EmbedderMismatchError: its vectors are of another model.
            EncryptionError: it has memories of an encrypted tenant, and `keys` does not have that key.
        """
        return import_collection(
            self._collection, checked_path(path, "path"), progress=progress, batch_size=batch_size
        )

    # ------------------------------------------------------------------ damaged files

    @staticmethod
    def repair(
        path: str | Path,
        *,
        keys: KeyProvider | None = None,
        stemmer: Callable[[str], str] | None = None,
    ) -> RepairReport:
        """Make a damaged file sound again; it must not be open anywhere. Nothing that can be read is lost.

        Everything readable is copied to a new file: counts, indexes, rules and images are rebuilt, vectors without a
        memory are left out, and unreadable rows are set aside, each named in the report and kept with its values in
        `FILE.set-aside.jsonl`. The original file stays beside it as `FILE.damaged`. Erasures reach neither of the two,
        so delete them when you no longer need them. An undamaged file is not touched. If rows of an encrypted tenant
        were set aside, its digest records it (see `accept` of :meth:`encrypt`). :meth:`MemoryAdmin.reindex` repairs
        memory after records of it were set aside.

        Args:
            path: of the file.
            keys: as for :meth:`Index.open`; with them, encrypted memories that are not authentic are set aside, too;
                without them encrypted data are copied as they are.
            stemmer: of an index with a custom analyzer; without it the result is not checked (`problems` says so).

        Raises:
            StoreBusyError: the file is open somewhere.
            StoreError, CorruptIndexError: it cannot be written, or nothing of an index can be read in it. The file is
                then unchanged.

        >>> import tempfile
        >>> from scrubjay import Admin, Index, Scope
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/memories.scrubjay"
        >>> with Index.open(path) as index:
        ...     index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> Admin.repair(path).changed
        False
        >>> folder.cleanup()
        """
        return file_repair.repair(checked_path(path, "path"), keys, stemmer)

    @staticmethod
    def salvage(
        path: str | Path,
        target: str | Path,
        *,
        keys: KeyProvider | None = None,
        plaintext: bool = False,
        replace: bool = False,
    ) -> SalvageReport:
        """Write everything that can be read in a file, however damaged, to new files; the file stays unchanged.

        `target` becomes the export of the default collection (:meth:`import_` reads it), `target.NAME` that of the
        collection NAME, and `target.tables` has the rows of memory's tables and others, one JSON object per line.
        Nothing may write to the file meanwhile.

        Args:
            path: of the file.
            target: a file that does not exist yet, like the others.
            keys: of encrypted tenants, as for :meth:`Index.open`; tenants without a key are left out.
            plaintext: as for :meth:`export`.
            replace: whether to overwrite these files, from an earlier attempt.

        Raises:
            StoreError: a file exists and `replace` is False, or cannot be written.
            CorruptIndexError: nothing of an index can be read in the file.
        """
        return file_repair.salvage(
            checked_path(path, "path"), checked_path(target, "target"), keys, plaintext, replace
        )

"""What an operator does with an index: looking after its file, its keys, its collections.

Without a file the same calls do what makes sense in memory, or raise StoreError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import EmbedderError
from scrubjay.index import rescue
from scrubjay.index.backfill import BackfillReport
from scrubjay.index.collections import Collections
from scrubjay.index.feedback import FeedbackBook
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.semantic import Semantics, checked_embedder, checked_policy
from scrubjay.index.transfer import export_collection, import_collection
from scrubjay.initialised import guarded
from scrubjay.progress import open_progress
from scrubjay.records import Stamp, as_scope
from scrubjay.store.care import encrypt_tenant, reembed_store, rotate_key
from scrubjay.store.check import check_store
from scrubjay.store.engine import DurableEngine
from scrubjay.store.keys.encryption import KeyProvider
from scrubjay.store.repair.repairing import RepairReport, SalvageReport
from scrubjay.store.rows.erased import ErasureReport, byte_needles, text_needles, vector_needles
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.report import CheckReport, FreezeReport
from scrubjay.store.rows.stored import Event
from scrubjay.store.sqlite.files import back_up


@guarded
class Admin:
    """What an operator does with an index; `index.admin`. Thread-safe.

    These verbs look after all tenants at once and name no scope, other than those that :class:`scrubjay.Index` has
    itself. :meth:`repair` and :meth:`salvage` take a file that is not open anywhere: `scrubjay.Admin.repair(path)`.

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

    # ------------------------------------------------------------------ looking

    def stats(self) -> dict[str, int | float | str | None]:
        """Return the engine's counts (documents, partitions, vectors, memory_bytes, ...), embedder and query cache.

        Of a file or database `documents`, `vectors` and `partitions` are what it holds, `resident_documents` and so on
        what of it is in memory. A document counts once among the vectors, whatever number of passages it has.

        `loads_from_image`, `loads_from_rows` and `loads_of_changes` say how often this process read a partition of this
        collection, `load_seconds` how long that took in all, `evictions` how many partitions of all collections made
        room (`memory_budget`), and `feed_lag_seconds`, over a database, how long ago the feed was heard; `feed_role`
        whether this process asks for others of its machine ("leader"), leaves that to another one ("follower") or
        neither ("alone"), `feed_polls` how often it has asked. With an object store `objects_read` and
        `objects_cached` say how often this process took a large image from there and from its copies on the local disk,
        `objects_lost` (missing, or not what was put there) and `objects_away` (no answer) how often it read the rows
        instead, `objects_written` how many it put there.

        `pending` memories were written while the embedder did not answer (:meth:`backfill`).
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
        """Return what :meth:`Index.feedback` noted, oldest first, of memories that are still there.

        Args:
            scope: only what was asked from this scope and those within it (of a tenant: from all its users);
                None: everything.
        """
        return FeedbackBook(self._collection).notes(scope)

    def stamp(self, scope: Scope) -> Stamp:
        """Return a stamp of exactly this scope, with all that this process wrote to it.

        `search(after=stamp)` in another process has seen it, too (docs/fleet.md).

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
        version = engine.residency.stamp(scope) if isinstance(engine, DurableEngine) else 0
        return Stamp(scope, version, str(engine.lineage))

    def events(self) -> list[Event]:
        """Return what was deleted from the file, without its content: when, why, from which scope, how many."""
        return self._collection.durable("events").store.events()

    def check(self, *, progress: bool | None = False) -> CheckReport:
        """Compare rows, images and what the engine has of each partition; the report says what is wrong.

        Every partition is read in and built a second time from its rows.

        Args:
            progress: whether progress is shown on standard error; None: if that is a terminal.
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
        """Search the index's own files, or the tables of its database, for what should be gone: texts, vectors, any
        bytes, or names. The report's `proof` says what it shows: that no byte has it, or that no row has; with an
        object store that no object has, either, for which every one is read.

        Names are looked for in UTF-8 and UTF-16, in upper and lower case, as hexadecimal digits and in base64; one of
        fewer than four letters may be found by chance.

        Run :meth:`compact` first. Of a long sequence its parts are looked for as well, so words that a memory
        shares with one that is still there are found, too: the report says where and which.

        Args:
            texts, vectors, sequences, names: what to look for: texts in UTF-8, vectors as they are stored, bytes as
                they are given, names of tenants, users and agents.
            scope: of a user, where users have keys of their own (:mod:`scrubjay.keystores`): the report's `keys` say
                what became of them. It may be given alone.

        Raises:
            EncryptionError: the key store, or the tenant's key, is not available.

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
        needles = [*text_needles(texts), *vector_needles(vectors), *byte_needles(sequences)]
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
        """Return the names of the collections in alphabetical order, without the one that has no name."""
        return self._collections.names()

    def drop_collection(self, name: str) -> int:
        """Delete a collection with all that is in it; return how many memories it had.

        Events of the index without a name say from which scopes they were. After :meth:`compact` the bytes are gone.

        Raises:
            KeyError: there is no collection of this name.
        """
        return self._collections.drop(name)

    # ------------------------------------------------------------------ care

    def warm(self, scope: Scope | Iterable[Scope], *, pin: bool = False) -> int:
        """Read what a search from `scope` sees into memory, so that the next one is answered from there; return how
        many memories that is.

        Worth calling when a user logs in: over PostgreSQL, and in a file after its opening, the first search of a
        scope reads it.

        Args:
            scope: whose searches to prepare, in this order; of several, what they share is read once, and counted for
                each. One that does not fit into `memory_budget` beside those after it leaves again.
            pin: their partitions stay in memory, whatever the budget.

        Raises:
            StoreUnavailableError: the database does not answer.
        """
        several = isinstance(scope, Iterable) and not isinstance(scope, (Scope, Mapping, str))
        scopes = [as_scope(each) for each in (scope if several else [scope])]  # type: ignore[union-attr]
        engine = self._collection.engine
        if isinstance(engine, DurableEngine):
            for each in scopes:
                engine.warm(each, pin=pin)
        return sum(engine.count(each) for each in scopes)

    def sweep(self, within: Scope | None = None) -> int:
        """Delete expired memories for good (searches do not see them anyway); return how many.

        Args:
            within: only in scopes that agree with every component this one names, as for :meth:`Index.erase`; None:
                all. In memory all go in any case, also by themselves.
        """
        within = None if within is None else as_scope(within, "within")
        self._collection.check_open()
        if isinstance(self._collection.engine, DurableEngine):
            return self._collection.engine.sweep(within)
        return self._collection.expiry.remove_due()

    def freeze(
        self, older_than: int, *, within: Scope | None = None, progress: bool | None = False
    ) -> FreezeReport:
        """Put the rows of scopes that nobody searched, read or wrote for so many days into the object store, each
        scope's as one object, and delete them from the database.

        Searches find what they found. The rows come back by the first write to their scope, and soon after the second
        read by id or list. Not frozen are scopes that are written to just now, of which a memory is pending, whose key
        is not available, or with more than 256 MB. The object store must be as durable as the database (docs/fleet.md).

        Args:
            older_than: days, in UTC; 0: all scopes.
            within: only scopes that agree with every component this one names; None: all.
            progress: whether progress is shown on standard error; None: if that is a terminal.

        Raises:
            StoreError: the index is in a file or in memory, or was opened without `objects`.
            StoreUnavailableError: the object store does not answer; what was frozen until then is.
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
        """Give back memory, and make what was deleted or erased disappear from the files; return how many documents
        that were deleted were still in memory.

        Images are written for partitions that have none, so the next opening is fast. A file is compacted in steps,
        between which others write; what is interrupted goes on when it is called again. The first compaction of
        a file that an older version made rewrites it as a whole: other writers wait, and for a moment it takes twice
        the space. In an object store what no row names any more is removed, once it is an hour old.

        Args:
            progress: whether progress is shown on standard error; None: if that is a terminal.

        Raises:
            StoreBusyError: another process reads a snapshot, or writes, for longer than `busy_timeout`; call it again.
            StoreUnavailableError: the object store does not answer; everything else is done.
        """
        if not isinstance(self._collection.engine, DurableEngine):
            return self._collection.engine.compact()
        bar = open_progress(
            progress,
            total=len(self._collection.engine.store.stale_scopes()),
            what="compacting",
            unit="partitions",
        )
        try:
            return self._collection.engine.compact(bar)
        finally:
            bar.close()

    def reembed(
        self, embedder: Embedder, *, progress: bool | None = None, batch_size: int = 256,
        on_embedder_error: str = "raise",
    ) -> int:  # fmt: skip
        """Change the model: give every memory a vector of `embedder`, then search with it; return how many
        were embedded.

        Searches go on with the old model until everything is embedded. If the process ends before, calling
        this again with the same embedder goes on where it stopped. Other processes that have the file open
        answer by keywords until they open it with the new embedder; over PostgreSQL within `max_stale`. Vectors that
        callers gave are replaced, too.
        Memories of a tenant whose key was destroyed have none from then on.

        Args:
            embedder: the new one.
            progress: whether to show a progress bar; None: if the terminal can.
            batch_size: texts the embedder gets at a time.
            on_embedder_error: what happens if it raises. "raise": the old vectors stay, which is why it is the default,
                and what was embedded is kept for the next call. "pending": the model is changed all the same, and what
                has no vector yet is pending.

        What is pending already is embedded with the new model at the end (:meth:`backfill`).

        Raises:
            EmbedderError: the embedder failed; the index is as it was.
            EncryptionError: a tenant's key cannot be had; what was embedded is kept for the next call.
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
                engine,
                embedder.name,
                embedder.dim,
                lambda documents: fresh.reembedded(documents, batch_size, silent),
                bar,
                batch_size=batch_size,
                failing=(EmbedderError,) if on_embedder_error == "pending" else (),
            )
        finally:
            bar.close()
        collection.semantics.replace(embedder)
        collection.backfill.look()
        return n_embedded + (self.backfill(progress=progress).embedded if collection.backfill.any else 0)

    def backfill(self, *, progress: bool | None = None, batch_size: int = 256) -> BackfillReport:
        """Embed what is pending: memories that were written while the embedder did not answer.

        This happens by itself in the background, when the embedder answers again or at most a minute after; a call does
        it now. It ends when the embedder fails on any text; texts on which it fails although it answers for others are
        passed over and stay pending. A process that is killed loses nothing, the next call goes on. Each memory gets a
        new version and comes last in the order of writing; one that is written or deleted meanwhile stays as it is.

        Args:
            progress: whether to show a progress bar; None: if the terminal can.
            batch_size: texts the embedder gets at a time.

        Raises:
            EmbedderError: the embedder returned something else than vectors of its dimension.
            StoreError, StoreBusyError: the file could not be written; what was embedded until then is.

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
        """Return the tenants that have anything encrypted, in alphabetical order."""
        return self._collection.durable("encrypted_tenants").store.encrypted_tenants()

    def encrypt(self, tenant: str, *, accept: bool = False, progress: bool | None = False) -> int:
        """Encrypt what a tenant has in the clear, in every collection; return how many memories that were.

        For what was written before `keys` gave a key: what is written since is encrypted anyway. Memory's tables and
        feedback are sealed as well, whether or not :mod:`scrubjay.memory` was imported: the file says what is sealed.
        Until this was called, a tenant for which `keys` give a key and who has rows in the clear is refused
        (`encryption="mixed"` at opening lets it be read). A call that was cut short can be repeated; other processes
        may write meanwhile. What stood in the clear leaves the files with :meth:`compact`; copies of the file are as
        they were.

        Afterwards plain rows, rows that were put back and rows that were taken out past Scrubjay are refused, by this
        method, too: it is safe to call at every start.

        Args:
            tenant: whose memories.
            accept: take what is there, although something else changed it since the tenant was encrypted: plain rows
                are sealed, and the digests become those of the rows as they are. For a file that was repaired by hand.
            progress: whether to show a progress bar; None: if the terminal can.

        Raises:
            EncryptionError: `keys` give no key for the tenant.
            CorruptIndexError: the tenant was encrypted, and something else changed its rows since.

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
            return encrypt_tenant(engine.store, Scope(tenant).tenant, bar, accept=accept)
        finally:
            bar.close()

    def rotate_key(self, tenant: str, old: bytes) -> None:
        """Change a tenant's key from `old` to the one that `keys` give now; all at once, for every collection.

        Memories are sealed with a key of their own, kept in the file and wrapped by yours: only that key is wrapped
        again.
        So copies from before still need the old key, and who has both could open what is written later, too: then
        erase the tenant, and write the memories again. Calling it again does nothing.

        Raises:
            EncryptionError: the tenant is not encrypted, `old` is not its key, or `keys` give none.
        """
        rotate_key(self._collection.durable("rotate_key").store, Scope(tenant).tenant, old)

    def forget_keys(self, tenant: str | None = None) -> None:
        """Take what is decrypted of a tenant (None: of all) out of this process's memory, and ask `keys` again.

        For a key that was destroyed or changed just now: other processes notice it when they next use the tenant.
        """
        if tenant is not None:
            tenant = Scope(tenant).tenant
        self._collection.check_open()
        for member in self._collection.family.everyone():
            member.durable("forget_keys").forget_keys(tenant)

    # ------------------------------------------------------------------ copies

    def backup(self, path: str | Path, *, replace: bool = False, progress: bool | None = False) -> int:
        """Copy the index as of now into a new file while everybody goes on; return the copy's size in bytes.

        The file appears when it is complete, for its owner's eyes (mode 0600). With `replace` it may take the place of
        another, whose mode it gets; never that of this index, or of one that is open.

        Args:
            path: the new file.
            replace: whether it may take the place of a file that is there.
            progress: whether progress is shown on standard error; None: if that is a terminal.

        Raises:
            StoreError: the file exists, or cannot be written.
        """
        store = self._collection.durable("backup").file("backup")
        total = store.path.stat().st_size // 4096
        bar = open_progress(progress, total=total, what="backing up", unit="pages")
        try:
            return back_up(store, Path(path), bar, replace=replace)
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

        The file appears when it is complete, for its owner's eyes (mode 0600). With `replace` it may take the place of
        another, whose mode it gets; never that of this index.

        Memories of encrypted tenants are sealed there, too, for an index whose `keys` give the same key; with
        `plaintext` they are not. Those of tenants whose keys were destroyed are left out. So are those that are damaged
        in the file, which a :class:`~scrubjay.CorruptDataWarning` names.

        Args:
            path: the new file.
            plaintext: whether memories of encrypted tenants are written in the clear.
            replace: whether it may take the place of a file that is there.
            progress: whether progress is shown on standard error; None: if that is a terminal.

        Raises:
            StoreError: the file exists, or cannot be written.
            EncryptionError: a tenant's key cannot be had.
            In each case there is no new file, and one that was there is as it was.
        """
        return export_collection(
            self._collection,
            Path(path),
            plaintext=plaintext,
            replace=replace,
            progress=progress,
            damaged=None,
        )

    def import_(self, path: str | Path, *, progress: bool | None = False, batch_size: int = 1000) -> int:
        """Write the memories of an export, in batches that are all or nothing each; return how many.

        Each memory comes into the scope that it was exported from. One that has its id there is replaced, so an import
        that was cut short can be repeated. Vectors are taken as they are; the index's embedder must be the one that
        made them.

        Args:
            path: what :meth:`export` wrote.
            progress: whether progress is shown on standard error; None: if that is a terminal.
            batch_size: memories a transaction.

        Raises:
            StoreFormatError: the file is not an export.
            EmbedderMismatchError: its vectors are of another model.
            EncryptionError: it has memories of an encrypted tenant, and `keys` do not give that key.
        """
        return import_collection(self._collection, Path(path), progress=progress, batch_size=batch_size)

    # ------------------------------------------------------------------ damaged files

    @staticmethod
    def repair(
        path: str | Path,
        *,
        keys: KeyProvider | None = None,
        stemmer: Callable[[str], str] | None = None,
    ) -> RepairReport:
        """Make a damaged file sound again; it must not be open anywhere. Nothing that can be read is lost.

        Everything that can be read is taken over into a new file: counts, indexes, rules and images are made again,
        vectors without a memory are left out, and rows that cannot be read are set aside, each named in the report and
        kept with its values in `FILE.set-aside.jsonl`. The file as it was stays beside it as `FILE.damaged`. Erasures
        reach neither of the two, so delete them when they are of no use any more. A file with which nothing is wrong is
        not touched. Where rows of an encrypted tenant were set aside its digest says so (see `accept` of
        :meth:`encrypt`).
        What becomes of records of memory that were set aside, :meth:`MemoryAdmin.reindex` puts right.

        Args:
            path: of the file.
            keys: as for :meth:`Index.open`; with them sealed memories that are not authentic are set aside, too,
                without them what is sealed is taken over as it stands.
            stemmer: of an index with an analyzer of yours; without it the result is not checked (`problems` says so).

        Raises:
            StoreBusyError: the file is open somewhere.
            StoreError, CorruptIndexError: it cannot be written, or nothing of an index can be read in it. Then it is as
                it was.

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
        return rescue.repair(Path(path), keys, stemmer)

    @staticmethod
    def salvage(
        path: str | Path,
        target: str | Path,
        *,
        keys: KeyProvider | None = None,
        plaintext: bool = False,
        replace: bool = False,
    ) -> SalvageReport:
        """Write everything that can be read in a file, however damaged, to new files; the file stays as it is.

        `target` becomes the export of the collection without a name (:meth:`import_` reads it), `target.NAME` that of
        the collection NAME, and `target.tables` has the rows of memory's tables and others, one JSON object a line.
        Nobody should write to the file meanwhile.

        Args:
            path: of the file.
            target: a file that does not exist yet, nor any of the others.
            keys: of encrypted tenants, as for :meth:`Index.open`; without a key theirs are left out.
            plaintext: as for :meth:`export`.
            replace: files of these names, which hold an earlier attempt.

        Raises:
            StoreError: a file exists already, and not `replace`, or cannot be written.
            CorruptIndexError: nothing of an index can be read in the file.
        """
        return rescue.salvage(Path(path), Path(target), keys, plaintext, replace)

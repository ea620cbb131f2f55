"""The protocol between the index and its rows: what every store does.

:class:`Store` and :class:`Transaction` are all that the engine knows of SQLite or PostgreSQL. Features that only
a file has (its bytes, its keys, the tables of layers above) are reached through :meth:`DurableEngine.file`, which
raises :class:`scrubjay.UnsupportedError` over any other store.

Coherence: each write of a scope has a number greater than the one before, and the scope's `version` is the number
of its last write. A partition in memory is current if it has applied all writes up to that version. Within a
tenant numbers are unique and ascend in the order of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from scrubjay._native import Scope
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box, KeyRing, Master
from scrubjay.store.rows.erasure_search import ErasureReport, KeyProof
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.scopes import Sight
from scrubjay.store.rows.single_write import Glances, OwnCommit, ScopeChange, SingleDelete, SingleWrite
from scrubjay.store.rows.values import (
    ChangedScopes,
    Changes,
    Entry,
    Event,
    Identity,
    NewRow,
    RowId,
    ScopeHead,
    ScopeState,
    StoredRow,
    Written,
)


class Keys(Protocol):
    """The keys of encrypted tenants, as far as the engine needs them."""

    @property
    def ring(self) -> KeyRing | None:
        """The keys; None: nothing is encrypted, and nothing encrypted can be read."""
        ...

    def readable(self, tenant: str, user: str | None = None) -> bool:
        """Whether the keys of the tenant and of the user still exist (were not destroyed).

        Raises:
            EncryptionError: a key exists but is not available.
        """
        ...

    def readable_of(self, scopes: Sequence[Scope]) -> Sequence[Scope]:
        """Return the scopes for which `readable` is true; the same object if all are."""
        ...

    def proofs(self, tenant: str, user: str) -> tuple[KeyProof, ...]:
        """Return proofs of what happened to the current and former keys of a user."""
        ...

    def is_erased(self, tenant: str, user: str) -> bool:
        """Whether the user has a key of their own and it was destroyed; raises EncryptionError if the key store is
        not available."""
        ...

    def openable(self, tenant: str, user: str | None = None) -> bool:
        """Whether the data of the tenant, or of the user, can be decrypted here."""
        ...

    def require(self, tenants: Iterable[str]) -> None:
        """Raise EncryptionError unless the keys of all these tenants are available for writing."""
        ...

    def master(self, tenant: str) -> Master | None:
        """Return the master key of an encrypted tenant; None: the tenant is not encrypted."""
        ...


class StoredImage(NamedTuple):
    """Where an image is in an SQLite file, for `Engine.load_stored_partition`."""

    descriptor: int
    root: int
    rows: Sequence[tuple[int, int]]
    """(number, bytes) of the rows with its BLOBs, in order."""
    first: bytes
    end: bytes


class Pieces(Protocol):
    """A chunk of an image that is read while it is iterated over, once."""

    def stored(self) -> StoredImage | None:
        """Return where the chunk probably is in a file, for a faster read before an iteration; None: unknown."""
        ...

    def __len__(self) -> int:
        """Return a number of bytes that is not exceeded."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...


ImagePart = bytes | memoryview | Pieces


class Transaction(Protocol):
    """Writes that are committed together or not at all. Not thread-safe."""

    @property
    def committed(self) -> bool:
        """Whether the transaction was committed."""
        ...

    @property
    def connection(self) -> Any:
        """The connection, for rows of tables beside the documents; raises UnsupportedError if the store has no
        such tables."""
        ...

    def lock(self, whose: Iterable[str | Scope]) -> None:
        """Acquire the locks of rows of a layer above that will be read and written.

        Args:
            whose: a tenant locks all rows of that tenant ("": the rows that belong to all tenants); a scope locks
                the rows of its user (without a user: the rows of the tenant that have no user).
        """
        ...

    def commit(self) -> None:
        """Commit now; the rest of the block runs outside of the transaction."""
        ...

    def identity(self) -> Identity:
        """Return the identity of the collection."""
        ...

    def settle(self, **values: object) -> None:
        """Write fields of the identity."""
        ...

    def is_newer(self, generation: int) -> bool:
        """Whether another process has changed the model or erased names since this generation, if that is known
        without a round trip."""
        ...

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        ...

    def upsert(self, rows: Sequence[NewRow], *, now: int, fills: bool = False) -> list[Written]:
        """Write rows with distinct keys (scope and id); a row replaces the one with its key. With `fills` the
        contents are unchanged and the row receives its pending vector.

        Raises:
            EncryptionError: a tenant's key is not available.
            HeldError: a row that would be replaced is under a legal hold.
            VersionConflictError: the stored version is not the expected one (an expired row counts as missing).
        """
        ...

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        """Delete documents of exactly this scope; unknown ids are ignored. None: it has none of them. Raises HeldError
        if one of them is under a legal hold."""
        ...

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        """Delete the expired documents of scopes that agree with `within` (None: of all), except those of the
        tenants in `leaving` and those under a legal hold."""
        ...

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`, and all traces of them; raises HeldError if any
        is held."""
        ...

    def erase_elsewhere(
        self, scope: Scope, reason: str, *, exact: bool, now: int, words: Pseudonyms | None
    ) -> int:
        """Do the same as `erase` in all other collections; return how many documents they had."""
        ...

    def forget_names(self, scope: Scope, words: Pseudonyms) -> None:
        """Replace the names of every scope that agrees with `scope` by pseudonyms; these scopes are empty."""
        ...

    def write_image(self, scope: Scope, version: int, chunks: Any, *, replace: bool = False) -> None:
        """Write a scope's image of `version`, unless a newer image exists or the image can no longer be used.

        Args:
            chunks: what :meth:`Store.image_in_pieces` provides for them, or the chunks themselves.
        """
        ...

    def drop_image(self, key: Any) -> None:
        """Delete the image of the scope with this key (:class:`ScopeState`)."""
        ...

    def forget_stale_pending(self) -> None:
        """Delete queue entries of documents that are no longer pending."""
        ...


class Store(Protocol):
    """The rows of one collection. Thread-safe; readers never wait for a writer.

    Raises (all methods):
        ClosedError: the store was closed, or was opened by the parent process of a fork.
        StoreError: the rows cannot be read or written; StoreUnavailableError: the server does not answer.
        CorruptIndexError: the bytes that were read are not those that were written.
    """

    @property
    def path(self) -> Path | None:
        """The file; None if the rows are not in a file."""
        ...

    def files(self) -> list[Path]:
        """Return the files of the rows (not all of them need exist); empty if the rows are not in a file."""
        ...

    @property
    def place(self) -> str:
        """The location of the rows, for messages; contains no secrets."""
        ...

    @property
    def cipher(self) -> Keys:
        """The keys of encrypted tenants."""
        ...

    # ------------------------------------------------------------------ what changed

    def identity(self) -> Identity:
        """Return the current identity of the collection."""
        ...

    def generation(self) -> int:
        """Return how often the model has changed."""
        ...

    def glance(self) -> object:
        """Return a token that changes whenever anything may have been committed. Called before each search, so it
        must cost no more than a read of local memory."""
        ...

    @property
    def asks_each_time(self) -> bool:
        """Whether :meth:`glance` makes a round trip to a server."""
        ...

    def freshness(self) -> tuple[float, bool]:
        """Return for how many seconds writes of other processes may be unseen, and whether that exceeds the
        promised bound."""
        ...

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """Register a callback that returns the resident scopes searched since its last call, for stores that
        record usage. Held by a weak reference."""
        ...

    def mark(self) -> object:
        """Return a mark of the current state, for :meth:`noticed`."""
        ...

    def noticed(self, mark: Any) -> ChangedScopes:
        """Return the scopes written to since a mark, and the next mark."""
        ...

    def lineage(self) -> str | None:
        """Return the name of this history of the collection; None if it has none yet and one cannot be assigned
        now."""
        ...

    def shared_name(self) -> str | None:
        """Return a name that is equal in all processes that have this collection open and in no others; None as
        in `lineage`."""
        ...

    # ------------------------------------------------------------------ scopes

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if it was never written to."""
        ...

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        """Return the states of exact scopes of one tenant."""
        ...

    def look(self, scope: Scope, *, now: int) -> ScopeHead:
        """Return the state of a scope, and which of its documents have expired or will."""
        ...

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        """Return every scope that has documents."""
        ...

    def living_scopes(
        self,
        within: Scope | None,
        *,
        now: int,
        users: tuple[str, str] | None = None,
        after: Scope | None = None,
        limit: int | None = None,
    ) -> list[Scope]:
        """Return every scope that agrees with `within` and has unexpired documents, in order of scope.

        Args:
            users: keep scopes whose user is >= the first text and < the second, by code point.
            after: start behind this scope.
            limit: return at most this many; the cost is proportional to it.
        """
        ...

    def stale_scopes(self) -> list[Scope]:
        """Return the scopes with documents whose image is missing or older than the last write."""
        ...

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return the number of unexpired documents of the exact scopes; None: of all scopes."""
        ...

    def vector_count(self, *, now: int) -> int:
        """Return the number of unexpired documents with a vector, or with vectors of their passages."""
        ...

    # ------------------------------------------------------------------ documents

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one state; inside :meth:`writing`, the state of the
        transaction."""
        ...

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        """Yield the unexpired documents of exactly this scope in order of writing; call in a snapshot.

        Raises:
            CorruptIndexError: a sealed row was changed, or (after the last one) rows were rolled back or removed.
        """
        ...

    def rows_in(
        self,
        scopes: Sequence[Scope],
        *,
        now: int,
        newest: bool,
        ids: Collection[RowId] | None = None,
        after: int = 0,
        first: int | None = None,
    ) -> Iterator[tuple[StoredRow, Scope]]:
        """Yield the unexpired documents of exact scopes of one tenant, without vectors; call in a snapshot.

        Args:
            newest: in the reverse of the order of writing.
            ids: only these.
            after: only documents behind this number in that order.
            first: a lower bound of how many the caller will read, so that the store does not prefetch rows of
                scopes that are not reached.
        """
        ...

    def numbers_in(self, scopes: Sequence[Scope], *, now: int, newest: bool, first: int) -> list[int]:
        """Return the numbers of the first unexpired rows of exact scopes, in order of writing or its reverse;
        call in a snapshot. The contents are not read, so damaged rows are counted too."""
        ...

    def changes(
        self, key: Any, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        """Return the changes of the scope with this key after version `after`; call in a snapshot.

        Raises:
            CorruptIndexError: the rows after the image do not match `digest`.
        """
        ...

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id from the first scope of `sight` (all of one tenant) that has
        it."""
        ...

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without
        vectors."""
        ...

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        """Yield the unexpired documents of all tenants in order of writing, in batches; call in a snapshot."""
        ...

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have a data key, in alphabetical order."""
        ...

    def tenants_without_key(self) -> set[str]:
        """Return the encrypted tenants whose keys are currently unavailable; tenants with destroyed keys are not
        included."""
        ...

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of an encrypted scope in a state that was read; None: it has no digest.

        Raises:
            CorruptIndexError: the state, or the digest, was rolled back or changed.
        """
        ...

    # ------------------------------------------------------------------ beside the documents

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        ...

    def image(self, key: Any) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's image; None if the image or a part of it is missing.

        Raises:
            CorruptIndexError: it is sealed and cannot be opened.
        """
        ...

    def image_in_pieces(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> AbstractContextManager[Any]:
        """Provide what `write_image` takes for an image, within a block around that transaction. Most of a large
        image may be written by then, in short transactions, so that other writers need not wait for all of it.

        Raises:
            StoreBusyError: another process wrote for too long, or the image can no longer be used.
        """
        ...

    def image_views(
        self, scope: Scope, key: Any
    ) -> AbstractContextManager[tuple[int, Sequence[ImagePart]] | None]:
        """Provide what :meth:`image` returns, for `Engine.load_partition` within a block. `scope` is the scope with
        this key.

        Chunks that are pieces are read, and found to be of another image, while they are iterated over.
        """
        ...

    def pending_count(self, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
        """Return the number of unexpired documents whose vectors are pending, in these exact scopes or in all."""
        ...

    def pending_pages(self, size: int, *, now: int) -> Iterator[list[tuple[StoredRow, Scope]]]:
        """Yield these documents in order of writing, `size` at a time, including those written meanwhile."""
        ...

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a feedback note on a document; False if the document is not visible to the note's scope."""
        ...

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        """Return the notes on existing documents, oldest first."""
        ...

    def has_layer(self, table: str) -> bool:
        """Whether the layer above that owns this table keeps its rows beside the documents."""
        ...

    # ------------------------------------------------------------------ writing and care

    def writing(
        self,
        doing: str,
        *,
        scopes: Iterable[Scope] | None = None,
        wait: bool = True,
        in_background: bool = False,
        is_log: bool = False,
        ids: Sequence[RowId] = (),
    ) -> AbstractContextManager[Transaction]:
        """Acquire the write lock and begin a transaction: committed at the end of the block, rolled back on an
        exception.

        Args:
            doing: what is being done, for error messages.
            scopes: the scopes whose rows are read and written. A store in which tenants do not wait for each
                other locks these only. None: locks are taken as rows are written.
            wait: wait for another writer up to the busy timeout.
            in_background: not a write of the caller; foreground writers wait for its end.
            is_log: only rows are written that :meth:`LayerStore.rows_version` does not cover.
            ids: of the documents of one scope that will be written first; a store on a server reads the existing
                rows in the same round trip as the lock.

        Raises:
            StoreBusyError: another writer held the lock for longer than the busy timeout.
        """
        ...

    @property
    def group(self) -> Group | None:
        """Commits single-document writes together; None: each has its own transaction."""
        ...

    def is_writing_here(self) -> bool:
        """Whether this thread holds the write lock."""
        ...

    def inspect(self, report: CheckReport) -> None:
        """Check the rows, and add problems to the report; call in a snapshot."""
        ...

    def search(self, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
        """Search for erased data wherever this store can look: byte sequences, and names in every form."""
        ...

    def collection_names(self) -> list[str]:
        """Return the names of the named collections, in alphabetical order."""
        ...

    def drop_collection(self, name: str, *, now: int) -> int:
        """Drop a collection, leaving an event for each scope that had documents; return the number of documents.

        Raises:
            HeldError: a document is under a legal hold.
        """
        ...

    def forget_deleted(self) -> None:
        """Delete the recorded ids of deleted documents of all collections, and every image that needs them."""
        ...

    def rewrite(self) -> None:
        """Return the space of deleted rows, if the store does not do so by itself."""
        ...

    def stats(self) -> dict[str, int | str]:
        """Return counts specific to this store, by their names in `stats`."""
        ...

    def size_bytes(self) -> int:
        """Return the size of the rows and images where they are stored, in bytes."""
        ...

    def check_open(self) -> None:
        """Raise ClosedError if the store was closed."""
        ...

    def close(self) -> None:
        """Close the store. Idempotent, and safe from any thread."""
        ...

    def abandon(self) -> None:
        """In the child after a fork: give up the connections, which belong to the parent, without using or
        closing them."""
        ...


class Group(Protocol):
    """Commits writes and deletions of single documents by several threads together."""

    def takes(self, payload: bytes | None) -> bool:
        """Whether a row with this payload, and without vectors of passages, may be written by the group; without
        a payload also whether a row may be deleted by it."""
        ...

    def write(
        self,
        write: SingleWrite | SingleDelete,
        commit: Callable[[Callable[[], Glances | None], Sequence[ScopeChange], OwnCommit | None], None],
    ) -> bool:
        """Write or delete a document; False: nothing was written, and the write needs its own transaction.

        Raises what :meth:`Store.writing`, :meth:`Transaction.upsert` and :meth:`Transaction.delete` raise.

        Args:
            write: the document to write or to delete.
            commit: called under the write lock by the thread that writes for all, with: the function that
                commits; the changes by scope; how searches distinguish this commit from those of others (None:
                they cannot).
        """
        ...


class LayerStore(Store, Protocol):
    """A store with tables of a layer above: a file, or a database in which the layer has created them."""

    @property
    def cipher(self) -> Any:
        """The keys of encrypted tenants, with the interface of :class:`scrubjay.store.sqlite.cipher.Cipher`."""
        ...

    def rows_version(self) -> object | None:
        """Return a value that changes whenever anything but logs (`is_log` of :meth:`writing`) may have been
        committed; None: currently unknown."""
        ...

    def reading_connection(self) -> Any:
        """Return this thread's connection for rows of the layer: one of SQLite, or an object that takes its
        statements."""
        ...

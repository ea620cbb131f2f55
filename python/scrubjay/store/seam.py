"""The seam between the index and its rows: what every store does, and nothing that only one of them could.

:class:`Store` and :class:`Transaction` are all that the engine over rows knows of SQLite or PostgreSQL. What only a
file has (its bytes, keys, tables of layers above) is asked of :meth:`DurableEngine.file`, which another store refuses
with :class:`scrubjay.UnsupportedError`.

Coherence: the writes of a scope have ascending numbers, and the scope's `version` is the number of its last one. A
partition in memory that has applied everything up to its scope's version is current. Within a tenant numbers are never
equal and ascend in the order of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box, KeyRing, Master
from scrubjay.store.rows.erased import ErasureReport, KeyProof
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.scopes import Sight
from scrubjay.store.rows.single import Glances, OwnCommit, ScopeChange, SingleWrite
from scrubjay.store.rows.stored import (
    Changes,
    Entry,
    Event,
    Identity,
    Look,
    NewRow,
    Noticed,
    RowId,
    ScopeState,
    StoredRow,
    Written,
)


class Keys(Protocol):
    """What the engine asks about the keys of encrypted tenants."""

    @property
    def ring(self) -> KeyRing | None:
        """The keys; None: nothing is encrypted or can be opened."""
        ...

    def readable(self, tenant: str, user: str | None = None) -> bool:
        """Whether the tenant's key, and that of the user, was not destroyed; raises EncryptionError if it is not
        available."""
        ...

    def readable_of(self, scopes: Sequence[Scope]) -> Sequence[Scope]:
        """Return those of the scopes of which that is true; the same object if all are."""
        ...

    def proofs(self, tenant: str, user: str) -> tuple[KeyProof, ...]:
        """Return what became of the keys that a user has and had."""
        ...

    def is_erased(self, tenant: str, user: str) -> bool:
        """Whether the user has a key of their own, and it was destroyed."""
        ...

    def openable(self, tenant: str, user: str | None = None) -> bool:
        """Whether what the tenant, or the user, has can be read here."""
        ...

    def require(self, tenants: Iterable[str]) -> None:
        """Raise EncryptionError unless the keys of tenants that write are available."""
        ...

    def master(self, tenant: str) -> Master | None:
        """Return the master key of an encrypted tenant; None: the tenant is in the clear."""
        ...


class Transaction(Protocol):
    """What can be written at once, all or nothing. Not for several threads."""

    @property
    def committed(self) -> bool:
        """Whether it was committed."""
        ...

    @property
    def connection(self) -> Any:
        """The connection, for rows of tables beside the documents; raises UnsupportedError where there are none."""
        ...

    def lock(self, whose: Iterable[str | Scope]) -> None:
        """Take the turns of rows of a layer above that are read and written: of all that a tenant has ("": of what
        belongs to all), or of what the user of a scope has (without one: of what the tenant has without a user)."""
        ...

    def commit(self) -> None:
        """Commit now; what follows in the block runs outside of the transaction."""
        ...

    def identity(self) -> Identity:
        """Return what the index is made of."""
        ...

    def settle(self, **values: object) -> None:
        """Write values of the identity."""
        ...

    def is_newer(self, generation: int) -> bool:
        """Whether another process changed the model, or erased names, since it had this generation, if that is known
        without asking."""
        ...

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        ...

    def upsert(self, rows: Sequence[NewRow], *, now: int, fills: bool = False) -> list[Written]:
        """Write rows with distinct keys; raises VersionConflictError where a row's condition does not hold, HeldError
        where a row would be replaced that is under a legal hold; with `fills` the rows that are there only get the
        vectors that were to come."""
        ...

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        """Delete documents of exactly this scope; None: it has none of them. Raises HeldError as `upsert`."""
        ...

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        """Delete the documents that have expired, but for those of the tenants in `leaving` and those that are held."""
        ...

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`, and all traces of them; HeldError if any is held."""
        ...

    def erase_elsewhere(
        self, scope: Scope, reason: str, *, exact: bool, now: int, words: Pseudonyms | None
    ) -> int:
        """Do the same in all other collections; return how many documents they had."""
        ...

    def forget_names(self, scope: Scope, words: Pseudonyms) -> None:
        """Replace the names of every scope that agrees with `scope`, all of them empty, by pseudonyms."""
        ...

    def write_image(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> None:
        """Keep a scope's image of `version`, unless a newer one is there or it is of no use any more."""
        ...

    def drop_image(self, key: Any) -> None:
        """Delete the image of the scope with this key (:class:`ScopeState`)."""
        ...

    def forget_stale_pending(self) -> None:
        """Drop entries of documents that are no longer pending."""
        ...


class Store(Protocol):
    """The rows of one collection. Any thread may use it; readers never wait for a writer.

    Raises (all methods):
        ClosedError: it was closed, or belongs to the process that this one was forked from.
        StoreError: the rows cannot be read or written; StoreUnavailableError: their server does not answer.
        CorruptIndexError: what was read is not what was written.
    """

    @property
    def path(self) -> Path | None:
        """The file, if the store is one."""
        ...

    @property
    def place(self) -> str:
        """Where the rows are, for messages: without secrets."""
        ...

    @property
    def cipher(self) -> Keys:
        """The keys of encrypted tenants."""
        ...

    # ------------------------------------------------------------------ what changed

    def identity(self) -> Identity:
        """Return what the collection is made of, as of now."""
        ...

    def generation(self) -> int:
        """Return how often the model was changed."""
        ...

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed. Before each search: a look at local memory."""
        ...

    @property
    def asks_each_time(self) -> bool:
        """Whether :meth:`glance` asks a server each time."""
        ...

    def freshness(self) -> tuple[float, bool]:
        """Return for how many seconds what others wrote may be unknown, and whether that is longer than promised."""
        ...

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """A method that returns the scopes in memory that were searched since it was called last, for a store that
        keeps that. It is held weakly."""
        ...

    def mark(self) -> object:
        """Return a mark of now, for :meth:`noticed`."""
        ...

    def noticed(self, mark: Any) -> Noticed:
        """Return the scopes that were written to since a mark, and the next mark."""
        ...

    def lineage(self) -> str | None:
        """Return a name of this history of this collection; None if it has none yet and cannot get one now."""
        ...

    def shared_name(self) -> str | None:
        """Return what is equal in all processes that have this collection open and in no others, or None as above."""
        ...

    # ------------------------------------------------------------------ scopes

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if nothing was ever written to it."""
        ...

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        """Return the states of exact scopes of one tenant."""
        ...

    def look(self, scope: Scope, *, now: int) -> Look:
        """Return the state of a scope, and what of it has expired or will."""
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
        """Return every scope that has unexpired documents and agrees with `within`; with `users` only those whose user
        is at or after the first text and before the second, by code point. With a limit the first ones behind the
        scope `after` in the order of scopes, at the cost of those."""
        ...

    def stale_scopes(self) -> list[Scope]:
        """Return scopes with documents whose images are missing or older than the last write."""
        ...

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return how many unexpired documents the exact scopes have together; None: all scopes."""
        ...

    def vector_count(self, *, now: int) -> int:
        """Return how many unexpired documents have a vector, or vectors of their passages."""
        ...

    # ------------------------------------------------------------------ documents

    def snapshot(self) -> AbstractContextManager[None]:
        """Let every read of this thread inside see one state; inside of :meth:`writing`, that of the transaction."""
        ...

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        """Yield the unexpired documents of exactly this scope in order of writing; in a snapshot."""
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
        """Yield the unexpired documents of exact scopes of one tenant, without vectors, in order of writing or the
        reverse; in a snapshot. With `ids` only those; with `after` only what comes behind that number. `first`: how
        many the caller will read at least, so that no scope's rows are fetched for nothing."""
        ...

    def numbers_in(self, scopes: Sequence[Scope], *, now: int, newest: bool, first: int) -> list[int]:
        """Return the numbers of the first unexpired rows of exact scopes, in order of writing or the reverse; in a
        snapshot. What the rows hold is not read, so damaged ones count, too."""
        ...

    def changes(
        self, key: Any, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        """Return what happened to the scope with this key after version `after`; in a snapshot."""
        ...

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id of the first scope of one tenant that has it."""
        ...

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        ...

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        """Yield the unexpired documents of all tenants in order of writing, some at a time; in a snapshot."""
        ...

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have a data key, in alphabetical order."""
        ...

    def tenants_without_key(self) -> set[str]:
        """Return the encrypted tenants whose keys are not available now; not those whose keys were destroyed."""
        ...

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of an encrypted scope in a state that was read; None: it has none."""
        ...

    # ------------------------------------------------------------------ beside the documents

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        ...

    def image(self, key: Any) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's image; None if there is none, or a part is missing."""
        ...

    def image_views(
        self, scope: Scope, key: Any
    ) -> AbstractContextManager[tuple[int, Sequence[bytes | memoryview]] | None]:
        """Give what :meth:`image` returns for the duration of a block, if possible in memory that is used again.

        `scope` is the one with this key.
        """
        ...

    def pending_count(self, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
        """Return how many unexpired documents wait for their vectors, of these exact scopes or of all."""
        ...

    def pending_pages(self, size: int, *, now: int) -> Iterator[list[tuple[StoredRow, Scope]]]:
        """Yield these documents in order of writing, `size` at a time, what comes meanwhile included."""
        ...

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a note on a document; False if its asker sees no such document."""
        ...

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        """Return the notes on documents that are there, oldest first."""
        ...

    def has_layer(self, table: str) -> bool:
        """Whether the layer above that this table belongs to keeps its rows beside the documents."""
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
        """Take the writer's turn and a transaction: committed at the end, rolled back if anything is raised.

        Args:
            doing: what is being done, for the message of an error.
            scopes: whose rows are read and written; a store in which tenants do not wait for each other takes the turn
                of these. None: what is written decides.
            wait: for another writer, as long as the index waits.
            in_background: this is not the caller's write; foreground writers wait for its end.
            is_log: nothing is written but what nobody keeps by :meth:`LayerStore.rows_version`.
            ids: of the documents of one scope that are going to be written first; a store that asks a server asks for
                what is there along with the turn.

        Raises:
            StoreBusyError: another writer was at work for longer than the index waits.
        """
        ...

    @property
    def group(self) -> Group | None:
        """What commits writes of one document together; None: each takes its own transaction."""
        ...

    def is_writing_here(self) -> bool:
        """Whether this thread has the writer's turn."""
        ...

    def inspect(self, report: CheckReport) -> None:
        """Check the rows, and add what is wrong to the report; in a snapshot."""
        ...

    def search(self, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
        """Look for what was erased wherever this store can look: byte sequences, and names in every form."""
        ...

    def collection_names(self) -> list[str]:
        """Return the names of the collections beside the one without a name, in alphabetical order."""
        ...

    def drop_collection(self, name: str, *, now: int) -> int:
        """Drop a collection, and leave an event for each scope that had documents; how many those were. Raises
        HeldError if any of them is under a legal hold."""
        ...

    def forget_deleted(self) -> None:
        """Drop the ids of deleted documents of all collections, and every image that needs them."""
        ...

    def rewrite(self) -> None:
        """Give back the space of what was deleted, where the store has to be told to."""
        ...

    def stats(self) -> dict[str, int | str]:
        """Return counts that only this store has, by the names that statistics give them."""
        ...

    def size_bytes(self) -> int:
        """Return how many bytes the rows and images take where they are kept."""
        ...

    def check_open(self) -> None:
        """Raise ClosedError if the store was closed."""
        ...

    def close(self) -> None:
        """Close it. Safe to call twice, and from anywhere."""
        ...

    def abandon(self) -> None:
        """After a fork, in the child: connections are the parent's, and are neither used nor closed here."""
        ...


class Group(Protocol):
    """Commits writes of one document of several threads together."""

    def takes(self, payload: bytes | None) -> bool:
        """Whether a row with this payload, and no vectors of passages, can be written here as far as it says itself."""
        ...

    def write(
        self,
        write: SingleWrite,
        commit: Callable[[Callable[[], Glances | None], Sequence[ScopeChange], OwnCommit | None], None],
    ) -> bool:
        """Write a document; False: nothing was done, it needs a transaction of its own.

        Raises what :meth:`Store.writing` and :meth:`Transaction.upsert` raise.

        Args:
            write: the document.
            commit: called by the thread that writes for all, in the writer's turn: with what commits, what is written
                to each scope, and how searches tell this commit from those of others (None: they cannot).
        """
        ...


class LayerStore(Store, Protocol):
    """A store that keeps tables of a layer above: a file, or a database once the layer made them."""

    @property
    def cipher(self) -> Any:
        """The keys of encrypted tenants, as :class:`scrubjay.store.sqlite.cipher.Cipher` has them."""
        ...

    def rows_version(self) -> object | None:
        """Return what differs whenever anything but logs (`is_log` of :meth:`writing`) may have been committed; None:
        that cannot be said now."""
        ...

    def reading_connection(self) -> Any:
        """Return what this thread reads rows of the layer by: a connection of SQLite, or what takes its statements."""
        ...

"""The cold tier: the rows of scopes that nobody uses, each scope's as one object in an object store.

Such an object is the truth, other than one that is an image: it is put there, and read back, before the transaction
that deletes the rows and names it in `sj_cold`. Reads of a cold scope take its object for the table and change nothing;
the first write to its documents brings the rows back, in the turn of its home. The version of the scope changes by
neither, so what is in memory stays current.

An object outlives its return by a while (`Objects.keep_seconds`), for a standby that was behind, or a backup, in which
the scope is cold still.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError, StoreError
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.opening import Opening
from scrubjay.store.objects.objects import GRACE_SECONDS, HEAD_BYTES, ObjectStore
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.frozen import frozen_rows, thawed_rows
from scrubjay.store.postgres.keys import Key, key_of
from scrubjay.store.postgres.loading import Loaded, insert
from scrubjay.store.postgres.server import IDLE_SECONDS
from scrubjay.store.postgres.used import today
from scrubjay.store.postgres.walls import EVERY_HOME, Home
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.sealed import is_sealed

if TYPE_CHECKING:
    from scrubjay.store.postgres.store import PostgresStore
    from scrubjay.store.postgres.transaction import PostgresTransaction

__all__ = [
    "OF_SCOPE",
    "Cold",
    "ColdRows",
    "FrozenScope",
    "expired_sql",
    "freeze_scope",
    "purge",
    "thaw",
    "thaw_all",
    "to_freeze",
]

_MAX_BYTES = 256 << 20  # of the rows of one scope: larger ones stay where they are
_PLACE = "home = %s AND collection = %s AND scope = %s"
_COLUMNS = "seq, scope, id, text, payload, vector, created_at, updated_at, expires_at, hash, pending"
_PAGE, _MANY = 5_000, 500  # rows, scopes in one answer


class Cold(NamedTuple):
    """Where the rows of a frozen scope are: an object, its length, the version and how many documents it has."""

    object: bytes
    n_bytes: int
    version: int
    documents: int


class FrozenScope(NamedTuple):
    """A scope that was frozen: how many documents it has, and how many bytes its object."""

    scope: Scope
    documents: int
    n_bytes: int


OF_SCOPE = "k.home = s.home AND k.collection = s.collection AND k.scope = s.key"
"""The condition that `sj_cold k` is about the scope `sj_scope s`."""


def expired_sql(condition: str, *, expiries: str = "expiries") -> str:
    """Return the expression for how many documents of frozen scopes (`sj_cold k`) have expired by a time, which is the
    last parameter; `expiries`: of all documents, or "vector_expiries": of those that have a vector."""
    return (
        f"(SELECT count(*) FROM sj_cold k CROSS JOIN LATERAL unnest(k.{expiries}) AS e(at) "
        f"WHERE {condition} AND k.thawed_at IS NULL AND e.at <= %s)"
    )


class ColdRows:
    """Reads what is frozen of one collection, from its objects. Thread-safe.

    Args:
        ask: a statement, its parameters and its `home` -> rows, as the asking thread sees them.
        collection: the number of the collection.
        objects: returns where the objects are; None: the index was opened without.
        opening: the keys of the store.
        place: of the database, for messages.
    """

    def __init__(
        self,
        ask: Callable[..., list[tuple[Any, ...]]],
        collection: int,
        objects: Callable[[], ObjectStore | None],
        opening: Opening,
        place: str,
    ) -> None:
        self._ask = ask
        self._collection = collection
        self._objects = objects
        self._opening = opening
        self._place = place

    def of(self, home: str, numbers: Sequence[int]) -> dict[int, Cold]:
        """Return those scopes of a home that are frozen, by the number of their key."""
        found = self._ask(
            "SELECT scope, object, n_bytes, version, documents FROM sj_cold WHERE home = %s AND collection = %s "
            "AND scope = ANY(%s) AND thawed_at IS NULL",
            (home, self._collection, list(numbers)),
            home=home,
        )
        return {row[0]: Cold(*row[1:]) for row in found}

    def expiries(self, key: Key) -> list[int]:
        """Return when documents of a frozen scope expire, in ascending order."""
        found = self._ask(
            "SELECT expiries FROM sj_cold WHERE home = %s AND collection = %s AND scope = %s AND thawed_at IS NULL",
            (key.home, self._collection, key.number),
            home=key.home,
        )
        return sorted(found[0][0] or ()) if found else []

    def rows(self, scope: Scope, cold: Cold) -> list[Loaded]:
        """Return the rows of a frozen scope in order of writing.

        Raises:
            StoreError: the index was opened without an object store; StoreUnavailableError: that does not answer.
            CorruptIndexError: the object is missing, or is not what was put there.
            EncryptionError: its key is not available.
        """
        data = fetched(self._objects(), scope, cold, self._place)
        return _opened(data, scope, self._collection, cold, self._opening)

    def everything(self) -> Iterator[tuple[tuple[int, str, int], Scope, Cold]]:
        """Yield every frozen scope: the place of its first row in the order of writing, its names, where it is."""
        found = self._ask(
            "SELECT k.first_seq, k.home, k.scope, s.tenant, s.usr, s.agent, k.object, k.n_bytes, k.version, "
            f"k.documents FROM sj_cold k JOIN sj_scope s ON {OF_SCOPE} "
            "WHERE k.collection = %s AND k.thawed_at IS NULL ORDER BY k.first_seq",
            (self._collection,),
            home=EVERY_HOME,
        )
        for row in found:
            yield row[:3], scope_of(*row[3:6]), Cold(*row[6:])


def fetched(objects: ObjectStore | None, scope: Scope, cold: Cold, place: str) -> bytes:
    """Return the object of a frozen scope; see :meth:`ColdRows.rows`."""
    if objects is None:
        raise StoreError(
            f"{scope!r} is in the cold tier: open the index with the objects=... that it was frozen with: {place}"
        )
    if len(cold.object) != 32 or not 0 < cold.n_bytes <= 2 * _MAX_BYTES:
        raise CorruptIndexError("it names an object that cannot be one", scope=scope)
    try:
        return objects.fetch(bytes(cold.object), cold.n_bytes)
    except CorruptIndexError as error:
        raise CorruptIndexError(f"its rows are in the cold tier, and {error.what}", scope=scope) from None


def _opened(data: bytes, scope: Scope, collection: int, cold: Cold, opening: Opening) -> list[Loaded]:
    return thawed_rows(data, scope, collection, cold.version, cold.documents, opening)


# ---------------------------------------------------------------------- freezing


def to_freeze(
    store: PostgresStore, within: tuple[str, Sequence[str]], home: Any, *, days: int, after: Any
) -> list[tuple[tuple[str, int], Scope]]:
    """Return scopes with documents that nobody has used for so many days, some at a time, behind one of them."""
    condition, names = within
    home_after, key_after = ("", -1) if after is None else after
    found = store.ask(
        "SELECT s.home, s.key, s.tenant, s.usr, s.agent FROM sj_scope s WHERE s.collection = %s AND s.documents > 0 "
        f"AND s.cold IS NULL AND s.used <= %s AND s.changed <= now() - make_interval(days => %s) AND {condition} "
        f'AND (s.home COLLATE "C", s.key) > (%s, %s) ORDER BY s.home COLLATE "C", s.key LIMIT {_MANY}',
        (store.number, today() - days, days, *names, home_after, key_after),
        home=home,
    )
    return [((row[0], row[1]), scope_of(*row[2:])) for row in found]


class _Read(NamedTuple):
    """A scope as it was read to be frozen: its rows, a hash of their hashes, its current image (ordinal, bytes, hash of
    its object), and which images it has."""

    version: int
    rows: list[Loaded]
    print: bytes
    images: list[tuple[Any, ...]]
    all_images: list[tuple[Any, ...]]


class _Image(NamedTuple):
    """A chunk of an image that becomes an object."""

    ordinal: int
    head: bytes
    object: bytes
    n_bytes: int


def freeze_scope(store: PostgresStore, scope: Scope, objects: ObjectStore) -> FrozenScope | None:
    """Put the rows of a scope into an object, and delete them; None: it is written to just now, waits for vectors, is
    too large, or its key is not available.

    Raises:
        StoreUnavailableError: the object store does not answer, and nothing changed; or the database does not, and it
            is not known whether the scope was frozen.
    """
    key = key_of(scope)
    try:
        box = _key_of(store.cipher, scope)
    except EncryptionError:
        return None
    with store.snapshot():
        read = _read(store, key)
    if read is None:
        return None
    started = time.monotonic()
    data = frozen_rows(scope, store.number, read.version, read.rows, box)
    cold = Cold(objects.keep(data), len(data), read.version, len(read.rows))
    images = [
        _Image(ordinal, kept[:HEAD_BYTES], objects.keep(kept), len(kept))
        for ordinal, kept, named in read.images
        if named is None
    ]
    is_frozen = False
    if time.monotonic() - started < GRACE_SECONDS / 2:  # else somebody may sweep what was put there
        # If it raises, nothing is removed: a COMMIT without an answer may have been made. compact() knows later.
        with store.writing("freezing", scopes=[scope]) as transaction:
            is_frozen = _replace(store, transaction, key, read, box, cold, images)
    if not is_frozen:
        objects.discard([cold.object, *(image.object for image in images)])
        return None
    return FrozenScope(scope, cold.documents, cold.n_bytes)


def _key_of(opening: Opening, scope: Scope) -> Box | None:
    """Return the key that seals what belongs to a scope, before anything is locked; None: it is in the clear."""
    box = opening.box(scope.tenant, None)
    if box is None or scope.user is None:
        return box
    return opening.key_of_user(scope.tenant, scope.user, box) or box


_STATE = (
    "SELECT s.version, s.documents, s.cold IS NULL AND s.embedding = c.embedding AND c.reembedding IS NULL "
    "FROM sj_scope s JOIN sj_collection c ON c.collection = s.collection "
    "WHERE s.home = %s AND s.collection = %s AND s.key = %s"
)
_PRINT = (
    "SELECT count(*), coalesce(sum(octet_length(id) + octet_length(text) + coalesce(octet_length(payload), 0) "
    "+ coalesce(octet_length(vector), 0)), 0)::bigint, coalesce(bool_or(pending), false), "
    f"sha256(coalesce(string_agg(hash, ''::bytea ORDER BY seq), ''::bytea)) FROM sj_document WHERE {_PLACE}"
)
_IMAGES = f"SELECT ordinal, n_chunks, version, octet_length(data), object FROM sj_image WHERE {_PLACE} ORDER BY ordinal"


def _read(store: PostgresStore, key: Key) -> _Read | None:
    """Return a scope as it is to be frozen, None if it is not to be now; in a snapshot."""
    place = (key.home, store.number, key.number)
    state = store.ask(_STATE, place, home=key.home)
    if not state or not state[0][1] or not state[0][2]:
        return None
    version, documents, _ = state[0]
    n, n_bytes, is_pending, stamp = store.ask(_PRINT, place, home=key.home)[0]
    if n != documents or n_bytes > _MAX_BYTES or is_pending:
        return None
    rows: list[Loaded] = []
    while len(rows) < n:
        page = store.ask(
            f"SELECT {_COLUMNS} FROM sj_document WHERE {_PLACE} AND seq > %s ORDER BY seq LIMIT {_PAGE}",
            (*place, rows[-1].seq if rows else -1),
            home=key.home,
        )
        rows += [Loaded(*row) for row in page]
    if hashlib.sha256(b"".join(row.hash for row in rows)).digest() != stamp:
        raise CorruptIndexError("its rows are not those that the server counted", scope=key.scope)
    images = store.ask(
        f"SELECT ordinal, data, object FROM sj_image WHERE {_PLACE} AND version = %s ORDER BY ordinal",
        (*place, version),
        home=key.home,
    )
    return _Read(version, rows, stamp, images, store.ask(_IMAGES, place, home=key.home))


def _replace(
    store: PostgresStore,
    transaction: PostgresTransaction,
    key: Key,
    read: _Read,
    box: Box | None,
    cold: Cold,
    images: Sequence[_Image],
) -> bool:
    """Let an object take the place of a scope's rows, if they are as they were read; the scope has its turn."""
    turns = transaction.in_collection(store.number)
    batch, place = turns.batch, (key.home, store.number, key.number)
    # Two freeze one after the other, and nobody writes an image meanwhile.
    state = batch.ask(_STATE + " FOR NO KEY UPDATE OF s", place, home=key.home)
    (found,), there = batch.ask_all([(_PRINT, place), (_IMAGES, place)], home=key.home)
    own = None if turns.sealer.ring is None else turns.sealer.sealing(key.home, key.scope.user, make=False)
    is_same = (
        state == [(read.version, cold.documents, True)]
        and (found[0], found[3]) == (cold.documents, read.print)
        and there == read.all_images
        and (None if own is None else own.id) == (None if box is None else box.id)
    )
    if not is_same or turns.state(key.scope).is_changed:
        return False
    expiring = [row for row in read.rows if row.expires_at is not None]
    batch.add(
        "INSERT INTO sj_cold(home, collection, scope, object, n_bytes, version, documents, first_seq, plain, "
        "expiries, vector_expiries) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s::bigint[], %s::bigint[])",
        (
            *place,
            *cold,
            read.rows[0].seq,
            not all(is_sealed(row.text) for row in read.rows),
            [row.expires_at for row in expiring] or None,
            [row.expires_at for row in expiring if row.vector is not None] or None,
        ),
        home=key.home,
    )
    batch.add(
        "UPDATE sj_scope SET cold = %s, horizon = greatest(horizon, (SELECT coalesce(max(t.seq), 0) "
        "FROM sj_tombstone t WHERE t.home = %s AND t.collection = %s AND t.scope = %s)) "
        "WHERE home = %s AND collection = %s AND key = %s",
        (cold.object, *place, *place),
        home=key.home,
    )
    for table in ("sj_document", "sj_tombstone", "sj_staged"):
        batch.add(f"DELETE FROM {table} WHERE {_PLACE}", place, home=key.home)
    turns.drop_images(f"{_PLACE} AND version <> %s", (*place, read.version), home=key.home)
    for image in images:
        batch.add(
            f"UPDATE sj_image SET data = %s, object = %s, n_bytes = %s WHERE {_PLACE} AND ordinal = %s",
            (image.head, image.object, image.n_bytes, *place, image.ordinal),
            home=key.home,
        )
    return True


# ---------------------------------------------------------------------- thawing


def thaw(
    batch: Batch,
    key: Key,
    collection: int,
    objects: ObjectStore | None,
    opening: Opening,
    place: str,
    ahead: Mapping[bytes, bytes],
) -> None:
    """Bring the rows of a frozen scope back; its home is locked.

    Args:
        batch: of the transaction.
        key: of the scope.
        collection: its number.
        objects: where its object is.
        opening: the keys of the store.
        place: of the database, for messages.
        ahead: objects that were read before anything was locked, by their hashes.
    """
    where = (key.home, collection, key.number)
    found = batch.ask(
        f"SELECT object, n_bytes, version, documents FROM sj_cold WHERE {_PLACE} AND thawed_at IS NULL",
        where,
        home=key.home,
    )
    if not found:
        raise CorruptIndexError("its rows are in the cold tier, and no row says where", scope=key.scope)
    cold = Cold(*found[0])
    data = ahead.get(bytes(cold.object)) or None
    if data is None:
        batch.ask("SET LOCAL idle_in_transaction_session_timeout = 0")
        data = fetched(objects, key.scope, cold, place)
        batch.add(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}")
    rows = _opened(data, key.scope, collection, cold, opening)
    insert(batch, key.home, collection, rows)
    batch.add(
        "UPDATE sj_scope SET cold = NULL, used = %s WHERE home = %s AND collection = %s AND key = %s",
        (today(), *where),
        home=key.home,
    )
    batch.add(
        f"UPDATE sj_cold SET thawed_at = %s WHERE {_PLACE} AND thawed_at IS NULL",
        (int(time.time()), *where),
        home=key.home,
    )


def thaw_all(store: PostgresStore, condition: str, parameters: Sequence[Any], *, home: Home) -> None:
    """Bring back every frozen scope, of any collection, that a condition on `sj_cold k` admits, each in a transaction
    of its own."""
    while found := store.ask(
        "SELECT k.collection, s.tenant, s.usr, s.agent FROM sj_cold k JOIN sj_scope s ON s.home = k.home "
        f"AND s.collection = k.collection AND s.key = k.scope WHERE {condition} AND k.thawed_at IS NULL "
        "ORDER BY k.home, k.collection, k.scope LIMIT 100",
        parameters,
        home=home,
    ):
        for collection, *names in found:
            with store.writing("bringing back", scopes=()) as transaction:
                transaction.in_collection(collection).thawed(scope_of(*names))


def purge(store: PostgresStore, keep_seconds: int) -> int:
    """Forget the objects of scopes whose rows came back so long ago, which are then removed; return how many."""
    latest = int(time.time()) - keep_seconds
    homes = store.ask(
        "SELECT DISTINCT home FROM sj_cold WHERE thawed_at <= %s ORDER BY home", (latest,), home=EVERY_HOME
    )
    n_gone = 0
    for (home,) in homes:
        with store.writing("compacting", scopes=()) as transaction:
            transaction.lock([home])
            gone = transaction.batch.ask(
                "DELETE FROM sj_cold WHERE home = %s AND thawed_at <= %s RETURNING object",
                (home, latest),
                home=home,
            )
            transaction.dropped.extend(bytes(digest) for (digest,) in gone)
            n_gone += len(gone)
    return n_gone

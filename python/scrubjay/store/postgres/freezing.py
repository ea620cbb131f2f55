"""Freezing scopes: moving the rows of unused scopes to the cold tier (:mod:`scrubjay.store.postgres.cold`), and
thawing many scopes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError, StoreError
from scrubjay.base.progress import Progress
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.opening import Opening
from scrubjay.store.objects.objects import GRACE_SECONDS, HEAD_BYTES, ObjectStore
from scrubjay.store.postgres.cold import MAX_BYTES, Cold
from scrubjay.store.postgres.conditions import agreeing
from scrubjay.store.postgres.frozen_format import frozen_rows
from scrubjay.store.postgres.keys import Key, can_hold
from scrubjay.store.postgres.last_use import today
from scrubjay.store.postgres.loading import Loaded
from scrubjay.store.postgres.row_security import EVERY_HOME, Home
from scrubjay.store.postgres.store import PostgresStore
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.report import FreezeReport
from scrubjay.store.rows.sealed import is_sealed

_PLACE = "home = %s AND collection = %s AND scope = %s"
_COLUMNS = "seq, scope, id, text, payload, vector, created_at, updated_at, expires_at, hash, pending"
_PAGE, _MANY = 5_000, 500  # rows, scopes per result


class FrozenScope(NamedTuple):
    """A scope that was frozen: the number of its documents, and the size of its object."""

    scope: Scope
    documents: int
    n_bytes: int


def freeze(store: Any, within: Scope | None, days: int, progress: Progress) -> FreezeReport:
    """Freeze the scopes that agree with `within` (None: all) and were not used for `days`.

    Raises:
        StoreError: the index was opened without an object store; StoreUnavailableError: that does not answer;
            scopes frozen before stay frozen.
    """
    objects = store.objects
    if objects is None:
        raise StoreError(f"freeze: expected an index that was opened with objects=...: {store.place}")
    store.note_uses()
    n_scopes = n_documents = n_bytes = 0
    for scope in _all_to_freeze(store, within, days):
        done = freeze_scope(store, scope, objects)
        if done is not None:
            n_scopes, n_documents, n_bytes = (
                n_scopes + 1,
                n_documents + done.documents,
                n_bytes + done.n_bytes,
            )
        progress.update(1)
    return FreezeReport(n_scopes, n_documents, n_bytes)


def _all_to_freeze(store: PostgresStore, within: Scope | None, days: int) -> Iterator[Scope]:
    """Yield the scopes that agree with `within` (None: all) and were not used for `days`, home by home."""
    if within is not None and not can_hold(within):
        return
    for home in [None] if within is None else store.homes.within(within):
        after = None
        condition = agreeing(within, home, table="s")
        while found := _to_freeze(
            store, condition, EVERY_HOME if home is None else home, days=days, after=after
        ):
            after = found[-1][0]
            yield from (scope for _, scope in found)


def _to_freeze(
    store: PostgresStore, within: tuple[str, Sequence[str]], home: Any, *, days: int, after: Any
) -> list[tuple[tuple[str, int], Scope]]:
    """Return a page of scopes with documents that were not used for `days`, after a given one."""
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
    """A scope as it was read for freezing: its rows, a hash of their hashes, its current image (ordinal, bytes,
    hash of its object), and a listing of all its images."""

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
    """Move the rows of a scope into an object, and delete them; None: it is being written to, has pending
    documents, is too large, or its key is not available.

    Raises:
        StoreUnavailableError: the object store does not answer, and nothing changed; or the database does not,
            and it is unknown whether the scope was frozen.
    """
    key = store.homes.key(scope)
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
    if time.monotonic() - started < GRACE_SECONDS / 2:  # otherwise a sweep may remove the new object
        # If this raises, nothing is removed: a COMMIT without an answer may have succeeded. compact() removes
        # unused objects later.
        with store.writing("freezing", scopes=[scope]) as transaction:
            is_frozen = _replace(store, transaction, key, read, box, cold, images)
    if not is_frozen:
        objects.discard([cold.object, *(image.object for image in images)])
        return None
    return FrozenScope(scope, cold.documents, cold.n_bytes)


def _key_of(opening: Opening, scope: Scope) -> Box | None:
    """Return the key that seals the data of a scope, before anything is locked; None: it is not encrypted."""
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
    """Read a scope for freezing, None if it cannot be frozen now; call in a snapshot."""
    place = (key.home, store.number, key.number)
    state = store.ask(_STATE, place, home=key.home)
    if not state or not state[0][1] or not state[0][2]:
        return None
    version, documents, _ = state[0]
    n, n_bytes, is_pending, stamp = store.ask(_PRINT, place, home=key.home)[0]
    if n != documents or n_bytes > MAX_BYTES or is_pending:
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
    """Replace a scope's rows by an object, if they are unchanged since they were read; the home is locked."""
    turns = transaction.in_collection(store.number)
    batch, place = turns.batch, (key.home, store.number, key.number)
    # Locks the scope against concurrent freezing and against writers of images.
    state = batch.ask(_STATE + " FOR NO KEY UPDATE OF s", place, home=key.home)
    (found,), there = batch.ask_all([(_PRINT, place), (_IMAGES, place)], home=key.home)
    own = (
        None
        if turns.sealer.ring is None
        else turns.sealer.sealing(key.scope.tenant, key.scope.user, make=False)
    )
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


def thaw_all(store: PostgresStore, condition: str, parameters: Sequence[Any], *, home: Home) -> None:
    """Thaw every frozen scope, of any collection, for which a condition on `sj_cold k` holds, each in its own
    transaction."""
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

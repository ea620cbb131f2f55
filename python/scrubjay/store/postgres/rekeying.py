"""Encrypting a tenant whose rows are plain, and changing a master key, as :mod:`scrubjay.store.sqlite.rekeying`
describes.

As in a file: the first transaction creates the data key and seals the rows beside the documents; documents are
sealed in small transactions, each under the locks of the tenant; and at the end the data key is marked as whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.base.progress import Progress
from scrubjay.store.keys.digest import mismatch, open_digest
from scrubjay.store.keys.encryption import WHOLE, Box
from scrubjay.store.keys.opening import rotated
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.postgres.digests import BLOCKS, blocks_of, table_problems
from scrubjay.store.postgres.freezing import thaw_all
from scrubjay.store.postgres.home_locks import PLACE
from scrubjay.store.postgres.keys import Unreadable
from scrubjay.store.postgres.sealing import is_sealed_sql, plain_table, table_of
from scrubjay.store.postgres.store import PostgresStore
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.sealed import is_sealed, sealed_by
from scrubjay.store.rows.vectors import content_hash

_BATCH = 500  # rows per transaction
_CLEAR = f"home = %s AND NOT {is_sealed_sql('text')}"


def encrypt_tenant(store: Any, tenant: str, progress: Progress, *, accept: bool) -> int:
    """Seal all plain data of a tenant; see :func:`scrubjay.store.sqlite.rekeying.encrypt_tenant`."""
    n_sealed = 0
    is_begun = False
    while True:
        for home in store.homes.all(tenant):
            thaw_all(store, "k.home = %s", (home,), home=home)
        with _encrypting(store, tenant) as (transaction, box):
            if _is_any_frozen(transaction, tenant):
                continue
            if not is_begun and box.whole and not accept:
                _refuse_changes(transaction, tenant, box)
            is_begun = True
        for collection, scope in _scopes_in_the_clear(store, tenant):
            while True:
                with _encrypting(store, tenant) as (transaction, box):
                    n = _seal_some(store, transaction, collection, scope, box)
                n_sealed += n
                progress.update(n)
                if n < _BATCH:
                    break
        with _encrypting(store, tenant) as (transaction, box):
            batch = transaction.batch
            homes = transaction.lock_tenant(tenant)
            clear = f"SELECT 1 FROM sj_document WHERE {_CLEAR} LIMIT 1"
            if any(batch.ask(clear, (home,), home=home) for home in homes):
                continue  # an index opened before there were keys wrote meanwhile
            if _is_any_frozen(transaction, tenant):
                continue
            transaction.seal_notes(tenant, box)
            for home in homes:
                transaction.in_collection(store.number).drop_cold("home = %s AND plain", (home,), home=home)
                transaction.drop_images(
                    "home = %s AND EXISTS (SELECT 1 FROM sj_image p WHERE p.home = sj_image.home AND p.collection = "
                    f"sj_image.collection AND p.scope = sj_image.scope AND NOT {is_sealed_sql('p.data')})",
                    home,
                )
            if accept:
                for home in homes:
                    _accept(transaction, home)
                transaction.count_anew(tenant, box)
            if not box.whole:
                transaction.sealer.mark(tenant, WHOLE)
            return n_sealed


@contextmanager
def _encrypting(store: PostgresStore, tenant: str) -> Iterator[tuple[PostgresTransaction, Box]]:
    store.cipher.ring_or_error(tenant)  # before anything is locked
    with store.writing("encrypting", scopes=()) as transaction:
        transaction.lock_tenant(tenant)
        transaction.sealer.encrypting = tenant
        box = transaction.sealer.current(tenant)
        if box is None:
            raise EncryptionError(f"keys: expected a key for tenant {tenant!r}, got None")
        yield transaction, box


def _is_any_frozen(transaction: PostgresTransaction, tenant: str) -> bool:
    frozen = "SELECT 1 FROM sj_cold WHERE home = %s AND thawed_at IS NULL LIMIT 1"
    return any(transaction.batch.ask(frozen, (home,), home=home) for home in transaction.lock_tenant(tenant))


def _scopes_in_the_clear(store: PostgresStore, tenant: str) -> list[tuple[int, Scope]]:
    found = store.ask_each(
        store.homes.all(tenant) if store.homes.user_homes else [tenant],
        lambda home: (
            "SELECT DISTINCT d.collection, s.tenant, s.usr, s.agent FROM sj_document d JOIN sj_scope s "
            "ON s.home = d.home AND s.collection = d.collection AND s.key = d.scope WHERE d.home = %s "
            f"AND NOT {is_sealed_sql('d.text')} ORDER BY d.collection",
            (home,),
        ),
    )
    return [(collection, scope_of(*names)) for collection, *names in found]


def _seal_some(
    store: PostgresStore, transaction: PostgresTransaction, collection: int, scope: Scope, box: Box
) -> int:
    """Seal the next plain rows of a scope; return their number."""
    batch, key = transaction.batch, store.homes.key(scope)
    place = (key.home, collection, key.number)
    turns = transaction.in_collection(collection)
    state = turns.state(scope)  # staged vectors are in place now
    found = batch.ask(
        "SELECT d.seq, d.id, d.text, d.payload, d.vector, n.data, d.expires_at FROM sj_document d "
        "LEFT JOIN sj_staged n ON n.home = d.home AND n.collection = d.collection AND n.scope = d.scope "
        "AND n.seq = d.seq WHERE d.home = %s AND d.collection = %s AND d.scope = %s "
        f"AND NOT {is_sealed_sql('d.text')} ORDER BY d.seq LIMIT {_BATCH}",
        place,
        home=key.home,
    )
    row_box = transaction.sealer.row_box(collection, scope) or RowBox(box, table_of(collection), scope)

    def boxed(value: Any) -> RowBox:
        """Return the opener of a value that another key may have sealed."""
        if not is_sealed(value) or sealed_by(value) == row_box.box.id:
            return row_box
        try:
            return row_box.with_box(store.cipher.opening(scope.tenant, sealed_by(value)))
        except EncryptionError:
            return row_box

    for seq, data, clear, *values, expires_at in found:
        id = store.id_in(collection, data)
        if isinstance(id, Unreadable):
            raise CorruptIndexError(f"document {bytes(data)!r}: its id is not what was written")
        # If other software replaced the text of a sealed row by plaintext, its other values may still be sealed.
        columns = ("payload", "vector", "vector")
        payload, vector, staged = (
            boxed(value).opened_or(column, seq, id, value)
            for column, value in zip(columns, values, strict=True)
        )
        try:
            text = clear.decode()
        except UnicodeDecodeError:
            raise CorruptIndexError(f"document {id!r}: its text is not what was written") from None
        sealed = row_box.seal(seq, id, text, payload, vector)
        batch.add(
            f"UPDATE sj_document SET text = %s, payload = %s, vector = %s, hash = %s WHERE {PLACE} AND seq = %s",
            (*sealed, content_hash(*sealed[:2]), *place, seq),
            home=key.home,
        )
        if staged is not None:
            batch.add(
                f"UPDATE sj_staged SET data = %s WHERE {PLACE} AND seq = %s",
                (row_box.seal_vector(seq, id, staged), *place, seq),
                home=key.home,
            )
        state.counted.add(seq, expires_at, *sealed)
    if state.is_changed:
        turns.leave_scopes()
    elif found:
        turns.leave_digest(box, key, state.counted.after(box, key, collection))
    return len(found)


# ---------------------------------------------------------------------- tenants encrypted before


def _refuse_changes(transaction: PostgresTransaction, tenant: str, box: Box) -> None:
    homes = transaction.lock_tenant(tenant)
    plain = next(filter(None, (plain_table(transaction.batch.ask, home) for home in homes)), None)
    problems = [] if plain is None else [f"rows of tenant {tenant!r} in {plain} are in the clear"]
    if not problems:
        problems = [problem for home in homes for problem in _problems(transaction, tenant, home, box)]
    if problems:
        raise CorruptIndexError(
            f"tenant {tenant!r} was fully encrypted before, and other software has changed its rows since "
            f"({problems[0]}); index.admin.encrypt(tenant, accept=True) accepts them"
        )


def _problems(transaction: PostgresTransaction, tenant: str, home: str, box: Box) -> list[str]:
    """Return the problems with the rows of the scopes in a home of a tenant, and with its notes, in every
    collection."""
    ask, problems = transaction.batch.ask, []
    for collection, number, usr, agent, *state in ask(
        "SELECT collection, key, usr, agent, version, documents, vectors, digest FROM sj_scope WHERE home = %s",
        (home,),
        home=home,
    ):
        names = (tenant, usr, agent)
        try:
            digest = open_digest(box, table_of(collection), names, *state)
            rows = ask(
                f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE {PLACE}",
                (home, collection, number),
                home=home,
            )
            if digest.total != box.total(b"".join(blocks_of(box, *row) for row in rows)):
                raise mismatch(names, "its rows do not match its digest")
        except CorruptIndexError as error:
            problems.append(str(error))
    return problems + table_problems(ask, box, home)


def _accept(transaction: PostgresTransaction, home: str) -> None:
    """Make the existing rows the valid state of a home's scopes: recompute counts and hashes, and drop images."""
    batch = transaction.batch
    own = "d.home = s.home AND d.collection = s.collection AND d.scope = s.key"
    number = transaction.number()
    transaction.drop_images("home = %s", home)
    batch.add(
        "UPDATE sj_scope s SET version = %s, horizon = %s, "
        f"documents = (SELECT count(*) FROM sj_document d WHERE {own}), "
        f"vectors = (SELECT count(vector) FROM sj_document d WHERE {own}), digest = NULL, "
        "changed = statement_timestamp() WHERE home = %s",
        (number, number, home),
        home=home,
    )
    batch.add(
        "DELETE FROM sj_feedback f WHERE home = %s AND NOT EXISTS(SELECT 1 FROM sj_document d WHERE d.home = f.home "
        "AND d.collection = f.collection AND d.scope = f.scope AND d.id = f.id)",
        (home,),
        home=home,
    )
    rows: Sequence[Any] = batch.ask(
        "SELECT collection, scope, seq, text, payload, hash FROM sj_document WHERE home = %s",
        (home,),
        home=home,
    )
    for collection, scope, seq, text, payload, hash in rows:
        if (right := content_hash(text, payload)) != hash:
            batch.add(
                f"UPDATE sj_document SET hash = %s WHERE {PLACE} AND seq = %s",
                (right, home, collection, scope, seq),
                home=home,
            )


def rotate_key(store: Any, tenant: str, old: bytes) -> None:
    """Wrap a tenant's data key with the provider's current master key, which replaces `old`.

    Raises:
        EncryptionError: the tenant is not encrypted, `old` is not its key, or the provider gives no key.
    """
    turn = rotated(store.cipher.ring, tenant, old)
    with store.writing("changing a key", scopes=()) as transaction:
        transaction.lock_tenant(tenant)
        key = turn(transaction.sealer.stored(tenant))
        if key is not None:
            transaction.sealer.write(tenant, key)

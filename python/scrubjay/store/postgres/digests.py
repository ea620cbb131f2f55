"""Digests of the rows of encrypted tenants (:mod:`scrubjay.store.sqlite.digests` describes digests and their
purpose).

The digest of a scope is in `sj_scope`, those of feedback notes and of rows of a layer above are in `sj_digest`.
There are no triggers: a transaction records what it adds and removes. Vectors of another model are in the digest
of their scope once they are in place; until then each is authenticated by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay.base.errors import CorruptIndexError, EncryptionError, KeyErasedError
from scrubjay.store.keys.digest import ScopeDigest, around_scope, block, changed, mismatch, open_digest
from scrubjay.store.keys.encryption import BLOCK_BYTES, Box
from scrubjay.store.keys.opening import around_cell
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.keys import Homes, Key
from scrubjay.store.postgres.sealing import (
    LAYER_TABLES,
    Sealer,
    is_sealed_sql,
    layer_tables,
    table_of,
    tag_sql,
)
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import frame

BLOCKS = (
    f"CASE WHEN {is_sealed_sql('d.text')} THEN {tag_sql('d.text')} || "
    f"coalesce({tag_sql('d.payload')}, ''::bytea) || coalesce({tag_sql('d.vector')}, ''::bytea) END"
)
"""The SQL expression for the contribution of a row `d` of documents to the digest of its scope; NULL: the row is
plain."""
_PLACE = "home = %s AND collection = %s AND scope = %s"


def blocks_of(box: Box, seq: int, expires_at: int | None, values: bytes | None) -> bytes:
    """Return what a row contributes to its digest, from the value of `BLOCKS`; empty if it is plain."""
    if values is None:
        return b""
    whole = values.ljust(-(-len(values) // BLOCK_BYTES) * BLOCK_BYTES, b"\0")  # truncated by other software
    return whole if expires_at is None else whole + box.block(("expires", seq, expires_at))


@dataclass
class ScopeChanges:
    """A scope in a transaction: its state as it was read, and the sealed rows that are added and removed."""

    version: int = 0
    documents: int = 0
    vectors: int = 0
    digest: bytes | None = None
    changes: list[tuple[int, int, Any]] = field(default_factory=list)
    tombstones: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, seq: int, expires_at: int | None, *values: bytes | None) -> None:
        """Record a row that is added, in stored form."""
        self.changes.append((1, seq, (expires_at, values)))

    def remove(self, box: Box, seq: int, expires_at: int | None, blocks: bytes | None) -> None:
        """Record a row that is removed; `blocks` as computed by the server."""
        self.changes.append((-1, seq, blocks_of(box, seq, expires_at, blocks)))

    def exchange(self, seq: int, old: bytes | None, new: bytes | None) -> None:
        """Record that the vector of a sealed row is replaced; `old` and `new` are the tags at their ends."""
        self.changes += [(sign, seq, block(tag)) for sign, tag in ((-1, old), (1, new)) if tag is not None]

    def opened(self, box: Box, key: Key, collection: int) -> ScopeDigest:
        """Return the digest before the changes.

        Raises:
            CorruptIndexError: it is missing, or belongs to another state of the scope.
        """
        return open_digest(
            box,
            table_of(collection),
            names_of(key.scope),
            self.version,
            self.documents,
            self.vectors,
            self.digest,
        )

    def after(self, box: Box, key: Key, collection: int) -> ScopeDigest:
        """Return the digest after the recorded changes."""
        was = self.opened(box, key, collection)
        return changed(box, was, self.changes, self.tombstones)


def seal_digest(
    box: Box, key: Key, collection: int, version: int, documents: int, vectors: int, digest: ScopeDigest
) -> bytes:
    """Return the digest of a scope in stored form."""
    around = around_scope(table_of(collection), names_of(key.scope), version, documents, vectors)
    return box.seal(around, digest.to_bytes())


def recent_of(ask: Callable[..., Any], box: Box, key: Key, collection: int, image: int) -> int:
    """Return the sum over the rows and tombstones after the image of a version.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        box: the tenant's data key.
        key: of the scope.
        collection: its number.
        image: the version.
    """
    place = (key.home, collection, key.number, image)
    rows = ask(
        f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE {_PLACE} AND seq > %s",
        place,
        home=key.home,
    )
    dead = ask(f"SELECT seq, id FROM sj_tombstone WHERE {_PLACE} AND seq > %s", place, home=key.home)
    blocks = [blocks_of(box, *row) for row in rows]
    blocks += [box.block(("tombstone", seq, id)) for seq, id in dead]
    return box.total(b"".join(blocks)) % 2**128


def count_scopes_anew(batch: Batch, box: Box, home: str) -> dict[tuple[int, int], bytes]:
    """Recompute the digests of a locked home's scopes from the stored rows; return them by collection and key of
    the scope."""
    sealed: dict[tuple[int, int], bytes] = {}
    for collection, number, tenant, usr, agent, version, documents, vectors, image in batch.ask(
        "SELECT collection, key, tenant, usr, agent, version, documents, vectors, coalesce((SELECT max(i.version) "
        "FROM sj_image i WHERE i.home = s.home AND i.collection = s.collection AND i.scope = s.key), 0) "
        "FROM sj_scope s WHERE home = %s AND documents > 0",
        (home,),
        home=home,
    ):
        key = Key(home, number, scope_of(tenant, usr, agent))
        rows = batch.ask(
            f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE {_PLACE}",
            (home, collection, number),
            home=home,
        )
        total = box.total(b"".join(blocks_of(box, *row) for row in rows))
        recent = recent_of(batch.ask, box, key, collection, image)
        digest = ScopeDigest(total, image, recent)
        sealed[collection, number] = seal_digest(box, key, collection, version, documents, vectors, digest)
        batch.add(
            "UPDATE sj_scope SET digest = %s WHERE home = %s AND collection = %s AND key = %s",
            (sealed[collection, number], home, collection, number),
            home=home,
        )
    return sealed


# ---------------------------------------------------------------------- rows of other tables

_NOTE = "number, at, tenant, usr, agent, scope, id, used, query, lexical_rank, vector_rank, score"
_NAME = "sj_feedback"

DIGEST = "SELECT digest FROM sj_digest WHERE home = %s AND collection = %s AND name = %s"
"""The query for the digest of a table's rows of a home."""


def rows_of(table: str, home: str, collection: int) -> Statement:
    """Return the query for the rows of a home that are in the digest of a table."""
    if table == _NAME:
        return f"SELECT {_NOTE} FROM {table} WHERE home = %s AND collection = %s", (home, collection)
    return f"SELECT * FROM {table} WHERE home = %s", (home,)


def _row_block(box: Box, table: str, row: Sequence[Any]) -> bytes:
    """Return what a row contributes; trailing NULLs are excluded, so that columns can be added later."""
    n = len(row)
    while n and row[n - 1] is None:
        n -= 1
    return box.block((table, *row[:n]))


def _around(home: str, collection: int, table: str) -> bytes:
    return frame("digest of a table", table_of(collection, table), home)


def _opened_total(box: Box, home: str, collection: int, table: str, stored: Sequence[Sequence[Any]]) -> int:
    if not stored:
        return 0
    try:
        return int.from_bytes(box.open(_around(home, collection, table), stored[0][0]), "little")
    except CorruptIndexError:
        raise mismatch((home, "", ""), f"the digest of table {table} was changed") from None


def _total(box: Box, table: str, rows: Iterable[Sequence[Any]]) -> int:
    return box.total(b"".join(_row_block(box, table, row) for row in rows))


class Notes:
    """The changes of a transaction to rows of encrypted tenants in tables beside the documents. Not thread-safe."""

    def __init__(self, batch: Batch, sealer: Sealer, homes: Homes) -> None:
        self._batch = batch
        self._sealer = sealer
        self._homes = homes
        self._changes: dict[tuple[str, int, str], list[tuple[int, tuple[Any, ...]]]] = {}

    def run(self, sign: int, query: str, parameters: Sequence[Any], home: str, collection: int) -> None:
        """Run a statement that inserts (1) or deletes (-1) feedback notes of a locked home."""
        if not self._sealer.is_encrypted(self._homes.tenant(home)):
            self._batch.add(query, parameters, home=home)
            return
        rows = self._batch.ask(f"{query} RETURNING {_NOTE}", parameters, home=home)
        self.note(sign, home, collection, _NAME, rows)

    def note(
        self, sign: int, home: str, collection: int, table: str, rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Record rows of an encrypted tenant that are added (1) or removed (-1)."""
        self._changes.setdefault((home, collection, table), []).extend((sign, row) for row in rows)

    def settle(self) -> None:
        """Write the digests of what changed, before the transaction is committed.

        Raises:
            EncryptionError: the key of a tenant whose rows changed is not available.
        """
        changes, self._changes = self._changes, {}
        for (home, collection, table), of_table in changes.items():
            if of_table and self._sealer.is_encrypted(self._homes.tenant(home)):
                self._settle(home, collection, table, of_table)

    def _settle(
        self, home: str, collection: int, table: str, changes: Sequence[tuple[int, tuple[Any, ...]]]
    ) -> None:
        batch, place = self._batch, (home, collection, table)
        question, parameters = rows_of(table, home, collection)
        left, stored = batch.ask_all([(f"SELECT EXISTS({question})", parameters), (DIGEST, place)], home=home)
        if not left[0][0]:
            batch.add(
                "DELETE FROM sj_digest WHERE home = %s AND collection = %s AND name = %s", place, home=home
            )
            return
        try:
            box = self._sealer.current(self._homes.tenant(home), make=False)
        except KeyErasedError:
            return  # the digest is never read again
        if box is None:
            return
        come, gone = (_total(box, table, (row for own, row in changes if own == sign)) for sign in (1, -1))
        total = (_opened_total(box, *place, stored) + come - gone) % 2**128
        _write(batch, box, *place, total)


def _write(batch: Batch, box: Box, home: str, collection: int, table: str, total: int) -> None:
    sealed = box.seal(_around(home, collection, table), total.to_bytes(BLOCK_BYTES, "little"))
    batch.add(
        "INSERT INTO sj_digest VALUES (%s, %s, %s, %s) ON CONFLICT (home, collection, name) "
        "DO UPDATE SET digest = excluded.digest",
        (home, collection, table, sealed),
        home=home,
    )


def place_of_note(collection: int, number: int) -> str:
    """Return the place of a query in feedback, for its associated data."""
    return f"{_NAME}.query {collection}.{number}"


def seal_notes(batch: Batch, sealing: Callable[[str, str], Box | None], home: str, tenant: str) -> int:
    """Seal the plain queries of feedback in a locked home of a tenant, in every collection; return their number."""
    found = batch.ask(
        f"SELECT collection, number, usr, query FROM sj_feedback WHERE home = %s AND NOT {is_sealed_sql('query')}",
        (home,),
        home=home,
    )
    for collection, number, user, query in found:
        box = sealing(tenant, user)
        if box is None:
            raise EncryptionError(f"keys: expected a key for tenant {tenant!r}, got None")
        sealed = box.seal(around_cell(tenant, place_of_note(collection, number)), query)
        batch.add(
            "UPDATE sj_feedback SET query = %s WHERE home = %s AND collection = %s AND number = %s",
            (sealed, home, collection, number),
            home=home,
        )
    return len(found)


def counted_tables(ask: Callable[..., Any], home: str) -> list[tuple[int, str]]:
    """Return (collection, table) of all tables beside the documents that have a digest if they have rows of a
    home."""
    noted = ask("SELECT DISTINCT collection FROM sj_feedback WHERE home = %s", (home,), home=home)
    return [*((collection, _NAME) for (collection,) in noted), *((0, table) for table in layer_tables(ask))]


def count_tables_anew(batch: Batch, box: Box, home: str) -> None:
    """Recompute the digests of a locked home's tables beside the documents from the stored rows."""
    batch.add("DELETE FROM sj_digest WHERE home = %s", (home,), home=home)
    for collection, table in counted_tables(batch.ask, home):
        rows = batch.ask(*rows_of(table, home, collection), home=home)
        if rows:
            _write(batch, box, home, collection, table, _total(box, table, rows))


def table_problems(ask: Callable[..., Any], box: Box, home: str) -> list[str]:
    """Return the problems with a home's rows beside the documents, in every collection.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
        box: the tenant's data key.
        home: of the rows.
    """
    problems = []
    kept = ask("SELECT collection, name FROM sj_digest WHERE home = %s", (home,), home=home)
    for collection, table in sorted({*counted_tables(ask, home), *kept}):
        try:
            if table != _NAME and table not in LAYER_TABLES:
                raise mismatch((home, "", ""), f"unexpected digest of table {table!r}")
            rows = ask(*rows_of(table, home, collection), home=home)
            stored = ask(DIGEST, (home, collection, table), home=home)
            if _opened_total(box, home, collection, table, stored) != _total(box, table, rows):
                raise mismatch((home, "", ""), f"the rows of table {table} do not match its digest")
        except CorruptIndexError as error:
            problems.append(error.what)
    return problems

"""Digests of the rows of encrypted tenants; :mod:`scrubjay.store.digests` says what a digest is, and what it is for.

That of a scope stands in `sj_scope`, that of the notes of feedback of a home and collection in `sj_digest`. There are
no triggers: a transaction notes what it adds and removes. Vectors of another model are in the digest of their scope
once they are in place; until then each is authenticated by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay.errors import CorruptIndexError, KeyErasedError
from scrubjay.store.decoding import scope_of
from scrubjay.store.digests import (
    ScopeDigest,
    around_scope,
    block,
    changed,
    mismatch,
    open_digest,
)
from scrubjay.store.encryption import BLOCK_BYTES, Box, frame
from scrubjay.store.opening import around_cell
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.sealing import Sealer, is_sealed_sql, table_of, tag_sql
from scrubjay.store.scopes import names_of

__all__ = [
    "BLOCKS",
    "DIGEST",
    "NOTES",
    "Counted",
    "Notes",
    "blocks_of",
    "count_notes_anew",
    "count_scopes_anew",
    "notes_problem",
    "place_of_note",
    "recent_of",
    "seal_digest",
    "seal_notes",
]

BLOCKS = (
    f"CASE WHEN {is_sealed_sql('d.text')} THEN {tag_sql('d.text')} || "
    f"coalesce({tag_sql('d.payload')}, ''::bytea) || coalesce({tag_sql('d.vector')}, ''::bytea) END"
)
"""What the values of a row `d` of documents add to the digest of its scope; NULL: the row is in the clear."""
_PLACE = "home = %s AND collection = %s AND scope = %s"


def blocks_of(box: Box, seq: int, expires_at: int | None, values: bytes | None) -> bytes:
    """Return what a row adds to its digest, of what `BLOCKS` gives; nothing if it is in the clear."""
    if values is None:
        return b""
    whole = values.ljust(-(-len(values) // BLOCK_BYTES) * BLOCK_BYTES, b"\0")  # cut by something else
    return whole if expires_at is None else whole + box.block(("expires", seq, expires_at))


@dataclass
class Counted:
    """A scope in a transaction: its state as it was read, and which sealed rows come and go."""

    version: int = 0
    documents: int = 0
    vectors: int = 0
    digest: bytes | None = None
    changes: list[tuple[int, int, Any]] = field(default_factory=list)
    tombstones: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, seq: int, expires_at: int | None, *values: bytes | None) -> None:
        """Note a row that comes, as it is stored."""
        self.changes.append((1, seq, (expires_at, values)))

    def remove(self, box: Box, seq: int, expires_at: int | None, blocks: bytes | None) -> None:
        """Note a row that goes; `blocks` as the server gives them."""
        self.changes.append((-1, seq, blocks_of(box, seq, expires_at, blocks)))

    def exchange(self, seq: int, old: bytes | None, new: bytes | None) -> None:
        """Note that the vector of a sealed row is replaced; the ends of both."""
        self.changes += [(sign, seq, block(tag)) for sign, tag in ((-1, old), (1, new)) if tag is not None]

    def opened(self, box: Box, key: Key, collection: int) -> ScopeDigest:
        """Return the digest as it was.

        Raises:
            CorruptIndexError: it is missing, or of another state of the scope.
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
        """Return the digest with what was noted."""
        was = self.opened(box, key, collection)
        return changed(box, was, self.changes, self.tombstones)


def seal_digest(
    box: Box, key: Key, collection: int, version: int, documents: int, vectors: int, digest: ScopeDigest
) -> bytes:
    """Return the digest of a scope as its row has it."""
    around = around_scope(table_of(collection), names_of(key.scope), version, documents, vectors)
    return box.seal(around, digest.to_bytes())


def recent_of(ask: Callable[..., Any], box: Box, key: Key, collection: int, image: int) -> int:
    """Return the sum of the rows and tombstones that came after the image of a version.

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


def count_scopes_anew(batch: Batch, box: Box, tenant: str) -> dict[tuple[int, int], bytes]:
    """Let the digests of a locked tenant's scopes be those of the rows that are there; return them, by collection and
    key of the scope."""
    sealed: dict[tuple[int, int], bytes] = {}
    for collection, number, usr, agent, version, documents, vectors, image in batch.ask(
        "SELECT collection, key, usr, agent, version, documents, vectors, coalesce((SELECT max(i.version) "
        "FROM sj_image i WHERE i.home = s.home AND i.collection = s.collection AND i.scope = s.key), 0) "
        "FROM sj_scope s WHERE home = %s AND documents > 0",
        (tenant,),
        home=tenant,
    ):
        key = Key(tenant, number, scope_of(tenant, usr, agent))
        rows = batch.ask(
            f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE {_PLACE}",
            (tenant, collection, number),
            home=tenant,
        )
        total = box.total(b"".join(blocks_of(box, *row) for row in rows))
        recent = recent_of(batch.ask, box, key, collection, image)
        digest = ScopeDigest(total, image, recent)
        sealed[collection, number] = seal_digest(box, key, collection, version, documents, vectors, digest)
        batch.add(
            "UPDATE sj_scope SET digest = %s WHERE home = %s AND collection = %s AND key = %s",
            (sealed[collection, number], tenant, collection, number),
            home=tenant,
        )
    return sealed


# ---------------------------------------------------------------------- notes of feedback

_NOTE = "number, at, tenant, usr, agent, scope, id, used, query, lexical_rank, vector_rank, score"
_NAME = "sj_feedback"

NOTES = f"SELECT {_NOTE} FROM sj_feedback WHERE home = %s AND collection = %s"
"""The question for the notes of a home in one collection."""
DIGEST = f"SELECT digest FROM sj_digest WHERE home = %s AND collection = %s AND name = '{_NAME}'"
"""The question for their digest."""


def _note_block(box: Box, row: Sequence[Any]) -> bytes:
    return box.block((_NAME, *row))


def _around_notes(home: str, collection: int) -> bytes:
    return frame("digest of a table", table_of(collection, _NAME), home)


def _opened_total(box: Box, home: str, collection: int, stored: Sequence[Sequence[Any]]) -> int:
    if not stored:
        return 0
    try:
        return int.from_bytes(box.open(_around_notes(home, collection), bytes(stored[0][0])), "little")
    except CorruptIndexError:
        raise mismatch((home, "", ""), "the digest of feedback was changed") from None


def total_of_notes(box: Box, rows: Iterable[Sequence[Any]]) -> int:
    """Return the sum of notes."""
    return box.total(b"".join(_note_block(box, row) for row in rows))


class Notes:
    """The notes of encrypted tenants that a transaction writes and deletes. Not for several threads."""

    def __init__(self, batch: Batch, sealer: Sealer) -> None:
        self._batch = batch
        self._sealer = sealer
        self._changes: dict[tuple[str, int], list[tuple[int, tuple[Any, ...]]]] = {}

    def run(self, sign: int, query: str, parameters: Sequence[Any], home: str, collection: int) -> None:
        """Run a statement that inserts (1) or deletes (-1) notes of a locked home."""
        if not self._sealer.is_encrypted(home):
            self._batch.add(query, parameters, home=home)
            return
        rows = self._batch.ask(f"{query} RETURNING {_NOTE}", parameters, home=home)
        self._changes.setdefault((home, collection), []).extend((sign, row) for row in rows)

    def settle(self) -> None:
        """Write the digests of what changed, before the transaction is committed.

        Raises:
            EncryptionError: the key of a tenant whose notes changed is not available.
        """
        changes, self._changes = self._changes, {}
        for (home, collection), of_home in changes.items():
            if of_home and self._sealer.is_encrypted(home):
                self._settle(home, collection, of_home)

    def _settle(self, home: str, collection: int, changes: Sequence[tuple[int, tuple[Any, ...]]]) -> None:
        batch, place = self._batch, (home, collection)
        left, stored = batch.ask_all(
            [
                ("SELECT EXISTS(SELECT 1 FROM sj_feedback WHERE home = %s AND collection = %s)", place),
                (DIGEST, place),
            ],
            home=home,
        )
        if not left[0][0]:
            batch.add(
                f"DELETE FROM sj_digest WHERE home = %s AND collection = %s AND name = '{_NAME}'",
                place,
                home=home,
            )
            return
        try:
            box = self._sealer.current(home, make=False)
        except KeyErasedError:
            return  # never read again
        if box is None:
            return
        come, gone = (total_of_notes(box, (row for own, row in changes if own == sign)) for sign in (1, -1))
        total = (_opened_total(box, home, collection, stored) + come - gone) % 2**128
        write_notes(batch, box, home, collection, total)


def write_notes(batch: Batch, box: Box, home: str, collection: int, total: int) -> None:
    """Keep the digest of a home's notes in one collection."""
    sealed = box.seal(_around_notes(home, collection), total.to_bytes(BLOCK_BYTES, "little"))
    batch.add(
        "INSERT INTO sj_digest VALUES (%s, %s, %s, %s) ON CONFLICT (home, collection, name) "
        "DO UPDATE SET digest = excluded.digest",
        (home, collection, _NAME, sealed),
        home=home,
    )


def place_of_note(collection: int, number: int) -> str:
    """Return where a question is, for the keys."""
    return f"{_NAME}.query {collection}.{number}"


def seal_notes(batch: Batch, box: Box, tenant: str) -> int:
    """Seal the questions of a locked tenant's feedback that are in the clear, in every collection; how many."""
    found = batch.ask(
        f"SELECT collection, number, query FROM sj_feedback WHERE home = %s AND NOT {is_sealed_sql('query')}",
        (tenant,),
        home=tenant,
    )
    for collection, number, query in found:
        sealed = box.seal(around_cell(tenant, place_of_note(collection, number)), query)
        batch.add(
            "UPDATE sj_feedback SET query = %s WHERE home = %s AND collection = %s AND number = %s",
            (sealed, tenant, collection, number),
            home=tenant,
        )
    return len(found)


def count_notes_anew(batch: Batch, box: Box, tenant: str) -> None:
    """Let the digests of a locked tenant's notes be those of the notes that are there."""
    batch.add(f"DELETE FROM sj_digest WHERE home = %s AND name = '{_NAME}'", (tenant,), home=tenant)
    for (collection,) in batch.ask(
        "SELECT DISTINCT collection FROM sj_feedback WHERE home = %s", (tenant,), home=tenant
    ):
        rows = batch.ask(NOTES, (tenant, collection), home=tenant)
        write_notes(batch, box, tenant, collection, total_of_notes(box, rows))


def notes_problem(
    box: Box, home: str, collection: int, rows: Sequence[Sequence[Any]], stored: Sequence[Sequence[Any]]
) -> str | None:
    """Return what is wrong with the notes of a home, read with `NOTES`, or None."""
    try:
        if _opened_total(box, home, collection, stored) != total_of_notes(box, rows):
            raise mismatch((home, "", ""), "the notes of feedback are not those of their digest")
    except CorruptIndexError as error:
        return error.what
    return None

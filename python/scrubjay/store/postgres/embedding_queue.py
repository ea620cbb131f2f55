"""Reads documents whose vectors are pending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import LIVE
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.staging import OF_DOCUMENT
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.values import StoredRow


class PendingReader:
    """Reads the pending documents of one collection; the methods are specified in
    :class:`scrubjay.store.seam.Store`. Thread-safe.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def pending_count(self, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
        if scopes is None:
            (n,) = self._collection.ask(
                f"SELECT count(*) FROM sj_document WHERE collection = %s AND pending AND {LIVE}",
                (self._collection.number, now),
                home=EVERY_HOME,
            )[0]
            return int(n)
        total = 0
        for home, group in self._collection.homes.by_home(scopes):
            (n,) = self._collection.ask(
                "SELECT count(*) FROM sj_document WHERE home = %s AND collection = %s AND scope = ANY(%s) AND pending "
                f"AND {LIVE}",
                (home, self._collection.number, [key.number for key in group], now),
                home=home,
            )[0]
            total += int(n)
        return total

    def pending_pages(self, size: int, *, now: int) -> Iterator[list[tuple[StoredRow, Scope]]]:
        after: tuple[int, str, int] = (-1, "", 0)
        while True:
            found = self._collection.ask(
                f"SELECT d.seq, d.home, d.scope, d.id, d.text, d.payload, {OF_DOCUMENT}, d.hash, s.tenant, s.usr, "
                "s.agent FROM sj_document d JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection "
                "AND s.key = d.scope WHERE d.collection = %s AND d.pending AND (d.seq, d.home, d.scope) > (%s, %s, %s) "
                "AND (d.expires_at IS NULL OR d.expires_at > %s) ORDER BY d.seq, d.home, d.scope LIMIT %s",
                (self._collection.number, *after, now, size),
                home=EVERY_HOME,
            )
            if not found:
                return
            after = found[-1][:3]
            page = []
            for row in found:
                with suppress(CorruptIndexError, EncryptionError):
                    page.append(self._collection.sound((row[0], *row[3:8]), scope_of(*row[8:])))
            yield page

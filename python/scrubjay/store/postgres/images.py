"""Images in a database: in rows, or, if they are large, in an object store with references in rows.

An object is written before anything is locked, and referenced by the transaction that makes it the scope's image.
Objects without references are removed after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import monotonic
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.sealing import sealed_image
from scrubjay.store.objects.objects import GRACE_SECONDS, HEAD_BYTES, ObjectStore
from scrubjay.store.postgres.home_locks import PLACE, Turns
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.sealing import table_of
from scrubjay.store.postgres.server import IDLE_SECONDS
from scrubjay.store.rows.decoding import marked

_MAX_BYTES = 1 << 30  # of one chunk, whatever a row says


def image_chunks(
    rows: Sequence[Sequence[Any]], objects: ObjectStore | None, *, past_cache: bool
) -> list[bytes | memoryview] | None:
    """Return the chunks of an image from its rows (data, object, n_bytes); None: an object is unavailable now.

    Raises:
        CorruptIndexError: an object is missing or damaged.
    """
    chunks: list[bytes | memoryview] = []
    for data, digest, n_bytes in rows:
        if digest is not None:
            if not isinstance(n_bytes, int) or not HEAD_BYTES <= n_bytes <= _MAX_BYTES or len(digest) != 32:
                raise CorruptIndexError("an image refers to an invalid object")
            if objects is None:
                return None
            data = objects.get(bytes(digest), n_bytes, past_cache=past_cache)
            if data is None:
                return None
        chunks.append(data)
    return chunks


def write_image(
    turns: Turns,
    scope: Scope,
    version: int,
    chunks: Sequence[bytes],
    *,
    replace: bool,
    objects: ObjectStore | None,
) -> None:
    """Replace a scope's image by that of `version`, unless it can no longer be used, or a newer one exists.

    What the object store does not accept now is stored in rows, unless the scope has an image of the same
    version.
    """
    batch, key, started = turns.batch, turns.homes.key(scope), monotonic()
    place = (key.home, turns.collection, key.number)
    chunks = marked(scope, version, chunks)
    digests: list[bytes | None] = [None] * len(chunks)
    ahead: Box | None = None
    is_cold = objects is not None and _is_cold(turns, key)

    def takes(chunk: bytes) -> bool:
        """Whether a chunk should be an object: if it is large, or the rows of the scope are an object."""
        return objects is not None and (is_cold or objects.takes(chunk))

    large = any(map(takes, chunks))
    if objects is not None and large:
        if not _is_wanted(turns, key, version, replace):
            return
        ahead = None if turns.sealer.ring is None else _key_ahead(turns, scope)
        chunks = _sealed(turns, ahead, scope, version, chunks)
        batch.ask("SET LOCAL idle_in_transaction_session_timeout = 0")  # nothing is locked yet
        digests = [objects.put(chunk) if takes(chunk) else None for chunk in chunks]
        batch.add(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}")
    box = own = None
    if turns.sealer.ring is not None:
        turns.begin([scope])  # lock the home: a concurrent writer would not include the image in its digest
        box = turns.sealer.current(scope.tenant, make=False)
        own = turns.sealer.sealing(scope.tenant, scope.user, make=False)
    is_short = objects is None or any(
        digest is None and takes(chunk) for digest, chunk in zip(digests, chunks, strict=True)
    )
    if not _is_wanted(turns, key, version, replace, lock=True, keep_objects=is_short):
        return
    if large and (_id(own) != _id(ahead) or monotonic() - started > GRACE_SECONDS / 2):
        return  # the tenant or user got another key, or a sweep may remove the objects
    if not large:
        chunks = _sealed(turns, own, scope, version, chunks)
    turns.drop_images(PLACE, place, home=key.home, but=[one for one in digests if one is not None])
    if box is not None:
        turns.picture(box, key, version)
    for i, (data, digest) in enumerate(zip(chunks, digests, strict=True)):
        n_bytes = None if digest is None else len(data)
        kept = data if digest is None else data[:HEAD_BYTES]
        batch.add(
            "INSERT INTO sj_image(home, collection, scope, ordinal, n_chunks, version, data, object, n_bytes) "
            "VALUES (%s, %s, %s, %s, %s, %s, %b, %s, %s)",
            (*place, i, len(chunks), version, kept, digest, n_bytes),
            home=key.home,
        )


def _is_cold(turns: Turns, key: Key) -> bool:
    place = (key.home, turns.collection, key.number)
    found = turns.batch.ask(
        "SELECT cold IS NOT NULL FROM sj_scope WHERE home = %s AND collection = %s AND key = %s",
        place,
        home=key.home,
    )
    return bool(found and found[0][0])


def _key_ahead(turns: Turns, scope: Scope) -> Box | None:
    """Return the key that seals the data of a scope, before anything is locked."""
    opening = turns.sealer.opening
    box = opening.box(scope.tenant, None)
    if box is None or scope.user is None:
        return box
    return opening.key_of_user(scope.tenant, scope.user, box) or box


def _sealed(
    turns: Turns, box: Box | None, scope: Scope, version: int, chunks: Sequence[bytes]
) -> Sequence[bytes]:
    if box is None:
        return chunks
    return sealed_image(box, table_of(turns.collection, "sj_image"), scope, version, chunks)


def _id(box: Box | None) -> bytes | None:
    return None if box is None else box.id


def _is_wanted(
    turns: Turns, key: Key, version: int, replace: bool, *, lock: bool = False, keep_objects: bool = False
) -> bool:
    """Whether an image of a version would be used; with `lock` no other transaction writes one before this one
    ends.

    With `keep_objects` an existing image of the same version in the object store is sufficient.
    """
    place = (key.home, turns.collection, key.number)
    found = turns.batch.ask(
        "SELECT horizon, version, embedding = (SELECT c.embedding FROM sj_collection c WHERE c.collection = "
        "s.collection), cold IS NOT NULL FROM sj_scope s WHERE home = %s AND collection = %s AND key = %s"
        + (" FOR NO KEY UPDATE" if lock else ""),  # serialises writers of images
        place,
        home=key.home,
    )
    if not found or not found[0][0] <= version <= found[0][1] or not found[0][2]:
        return False
    if found[0][3] and version < found[0][1]:  # each load would read the later rows from an object
        return False
    newest, is_object = turns.batch.ask(
        f"SELECT max(version), bool_or(object IS NOT NULL) FROM sj_image WHERE {PLACE}", place, home=key.home
    )[0]
    if newest is None:
        return True
    replaces_equal = replace and not (is_object and keep_objects)
    return bool(newest + (not replaces_equal) <= version)


def named_of(ask: Callable[..., list[tuple[Any, ...]]]) -> Callable[[Sequence[bytes]], Collection[bytes]]:
    """Return a function that returns those hashes of objects that rows of any collection refer to, as images or
    cold rows.

    Args:
        ask: a statement, its parameters and its `home` -> rows.
    """

    def named(digests: Sequence[bytes]) -> Collection[bytes]:
        asked = list(digests)
        found = ask(
            "SELECT object FROM sj_image WHERE object = ANY(%s) UNION ALL "
            "SELECT object FROM sj_cold WHERE object = ANY(%s)",
            (asked, asked),
            home=EVERY_HOME,
        )
        return {bytes(digest) for (digest,) in found}

    return named


def has_objects(ask: Callable[..., list[tuple[Any, ...]]]) -> bool:
    """Whether an image, or the rows of a scope, are in an object store."""
    return any(
        ask(f"SELECT 1 FROM {table} WHERE object IS NOT NULL LIMIT 1", home=EVERY_HOME)
        for table in ("sj_image", "sj_cold")
    )

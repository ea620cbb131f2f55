"""A database opened by a process: its connections and its feed, shared by the collections."""

from __future__ import annotations

import threading

from scrubjay.store.keys.encryption import KeyRing
from scrubjay.store.objects.objects import Objects, ObjectStore, blobs_of
from scrubjay.store.postgres.address import Address
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.keys import checked_user_homes
from scrubjay.store.postgres.options import checked_max_stale, checked_shared_feed
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.store import PostgresStore
from scrubjay.store.rows.values import Identity


class Database:
    """Opens the collections of one database. Thread-safe.

    Args:
        url: postgresql://...
        max_stale: seconds for which a search may rely on the last message from other processes; 0: it asks the
            server each time.
        objects: the object store of large images; None: they are in rows.
        shared_feed: whether one process of this machine may poll for the others.
        user_homes: the number of homes over which the users of each tenant are distributed, in a new database;
            None: as the database was created.

    Raises:
        MissingExtraError: psycopg, or the library that objects need, is not installed.
        StoreFormatError: the address is invalid.
        TypeError, ValueError: an option is invalid.
    """

    def __init__(
        self,
        url: str,
        *,
        max_stale: float = 1.0,
        objects: str | Objects | None = None,
        shared_feed: bool = True,
        user_homes: int | None = None,
    ) -> None:
        self.max_stale = checked_max_stale(max_stale)
        self._shares_feed = checked_shared_feed(shared_feed)
        self._user_homes = checked_user_homes(user_homes)
        self.address = Address(url)
        self._lock = threading.Lock()
        self._shared: tuple[Server, Feed] | None = None
        if objects is not None and not isinstance(objects, (str, Objects)):
            raise TypeError(f"objects: expected an address or Objects, got {type(objects).__name__}")
        self._objects = Objects(objects) if isinstance(objects, str) else objects
        self._blobs = None if self._objects is None else blobs_of(self._objects)
        self._store: ObjectStore | None = None

    def __str__(self) -> str:
        return self.address.place

    def open(
        self,
        collection: str,
        identity: Identity,
        *,
        durability: str,
        busy_seconds: float,
        read_only: bool,
        ring: KeyRing | None = None,
    ) -> PostgresStore:
        """Open a collection, which is created with `identity` if it is missing. All collections are opened with
        the same options."""
        with self._lock:
            if self._shared is None:
                server = Server(
                    self.address, busy_seconds=busy_seconds, durability=durability, read_only=read_only
                )
                self._shared = server, Feed(server, self.max_stale, shared=self._shares_feed)
            server, feed = self._shared
        return PostgresStore(
            server,
            feed,
            identity,
            collection=collection,
            max_stale=self.max_stale,
            ring=ring,
            objects=self._object_store,
            user_homes=self._user_homes,
        )

    def _object_store(self, index: str) -> ObjectStore | None:
        with self._lock:
            if self._store is None and self._objects is not None and self._blobs is not None:
                self._store = ObjectStore(self._objects, index, self._blobs)
            return self._store

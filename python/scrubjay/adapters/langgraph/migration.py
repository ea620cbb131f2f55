"""Migration of files in the first format, which stored an item in the scope of each of its prefixes as well.

The copies are deleted when such a file is opened, in one transaction; the items themselves are unchanged. The freed
space is reused by later writes at once, and is returned to the file system by :meth:`scrubjay.Admin.compact`.
"""

from __future__ import annotations

from collections.abc import Iterator

from scrubjay._native import Scope
from scrubjay.adapters.langgraph.items import FIRST_PART, is_item, item_key
from scrubjay.adapters.langgraph.namespaces import scope_of
from scrubjay.backend import Backend, Documents, every
from scrubjay.base.errors import StoreBusyError, StoreError, StoreFormatError
from scrubjay.index import Index

_REASON = "langgraph: one document for each item"


def migrate(documents: Documents, tenant: str) -> int:
    """Delete the copies of a tenant's items and return their number. Costs next to nothing if there are none.

    Raises:
        StoreFormatError: there are copies, and the file is read-only.
    """
    index = documents.index
    root = Scope(tenant, user=".")  # holds a copy of every item of the first format, and no other item
    if not Backend.of(index).is_durable:
        return 0
    if not any(map(is_item, index.list(root, exact=True, filter=FIRST_PART.filter, limit=1))):
        return 0
    try:
        with documents.writing(_REASON) as writes:
            copies = list(_copies(index, tenant))
            writes.delete(copies)
    except StoreBusyError:
        raise
    except StoreError as error:
        raise StoreFormatError(
            f"{index.path}: the items of tenant {tenant!r} are stored once for each prefix, by an earlier version; "
            f"this one stores them once. Open the file for writing with ScrubjayStore once, which converts it ({error})"
        ) from error
    return len(copies)


def _copies(index: Index, tenant: str) -> Iterator[tuple[Scope, str]]:
    for scope in index.scopes(Scope(tenant)):
        if scope.agent is not None or scope.user is None:
            continue
        for record in every(index, scope, exact=True):
            if is_item(record):
                namespace, _ = item_key(record)
                if scope_of(tenant, namespace, (record.metadata or {})["part"]) != scope:
                    yield scope, str(record.id)

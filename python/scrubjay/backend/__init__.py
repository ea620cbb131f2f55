"""Building blocks for adapters that put Scrubjay behind the memory or vector store of another project.

===================== =================================================================================================
:class:`Documents`    a collection of a file that adapters share, with all verbs; :class:`AsyncDocuments` awaits them
:class:`ScopeMap`     the framework's names (`user_id`, `app_name`) as scopes; :func:`joined` for paths and namespaces
:class:`Native`,      filters: conditions that the index checks, and conditions that Python checks memory by memory,
:class:`Test`         under :class:`All`, :class:`Either` and :class:`Not`; both before anything is ranked
:class:`Field`        conditions on a field, native where the index compares as Python does
:class:`ErrorMap`     Scrubjay's errors as the framework's
:func:`lease`         a share of an open file, for adapters with more than one collection
:func:`page_of`       pages by cursor, with conditions; :func:`every` iterates over all of them
:class:`Offsets`      pages by offset that cost what they return; `Documents.page` uses them
:class:`RankedPages`  pages by offset of search results; `Documents.search` uses them
:func:`as_query`      a :class:`scrubjay.Query` or its settings, as an adapter's parameter
:func:`awaited`       the async twin of a method
:class:`ScopeTree`    namespaces and paths as scopes, and the scopes below one of them
:class:`Writes`       writing and deleting in one step (`Documents.writing`)
:class:`Sweeper`      a periodic task, such as deleting expired memories
:class:`FrameworkEmbedder` a framework's embeddings as an embedder; :func:`prepared` for vectors awaited on a loop
===================== =================================================================================================

All names of `__all__` are stable: they change by deprecation only. `docs/backends.md` shows how to build an adapter.
"""

from __future__ import annotations

from scrubjay.backend.asynchronous import AsyncDocuments, awaited
from scrubjay.backend.conditions import (
    EVERYTHING,
    NOTHING,
    Admitted,
    All,
    Either,
    Ids,
    Native,
    Node,
    Not,
    Test,
    admit,
    admit_all,
    admit_each,
    exists,
    is_composite,
    is_text,
    native_part,
    only,
    where_of,
)
from scrubjay.backend.documents import Documents
from scrubjay.backend.embedding import FrameworkEmbedder, model_of, prepared
from scrubjay.backend.error_mapping import ErrorMap
from scrubjay.backend.fields import Field, fields_equal
from scrubjay.backend.ids import valid_ids
from scrubjay.backend.joint_ranking import search_together
from scrubjay.backend.leases import Lease, lease, path_or_index
from scrubjay.backend.namespaces import ScopeTree
from scrubjay.backend.offsets import Offsets
from scrubjay.backend.paging import every, page_of
from scrubjay.backend.queries import as_query, narrowed
from scrubjay.backend.ranked_pages import RankedPages
from scrubjay.backend.scoped_changes import ReadOnlyMemoryError, ScopedMemories, UnknownMemoryError
from scrubjay.backend.scoping import NOBODY, ScopeMap, joined, parted
from scrubjay.backend.sweeper import Sweeper
from scrubjay.backend.writes import Writes
from scrubjay.base.initialised import guard_exports
from scrubjay.index.backend import Backend

__all__ = [
    "EVERYTHING",
    "NOBODY",
    "NOTHING",
    "Admitted",
    "All",
    "AsyncDocuments",
    "Backend",
    "Documents",
    "Either",
    "ErrorMap",
    "Field",
    "FrameworkEmbedder",
    "Ids",
    "Lease",
    "Native",
    "Node",
    "Not",
    "Offsets",
    "RankedPages",
    "ReadOnlyMemoryError",
    "ScopeMap",
    "ScopeTree",
    "ScopedMemories",
    "Sweeper",
    "Test",
    "UnknownMemoryError",
    "Writes",
    "admit",
    "admit_all",
    "admit_each",
    "as_query",
    "awaited",
    "every",
    "exists",
    "fields_equal",
    "is_composite",
    "is_text",
    "joined",
    "lease",
    "model_of",
    "narrowed",
    "native_part",
    "only",
    "page_of",
    "parted",
    "path_or_index",
    "prepared",
    "search_together",
    "valid_ids",
    "where_of",
]

guard_exports(__name__)

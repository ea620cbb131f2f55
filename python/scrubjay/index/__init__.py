"""The index: an engine, an embedder, and texts with metadata.

:class:`Index` is a facade. Its collaborators share one :class:`~scrubjay.index.open_collection.OpenCollection` and each
have one subject: reading, writing, searching, collections, feedback, administration.
"""

from scrubjay.index.admin import Admin
from scrubjay.index.backfill import BackfillReport
from scrubjay.index.facade import Index
from scrubjay.index.results import Hit, Hits, ScoreParts
from scrubjay.index.snippets import Snippet
from scrubjay.index.twins import AsyncAdmin, AsyncIndex, AsyncScopeView
from scrubjay.index.view import ScopeView

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncIndex",
    "AsyncScopeView",
    "BackfillReport",
    "Hit",
    "Hits",
    "Index",
    "ScopeView",
    "ScoreParts",
    "Snippet",
]

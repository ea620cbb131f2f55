"""Scrubjay: keyword and vector search over one set of memories, in your process, scoped before ranked.

>>> import scrubjay
>>> index = scrubjay.Index(embedder=scrubjay.embedders.default())
>>> jane = scrubjay.Scope("acme", user="jane")
>>> index.upsert("m1", "User's staging API key prefix is sk-stg-0041.", scope=jane)
>>> index.upsert("m2", "Takes the night train rather than flying.", scope=jane)
>>> [hit.id for hit in index.search("which key prefix for staging?", scope=jane)]
['m1', 'm2']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

try:
    from scrubjay import _native
except ImportError as error:  # a source tree without a build, or a wheel for another Python
    if isinstance(error.__cause__, KeyboardInterrupt):  # Ctrl-C while the native part imported NumPy
        raise error.__cause__ from None
    raise ImportError(
        f"scrubjay's native part cannot be imported ({error}). Install the package: `pip install scrubjay`, or "
        "`pip install .` in the source tree (needs a C++20 compiler); then run Python outside of the source tree"
    ) from error

from scrubjay import embedders, filters
from scrubjay._native import Engine, Filter, Result, Scope, StaticEmbedder
from scrubjay.base.errors import (
    BudgetError,
    ClosedError,
    ConflictError,
    CorruptDataWarning,
    CorruptIndexError,
    CursorError,
    DatasetError,
    EmbedderError,
    EmbedderMismatchError,
    EncryptionError,
    Error,
    HeldError,
    KeyErasedError,
    MissingExtraError,
    OwnedCollectionError,
    RejectedError,
    RetrievalError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnavailableError,
    UnsupportedError,
    VersionConflictError,
)
from scrubjay.base.initialised import guard_exports
from scrubjay.config import analyze, languages, show_config
from scrubjay.documents.passage_vectors import PassageVectors
from scrubjay.documents.records import Cursor, Page, Record, Stamp
from scrubjay.fusion import (
    RRF,
    Auto,
    Boost,
    Dates,
    Entities,
    Links,
    Neighbours,
    Prior,
    Production,
    Query,
    Recency,
    Relevance,
    Weighted,
)
from scrubjay.index import Admin, AsyncIndex, BackfillReport, Hit, Hits, Index, ScopeView, ScoreParts, Snippet
from scrubjay.store.objects.objects import Objects

if TYPE_CHECKING:
    from scrubjay.memory import (
        Decay,
        DefaultJudge,
        EpisodeCandidate,
        FactCandidate,
        Memory,
        PolicyCandidate,
        PreferenceCandidate,
        Provenance,
    )
    from scrubjay.retrieval import Retriever

__version__: str = _native.show_config_dict()["version"]

__all__ = [
    "RRF",
    "Admin",
    "AsyncIndex",
    "Auto",
    "BackfillReport",
    "Boost",
    "BudgetError",
    "ClosedError",
    "ConflictError",
    "CorruptDataWarning",
    "CorruptIndexError",
    "Cursor",
    "CursorError",
    "DatasetError",
    "Dates",
    "Decay",
    "DefaultJudge",
    "EmbedderError",
    "EmbedderMismatchError",
    "EncryptionError",
    "Engine",
    "Entities",
    "EpisodeCandidate",
    "Error",
    "FactCandidate",
    "Filter",
    "HeldError",
    "Hit",
    "Hits",
    "Index",
    "KeyErasedError",
    "Links",
    "Memory",
    "MissingExtraError",
    "Neighbours",
    "Objects",
    "OwnedCollectionError",
    "Page",
    "PassageVectors",
    "PolicyCandidate",
    "PreferenceCandidate",
    "Prior",
    "Production",
    "Provenance",
    "Query",
    "Recency",
    "Record",
    "RejectedError",
    "Relevance",
    "Result",
    "RetrievalError",
    "Retriever",
    "Scope",
    "ScopeView",
    "ScoreParts",
    "Snippet",
    "Stamp",
    "StaticEmbedder",
    "StoreBusyError",
    "StoreError",
    "StoreFormatError",
    "StoreUnavailableError",
    "UnsupportedError",
    "VersionConflictError",
    "Weighted",
    "__version__",
    "analyze",
    "embedders",
    "filters",
    "languages",
    "show_config",
]

guard_exports(__name__)

_OF_MEMORY = frozenset(
    (
        "Decay",
        "DefaultJudge",
        "EpisodeCandidate",
        "FactCandidate",
        "Memory",
        "PolicyCandidate",
        "PreferenceCandidate",
        "Provenance",
    )
)


def __getattr__(name: str) -> Any:
    """Import the names of memory and retrieval on first use: searching alone imports in a third of the time."""
    if name in ("backend", "memory", "retrieval"):
        return importlib.import_module(f"scrubjay.{name}")
    if name == "Retriever":
        globals()[name] = found = importlib.import_module("scrubjay.retrieval").Retriever
        return found
    if name not in _OF_MEMORY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scrubjay import memory

    globals().update({exported: getattr(memory, exported) for exported in _OF_MEMORY})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_MEMORY, "Retriever"})

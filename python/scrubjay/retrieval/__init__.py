"""The pipeline around a search: rewriting, fusion over expansions, reranking, placement, cache, traces.

Each stage is optional, and no stage can fail a search: a stage that fails or is late is reported in `degraded`.
"""

from __future__ import annotations

from scrubjay.base.initialised import guard_exports
from scrubjay.retrieval.cache import CacheStats, RedisCache, ResultCache
from scrubjay.retrieval.context import Context, place_at_edges
from scrubjay.retrieval.late_interaction import LateInteractionReranker
from scrubjay.retrieval.rerankers import (
    CallableReranker,
    HttpReranker,
    OnnxReranker,
    SentenceTransformersReranker,
)
from scrubjay.retrieval.reranking import Reranker
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.rewriting import Conversation, OpenAIRewriter, Rewriter, Rewritten
from scrubjay.retrieval.trace import Counters, Stage, Trace, log_to, opentelemetry_spans

__all__ = [
    "CacheStats",
    "CallableReranker",
    "Context",
    "Conversation",
    "Counters",
    "HttpReranker",
    "LateInteractionReranker",
    "OnnxReranker",
    "OpenAIRewriter",
    "RedisCache",
    "Reranker",
    "ResultCache",
    "Retrieved",
    "RetrievedHit",
    "Retriever",
    "Rewriter",
    "Rewritten",
    "SentenceTransformersReranker",
    "Stage",
    "Trace",
    "log_to",
    "opentelemetry_spans",
    "place_at_edges",
]

guard_exports(__name__)

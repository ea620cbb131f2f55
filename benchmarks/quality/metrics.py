"""How good is one ranking? The metrics of the package, by the names that the tables here use."""

from __future__ import annotations

from scrubjay.retrieval.metrics import DEPTH, ndcg, recall, recall_at, reciprocal_rank

__all__ = ["DEPTH", "ndcg", "recall", "recall_at", "reciprocal_rank"]

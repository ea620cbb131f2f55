"""The metrics of a ranking: those of the package, under the names used in the tables here."""

from __future__ import annotations

from scrubjay.retrieval.metrics import DEPTH, ndcg, recall, recall_at, reciprocal_rank

__all__ = ["DEPTH", "ndcg", "recall", "recall_at", "reciprocal_rank"]

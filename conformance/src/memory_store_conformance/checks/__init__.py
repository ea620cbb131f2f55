"""The checks, one module a level; importing this registers all of them."""

from memory_store_conformance.checks import (
    asynchronous,
    costs,
    crud,
    deletion,
    durability,
    errors,
    expiry,
    filters,
    isolation,
    isolation_erasure,
    paging,
    retrieval,
    truth,
)

__all__ = [
    "asynchronous",
    "costs",
    "crud",
    "deletion",
    "durability",
    "errors",
    "expiry",
    "filters",
    "isolation",
    "isolation_erasure",
    "paging",
    "retrieval",
    "truth",
]

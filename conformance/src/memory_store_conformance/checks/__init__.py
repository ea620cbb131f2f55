"""The checks, one module for each level; importing this package registers all of them."""

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

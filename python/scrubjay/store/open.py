"""How does a path become an engine over a file?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scrubjay._native import Engine
from scrubjay.store.engine import DurableEngine
from scrubjay.store.protocol import Identity
from scrubjay.store.sqlite import SqliteStore, check_identity

__all__ = ["open_engine"]


def open_engine(
    path: Path,
    *,
    dim: int | None,
    metric: str | None,
    dtype: str | None,
    analyzer: str | None,
    stemmer: Callable[[str], str] | None,
    k1: float,
    b: float,
    durability: str,
    busy_timeout: float,
    memory_budget: int | None,
    model: Callable[[], str | None],
    with_embedder: bool = False,
) -> DurableEngine:
    """Open or create the file; None stands for what the file says, or the default of a new one.

    With an embedder its dimension is for a new file only: whether it fits an existing one is for the caller to say.
    """
    if durability not in ("full", "normal"):
        raise ValueError(f"durability: expected 'full' or 'normal', got {durability!r}")
    if not (isinstance(busy_timeout, (int, float)) and 0 <= busy_timeout <= 86400):
        raise ValueError(f"busy_timeout: expected 0 to 86400 seconds, got {busy_timeout!r}")
    if memory_budget is not None and (not isinstance(memory_budget, int) or memory_budget < 0):
        raise ValueError(f"memory_budget: expected bytes or None, got {memory_budget!r}")
    # Bad arguments are said before a file is made.
    Engine(
        dim,
        metric or "cosine",
        dtype=dtype or "f16",
        analyzer=analyzer or "english",
        stemmer=stemmer,
        k1=k1,
        b=b,
    )
    new = Identity(dim, metric or "cosine", dtype or "f16", analyzer or "english")
    store = SqliteStore(path, new, durability=durability, busy_seconds=busy_timeout)
    try:
        stored = store.identity()
        wanted = Identity(None, metric or "", dtype or "", analyzer or "")
        check_identity(stored, wanted, path)
        if not with_embedder:
            check_identity(stored, Identity(dim, "", "", ""), path)

        def make_engine(dim: int | None) -> Engine:
            return Engine(
                dim,
                stored.metric,
                dtype=stored.dtype,
                analyzer=stored.analyzer,
                stemmer=stemmer,
                k1=k1,
                b=b,
            )

        return DurableEngine(store, make_engine, budget_bytes=memory_budget, model=model)
    except BaseException:
        store.close()
        raise

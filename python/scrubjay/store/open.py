"""Opens a durable engine over a file or a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrubjay._native import Engine
from scrubjay.base.arguments import checked_flag, is_integer, is_number, shown
from scrubjay.base.errors import StoreFormatError
from scrubjay.store.engine import DurableEngine
from scrubjay.store.keys.encryption import KeyRing
from scrubjay.store.residency.budget import Budget
from scrubjay.store.rows.values import Identity
from scrubjay.store.seam import Store
from scrubjay.store.sqlite.connections import size_of
from scrubjay.store.sqlite.store import SqliteStore, check_identity

if TYPE_CHECKING:
    from scrubjay.store.postgres.database import Database


def open_engine(
    place: Path | Database,
    *,
    collection: str,
    asked: Identity,
    new: Identity,
    stemmer: Callable[[str], str] | None,
    k1: float | None,
    b: float | None,
    durability: str,
    busy_timeout: float,
    budget: Budget,
    model: Callable[[], str | None],
    ring: KeyRing | None = None,
    read_only: bool = False,
    any_analyzer: bool = False,
) -> DurableEngine:
    """Open or create a collection of a file or a database.

    `asked` is what the caller requires of an existing collection (None or "": anything); `new` is the identity of
    a collection that is created. The dimension of an embedder is not checked here; the caller does that. With
    `any_analyzer` an unknown analyzer is accepted: the collection is opened for its rows only and must not be
    searched.
    """
    if durability not in ("full", "normal"):
        raise ValueError(f"durability: expected 'full' or 'normal', got {durability!r}")
    if not (is_number(busy_timeout) and 0 <= busy_timeout <= 86400):
        raise ValueError(f"busy_timeout: expected 0 to 86400 seconds, got {busy_timeout!r}")
    checked_flag(read_only, "read_only")
    # Report invalid arguments before a file is created.
    check_engine_options(new.analyzer, k1, b)
    metric, dtype = cast(Any, new.metric), cast(Any, new.dtype)  # validated by Engine
    analyzer, its_stemmer = new.analyzer, stemmer
    if any_analyzer or (stemmer is not None and not asked.analyzer and not collection and _is_there(place)):
        analyzer, its_stemmer = "plain", None  # the analyzer that the file names is used
    Engine(new.dim, metric, dtype=dtype, analyzer=analyzer, stemmer=its_stemmer, k1=k1, b=b)
    store: Store
    if isinstance(place, Path):
        store = SqliteStore(
            place,
            new,
            durability=durability,
            busy_seconds=busy_timeout,
            collection=collection,
            ring=ring,
            read_only=read_only,
        )
    else:
        store = place.open(
            collection,
            new,
            durability=durability,
            busy_seconds=busy_timeout,
            read_only=read_only,
            ring=ring,
        )
    try:
        stored = store.identity()
        check_identity(stored, asked, place)

        def make_engine(dim: int | None) -> Engine:
            try:
                return Engine(
                    dim,
                    cast(Any, stored.metric),
                    dtype=cast(Any, stored.dtype),
                    analyzer=stored.analyzer,
                    stemmer=stemmer,
                    k1=k1,
                    b=b,
                )
            except ValueError as error:  # k1 and b were validated above
                if any_analyzer:
                    return Engine(
                        dim, cast(Any, stored.metric), dtype=cast(Any, stored.dtype), analyzer="plain"
                    )
                raise StoreFormatError(
                    f"the index uses an option that this version does not know: {error}: {place}"
                ) from None

        return DurableEngine(store, make_engine, budget=budget, model=model)
    except BaseException:
        store.close()
        raise


def _is_there(place: Path | Database) -> bool:
    """Whether the file exists and is not empty."""
    return isinstance(place, Path) and size_of(place) > 0


def check_engine_options(analyzer: object, k1: object, b: object) -> None:
    """Raise TypeError if an argument has the wrong type; the engine checks the values."""
    if not isinstance(analyzer, str):
        raise TypeError(f"analyzer: expected a str, got {type(analyzer).__name__} {shown(analyzer)}")
    for name, value in (("k1", k1), ("b", b)):
        if value is not None and not is_number(value):
            raise TypeError(f"{name}: expected a number or None, got {type(value).__name__}")


def checked_budget(n_bytes: int | None) -> Budget:
    """Return a memory budget, or raise ValueError if `n_bytes` is invalid."""
    if n_bytes is not None and (not is_integer(n_bytes) or n_bytes < 0):
        raise ValueError(f"memory_budget: expected bytes or None, got {n_bytes!r}")
    return Budget(None if n_bytes is None else int(n_bytes))

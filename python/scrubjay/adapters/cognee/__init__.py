"""cognee's vector database over a Scrubjay file: one file for all datasets, one scope for each.

>>> import asyncio
>>> from scrubjay.adapters.cognee import ScrubjayAdapter, register
>>> register()  # then cognee.config.set_vector_db_config({"vector_db_provider": "scrubjay", "vector_db_url": path})
>>> from cognee.infrastructure.databases.vector.supported_databases import supported_databases
>>> "scrubjay" in supported_databases
True
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from scrubjay.backend import as_query
from scrubjay.base.errors import MissingExtraError
from scrubjay.fusion import Query

try:
    from cognee.infrastructure.databases.dataset_database_handler.use_dataset_database_handler import (
        use_dataset_database_handler,
    )
    from cognee.infrastructure.databases.vector.use_vector_adapter import use_vector_adapter
except ImportError:
    raise MissingExtraError("scrubjay.adapters.cognee", "cognee", "cognee") from None

from scrubjay.adapters.cognee.adapter import ScrubjayAdapter
from scrubjay.adapters.cognee.datasets import ScrubjayDatasetHandler

__all__ = ["ScrubjayAdapter", "ScrubjayDatasetHandler", "register"]


def register(
    name: str = "scrubjay",
    *,
    path: str | os.PathLike[str] | None = None,
    query: Query | None = None,
    **options: Any,
) -> None:
    """Register Scrubjay with cognee as a vector database and as a dataset handler.

    Args:
        name: for `VECTOR_DB_PROVIDER` and `VECTOR_DATASET_DATABASE_HANDLER`; lower case, as cognee requires.
        path: the path of the file; None: `VECTOR_DB_URL`, or a file beside cognee's other databases.
        query: how text searches rank; None: ``scrubjay.Query()``, by words and meaning.
        options: further arguments of :meth:`scrubjay.Index.open` and :meth:`scrubjay.Index.collection`.

    Raises:
        TypeError, ValueError: an argument is invalid.
    """
    if not isinstance(name, str) or not name or name != name.lower():
        raise ValueError(f"name: expected a name in small letters, got {name!r}")
    location = None if path is None else os.fspath(path)
    use_vector_adapter(name, partial(ScrubjayAdapter, path=location, query=as_query(query), **options))
    use_dataset_database_handler(name, ScrubjayDatasetHandler.of(name, location), name)

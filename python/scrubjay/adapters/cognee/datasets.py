"""One scope for each dataset: cognee's dataset handler, which it requires for separate databases of datasets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from cognee.base_config import get_base_config
from cognee.infrastructure.databases.dataset_database_handler import DatasetDatabaseHandlerInterface

from scrubjay._native import Scope
from scrubjay.backend import lease

FILE = "cognee.scrubjay"
NO_DATASET = "."


def scope_of(database_name: str | None) -> Scope:
    """Return the scope of a dataset's vectors; without a dataset, the scope of vectors of none.

    Raises:
        ValueError: the name is reserved.
    """
    if database_name == NO_DATASET:
        raise ValueError(f"database_name: expected another name than {NO_DATASET!r}, which stands for none")
    return Scope("cognee", user=database_name or NO_DATASET)


class ScrubjayDatasetHandler(DatasetDatabaseHandlerInterface):
    """Gives each dataset a scope of one file: isolated from the others, and deleted in one transaction."""

    name: ClassVar[str] = "scrubjay"
    path: ClassVar[str | None] = None

    @classmethod
    def of(cls, name: str, path: str | None) -> type[ScrubjayDatasetHandler]:
        """Return the handler for the adapter registered as `name`, with its file `path`."""
        return type("ScrubjayDatasetHandler", (cls,), {"name": name, "path": path})

    @classmethod
    async def create_dataset(cls, dataset_id: Any, user: Any) -> dict[str, Any]:
        """Return the location of a dataset's vectors. Creates nothing.

        Args:
            dataset_id: the id of the dataset.
            user: cognee's; ignored.

        Raises:
            ValueError: the dataset has no id.
        """
        if dataset_id is None:
            raise ValueError("dataset_id: expected the id of a dataset, got None")
        folder = Path(get_base_config().system_root_directory) / "databases"
        return {
            "vector_database_provider": cls.name,
            "vector_database_url": cls.path or str(folder / FILE),
            "vector_database_key": "",
            "vector_database_name": str(dataset_id),
            "vector_dataset_database_handler": cls.name,
        }

    @classmethod
    async def delete_dataset(cls, dataset_database: Any) -> None:
        """Delete all vectors of a dataset, in all collections, in one transaction.

        Args:
            dataset_database: the result of :meth:`create_dataset`, as stored by cognee.
        """
        await asyncio.to_thread(
            _erase, dataset_database.vector_database_url, dataset_database.vector_database_name
        )


def _erase(path: str, database_name: str) -> None:
    if not database_name:
        raise ValueError("vector_database_name: expected the name of a dataset, got an empty one")
    if Path(path).exists():
        with lease(path) as file:
            file.root.erase(scope_of(database_name), everywhere=True, reason="delete_dataset")

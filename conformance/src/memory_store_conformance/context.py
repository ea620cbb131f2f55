"""The environment of a check: fresh stores, directories and child processes, all cleaned up after it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_store_conformance.children import Child
from memory_store_conformance.contract import Hit, Item, Scope, Setting
from memory_store_conformance.embedder import HashingEmbedder
from memory_store_conformance.factories import Factory, address_of

__all__ = ["JANE", "JOE", "Context", "ids_of"]

JANE: Scope = ("acme", "jane")
JOE: Scope = ("acme", "joe")


class Context:
    """The environment of one check."""

    def __init__(self, factory: Factory) -> None:
        self.factory = factory
        self.embedder = HashingEmbedder()
        self._root = Path(tempfile.mkdtemp(prefix="memory-store-conformance-"))
        self._n_directories = 0
        self._stores: list[Any] = []
        self._children: list[Child] = []

    def directory(self) -> Path:
        """Return a new, empty directory."""
        self._n_directories += 1
        directory = self._root / f"store{self._n_directories}"
        directory.mkdir()
        return directory

    def open(self, directory: Path | None = None) -> Any:
        """Return the store of a directory (None: a new one). It is closed at the end of the check."""
        store = self.factory(Setting(directory or self.directory(), self.embedder))
        self._stores.append(store)
        return store

    def close(self, store: Any) -> None:
        """Close a store before the end of the check."""
        self._stores.remove(store)
        store.close()

    def child(self, directory: Path, operation: str, **arguments: Any) -> Child:
        """Start an operation of :mod:`.child` on the store of a directory.

        Raises:
            NotOffered: another process cannot import the factory.
        """
        child = Child(address_of(self.factory), directory, operation, **arguments)
        self._children.append(child)
        return child

    def without_paths(self, text: str) -> str:
        """Return a text with the temporary folder of this check replaced by a constant name."""
        return text.replace(str(self._root), "FOLDER")

    def clean_up(self) -> None:
        """Kill remaining children, and close remaining stores."""
        for child in self._children:
            child.kill()
        for store in self._stores:
            try:
                store.close()
            except Exception:  # noqa: BLE001 - errors.closed judges closing
                pass
        shutil.rmtree(self._root, ignore_errors=True)


def ids_of(found: Sequence[Hit] | Sequence[Item]) -> list[str]:
    """Return the ids of hits or items in their order."""
    return [one.id for one in found]


def plain(item: Item | None) -> tuple[str, str, Mapping[str, Any]] | None:
    """Return an item as a tuple that compares by value; None for None."""
    return None if item is None else (item.id, item.text, dict(item.metadata))

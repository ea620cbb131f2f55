"""The exceptions of Scrubjay.

Bad arguments raise ordinary ``TypeError`` and ``ValueError`` (argument, expected, given); every other type derives from
:class:`Error`. The native module looks up its types here when it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "BudgetError",
    "ClosedError",
    "ConflictError",
    "CorruptDataWarning",
    "CorruptIndexError",
    "CursorError",
    "DatasetError",
    "EmbedderError",
    "EmbedderMismatchError",
    "EncryptionError",
    "Error",
    "HeldError",
    "KeyErasedError",
    "MissingExtraError",
    "OwnedCollectionError",
    "RejectedError",
    "RetrievalError",
    "StoreBusyError",
    "StoreError",
    "StoreFormatError",
    "StoreUnavailableError",
    "UnsupportedError",
    "VersionConflictError",
]


class Error(Exception):
    """Base of Scrubjay's own exceptions."""


class BudgetError(Error, ValueError):
    """A prompt whose policies and preferences alone exceed its budget; `needed` is the budget that would suffice."""

    def __init__(self, message: str, needed: int, budget: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.budget = budget

    def __reduce__(self) -> tuple[type[BudgetError], tuple[str, int, int]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (str(self), self.needed, self.budget))


class ConflictError(Error):
    """A write that contradicts what is stored, e.g. a memory record that would duplicate another."""


class VersionConflictError(ConflictError):
    """A conditional write to a memory whose version is not the one that the writer expected. Nothing was written.

    Attributes:
        id: of the memory.
        expected: the version that the writer named; 0: absent.
        found: the version that the memory has; 0: absent.
    """

    def __init__(self, id: str | int, expected: int, found: int) -> None:
        super().__init__(
            f"version: expected {id!r} {_at(expected)}, found it {_at(found)}; read it again before repeating the write"
        )
        self.id, self.expected, self.found = id, expected, found

    def __reduce__(self) -> tuple[type[VersionConflictError], tuple[str | int, int, int]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (self.id, self.expected, self.found))


def _at(version: int) -> str:
    return f"at version {version}" if version else "absent (version 0)"


class RejectedError(Error, ValueError):
    """Raised by `Memory.propose(..., raise_if_rejected=True)` if the gate rejects a candidate. Nothing was written.

    Attributes:
        outcomes: of all candidates of the call, in its order.
    """

    def __init__(self, message: str, outcomes: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)

    def __reduce__(self) -> tuple[type[RejectedError], tuple[str, tuple[Any, ...]]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (str(self), self.outcomes))


class OwnedCollectionError(ConflictError):
    """A direct write to the collection in which a :class:`scrubjay.Memory` keeps its records. Nothing was written.

    Such a write would bypass the gate: use `Memory.propose`, `update`, `delete` and `forget`, or the default
    collection, whose documents :meth:`Memory.recall` finds as notes.

    Attributes:
        collection: the name of the collection.
    """

    def __init__(self, collection: str, doing: str) -> None:
        super().__init__(
            f"{doing}: expected another collection than {collection!r}: its records belong to scrubjay.Memory, which "
            "writes them through its gate only (propose, update, delete, forget); memories in the default "
            "collection are recalled as notes"
        )
        self.collection, self._doing = collection, doing

    def __reduce__(self) -> tuple[type[OwnedCollectionError], tuple[str, str]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (self.collection, self._doing))


class HeldError(Error):
    """A call that would destroy memories under a legal hold. Nothing was changed.

    Attributes:
        scope: the scope of the hold.
        reason: the reason that the administrator gave.
    """

    def __init__(self, scope: Any, reason: str) -> None:
        super().__init__(
            f"scope: expected a scope without a legal hold, got {scope!r}, which is held: {reason}"
        )
        self.scope = scope
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.scope, self.reason)


class CursorError(Error, ValueError):
    """A cursor that is damaged, or belongs to another index, scope or order. Start again without a cursor."""


class DatasetError(Error, ValueError):
    """A file of a data set that violates its format; the message names the file, the line and the field.

    Attributes:
        path: the file.
        line: the first line of the row, from 1; None: the file as a whole.
        what: what is wrong, without the location.
    """

    def __init__(self, what: str, path: object, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {what}")
        self.what, self.path, self.line = what, path, line

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, object, int | None]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (self.what, self.path, self.line))


class CorruptIndexError(Error):
    """Stored bytes that Scrubjay cannot have written. The rest of the file can still be read.

    `scrubjay check --repair FILE` (:meth:`Admin.repair`) sets the damaged rows aside and makes the file sound again;
    restore a backup to recover what they held.

    Attributes:
        what: what is wrong, without the location and the remedy.
        path: the file, if known.
        id: of the document or record, if it is one.
        scope: of the document or record, if known.
    """

    def __init__(self, what: str, *, path: object = None, id: object = None, scope: object = None) -> None:
        where = "" if id is None else f"document {id!r}" + ("" if scope is None else f" of {scope!r}") + ": "
        file = "" if path is None else f"{path}: "
        remedy = (
            "" if path is None else f" (`scrubjay check --repair {path}` sets it aside, or restore a backup)"
        )
        super().__init__(f"{file}{where}{what}{remedy}")
        self.what, self.path, self.id, self.scope = what, path, id, scope

    def __reduce__(self) -> tuple[object, ...]:
        """Return the arguments that recreate it, for pickling."""
        return (_corrupt, (str(self), self.what, self.path, self.id, self.scope))

    def located(self, *, path: object = None, id: object = None, scope: object = None) -> CorruptIndexError:
        """Return the same error with the missing parts of its location filled in."""
        return type(self)(
            self.what,
            path=path if self.path is None else self.path,
            id=id if self.id is None else self.id,
            scope=scope if self.scope is None else self.scope,
        )


def _corrupt(message: str, what: str, path: object, id: object, scope: object) -> CorruptIndexError:
    error = CorruptIndexError(what, path=path, id=id, scope=scope)
    error.args = (message,)
    return error


class CorruptDataWarning(UserWarning):
    """Damaged documents or records were left out of an answer; the message names the first of them.

    Attributes:
        damaged: a sentence about each.
    """

    def __init__(self, message: str, damaged: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.damaged = damaged


class ClosedError(Error):
    """The index was closed, or was opened before the process forked."""


class StoreError(Error):
    """A file could not be read or written: full disk, no permission, I/O error. Acknowledged writes stand."""


class StoreBusyError(StoreError):
    """Another process or thread held the write lock for longer than the index waits. Nothing was written; try again."""


class StoreFormatError(StoreError, ValueError):
    """A file that is not a Scrubjay index, has a newer format, or holds another kind of index than requested."""


class StoreUnavailableError(StoreError):
    """The database server does not answer. Acknowledged writes stand; resident partitions can still be searched.

    A write that raises this was not written, unless its message says that the outcome is unknown: then repeat it; an
    upsert that was already written changes nothing.
    """


class UnsupportedError(StoreError):
    """A verb that this kind of store does not support: it needs an index in a file. Nothing was changed.

    Attributes:
        verb: the verb that was called.
        place: the address of the store.
    """

    def __init__(self, verb: str, place: str, remedy: str = "") -> None:
        super().__init__(
            f"{verb}: expected an index in a file, got one over PostgreSQL, which does not have this verb"
            f"{'; ' + remedy if remedy else ''}: {place}"
        )
        self.verb, self.place, self._remedy = verb, place, remedy

    def __reduce__(self) -> tuple[type[UnsupportedError], tuple[str, str, str]]:
        """Return the arguments that recreate it, for pickling."""
        return (type(self), (self.verb, self.place, self._remedy))


class EncryptionError(StoreError):
    """A tenant's key is unavailable, or differs from the one that encrypted its memories. Nothing is lost."""


class KeyErasedError(EncryptionError):
    """The key of a tenant was destroyed. A key provider raises it to report that; the tenant then counts as erased."""


class RetrievalError(Error):
    """A rewriter or reranker failed, or returned a wrong result."""


class EmbedderError(Error):
    """An embedder failed, or returned something other than finite float32 vectors of its dimension."""


class EmbedderMismatchError(Error, ValueError):
    """An embedder other than the one that made the vectors of the index; the message names the remedy."""


class MissingExtraError(Error, ImportError):
    """An optional dependency is not installed; the message holds the command that installs it."""

    def __init__(self, what: str, extra: str | None, package: str) -> None:
        to_install = package if extra is None else f'"scrubjay[{extra}]"'
        super().__init__(
            f"{what} needs {package}, which is not installed: pip install {to_install}", name=package
        )
        self.extra = extra


for _name in __all__:
    globals()[_name].__module__ = "scrubjay"  # tracebacks name an error as users import it

"""The exceptions of Scrubjay.

Bad arguments are ordinary ``TypeError`` and ``ValueError`` (argument, expected, given); everything that has no name in
Python derives from :class:`Error`. The native module looks its types up here when it is imported.
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
    """Base of every exception type that is Scrubjay's own."""


class BudgetError(Error, ValueError):
    """A prompt whose policies and preferences alone are over its budget; `needed` says which budget would do."""

    def __init__(self, message: str, needed: int, budget: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.budget = budget

    def __reduce__(self) -> tuple[type[BudgetError], tuple[str, int, int]]:
        """Return what it is made again from, in another process."""
        return (type(self), (str(self), self.needed, self.budget))


class ConflictError(Error):
    """A write that contradicts what is stored, e.g. a record of memory that would say what another one says."""


class VersionConflictError(ConflictError):
    """A conditional write to a memory that is not, or no longer, as its writer saw it. Nothing was written.

    Attributes:
        id: of the memory.
        expected: the version that the writer named; 0: it was to be absent.
        found: the version that it has; 0: it is absent.
    """

    def __init__(self, id: str | int, expected: int, found: int) -> None:
        super().__init__(
            f"version: expected {id!r} {_at(expected)}, found it {_at(found)}; read it again and decide anew"
        )
        self.id, self.expected, self.found = id, expected, found

    def __reduce__(self) -> tuple[type[VersionConflictError], tuple[str | int, int, int]]:
        """Return what it is made anew from, in another process."""
        return (type(self), (self.id, self.expected, self.found))


def _at(version: int) -> str:
    return f"at version {version}" if version else "absent (version 0)"


class RejectedError(Error, ValueError):
    """What `Memory.propose(..., raise_if_rejected=True)` raises for what the gate refuses. Nothing was written.

    Attributes:
        outcomes: of all that was proposed in the call, in its order.
    """

    def __init__(self, message: str, outcomes: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)

    def __reduce__(self) -> tuple[type[RejectedError], tuple[str, tuple[Any, ...]]]:
        """Return what it is made anew from, in another process."""
        return (type(self), (str(self), self.outcomes))


class OwnedCollectionError(ConflictError):
    """A raw write to the collection in which a :class:`scrubjay.Memory` keeps its records. Nothing was written.

    Such a write would pass the gate: use `Memory.propose`, `update`, `delete` and `forget`, or the collection without a
    name, whose documents :meth:`Memory.recall` finds as notes.

    Attributes:
        collection: its name.
    """

    def __init__(self, collection: str, doing: str) -> None:
        super().__init__(
            f"{doing}: expected another collection than {collection!r}: its records belong to scrubjay.Memory, which "
            "writes them through its gate only (propose, update, delete, forget); what is written to the collection "
            "without a name is recalled as notes"
        )
        self.collection, self._doing = collection, doing

    def __reduce__(self) -> tuple[type[OwnedCollectionError], tuple[str, str]]:
        """Return what it is made anew from, in another process."""
        return (type(self), (self.collection, self._doing))


class HeldError(Error):
    """A call that would destroy what is under a legal hold. Nothing was changed.

    Attributes:
        scope: that the hold is on.
        reason: that its administrator gave.
    """

    def __init__(self, scope: Any, reason: str) -> None:
        super().__init__(f"scope: expected none under a legal hold, got {scope!r}, which is held: {reason}")
        self.scope = scope
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.scope, self.reason)


class CursorError(Error, ValueError):
    """A cursor that is damaged, or that another index, scope or order made. Begin again without one."""


class DatasetError(Error, ValueError):
    """A file of a data set that is not what its format says; the message names the file, the line and the field.

    Attributes:
        path: the file.
        line: on which the row begins, from 1; None: the file as a whole.
        what: what is wrong, without the place.
    """

    def __init__(self, what: str, path: object, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {what}")
        self.what, self.path, self.line = what, path, line

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, object, int | None]]:
        """Return what it is made again from, in another process."""
        return (type(self), (self.what, self.path, self.line))


class CorruptIndexError(Error):
    """Stored bytes that cannot be what Scrubjay wrote. What else the file holds can still be read.

    `scrubjay check --repair FILE` (:meth:`Admin.repair`) sets the damaged rows aside and makes the file sound again;
    a backup brings back what they held.

    Attributes:
        what: what is wrong, without the place and the remedy.
        path: the file, where it is known.
        id: of the document or record, where it is one.
        scope: of the document or record, where it is known.
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
        """Return what it is made again from, in another process."""
        return (_corrupt, (str(self), self.what, self.path, self.id, self.scope))

    def located(self, *, path: object = None, id: object = None, scope: object = None) -> CorruptIndexError:
        """Return the same error with the places that it does not name yet."""
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
    """Stored documents or records that are damaged were left out of an answer; the message names the first of them.

    Attributes:
        damaged: a sentence for each.
    """

    def __init__(self, message: str, damaged: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.damaged = damaged


class ClosedError(Error):
    """An index that was closed, or that was opened before the process forked."""


class StoreError(Error):
    """A file that could not be read or written: full disk, no permission, I/O error. What was acknowledged stands."""


class StoreBusyError(StoreError):
    """Another process or thread was writing for longer than the index waits. Nothing was written; try again."""


class StoreFormatError(StoreError, ValueError):
    """A file that is not a Scrubjay index, is of a newer format, or holds another kind of index than requested."""


class StoreUnavailableError(StoreError):
    """The server of the rows does not answer. What was acknowledged stands; what is in memory is still searched.

    A write that raises this was not written, unless its message says that this is not known: then write it again, which
    for an upsert changes nothing if it was.
    """


class UnsupportedError(StoreError):
    """A verb that this kind of store does not have (yet): what it needs is in a file only. Nothing was changed.

    Attributes:
        verb: what was asked for.
        place: of the store.
    """

    def __init__(self, verb: str, place: str, remedy: str = "") -> None:
        super().__init__(
            f"{verb}: expected an index in a file, got one over PostgreSQL, which does not have this verb"
            f"{'; ' + remedy if remedy else ''}: {place}"
        )
        self.verb, self.place, self._remedy = verb, place, remedy

    def __reduce__(self) -> tuple[type[UnsupportedError], tuple[str, str, str]]:
        """Return what it is made again from, in another process."""
        return (type(self), (self.verb, self.place, self._remedy))


class EncryptionError(StoreError):
    """A tenant's key that could not be had, or is another one than its memories were sealed with. Nothing is lost."""


class KeyErasedError(EncryptionError):
    """The key of a tenant was destroyed. A provider of keys raises it to say so; then the tenant is as if erased."""


class RetrievalError(Error):
    """A rewriter or reranker that failed, or that answered something else than it should."""


class EmbedderError(Error):
    """An embedder that failed, or that returned something else than finite float32 vectors of its dimension."""


class EmbedderMismatchError(Error, ValueError):
    """An embedder other than the one whose vectors the index holds; the message names the remedy."""


class MissingExtraError(Error, ImportError):
    """An optional dependency that is not installed; the message holds the command that installs it."""

    def __init__(self, what: str, extra: str | None, package: str) -> None:
        to_install = package if extra is None else f'"scrubjay[{extra}]"'
        super().__init__(
            f"{what} needs {package}, which is not installed: pip install {to_install}", name=package
        )
        self.extra = extra

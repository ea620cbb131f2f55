"""Which exceptions does Scrubjay raise?

Bad arguments are ordinary ``TypeError`` and ``ValueError`` (argument, expected, given); everything that has no name in
Python derives from :class:`Error`. The native module looks its types up here when it is imported.
"""

from __future__ import annotations

__all__ = [
    "ConflictError",
    "CorruptIndexError",
    "EmbedderError",
    "EmbedderMismatchError",
    "Error",
    "MissingExtraError",
]


class Error(Exception):
    """Base of every exception type that is Scrubjay's own."""


class ConflictError(Error):
    """A write that contradicts what is stored, e.g. an id that already exists in another scope."""


class CorruptIndexError(Error):
    """Stored bytes that cannot be what Scrubjay wrote."""


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

"""How a check ends, if not well."""

from __future__ import annotations

__all__ = ["NotOffered", "Violation"]


class Violation(AssertionError):  # noqa: N818 - a finding, not an error of ours
    """A store broke a promise; the message is the evidence."""


class NotOffered(Exception):  # noqa: N818 - an outcome
    """The check does not apply to this store; the message is the reason."""

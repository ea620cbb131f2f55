"""Questions that the page proposes."""

from __future__ import annotations

from dataclasses import dataclass

from scrubjay._native import Scope


@dataclass(frozen=True)
class Example:
    """A question worth asking from a scope, and what it demonstrates.

    >>> Example("An identifier", "case 58201?", Scope("acme", user="tomas"), "Keywords tell 58201 from 58210.").title
    'An identifier'
    """

    title: str
    text: str
    scope: Scope
    shows: str = ""

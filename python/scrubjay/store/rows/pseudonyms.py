"""Pseudonyms that replace the names of erased tenants, users and agents.

A scope's row outlives its documents, so that versions never decrease and every process learns of an erasure, and
deletion events name the scope. If the names must be erased as well, a random word replaces them. It is drawn for
one erasure and stored nowhere else: it shows that these rows belonged to one scope, and no dictionary of names
can reverse it.
"""

from __future__ import annotations

import secrets

from scrubjay._native import Scope

ERASED = "erased-"
"""The prefix of every pseudonym."""


class Pseudonyms:
    """The pseudonyms of the names of one erasure.

    >>> words = Pseudonyms(Scope("acme", user="jane"))
    >>> words.of("acme", "jane", "bot")[::2]
    ('acme', 'bot')
    >>> words.of("acme", "jane", "")[1] == words.of("acme", "jane", "bot")[1]
    True
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._words: dict[tuple[str, str], str] = {}

    def of(self, tenant: str, user: str, agent: str) -> tuple[str, str, str]:
        """Return the new names of a scope within the erased one; '' stays ''.

        In a user's (or an agent's) scopes only that name is replaced, in a tenant's scopes all names are.
        """
        scope = self._scope
        whole = scope.user is None and scope.agent is None
        return (
            self.word("tenant", tenant) if whole else tenant,
            self.word("user", user) if whole or scope.user is not None else user,
            self.word("agent", agent) if whole or scope.user is None else agent,
        )

    def word(self, role: str, name: str) -> str:
        """Return the pseudonym of a name."""
        if not name:
            return name
        return self._words.setdefault((role, name), ERASED + secrets.token_hex(8))

"""Pseudonyms for names of tenants, users and agents that are erased.

A scope's row outlives its documents, so that versions never go back and every process learns of an erasure; deletion
events say whose documents went. Where the names are to go as well, a random word takes their place, drawn for one
erasure and stored nowhere: it shows that these rows were of one scope, and no dictionary of names leads back to it.
"""

from __future__ import annotations

import secrets

from scrubjay._native import Scope

ERASED = "erased-"
"""What every pseudonym begins with."""


class Pseudonyms:
    """The words that replace the names of one erasure.

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
        """Return what a scope within the erased one is called from now on; '' stays ''.

        Of a user's (or an agent's) scopes that name is replaced, of a tenant's all are.
        """
        scope = self._scope
        whole = scope.user is None and scope.agent is None
        return (
            self.word("tenant", tenant) if whole else tenant,
            self.word("user", user) if whole or scope.user is not None else user,
            self.word("agent", agent) if whole or scope.user is None else agent,
        )

    def word(self, role: str, name: str) -> str:
        """Return the word for one name."""
        if not name:
            return name
        return self._words.setdefault((role, name), ERASED + secrets.token_hex(8))

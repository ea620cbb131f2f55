"""Whether a query that names a stored identifier finds its memory by words alone.

An identifier-like token of a query is a run of word characters and joiners that contains a digit, an `@`, an `_`, inner
capitals or a dotted name. The query names a stored identifier verbatim if such a token occurs unchanged in the query's
judged memory, with no word character or inner joiner around it. That memory must be first if no other memory of the
scope contains the token, and among the first three otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.reference.analyzer import analyze

from benchmarks.quality.judged import JudgedSet, Query

SETS = ("ident_dev", "techcodes")
REQUIRED_RANK = 3

RUN = re.compile(r"\w+(?:[-_.@/:+#=]+\w+)*")
IDENTIFIER = re.compile(r"\d|@|_|[^\W\d_][a-z][A-Z]|[a-z][A-Z]|\w\.\w")


@dataclass(frozen=True)
class NamedIdentifier:
    """A query that names an identifier, and the rank of its memory."""

    query: str
    text: str
    category: str
    identifier: str
    memory: str
    n_holders: int
    rank: int
    first: str
    shared_with_first: tuple[str, ...]
    """The query's terms in the memory in first place."""

    @property
    def holds(self) -> bool:
        return self.rank == 1 or (self.n_holders > 1 and 1 <= self.rank <= REQUIRED_RANK)

    @property
    def reason(self) -> str:
        """Return why it fails, or why a rank other than 1 is acceptable."""
        if self.rank == 0:
            return "not among the first ten"
        if self.n_holders > 1:
            return f"{self.n_holders} memories hold {self.identifier!r}; {self.first} stands first"
        terms = ", ".join(self.shared_with_first)
        return f"only {self.memory} holds {self.identifier!r}; {self.first} stands first with: {terms}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds, "reason": self.reason}


def identifiers(text: str) -> list[str]:
    return [run for run in RUN.findall(text) if IDENTIFIER.search(run)]


def holds_verbatim(text: str, identifier: str) -> bool:
    if identifier not in text:  # fast path
        return False
    return re.search(rf"(?<!\w){re.escape(identifier)}(?!\w)", text) is not None


def named_identifiers(judged: JudgedSet, rankings: Sequence[Sequence[str]]) -> list[NamedIdentifier]:
    """Return all queries that name an identifier of their judged memory, with the rank of that memory in `rankings`."""
    text_of = {memory.id: memory.text for memory in judged.memories}
    texts_of_scope: dict[str, list[str]] = {}
    for memory in judged.memories:
        texts_of_scope.setdefault(memory.scope, []).append(memory.text)
    found = []
    for query, ranking in zip(judged.queries, rankings, strict=True):
        named = rarest_identifier(query, text_of, texts_of_scope[query.scope])
        if named is None:
            continue
        identifier, target, n_holders = named
        rank = list(ranking).index(target) + 1 if target in ranking else 0
        first = ranking[0] if len(ranking) else "nothing"
        shared = shared_terms(query.text, text_of.get(first, ""))
        found.append(
            NamedIdentifier(
                query.id, query.text, query.category, identifier, target, n_holders, rank, first, shared
            )
        )
    return found


def shared_terms(query: str, text: str) -> tuple[str, ...]:
    held = {term for term, _ in analyze(text)}
    return tuple(dict.fromkeys(term for term, _ in analyze(query) if term in held))


def rarest_identifier(query: Query, text_of: dict[str, str], texts: list[str]) -> tuple[str, str, int] | None:
    """Return the identifier shared by the query and its judged memory that the fewest memories contain."""
    candidates = [
        (sum(holds_verbatim(text, identifier) for text in texts), identifier, memory)
        for identifier in identifiers(query.text)
        for memory in sorted(query.relevant)
        if holds_verbatim(text_of[memory], identifier)
    ]
    if not candidates:
        return None
    n_holders, identifier, memory = min(candidates)
    return identifier, memory, n_holders

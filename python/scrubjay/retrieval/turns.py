"""What a reranker reads of a turn of a conversation: the turn before it, too."""

from __future__ import annotations

from scrubjay.index import Hit, Index

__all__ = ["TurnBefore"]


class TurnBefore:
    """A template for a retriever: the day of a turn, the turn before it in its run, and its text.

    A reranker that reads "Yes, twice." alone cannot know what was asked. On long conversations a cross-encoder finds
    more with it (`python -m benchmarks.quality.table --reranker`). Hits without `run` and `position` in their metadata
    are read as they are. The turn before is of the same scope; a filter of the search does not hide it from the
    reranker.

    Args:
        index: where the turns are.

    >>> from scrubjay import Scope
    >>> index = Index()
    >>> for position, text in enumerate(["Have you been to Oslo?", "Yes, twice."]):
    ...     turn = {"run": "monday", "position": position, "speaker": "ab"[position]}
    ...     index.upsert(f"t{position}", text, scope=Scope("acme"), metadata=turn, created_at="2024-03-01")
    >>> TurnBefore(index)(index.search("twice", scope=Scope("acme"))[0])
    '2024-03-01 Have you been to Oslo? Yes, twice.'
    """

    name = "turn before"

    def __init__(self, index: Index) -> None:
        self._index = index

    def __call__(self, hit: Hit) -> str:
        """Return the text that the reranker reads."""
        run, position = hit.metadata.get("run"), hit.metadata.get("position")
        if not isinstance(run, str) or isinstance(position, bool) or not isinstance(position, int):
            return hit.text
        before = self._index.scroll(
            scope=hit.scope, limit=1, exact=True, filter={"run": run, "position": position - 1}
        )
        day = [] if hit.created_at is None else [str(hit.created_at)[:10]]
        return " ".join([*day, *(record.text for record in before.records), hit.text])

"""A txtai scoring index: words, identifiers and meaning in one ranking, in the place of txtai's BM25.

txtai's `Embeddings` takes the class path of a scoring index as `keyword`. It keeps what it does itself (content, SQL,
graphs, `save` and `load`); what is similar to a query is found here, and no model of txtai's is loaded. As `hybrid` it
stands beside txtai's dense index, and txtai fuses the two.

>>> from txtai import Embeddings
>>> embeddings = Embeddings(content=True, keyword="scrubjay.adapters.txtai.ScrubjayScoring")
>>> embeddings.index(["The staging key prefix is sk-stg-0041.", "Lies awake after espresso."])
>>> embeddings.search("what is sk-stg-0041?", 1)[0]["text"]
'The staging key prefix is sk-stg-0041.'
>>> embeddings.search("trouble sleeping", 1)[0]["text"]
'Lies awake after espresso.'
>>> embeddings.close()
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._similarity import similarity, worth
from scrubjay.backend import Backend, as_query
from scrubjay.embedders.spec import from_spec
from scrubjay.errors import ClosedError, MissingExtraError
from scrubjay.index import Hit, Index

try:
    from txtai.scoring import Scoring
except ImportError:
    raise MissingExtraError("scrubjay.adapters.txtai", "txtai", "txtai") from None

__all__ = ["ScrubjayScoring"]

_OWN = Scope("txtai")
_BATCH = 1000
_LEAST = 1e-6  # txtai drops what is not above 0


class ScrubjayScoring(Scoring):  # type: ignore[misc,unused-ignore]
    """txtai's sparse index, by an index of ours. txtai makes it.

    Args:
        config: txtai's `scoring`, which is saved with the embeddings: ``{"method": class path, "terms": True}``, which
            ``keyword=class path`` stands for; to say more, give ``keyword=True`` and `scoring`. Of ours are `embedder`,
            how texts are embedded (:func:`embedders.from_spec`; "default" unless given, "none" for words alone), and
            `query`, the settings of a :class:`scrubjay.Query`. Without `terms` txtai would not search it.

    What is indexed lies in a temporary file until `Embeddings.save`, which copies it whole: the saved file is the one
    before or the new one, also if the process is killed meanwhile. A loaded index is changed in a copy.

    A score lies between 0 and 1, for txtai's fusion: what the similarity or the matching words are worth, whichever is
    more, 1 for a verbatim identifier, and never more than the score of the hit before. Thread-safe for searches.

    Raises:
        TypeError, ValueError: the config names no embedder or query of ours, or `terms` is missing.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__({} if config is None else config)
        if not self.config.get("terms"):
            raise ValueError(f"terms: expected True, got {self.config.get('terms')!r}")
        spec = self.config.get("embedder", "default")
        if not isinstance(spec, str):
            raise TypeError(
                f"embedder: expected a str, which txtai can save, such as 'default', got {type(spec).__name__}"
            )
        asked = as_query(self.config.get("query"))
        self._embedder = from_spec(spec)
        self._query = asked.replace(mode="lexical") if self._embedder is None else asked
        self._index: Index | None = None
        self._folder: str | None = None
        self._opened()

    # ------------------------------------------------------------------ writing

    def insert(
        self, documents: Iterable[Sequence[Any]], index: int | None = None, checkpoint: Any = None
    ) -> None:
        """Write texts; others (images, vectors) get a number and no document, as in txtai's own.

        Args:
            documents: of (id, text or tokens or mapping with a text, tags).
            index: the number of the first one; None: they go by their ids.
            checkpoint: not used: what is indexed is not restarted in the middle.
        """
        rows: list[dict[str, Any]] = []
        for row in self._rows(documents, index):
            rows.append(row)
            if len(rows) == _BATCH:
                self._own.upsert_many(rows, scope=_OWN, progress=False)
                rows = []
        if rows:
            self._own.upsert_many(rows, scope=_OWN, progress=False)

    def _rows(self, documents: Iterable[Sequence[Any]], index: int | None) -> Iterator[dict[str, Any]]:
        for id, document, *_ in documents:
            if isinstance(document, Mapping):
                document = document.get(self.text, document.get(self.object))
            if document is None:
                continue
            number, index = (id, None) if index is None else (index, index + 1)
            if isinstance(document, (str, list)):
                text = document if isinstance(document, str) else " ".join(map(str, document))
                yield {"id": number, "text": text}

    def delete(self, ids: Iterable[Any]) -> None:
        """Delete documents by their numbers, in one commit; what is not there is passed over.

        Args:
            ids: the numbers.
        """
        self._own.delete_many(list(ids), scope=_OWN)

    def weights(self, tokens: Sequence[str]) -> list[float]:
        """Return equal weights: nothing is weighted by this index.

        Args:
            tokens: of a text.
        """
        return [1.0] * len(tokens)

    # ------------------------------------------------------------------ reading

    def search(self, query: str | Sequence[str], limit: int = 3) -> list[tuple[Any, float]]:
        """Return the numbers of the best documents and their scores, best first.

        Args:
            query: a text, or its tokens.
            limit: how many.
        """
        text = query if isinstance(query, str) else " ".join(map(str, query))
        if limit < 1 or not text.strip():
            return []
        hits = self._own.search(text, scope=_OWN, k=limit, query=self._query, explain=True)
        return _scored(hits, Backend.of(self._own).metric)

    def batchsearch(
        self, queries: Iterable[str | Sequence[str]], limit: int = 3, threads: Any = True
    ) -> list[list[tuple[Any, float]]]:
        """Return what :meth:`search` returns for each of several queries.

        Args:
            queries: texts, or their tokens.
            limit: how many documents for each.
            threads: not used: one search takes less than waking a thread.
        """
        return [self.search(query, limit) for query in queries]

    def count(self) -> int:
        """Return how many documents there are."""
        return self._own.count(_OWN)

    def issparse(self) -> bool:
        """Return True: this can be searched."""
        return True

    def isnormalized(self) -> bool:
        """Return True: scores lie between 0 and 1."""
        return True

    def isbayes(self) -> bool:
        """Return False: scores are no probabilities."""
        return False

    # ------------------------------------------------------------------ files

    def save(self, path: str) -> None:
        """Copy the index to a file, whole or not at all.

        Args:
            path: the file.
        """
        self._own.admin.backup(path, replace=True)

    def load(self, path: str) -> None:
        """Read the index from a file, which stays as it is until the next `save`.

        Args:
            path: the file.
        """
        self._opened(Path(path))

    def close(self) -> None:
        """Give back the temporary file. txtai calls this."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _opened(self, source: Path | None = None) -> None:
        self.close()
        self._folder = tempfile.mkdtemp(prefix="scrubjay-txtai-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        working = Path(self._folder) / "scoring.scrubjay"
        if source is not None:
            shutil.copyfile(source, working)
        self._index = Index.open(working, embedder=self._embedder, durability="normal")

    @property
    def _own(self) -> Index:
        if self._index is None:
            raise ClosedError("the scoring index is closed")
        return self._index


def _scored(hits: Iterable[Hit], metric: str) -> list[tuple[Any, float]]:
    """Return numbers with scores that fall, in the order of the search."""
    scored: list[tuple[Any, float]] = []
    before = 1.0
    for hit in hits:
        own = max(similarity(hit, metric), worth(hit), _LEAST)
        before = min(before, own)
        scored.append((hit.id, before))
    return scored

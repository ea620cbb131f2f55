"""A txtai scoring index that ranks by words, identifiers and meaning together, in place of txtai's BM25.

txtai's `Embeddings` takes the class path of a scoring index as `keyword`. txtai keeps content, SQL, graphs, `save` and
`load`; this index finds what is similar to a query, and no model of txtai's is loaded. As `hybrid` it stands beside
txtai's dense index, and txtai fuses the two.

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
from scrubjay.base.errors import ClosedError, MissingExtraError
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Hit, Index

try:
    from txtai.scoring import Scoring
except ImportError:
    raise MissingExtraError("scrubjay.adapters.txtai", "txtai", "txtai") from None

__all__ = ["ScrubjayScoring"]

_OWN = Scope("txtai")
_BATCH = 1000
_LEAST = 1e-6  # txtai drops scores that are not above 0


class ScrubjayScoring(Scoring):  # type: ignore[misc,unused-ignore]
    """txtai's sparse index over a Scrubjay index; created by txtai.

    Args:
        config: txtai's `scoring`, which is saved with the embeddings: ``{"method": class path, "terms": True}``, for
            which ``keyword=class path`` is short; to pass more, give ``keyword=True`` and `scoring`. Our keys are
            `embedder`, how texts are embedded (:func:`embedders.from_spec`; default "default", "none" for words alone),
            and `query`, the settings of a :class:`scrubjay.Query`. Without `terms` txtai would not search it.

    Indexed texts are in a temporary file until `Embeddings.save`, which replaces the saved file atomically: it is
    always the previous or the new one, even if the process is killed. A loaded index is changed in a copy.

    Scores lie between 0 and 1, for txtai's fusion: the greater of the similarity and the worth of the matching words, 1
    for a verbatim identifier, and never more than the score of the previous hit. Thread-safe for searches.

    Raises:
        TypeError, ValueError: the config has no valid embedder or query, or `terms` is missing.
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
        query = as_query(self.config.get("query"))
        self._embedder = from_spec(spec)
        self._query = query.replace(mode="lexical") if self._embedder is None else query
        self._index: Index | None = None
        self._folder: str | None = None
        self._opened()

    # ------------------------------------------------------------------ writing

    def insert(
        self, documents: Iterable[Sequence[Any]], index: int | None = None, checkpoint: Any = None
    ) -> None:
        """Write texts; other data (images, vectors) gets a number but no document, as in txtai's own index.

        Args:
            documents: tuples of (id; text, tokens or mapping with a text; tags).
            index: the number of the first one; None: number them by their ids.
            checkpoint: ignored: indexing is never resumed in the middle.
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
        """Delete documents by their numbers, in one commit; unknown numbers are skipped.

        Args:
            ids: the numbers.
        """
        self._own.delete_many(list(ids), scope=_OWN)

    def weights(self, tokens: Sequence[str]) -> list[float]:
        """Return equal weights: this index does not weigh tokens.

        Args:
            tokens: the tokens of a text.
        """
        return [1.0] * len(tokens)

    # ------------------------------------------------------------------ reading

    def search(self, query: str | Sequence[str], limit: int = 3) -> list[tuple[Any, float]]:
        """Return the numbers of the best documents and their scores, best first.

        Args:
            query: a text, or its tokens.
            limit: the maximum number of documents.
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
            limit: the maximum number of documents for each.
            threads: ignored: a search takes less time than waking a thread.
        """
        return [self.search(query, limit) for query in queries]

    def count(self) -> int:
        """Return the number of documents."""
        return self._own.count(_OWN)

    def issparse(self) -> bool:
        """Return True: the index can be searched."""
        return True

    def isnormalized(self) -> bool:
        """Return True: scores lie between 0 and 1."""
        return True

    def isbayes(self) -> bool:
        """Return False: scores are not probabilities."""
        return False

    # ------------------------------------------------------------------ files

    def save(self, path: str) -> None:
        """Copy the index to a file, atomically.

        Args:
            path: the file.
        """
        self._own.admin.backup(path, replace=True)

    def load(self, path: str) -> None:
        """Read the index from a file, which is unchanged until the next `save`.

        Args:
            path: the file.
        """
        self._opened(Path(path))

    def close(self) -> None:
        """Delete the temporary file. Called by txtai."""
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
    """Return numbers with non-increasing scores, in the order of the search."""
    scored: list[tuple[Any, float]] = []
    before = 1.0
    for hit in hits:
        score = max(similarity(hit, metric), worth(hit), _LEAST)
        before = min(before, score)
        scored.append((hit.id, before))
    return scored

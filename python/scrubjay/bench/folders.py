"""Folders of a corpus, questions and judgements: BEIR's, and judged sets with scopes as `scrubjay tune` reads them.

`corpus.jsonl` has `_id` (or `id`), `text` and optionally `title`; `queries.jsonl` the same; judgements are in
`qrels/SPLIT.tsv` or `qrels.tsv`. Documents and questions may have a scope
(:mod:`scrubjay.retrieval.judged_sets`), documents a time and a turn in `meta`, questions `category`, `answer` and `ts`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay._native import Scope
from scrubjay.base.datafiles import Row, json_lines, json_lines_at
from scrubjay.base.errors import DatasetError
from scrubjay.bench.datasets import Case, Document, Question, Vector
from scrubjay.retrieval.judged_sets import judged_record, judgements


class JudgedFolder:
    """A folder with corpus.jsonl, queries.jsonl and judgements; one case per scope of the questions.

    The corpus stays in the file: only the ids and the offsets of the lines of each scope are in memory. Questions
    without a relevant document are left out, as in BEIR.

    Args:
        path: the folder.
        split: of `qrels/SPLIT.tsv`; None: `qrels.tsv`, or else "test".
        vectors: the NAME of `NAME.docs.npy` and `NAME.queries.npy`, with one row per line.

    Raises:
        DatasetError: this split has no judgements.
    """

    def __init__(self, path: str | Path, *, split: str | None = None, vectors: str | None = None) -> None:
        self.path, self._vectors = Path(path), vectors
        self._qrels = _judgements_file(self.path, split)
        self.name = self.path.resolve().name

    def __iter__(self) -> Iterator[Case]:
        relevant = judgements(self._qrels)
        scopes = self._scopes()
        vectors = self._matrix("docs", sum(len(lines) for lines in scopes.values()))
        by_scope: dict[Scope, list[Question]] = {}
        for scope, question in self._questions(relevant):
            by_scope.setdefault(scope, []).append(question)
        for scope, questions in by_scope.items():
            visible = [scopes[partition] for partition in scope.visible() if partition in scopes]
            self._check(scope, questions, visible)
            lines = sorted(line for some in visible for line in some.places())
            documents = _Documents(self.path / "corpus.jsonl", lines, vectors)
            yield Case(_name_of(scope), documents, tuple(questions))

    def _scopes(self) -> dict[Scope, _Lines]:
        scopes: dict[Scope, _Lines] = {}
        for place, row in enumerate(json_lines(self.path / "corpus.jsonl")):
            record = judged_record(row)
            lines = scopes.setdefault(record["scope"], _Lines())
            if record["id"] in lines.ids:
                raise row.error("id", "another one for each document", record["id"])
            lines.add(place, row, record["id"])
        return scopes

    def _questions(self, relevant: dict[str, dict[str, float]]) -> Iterator[tuple[Scope, Question]]:
        rows = [(row, judged_record(row)) for row in json_lines(self.path / "queries.jsonl")]
        vectors = self._matrix("queries", len(rows))
        ids = {record["id"] for _, record in rows}
        if unknown := sorted(relevant.keys() - ids):
            raise DatasetError(f"{unknown[0]!r} is judged but not in queries.jsonl", self._qrels)
        for place, (row, record) in enumerate(rows):
            if record["id"] in relevant:
                answer = row.value.get("answer")
                yield (
                    record["scope"],
                    Question(
                        record["id"],
                        record["text"],
                        row.optional_text("category") or "",
                        relevant[record["id"]],
                        () if answer is None else (str(answer),),
                        _time(record),
                        _vector(row, vectors, place),
                    ),
                )

    def _check(self, scope: Scope, questions: list[Question], visible: list[_Lines]) -> None:
        ids: set[str] = set().union(*(lines.ids for lines in visible))
        if len(ids) < sum(len(lines) for lines in visible):
            raise DatasetError(
                f"{scope!r} sees two documents with one id; expected distinct ids",
                self.path / "corpus.jsonl",
            )
        for question in questions:
            if unknown := sorted(question.relevant.keys() - ids):
                raise DatasetError(
                    f"{unknown[0]!r} is relevant for {question.id!r}, but is not a visible document of corpus.jsonl",
                    self._qrels,
                )

    def _matrix(self, end: str, n_rows: int) -> Vector | None:
        if self._vectors is None:
            return None
        file = self.path / f"{self._vectors}.{end}.npy"
        try:
            matrix: Vector = np.load(file, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise DatasetError(f"expected an array of NumPy: {error}", file) from None
        if matrix.ndim != 2 or len(matrix) != n_rows:
            raise DatasetError(f"expected {n_rows} rows, got shape {matrix.shape}", file)
        return matrix


class _Lines:
    """The lines of a file that belong to one scope."""

    def __init__(self) -> None:
        self._places, self._offsets, self._numbers = array("Q"), array("Q"), array("Q")
        self.ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: int, row: Row, id: str) -> None:
        """Append the line of a row, the `place`-th non-empty one."""
        self.ids.add(id)
        self._places.append(place)
        self._offsets.append(row.offset)
        self._numbers.append(row.line)

    def places(self) -> Iterator[tuple[int, int, int]]:
        """Yield index, offset and line number of each line."""
        return zip(self._places, self._offsets, self._numbers, strict=True)


@dataclass(frozen=True)
class _Documents:
    """The documents at some lines; each iteration reads them again."""

    file: Path
    lines: list[tuple[int, int, int]]
    vectors: Vector | None

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Document]:
        rows = json_lines_at(self.file, ((offset, number) for _, offset, number in self.lines))
        for (place, _, _), row in zip(self.lines, rows, strict=True):
            record = judged_record(row)
            yield Document(
                record["id"],
                record["text"],
                _time(record),
                record.get("metadata", {}),
                _vector(row, self.vectors, place),
            )


def _time(record: Mapping[str, Any]) -> str | None:
    at = record.get("created_at")
    return None if at is None else at.isoformat()


def _vector(row: Row, matrix: Vector | None, place: int) -> Vector | None:
    vector: Any = row.value.get("vector") if matrix is None else matrix[place]
    if vector is None:
        return None
    try:
        return np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError):
        raise row.error("vector", "numbers", vector) from None


def _judgements_file(folder: Path, split: str | None) -> Path:
    given = folder / "qrels" / f"{split or 'test'}.tsv"
    plain = folder / "qrels.tsv"
    if split is None and plain.is_file():
        return plain
    if not given.is_file():
        there = sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))
        raise DatasetError(
            f"expected judgements in {given.relative_to(folder)} or qrels.tsv; there "
            + (f"are splits {', '.join(there)}" if there else "are none"),
            folder,
        )
    return given


def _name_of(scope: Scope) -> str:
    return "/".join(part for part in (scope.user, scope.agent) if part) or "all"

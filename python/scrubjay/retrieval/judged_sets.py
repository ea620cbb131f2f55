"""Judged sets: questions with the memories that answer them, from a folder or from an index's feedback.

A judged set is a folder with

- `corpus.jsonl`: id (or _id) and text of each memory, optionally title, scope, vector, time (`created_at`, or `ts` of
  `meta`) and turn (`session`, `turn` and `speaker` of `meta`),
- `queries.jsonl`: id (or _id) and text of each question, optionally scope, vector and time (`ts`),
- `qrels.tsv`: question, memory and judgement (above 0: relevant), separated by tabs; TREC's four columns and a header
  line are accepted, too.

A scope is a mapping of tenant, user and agent, or a name: each name is a user of the tenant "judged". It may also be in
`meta` or `metadata` of a row. If several memories have the id of a judgement, the most specific one that the question's
scope sees is meant. Vectors may be in `NAME.docs.npy` and `NAME.queries.npy`, one row per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Scope
from scrubjay.base.datafiles import Row, json_lines, tab_lines
from scrubjay.base.errors import DatasetError
from scrubjay.documents.payload import to_utc
from scrubjay.documents.records import as_scope
from scrubjay.index import Index

_TENANT = "judged"

Key = tuple[Scope, str | int]


@dataclass(frozen=True)
class JudgedQuery:
    """A question, its scope, and the keys of the memories that answer it: pairs of exact scope and id.

    >>> JudgedQuery("oak", Scope("acme"), frozenset(["m1"]))
    Traceback (most recent call last):
    ...
    TypeError: relevant: expected pairs of scrubjay.Scope and id, got 'm1'
    """

    text: str
    scope: Scope
    relevant: frozenset[Key]
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """A vector in place of the text's embedding."""
    asked_at: datetime | None = field(default=None, compare=False)
    """From when "yesterday" and the like are counted; None: from the time of the search."""

    def __post_init__(self) -> None:
        for key in self.relevant:
            if not isinstance(key, tuple) or len(key) != 2 or not isinstance(key[0], Scope):
                raise TypeError(f"relevant: expected pairs of scrubjay.Scope and id, got {key!r}")


@dataclass(frozen=True)
class JudgedSet:
    """The memories of a judged set, in the form that `Index.upsert_many` takes, and its judged questions."""

    records: list[dict[str, Any]]
    queries: list[JudgedQuery]


def read_judged(folder: str | Path, vectors: str | None = None) -> JudgedSet:
    """Read a judged set; questions without a relevant memory are left out. The time of a question is its own, or else
    that of the last memory of its scope.

    Args:
        folder: contains corpus.jsonl, queries.jsonl and qrels.tsv.
        vectors: the NAME of `NAME.docs.npy` and `NAME.queries.npy`.

    Raises:
        FileNotFoundError: one of the files is missing.
        DatasetError: a line is invalid; the message names file and line.
    """
    path = Path(folder)
    documents = [judged_record(row) for row in json_lines(path / "corpus.jsonl")]
    questions = [judged_record(row) for row in json_lines(path / "queries.jsonl")]
    parts = {"docs": documents, "queries": questions}
    if vectors is not None:
        for end, rows in parts.items():
            file = path / f"{vectors}.{end}.npy"
            matrix = np.load(file, allow_pickle=False)
            if matrix.ndim != 2 or len(matrix) != len(rows):
                raise ValueError(f"{file}: expected {len(rows)} rows, got shape {matrix.shape}")
            for row, vector in zip(rows, matrix.astype(np.float32), strict=True):
                row["vector"] = vector
    relevant = judgements(path / "qrels.tsv")
    scopes: dict[str, dict[Scope, None]] = {}
    last: dict[Scope, datetime] = {}
    for row in documents:
        scopes.setdefault(row["id"], {})[row["scope"]] = None
        if (at := row.get("created_at")) is not None:
            last[row["scope"]] = max(at, last.get(row["scope"], at))
    queries = []
    for row in questions:
        answers = relevant.get(row["id"], {}).keys()
        if unknown := sorted(answers - scopes.keys()):
            raise DatasetError(f"{unknown[0]!r} is judged but not in corpus.jsonl", path / "qrels.tsv")
        if answers:
            vector = row.get("vector")
            queries.append(
                JudgedQuery(
                    row["text"],
                    row["scope"],
                    frozenset((_judged_scope(row["scope"], scopes[id]), id) for id in answers),
                    None if vector is None else np.asarray(vector, dtype=np.float32),
                    row.get("created_at") or last.get(row["scope"]),
                )
            )
    return JudgedSet(documents, queries)


def from_feedback(index: Index, scope: Scope | None = None) -> list[JudgedQuery]:
    """Make judged questions from what :meth:`Index.feedback` recorded: a memory that was used answers the question.

    Equal questions of the same scope are merged; of several records for one memory the last counts. Questions without a
    used memory are left out. Feedback covers only what was shown: memories that the ranking did not find are taken to
    be irrelevant, which favours that ranking.

    Args:
        index: with the feedback, in memory or in a file.
        scope: only feedback from this scope and those within it; None: everything.

    >>> from scrubjay import Index
    >>> index, jane = Index(), Scope("acme", user="jane")
    >>> index.upsert("m1", "Prefers trains to planes.", scope=jane)
    >>> index.feedback(index.search("train", scope=jane)[0], query="train", scope=jane)
    True
    >>> [(query.text, query.scope == jane, *query.relevant) for query in from_feedback(index)]
    [('train', True, (Scope('acme', user='jane'), 'm1'))]
    """
    judged: dict[tuple[str, Scope], dict[Key, bool]] = {}
    asked_at: dict[tuple[str, Scope], float] = {}
    for note in index.admin.feedbacks(scope):
        if note.query is not None and note.query.strip():
            judged.setdefault((note.query, note.scope), {})[note.document_scope, note.id] = note.used
            asked_at[note.query, note.scope] = note.at
    queries = []
    for question, notes in judged.items():
        relevant = frozenset(key for key, used in notes.items() if used)
        if relevant:
            queries.append(JudgedQuery(*question, relevant, asked_at=to_utc(asked_at[question])))
    return queries


def _judged_scope(asker: Scope, scopes: Mapping[Scope, None]) -> Scope:
    """Return the scope of the judged id; any one if the question's scope sees none of them, since it cannot be
    found."""
    seen = sorted(asker.visible(), key=lambda scope: (scope.user is None, scope.agent is None))
    return next((scope for scope in seen if scope in scopes), next(iter(scopes)))


def judged_record(row: Row) -> dict[str, Any]:
    """Return id, text, scope and, if present, vector, time and turn of a line of corpus.jsonl or queries.jsonl."""
    title, text = row.value.get("title"), row.text("text")
    record: dict[str, Any] = {
        "id": row.text("id", "_id"),
        "text": f"{title} {text}" if isinstance(title, str) and title else text,
        "scope": _scope(row),
    }
    if row.value.get("vector") is not None:
        record["vector"] = row.value["vector"]
    meta = row.value.get("meta") or row.value.get("metadata") or {}
    if not isinstance(meta, Mapping):
        raise row.error("meta", "an object", meta)
    for fields, name in ((row.value, "created_at"), (row.value, "ts"), (meta, "ts")):
        if fields.get(name) is not None:
            try:
                record["created_at"] = to_utc(fields[name], name)
            except (TypeError, ValueError) as error:
                raise DatasetError(str(error), row.path, row.line) from None
            break
    if turn := turn_of(meta):
        record["metadata"] = turn
    return record


def turn_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return `run`, `position` and `speaker` if a judged set has all three, else nothing."""
    if not {"session", "turn", "speaker"} <= meta.keys():
        return {}
    return {"run": meta["session"], "position": meta["turn"], "speaker": meta["speaker"]}


def judgements(path: Path) -> dict[str, dict[str, float]]:
    """Return the relevant documents of each question in a file of judgements, with their grades.

    Raises:
        FileNotFoundError: the file does not exist.
        DatasetError: a line is not question, document and judgement.
    """
    relevant: dict[str, dict[str, float]] = {}
    for number, cells in tab_lines(path):
        fields = cells
        if len(cells) == 4:  # TREC: question, iteration, document, judgement
            fields = [cells[0], *cells[2:]]
        try:
            query, document, judgement = fields
            grade = float(judgement)
        except ValueError:
            if number == 1 and len(fields) == 3:  # a header line
                continue
            raise DatasetError(
                "expected question, document and judgement with tabs between, got " + repr("\t".join(cells)),
                path,
                number,
            ) from None
        if grade > 0:
            relevant.setdefault(query, {})[document] = grade
    return relevant


def _scope(row: Row) -> Scope:
    for place in (row.value, row.value.get("meta"), row.value.get("metadata")):
        if not isinstance(place, Mapping):
            continue
        scope = place.get("scope")
        try:
            if isinstance(scope, str) and scope:
                return Scope(_TENANT, user=scope)
            if isinstance(scope, Mapping):
                return as_scope(scope)
            if place.get("tenant"):
                return Scope(place["tenant"], place.get("user") or None, place.get("agent") or None)
        except (TypeError, ValueError) as error:
            raise DatasetError(str(error), row.path, row.line) from None
    return Scope(_TENANT)

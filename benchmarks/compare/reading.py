"""Many hits with their texts, filters, and long questions, beside bm25s and Tantivy, in one run.

    python -m benchmarks.compare reading [--quick] [--size N] [--n-queries N] [--json FILE]

Every engine ranks the same terms of the same texts by BM25, and id, score and text of each hit are read: for Scrubjay
hit by hit, in a second column from the three columns of the result, and in a third not at all. Scrubjay is called
through `Index.search`, with the question as text and correction of unknown words; the peers get finished terms and have
the texts in a list. Filters are given as values, and converted to each engine's form within the measured time: a mask
for bm25s, a query over an indexed field for Tantivy. Exit code 1 if an answer of Scrubjay differs from the formula's,
over the documents that the filter admits.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare import exact, lexical, lexical_engines, machine, tables, texts, timing, workload
from benchmarks.compare.workload import Query, Terms
from benchmarks.micro import filters

NAMES = ("scrubjay", "bm25s", "tantivy")
COLUMNS, UNREAD = "scrubjay, columns", "scrubjay, unread"
N_PASSES = 3
ASKED: tuple[tuple[str, int, str], ...] = tuple(
    (filter, k, kind)
    for kind in ("w6", "w100", "w200")
    for filter, k in (
        ("none", 10),
        ("none", 100),
        ("none", 1_000),
        ("number 50%", 10),
        ("$in of 500, 50%", 10),
        ("$in of 500 numbers, 50%", 10),
        ("$in of 500 numbers, 50%", 1_000),
    )
)
"""Filter (benchmarks.micro.filters), k, and kind of question of each row."""


@dataclass(frozen=True)
class Documents:
    """The documents of every engine."""

    texts: Sequence[str]
    terms: Terms
    metadata: Sequence[dict[str, Any]]

    def column(self, field: str) -> NDArray[Any]:
        """Return one field of all documents."""
        return np.array([one[field] for one in self.metadata])


class Columns:
    """The fields as a user of bm25s would store them: numbers, and codes for texts, which NumPy compares slowly."""

    def __init__(self, documents: Documents) -> None:
        self._numbers = {field: documents.column(field) for field in ("n", "room")}
        texts, codes = np.unique(documents.column("session"), return_inverse=True)
        self._code_of = {text: code for code, text in enumerate(texts.tolist())}
        self._numbers["session"] = codes

    def admitted(self, filter: dict[str, Any] | None) -> NDArray[np.bool_] | None:
        """Return the mask of the documents that a filter on one field admits; None: all."""
        if filter is None:
            return None
        ((field, condition),) = filter.items()
        if "$in" not in condition:
            below: NDArray[np.bool_] = self._numbers[field] < condition["$lt"]
            return below
        values = condition["$in"]
        if field == "session":
            values = [self._code_of[text] for text in values if text in self._code_of]
        mask: NDArray[np.bool_] = np.isin(self._numbers[field], values)
        return mask


class Scrubjay:
    """The public call."""

    def __init__(self, documents: Documents) -> None:
        import scrubjay

        self._index, self._scope = scrubjay.Index(k1=1.2, b=0.75), scrubjay.Scope("benchmark")
        self._query = scrubjay.Query(mode="lexical")
        self._as_typed = scrubjay.Query(mode="lexical", spelling=False)
        rows = zip(documents.texts, documents.metadata, strict=True)
        records = [{"id": n, "text": text, "metadata": one} for n, (text, one) in enumerate(rows)]
        self._index.upsert_many(records, scope=self._scope, progress=False)

    def unread(self, query: Query, k: int, filter: Any) -> Any:
        return self._index.search(query.text, scope=self._scope, k=k, filter=filter, query=self._query)

    def read(self, query: Query, k: int, filter: Any) -> Any:
        return [(hit.id, hit.score, hit.text) for hit in self.unread(query, k, filter)]

    def columns(self, query: Query, k: int, filter: Any) -> Any:
        hits = self.unread(query, k, filter)
        return list(zip(hits.ids.tolist(), hits.scores.tolist(), hits.texts, strict=True))

    def found(self, query: Query, k: int, filter: Any) -> list[tuple[Any, float]]:
        """Search the terms as typed: what the formula gets."""
        hits = self._index.search(query.text, scope=self._scope, k=k, filter=filter, query=self._as_typed)
        return [(hit.id, hit.score) for hit in hits]


class Bm25s(lexical_engines.Bm25s):
    """With a mask made from columns."""

    def __init__(self, documents: Documents) -> None:
        super().__init__()
        self.build(documents.texts, documents.terms)
        self._texts = documents.texts
        self._columns = Columns(documents)

    def read(self, query: Query, k: int, filter: Any) -> Any:
        mask = self._columns.admitted(filter)
        numbers, scores = self.index.retrieve(
            [list(query.words)],
            k=min(k, self._n),
            show_progress=False,
            n_threads=1,
            weight_mask=None if mask is None else mask.astype(np.float32),
        )
        pairs = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
        return [(number, score, self._texts[number]) for number, score in pairs if score > 0]


class Tantivy:
    """With indexed fields, one segment; a filter is a required clause that does not score."""

    def __init__(self, documents: Documents) -> None:
        import tantivy

        self._tantivy, self._texts = tantivy, documents.texts
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="plain", index_option="freq")
        builder.add_text_field("session", stored=False, tokenizer_name="raw", index_option="basic")
        builder.add_integer_field("number", stored=False, fast=True)
        builder.add_integer_field("room", stored=False, indexed=True, fast=True)
        builder.add_float_field("n", stored=False, indexed=True, fast=True)
        self._schema = builder.build()
        self.index = tantivy.Index(self._schema)
        plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self.index.register_tokenizer("plain", plain)
        writer = self.index.writer(heap_size=lexical_engines.TANTIVY_HEAP_BYTES, num_threads=1)
        for number, one in enumerate(documents.metadata):
            document = tantivy.Document(text=[documents.terms.line(number)], session=[one["session"]])
            document.add_integer("number", number)
            document.add_integer("room", one["room"])
            document.add_float("n", one["n"])
            writer.add_document(document)
        writer.commit()
        self.index.reload()
        self._searcher = self.index.searcher()

    def _clause(self, filter: dict[str, Any]) -> Any:
        make = self._tantivy.Query
        ((field, condition),) = filter.items()
        if "$in" in condition:
            admitting = make.term_set_query(self._schema, field, condition["$in"])
        else:
            kind = self._tantivy.FieldType.Float
            admitting = make.range_query(
                self._schema, field, kind, 0.0, condition["$lt"], include_upper=False
            )
        return make.const_score_query(admitting, 0.0)

    def read(self, query: Query, k: int, filter: Any) -> Any:
        make, occur = self._tantivy.Query, self._tantivy.Occur
        words = [(occur.Should, make.term_query(self._schema, "text", word, "freq")) for word in query.words]
        asked = make.boolean_query(words)
        if filter is not None:
            asked = make.boolean_query([(occur.Must, asked), (occur.Must, self._clause(filter))])
        hits = self._searcher.search(asked, limit=k, count=False).hits
        numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
        return [(n, score, self._texts[n]) for n, (score, _) in zip(numbers, hits, strict=True)]


ENGINES: dict[str, Callable[[Documents], Any]] = {"scrubjay": Scrubjay, "bm25s": Bm25s, "tantivy": Tantivy}


def of_query(call: Callable[[Query, int, Any], Any], k: int, filter: Any) -> Callable[[Query], Any]:
    return lambda query: call(query, k, filter)


def n_different(
    engine: Scrubjay,
    queries: Sequence[Query],
    k: int,
    filter: Any,
    own: exact.Exhaustive,
    documents: Documents,
) -> int:
    """Return the number of answers that differ from the formula's: documents, order, scores to the last bit."""
    mask, n = Columns(documents).admitted(filter), 0
    for query in queries:
        scores = own.scores(query) if mask is None else own.scores(query) * mask
        best = exact.best(scores, k)
        right = list(zip(best.tolist(), scores[best].tolist(), strict=True))
        n += engine.found(query, k, filter) != right
    return n


def measure(
    documents: Documents, queries: Mapping[str, Sequence[Query]], names: Sequence[str], n_checked: int
) -> dict[str, Any]:
    """Return the rows of the table; engines take turns, pass by pass."""
    own = exact.Exhaustive(documents.terms)
    engines = {name: ENGINES[name](documents) for name in names}
    calls = {name: engine.read for name, engine in engines.items()}
    if "scrubjay" in engines:
        calls |= {COLUMNS: engines["scrubjay"].columns, UNREAD: engines["scrubjay"].unread}
    rows = []
    for filter_name, k, kind in ASKED:
        filter = filters.FILTERS[filter_name]
        passes: dict[str, list[Any]] = {name: [] for name in calls}
        for _ in range(N_PASSES):
            for name, call in calls.items():
                passes[name].append(timing.time_calls(of_query(call, k, filter), queries[kind]))
        row: dict[str, Any] = {"filter": filter_name, "k": k, "kind": kind}
        row["engines"] = {name: timing.percentiles_us(each) for name, each in passes.items()}
        if "scrubjay" in engines:
            checked = queries[kind][:n_checked]
            row["different"] = n_different(engines["scrubjay"], checked, k, filter, own, documents)
        rows.append(row)
        lexical.say(line(row))
    return {"documents": len(documents.texts), "rows": rows}


def ratio(row: dict[str, Any]) -> float | None:
    """Return the better of the peers' p50 over Scrubjay's."""
    found = row["engines"]
    rivals = [found[name]["p50"] for name in found if not name.startswith("scrubjay")]
    return min(rivals) / found["scrubjay"]["p50"] if rivals and "scrubjay" in found else None


def line(row: dict[str, Any]) -> str:
    shown = ", ".join(f"{name} {tables.pair(facts)}" for name, facts in row["engines"].items())
    return f"  {row['filter']}, k = {row['k']}, {row['kind']}: {shown}"


def page(report: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    names = list(report["rows"][0]["engines"])
    head = ["words", "filter", "k", *names, "better peer, times"]
    body = []
    for row in report["rows"]:
        times = ratio(row)
        cells = [row["kind"][1:], row["filter"], f"{row['k']:,}"]
        cells += [tables.pair(row["engines"][name]) for name in names]
        body.append([*cells, "" if times is None else f"{times:.1f}"])
    note = f"{report['documents']:,} documents, p50 / p95 us, ids, scores and texts of the hits read."
    return f"{note}\n\n{tables.table(head, body)}"


def main(arguments: Sequence[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare reading", description=about)
    parser.add_argument("--quick", action="store_true", help="few documents and questions: does it run?")
    parser.add_argument("--size", type=int, default=30_000, help="documents (default 30,000)")
    parser.add_argument("--n-queries", type=int, default=300, help="questions of each kind (default 300)")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    options = parser.parse_args(arguments)
    size, n_queries = (2_000, 8) if options.quick else (options.size, options.n_queries)
    core = machine.pin(None)
    source = texts.source(use_system=False) if options.quick else texts.changelogs()
    drawn, numbers = workload.documents(source, size), random.Random(0)
    documents = Documents(drawn, workload.terms_of(drawn), [filters.attributes(numbers) for _ in drawn])
    _, held_out = workload.shuffled(source, 0)
    kinds = {kind for _, _, kind in ASKED}
    queries = {kind: workload.queries(kind, n_queries, held_out, documents.terms) for kind in sorted(kinds)}
    names, missing = lexical.installed(NAMES)
    report = measure(documents, queries, names, n_checked=4 if options.quick else 20)
    report |= {"benchmark": "reading", "machine": {**machine.describe(), "core": core}, "missing": missing}
    print(page(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    wrong = [row for row in report["rows"] if row.get("different")]
    for row in wrong:
        lexical.say(
            f"NOT EXACT: {row['different']} answers of {row['filter']}, k = {row['k']}, {row['kind']}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

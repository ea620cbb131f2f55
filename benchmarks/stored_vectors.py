"""What each way of storing vectors costs and loses: `python -m benchmarks.stored_vectors [--json FILE] [--quick]`.

For real embeddings of the judged sets (if present) and clustered ones of more dimensions, in one scope of 10,000: bytes
a vector in memory, recall@10 of the neighbours by the given float32 vectors, p50 and p95 of a vector search in
microseconds (the types in turn), and bytes a document of an index in a file after its image was written. Then the mean
nDCG@10 of the default search over the judged sets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import recording, vectors
from benchmarks.quality import metrics
from benchmarks.quality.judged import VECTOR_SETS, data_folder, judged_sets
from benchmarks.quality.rankers import asked_then, native_engine, native_scope
from scrubjay import Engine, Index, Query, Scope

DTYPES = ("f16", "f32", "i8")
SYNTHETIC_DIMS = (768, 1536, 3072)
ASKED = Query(mode="vector")
ACME = Scope("acme")
K = 10


def data(n: int, n_questions: int) -> dict[str, tuple[vectors.Floats, vectors.Floats]]:
    """Return (documents, questions) by name."""
    found = {}
    for dim, name in vectors.REAL_SETS.items():
        if pair := vectors.real(dim):
            found[f"{name}, {dim}"] = (pair[0][:n], pair[1][:n_questions])
    for dim in SYNTHETIC_DIMS:
        rows = vectors.clustered(n, dim)
        found[f"clustered, {dim}"] = (rows, vectors.near(rows[:: max(1, n // n_questions)], seed=1))
    return found


def filled(dtype: Any, rows: vectors.Floats) -> Engine:
    engine = Engine(rows.shape[1], dtype=dtype)
    engine.upsert_many(list(range(len(rows))), ["oak"] * len(rows), scope=ACME, vectors=rows)
    return engine


def ask(engine: Engine, question: vectors.Floats) -> list[Any]:
    return list(engine.search(vector=question, scope=ACME, k=K, query=ASKED).ids)


def file_bytes(dtype: Any, rows: vectors.Floats) -> float:
    """Return the bytes of a document with a one-word text, its row and its part of the image."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.scrubjay"
        with Index.open(path, dim=rows.shape[1], dtype=dtype, durability="normal") as index:
            index.upsert_many(
                [{"id": id, "text": "oak", "vector": row} for id, row in enumerate(rows)],
                scope=ACME,
                progress=False,
            )
            index.search("oak", scope=ACME)
        return path.stat().st_size / len(rows)


def measured(rows: vectors.Floats, questions: vectors.Floats) -> dict[str, dict[str, float]]:
    """Return the figures by type."""
    right = vectors.exact_neighbours(rows, questions, K)
    engines = {dtype: filled(dtype, rows) for dtype in DTYPES}
    times = recording.interleaved(
        {dtype: partial(ask, engine) for dtype, engine in engines.items()}, list(questions)
    )
    return {
        dtype: {
            "bytes": engine.stats()["vector_bytes"] / len(rows),
            "recall": vectors.recall([ask(engine, question) for question in questions], right),
            "p50": times[dtype]["p50"],
            "p95": times[dtype]["p95"],
            "file bytes": file_bytes(dtype, rows),
        }
        for dtype, engine in engines.items()
    }


def quality() -> dict[str, dict[str, float]]:
    """Return the mean nDCG@10 of the default search by model and type, over all judged sets."""
    sets = judged_sets(data_folder(None))
    return {
        model: {dtype: sum(_ndcg(one, model, dtype) for one in sets) / len(sets) for dtype in DTYPES if sets}
        for model in VECTOR_SETS
    }


def _ndcg(judged: Any, model: str, dtype: Any) -> float:
    engine, rows = native_engine(judged, model, dtype=dtype), judged.query_vectors(model)
    total = 0.0
    for one in judged.queries:
        found = engine.search(
            one.text, vector=rows[one.row], scope=native_scope(one.scope), k=K, query=asked_then(Query(), one)
        )
        total += metrics.ndcg(list(found.ids), one.relevant)
    return total / len(judged.queries)


def main(arguments: list[str] | None = None) -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stored_vectors", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="a smoke test: 300 vectors, no judged sets")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {}
    print(
        "| vectors | type | bytes | recall@10 | p50 / p95 us | file bytes |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, (rows, questions) in data(*((300, 10) if options.quick else (10_000, 500))).items():
        report[name] = measured(rows, questions)
        for dtype, each in report[name].items():
            print(
                f"| {name} | {dtype} | {each['bytes']:,.0f} | {each['recall']:.4f} | "
                f"{each['p50']:.1f} / {each['p95']:.1f} | {each['file bytes']:,.0f} |"
            )
    if not options.quick and (found := quality()) and all(found.values()):
        report["nDCG@10"] = found
        print("\n| nDCG@10 | " + " | ".join(DTYPES) + " |\n" + "| --- " * (1 + len(DTYPES)) + "|")
        for model, each in found.items():
            print(f"| {model} | " + " | ".join(f"{each[dtype]:.4f}" for dtype in DTYPES) + " |")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

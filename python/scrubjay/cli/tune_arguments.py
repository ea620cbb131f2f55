"""The arguments of `scrubjay tune`."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_force, add_scope_part, command_of, positive

_TUNE = """\
SOURCE is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or an index file with recorded feedback
(Index.feedback). Every setting answers every question: fusions, weights, signals, k1 and b of BM25, and
with --reranker depths of reranking. The choice is cross-validated against the default; --out gets
the query of the choice if its gain is beyond noise, else the default. Read it with
scrubjay.fusion.load(FILE), or with search --fusion FILE."""


def add_tune(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `scrubjay tune`."""
    parser = command_of(commands, "tune", "find the settings that rank best for judged questions", _TUNE)
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("--out", metavar="FILE.json", help="write the settings to this new file")
    add_force(parser)
    parser.add_argument(
        "--winner", action="store_true", help="write the choice even if its gain is within noise"
    )
    parser.add_argument("--metric", choices=("ndcg@10", "recall@5", "recall@10", "mrr@10"), default="ndcg@10")
    parser.add_argument(
        "--folds", type=positive, default=5, metavar="N", help="folds of cross-validation (default: 5)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the folds and of resampling (default: 0)"
    )
    parser.add_argument(
        "--candidates", type=positive, metavar="N", help="candidates of each ranking (default: 100)"
    )
    parser.add_argument(
        "--rows", type=positive, default=12, metavar="N", help="rows of the table (default: 12)"
    )
    parser.add_argument(
        "--vectors",
        metavar="NAME",
        help="use NAME.docs.npy and NAME.queries.npy in the folder, in place of an embedder",
    )
    parser.add_argument(
        "--reranker",
        metavar="FOLDER",
        help="folder with model.onnx and tokenizer.json of a cross-encoder to try",
    )
    parser.add_argument(
        "--depths",
        type=_depths,
        default=(10, 20, 50),
        metavar="N,...",
        help="numbers of best hits to rerank (default: 10,20,50)",
    )
    parser.add_argument("--collection", metavar="NAME", help="collection of the index file")
    group = parser.add_argument_group("scope: only feedback from scopes within it")
    for name in ("tenant", "user", "agent"):
        add_scope_part(group, name, "default: any")
    add_common(parser, k=None)


def _depths(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in text.split(","))

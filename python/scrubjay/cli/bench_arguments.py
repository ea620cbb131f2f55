"""The arguments of `scrubjay bench`."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_force, command_of, count, positive

_BENCH = """\
SOURCE is a data set as its project publishes it: a BEIR folder (corpus.jsonl, queries.jsonl, qrels), LoCoMo's or
LongMemEval's JSON, MemoryAgentBench's Parquet or JSON, or a folder as `scrubjay tune` reads it. Every question is
asked from its own history; recall, nDCG and MRR are means over the questions with judged documents, answer@k is
the share of questions of which an accepted answer stands in what was found. Times are those of a search with ids
and texts read; embedding the question stands beside them."""


def add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bench`."""
    parser = command_of(
        commands, "bench", "measure retrieval, by category, on a public data set of questions", _BENCH
    )
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument(
        "--format",
        choices=("beir", "judged", "locomo", "longmemeval", "memoryagentbench"),
        help="default: what the files look like",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="cases (histories, conversations) at most"
    )
    parser.add_argument(
        "--passes", type=count, default=3, metavar="N", help="timed searches of each question (default: 3)"
    )
    parser.add_argument(
        "--mode", choices=("hybrid", "lexical", "vector"), default="hybrid", help="default: hybrid"
    )
    parser.add_argument(
        "--fusion",
        default="auto",
        metavar="NAME",
        help="auto, rrf, rrf:K, weighted, boost, production, or a file of settings (default: auto)",
    )
    parser.add_argument("--split", metavar="NAME", help="of qrels/NAME.tsv (default: test)")
    parser.add_argument(
        "--vectors", metavar="NAME", help="of NAME.docs.npy and NAME.queries.npy, in place of an embedder"
    )
    parser.add_argument(
        "--granularity", choices=("turn", "session"), help="of LongMemEval's documents (default: turn)"
    )
    parser.add_argument(
        "--roles",
        nargs="+",
        choices=("user", "assistant"),
        help="whose turns of LongMemEval are documents (default: both; the paper: user)",
    )
    parser.add_argument(
        "--chunk-words", type=positive, metavar="N", help="of MemoryAgentBench's documents (default: 400)"
    )
    parser.add_argument(
        "--sources", nargs="+", metavar="NAME", help="of MemoryAgentBench's rows, by their beginning"
    )
    parser.add_argument(
        "--answerer",
        metavar="MODULE:FUNCTION",
        help="called with each question and what was found; gives answers",
    )
    parser.add_argument(
        "--hypotheses",
        metavar="FILE.jsonl",
        help="write the answers there, as LongMemEval's evaluation reads them",
    )
    add_force(parser)
    add_common(parser, k=10)

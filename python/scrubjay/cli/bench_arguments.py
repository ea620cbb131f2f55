"""The arguments of `scrubjay bench`."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_force, command_of, count, positive

_BENCH = """\
SOURCE is a data set in its published form: a BEIR folder (corpus.jsonl, queries.jsonl, qrels), LoCoMo's or
LongMemEval's JSON, MemoryAgentBench's Parquet or JSON, or a folder for `scrubjay tune`. Every question is asked
of its own history; recall, nDCG and MRR are means over the questions with judged documents, answer@k is the
fraction of questions for which a found text contains an accepted answer. Times are those of a search, including
reading ids and texts; embedding the question is reported separately."""


def add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bench`."""
    parser = command_of(
        commands, "bench", "measure retrieval, by category, on a public data set of questions", _BENCH
    )
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument(
        "--format",
        choices=("beir", "judged", "locomo", "longmemeval", "memoryagentbench"),
        help="default: detected from the files",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="maximum number of cases (histories, conversations)"
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
    parser.add_argument("--split", metavar="NAME", help="use qrels/NAME.tsv (default: test)")
    parser.add_argument(
        "--vectors", metavar="NAME", help="use NAME.docs.npy and NAME.queries.npy, in place of an embedder"
    )
    parser.add_argument(
        "--granularity",
        choices=("turn", "session"),
        help="granularity of LongMemEval's documents (default: turn)",
    )
    parser.add_argument(
        "--roles",
        nargs="+",
        choices=("user", "assistant"),
        help="speakers whose turns of LongMemEval are documents (default: both; the paper: user)",
    )
    parser.add_argument(
        "--chunk-words",
        type=positive,
        metavar="N",
        help="length of MemoryAgentBench's documents (default: 400)",
    )
    parser.add_argument(
        "--sources", nargs="+", metavar="NAME", help="prefixes of the sources of MemoryAgentBench's rows"
    )
    parser.add_argument(
        "--answerer",
        metavar="MODULE:FUNCTION",
        help="called with each question and the documents found; returns an answer",
    )
    parser.add_argument(
        "--hypotheses",
        metavar="FILE.jsonl",
        help="write the answers to this file, for LongMemEval's evaluation",
    )
    add_force(parser)
    add_common(parser, k=10)

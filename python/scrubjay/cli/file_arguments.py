"""The arguments of the commands that read files of memories: demo, search, index, import, stats."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_filter, add_force, add_scope, command_of, positive

_INDEX = """

A single FILE may also be an index, created by Index.open() or `scrubjay index --out`; it is opened read-only."""

_FILES = """\
FILE is any input of `scrubjay add` (see its help): JSON Lines, CSV, Markdown, exports of chats, a folder or zip archive
of these, or - for JSON Lines on standard input. A record with a scope keeps it; the others get the scope of --tenant,
--user and --agent, which is also the scope of the search."""


def add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `scrubjay demo`."""
    demo = command_of(
        commands, "demo", "search a sample of agent memories, comparing the kinds of search", ""
    )
    demo.add_argument("--ask", metavar="TEXT", help="a question in place of the prepared ones")
    add_scope(demo, tenant="acme", user="jane")
    add_common(demo, k=3)


def add_file_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add search, index, import and stats."""
    _add_search(commands)
    _add_index(commands)
    _add_import(commands)
    _add_stats(commands)


def _add_search(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    search = command_of(
        commands,
        "search",
        "search an index in a file, or files, for one question",
        'scrubjay search memories.scrubjay "which key?" searches an index, scrubjay search "which key?" notes/ x.csv '
        "files:\nthe first argument is an index if it is one, or ends in .scrubjay, unless the second one is.\n\n"
        + _FILES
        + _INDEX,
    )
    search.usage = (
        "scrubjay search [OPTIONS] INDEX QUESTION\n       scrubjay search [OPTIONS] QUESTION FILE [FILE ...]"
    )
    search.add_argument("question", metavar="INDEX or QUESTION")
    search.add_argument("files", metavar="QUESTION or FILES", nargs="+")
    _add_query(search)
    add_scope(search)
    add_common(search, k=10)


def _add_index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    index = command_of(
        commands,
        "index",
        "read, embed and index files; then answer questions, or write them with their vectors",
        _FILES
        + "\n\nThe index lives in memory. With --out it is written to a new file: FILE.scrubjay is an index "
        "(Index.open(),\nsearch, serve, mcp), FILE.jsonl its records with their vectors as JSON Lines, which search, "
        "index, import and\nstats read without embedding them again. Without --out and --search questions are read "
        "from standard input,\none a line.",
    )
    index.add_argument("files", metavar="FILE", nargs="+")
    index.add_argument(
        "--out",
        metavar="FILE",
        help="a new FILE.scrubjay, an index, or FILE.jsonl, JSON Lines (- for standard output)",
    )
    add_force(index)
    index.add_argument("--search", metavar="QUESTION", help="answer this question")
    _add_query(index)
    add_scope(index)
    add_common(index, k=10)


def _add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fill = command_of(
        commands,
        "import",
        "write the memories of files into an index in a file",
        "INDEX is a file of Index.open(), created if missing. A memory with the same scope and id is replaced.\n\n"
        + _FILES
        + " Exports of\n`scrubjay export` are accepted, too.",
    )
    fill.add_argument("index", metavar="INDEX")
    fill.add_argument("files", metavar="FILE", nargs="+")
    fill.add_argument(
        "--collection", metavar="NAME", help="collection of the index (default: the unnamed one)"
    )
    add_scope(fill)
    add_common(fill, k=None)


def _add_stats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stats = command_of(
        commands, "stats", "count the memories, vectors and scopes of an index or of files", _FILES + _INDEX
    )
    stats.add_argument("files", metavar="FILE", nargs="+")
    add_scope(stats)
    add_common(stats, k=None)


def _add_query(parser: argparse.ArgumentParser) -> None:
    """Add the options of a question."""
    parser.add_argument("--mode", choices=("hybrid", "lexical", "keyword", "vector", "semantic"))
    parser.add_argument(
        "--keywords", metavar="TEXT", help="text of the keyword ranking, in place of the question"
    )
    parser.add_argument(
        "--candidates", type=positive, metavar="N", help="candidates of each ranking (default: 100 or -k)"
    )
    parser.add_argument(
        "--rrf-k", type=float, metavar="N", help="plain rank fusion, without the identifier tier"
    )
    parser.add_argument(
        "--fusion",
        metavar="SPEC",
        help="auto (the default), rrf, rrf:K, weighted, boost, production, or a file of `scrubjay tune`",
    )
    add_filter(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show relevance, BM25, cosine, ranks and matched terms"
    )

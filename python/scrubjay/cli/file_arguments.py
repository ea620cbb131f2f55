"""The arguments of the commands that read files of memories: demo, search, index, import, stats."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_common, add_filter, add_force, add_scope, command_of, positive

_INDEX = """

A single FILE may also be an index, one that Index.open() or `scrubjay index --out` made: nothing in it is changed."""

_FILES = """\
FILE is anything that `scrubjay add` reads (see its help): JSON Lines, CSV, Markdown, exports of chats, a folder or
zip archive of these, or - for JSON Lines on standard input. A record that names its scope keeps it; the others get that
of --tenant, --user and --agent, from which the search is made, too."""


def add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `scrubjay demo`."""
    demo = command_of(
        commands, "demo", "ask a sample of agent memories, and see what each kind of search finds", ""
    )
    demo.add_argument("--ask", metavar="TEXT", help="ask this instead of the prepared questions")
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
        "ask an index in a file, or files, one question",
        'scrubjay search memories.scrubjay "which key?" asks an index, scrubjay search "which key?" notes/ x.csv asks '
        "files:\na first argument that is an index, or ends in .scrubjay, is one, unless the second is an index.\n\n"
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
        "read files, embed and index them; then ask questions, or write them with their vectors",
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
    index.add_argument("--search", metavar="QUESTION", help="ask this")
    _add_query(index)
    add_scope(index)
    add_common(index, k=10)


def _add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fill = command_of(
        commands,
        "import",
        "write the memories of files into an index in a file",
        "INDEX is a file that Index.open() made; it is made if there is none. A memory of the same scope and id is "
        "replaced.\n\n" + _FILES + " What `scrubjay export`\nwrote is understood, too.",
    )
    fill.add_argument("index", metavar="INDEX")
    fill.add_argument("files", metavar="FILE", nargs="+")
    fill.add_argument("--collection", metavar="NAME", help="of the index; default: the one without a name")
    add_scope(fill)
    add_common(fill, k=None)


def _add_stats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stats = command_of(
        commands, "stats", "say how many memories, vectors and scopes an index or files have", _FILES + _INDEX
    )
    stats.add_argument("files", metavar="FILE", nargs="+")
    add_scope(stats)
    add_common(stats, k=None)


def _add_query(parser: argparse.ArgumentParser) -> None:
    """Add the options of a question."""
    parser.add_argument("--mode", choices=("hybrid", "lexical", "keyword", "vector", "semantic"))
    parser.add_argument("--keywords", metavar="TEXT", help="replaces the question for the keyword ranking")
    parser.add_argument(
        "--candidates", type=positive, metavar="N", help="of each ranking (default: 100 or -k)"
    )
    parser.add_argument(
        "--rrf-k", type=float, metavar="N", help="plain rank fusion, without the identifier tier"
    )
    parser.add_argument(
        "--fusion",
        metavar="SPEC",
        help="auto (the default), rrf, rrf:K, weighted, boost, production, or a file that `scrubjay tune` wrote",
    )
    add_filter(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show relevance, BM25, cosine, ranks and matched terms"
    )

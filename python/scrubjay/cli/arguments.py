"""The arguments of all commands."""

from __future__ import annotations

import argparse

from scrubjay.cli.bench_arguments import add_bench
from scrubjay.cli.options import (
    EXIT_CODES,
    add_common,
    add_force,
    add_scope,
    add_served,
    command_of,
    count,
    positive,
    seconds,
)
from scrubjay.cli.record_arguments import add_record_commands, add_tools

__all__ = ["make_parser"]

_INDEX = """

A single FILE may also be an index, one that Index.open() or `scrubjay index --out` made: nothing in it is changed."""

_FILES = """\
FILE is anything that `scrubjay add` reads (see its help): JSON Lines, CSV, Markdown, exports of chats, a folder or
zip archive of these, or - for JSON Lines on standard input. A record that names its scope keeps it; the others get that
of --tenant, --user and --agent, from which the search is made, too."""

_MEMORY = """\
Policies, preferences, facts, episodes and traces in one file. Everything is said for one scope: a fact of
--tenant acme --user jane is visible to no other user."""


_TUNE = """\
SOURCE is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or an index file with recorded feedback
(Index.feedback). Every configuration answers every question; the choice is cross-validated against the
default, and what --out gets is the choice if that gain is beyond noise, else the default. Read it with
scrubjay.fusion.load(FILE), or with search --fusion FILE."""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `scrubjay`; each command's name is in `command`."""
    parser = argparse.ArgumentParser(
        prog="scrubjay",
        description="Keyword and vector search over the memories of agents, scoped before ranked.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and what runs here")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    demo = command_of(
        commands, "demo", "ask a sample of agent memories, and see what each kind of search finds", ""
    )
    demo.add_argument("--ask", metavar="TEXT", help="ask this instead of the prepared questions")
    add_scope(demo, tenant="acme", user="jane")
    add_common(demo, k=3)

    add_record_commands(commands)

    search = command_of(
        commands,
        "search",
        "ask an index in a file, or files, one question",
        "scrubjay search INDEX QUESTION is understood, too.\n\n" + _FILES + _INDEX,
    )
    search.add_argument("question", metavar="QUESTION")
    search.add_argument("files", metavar="FILE", nargs="+")
    _add_search(search)
    add_scope(search)
    add_common(search, k=10)

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
    _add_search(index)
    add_scope(index)
    add_common(index, k=10)

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

    stats = command_of(commands, "stats", "read files and say what is in the index of them", _FILES + _INDEX)
    stats.add_argument("files", metavar="FILE", nargs="+")
    add_scope(stats)
    add_common(stats, k=None)

    _add_tune(
        command_of(commands, "tune", "find the fusion and weights that rank best for judged questions", _TUNE)
    )
    add_bench(commands)
    for name, help, target in (
        ("check", "compare rows, images and both retrievers of an index in a file", None),
        ("compact", "make what was deleted disappear from an index's files, and make opening fast", None),
        ("backup", "copy an index as of now, while it is in use", "a new file"),
        ("export", "write the memories of an index as JSON Lines", "a new .jsonl file"),
        (
            "copy",
            "copy an index from a file into a database or back, or go on with that",
            "an index, empty or new",
        ),
    ):
        command = command_of(
            commands, name, help, "INDEX is a file that Index.open() made, or postgresql://..."
        )
        command.add_argument("index", metavar="INDEX")
        if target is not None:
            command.add_argument("target", metavar="TARGET", help=target)
            if name != "copy":  # which goes on where it was cut short, and never replaces anything
                add_force(command)
        if name == "check":
            command.add_argument(
                "--repair",
                action="store_true",
                help="make a damaged file sound: rows that cannot be read are set aside in INDEX.set-aside.jsonl, the "
                "file as it was becomes INDEX.damaged; exit code 0: nothing was wrong, 1: mended, 3: rows left out",
            )
        if name == "export":
            command.add_argument(
                "--salvage",
                action="store_true",
                help="write what can be read of a file that is too damaged to be opened, every collection and table of "
                "it; exit code 3 (as without --salvage): something was left out",
            )
        if name == "export":
            group = command.add_argument_group(
                "scope: only what is within it, as plain JSON Lines without vectors"
            )
            for part in ("tenant", "user", "agent"):
                group.add_argument(f"--{part}", help="default: all")
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument(
            "--no-progress", action="store_true", help="no progress bar (there is none without a terminal)"
        )
    _add_memory(commands)
    add_tools(commands)

    mcp = command_of(
        commands,
        "mcp",
        "serve the memories of one scope to an MCP client on standard input and output",
        "INDEX is a file that Index.open() made; it is made if there is none. Nothing that the client sends can change "
        "the\nscope.",
    )
    mcp.add_argument("--read-only", action="store_true", help="offer no tool that changes anything")
    mcp.add_argument("index", metavar="INDEX")
    add_served(mcp, tenant="local")

    serve = command_of(
        commands,
        "serve",
        "serve an index over HTTP, with a page that shows why a memory was found",
        "INDEX is a file that Index.open() made; it is made if there is none. Without --tokens only this machine can "
        "reach it,\nand every request may name any scope (or that of --tenant, --user and --agent, if they are given). "
        "With --add-token\na token for that scope is made and printed, its SHA-256 is added to the file, and nothing "
        "is served.",
    )
    serve.add_argument("index", metavar="INDEX", nargs="?")
    serve.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    serve.add_argument("--port", type=int, default=8421, help="default: 8421; 0: any free one")
    serve.add_argument("--tokens", metavar="FILE", help="who may ask for what")
    serve.add_argument("--add-token", metavar="NAME", help="make a token, add it to --tokens, and end")
    serve.add_argument(
        "--can",
        default="read,write",
        metavar="LIST",
        help="of read, write, erase, metrics (default: read,write)",
    )
    serve.add_argument(
        "--extractor",
        metavar="MODEL",
        help="reads runs that are to be distilled; of an OpenAI-compatible endpoint, with its key in OPENAI_API_KEY",
    )
    serve.add_argument(
        "--extractor-url",
        metavar="URL",
        default="https://api.openai.com/v1",
        help="of that endpoint (default: https://api.openai.com/v1)",
    )
    serve.add_argument(
        "--max-body", type=positive, default=4 << 20, metavar="BYTES", help="of a request (default: 4 MiB)"
    )
    serve.add_argument("--max-k", type=positive, default=100, metavar="N", help="hits at most (default: 100)")
    serve.add_argument(
        "--rate",
        type=float,
        default=1000.0,
        metavar="N",
        help="requests a second per token; 0: any (default: 1000)",
    )
    for option, kind, default, unit, help in (
        ("--max-connections", positive, 512, "N", "in all; the one that waits longest makes room"),
        ("--max-per-peer", count, 256, "N", "connections from one address; 0, behind a proxy: any number"),
        ("--max-header", positive, 16 << 10, "BYTES", "of a request's headers"),
        ("--header-timeout", seconds, 10.0, "SECONDS", "to send the headers of a request"),
        ("--body-timeout", seconds, 30.0, "SECONDS", "to send the body"),
        ("--request-timeout", seconds, 120.0, "SECONDS", "from the headers to the answer"),
        ("--send-timeout", seconds, 60.0, "SECONDS", "to read the answer"),
        ("--idle-timeout", seconds, 65.0, "SECONDS", "between two requests of a connection"),
    ):
        serve.add_argument(
            option, type=kind, default=default, metavar=unit, help=f"{help} (default: {default:g})"
        )
    add_served(serve, tenant=None)
    return parser


def _add_memory(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The commands below `scrubjay memory`; the name of each is in `memory_command`."""
    memory = command_of(
        commands, "memory", "what an agent remembers, in a file: add, recall, forget and more", _MEMORY
    )
    below = memory.add_subparsers(dest="memory_command", metavar="COMMAND", required=True)

    def command(
        name: str, help: str, *what: tuple[str, str], k: int | None = None
    ) -> argparse.ArgumentParser:
        one = command_of(below, name, help, "FILE is one that Memory.open() made.")
        one.add_argument("file", metavar="FILE")
        for argument, meaning in what:
            one.add_argument(argument, metavar=argument.upper(), help=meaning)
        add_scope(one)
        add_common(one, k=k)
        return one

    add = command("add", "remember something; the file is made if there is none")
    add.add_argument("text", metavar="TEXT", nargs="?", default="", help="what to remember")
    add.add_argument("--kind", choices=("fact", "preference", "policy", "episode"), default="fact")
    add.add_argument("--key", help="of a preference or policy; a new one replaces the old one of its key")
    add.add_argument(
        "--value",
        metavar="JSON",
        help="of a preference or policy, for programs, such as 25 or '{\"max\": 5}'; shown if there is no TEXT",
    )
    add.add_argument("--type", default="", help="what sort of preference or policy it is")
    add.add_argument("--title", default="", help="of an episode")
    add.add_argument(
        "--completed-at", metavar="TIME", help="when the task of an episode was completed (ISO 8601)"
    )
    add.add_argument("--subject", default="", help="the subject of a fact: a person or thing")
    add.add_argument(
        "--predicate", default="", help='what it says of it; "lives in" and the like replace what is known'
    )
    cardinality = add.add_mutually_exclusive_group()
    cardinality.add_argument(
        "--single",
        action="store_true",
        default=None,
        help="the predicate has one value at a time: replace it",
    )
    cardinality.add_argument(
        "--several", dest="single", action="store_false", help="it has several at once: replace nothing"
    )
    add.add_argument("--outcome", default="success", help="how an episode ended (default: success)")
    add.add_argument("--confidence", type=float, default=1.0, help="0 to 1; facts need 0.7, preferences 0.5")
    add.add_argument("--run", default="command line", help="the run that it comes from")
    recall = command("recall", "find facts, episodes and notes", ("question", "what to look for"), k=10)
    recall.add_argument(
        "--kind", choices=("fact", "episode", "note"), action="append", help="only these (repeatable)"
    )
    command("known", "show all policies in force and all preferences")
    command("why", "show where a record comes from, and what happened to it", ("id", "of the record"))
    forget = command("forget", "erase everything of a user, or of a tenant, and prove that it is gone")
    forget.add_argument(
        "--yes", action="store_true", help="do it; without this, only print the scope that would be erased"
    )
    forget.add_argument(
        "--reason", default="asked for on the command line", help="kept in the deletion event"
    )
    replay = command("replay", "show a run event by event, and its prompts as they were", ("run", "its name"))
    replay.add_argument("--prompts", action="store_true", help="show the prompts, made again from the trace")
    command("sweep", "delete what is past its time for good")
    out = command("export", "write the memory of a scope to a file", ("out", "the file, a new one"))
    add_force(out)
    back = command("import", "read what export wrote, perhaps edited by hand", ("source", "the file"))
    for one in (out, back):
        one.add_argument(
            "--format",
            choices=("jsonl", "markdown"),
            help="jsonl: everything within the scope, without loss; markdown: what is in force of exactly the "
            "scope, for a person to edit (default: by the name, .md or .jsonl)",
        )
    back.add_argument(
        "--from",
        dest="origin",
        choices=("mem0", "letta", "zep", "langgraph", "chatgpt", "claude"),
        help="a dump of this memory, whose statements are proposed to the gate",
    )
    back.add_argument("--as-notes", action="store_true", help="with --from: write notes, which pass no gate")
    back.add_argument("--by", default="command line", help="who edited the Markdown")
    back.add_argument("--dry-run", action="store_true", help="only show what edits or --from would do")
    changes = command("changes", "show what changed, oldest first")
    changes.add_argument(
        "--since", type=int, default=0, metavar="CURSOR", help="only what came after this one"
    )
    changes.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="how many at most (default: 100)"
    )
    changes.add_argument(
        "--within", action="store_true", help="of everything within the scope: users and agents"
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--explain", action="store_true", help="show BM25, cosine, ranks and matched terms")


def _add_tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("--out", metavar="FILE.json", help="write the settings there, to a new file")
    add_force(parser)
    parser.add_argument(
        "--winner", action="store_true", help="write the choice even if its gain is within noise"
    )
    parser.add_argument("--metric", choices=("ndcg@10", "recall@5", "recall@10", "mrr@10"), default="ndcg@10")
    parser.add_argument(
        "--folds", type=positive, default=5, metavar="N", help="of cross-validation (default: 5)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of cuts and resampling (default: 0)"
    )
    parser.add_argument("--candidates", type=positive, metavar="N", help="of each ranking (default: 100)")
    parser.add_argument("--rows", type=positive, default=12, metavar="N", help="of the table (default: 12)")
    parser.add_argument(
        "--vectors",
        metavar="NAME",
        help="of NAME.docs.npy and NAME.queries.npy in the folder, in place of an embedder",
    )
    parser.add_argument("--collection", metavar="NAME", help="of the index file")
    group = parser.add_argument_group("scope: only feedback that was asked from within it")
    for name in ("tenant", "user", "agent"):
        group.add_argument(f"--{name}", help="default: any")
    add_common(parser, k=None)

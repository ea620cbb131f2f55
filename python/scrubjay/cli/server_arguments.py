"""The arguments of the commands that serve an index: mcp, serve."""

from __future__ import annotations

import argparse

from scrubjay.cli.objects import add_objects
from scrubjay.cli.options import add_served, command_of, count, port, positive, seconds, staleness


def add_server_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add mcp and serve."""
    _add_mcp(commands)
    _add_serve(commands)


def _add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    mcp = command_of(
        commands,
        "mcp",
        "serve the memories of one scope to an MCP client on standard input and output",
        "INDEX is a file of Index.open(), created if missing. No request of the client can change the scope.",
    )
    mcp.add_argument("--read-only", action="store_true", help="offer only tools that change nothing")
    mcp.add_argument(
        "--admin",
        action="store_true",
        help="also offer legal holds and imports, which bypass the gate",
    )
    mcp.add_argument("index", metavar="INDEX")
    add_objects(mcp)
    add_served(mcp, tenant="local")


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = command_of(
        commands,
        "serve",
        "serve an index over HTTP, with a page that shows why a memory was found",
        "INDEX is a file of Index.open(), created if missing. Without --tokens only this machine can connect,\nand "
        "every request may name any scope (or only that of --tenant, --user and --agent, if given). With --add-token\n"
        "a token for that scope is created and printed, its SHA-256 is added to the file, and nothing is served.",
    )
    serve.add_argument("index", metavar="INDEX", nargs="?")
    serve.add_argument(
        "--demo",
        action="store_true",
        help="serve the memories of `scrubjay demo`, in a temporary file",
    )
    serve.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    serve.add_argument("--port", type=port, default=8421, help="default: 8421; 0: any free port")
    serve.add_argument("--tokens", metavar="FILE", help="tokens with their scopes and permissions")
    serve.add_argument("--add-token", metavar="NAME", help="create a token, add it to --tokens, and exit")
    serve.add_argument(
        "--can",
        default="read,write",
        metavar="LIST",
        help="permissions of the new token: read, write, erase, metrics (default: read,write)",
    )
    serve.add_argument(
        "--extractor",
        metavar="MODEL",
        help="model that distils runs, at an OpenAI-compatible endpoint, with its key in OPENAI_API_KEY",
    )
    serve.add_argument(
        "--extractor-url",
        metavar="URL",
        default="https://api.openai.com/v1",
        help="address of that endpoint (default: https://api.openai.com/v1)",
    )
    serve.add_argument(
        "--memory-budget",
        type=positive,
        metavar="MB",
        help="for resident memories; the least recently used users are evicted (default: no limit)",
    )
    serve.add_argument(
        "--max-stale",
        type=staleness,
        default=1.0,
        metavar="SECONDS",
        help="over a database: maximum age of the view of others' writes; 0: check at each search (default: 1)",
    )
    _add_limits(serve)
    add_objects(serve)
    add_served(serve, tenant=None)


def _add_limits(serve: argparse.ArgumentParser) -> None:
    """Add the limits of the work of a request and of a connection."""
    serve.add_argument(
        "--max-body",
        type=positive,
        default=4 << 20,
        metavar="BYTES",
        help="size of a request (default: 4 MiB)",
    )
    serve.add_argument(
        "--max-k", type=positive, default=100, metavar="N", help="maximum number of hits (default: 100)"
    )
    serve.add_argument(
        "--rate",
        type=float,
        default=1000.0,
        metavar="N",
        help="requests per second and token; 0: no limit (default: 1000)",
    )
    for option, kind, default, unit, help in (
        ("--max-connections", positive, 512, "N", "in total; the one that is idle longest is closed"),
        ("--max-per-peer", count, 256, "N", "connections from one address; 0, behind a proxy: no limit"),
        ("--max-header", positive, 16 << 10, "BYTES", "size of a request's headers"),
        ("--header-timeout", seconds, 10.0, "SECONDS", "to send the headers of a request"),
        ("--body-timeout", seconds, 30.0, "SECONDS", "to send the body"),
        ("--request-timeout", seconds, 120.0, "SECONDS", "from the headers to the answer"),
        ("--send-timeout", seconds, 60.0, "SECONDS", "to read the answer"),
        ("--idle-timeout", seconds, 65.0, "SECONDS", "between two requests of a connection"),
    ):
        serve.add_argument(
            option, type=kind, default=default, metavar=unit, help=f"{help} (default: {default:g})"
        )

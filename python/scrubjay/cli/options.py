"""Options of several commands: scope, embedder, JSON, files."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from scrubjay._native import Filter, Scope
from scrubjay.cli.reader_state import InputError
from scrubjay.documents.payload import CreatedAt, to_utc

EXIT_CODES = """\
exit codes: 0 found (or done), 1 nothing found, 2 wrong usage or bad input, 130 interrupted"""


def scope_of(arguments: argparse.Namespace) -> Scope:
    """Return the scope of --tenant, --user and --agent."""
    return Scope(arguments.tenant, arguments.user, arguments.agent)


def filter_of(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the filter of --filter, or None without one.

    Raises:
        InputError: it is not a JSON object, or no filter.
    """
    if arguments.filter is None:
        return None
    try:
        conditions = json.loads(arguments.filter)
    except (ValueError, RecursionError) as error:
        raise InputError(f'--filter: expected JSON, such as \'{{"kind": "keys"}}\': {error}') from None
    if not isinstance(conditions, dict):
        raise InputError(f"--filter: expected a JSON object, got {arguments.filter[:80]!r}")
    try:
        Filter(conditions)
    except (TypeError, ValueError) as error:
        raise InputError(f"--filter: {error}") from None
    return conditions


def iso(moment: CreatedAt | None) -> str | None:
    """Return a time as ISO 8601 in UTC, as in all JSON of the command line, or None."""
    known = to_utc(moment)
    return None if known is None else known.isoformat()


def command_of(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help: str, more: str
) -> argparse.ArgumentParser:
    """Add a command below `commands`; return its parser."""
    return commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.\n\n{more}".strip(),
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add --force."""
    parser.add_argument("--force", action="store_true", help="overwrite the output file if it exists")


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Add --filter."""
    parser.add_argument(
        "--filter", metavar="JSON", help='conditions on metadata and times, such as \'{"kind": "keys"}\''
    )


def add_scope(parser: argparse.ArgumentParser, tenant: str | None = "local", user: str | None = None) -> None:
    """Add --tenant, --user and --agent with these defaults."""
    group = parser.add_argument_group(
        "scope of the memories (a search sees its own and those shared with it)"
    )
    add_scope_part(group, "tenant", f"default: {tenant or 'none'}", default=tenant)
    add_scope_part(
        group, "user", f"default: {user or 'none, the memories that all users share'}", default=user
    )
    add_scope_part(group, "agent", "default: none")


def add_scope_part(
    group: argparse._ArgumentGroup, part: str, help: str, *, default: str | None = None
) -> None:
    """Add --tenant, --user or --agent. An empty name is refused: an unset shell variable gives one, and it must not
    widen what the command reads, writes or erases to all users."""

    def name(text: str) -> str:
        if not text:
            raise argparse.ArgumentTypeError(
                f"expected a name, got ''; for no {part} in particular leave --{part} out"
            )
        return text

    group.add_argument(f"--{part}", type=name, default=default, help=help)


def add_common(parser: argparse.ArgumentParser, k: int | None) -> None:
    """Add -k (if it has a default), --embedder, --json and --no-progress."""
    if k is not None:
        # --k, or argparse would read it as an abbreviation of --keywords
        parser.add_argument(
            "-k", "--k", type=positive, default=k, metavar="N", help=f"maximum number of hits (default: {k})"
        )
    add_embedder(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--no-progress", action="store_true", help="no progress bar (never shown without a terminal)"
    )


def add_embedder(parser: argparse.ArgumentParser) -> None:
    """Add --embedder."""
    parser.add_argument(
        "--embedder",
        default="auto",
        metavar="SPEC",
        help="auto (an index's own model, the default for a new one), default (offline, extra wordllama), none "
        "(keywords only), static[:FILE] (offline, no extra), onnx:FOLDER, model2vec:NAME, sentence-transformers:NAME, "
        "fastembed:NAME, ollama:MODEL or openai:MODEL[@URL[#VARIABLE]] (with the key in the environment's VARIABLE)",
    )


def add_served(parser: argparse.ArgumentParser, tenant: str | None) -> None:
    """Add the common options of `serve` and `mcp`."""
    parser.add_argument(
        "--collection", metavar="NAME", help="collection of the file (default: the unnamed one)"
    )
    add_scope(parser, tenant=tenant)
    add_embedder(parser)


def seconds(text: str) -> float:
    """Parse a number of seconds above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return number


def staleness(text: str) -> float:
    """Parse a number of seconds >= 0."""
    return 0.0 if text.strip() in ("0", "0.0") else seconds(text)


def count(text: str) -> int:
    """Parse an int >= 0."""
    return 0 if text == "0" else positive(text)


def port(text: str) -> int:
    """Parse a port number."""
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Parse an int >= 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive int, got {text!r}")
    return number

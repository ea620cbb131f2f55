"""The parser of all commands; the modules *_arguments.py add their arguments."""

from __future__ import annotations

import argparse

from scrubjay.cli.bench_arguments import add_bench
from scrubjay.cli.file_arguments import add_demo, add_file_commands
from scrubjay.cli.memory_arguments import add_memory
from scrubjay.cli.options import EXIT_CODES
from scrubjay.cli.record_arguments import add_record_commands, add_tools
from scrubjay.cli.server_arguments import add_server_commands
from scrubjay.cli.store_arguments import add_store_commands
from scrubjay.cli.tune_arguments import add_tune


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `scrubjay`; `command` is the name of the command."""
    parser = argparse.ArgumentParser(
        prog="scrubjay",
        description="Keyword and vector search over the memories of agents, scoped before ranked.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and the environment")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (  # in the order of the help
        add_demo,
        add_record_commands,
        add_file_commands,
        add_tune,
        add_bench,
        add_store_commands,
        add_memory,
        add_tools,
        add_server_commands,
    ):
        add(commands)
    return parser

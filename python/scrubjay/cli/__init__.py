"""The command `scrubjay`: demo, search, index, import, stats; tune, bench; memory; check, compact, backup, export; mcp,
serve. `scrubjay --help` says the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from scrubjay.cli import (
    bench_command,
    demo_command,
    file_commands,
    memory_commands,
    server_commands,
    store_commands,
    tune_command,
)
from scrubjay.cli.arguments import make_parser
from scrubjay.cli.outputs import said_by_system
from scrubjay.cli.readers import InputError
from scrubjay.config import show_config
from scrubjay.errors import Error

__all__ = ["main"]

_COMMANDS = {
    "demo": demo_command.run,
    "search": file_commands.run_search,
    "index": file_commands.run_index,
    "import": file_commands.run_import,
    "stats": file_commands.run_stats,
    "tune": tune_command.run_tune,
    "bench": bench_command.run_bench,
    "check": store_commands.run_check,
    "compact": store_commands.run_compact,
    "backup": store_commands.run_backup,
    "export": store_commands.run_export,
    "mcp": server_commands.run_mcp,
    "serve": server_commands.run_serve,
    "memory": memory_commands.run_memory,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return the exit code.

    0 found or done, 1 nothing found, 2 wrong usage or bad input, 130 interrupted.
    """
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:  # argparse printed why; 0 after --help
        return stop.code if isinstance(stop.code, int) else 2
    if arguments.version:
        show_config()
        return 0
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code = _COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"scrubjay {arguments.command}: {said_by_system(error)}", file=sys.stderr)
        return 2
    except (InputError, Error, ValueError) as error:
        print(f"scrubjay {arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130

"""The command `scrubjay`: add, search, list, get, rm, stats, import, export on an index in a file; memory; check,
compact, freeze, backup; serve, mcp; demo, index, tune, bench, doctor, completion. See `scrubjay --help`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Sequence

from scrubjay.base.errors import Error
from scrubjay.cli.arguments import make_parser
from scrubjay.cli.outputs import said_by_system
from scrubjay.cli.reader_state import InputError
from scrubjay.config import show_config

__all__ = ["main"]

_COMMANDS = {  # imported when they are called: no command needs what all the others need
    "add": "add_command.run_add",
    "list": "record_commands.run_list",
    "get": "record_commands.run_get",
    "rm": "record_commands.run_rm",
    "doctor": "doctor_command.run_doctor",
    "completion": "completion_command.run_completion",
    "demo": "demo_command.run",
    "search": "file_commands.run_search",
    "index": "file_commands.run_index",
    "import": "file_commands.run_import",
    "stats": "file_commands.run_stats",
    "tune": "tune_command.run_tune",
    "bench": "bench_command.run_bench",
    "check": "store_commands.run_check",
    "compact": "store_commands.run_compact",
    "freeze": "store_commands.run_freeze",
    "backup": "store_commands.run_backup",
    "export": "store_commands.run_export",
    "copy": "copy_command.run_copy",
    "roles": "roles_command.run_roles",
    "mcp": "server_commands.run_mcp",
    "serve": "server_commands.run_serve",
    "memory": "memory_commands.run_memory",
}


def _parse(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. The argument that a command names in `late` may also be the last word."""
    arguments, left = parser.parse_known_args(given)
    late = getattr(arguments, "late", None)
    if late is not None and len(left) == 1 and left[0][:1] != "-" and not getattr(arguments, late):
        setattr(arguments, late, left[0])
    elif left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return the exit code.

    0: found or done, 1: nothing found, 2: wrong usage or bad input, 130: interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(
        sys.stdout, io.TextIOWrapper
    ):  # characters that the terminal's encoding lacks are escaped as in JSON
        sys.stdout.reconfigure(errors="backslashreplace")
    as_json = "--json" in words
    parser = make_parser()
    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages) if as_json else contextlib.nullcontext():
            arguments = _parse(parser, words)
    except SystemExit as stop:  # argparse has printed the reason; the code is 0 after --help
        if as_json and stop.code:
            _print_error("", "UsageError", messages.getvalue().rpartition("error: ")[2].strip(), 2, as_json)
        return stop.code if isinstance(stop.code, int) else 2
    if arguments.version:
        show_config()
        return 0
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        module, _, function = _COMMANDS[arguments.command].partition(".")
        code: int = getattr(importlib.import_module(f"scrubjay.cli.{module}"), function)(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (InputError, Error, OSError, ValueError) as error:
        message = (
            said_by_system(error)
            if type(error).__module__ == "builtins" and isinstance(error, OSError)
            else str(error)
        )
        return _print_error(arguments.command, type(error).__name__, message, 2, as_json)
    except KeyboardInterrupt:
        return _print_error("", "KeyboardInterrupt", "interrupted", 130, as_json)


def _print_error(command: str, kind: str, message: str, code: int, as_json: bool) -> int:
    """Print an error on standard error, as one line of JSON with --json; return the exit code."""
    if as_json:
        error = {"type": kind, "message": message, "exit_code": code}
        print(json.dumps({"error": error}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"scrubjay {command}: {message}" if command else message, file=sys.stderr)
    return code

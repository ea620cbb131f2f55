"""`scrubjay mcp` and `serve`: an index in a file for other programs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator

from scrubjay.cli.arguments import scope_of
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index

__all__ = ["run_mcp"]


def run_mcp(arguments: argparse.Namespace) -> int:
    """Run `scrubjay mcp` until the client closes standard input; return its exit code."""
    from scrubjay.adapters.mcp import serve_stdio

    scope = scope_of(arguments)
    with _index(arguments) as index:
        serve_stdio(index, scope, read_only=arguments.read_only)
    return 0


@contextlib.contextmanager
def _index(arguments: argparse.Namespace) -> Iterator[Index]:
    """The index that the command line names; what libraries print while a model loads goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        index = Index.open(
            arguments.index, from_spec(arguments.embedder), collection=arguments.collection or None
        )
    with index:
        yield index

"""`scrubjay mcp` and `serve`: an index in a file for other programs."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from scrubjay.cli.objects import objects_of
from scrubjay.cli.options import scope_of
from scrubjay.cli.reader_state import InputError
from scrubjay.demo import load_questions, make_file
from scrubjay.embedders.accepted import embedder_of_model
from scrubjay.embedders.spec import from_spec
from scrubjay.index import Index
from scrubjay.memory.intake.extractors import OpenAIExtractor


def run_mcp(arguments: argparse.Namespace) -> int:
    """Run `scrubjay mcp` until the client closes standard input; return its exit code."""
    from scrubjay.adapters.mcp import serve_stdio

    scope = scope_of(arguments)
    with _index(arguments) as index:
        serve_stdio(index, scope, read_only=arguments.read_only, admin=arguments.admin)
    return 0


def run_serve(arguments: argparse.Namespace) -> int:
    """Run `scrubjay serve` until the process is told to stop, or add a token; return its exit code."""
    from scrubjay.adapters.service import PERMISSIONS, Example, Grant, Limits, Tokens, add_token, serve

    def grant(name: str, can: tuple[str, ...]) -> Grant:
        return Grant(name, arguments.tenant, arguments.user, arguments.agent, can)

    if arguments.add_token is not None:
        if arguments.tokens is None or arguments.tenant is None:
            raise InputError("--add-token: expected --tokens FILE and --tenant with it")
        print(add_token(arguments.tokens, grant(arguments.add_token, tuple(arguments.can.split(",")))))
        return 0
    if arguments.demo and arguments.index is not None:
        raise InputError(f"INDEX: expected none beside --demo, which has its own, got {arguments.index}")
    if arguments.index is None and not arguments.demo:
        raise InputError("INDEX: expected the file to serve, or --demo")
    if arguments.tokens is not None and arguments.tenant is not None:
        raise InputError("--tenant: expected none beside --tokens, which have their scopes")
    tokens = None if arguments.tokens is None else Tokens(arguments.tokens)
    limits = Limits(
        max_body_bytes=arguments.max_body,
        max_k=arguments.max_k,
        rate=arguments.rate,
        max_connections=arguments.max_connections,
        max_connections_per_peer=arguments.max_per_peer,
        max_header_bytes=arguments.max_header,
        header_timeout=arguments.header_timeout,
        body_timeout=arguments.body_timeout,
        request_timeout=arguments.request_timeout,
        send_timeout=arguments.send_timeout,
        idle_timeout=arguments.idle_timeout,
    )
    limits = dataclasses.replace(limits, burst=max(1, round(2 * limits.rate)))
    extractor = None
    if arguments.extractor is not None:
        extractor = OpenAIExtractor(arguments.extractor, base_url=arguments.extractor_url)
    examples = [
        Example(question.title, question.text, question.scope, question.shows)
        for question in (load_questions() if arguments.demo else ())
    ]
    with _index(arguments) as index:
        try:
            serve(
                index,
                host=arguments.host,
                port=arguments.port,
                tokens=tokens,
                grant=grant("local", PERMISSIONS) if tokens is None else None,
                limits=limits,
                extractor=extractor,
                examples=examples,
            )
        except OSError as error:
            where = f"{arguments.host}:{arguments.port}"
            raise InputError(f"{where}: {error.strerror or error}") from error
    return 0


@contextlib.contextmanager
def _index(arguments: argparse.Namespace) -> Iterator[Index]:
    """Yield the index of the command line; output of libraries while a model loads goes to standard error."""
    with contextlib.ExitStack() as until:
        with contextlib.redirect_stdout(sys.stderr):
            if getattr(arguments, "demo", False):
                folder = until.enter_context(_demo_folder())
                auto = arguments.embedder == "auto"
                embedder = embedder_of_model(None, None) if auto else from_spec(arguments.embedder)
                index = make_file(folder / "demo.scrubjay", embedder)
            else:
                budget = getattr(arguments, "memory_budget", None)
                index = Index.open(
                    arguments.index,
                    arguments.embedder,
                    collection=arguments.collection or None,
                    memory_budget=None if budget is None else budget << 20,
                    max_stale=getattr(arguments, "max_stale", 1.0),
                    objects=objects_of(arguments.index, arguments),
                )
        with index:
            yield index


@contextlib.contextmanager
def _demo_folder() -> Iterator[Path]:
    """Yield a folder that is removed at the end, even if a signal arrives before the service, which handles it,
    runs."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    numbers = [
        number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
    ]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    with tempfile.TemporaryDirectory(prefix="scrubjay-demo-") as folder:
        before = {
            number: signal.signal(number, end)
            for number in numbers
            if signal.getsignal(number) == signal.SIG_DFL
        }
        try:
            yield Path(folder)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

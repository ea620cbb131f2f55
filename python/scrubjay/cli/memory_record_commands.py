"""`scrubjay memory list`, `history`, `confirm`, `revoke`, `hold`, `release` and `holds`: records and legal holds."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

from scrubjay.cli.memory_output import print_json
from scrubjay.cli.options import scope_of
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import bold, clean, dim, render_table
from scrubjay.memory import Memory


def times_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the times given on the command line, as options of the memory's methods."""
    times = {"as_of": arguments.as_of, "known_at": arguments.known_at}
    return {name: value for name, value in times.items() if value is not None}


@contextlib.contextmanager
def asked_for() -> Iterator[None]:
    """Turn errors about a time, a name or an id of the command line into InputError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise InputError(f"--{str(error).replace('_', '-', 1)}") from None
    except KeyError as error:
        raise InputError(clean(str(error.args[0]))) from None


def list_records(memory: Memory, arguments: argparse.Namespace) -> int:
    """Print the records that a scope sees."""
    options: dict[str, Any] = {"kinds": arguments.kind} if arguments.kind else {}
    with asked_for():
        records: list[Any] = memory.list(
            scope_of(arguments),
            hidden=arguments.hidden,
            subject=arguments.subject,
            limit=arguments.limit,
            **options,
            **times_of(arguments),
        )
    if arguments.json:
        print_json(records)
    elif records:
        table = [
            [record.kind, record.status, getattr(record, "key", ""), record.text, record.id]
            for record in records
        ]
        print(render_table(["kind", "status", "key", "text", "id"], table, stretch=3))
    else:
        print("nothing there")
    return 0 if records else 1


def history(memory: Memory, arguments: argparse.Namespace) -> int:
    """Print the statements about a subject and predicate, oldest first."""
    with asked_for():
        facts = memory.history(
            arguments.subject, arguments.predicate, scope_of(arguments), known_at=arguments.known_at
        )
    if arguments.json:
        print_json(facts)
    elif facts:
        table = []
        for fact in facts:
            times = [f"{a:%Y-%m-%d} to {'now' if b is None else f'{b:%Y-%m-%d}'}" for a, b in fact.holds]
            table.append([", ".join(times) or "never", fact.status, fact.text, fact.id])
        print(render_table(["so from", "status", "text", "id"], table, stretch=2))
    else:
        print("nothing was said of it")
    return 0 if facts else 1


def confirm(memory: Memory, arguments: argparse.Namespace) -> int:
    """Bring a provisional record into force."""
    with asked_for():
        outcome = memory.confirm(arguments.id, by=arguments.by, scope=scope_of(arguments))
    if arguments.json:
        print_json(outcome)
    else:
        print(f"{bold(outcome.status)} {outcome.kind} {outcome.id} {dim(clean(outcome.reason))}")
    return 0


def revoke(memory: Memory, arguments: argparse.Namespace) -> int:
    """Take a record out of force."""
    with asked_for():
        memory.revoke(arguments.id, reason=arguments.reason, scope=scope_of(arguments), by=arguments.by)
    return _print_done(arguments, {"revoked": arguments.id})


def hold(memory: Memory, arguments: argparse.Namespace) -> int:
    """Set a legal hold on a scope and everything within it."""
    with asked_for():
        memory.admin.hold(scope_of(arguments), reason=arguments.reason, by=arguments.by, name=arguments.name)
    return _print_done(arguments, {"held": scope_of(arguments)})


def release(memory: Memory, arguments: argparse.Namespace) -> int:
    """Release the hold on exactly a scope."""
    with asked_for():
        released = memory.admin.release(scope_of(arguments), by=arguments.by, name=arguments.name)
    if not released:
        raise InputError("there is no such hold on exactly this scope; `scrubjay memory holds` shows all")
    return _print_done(arguments, {"released": scope_of(arguments)})


def holds(memory: Memory, arguments: argparse.Namespace) -> int:
    """Print the holds on the scopes of a tenant."""
    tenant_holds = memory.admin.holds(scope_of(arguments).tenant)
    if arguments.json:
        print_json(tenant_holds)
    elif tenant_holds:
        table = [
            [
                entry.scope.user or "all",
                entry.scope.agent or "all",
                f"{entry.at:%Y-%m-%d}",
                entry.by,
                entry.name,
                entry.reason if entry.reason != entry.name else "",
            ]
            for entry in tenant_holds
        ]
        print(render_table(["user", "agent", "since", "by", "name", "reason"], table, stretch=4))
    else:
        print("nothing is held")
    return 0 if tenant_holds else 1


def _print_done(arguments: argparse.Namespace, what: dict[str, Any]) -> int:
    if arguments.json:
        print_json(what)
    else:
        print(bold(next(iter(what))))
    return 0


COMMANDS = {
    "list": list_records,
    "history": history,
    "confirm": confirm,
    "revoke": revoke,
    "hold": hold,
    "release": release,
    "holds": holds,
}
"""Command -> the function that runs it on the memory of its file."""

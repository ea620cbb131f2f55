"""The arguments of the maintenance commands: check, compact, freeze, backup, export, copy, roles."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_force, add_scope_part, command_of, count

_ROLES = """\
Missing roles are created, with the right to log in and without a password: set one with ALTER ROLE. The tables are
created or migrated, and owned by the first role. The second one can neither change tables nor disable the isolation of
tenants. Running it again changes nothing."""

_FREEZE = """\
The object store is that of SCRUBJAY_OBJECTS. Search results do not change; the first write to a scope restores its
rows. Run it once a day, as the role that serves or owns the tables (docs/fleet.md, "The cold tier")."""


def add_store_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add check, compact, freeze, backup, export, copy and roles."""
    for name, help, target in (
        ("check", "check an index in a file for damage, comparing every row, image and ranking", None),
        ("compact", "remove deleted data from an index's files, and make opening fast", None),
        ("backup", "copy a snapshot of an index that may be in use", "a new file"),
        (
            "export",
            "write the memories of an index as JSON Lines",
            "a new .jsonl file; - for standard output",
        ),
        (
            "copy",
            "copy an index from a file into a database or back, or resume a copy",
            "an index, empty or new",
        ),
    ):
        command = command_of(commands, name, help, "INDEX is a file of Index.open(), or postgresql://...")
        command.add_argument("index", metavar="INDEX")
        if target is not None:
            command.add_argument("target", metavar="TARGET", help=target)
            if name != "copy":  # which resumes an interrupted copy, and never replaces anything
                add_force(command)
        if name == "copy":
            command.add_argument(
                "--keys",
                metavar="MODULE:FUNCTION",
                help="for encrypted tenants: a function that returns the key of a tenant, or None, as for Index.open; "
                "tenants with a key are encrypted in TARGET, too",
            )
            _add_user_homes(command, "if TARGET is a new database")
        if name == "check":
            command.add_argument(
                "--repair",
                action="store_true",
                help="repair a damaged file: unreadable rows are set aside in INDEX.set-aside.jsonl, the original file "
                "becomes INDEX.damaged; exit code 0: no damage, 1: repaired, 3: rows left out",
            )
        if name == "export":
            command.add_argument(
                "--salvage",
                action="store_true",
                help="write the readable data of a file that is too damaged to be opened, from every collection and "
                "table; exit code 3 (as without --salvage): something was left out",
            )
        if name == "export":
            group = command.add_argument_group(
                "scope: only memories within it, as plain JSON Lines without vectors"
            )
            for part in ("tenant", "user", "agent"):
                add_scope_part(group, part, "default: all")
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument(
            "--no-progress", action="store_true", help="no progress bar (never shown without a terminal)"
        )
    _add_freeze(commands)
    _add_roles(commands)


def _add_user_homes(command: argparse.ArgumentParser, when: str) -> None:
    command.add_argument(
        "--user-homes",
        type=int,
        metavar="N",
        help=f"{when}: the number of homes of each tenant's users, 0 (default) to 4096; users of different homes "
        "can be written to concurrently",
    )


def _add_freeze(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    freeze = command_of(
        commands,
        "freeze",
        "move unused scopes of a database to its object store, one object per scope",
        _FREEZE,
    )
    freeze.add_argument("index", metavar="ADDRESS", help="postgresql://...")
    freeze.add_argument(
        "--older-than",
        type=count,
        required=True,
        metavar="DAYS",
        help="scopes that were not searched, read or written for DAYS days (UTC); 0: all",
    )
    group = freeze.add_argument_group("scope: only scopes within it")
    for part in ("tenant", "user", "agent"):
        add_scope_part(group, part, "default: all")
    freeze.add_argument("--json", action="store_true", help="print JSON")
    freeze.add_argument(
        "--no-progress", action="store_true", help="no progress bar (never shown without a terminal)"
    )


def _add_roles(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    roles = command_of(
        commands,
        "roles",
        "create two roles for an index in PostgreSQL: one owns its tables, one serves with least privileges",
        _ROLES,
    )
    roles.add_argument("index", metavar="ADDRESS", help="postgresql://..., as a role that can create roles")
    roles.add_argument(
        "--migrate", required=True, metavar="ROLE", help="owns the tables, and creates new ones"
    )
    roles.add_argument(
        "--serve", required=True, metavar="ROLE", help="reads and writes rows, but cannot change tables"
    )
    _add_user_homes(roles, "if there are no tables yet")
    roles.add_argument("--json", action="store_true", help="print JSON")

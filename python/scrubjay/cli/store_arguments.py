"""The arguments of the maintenance commands: check, compact, freeze, backup, export, copy, roles."""

from __future__ import annotations

import argparse

from scrubjay.cli.options import add_force, add_scope_part, command_of, count

_ROLES = """\
Roles that are missing are made, with the right to log in and without a password: set one with ALTER ROLE. The tables
are made or brought up to date, and given to the first role. The second one may not change a table nor lower the walls
between tenants. Called again it changes nothing."""

_FREEZE = """\
The object store is that of SCRUBJAY_OBJECTS. Searches find what they found; rows come back by the first write to their
scope. Run it once a day, as the role that serves or owns the tables (docs/fleet.md, "The cold tier")."""


def add_store_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add check, compact, freeze, backup, export, copy and roles."""
    for name, help, target in (
        ("check", "look for damage in an index in a file: every row, image and ranking is compared", None),
        ("compact", "make what was deleted disappear from an index's files, and make opening fast", None),
        ("backup", "copy an index as of now, while it is in use", "a new file"),
        (
            "export",
            "write the memories of an index as JSON Lines",
            "a new .jsonl file; - for standard output",
        ),
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
            if name != "copy":  # which resumes an interrupted copy, and never replaces anything
                add_force(command)
        if name == "copy":
            command.add_argument(
                "--keys",
                metavar="MODULE:FUNCTION",
                help="of encrypted tenants: a function that returns the key of a tenant, or None, as for Index.open; "
                "what it gives a key for is sealed in TARGET, too",
            )
            _add_user_homes(command, "if TARGET is a new database")
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
                add_scope_part(group, part, "default: all")
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument(
            "--no-progress", action="store_true", help="no progress bar (there is none without a terminal)"
        )
    _add_freeze(commands)
    _add_roles(commands)


def _add_user_homes(command: argparse.ArgumentParser, when: str) -> None:
    command.add_argument(
        "--user-homes",
        type=int,
        metavar="N",
        help=f"{when}: in how many homes the users of each tenant are, 0 (default) to 4096; users of different homes "
        "are written to at the same time",
    )


def _add_freeze(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    freeze = command_of(
        commands,
        "freeze",
        "put scopes of a database that nobody uses into its object store, each as one object",
        _FREEZE,
    )
    freeze.add_argument("index", metavar="ADDRESS", help="postgresql://...")
    freeze.add_argument(
        "--older-than",
        type=count,
        required=True,
        metavar="DAYS",
        help="scopes that were neither searched, read nor written for so many days (UTC); 0: all",
    )
    group = freeze.add_argument_group("scope: only what is within it")
    for part in ("tenant", "user", "agent"):
        add_scope_part(group, part, "default: all")
    freeze.add_argument("--json", action="store_true", help="print JSON")
    freeze.add_argument(
        "--no-progress", action="store_true", help="no progress bar (there is none without a terminal)"
    )


def _add_roles(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    roles = command_of(
        commands,
        "roles",
        "make two roles for an index in PostgreSQL: one that owns its tables, one that serves with least rights",
        _ROLES,
    )
    roles.add_argument("index", metavar="ADDRESS", help="postgresql://..., as who may make roles")
    roles.add_argument("--migrate", required=True, metavar="ROLE", help="owns the tables, and makes new ones")
    roles.add_argument(
        "--serve", required=True, metavar="ROLE", help="reads and writes rows, changes no table"
    )
    _add_user_homes(roles, "if there are no tables yet")
    roles.add_argument("--json", action="store_true", help="print JSON")

"""`scrubjay roles`: the roles that migrate and that serve an index in PostgreSQL."""

from __future__ import annotations

import argparse
import json

from scrubjay.cli.outputs import shown_place
from scrubjay.cli.reader_state import InputError
from scrubjay.store.postgres.address import is_address
from scrubjay.store.postgres.roles import make_roles


def run_roles(arguments: argparse.Namespace) -> int:
    """Run `scrubjay roles`; 0: both roles have the privileges they need."""
    if not is_address(arguments.index):
        raise InputError(f"{arguments.index}: expected postgresql://..., a file has no roles")
    done = make_roles(
        arguments.index, migrate=arguments.migrate, serve=arguments.serve, user_homes=arguments.user_homes
    )
    facts = {
        "at": shown_place(arguments.index),
        "schema": done.schema,
        "migrates": arguments.migrate,
        "serves": arguments.serve,
        "made": done.made,
        "tables": done.tables,
    }
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return 0
    for name, value in facts.items():
        print(f"{name:<14}{', '.join(value) if isinstance(value, list) else value}")
    return 0

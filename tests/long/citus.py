"""Distributes the tables by home on Citus, and checks that the index answers there as over a file.

    python -m tests.long.citus [--url postgresql://...] [--user-homes N] [--seed N]

Without an address, a server of Debian's packages is started. The tables of an index and of a memory are created; each
table with a home is distributed by it, with all rows of a home in one place (`colocate_with`), and the others are
reference tables on every worker. Then the same data is written to the database and to a file, and their answers are
compared. If the extension is missing, the statements are only printed, and the exit code is 77. The address must name a
user who may create extensions, on the coordinator; its schema must be empty.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from scrubjay import Index, Memory, Scope
from scrubjay.store.postgres import schema
from tests.data.postgres import as_superuser, new_cluster, new_url

__all__ = ["plan"]

_PASSED_OVER = 77
_FIRST = "sj_home"
"""The table with which the others are colocated."""


def plan(connection: Any) -> list[str]:
    """Return the statements that distribute the existing tables, in the order in which they depend on each other."""
    tables = connection.execute(
        "SELECT c.relname::text, EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'home') "
        "FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' "
        "AND c.relname LIKE 'sj\\_%' ORDER BY c.relname <> 'sj_home', 2, 1"
    ).fetchall()
    made = [f"SELECT create_reference_table('{name}')" for name, has_home in tables if not has_home]
    for name, has_home in tables:
        if has_home:
            beside = "none" if name == _FIRST else _FIRST
            made.append(f"SELECT create_distributed_table('{name}', 'home', colocate_with => '{beside}')")
    return made


def _is_there(connection: Any) -> bool:
    return bool(connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citus'").fetchone())


def _write(index: Index, memory: Memory, seed: int) -> list[Any]:
    """Write and erase; return the results of searches and listings."""
    chance = random.Random(seed)
    scopes = [Scope("acme"), *(Scope("acme", user=f"u{i}") for i in range(12)), Scope("globex", user="joe")]
    for step in range(30):
        index.upsert_many(
            {"id": f"m{chance.randrange(20)}", "text": f"oak {chance.randrange(9)} of {step}", "scope": scope}
            for scope in chance.sample(scopes, 4)
        )
        index.delete(f"m{chance.randrange(20)}", scope=chance.choice(scopes))
    for scope in scopes[1:4]:
        memory.propose(f"I live in Oslo {scope.user}", scope=scope, source="run-1")
    index.erase(scopes[1])
    memory.forget(scopes[2])
    index.admin.compact()
    assert index.admin.check().problems == [] and memory.admin.check() == []
    found: list[Any] = [sorted(index.scopes()), index.count(scopes[0])]
    for scope in scopes:
        found.append([(hit.id, hit.text, hit.bm25) for hit in index.search("oak 3", scope=scope, k=50)])
        found.append([one.text for one in memory.list(scope)])
    return found


def main() -> int:
    """Run the comparison; return 0 if both answered alike."""
    import psycopg

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", help="of an empty schema on the coordinator; without it a server is started")
    parser.add_argument("--user-homes", type=int, default=16, help="homes of a tenant's users")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    url = arguments.url
    if url is None:
        server = new_cluster()
        if isinstance(server, str):
            print(f"passed over: {server}")
            return _PASSED_OVER
        url = as_superuser(new_url(server.url))
    with psycopg.connect(url, autocommit=True) as connection:
        there = _is_there(connection)
        if there:
            connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
        Memory.open(url, user_homes=arguments.user_homes).close()
        assert schema._version(connection) is not None
        for statement in plan(connection):
            print(f"{statement};")
            if there:
                connection.execute(statement)
    if not there:
        print("passed over: the server has no extension citus; it would have run the statements above")
        return _PASSED_OVER
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.scrubjay") as of_file,
        Memory.open(url, max_stale=0) as served,
    ):
        expected, found = (_write(one.index, one, arguments.seed) for one in (of_file, served))
    same = expected == found
    print("the same answers as a file" if same else f"expected {expected}, got {found}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

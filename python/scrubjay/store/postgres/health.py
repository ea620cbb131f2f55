"""The health of a server, without an index: version, latency, privileges, and settings that weaken durability."""

from __future__ import annotations

import time
from statistics import median
from typing import Any, NamedTuple

from scrubjay.store.postgres.address import Address, psycopg_module
from scrubjay.store.postgres.errors import translated

_CONNECT_SECONDS = 5
_N_PINGS = 9
_NEARLY_ALL = 0.9  # of the server's connections

_FACTS = """
SELECT current_setting('server_version'), current_setting('server_encoding'), pg_is_in_recovery(),
       current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',
       current_setting('max_connections')::int, (SELECT sum(numbackends) FROM pg_stat_database)::int,
       (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), inet_server_addr() IS NULL,
       current_user::text, (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
       current_schema()::text, pg_database_size(current_database())
"""


class ServerHealth(NamedTuple):
    """The state of a server, as seen through one connection.

    Attributes:
        facts: by name, for display: version, user, schema, round_trip_us, ...
        problems: a message for each setting that can lose acknowledged writes.
        warnings: a message for anything else worth knowing.
    """

    facts: dict[str, Any]
    problems: list[str]
    warnings: list[str]


def server_health(url: str) -> ServerHealth:
    """Connect to a server and query its state; nothing is written.

    Raises:
        MissingExtraError: psycopg is not installed.
        StoreUnavailableError: the server does not answer.
        StoreError: it rejects the user, or the database does not exist.
    """
    address, psycopg = Address(url), psycopg_module()
    with translated(address.place, "connecting"):
        parameters = {"connect_timeout": _CONNECT_SECONDS, **psycopg.conninfo.conninfo_to_dict(url)}
        with psycopg.connect(**parameters, autocommit=True) as connection:
            found = connection.execute(_FACTS).fetchone()
            times = [_ping(connection) for _ in range(_N_PINGS)]
    version, encoding, standby, fsync, full_pages, most, used, tls, local, user, above, schema, size = found
    facts = {
        "server": version,
        "round_trip_us": round(median(times)),
        "user": user,
        "schema": schema,
        "encoding": encoding,
        "standby": standby,
        "tls": bool(tls),
        "connections": used,
        "max_connections": most,
        "database_bytes": size,
    }
    problems = [
        f"{name} is off: a crash of the server's machine can lose or damage what was acknowledged"
        for name, is_on in (("fsync", fsync), ("full_page_writes", full_pages))
        if not is_on
    ]
    warnings = []
    if standby:
        warnings.append("the server is a standby: it takes no writes")
    if above:
        warnings.append(
            f"row-level security does not bind {user}, a superuser or one with BYPASSRLS; `scrubjay roles` makes a "
            "role that it binds"
        )
    if not tls and not local:
        warnings.append("the connection is not encrypted; sslmode=verify-full in the address makes it so")
    if used >= _NEARLY_ALL * most:
        warnings.append(f"{used} of {most} connections are in use")
    return ServerHealth(facts, problems, warnings)


def _ping(connection: Any) -> float:
    start = time.perf_counter_ns()
    connection.execute("SELECT 1").fetchone()
    return (time.perf_counter_ns() - start) / 1000

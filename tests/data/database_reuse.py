"""Reuse of databases between tests: creating the tables of a memory takes longer than most tests of memory.

A reused database must not differ from a new one: it is emptied only if it has no connections left, and its tables,
columns, constraints, row security policies and rights are those of a new one; it gets a new random name.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import Any

from tests.data.postgres import as_superuser, new_url

__all__ = ["give_back", "take"]

_left: list[str] = []
"""Addresses of returned databases, oldest first."""

_SHAPE = """
WITH class AS (SELECT * FROM pg_class WHERE relnamespace = %(schema)s::text::regnamespace)
SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
  SELECT concat_ws('|', relname, relkind, relrowsecurity, relforcerowsecurity, reloptions, relacl, relowner) AS part
    FROM class
  UNION ALL SELECT concat_ws('|', relname, attname, atttypid, attnotnull, attcollation, attisdropped, attacl)
    FROM pg_attribute JOIN class ON class.oid = attrelid WHERE attnum > 0
  UNION ALL SELECT concat_ws('|', relname, pg_get_expr(adbin, adrelid))
    FROM pg_attrdef JOIN class ON class.oid = adrelid
  UNION ALL SELECT concat_ws('|', relname, conname, pg_get_constraintdef(pg_constraint.oid))
    FROM pg_constraint JOIN class ON class.oid = conrelid
  UNION ALL SELECT concat_ws('|', relname, indkey, indclass, indcollation, indoption, indisunique, indisvalid,
      pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid))
    FROM pg_index JOIN class ON class.oid = indexrelid
  UNION ALL SELECT concat_ws('|', relname, polname, polcmd, polroles, pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid))
    FROM pg_policy JOIN class ON class.oid = polrelid
  UNION ALL SELECT concat_ws('|', relname, tgname) FROM pg_trigger JOIN class ON class.oid = tgrelid
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = %(schema)s::text::regnamespace
  UNION ALL SELECT nspacl::text FROM pg_namespace WHERE nspname = %(schema)s::text
) parts
"""


def take() -> str:
    """Return the address of an empty database; skip the test if there is no server."""
    for url in list(_left):
        if not _has_visitors(url):
            _left.remove(url)
            if _shape(_schema(url)) == _new_shape():
                _empty(_schema(url))
                return url
    url = new_url()
    # The application name identifies the connections to this database.
    return f"{url}&application_name={_schema(url)}"


def give_back(url: str) -> None:
    """Return a database of :func:`take` for reuse."""
    _left.append(url)


def _schema(url: str) -> str:
    return url.rpartition("search_path%3D")[2].partition("&")[0]


def _has_visitors(url: str) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    (n,) = _connection().execute(query, (_schema(url),)).fetchone()
    return bool(n)


def _empty(schema: str) -> None:
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
    tables = [name for (name,) in _connection().execute(query, (schema,))]
    kept = ("sj_schema", "sj_memory_schema")  # they hold the version of the tables
    statements = [f"DELETE FROM {schema}.{name}" for name in tables if name not in kept]
    statements.append(f"UPDATE {schema}.sj_schema SET name = '{secrets.token_hex(16)}', last_collection = 0")
    _connection().execute(";".join(["SET LOCAL session_replication_role = replica", *statements]))


@lru_cache(maxsize=1)
def _new_shape() -> str:
    from scrubjay.memory import Memory

    url = new_url()
    Memory.open(url).close()
    return _shape(_schema(url))


def _shape(schema: str) -> str:
    (shape,) = _connection().execute(_SHAPE, {"schema": schema}).fetchone()
    return str(shape)


@lru_cache(maxsize=1)
def _connection() -> Any:
    import psycopg

    return psycopg.connect(as_superuser(new_url()), autocommit=True)

"""Translation of a layer's statements from SQLite to PostgreSQL.

A layer (memory) has one set of statements and tables. The differences: tables are called `sj_...`; the column
`user` is `usr` (unquoted, PostgreSQL takes `user` as the login, without an error); parameters have names; and
every row has its `home`, which begins every key. A condition on the tenant therefore names the home as well, and
a statement is sent once for each home that it is about (:mod:`scrubjay.store.postgres.row_homes`). Triggers are
omitted; the layer and :mod:`scrubjay.store.postgres.layer_connection` do their work in the same transaction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True)
class Layer:
    """The description of a layer's tables, by their names in its statements.

    Attributes:
        name: of the layer, "memory".
        numbers: table -> its column for the number of a write.
        records: table -> the columns with a row's user and agent ("''": it has none): other processes are
            notified of the scope whose row changes.
        stamped: the tables of `records` whose changes are counted for each tenant and user, in the table
            `stamps`.
        stamps: the table of (tenant, user, version).
        whole: tables whose changes need the locks of all homes of a tenant.
        spread: tables whose rows are in the home of their user; the rows of all other tables are in the tenant's
            own home.
        runs: the tables of `spread` without a column for the user -> (the column that refers to another row, the
            table of that row, its column); their rows are in the home of that row.
    """

    name: str
    numbers: Mapping[str, str]
    records: Mapping[str, tuple[str, str]]
    stamped: frozenset[str]
    stamps: str
    whole: frozenset[str] = frozenset()
    spread: frozenset[str] = frozenset()
    runs: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return id(self)


class Statement(NamedTuple):
    """A statement as it is sent. Its parameters are called p0, p1, ..., and `number`; h0 is the home of tenant
    p0; `held_users` and `held_agents` are the names of the tenant's legal holds."""

    query: str
    writes: bool
    number: str | None = None
    """The parameter for the number of the write, unless it has a value."""
    home: str | None = None
    """The parameter of its tenant; "": rows that belong to all tenants; None: unspecified."""
    changes: str | None = None
    """The table, if it changes rows of a table in `records`."""
    tenants: tuple[str, ...] = ()
    """The parameters of tenants whose homes it names."""
    is_whole: bool = False
    """Whether it needs the locks of all homes of the tenant."""
    is_spread: bool = False
    """Whether its table has rows in the homes of users."""
    user: str | None = None
    """The parameter of the user whose rows it is about; "": rows without a user; None: unspecified."""
    with_shared: bool = False
    """Whether it also covers the rows without a user."""
    id: str | None = None
    """The parameter of the id of its only row."""
    record: str | None = None
    """The parameter of the id of a row in whose home all its rows are."""
    is_held: bool = False
    """Whether it asks for legal holds."""


_LITERAL = re.compile(r"('(?:[^']|'')*')")
_WORDS = (
    (re.compile(r"\buser\b"), "usr"),
    (re.compile(r"\bmemory_(?=\w)"), "sj_memory_"),
    (re.compile(r"\bifnull\("), "coalesce("),
    (re.compile(r"\binstr\("), "strpos("),
    (re.compile(r"\bmin\(count\("), "least(count("),  # SQLite's min() of two values
    (re.compile(r"(?<![\w)] )\+(?=[a-z])"), ""),  # a unary plus, which disables an index in SQLite
    (re.compile(r"\bIS (?=%\(p\d+\)s)"), "IS NOT DISTINCT FROM "),
    # Keys of runs are unique within their home only.
    (re.compile(r"\b(\w+)\.run = (\w+)\.key\b"), r"\1.run = \2.key AND \1.home = \2.home"),
    (re.compile(r"\brun (NOT )?IN \(SELECT key FROM\b"), r"(home, run) \1IN (SELECT home, key FROM"),
    (re.compile(r"\bkey IN \(SELECT DISTINCT run FROM\b"), "(home, key) IN (SELECT DISTINCT home, run FROM"),
    (re.compile(r"\bON CONFLICT \(tenant\b"), "ON CONFLICT (home, tenant"),
)
_TENANT = re.compile(
    r"(?<![\w.])\+?((?:\w+\.)?)tenant (=|IN) (%\(p\d+\)s|\w+\.tenant\b|''|\((?:''|%\(p\d+\)s|, )+\))"
)
_INSERT = re.compile(
    r"INSERT (?P<ignore>OR IGNORE )?INTO (?P<table>\w+) ?\((?P<columns>[^)]*)\) "
    r"(?:VALUES \((?P<values>.*?)\)(?P<conflict> ON CONFLICT .*)?|SELECT (?P<chosen>.*?)(?P<rest> FROM .*))$",
    re.DOTALL,
)
_CHANGES = re.compile(r"(?:UPDATE|DELETE FROM) (\w+)")


@lru_cache(maxsize=1024)
def translated(statement: str, layer: Layer) -> Statement:
    """Return the translation of a layer's statement."""
    number = None
    changed = _CHANGES.match(statement)
    table: str | None = changed[1] if changed else None
    if statement.startswith("INSERT"):
        statement, table, number = _with_home(_numbered_parameters(statement), layer)
    else:
        statement = _numbered_parameters(statement)
    home = _home_in(statement)
    user, with_shared = _user_in(statement)
    by_id, by_record = _ID.search(statement), _RECORD.search(statement)
    held = _HELD.sub(_HOLDS, statement)
    query = _words(_TENANT.sub(_naming_home, held))
    tenants = tuple(sorted({f"p{found}" for found in _HOME.findall(query)}))
    made = Statement(
        query,
        table is not None,
        number,
        home,
        None,
        tenants,
        table in layer.whole,
        _is_spread(statement, table, layer),
        user,
        with_shared,
        by_id and by_id[1],
        by_record and by_record[1],
        held != statement,
    )
    if table is None or table not in layer.records:
        return made
    user, agent = (_words(column) for column in layer.records[table])
    return made._replace(query=f"{query} RETURNING tenant, {user}, {agent}", changes=table)


def _numbered_parameters(statement: str) -> str:
    parts, n = [], 0
    for part in _LITERAL.split(statement.replace("%", "%%")):
        if not part.startswith("'"):
            *pieces, last = part.split("?")
            part = "".join(f"{piece}%(p{n + i})s" for i, piece in enumerate(pieces)) + last
            n += len(pieces)
        parts.append(part)
    return "".join(parts)


def _words(statement: str) -> str:
    parts = _LITERAL.split(statement)
    for i in range(0, len(parts), 2):
        for word, other in _WORDS:
            parts[i] = word.sub(other, parts[i])
    return "".join(parts)


_OF_NEW = re.compile(r"INSERT INTO \w+\(home[^)]*\) (?:VALUES|SELECT) ?\(?(''|%\(h\d+\)s)")
_PARAMETER = re.compile(r"%\([hp](\d+)\)s")
_HOME = re.compile(r"%\(h(\d+)\)s")


def _home_in(statement: str) -> str | None:
    said = _OF_NEW.match(statement)
    places = [said[1]] if said else [found[3] for found in _TENANT.finditer(statement)]
    for place in places:
        if parameter := _PARAMETER.search(place):
            return f"p{parameter[1]}"
    return "" if "''" in places else None


_USER = re.compile(r"(?<![\w.])(?:r\.)?user (?:= (%\(p\d+\)s|'')|IN \('', (%\(p\d+\)s)\))")
_USER_OF_NEW = re.compile(
    r"INSERT INTO \w+\((?P<columns>[^)]*)\) VALUES \((?P<values>.*?)\)(?: ON CONFLICT .*)?$", re.DOTALL
)
_ID = re.compile(r"(?: WHERE| AND) id = %\((p\d+)\)s$")
_RECORD = re.compile(r" WHERE record = %\((p\d+)\)s$")
_HELD = re.compile(r"memory_hold h WHERE h\.tenant = \w+\.tenant AND ")
# The holds of a tenant are in its own home, the rows in the homes of users.
_HOLDS = (
    'unnest(%(held_users)s::text[] COLLATE "C", %(held_agents)s::text[] COLLATE "C") AS h(user, agent) WHERE '
)
_TABLES = re.compile(r"\bmemory_\w+")


def _user_in(statement: str) -> tuple[str | None, bool]:
    """Return the parameter of the user of the rows ("": rows without a user; None: unspecified), and whether rows
    without a user are covered as well.

    >>> _user_in("SELECT 1 FROM memory_fact WHERE tenant = %(p0)s AND user IN ('', %(p1)s)")
    ('p1', True)
    """
    if new := _USER_OF_NEW.match(statement):
        columns = [name.strip() for name in new["columns"].split(",")]
        if "user" not in columns:
            return ("", False) if "tenant" in columns else (None, False)
        value = _listed(new["values"])[columns.index("user")]
        return ("" if value == "''" else value[2:-2]), False
    found = _USER.search(statement)
    if found is None:
        return None, False
    name = found[1] or found[2]
    return ("" if name == "''" else name[2:-2]), found[2] is not None


def _is_spread(statement: str, table: str | None, layer: Layer) -> bool:
    """Whether the rows that are read or written are in the homes of users.

    Raises:
        AssertionError: an inserted row does not specify its owner.
    """
    names = set(_TABLES.findall(statement))
    if statement.startswith("INSERT") and table in layer.runs and " VALUES (" in statement:
        raise AssertionError(
            f"expected INSERT ... SELECT from the row that says whose it is, got {statement!r}"
        )
    if table is not None:
        return table in layer.spread
    return bool(names & layer.spread)


def _naming_home(match: re.Match[str]) -> str:
    of, operator, tenant = match.groups()
    return f"({of}home {operator} {_as_home(tenant)} AND {of}tenant {operator} {tenant})"


def _as_home(tenant: str) -> str:
    """Return the expression for the home that corresponds to an expression for a tenant.

    >>> _as_home("('', %(p0)s)"), _as_home("r.tenant"), _as_home("tenant")
    ("('', %(h0)s)", 'r.home', 'home')
    """
    return re.sub(r"%\(p(\d+)\)s", r"%(h\1)s", re.sub(r"\btenant\b", "home", tenant))


def _with_home(statement: str, layer: Layer) -> tuple[str, str, str | None]:
    """Return an INSERT extended by the home of its row and, if the table has one, the number; its table; and the
    parameter of the number. A row without a tenant gets the home of the row that it is selected from."""
    found = _INSERT.match(statement)
    if found is None:
        raise AssertionError(f"expected INSERT INTO table(columns) VALUES or SELECT, got {statement!r}")
    table = found["table"]
    columns = [name.strip() for name in found["columns"].split(",")]
    values = _listed(found["values"] or found["chosen"])
    named = dict(zip(columns, values, strict=True))
    number = layer.numbers.get(table)
    if number is not None:
        named.setdefault(number, "%(number)s")
    named = {"home": _as_home(named.get("tenant", "home")), **named}
    given = ", ".join(named.values())
    source = (
        f"VALUES ({given}){found['conflict'] or ''}" if found["values"] else f"SELECT {given}{found['rest']}"
    )
    ignored = " ON CONFLICT DO NOTHING" if found["ignore"] else ""
    query = f"INSERT INTO {table}({', '.join(named)}) {source}{ignored}"
    return query, table, None if number is None else named[number][2:-2]


def _listed(text: str) -> list[str]:
    """Split at commas outside of parentheses and literals.

    >>> _listed("a, f(b, c), ','")
    ['a', 'f(b, c)', "','"]
    """
    return [part.strip() for part in re.findall(r"(?:'(?:[^']|'')*'|\([^()]*\)|[^,'()])+", text)]


# ---------------------------------------------------------------------- tables

_TYPES = (
    (re.compile(r"--[^\n]*"), ""),
    (re.compile(r"\bTEXT\b"), 'text COLLATE "C"'),
    (re.compile(r"\bINTEGER\b"), "bigint"),
    (re.compile(r"\bBLOB\b"), "bytea"),
    (re.compile(r"\bREAL\b"), "double precision"),
    (re.compile(r" AUTOINCREMENT\b| WITHOUT ROWID\b"), ""),
    (
        re.compile(r"\bifnull\((\w+), ''\)"),
        r"coalesce(\1, -9223372036854775807)",
    ),  # for times; they are numbers here, so '' is replaced
)
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \(")
_COLUMN_KEY = re.compile(r"^\s*(\w+) ([^,]*?)(PRIMARY KEY|UNIQUE)(?=,|$)", re.MULTILINE)
_INDEX = re.compile(r"^(CREATE (?:UNIQUE )?INDEX \w+ ON \w+)\(")


def made(statements: Iterable[str], without: Collection[str] = ()) -> list[str]:
    """Return the statements that create a layer's tables and indexes in PostgreSQL; `home` begins every key."""
    found = []
    for statement in statements:
        words = statement.split("(")[0].split()
        if "TRIGGER" in words or words[-1] in without:
            continue
        for pattern, other in _TYPES:
            statement = pattern.sub(other, statement)
        statement = _table(statement) if "TABLE" in words else _INDEX.sub(r"\1(home, ", statement)
        found.append(_words(statement))
    return found


def _table(statement: str) -> str:
    head, body = statement.split("(", 1)
    keys: list[str] = []

    def column(match: re.Match[str]) -> str:
        name, kind, key = match.groups()
        keys.append(f"{key} (home, {name})")
        return f"{name} {kind.rstrip()}" + (" NOT NULL" if "NOT NULL" not in kind else "")

    body = _COLUMN_KEY.sub(column, _KEY.sub(r"\1 (home, ", body.rstrip()[:-1]))
    # text as in the store's tables: a sharding server colocates only columns of one collation.
    return f"{head}(home text NOT NULL, {', '.join([body, *keys])})"

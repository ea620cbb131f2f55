"""Ways to damage the files of an index: bytes, values of rows, schema, images with a valid checksum."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["WAYS", "checksum", "damage"]

_SCOPE_COLUMNS = ("tenant", "user", "agent")
NAMES = ("acme", "globex", "jane", "joe", "coder", "initech")  # parts of the scopes in the files


def damage(rng: random.Random, folder: Path, name: str) -> str:
    """Damage the files `name`, `name`-wal and `name`-shm of a folder in one way; return what was done."""
    way = rng.choices(list(WAYS), weights=[weight for _, weight in WAYS.values()])[0]
    did = WAYS[way][0](rng, folder / name)
    return f"{way}: {did}"


def _pick(rng: random.Random, path: Path) -> Path:
    """Return one of the files, preferably the database."""
    beside = [one for end in ("-wal", "-shm") if (one := path.with_name(path.name + end)).exists()]
    return rng.choice([path, path, *beside])


# ---------------------------------------------------------------------- bytes


def _flip_bits(rng: random.Random, path: Path) -> str:
    target = _pick(rng, path)
    data = bytearray(target.read_bytes())
    n = rng.choice([1, 1, 1, 2, 4, 16, 64])
    at = [_place(rng, len(data)) for _ in range(n)] if data else []
    for place in at:
        data[place] ^= 1 << rng.randrange(8)
    target.write_bytes(data)
    return f"{target.name} at {at[:4]}"


def _place(rng: random.Random, size: int) -> int:
    """Return the place of a byte, preferably in the header of the file or at the beginning of a page."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randrange(min(size, 100))
    if kind < 0.25:
        return min(size - 1, rng.randrange(size // 4096 + 1) * 4096 + rng.randrange(64))
    return rng.randrange(size)


def _change_block(rng: random.Random, path: Path) -> str:
    target = _pick(rng, path)
    data = bytearray(target.read_bytes())
    if not data:
        return "nothing to change"
    size = min(len(data), rng.choice([16, 100, 512, 4096, 8192, 20000]))
    align = size if size >= 512 and rng.random() < 0.7 else 1
    start = rng.randrange(max(1, (len(data) - size) // align + 1)) * align
    what = rng.choice(["zeros", "noise", "swap", "copy", "ones"])
    if what == "zeros":
        data[start : start + size] = bytes(size)
    elif what == "ones":
        data[start : start + size] = b"\xff" * size
    elif what == "noise":
        data[start : start + size] = rng.randbytes(size)
    else:
        other = rng.randrange(max(1, (len(data) - size) // align + 1)) * align
        first, second = data[start : start + size], data[other : other + size]
        data[other : other + len(first)] = first
        if what == "swap":
            data[start : start + len(second)] = second
    target.write_bytes(data)
    return f"{target.name}: {what} of {size} at {start}"


def _truncate(rng: random.Random, path: Path) -> str:
    target = _pick(rng, path)
    data = target.read_bytes()
    size = rng.choice(
        [0, 1, 16, 99, 100, 512, 4096, 8192, rng.randrange(len(data) + 1), len(data) // 8192 * 8192]
    )
    if rng.random() < 0.15:
        target.write_bytes(data + rng.randbytes(rng.choice([1, 100, 8192])))
        return f"{target.name} has something behind its end"
    target.write_bytes(data[:size])
    return f"{target.name} cut to {size}"


def _mix_files(rng: random.Random, path: Path) -> str:
    wal, shm = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    what = rng.choice(["no wal", "no shm", "file as wal", "wal as shm", "noise as wal", "noise as shm"])
    if what == "no wal":
        wal.unlink(missing_ok=True)
    elif what == "no shm":
        shm.unlink(missing_ok=True)
    elif what == "file as wal":
        wal.write_bytes(path.read_bytes())
    elif what == "wal as shm":
        shm.write_bytes(wal.read_bytes() if wal.exists() else b"")
    else:
        (wal if what.endswith("wal") else shm).write_bytes(rng.randbytes(rng.choice([32, 4096, 40000])))
    return what


# ---------------------------------------------------------------------- values and schema

_VALUES: list[Callable[[random.Random], Any]] = [
    lambda rng: None,
    lambda rng: rng.choice([0, 1, -1, 2, 5, 2**31, 2**62, 2**63 - 1, -(2**63), 10**15, 253402300800000000]),
    lambda rng: rng.choice([0.5, -1.5, 1e300, float("inf")]),
    lambda rng: rng.choice(
        ["", "x", "acme\0jane", "é" * 300, "7", "-1", "0.5", "active", "cosine", "str", " "]
    ),
    lambda rng: rng.choice([b"", b"\0", b"\xff\xfe\xfd", b"\xff\x00\xff", b"\xc3(", b"SJCHUNK\n", bytes(64)]),
    lambda rng: b"\xff\x01" + rng.randbytes(rng.choice([3, 8, 40, 60])),
    lambda rng: rng.choice(
        [
            '{"metadata":5}',
            '{"metadata":{},"created_at":5}',
            '{"created_at":"yesterday"}',
            '{"created_at":"2026-01-01T00:00:00"}',
            '{"expires_at":"9999-12-31T23:59:59-14:00"}',
            "[]",
            "null",
            "7",
            '"x"',
            "{",
            '{"metadata":{}} ',
            "[" * 3000,
            '[[1,2],"x"]',
            '{"pieces":{},"turns":[],"limits":{},"sha256":""}',
            '{"metadata":{"pieces":{"policies":[[1]]},"turns":"x","limits":{"a":1},"sha256":5}}',
            '{"a":"\\ud800"}',
            "9" * 5000,
        ]
    ).encode(),
    lambda rng: rng.randbytes(rng.choice([1, 8, 17, 18, 32, 100])),
]


def _hostile(rng: random.Random) -> Any:
    value = rng.choice(_VALUES)(rng)
    if isinstance(value, bytes) and rng.random() < 0.3:
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = bytes
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return sorted(name.decode() for (name,) in found.fetchall())


def _without_rules(connection: sqlite3.Connection) -> list[str]:
    """Drop the triggers, which would refuse changes; return the statements that create them."""
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in found:
        connection.execute(f"DROP TRIGGER {name.decode()}")
    return [sql.decode() for _, sql in found]


def _change_values(rng: random.Random, path: Path) -> str:
    with closing(_connect(path)) as connection:
        rules = _without_rules(connection)
        tables = [
            table
            for table in _tables(connection)
            if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None
        ]
        done = []
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            table = rng.choice(tables)
            columns = [
                row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})").fetchall()
            ]
            column = rng.choice(columns)
            n_rows = rng.choice(["1", "1", "3", "1000000"])
            (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            keyed = connection.execute(f"SELECT {', '.join(columns[:2])} FROM {table}").fetchall()
            key = keyed[rng.randrange(count)]
            value = _value_for(rng, connection, table, column)
            where = " AND ".join(f"{name} IS ?" for name in columns[: len(key)])
            if n_rows == "1":
                statement, given = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}", (value, *key)
            else:
                statement, given = f"UPDATE OR IGNORE {table} SET {column} = ?", (value,)
            if isinstance(value, bytes) and rng.random() < 0.3:
                statement = statement.replace("= ?", "= CAST(? AS TEXT)", 1)
            with suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                connection.execute(statement, given)
            done.append(f"{table}.{column} = {value!r}"[:80])
        for rule in rules:
            connection.execute(rule)
    return "; ".join(done)


_WITHOUT_CHECKSUMS = (
    "memory_policy",
    "memory_preference",
    "memory_event",
    "memory_rejection",
    "memory_run",
    "feedback",
)


def _value_for(rng: random.Random, connection: sqlite3.Connection, table: str, column: str) -> Any:
    """Return a hostile value, a slightly changed one, or that of another row.

    In a table without checksums, scope names and texts never become those of another scope: such a forgery cannot be
    detected.
    """
    is_name = column in _SCOPE_COLUMNS or (table.startswith("memory_") and column in ("run", "user"))
    old = connection.execute(f"SELECT {column} FROM {table} ORDER BY random() LIMIT 1").fetchone()[0]
    if isinstance(old, bytes) and table.startswith(_WITHOUT_CHECKSUMS):
        old = None
    kind = rng.random()
    if kind < 0.25 and isinstance(old, bytes) and old and not is_name:
        changed = bytearray(old)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if kind < 0.35 and not is_name:
        return old
    if kind < 0.45 and isinstance(old, int):
        return old + rng.choice([-1, 1, 100])
    value = _hostile(rng)
    as_text = value.decode("latin-1") if isinstance(value, bytes) else value
    return None if is_name and (as_text in NAMES or as_text == "") else value


_META = ("dim", "metric", "dtype", "analyzer", "model", "generation")


def _change_schema(rng: random.Random, path: Path) -> str:
    with closing(_connect(path)) as connection:
        tables = _tables(connection)
        table = rng.choice(tables)
        columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]
        column = rng.choice(columns)
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL"
        ).fetchall()
        indexes = sorted(name.decode() for (name,) in found)
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        triggers = sorted(name.decode() for (name,) in rows) or ["nothing"]
        event = rng.choice(["INSERT", "UPDATE", "DELETE"])
        body = rng.choice(
            ["SELECT RAISE(ABORT, 'no')", "SELECT RAISE(IGNORE)", f"DELETE FROM {table}", "SELECT json('{')"]
        )
        statement = rng.choice(
            [
                f"DROP TABLE {table}",
                f"DROP TABLE {table}",
                f"DROP INDEX {rng.choice(indexes)}",
                f"DROP TRIGGER {rng.choice(triggers)}",
                f"CREATE TRIGGER foreign_one BEFORE {event} ON {table} BEGIN {body}; END",
                f"CREATE TRIGGER foreign_one AFTER {event} ON {table} BEGIN {body}; END",
                f"DELETE FROM {table}",
                f"ALTER TABLE {table} RENAME TO other_name",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO other_name",
                f"ALTER TABLE {table} ADD COLUMN other_name",
                f"ALTER TABLE {table} DROP COLUMN {column}",
                f"DELETE FROM meta WHERE name = '{rng.choice(_META)}'",
                "DELETE FROM collection",
                f"PRAGMA user_version = {rng.choice([0, 1, 3, -1, 257, 258, 511, 2**31 - 1])}",
                f"PRAGMA application_id = {rng.choice([0, 1, -1])}",
            ]
        )
        with suppress(sqlite3.Error):
            connection.execute(statement)
        if rng.random() < 0.15:
            connection.execute("PRAGMA writable_schema = ON")
            with suppress(sqlite3.Error):
                connection.execute(
                    "UPDATE sqlite_master SET sql = substr(sql, 1, 40) WHERE name = ?", (table,)
                )
            statement += f"; sqlite_master of {table} cut"
    return statement


def _delete_rows(rng: random.Random, path: Path) -> str:
    with closing(_connect(path)) as connection:
        rules = _without_rules(connection)
        table = rng.choice(_tables(connection))
        share = rng.choice([2, 5, 50])
        with suppress(sqlite3.Error):
            connection.execute(f"DELETE FROM {table} WHERE abs(random()) % {share} = 0")
        for rule in rules:
            connection.execute(rule)
    return f"one of {share} rows of {table}"


# ---------------------------------------------------------------------- images

_HEADER_BYTES, _CHECKSUM_AT, _BLOCK_BYTES = 80, 72, 256
_MASK = (1 << 64) - 1


def _mix(a: int, b: int) -> int:
    product = (a & _MASK) * (b & _MASK)
    return (product ^ (product >> 64)) & _MASK


def _hash64(data: bytes) -> int:
    secret0, secret1 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
    state = secret0 ^ _mix(len(data) ^ secret0, secret1)
    while len(data) > 8:
        state = _mix(int.from_bytes(data[:8], "little") ^ secret1, state)
        data = data[8:]
    return _mix(_mix(int.from_bytes(data, "little") ^ secret1, state), secret0)


def checksum(data: bytes, seed: int) -> int:
    """Return the checksum of images: `block_checksum` of cpp/src/engine/image_bytes.hpp."""
    lanes = np.array(
        [_mix(seed ^ (i + 1), 0x9E3779B97F4A7C15) >> 16 & 0xFFFFFFFF for i in range(_BLOCK_BYTES // 4)],
        dtype="<u4",
    )
    end = len(data) // _BLOCK_BYTES * _BLOCK_BYTES
    for block in np.frombuffer(data[:end], dtype="<u4").reshape(-1, _BLOCK_BYTES // 4):
        lanes = (lanes ^ block) * np.uint32(0x9E3779B1)
        lanes ^= lanes >> np.uint32(15)
    of_blocks, of_rest = _hash64(lanes.tobytes()), _hash64(data[end:])
    return _mix(of_blocks ^ 0xE7037ED1A0B428DB, of_rest ^ len(data) ^ 0xA0761D6478BD642F)


def repaired(image: bytes) -> bytes:
    """Return an image with the checksum of its content."""
    if len(image) < _HEADER_BYTES:
        return image
    head = image[:_CHECKSUM_AT] + bytes(8)
    total = checksum(image[_HEADER_BYTES:], checksum(head, 0))
    return image[:_CHECKSUM_AT] + total.to_bytes(8, "little") + image[_HEADER_BYTES:]


def _edit_image(rng: random.Random, path: Path) -> str:
    with closing(_connect(path)) as connection:
        tables = [table for table in _tables(connection) if table.startswith("image")]
        images = [
            (table, *row)
            for table in tables
            for row in connection.execute(
                f"SELECT number, data FROM {table} WHERE typeof(data) = 'blob'"
            ).fetchall()
        ]
        if not images:
            return "no image"
        table, number, data = rng.choice(images)
        mark = data[-16:] if data[-4:] == b"\0SJY" else b""
        body = bytearray(data[: len(data) - len(mark)])
        for _ in range(rng.choice([1, 1, 2, 8, 30])):
            where = rng.randrange(len(body)) if rng.random() < 0.6 else rng.randrange(min(len(body), 200))
            what = rng.random()
            if what < 0.5:
                body[where] ^= 1 << rng.randrange(8)
            elif what < 0.8:
                width = rng.choice([1, 2, 4, 8])
                body[where : where + width] = rng.choice(
                    [bytes(width), b"\xff" * width, rng.randbytes(width)]
                )
            else:
                body = (
                    body[: max(1, where)]
                    if rng.random() < 0.3
                    else body + rng.randbytes(rng.randrange(1, 64))
                )
        edited = repaired(bytes(body)) if rng.random() < 0.8 else bytes(body)
        connection.execute(f"UPDATE {table} SET data = ? WHERE number = ?", (edited + mark, number))
        return f"{table} {number}"


def _many_ways(rng: random.Random, path: Path) -> str:
    did = []
    for way in rng.sample(["values", "rows", "schema", "images"], 2):
        with suppress(sqlite3.Error):
            did.append(WAYS[way][0](rng, path))
    did.append(_flip_bits(rng, path))
    return json.dumps(did)


WAYS: dict[str, tuple[Callable[[random.Random, Path], str], int]] = {
    "bits": (_flip_bits, 25),
    "block": (_change_block, 15),
    "truncated": (_truncate, 7),
    "files": (_mix_files, 3),
    "values": (_change_values, 30),
    "rows": (_delete_rows, 4),
    "schema": (_change_schema, 10),
    "images": (_edit_image, 10),
    "several": (_many_ways, 4),
}
"""Name -> (function that damages the file, weight)."""

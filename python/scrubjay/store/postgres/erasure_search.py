"""Searching every row for erased data: all columns of all tables of the index that can hold a text or bytes.

The server compares, so only counts cross the network. Its logs, dead row versions until they are vacuumed,
replicas and backups are not rows: the report lists them as not covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay.base.errors import StoreError
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.images import has_objects
from scrubjay.store.postgres.layer_connection import as_kept
from scrubjay.store.postgres.row_security import ACROSS, EVERY_HOME
from scrubjay.store.rows.erasure_search import ErasureReport, SearchPatterns, first_hits, sought_for

NOT_COVERED = (
    "dead versions of rows, until the server has vacuumed them and written over their pages",
    "the write-ahead log and its archive",
    "replicas, snapshots and backups",
    "what the server's own logs may quote",
)
"""Places of possible copies that no row shows."""
NOT_COVERED_OF_OBJECTS = (
    "earlier versions and replicas of objects, where their place keeps them",
    "copies of objects on the disks of other machines, which forget them within minutes while they run",
)
"""Further places if there is an object store."""

# Numbers, arrays of them, booleans and times cannot hold a text. A role bound by row-level security needs the
# policy that shows all tenants' rows.
_TABLES = f"""
SELECT c.relname, array_agg(a.attname ORDER BY a.attnum), array_agg(t.typname = 'bytea' ORDER BY a.attnum),
  NOT row_security_active(c.oid) OR EXISTS (
    SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = '{ACROSS}')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname LIKE 'sj\\_%%' AND a.attnum > 0 AND NOT a.attisdropped
  AND t.typcategory NOT IN ('N', 'B', 'D', 'T') AND t.typname <> '_int8'
GROUP BY c.oid, c.relname ORDER BY c.relname
"""


def search_rows(collection: Collection, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
    """Search all tables of the index, of every collection and every layer above, for byte sequences and for
    names.

    As in files, sequences longer than 32 bytes are searched for in pieces of 32 bytes. With an object store every
    object of the index is read, and every copy on this machine.

    Raises:
        StoreError: a table has rows that this role may not see, or images are in an object store that the index
            was opened without, so nothing would be proved.
        StoreUnavailableError: the object store does not answer.
    """
    sought = sought_for(needles, names)
    found: list[tuple[str, int, int]] = []
    n_bytes = 0
    objects = collection.objects
    with collection.sessions.snapshot():
        if objects is None and has_objects(collection.ask):
            raise StoreError(
                f"verify_erased: images are in an object store; open the index with objects=...: {collection.place}"
            )
        tables = collection.ask(_TABLES, doing="verify_erased")
        for table, columns, are_bytes, is_seen in tables:
            if not is_seen:
                raise StoreError(
                    f"verify_erased: this role may not see every row of {table}; search as the role that owns the "
                    f"tables or as the one that serves: {collection.place}"
                )
            n_of_table, of_table = _search(
                collection, table, list(zip(columns, are_bytes, strict=True)), sought
            )
            n_bytes += n_of_table
            found += of_table
    n_objects = 0
    for name, size, hits in () if objects is None else _search_objects(objects, sought):
        n_objects, n_bytes = n_objects + 1, n_bytes + size
        found += [(name, at, number) for number, at in hits]
    return ErasureReport(
        (),
        n_bytes,
        len(needles) + len(names),
        tuple(found),
        proof="rows" if objects is None else "rows and objects",
        not_covered=NOT_COVERED if objects is None else NOT_COVERED + NOT_COVERED_OF_OBJECTS,
        tables=tuple(row[0] for row in tables),
        n_objects=n_objects,
    )


def _search_objects(
    objects: ObjectStore, sought: SearchPatterns
) -> Iterator[tuple[str, int, list[tuple[int, int]]]]:
    """Yield name, size and matches (sequence, position) of each object."""
    for name, data in objects.everything():
        hits: dict[int, int] = {}
        first_hits(data, 0, sought, hits)
        yield name, len(data), sorted(hits.items())


def _search(
    collection: Collection, table: str, columns: Sequence[tuple[str, bool]], sought: SearchPatterns
) -> tuple[int, list[tuple[str, int, int]]]:
    """Return the total size of a table's columns in bytes, and the matches as (column, number of rows, sequence)."""
    values = ", ".join(f"('{column}', {_bytes_of(column, is_bytes)})" for column, is_bytes in columns)
    pieces = [(piece, number, False) for one, number in sought.exact for piece in _as_kept(one)]
    pieces += [(piece, number, True) for one, number in sought.folded for piece in _as_kept(one)]
    parameters: list[Any] = [[one[place] for one in pieces] for place in range(3)]
    lower = "decode(lower(encode(v.data, 'escape') COLLATE \"C\"), 'escape')" if sought.folded else "v.data"
    # OFFSET 0 makes the server compute this once per row, so that TOASTed values are not fetched for every
    # needle.
    rows = collection.ask(
        f"SELECT v.name, count(*), h.number FROM {table} t CROSS JOIN LATERAL (VALUES {values}) AS v(name, data) "
        f"CROSS JOIN LATERAL (SELECT {lower} AS data OFFSET 0) l CROSS JOIN LATERAL (SELECT DISTINCT n.number "
        "FROM unnest(%s::bytea[], %s::int[], %s::boolean[]) AS n(piece, number, is_folded) "
        "WHERE position(n.piece IN CASE WHEN n.is_folded THEN l.data ELSE v.data END) > 0) h "
        "WHERE v.data IS NOT NULL GROUP BY v.name, h.number ORDER BY v.name, h.number",
        parameters,
        home=EVERY_HOME,
        doing="verify_erased",
    )
    lengths = " + ".join(f'coalesce(sum(octet_length(t."{column}")), 0)' for column, _ in columns)
    ((n_bytes,),) = collection.ask(f"SELECT ({lengths})::bigint FROM {table} t", home=EVERY_HOME)
    return n_bytes, [(f"{table}.{name}", n, number) for name, n, number in rows]


def _as_kept(piece: bytes) -> list[bytes]:
    """Return a piece as it is, and in the stored form of a layer's text, if that differs."""
    kept = as_kept(piece.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return list(dict.fromkeys((piece, kept)))


def _bytes_of(column: str, is_bytes: bool) -> str:
    return f"t.\"{column}\" || ''::bytea" if is_bytes else f"convert_to(t.\"{column}\"::text, 'UTF8')"

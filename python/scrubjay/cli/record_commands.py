"""`scrubjay list`, `get` and `rm`: the memories of an index in a file."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from scrubjay._native import Scope
from scrubjay.cli.options import filter_of, iso, scope_of
from scrubjay.cli.outputs import open_index, say_memory
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import bold, clean, dim, render_table
from scrubjay.documents.records import Record
from scrubjay.index import Index


def run_list(arguments: argparse.Namespace) -> int:
    """Run `scrubjay list`; 0 if there are memories, 1 if not."""
    scope, filter = scope_of(arguments), filter_of(arguments)
    with open_index(arguments.index, collection=arguments.collection) as index:
        page = index.scroll(
            scope=scope,
            limit=arguments.limit,
            cursor=arguments.cursor,
            filter=filter,
            order_by=arguments.order_by,
            descending=not arguments.ascending,
            exact=arguments.exact,
        )
        n_all = index.count(scope, filter=filter)
        if not len(page) and filter is None and not arguments.json:
            say_memory(index, "list")
    if arguments.json:
        _print({"records": [as_dict(record) for record in page], "cursor": page.cursor, "count": n_all})
    elif len(page):
        rows = [[str(record.id), _time(record), _source(record), record.text] for record in page]
        print(render_table(["id", "created", "file", "text"], rows, stretch=3))
        more = f"; the next page: --cursor {page.cursor}" if page.cursor is not None else ""
        print(dim(f"{len(page):,} of {n_all:,} memories visible from {scope!r}{more}"))
    else:
        print(dim(f"no memory visible from {scope!r}" + (" matches the filter" if filter else "")))
    return 0 if len(page) else 1


def run_get(arguments: argparse.Namespace) -> int:
    """Run `scrubjay get`; 0 if all exist, 1 if one does not."""
    scope = scope_of(arguments)
    with open_index(arguments.index, collection=arguments.collection) as index:
        by_id = {id: _get(index, id, scope) for id in arguments.ids}
    missing = [id for id, record in by_id.items() if record is None]
    if arguments.json:
        records = [as_dict(record) for record in by_id.values() if record is not None]
        _print({"records": records, "missing": missing})
    else:
        for record in by_id.values():
            if record is not None:
                print(bold(clean(str(record.id))))
                print("\n".join(clean(line) for line in record.text.splitlines()))
                facts = {"scope": repr(record.scope), "created": _time(record), **dict(record.metadata or {})}
                for name, value in facts.items():
                    if value != "-":
                        print(dim(f"  {clean(str(name))}: {clean(str(value))}"))
        for id in missing:
            print(f"{id}: no memory with this id is visible from {scope!r}", file=sys.stderr)
    return 1 if missing else 0


def run_rm(arguments: argparse.Namespace) -> int:
    """Run `scrubjay rm`; 0 if something was deleted, 1 if nothing."""
    scope, filter = scope_of(arguments), filter_of(arguments)
    if arguments.file is not None:
        filter = {**(filter or {}), "file": arguments.file}
    if not arguments.ids and filter is None:
        raise InputError("ID: expected which memories to delete: ids, --file or --filter")
    if arguments.ids and filter is not None:
        raise InputError("ID: expected ids, or --file and --filter, got both")
    if not arguments.ids and not arguments.yes:
        with open_index(arguments.index, collection=arguments.collection) as index:
            n = len(index.list(scope, filter=filter, exact=True))
        raise InputError(f"this would delete {n:,} memories of {scope!r}; confirm with --yes")
    with open_index(arguments.index, collection=arguments.collection, writes=True) as index:
        if arguments.ids:
            ids = [
                record.id
                for id in arguments.ids
                if (record := _get(index, id, scope)) and record.scope == scope
            ]
            missing = len(arguments.ids) - len(ids)
            n_deleted = index.delete_many(ids, scope=scope, reason=arguments.reason) if ids else 0
        else:
            missing, n_deleted = 0, index.delete_many(filter=filter, scope=scope, reason=arguments.reason)
    if arguments.json:
        _print({"deleted": n_deleted, "missing": missing})
    else:
        print(f"{n_deleted:,} deleted" + (f", {missing:,} not there" if missing else ""))
    return 0 if n_deleted else 1


def as_dict(record: Record) -> dict[str, Any]:
    """Return a record without its vector, for JSON."""
    scope = record.scope
    return {
        "id": record.id,
        "text": record.text,
        **({} if record.context is None else {"context": record.context}),
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
        **({} if record.passages is None else {"passages": record.passages}),
        "metadata": dict(record.metadata or {}),
        "created_at": iso(record.created_at),
        "expires_at": iso(record.expires_at),
        "version": record.version,
        "pending": record.pending,
    }


def _get(index: Index, id: str, scope: Scope) -> Record | None:
    """Return the memory with an id; an id of digits may be an int, which the command line cannot distinguish."""
    try:
        return index.get(id, scope=scope)
    except TypeError:  # the index has int ids
        number = id.removeprefix("-")
        return index.get(int(id), scope=scope) if number.isascii() and number.isdecimal() else None


def _time(record: Record) -> str:
    return "-" if record.created_at is None else str(record.created_at)[:16]


def _source(record: Record) -> str:
    return str((record.metadata or {}).get("file", "-"))


def _print(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))

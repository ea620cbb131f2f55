"""`scrubjay copy`: copies a file into a database, or back."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scrubjay.backend import Backend
from scrubjay.base.progress import open_progress
from scrubjay.cli.functions import named_function
from scrubjay.cli.objects import objects_of
from scrubjay.cli.outputs import is_same, open_index, shown_place
from scrubjay.cli.reader_state import InputError
from scrubjay.index import Index
from scrubjay.memory.exchange.record_copy import copy_records, opened
from scrubjay.memory.ledger.schema import is_prepared
from scrubjay.store.copying import CopyReport, copy_documents
from scrubjay.store.engine import DurableEngine
from scrubjay.store.postgres.address import is_address

_BUDGET_BYTES = 256 << 20


def run_copy(arguments: argparse.Namespace) -> int:
    """Run `scrubjay copy`; 0: both now have the same documents."""
    start = time.perf_counter()
    reports: dict[str, CopyReport] = {}
    if is_same(Path(arguments.target), Path(arguments.index)):
        raise InputError(f"{shown_place(arguments.target)}: expected another index than the one that is read")
    keys = None if arguments.keys is None else named_function("--keys", arguments.keys)
    with open_index(arguments.index, keys=keys) as source:
        of_root = _settings_of(source)
        of_root |= {"keys": keys, "objects": objects_of(arguments.target)}
        if arguments.user_homes is not None:
            if not is_address(arguments.target):
                raise InputError(f"--user-homes: expected a database as the target, got {arguments.target}")
            of_root["user_homes"] = arguments.user_homes
        with Index.open(arguments.target, memory_budget=_BUDGET_BYTES, **of_root) as target:
            memories = (opened(source), opened(target)) if is_prepared(Backend.of(source).rows) else None
            for name in ["", *source.admin.collections()]:
                collection = source if not name else source.collection(name)
                other = target if not name else target.collection(name, **_settings_of(collection))
                bar = open_progress(
                    False if arguments.no_progress else None,
                    total=len(collection),
                    what="copying",
                    unit="memories",
                )
                try:
                    reports[name] = copy_documents(
                        _engine(collection), _engine(other), bar, with_records=memories is not None
                    )
                finally:
                    bar.close()
            records = None if memories is None else copy_records(*memories)
    facts: dict[str, Any] = {
        "memories": sum(report.documents for report in reports.values()),
        "written": sum(report.written for report in reports.values()),
        **({} if records is None else {"records": records.rows, "records written": records.written}),
        "to": shown_place(arguments.target),
        "digests": {name: report.digest for name, report in reports.items()},
        **({} if records is None else {"digest of records": records.digest}),
        "seconds": round(time.perf_counter() - start, 3),
    }
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return 0
    for name, value in facts.items():
        if not isinstance(value, dict):
            print(f"{name:<18}{value:,}" if isinstance(value, int) else f"{name:<18}{value}")
    return 0


def _engine(index: Index) -> DurableEngine:
    return Backend.of(index).engine.durable("copy")


def _settings_of(index: Index) -> dict[str, Any]:
    identity = asdict(_engine(index).identity)
    return {name: identity[name] for name in ("dim", "metric", "dtype", "analyzer")}

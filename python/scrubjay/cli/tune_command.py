"""`scrubjay tune`: finds a fusion and weights for judged questions. Also parses --fusion."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from scrubjay import fusion
from scrubjay._native import Scope
from scrubjay.cli.outputs import check_output, open_index
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import bold, dim, mark, render_table
from scrubjay.fusion import RRF, Query
from scrubjay.index import Index
from scrubjay.retrieval.judged_sets import JudgedQuery, from_feedback, read_judged
from scrubjay.retrieval.trials import METRICS, Setting
from scrubjay.retrieval.tuning import Gain, Tuning, describe_setting, tune

_NAMES = ("auto", "rrf", "weighted", "boost", "production")


def as_query(spec: str) -> Query:
    """Return the query of --fusion: a method, rrf:K, or the settings in a file."""
    if spec in _NAMES:
        return Query(cast(Any, spec))
    if spec.startswith("rrf:"):
        try:
            return Query(RRF(float(spec[4:])))
        except ValueError:
            raise InputError(f"--fusion: expected rrf:K with a number K of 0 or more, got {spec!r}") from None
    if not Path(spec).is_file():
        raise InputError(f"--fusion: expected {', '.join(_NAMES)}, rrf:K or a file, got {spec!r}")
    return fusion.load(spec)


def run_tune(arguments: argparse.Namespace) -> int:
    """Run `scrubjay tune`; 0 if it found settings, 1 if there are no judgements."""
    bar = False if arguments.no_progress else None
    if arguments.out is not None:
        source = Path(arguments.source)
        reads = [*source.iterdir()] if source.is_dir() else [source]
        check_output(arguments.out, force=arguments.force, reads=reads)
    reranker = None
    if arguments.reranker is not None:
        from scrubjay.retrieval.rerankers import OnnxReranker  # cannot be created with NumPy alone

        try:
            reranker = OnnxReranker(arguments.reranker)
        except FileNotFoundError as error:
            raise InputError(f"--reranker: {error}") from None
    index, queries = _read(arguments, bar)
    with index:
        if len(queries) < 2:
            reason = f"{arguments.source}: {len(queries)} judged questions, at least 2 are needed"
            if arguments.json:
                print(json.dumps({"questions": len(queries), "reason": reason}, ensure_ascii=False, indent=2))
            else:
                print(reason, file=sys.stderr)
            return 1
        tuning = tune(
            index,
            queries,
            metric=arguments.metric,
            folds=arguments.folds,
            seed=arguments.seed,
            candidates=arguments.candidates,
            reranker=reranker,
            depths=arguments.depths,
            progress=bar,
        )
    setting = tuning.winner if arguments.winner else tuning.setting
    if arguments.out is not None:
        try:
            fusion.save(setting.query, arguments.out, replace=arguments.force)
        except OSError as error:
            raise InputError(f"{arguments.out}: {error.strerror or error}") from None
    if arguments.json:
        print(json.dumps({**tuning.to_dict(), "written": arguments.out}, ensure_ascii=False, indent=2))
    else:
        _show(tuning, setting, arguments)
    if tuning.gain.is_noise and tuning.winner != Setting():
        print(
            f"warning: the gain of {describe_setting(tuning.winner)} is within noise ({tuning.n_queries:,} questions); "
            + ("chosen nevertheless, because of --winner" if arguments.winner else "the default stands"),
            file=sys.stderr,
        )
    return 0


def _read(arguments: argparse.Namespace, bar: bool | None) -> tuple[Index, list[JudgedQuery]]:
    source = Path(arguments.source)
    scope = _scope(arguments)
    if source.is_dir():
        if scope is not None or arguments.collection is not None:
            raise InputError("--tenant, --user, --agent, --collection: expected an index file as SOURCE")
        judged = read_judged(source, arguments.vectors)
        index = Index(None if arguments.vectors is not None else arguments.embedder)
        index.upsert_many(judged.records, progress=bar)
        return index, judged.queries
    if not source.exists():
        raise InputError(f"{source}: expected a folder or an index file, found neither")
    if arguments.vectors is not None:
        raise InputError("--vectors: expected a folder as SOURCE")
    index = open_index(arguments.source, arguments.embedder, collection=arguments.collection)
    try:
        return index, from_feedback(index, scope)
    except BaseException:
        index.close()
        raise


def _scope(arguments: argparse.Namespace) -> Scope | None:
    if arguments.tenant is None:
        if arguments.user is not None or arguments.agent is not None:
            raise InputError("--user, --agent: expected a --tenant with them")
        return None
    return Scope(arguments.tenant, arguments.user, arguments.agent)


def _show(tuning: Tuning, setting: Setting, arguments: argparse.Namespace) -> None:
    default, chosen = Setting(), tuning.winner
    shown = list(tuning.rows[: arguments.rows])
    shown += [  # the default, the chosen setting, and the single rankings
        row
        for row in tuning.rows[arguments.rows :]
        if row.setting is None or row.setting in (default, chosen)
    ]
    rows = [
        [
            mark() if row.setting == setting else "",
            row.name,
            *(f"{row.figures[metric]:.3f}" for metric in METRICS),
            _interval(row.gain),
        ]
        for row in shown
    ]
    print(render_table(["", "ranking", *METRICS, "against the default"], rows, stretch=1))
    if len(shown) < len(tuning.rows):
        print(dim(f"... {len(tuning.rows) - len(shown)} more rankings"))
    print(f"\n{tuning.n_queries:,} judged questions, cross-validated over {len(tuning.folds)} folds:")
    folds = [[name, f"{reached:.3f}", f"{base:.3f}"] for name, reached, base in tuning.folds]
    print(render_table(["chosen by the other folds", tuning.metric, "default"], folds, stretch=0))
    print(f"\ngain on held-out questions: {bold(_interval(tuning.gain))} {tuning.metric} (95% by bootstrap)")
    written = f"; the query is written to {arguments.out}" if arguments.out else ""
    print(f"settings: {describe_setting(setting)}{written}")
    if setting.bm25 is not None:
        k1, b = setting.bm25
        print(dim(f"pass k1 and b when creating or opening an index: Index.open(path, k1={k1:g}, b={b:g})"))
    if setting.rerank:
        print(
            dim(
                f"reranking is a stage of a retriever: Retriever(index, reranker=..., rerank={setting.rerank})"
            )
        )


def _interval(gain: Gain) -> str:
    return f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"

"""`scrubjay memory add`, `recall`, `known`, `why`, `forget`, `replay`, `sweep`, `changes`, `export` and `import`.

`memory_record_commands` has the commands on records and holds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrubjay.cli.memory_output import print_json
from scrubjay.cli.memory_record_commands import COMMANDS as RECORD_COMMANDS
from scrubjay.cli.memory_record_commands import asked_for, times_of
from scrubjay.cli.objects import objects_of
from scrubjay.cli.options import scope_of
from scrubjay.cli.outputs import check_output, file_or_output, open_index
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import bold, clean, dim, render_table
from scrubjay.embedders import Embedder
from scrubjay.embedders.accepted import AUTO, as_embedder, embedder_of_model
from scrubjay.memory import (
    EpisodeCandidate,
    FactCandidate,
    Memory,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.exchange.json_types import plain
from scrubjay.memory.ledger.context import COLLECTION
from scrubjay.memory.model.names import RECALLED_KINDS

# The commands that write; all others open the file read-only.
_WRITE = ("add", "forget", "sweep", "import", "confirm", "revoke", "hold", "release")


def run_memory(arguments: argparse.Namespace) -> int:
    """Run `scrubjay memory ...`; return its exit code."""
    logging.getLogger("scrubjay.memory").addHandler(logging.NullHandler())  # rejections are printed
    of_records = RECORD_COMMANDS.get(arguments.memory_command)
    if of_records is None:
        return _COMMANDS[arguments.memory_command](arguments)
    with _open(arguments) as memory:
        return of_records(memory, arguments)


def _add(arguments: argparse.Namespace) -> int:
    scope, text = scope_of(arguments), arguments.text
    source = Provenance(run=arguments.run, author="command line")
    by_key = arguments.kind in ("preference", "policy")
    if by_key and not arguments.key:
        raise InputError(f"--key: a {arguments.kind} needs one")
    if not by_key and (arguments.value is not None or arguments.type):
        raise InputError(f"--value, --type: only preferences and policies have them, got a {arguments.kind}")
    if arguments.kind != "episode" and (arguments.title or arguments.completed_at):
        raise InputError(f"--title, --completed-at: only episodes have them, got a {arguments.kind}")
    if not text and arguments.value is None:
        raise InputError("TEXT: expected what to remember" + (", or --value" if by_key else ""))
    value = None if arguments.value is None else _json(arguments.value)
    with _open(arguments, new=True) as memory:
        if arguments.kind == "policy":
            outcome = memory.policy(
                arguments.key, text, tenant=scope.tenant, value=value, type=arguments.type, by="command line"
            )
        else:
            candidate: Any
            if arguments.kind == "preference":
                candidate = PreferenceCandidate(
                    arguments.key,
                    text,
                    confidence=arguments.confidence,
                    value=value,
                    type=arguments.type,
                )
            elif arguments.kind == "episode":
                candidate = EpisodeCandidate(
                    text, arguments.outcome, title=arguments.title, completed_at=arguments.completed_at
                )
            else:
                candidate = FactCandidate(
                    text,
                    arguments.subject,
                    arguments.predicate,
                    confidence=arguments.confidence,
                    single=arguments.single,
                )
            outcome = memory.propose(candidate, scope=scope, source=source)
    if arguments.json:
        print_json(outcome)
    else:
        print(" ".join(filter(None, [bold(outcome.status), outcome.kind, outcome.id or ""])))
        if outcome.reason:
            print(dim(clean(outcome.reason)))
    return 0 if outcome else 2


def _recall(arguments: argparse.Namespace) -> int:
    kinds = tuple(arguments.kind) if arguments.kind else RECALLED_KINDS
    with _open(arguments) as memory:
        with asked_for():
            hits = memory.recall(
                arguments.question, scope_of(arguments), kinds=kinds, k=arguments.k, **times_of(arguments)
            )
        rows: list[dict[str, Any]] = [
            {
                "id": hit.id,
                "scope": hit.scope,
                "kind": hit.kind,
                "text": hit.text,
                "score": hit.score,
                "relevance": hit.relevance,
                "tier": hit.tier,
            }
            for hit in hits
        ]
        mode, degraded, fits = hits.mode, list(hits.degraded), hits.relevance
    if arguments.json:
        print_json({"relevance": fits, "mode": mode, "degraded": degraded, "hits": rows})
    elif rows:
        table = [
            [row["kind"], f"{row['score']:.3f}", row["relevance"], row["text"], row["id"]] for row in rows
        ]
        print(render_table(["kind", "score", "relevance", "text", "id"], table, stretch=3))
    else:
        print("nothing found")
    if degraded and not arguments.json:
        print(dim(clean("; ".join(degraded))))
    return 0 if rows else 1


def _known(arguments: argparse.Namespace) -> int:
    with _open(arguments) as memory, asked_for():
        known = memory.known(scope_of(arguments), **times_of(arguments))
    records: list[Any] = [*known.policies, *known.preferences]
    if arguments.json:
        print_json({"policies": known.policies, "preferences": known.preferences})
    elif records:
        table = [[record.kind, record.key, record.text, record.id] for record in records]
        print(render_table(["kind", "key", "text", "id"], table, stretch=2))
    else:
        print("nothing known")
    return 0 if records else 1


def _why(arguments: argparse.Namespace) -> int:
    with _open(arguments) as memory:
        why = memory.why(arguments.id, scope=scope_of(arguments))
    if why is None:
        raise InputError(f"{arguments.id}: no such record in this scope")
    if arguments.json:
        print_json(why)
    else:
        print("\n".join("  " * line.startswith(" ") + clean(line) for line in str(why).splitlines()))
    return 0


def _forget(arguments: argparse.Namespace) -> int:
    scope = scope_of(arguments)
    if scope.agent is not None:
        raise InputError("--agent: forget erases a user with all agents, or a tenant; leave it out")
    whose = f"tenant {scope.tenant!r}" + (f", user {scope.user!r}" if scope.user else " with all its users")
    if not arguments.yes:
        raise InputError(f"this would erase everything of {whose} permanently; confirm with --yes")
    with _open(arguments) as memory:
        forgotten = memory.forget(scope, reason=arguments.reason, by="command line")
        memory.admin.compact()
        proof = memory.admin.verify_erased(scope)
    if arguments.json:
        print_json({"counts": forgotten.counts, "clean": proof.clean, "proofs": proof.proofs})
    else:
        for kind, count in sorted(forgotten.counts.items()):
            print(f"{kind:<14}{count:,}")
        print(dim(clean(f"erased everything of {whose}; only this event is left")))
        print(dim(f"proved: {'; '.join(proof.proofs) or 'nothing'}"))
    return 0 if forgotten.counts else 1


def _replay(arguments: argparse.Namespace) -> int:
    with _open(arguments) as memory:
        try:
            replay = memory.replay(arguments.run, scope_of(arguments))
        except KeyError:
            raise InputError(f"{arguments.run}: no such run in this scope") from None
    prompts = {prompt.seq: prompt for prompt in replay.prompts()} if arguments.prompts else {}
    if arguments.json:
        prompt_rows = [
            {
                "seq": prompt.seq,
                "turn": prompt.turn,
                "faithful": prompt.faithful,
                "text": prompt.assembled and prompt.assembled.text,
            }
            for prompt in prompts.values()
        ]
        events = [event.to_dict() for event in replay.events]
        print_json(
            {
                "run": replay.run_id,
                "events": events,
                **({"prompts": prompt_rows} if arguments.prompts else {}),
            }
        )
        return 0
    table = []
    for event in replay.events:
        text = event.content
        if event.kind == "prompt":
            text = f"{event.data['envelope']['tokens']['total']} tokens, sha256 {event.data['sha256'][:12]}"
        table.append([str(event.seq), str(event.turn), f"{event.at:%Y-%m-%d %H:%M:%S}", event.author, text])
    print(render_table(["event", "turn", "at", "who", "what"], table, stretch=4))
    for prompt in prompts.values():
        how = "unchanged" if prompt.faithful else "incomplete: a part of it is past its retention"
        print(f"\n{bold(f'prompt {prompt.seq}')} {dim(how)}")
        print(
            "\n".join(_shown(line) for line in prompt.assembled.text.splitlines()) if prompt.assembled else ""
        )
    return 0


def _sweep(arguments: argparse.Namespace) -> int:
    with _open(arguments) as memory:
        swept = memory.admin.sweep()
    counts = dataclasses.asdict(swept)
    if arguments.json:
        print_json(counts)
    else:
        for name, count in counts.items():
            print(f"{name.replace('_', ' '):<24}{count:,}")
    return 0


def _changes(arguments: argparse.Namespace) -> int:
    with _open(arguments) as memory:
        try:
            changes = memory.feed.changes(
                arguments.since, scope=scope_of(arguments), within=arguments.within, limit=arguments.limit
            )
        except ValueError as error:
            raise InputError(f"--{error}") from None
    if arguments.json:
        print_json(changes)
    elif changes:
        table = [
            [
                str(change.cursor),
                f"{change.at:%Y-%m-%d %H:%M:%S}",
                change.action,
                change.kind or "all",
                change.record or "-",
            ]
            for change in changes
        ]
        print(render_table(["cursor", "at", "action", "kind", "id"], table, stretch=4))
    else:
        print("nothing changed")
    return 0 if changes else 1


def _export(arguments: argparse.Namespace) -> int:
    scope, as_markdown = scope_of(arguments), _is_markdown(arguments, arguments.out)
    check_output(arguments.out, force=arguments.force, reads=[arguments.file])
    with _open(arguments) as memory:
        write = memory.files.export_markdown if as_markdown else memory.files.export
        try:
            with file_or_output(arguments.out) as target:
                n = write(target, scope=scope, replace=arguments.force)
        except OSError as error:
            raise InputError(f"{arguments.out}: {error.strerror}") from None
    unit = "records" if as_markdown else "lines"
    if arguments.out == "-":
        print(f"{n:,} {unit}", file=sys.stderr)
    elif arguments.json:
        print_json({unit: n})
    else:
        print(f"{n:,} {unit} in {clean(arguments.out)}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    scope = scope_of(arguments)
    if arguments.as_notes and arguments.origin is None:
        raise InputError("--as-notes: expected together with --from")
    from_markdown = arguments.origin is None and _is_markdown(arguments, arguments.source)
    if arguments.dry_run and not from_markdown and arguments.origin is None:
        raise InputError("--dry-run: only edits of Markdown can be tried, got lines of JSON")
    with _open(arguments, new=True) as memory:
        done: Any
        try:
            if arguments.origin is not None:
                done = memory.files.import_from(
                    arguments.source,
                    arguments.origin,
                    scope=scope,
                    as_notes=arguments.as_notes,
                    dry_run=arguments.dry_run,
                )
            elif from_markdown:
                done = memory.files.import_markdown(
                    arguments.source, scope=scope, by=arguments.by, dry_run=arguments.dry_run
                )
            else:
                done = memory.files.import_(arguments.source, scope=scope)
        except OSError as error:
            raise InputError(f"{arguments.source}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{arguments.source}: {error}") from None
    report = plain(done)
    if arguments.json:
        print_json(report)
        return 0
    for name, found in report.items():
        n = (
            sum(found.values())
            if isinstance(found, dict)
            else len(found)
            if isinstance(found, list)
            else found
        )
        print(f"{name.replace('_', ' '):<14}{n:,}")
    for reason in [*report.get("reasons", ()), *(report["left_alone"] if from_markdown else ())]:
        print(dim(clean(reason)))
    return 0


def _is_markdown(arguments: argparse.Namespace, name: str) -> bool:
    if arguments.format is not None:
        return bool(arguments.format == "markdown")
    ending = Path(name).suffix.lower()
    if ending not in (".md", ".markdown", ".jsonl"):
        raise InputError(f"--format: expected jsonl or markdown, because the suffix of {name} is neither")
    return ending != ".jsonl"


def _open(arguments: argparse.Namespace, *, new: bool = False) -> Memory:
    if new and not Path(arguments.file).exists():
        return Memory.open(arguments.file, _embedder(arguments, {}), objects=objects_of(arguments.file))
    with open_index(arguments.file) as index:  # opening a memory would create its tables
        has_memory = COLLECTION in index.admin.collections()
        if not new and not has_memory:
            raise InputError(f"{arguments.file}: no memory in this file; `scrubjay memory add` makes one")
        holder = index.collection(COLLECTION) if has_memory else index
        stats = holder.admin.stats()
        if stats["embedder"] is None and stats["dim"] is None:
            of_index = index.admin.stats()
            stats = {**of_index, "documents": stats["documents"] or of_index["documents"]}
    writes = arguments.memory_command in _WRITE
    objects = objects_of(arguments.file)
    return Memory.open(arguments.file, _embedder(arguments, stats), read_only=not writes, objects=objects)


def _embedder(arguments: argparse.Namespace, stored: Mapping[str, Any]) -> Embedder | None:
    """Return the embedder of --embedder; by default the one of the vectors in the file."""
    if arguments.embedder != AUTO:
        return as_embedder(arguments.embedder)
    is_new = not stored.get("documents")
    return embedder_of_model(stored.get("embedder"), stored.get("dim"), is_new=is_new)


def _json(given: str) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"--value: expected JSON (a text in quotation marks), got {given[:80]!r}: {error}"
        ) from None


def _shown(line: str) -> str:
    """Return a line of a prompt without control sequences for the terminal, with its indentation."""
    return " " * (len(line) - len(line.lstrip(" "))) + clean(line)


_COMMANDS = {
    "add": _add,
    "recall": _recall,
    "known": _known,
    "why": _why,
    "forget": _forget,
    "replay": _replay,
    "sweep": _sweep,
    "changes": _changes,
    "export": _export,
    "import": _import,
}

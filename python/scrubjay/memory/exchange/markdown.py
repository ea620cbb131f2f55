"""Markdown for editing by hand: a list for each kind; each item has a comment that identifies its record.

    # Memory of acme, jane
    ## Preferences
    - **tone**: Answer briefly. <!-- preference_2f.. 5d41402a -->
    ## Facts
    - Jane lives in Oslo <!-- fact_0c.. 7b52009b -->

The comment has the id and a digest of the item as written, so that edits are recognised from the file alone. An item
without a comment is new. The last line lists all written ids: one without an item was deleted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import ConflictError
from scrubjay.memory.model.candidates import (
    Candidate,
    EpisodeCandidate,
    FactCandidate,
    Outcome,
    PolicyCandidate,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.records import Record
from scrubjay.store.rows.scopes import names_of

_HEADINGS = {"policy": "Policies", "preference": "Preferences", "fact": "Facts", "episode": "Episodes"}
_KINDS = {heading: kind for kind, heading in _HEADINGS.items()}
_INTRODUCTION = "Edit, delete or add items; the comments say which record an item is."
_MARK = re.compile(r" ?<!-- ([a-z]+_[0-9a-f]{32}) ([0-9a-f]{16}) -->$", re.M)
_KEY = re.compile(r"\*\*((?:[^*\\]|\\.)+)\*\*: ?", re.S)
_END = re.compile(r"^<!-- scrubjay memory (\{.*\}) -->$")


@dataclass
class Edited:
    """The result of importing edits."""

    unchanged: int = 0
    """The number of unchanged records."""
    updated: list[str] = field(default_factory=list)
    """Ids of records that were updated (for a policy: the id of the proposed version)."""
    revoked: list[str] = field(default_factory=list)
    """Ids of records whose lines were deleted."""
    proposed: list[Outcome] = field(default_factory=list)
    """The gate's outcome for each new line."""
    left_alone: list[str] = field(default_factory=list)
    """Edits that were not applied, with reasons; also lines that are not list items."""


class Verbs(NamedTuple):
    """The methods of a memory by which edits are applied."""

    list: Callable[..., Sequence[Record]]
    propose: Callable[..., Outcome]
    revoke: Callable[..., None]
    update: Callable[..., Record]


class _Item(NamedTuple):
    kind: str
    head: str
    """The key of a policy or preference, the outcome of an episode."""
    text: str
    id: str | None
    digest: str | None


# ---------------------------------------------------------------------- export


def as_markdown(memory: Verbs, scope: Scope) -> tuple[str, int]:
    """Return the records in force of exactly a scope as Markdown, and their number."""
    records = [record for record in memory.list(scope, exact=True) if record.status == "active"]
    lines = [f"# Memory of {', '.join(name for name in names_of(scope) if name)}", ""]
    lines += [_INTRODUCTION, ""]
    for kind, heading in _HEADINGS.items():
        lines += [f"## {heading}", ""]
        lines += [_marked(record) for record in records if record.kind == kind]
        lines.append("")
    names = dict(zip(("tenant", "user", "agent"), names_of(scope), strict=True))
    end = json.dumps(
        {"format": 1, **names, "ids": {record.id: _digest(_written(record)) for record in records}}
    ).replace("--", "-\\u002d")
    return "\n".join([*lines, f"<!-- scrubjay memory {end} -->", ""]), len(records)


def _marked(record: Record) -> str:
    item = _written(record)
    return f"{item} <!-- {record.id} {_digest(item)} -->"


def _written(record: Any) -> str:
    """Return an item without its comment."""
    head = {"policy": "key", "preference": "key", "episode": "outcome"}.get(record.kind)
    text = re.sub("\r\n?", "\n", record.text)
    if head is not None:
        escaped = re.sub(r"([*\\])", r"\\\1", getattr(record, head))
        text = f"**{escaped}**: {text}"
    elif text.startswith("**"):
        text = "\\" + text
    return "- " + "\n  ".join(text.split("\n"))


def _digest(item: str) -> str:
    """Return the digest of an item; spaces at line ends, which editors remove, are ignored."""
    lines = (line.rstrip() for line in item.split("\n"))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


# ---------------------------------------------------------------------- import


def take_edits(
    memory: Verbs, text: str, scope: Scope, by: str | None = None, *, dry_run: bool = False
) -> Edited:
    """Apply the edits made to a text that :func:`as_markdown` returned."""
    items, ids, others = _read(text, scope)
    done = Edited(left_alone=others)
    there = {one.id: one for one in memory.list(scope, exact=True)}
    source = Provenance("edited by hand", author=by)
    seen = set()
    for item in items:
        if item.id is None or item.id in seen or item.id not in ids:
            outcome = _propose(memory, item, scope, source, dry_run)
            done.proposed.append(outcome)
            continue
        seen.add(item.id)
        if item.digest is None:
            done.unchanged += 1
            continue
        record = there.get(item.id)
        if record is None or _digest(_written(record)) != item.digest:
            done.left_alone.append(f"{item.id}: it was changed, or is no longer in force")
            continue
        try:
            done.updated.append(_update(memory, record, item, scope, source, by, dry_run))
        except (ValueError, ConflictError) as error:
            done.left_alone.append(f"{item.id}: {error}")
    for id, digest in ids.items():
        if id in seen:
            continue
        record = there.get(id)
        if record is None or _digest(_written(record)) != digest:
            done.left_alone.append(f"{id}: it was changed, or is no longer in force")
            continue
        if not dry_run:
            memory.revoke(id, reason="deleted by hand", scope=scope, by=by)
        done.revoked.append(id)
    return done


def _read(text: str, scope: Scope) -> tuple[list[_Item], dict[str, str], list[str]]:
    """Return the items in order (digest None if unchanged), all written ids, and the lines outside of items, with
    what was expected there."""
    lines = text.replace("\r\n", "\n").split("\n")
    ends = [match for line in lines if (match := _END.match(line))]
    if len(ends) != 1:
        raise ValueError(
            "path: expected the last line of an export as Markdown, which names its scope, got none"
        )
    try:
        footer: dict[str, Any] = json.loads(ends[0][1])
        whose = [footer["tenant"], footer["user"], footer["agent"]]
        ids = {str(id): str(digest) for id, digest in footer["ids"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path: expected the last line of an export as Markdown, got another: {error}"
        ) from None
    if whose != list(names_of(scope)):
        raise ValueError(f"scope: expected that of the file, {whose}, got {list(names_of(scope))}")
    items: list[_Item] = []
    kind, block, others = "fact", list[str](), list[str]()
    for n, line in enumerate([*lines, "# "], 1):
        if block and line.startswith("  "):
            block.append(line)
            continue
        if block and not _MARK.search(block[-1]) and not line.strip():
            block.append("")
            continue
        if block:
            items.append(_item(kind, "\n".join(block).rstrip()))
            block = []
        if line.startswith("#"):
            kind = _KINDS.get(line.lstrip("# ").strip(), kind)
        elif line.startswith(("- ", "* ")):
            block = [line]
        elif line.strip() and line.strip() != _INTRODUCTION and not _END.match(line):
            others.append(f"line {n}: expected an item, which begins with '- ', got {line.strip()[:80]!r}")
    return items, ids, others


def _item(kind: str, written: str) -> _Item:
    marks = list(_MARK.finditer(written))[-1:]
    digest = id = None
    for mark in marks:
        written, id = written[: mark.start()] + written[mark.end() :], mark[1]
        digest = None if _digest(written) == mark[2] else mark[2]
        kind = id.partition("_")[0]
    text = "\n".join([written[2:].split("\n")[0], *(line[2:] for line in written.split("\n")[1:])])
    head = ""
    if kind != "fact" and (named := _KEY.match(text)):
        head, text = re.sub(r"\\(.)", r"\1", named[1], flags=re.S), text[named.end() :]
    elif kind == "fact" and text.startswith("\\**"):
        text = text[1:]
    return _Item(kind, head, text.strip(), id, digest)


def _propose(memory: Verbs, item: _Item, scope: Scope, source: Provenance, dry_run: bool) -> Outcome:
    candidate: Candidate
    if item.kind == "fact":
        candidate = FactCandidate(item.text)
    elif item.kind == "episode":
        candidate = EpisodeCandidate(item.text, item.head or "success")
    elif item.kind == "preference":
        candidate = PreferenceCandidate(item.head, item.text)
    else:
        candidate = PolicyCandidate(item.head, item.text)
    if dry_run:
        return Outcome("written", item.kind, None, "a dry run", active=False)
    return memory.propose(candidate, scope=scope, source=source)


def _update(
    memory: Verbs,
    record: Any,
    item: _Item,
    scope: Scope,
    source: Provenance,
    by: str | None,
    dry_run: bool,
) -> str:
    if record.kind == "policy":
        if item.head != record.key:
            raise ValueError(
                f"key: expected {record.key!r}, got {item.head!r}; write a new item for a new key"
            )
        if dry_run:
            return str(record.id)
        outcome = memory.propose(PolicyCandidate(item.head, item.text), scope=scope, source=source)
        if not outcome:
            raise ValueError(outcome.reason)
        return str(outcome.id)
    changes: dict[str, Any] = {{"fact": "content", "episode": "summary"}.get(record.kind, "text"): item.text}
    if record.kind == "episode":
        changes["outcome"] = item.head
    elif record.kind == "preference" and item.head != record.key:
        raise ValueError(f"key: expected {record.key!r}, got {item.head!r}; write a new item for a new key")
    if not dry_run:
        memory.update(record.id, scope=scope, by=by, **changes)
    return str(record.id)

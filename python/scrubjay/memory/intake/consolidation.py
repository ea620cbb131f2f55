"""Consolidation: near-duplicates are merged and episodes summarised, by proposals to the gate.

Copy on write: a merged fact is a new one, a correction that replaces its sources for all of their time (they say the
same, so nothing changed in the world; what was known before stays unchanged). Facts without subject and predicate,
which cannot be corrected, are superseded from now on. All keep their rows, and are in force again if the new one is
revoked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag, is_number
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.ledger.context import checked_scope
from scrubjay.memory.model.candidates import Candidate, EpisodeCandidate, FactCandidate, Outcome, Provenance
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.model.names import Relation
from scrubjay.memory.model.records import Episode, Fact
from scrubjay.memory.model.wording import changes_meaning
from scrubjay.memory.read.lookup import Lookup

Merger = Callable[[Sequence[Any]], Candidate | None]
"""Takes facts that say nearly the same, or episodes of one task type, oldest first; returns the candidate that replaces
them, or None."""

_RUN = "consolidation"
_SUMMED_UP = "consolidates"
_MAX_PER_WORD = 200
"""Words in more facts than this do not select candidates for comparison; rarer words do."""


@dataclass(frozen=True)
class Consolidated:
    """The proposals of a consolidation: pairs (outcome, ids of the source records).

    Attributes:
        merged: facts that say the same, as one.
        summed_up: episodes of one task type, as one fact.
    """

    merged: tuple[tuple[Outcome, tuple[str, ...]], ...] = ()
    summed_up: tuple[tuple[Outcome, tuple[str, ...]], ...] = ()

    @property
    def ids(self) -> list[str]:
        """Ids of the records that were written; revoking one undoes it."""
        every = (*self.merged, *self.summed_up)
        return [str(outcome.id) for outcome, _ in every if outcome.status in ("written", "superseded")]


def merge(records: Sequence[Any]) -> Candidate | None:
    """The merger without a model: the longest fact replaces all, with the metadata and entities of the others. Episodes
    are left as they are."""
    if not all(isinstance(record, Fact) for record in records):
        return None
    best: Fact = max(records, key=lambda record: (len(record.content), record.created_at, record.id))
    metadata: dict[str, Any] = {}
    for record in records:
        metadata.update(record.metadata)
    return FactCandidate(
        best.content,
        best.subject,
        best.predicate,
        max(record.confidence for record in records),
        evidence=best.evidence,
        metadata={**metadata, **best.metadata} or None,
        single=best.single,
        value=best.value,
        entities=list(dict.fromkeys(name for record in records for name in record.entities)),
        importance=max(
            (record.importance for record in records if record.importance is not None), default=None
        ),
    )


def consolidate(
    lookup: Lookup,
    gate: Gate,
    clock: Callable[[], int],
    scope: Scope,
    merger: Merger,
    *,
    likeness: float,
    least_episodes: int,
    dry_run: bool,
) -> Consolidated:
    """Propose a merger's results for groups of records in force of exactly a scope; see `Memory.consolidate`."""
    checked_scope(scope)
    if not callable(merger):
        raise TypeError(f"merger: expected a function of records, got {type(merger).__name__}")
    dry_run = checked_flag(dry_run, "dry_run")
    if not is_number(likeness):
        raise TypeError(f"likeness: expected a number, got {type(likeness).__name__}")
    if not 0 < likeness <= 1:
        raise ValueError(f"likeness: expected more than 0, at most 1, got {likeness}")
    if isinstance(least_episodes, bool) or not isinstance(least_episodes, int) or least_episodes < 2:
        raise ValueError(f"least_episodes: expected an int of 2 or more, got {least_episodes!r}")
    facts: Any = lookup.list(scope, kinds=["fact"], exact=True)
    episodes: Any = lookup.list(scope, kinds=["episode"], exact=True)
    now = as_moment(clock())
    proposals: list[tuple[str, Candidate, tuple[str, ...]]] = []
    for group in _near_duplicates(
        [one for one in facts if one.relation == "asserts" and one.status == "active"], likeness
    ):
        candidate, ids = merger(group), tuple(one.id for one in group)
        if isinstance(candidate, FactCandidate):
            has_slot = bool(candidate.subject and candidate.predicate)
            begin = min(one.holds[0][0] for one in group) if has_slot else now
            relation: Relation = "corrects" if has_slot else "asserts"
            fresh = replace(candidate, relation=relation, valid_from=begin, replaces=ids)
            proposals.append(("merged", fresh, ids))
        elif candidate is not None:
            raise TypeError(f"merger: expected a FactCandidate or None, got {type(candidate).__name__}")
    for some in _of_one_task(episodes, least_episodes):
        candidate, ids = merger(some), tuple(one.id for one in some)
        if isinstance(candidate, EpisodeCandidate):
            metadata = {**(candidate.metadata or {}), _SUMMED_UP: list(ids)}
            proposals.append(("summed_up", replace(candidate, metadata=metadata), ids))
        elif candidate is not None:
            raise TypeError(f"merger: expected an EpisodeCandidate or None, got {type(candidate).__name__}")
    if dry_run:
        outcomes = [
            Outcome("written", _kind(one), None, "a dry run", active=False) for _, one, _ in proposals
        ]
    else:
        source = Provenance(_RUN)
        outcomes = [*gate.propose_all([(one, scope, source) for _, one, _ in proposals])] if proposals else []
    found: dict[str, list[Any]] = {"merged": [], "summed_up": []}
    for (kind, _, ids), outcome in zip(proposals, outcomes, strict=True):
        found[kind].append((outcome, ids))
    return Consolidated(tuple(found["merged"]), tuple(found["summed_up"]))


def _kind(candidate: Candidate) -> str:
    return "fact" if isinstance(candidate, FactCandidate) else "episode"


def _near_duplicates(facts: Sequence[Fact], likeness: float) -> list[list[Fact]]:
    """Return groups of facts with one subject and predicate that say nearly the same; each fact is in at most one."""
    holders: dict[tuple[str, str, str], list[int]] = {}
    words = [_words(fact.content) for fact in facts]
    groups: dict[int, list[int]] = {}
    first_of: dict[int, int] = {}
    for i, fact in enumerate(facts):
        keys = [(normalised(fact.subject), normalised(fact.predicate), word) for word in sorted(words[i])]
        near = {j for key in keys if len(rest := holders.get(key, [])) <= _MAX_PER_WORD for j in rest}
        for j in sorted(near):
            if _share(words[i], words[j]) >= likeness and _are_one(fact, facts[j]):
                first = first_of.get(j, j)
                if all(_share(words[i], words[k]) >= likeness for k in groups.get(first, [first])):
                    first_of[i] = first
                    groups.setdefault(first, [first]).append(i)
                    break
        for key in keys:
            holders.setdefault(key, []).append(i)
    return [[facts[i] for i in group] for group in groups.values()]


def _are_one(one: Fact, other: Fact) -> bool:
    """Whether two facts may be merged: they do not differ in a number, value, time or expiry, in a word that negates or
    limits, in content words on both sides, or in the order of these."""
    same = (one.value, one.valid_until, one.expires_at) == (other.value, other.valid_until, other.expires_at)
    if not same or _numbers(one.content) != _numbers(other.content):
        return False
    return not changes_meaning(one.content, other.content)


def _numbers(text: str) -> set[str]:
    return {word for word in _words(text) if any(c.isdigit() for c in word)}


def _words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in normalised(text)).split())


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _of_one_task(episodes: Sequence[Episode], least: int) -> Iterable[list[Episode]]:
    """Return groups of episodes of one task type without a summary; summaries are not summarised again."""
    done = {id for episode in episodes for id in episode.metadata.get(_SUMMED_UP, ())}
    by_task: dict[str, list[Episode]] = {}
    for episode in episodes:
        if episode.id not in done and _SUMMED_UP not in episode.metadata:
            by_task.setdefault(episode.task_type, []).append(episode)
    return [some for task, some in by_task.items() if task and len(some) >= least]

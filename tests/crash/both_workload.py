"""A random workload over an index and a memory in one file: step n follows from the seed and the state before it.

The process that writes and the process that judges derive the same step from the same state. A step has two halves: a
call of the real index or memory, and the corresponding change of the model (`World`). Every step is one
transaction, so after a kill the file holds the state before it or the state after it.
"""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay import Scope
from scrubjay.memory import (
    EpisodeCandidate,
    FactCandidate,
    Memory,
    PolicyCandidate,
    PreferenceCandidate,
)
from tests.crash import workload
from tests.memory.model import Entry, Key, Model, Rule, key_of
from tests.memory.setting import EVERYWHERE, START

DIM = 8
N_IDS = 60
TOPICS = [("Jane", "likes"), ("Jane", "lives in"), ("acme", "ships"), ("Ann", "sails"), ("", "")]
RUNS = ["r1", "r2", "r3"]
USERS = [scope for scope in EVERYWHERE if scope.user is not None]


class Hashed:
    """An embedder whose vectors are bytes of a hash: every text has a different vector."""

    dim = DIM

    def __init__(self, name: str) -> None:
        self.name = name

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one text."""
        digest = hashlib.sha256(f"{self.name}:{text}".encode()).digest()[:DIM]
        return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        return np.stack([self.embed_query(text) for text in texts])


EMBEDDERS = {name: Hashed(name) for name in ("first", "second")}


@dataclass
class World:
    """The expected content of a file."""

    index: workload.State = field(default_factory=dict)
    model: Model = field(default_factory=lambda: Model(START))
    runs: dict[tuple[Key, str], list[str]] = field(default_factory=dict)
    embedder: str = "first"

    def copy(self) -> World:
        """Return an independent copy."""
        runs = {run: list(events) for run, events in self.runs.items()}
        return World(dict(self.index), copy.deepcopy(self.model), runs, self.embedder)


class Step(NamedTuple):
    """One call, and its effect on the world. Both functions return values to be compared, or None."""

    kind: str
    do: Callable[[Memory], Any]
    then: Callable[[World], Any]
    parts: tuple[Step, ...] = ()
    """Steps that run concurrently on threads, in place of `do`; the result does not depend on their order."""


def now(number: int) -> int:
    """Return the memory's time at a step."""
    return START + number * 1_000_000


def agree(outcome: Any, expected: Any) -> bool:
    """Return whether the outcome of a proposal is that of the model."""
    if isinstance(expected, list):
        return all(agree(*pair) for pair in zip(outcome, expected, strict=True))
    return expected is None or outcome == expected


def step(seed: int, number: int, world: World) -> Step:
    """Return step `number`."""
    rng = random.Random(f"both:{seed}:{number}")
    if rng.random() < 0.4:
        return _of_index(seed, number)
    kinds: dict[Callable[..., Step], int] = {
        _fact: 26,
        _episode: 8,
        _several: 10,
        _preference: 12,
        _policy: 5,
        _confirm: 6,
        _revoke: 5,
        _delete: 5,
        _feedback: 3,
        _forget: 3,
        _sweep: 3,
        _trace: 12,
        _batch: 5,
        _together: 8,
        _compact: 3,
        _reembed: 1,
    }
    make = rng.choices(list(kinds), weights=list(kinds.values()))[0]
    return make(rng, number, world)


# ---------------------------------------------------------------------- index


def _of_index(seed: int, number: int) -> Step:
    op = workload.operation(seed, number, N_IDS)
    # One key per call; only Memory.forget erases the documents of the memory.
    op = op._replace(everywhere=False, keys=op.keys[:1] if op.kind == "delete" else op.keys)

    def do(memory: Memory) -> None:
        workload.run(memory.index, op)

    def then(world: World) -> None:
        world.index = workload.expected(world.index, op)

    return Step(f"index {op.kind}", do, then)


# ---------------------------------------------------------------------- proposals


def _text(rng: random.Random, number: int, world: World, kind: str) -> str:
    said = [one.text for one in world.model.entries if one.kind == kind and one.text.startswith("oak")]
    if said and rng.random() < 0.25:
        return rng.choice(said)
    return f"oak f{number}x{rng.randrange(1000)}"


def _fact(rng: random.Random, number: int, world: World) -> Step:
    scope, run = rng.choice(EVERYWHERE), rng.choice(RUNS)
    candidate = FactCandidate(
        _text(rng, number, world, "fact"),
        *rng.choice(TOPICS),
        confidence=rng.choice([0.5, 0.7, 1.0, 1.0, 1.0]),
        ttl=rng.choice([None, None, None, 30]),
    )
    return Step(
        "fact",
        lambda memory: memory.propose(candidate, scope=scope, source=run).status,
        lambda world: _fact_in(world, candidate, scope, run, number),
    )


def _valid_until(number: int, ttl: Any) -> int | None:
    return None if ttl is None else now(number) + ttl * 1_000_000


def _fact_in(world: World, candidate: FactCandidate, scope: Scope, run: str, number: int) -> str:
    topic = (candidate.subject.lower(), candidate.predicate)
    until = _valid_until(number, candidate.ttl)
    status, _ = world.model.fact(key_of(scope), candidate.content, topic, candidate.confidence, until, run)
    return str(status)


def _episode(rng: random.Random, number: int, world: World) -> Step:
    scope = rng.choice(EVERYWHERE)
    candidate = EpisodeCandidate(
        _text(rng, number, world, "episode"), "success", ttl=rng.choice([None, None, 30])
    )
    return Step(
        "episode",
        lambda memory: memory.propose(candidate, scope=scope, source="r1").status,
        lambda world: _episode_in(world, candidate, scope, number),
    )


def _episode_in(world: World, candidate: EpisodeCandidate, scope: Scope, number: int) -> str:
    until = _valid_until(number, candidate.ttl)
    return str(world.model.episode(key_of(scope), candidate.summary, until)[0])


def _several(rng: random.Random, number: int, world: World) -> Step:
    """Return a step of two to five proposals in one transaction."""
    proposals: list[tuple[Any, Scope, str]] = []
    for position in range(rng.randint(2, 5)):
        text = f"oak f{number}y{position}"
        one: Any = (
            FactCandidate(text, *rng.choice(TOPICS)) if rng.random() < 0.7 else EpisodeCandidate(text, "done")
        )
        proposals.append((one, rng.choice(EVERYWHERE), rng.choice(RUNS)))

    def then(world: World) -> list[str]:
        return [
            _fact_in(world, one, scope, run, number)
            if isinstance(one, FactCandidate)
            else _episode_in(world, one, scope, number)
            for one, scope, run in proposals
        ]

    return Step("several", lambda memory: [outcome.status for outcome in memory.propose_all(proposals)], then)


def _batch(rng: random.Random, number: int, world: World) -> Step:
    """Return a step of many facts in one transaction; those that concern no other fact are inserted together."""
    proposals: list[tuple[FactCandidate, Scope, str]] = []
    for position in range(rng.randint(6, 25)):
        text = _text(rng, number, world, "fact") if rng.random() < 0.2 else f"oak f{number}b{position}"
        topic = ("", "") if rng.random() < 0.85 else rng.choice(TOPICS)
        proposals.append((FactCandidate(text, *topic), rng.choice(EVERYWHERE), rng.choice(RUNS)))
    return Step(
        "batch",
        lambda memory: [outcome.status for outcome in memory.propose_all(proposals)],
        lambda world: [_fact_in(world, one, scope, run, number) for one, scope, run in proposals],
    )


def _preference(rng: random.Random, number: int, world: World) -> Step:
    scope, key = rng.choice(USERS), rng.choice("abc")
    candidate = PreferenceCandidate(
        key,
        _text(rng, number, world, "preference"),
        rng.choice(["inferred", "user_stated", "user_stated"]),
        ttl=rng.choice([None, None, 30]),
    )

    def then(world: World) -> str:
        until = _valid_until(number, candidate.ttl)
        arguments = (key_of(scope), key, candidate.text, candidate.source, until)
        return str(world.model.preference(*arguments)[0])

    return Step("preference", lambda memory: memory.propose(candidate, scope=scope, source="r1").status, then)


def _policy(rng: random.Random, number: int, world: World) -> Step:
    scope, key, text = rng.choice(EVERYWHERE), rng.choice("ab"), f"oak f{number}"
    return Step(
        "policy",
        lambda memory: memory.propose(PolicyCandidate(key, text), scope=scope, source="r1").status,
        lambda world: str(world.model.policy(scope.tenant, key, text, None, None)[0]),
    )


# ---------------------------------------------------------------------- existing records


def _owner(one: Entry | Rule) -> Scope:
    if isinstance(one, Rule):
        return Scope(one.tenant)
    tenant, user, agent = one.key
    return Scope(tenant, user or None, agent or None)


def status_of(kind: str, status: str) -> str:
    """Return the status of a record in its row; whether a fact is in force follows from its slot."""
    return "active" if kind == "fact" and status in ("superseded", "ended", "planned") else status


def _find(memory: Memory, one: Entry | Rule) -> str:
    """Return the id of a record: the n-th of those with equal fields (n is `one.id`, see :func:`_copy_of`)."""
    kind = "policy" if isinstance(one, Rule) else one.kind
    found = [
        record.id
        for record in memory.list(_owner(one), kinds=[kind], hidden=True, exact=True)
        if record.text == one.text and status_of(kind, record.status) == one.status and _about(record, one)
    ]
    return found[int(one.id)]


def _copy_of(world: World, place: tuple[str, int]) -> Any:
    """Return a copy of a record of the model; its id is its number among those with equal fields."""

    def known(one: Entry | Rule) -> tuple[Any, ...]:
        return (_owner(one), one.text, one.status, one.topic if isinstance(one, Entry) else one.key)

    one = copy.copy(_at(world, place))
    before = getattr(world.model, place[0])[: place[1]]
    alike = [other for other in before if known(other) == known(one)]
    one.id = str(sum(isinstance(other, Rule) or other.kind == one.kind for other in alike))
    return one


def _about(record: Any, one: Entry | Rule) -> bool:
    """Return whether two records have the same topic or key."""
    if isinstance(one, Rule):
        return bool(record.key == one.key)
    if one.kind == "preference":
        return bool((record.key, "") == one.topic)
    return one.kind != "fact" or (record.subject.lower(), record.predicate) == one.topic


def _pick(rng: random.Random, world: World, *statuses: str, kinds: Sequence[str] = ()) -> Any:
    """Return the place of a living record in the model, or None."""
    model = world.model
    living = [
        (of, position)
        for of, records in (("entries", model.entries), ("rules", model.rules))
        for position, one in enumerate(records)
        if one.status in statuses and (one.until is None or model.now + 10**10 < one.until)
        if not kinds or (isinstance(one, Entry) and one.kind in kinds)
    ]
    return rng.choice(living) if living else None


def _at(world: World, place: tuple[str, int]) -> Any:
    return getattr(world.model, place[0])[place[1]]


def _nothing(kind: str) -> Step:
    return Step(kind, lambda memory: None, lambda world: None)


def _confirm(rng: random.Random, number: int, world: World) -> Step:
    place = _pick(rng, world, "provisional")
    if place is None:
        return _nothing("confirm")
    one = _copy_of(world, place)

    def then(world: World) -> None:
        held = _at(world, place)
        if isinstance(held, Rule):
            held.status = "active"
        else:
            world.model.promote(held, "boss")

    def do(memory: Memory) -> None:
        memory.confirm(_find(memory, one), by="boss", scope=_owner(one))

    return Step("confirm", do, then)


def _revoke(rng: random.Random, number: int, world: World) -> Step:
    place = _pick(rng, world, "active", "provisional")
    if place is None:
        return _nothing("revoke")
    one = _copy_of(world, place)

    def then(world: World) -> None:
        _at(world, place).status = "revoked"

    def do(memory: Memory) -> None:
        memory.revoke(_find(memory, one), reason="wrong", scope=_owner(one))

    return Step("revoke", do, then)


def _delete(rng: random.Random, number: int, world: World) -> Step:
    place = _pick(rng, world, "active", "provisional")
    if place is None:
        return _nothing("delete")
    one = _copy_of(world, place)
    return Step(
        "delete",
        lambda memory: memory.delete(_find(memory, one), scope=_owner(one)),
        lambda world: world.model.remove(_at(world, place)) or True,  # type: ignore[func-returns-value]
    )


def _feedback(rng: random.Random, number: int, world: World) -> Step:
    place = _pick(rng, world, "active", kinds=("fact", "episode"))
    if place is not None and not world.model.in_force(_at(world, place)):
        place = None
    if place is None:
        return _nothing("feedback")
    one = _copy_of(world, place)
    return Step(
        "feedback",
        lambda memory: memory.feedback(_find(memory, one), scope=_owner(one)),
        lambda world: None,
    )


# ---------------------------------------------------------------------- many records


def _forget(rng: random.Random, number: int, world: World) -> Step:
    scope = rng.choice([scope for scope in EVERYWHERE if scope.agent is None])
    if scope.user is None and rng.random() < 0.7:  # a whole tenant is most of the data
        scope = Scope(scope.tenant, user="jane")

    def then(world: World) -> None:
        world.model.forget(scope.tenant, scope.user or "")
        world.index = {key: row for key, row in world.index.items() if not scope.contains(key[1])}
        gone = [run for run in world.runs if run[0][0] == scope.tenant and scope.user in (None, run[0][1])]
        for run in gone:
            del world.runs[run]

    def do(memory: Memory) -> None:
        memory.forget(scope)

    return Step("forget", do, then)


def _together(rng: random.Random, number: int, world: World) -> Step:
    """Return a step of three concurrent writers in different parts of the file, whose commits share a sync."""
    trace = _trace(rng, number, world)
    parts = (_written(rng, ""), _written(rng, "side"), trace)

    def then(world: World) -> None:
        for part in parts:
            part.then(world)

    return Step("together", lambda memory: None, then, parts)


def _written(rng: random.Random, collection: str) -> Step:
    op = workload.upsert_operation(rng, collection, N_IDS)

    def then(world: World) -> None:
        world.index = workload.expected(world.index, op)

    return Step("upsert", lambda memory: workload.run(memory.index, op), then)


def _sweep(rng: random.Random, number: int, world: World) -> Step:
    return Step("sweep", lambda memory: memory.admin.sweep().expired, lambda world: world.model.sweep())


def _trace(rng: random.Random, number: int, world: World) -> Step:
    scope, run = rng.choice(EVERYWHERE), rng.choice(RUNS)
    kinds = rng.choices(["user", "model", "tool"], k=rng.randint(1, 4))
    events = [{"kind": kind, "content": f"oak e{number}z{position}"} for position, kind in enumerate(kinds)]

    def then(world: World) -> None:
        world.runs.setdefault((key_of(scope), run), []).extend(event["content"] for event in events)

    def do(memory: Memory) -> None:
        memory.session(scope, run).extend(events)

    return Step("trace", do, then)


def _compact(rng: random.Random, number: int, world: World) -> Step:
    return Step("compact", lambda memory: memory.admin.compact(), lambda world: None)


def _reembed(rng: random.Random, number: int, world: World) -> Step:
    name = "second" if world.embedder == "first" else "first"

    def then(world: World) -> None:
        world.embedder = name

    def do(memory: Memory) -> None:
        memory.documents.admin.reembed(EMBEDDERS[name], progress=False, batch_size=8)

    return Step("reembed", do, then)

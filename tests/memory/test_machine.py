"""A memory must behave like its model over any sequence of calls, reopenings, second processes and kills.

No sequence makes a record visible outside its scope, or visible while it is provisional, revoked, expired, superseded
or not yet in force, or present after it was erased: the invariant queries every scope for everything after every step.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scrubjay import Scope
from scrubjay.memory import (
    Decay,
    EpisodeCandidate,
    FactCandidate,
    Memory,
    PolicyCandidate,
    PreferenceCandidate,
)
from tests.memory.model import Entry, Model, Rule, key_of
from tests.memory.setting import EVERYWHERE, START, Clock, open_memory

scopes = st.sampled_from(EVERYWHERE)
topics = st.sampled_from(
    [("Jane", "likes"), ("acme", "ships"), ("Acme", "sells"), ("", "likes"), ("Ann", "")]
)
contents = st.sampled_from(["oak tea", "Oak tea.", "oak jay", "oak acorn", "OAK ACORN"])
ttls = st.sampled_from([None, None, 2, 5])
runs = st.sampled_from(["r1", "r2", "r3"])
pick = st.integers(0, 10_000)
values = st.one_of(contents, st.sampled_from([1, 1.0, True, {"max": 1}, {"max": True}, ["oak"]]))


class MemoryMachine(RuleBasedStateMachine):
    """`model` predicts what every scope sees; every answer of the memory is compared with it."""

    path: Path

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "m.scrubjay"
        self.clock = Clock()
        self.model = Model(START)
        self.others: list[Memory] = []
        self.memory = self._open()

    def _open(self) -> Memory:
        return open_memory(self.path, self.clock, decay=Decay(sink_below=0, expire_below=0))

    def _until(self, ttl: int | None) -> int | None:
        return None if ttl is None else self.clock.now + ttl * 1_000_000

    def _agree(self, outcome: Any, expected: Any) -> None:
        status, one = expected
        assert outcome.status == status, (outcome, expected)
        if one is None:
            assert outcome.id is None
            return
        assert one.id in ("", outcome.id), (outcome, one)
        one.id = outcome.id
        active = self.model.in_force(one) if isinstance(one, Entry) and one.status == "active" else False
        assert outcome.active == (active or (isinstance(one, Rule) and one.status == "active"))

    # ------------------------------------------------------------------ writing

    @rule(
        scope=scopes,
        text=contents,
        topic=topics,
        confidence=st.sampled_from([0.5, 0.7, 1.0]),
        ttl=ttls,
        run=runs,
    )
    def fact(
        self, scope: Scope, text: str, topic: tuple[str, str], confidence: float, ttl: int | None, run: str
    ) -> None:
        candidate = FactCandidate(text, *topic, confidence=confidence, ttl=ttl)
        outcome = self.memory.propose(candidate, scope=scope, source=run)
        subject = (topic[0].lower(), topic[1])
        self._agree(
            outcome,
            self.model.fact(key_of(scope), text, subject, confidence, self._until(ttl), run, outcome.id),
        )

    @rule(scope=scopes, text=contents, ttl=ttls)
    def episode(self, scope: Scope, text: str, ttl: int | None) -> None:
        candidate = EpisodeCandidate(text, "success", ttl=ttl)
        outcome = self.memory.propose(candidate, scope=scope, source="r1")
        self._agree(outcome, self.model.episode(key_of(scope), text, self._until(ttl)))

    @rule(
        scope=scopes,
        key=st.sampled_from("ab"),
        value=values,
        source=st.sampled_from(["inferred", "user_stated"]),
        ttl=ttls,
    )
    def preference(self, scope: Scope, key: str, value: Any, source: str, ttl: int | None) -> None:
        candidate = PreferenceCandidate(key, source=source, ttl=ttl, value=value)
        outcome = self.memory.propose(candidate, scope=scope, source="r1")
        self._agree(outcome, self.model.preference(key_of(scope), key, value, source, self._until(ttl)))

    def _window(self, begins: int | None, lasts: int | None) -> tuple[int | None, int | None]:
        since = self._until(begins)
        return since, None if lasts is None else (since or self.clock.now) + lasts * 1_000_000

    @rule(scope=scopes, key=st.sampled_from("ab"), value=values, begins=ttls, lasts=ttls)
    def policy(self, scope: Scope, key: str, value: Any, begins: int | None, lasts: int | None) -> None:
        since, until = self._window(begins, lasts)
        candidate = PolicyCandidate(key, "", _seconds(since), _seconds(until), value)
        outcome = self.memory.propose(candidate, scope=scope, source="r1")
        self._agree(outcome, self.model.policy(scope.tenant, key, value, since, until))

    @rule(key=st.sampled_from("ab"), value=values, begins=ttls, lasts=ttls, mandatory=st.booleans())
    def global_policy(
        self, key: str, value: Any, begins: int | None, lasts: int | None, mandatory: bool
    ) -> None:
        since, until = self._window(begins, lasts)
        outcome = self.memory.admin.global_policy(
            key,
            value=value,
            by="ops",
            mandatory=mandatory,
            effective_from=_seconds(since),
            effective_until=_seconds(until),
        )
        status, one = self.model.policy("", key, value, since, until, mandatory=mandatory)
        one.status = "active"
        self._agree(outcome, (status, one))

    @rule(number=pick)
    def revoke_global_policy(self, number: int) -> None:
        one = self._pick(number)
        if one is None:
            return
        may = isinstance(one, Rule) and one.tenant == "" and one.status != "revoked"
        try:
            self.memory.admin.revoke_global_policy(one.id, reason="wrong", by="ops")
        except KeyError:
            assert not may
            return
        assert may
        one.status = "revoked"

    # ------------------------------------------------------------------ one record

    def _pick(self, number: int) -> Entry | Rule | None:
        self._notice_what_expired()
        every = [*self.model.entries, *self.model.rules]
        return every[number % len(every)] if every else None

    def _notice_what_expired(self) -> None:
        """Expired records may be deleted at any time."""
        for e in list(self.model.entries):
            is_over = not self.model.lasts(e, self.clock.now)
            if is_over and self.memory.get(e.id, scope=self._owners(e)[0], hidden=True) is None:
                self.model.drop(e)

    @staticmethod
    def _owners(one: Entry | Rule) -> list[Scope]:
        """Return the scopes that may change it."""
        if isinstance(one, Rule):
            return [Scope(one.tenant)] if one.tenant else []
        tenant, user, agent = one.key
        owners = [Scope(tenant, user or None, agent or None)]
        if user and not agent:
            owners.append(Scope(tenant, user, "coder"))
        return owners

    @rule(number=pick, scope=scopes)
    def confirm(self, number: int, scope: Scope) -> None:
        one = self._pick(number)
        if one is None:
            return
        waits = one.status == "provisional" and scope in self._owners(one)
        if isinstance(one, Entry):
            waits = waits and (one.until is None or self.clock.now < one.until)
        try:
            outcome = self.memory.confirm(one.id, by="boss", scope=scope)
        except (KeyError, ValueError):
            assert not waits
            return
        assert waits
        if isinstance(one, Rule):
            assert outcome.active
            one.status = "active"
        else:
            replaced = self.model.promote(one, "boss")
            assert outcome.active == self.model.in_force(one)
            assert outcome.status == ("superseded" if replaced else "written")

    @rule(number=pick, scope=scopes)
    def revoke(self, number: int, scope: Scope) -> None:
        one = self._pick(number)
        if one is None:
            return
        living = one.status in ("active", "provisional") and (one.until is None or self.clock.now < one.until)
        may = living and scope in self._owners(one)
        try:
            self.memory.revoke(one.id, reason="wrong", scope=scope)
        except KeyError:
            assert not may
            return
        assert may
        one.status = "revoked"

    @rule(number=pick, scope=scopes)
    def delete(self, number: int, scope: Scope) -> None:
        one = self._pick(number)
        if one is not None:
            deleted = self.memory.delete(one.id, scope=scope)
            assert deleted == (scope in self._owners(one))
            if deleted:
                self.model.remove(one)

    @rule(number=pick, scope=scopes, used=st.booleans())
    def feedback(self, number: int, scope: Scope, used: bool) -> None:
        one = self._pick(number)
        if isinstance(one, Entry) and one.kind != "preference":
            seen = one.text in self.model.visible(key_of(scope), (one.kind,)) and self.model.in_force(one)
            try:
                self.memory.feedback(one.id, used, scope=scope)
            except KeyError:
                assert not seen or self.memory.get(one.id, scope=scope) is None

    @rule(number=pick, text=st.sampled_from(["oak beech", "oak birch"]))
    def update(self, number: int, text: str) -> None:
        one = self._pick(number)
        if not isinstance(one, Entry) or one.kind == "fact" or not self.model.in_force(one):
            return  # facts would contradict each other, which test_supersession covers
        twins = [
            e
            for e in self.model.entries
            if e.kind == one.kind == "episode" and e.key == one.key and e is not one
        ]
        if any(self.model.in_force(e) and e.text == text for e in twins):
            return
        name = "summary" if one.kind == "episode" else "text"
        self.memory.update(one.id, scope=self._owners(one)[0], **{name: text})
        one.value = text
        for twin in twins:
            if twin.text == text and twin.status == "active":
                self.model.entries.remove(twin)  # it had expired
        one.text = text

    # ------------------------------------------------------------------ all of them

    @rule(scope=scopes)
    def forget(self, scope: Scope) -> None:
        if scope.agent is None:
            self.memory.forget(scope)
            self.model.forget(scope.tenant, scope.user or "")
            assert self.memory.admin.verify_erased(scope).clean

    @rule()
    def sweep(self) -> None:
        self._notice_what_expired()
        assert self.memory.admin.sweep().expired == self.model.sweep()

    @rule(by=st.integers(1, 3))
    def time_passes(self, by: int) -> None:
        self.clock.now += by * 1_000_000
        self.model.now = self.clock.now

    # ------------------------------------------------------------------ processes

    @rule()
    def close_and_open(self) -> None:
        self.memory.close()
        self.memory = self._open()

    @rule()
    def another_takes_over(self) -> None:
        """Use two memories over one file: the next calls go to the other, later perhaps back."""
        self.others.append(self.memory)
        self.memory = self._open() if len(self.others) < 2 else self.others.pop(0)

    @precondition(lambda self: hasattr(self, "path"))
    @rule()
    def killed(self) -> None:
        """Simulate a killed process: copy the files as they are, without closing."""
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "m.scrubjay"
        for end in ("", "-wal"):
            source = self.path.with_name(self.path.name + end)
            if source.exists():
                shutil.copy(source, copy.with_name(copy.name + end))
        for memory in [self.memory, *self.others]:
            memory.close()
        self.others = []
        self.path = copy
        self.memory = self._open()

    # ------------------------------------------------------------------ what everybody sees

    @invariant()
    def everybody_sees_what_is_theirs(self) -> None:
        if not hasattr(self, "path"):
            return
        for scope in EVERYWHERE:
            key = key_of(scope)
            for kinds in (("fact", "episode"), ("fact",)):
                found = self.memory.recall("oak", scope, k=100, kinds=kinds)
                assert sorted(found.texts) == self.model.visible(key, kinds), (scope, kinds)
            known = self.memory.known(scope)
            told = ([p.value for p in known.policies], [p.value for p in known.preferences])
            assert repr(told) == repr(self.model.known(key)), scope
            assert {p.tenant for p in known.policies} <= {None, scope.tenant}
        assert self.memory.admin.check() == []

    @invariant()
    def a_record_is_there_for_whom_it_is(self) -> None:
        if not hasattr(self, "path"):
            return
        for scope in EVERYWHERE[:3]:
            in_force = {record.id for record in self.memory.list(scope) if record.status != "provisional"}
            key, kinds = key_of(scope), ("fact", "episode")
            listed = self.memory.list(scope, kinds=kinds)
            assert sorted(r.text for r in listed if r.status != "provisional") == self.model.visible(
                key, kinds
            )
            assert sorted(r.text for r in listed if r.status == "provisional") == self.model.waiting(
                key, kinds
            )
            for one in [*self.model.entries, *self.model.rules]:
                assert (self.memory.get(one.id, scope=scope) is not None) == (one.id in in_force)

    def teardown(self) -> None:
        if not hasattr(self, "path"):
            return
        assert self.memory.documents.admin.check().clean
        for memory in [self.memory, *self.others]:
            memory.close()
        shutil.rmtree(self.folder)


def _seconds(moment: int | None) -> float | None:
    return None if moment is None else moment / 1e6


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=max(10, settings().max_examples // 4), stateful_step_count=25)

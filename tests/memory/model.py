"""The reference model of a memory in plain Python: lists, and the rules as documented, without optimisation.

Ids are those that the real memory assigned; the model determines everything else itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scrubjay import Scope

Key = tuple[str, str, str]


def key_of(scope: Scope) -> Key:
    return (scope.tenant, scope.user or "", scope.agent or "")


def seen_from(key: Key) -> list[Key]:
    """Return the keys visible from a scope: of the tenant, the user, the agent for all users, and of both."""
    tenant, user, agent = key
    return [(tenant, u, a) for u in {"", user} for a in {"", agent}]


def said(text: str) -> str:
    return text.lower().rstrip(".")


@dataclass
class Entry:
    """A fact, episode or preference (`topic` is its key then)."""

    kind: str
    key: Key
    text: str
    topic: tuple[str, str]
    until: int | None
    status: str = "active"
    confidence: float = 1.0
    source: str = ""
    decided: bool = False
    id: str = ""
    value: Any = None
    claims: list[tuple[int, int]] = field(default_factory=list)
    """(time, sequence number) of each statement of a fact: the first one, and those made while another fact held."""
    shared: Entry | None = None
    """The tenant's fact that stands for it."""


@dataclass
class Rule:
    """A version of a policy; of all tenants if `tenant` is empty."""

    tenant: str
    key: str
    text: str
    begins: int
    until: int | None
    status: str = "provisional"
    id: str = ""
    value: Any = None
    mandatory: bool = False


@dataclass
class Model:
    now: int
    entries: list[Entry] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    # (tenant, statement) -> (run, user) -> entry
    seen: dict[tuple[str, str], dict[tuple[str, str], Entry | None]] = field(default_factory=dict)
    n_told: int = 0
    prefer: str | None = None

    # ------------------------------------------------------------------ reading

    def in_force(self, entry: Entry) -> bool:
        if entry.status != "active" or entry.shared is not None or not self.lasts(entry, self.now):
            return False
        return entry.kind != "fact" or entry is self.prevailing(entry, self.now)

    @staticmethod
    def lasts(entry: Entry, moment: int) -> bool:
        return entry.until is None or moment < entry.until

    def slot(self, entry: Entry, statuses: tuple[str, ...] = ("active",)) -> list[Entry]:
        """Return the facts that cannot hold at the same time as an entry, including itself."""
        if not all(entry.topic):
            return [entry]
        return [
            e
            for e in self.entries
            if (e.kind, e.key, e.topic) == ("fact", entry.key, entry.topic) and e.status in statuses
        ]

    def prevailing(self, entry: Entry, moment: int, statuses: tuple[str, ...] = ("active",)) -> Entry | None:
        """Return the fact that holds in the slot of an entry: the one said last among those that have not ended."""
        claims = [
            (claim, e)
            for e in self.slot(entry, statuses)
            if self.lasts(e, moment)
            for claim in e.claims
            if claim[0] <= moment
        ]
        return max(claims, key=lambda one: one[0])[1] if claims else None

    def lives(self, entry: Entry) -> bool:
        """Whether an entry holds now, or will hold when another one has ended."""
        if entry.status == "provisional":
            return True
        moments = [
            self.now,
            *(e.until for e in self.slot(entry) if e.until is not None and e.until > self.now),
        ]
        return any(
            self.lasts(entry, moment) and self.prevailing(entry, moment) is entry for moment in moments
        )

    def tell(self, entry: Entry) -> None:
        self.n_told += 1
        entry.claims.append((self.now, self.n_told))

    def visible(self, key: Key, kinds: tuple[str, ...]) -> list[str]:
        keys = seen_from(key)
        return sorted(e.text for e in self.entries if e.kind in kinds and e.key in keys and self.in_force(e))

    def waiting(self, key: Key, kinds: tuple[str, ...]) -> list[str]:
        """Return a tenant's provisional facts that would be in force if they and all of their slot were confirmed."""
        keys, both = seen_from(key), ("active", "provisional")
        return sorted(
            e.text
            for e in self.entries
            if (e.kind in kinds and e.key in keys and e.status == "provisional" and e.shared is None)
            and self.lasts(e, self.now)
            and self.prevailing(e, self.now, both) is e
        )

    def known(self, key: Key) -> tuple[list[Any], list[Any]]:
        """Return the values of the policies and preferences in force, ordered by key."""
        counts: dict[str, Rule] = {}
        for rule in self.rules_in_force(key[0]):
            counts[rule.key] = rule
        for rule in self.rules_in_force(""):
            own = counts.get(rule.key)
            # A tenant's rule overrides a global one; a newer global one replaces an older one, mandatory or not.
            if own is None or own.tenant == "" or rule is self.mandatory(rule.key):
                counts[rule.key] = rule
        wishes: dict[str, Entry] = {}
        for user in ("", key[1]):
            for e in self.entries:
                if e.kind == "preference" and e.key == (key[0], user, "") and self.in_force(e):
                    wishes[e.topic[0]] = e
        return [counts[k].value for k in sorted(counts)], [wishes[k].value for k in sorted(wishes)]

    def rules_in_force(self, tenant: str) -> list[Rule]:
        """Return the confirmed versions of a tenant's policies within their times, older ones first."""
        return [
            rule
            for rule in self.rules
            if rule.tenant == tenant
            and rule.status == "active"
            and rule.begins <= self.now
            and (rule.until is None or self.now < rule.until)
        ]

    def mandatory(self, key: str) -> Rule | None:
        """Return the newest global rule in force with a key if it is mandatory."""
        newest = [rule for rule in self.rules_in_force("") if rule.key == key][-1:]
        return newest[0] if newest and newest[0].mandatory else None

    def find(self, id: str) -> Entry | Rule | None:
        return next((one for one in [*self.entries, *self.rules] if one.id == id), None)

    # ------------------------------------------------------------------ facts

    def fact(
        self,
        key: Key,
        text: str,
        topic: tuple[str, str],
        confidence: float,
        until: int | None,
        run: str,
        prefer: str | None = None,
    ) -> Any:
        """Return (status, entry) of a proposal; if several entries already say the same, the one with the id
        `prefer`."""
        self.prefer = prefer
        if confidence < 0.7:
            return "rejected", None
        about_tenant = topic[0].lower() == key[0]
        if key[1:] == ("", "") and not about_tenant:
            return "rejected", None
        new = Entry("fact", key, text, topic, until, confidence=confidence)
        if not about_tenant:
            return self._fact_in(new)
        tenant: Key = (key[0], "", "")
        witnesses = self.seen.setdefault((key[0], said(text)), {})
        witnesses.setdefault((run, key[1]), None)
        runs = {run for run, _ in witnesses}
        people = {user for _, user in witnesses}  # the runs of these tests name no author
        held = self._living(tenant, new)
        if held is not None and held.status == "active":
            status, entry = self._restate(held, new)
        elif min(len(runs), len(people)) < 2:
            status, entry = self._fact_in(new)
        else:
            status, entry = (
                ("deduplicated", held)
                if held
                else self._fact_in(Entry(**{**vars(new), "key": tenant, "claims": []}))
            )
            if self.promote(entry):
                status = "superseded"
        witnesses[run, key[1]] = entry
        return status, entry

    def _living(self, key: Key, new: Entry) -> Entry | None:
        blank = not all(new.topic)
        same = [
            e
            for e in self.entries
            if e.kind == "fact"
            and e.key == key
            and said(e.text) == said(new.text)
            and e.status in ("active", "provisional")
            and e.shared is None
            and (blank or not all(e.topic) or e.topic == new.topic)
        ]
        for e in [e for e in same if not self.lasts(e, self.now)]:
            if e.status == "provisional" or self.prevailing(e, (e.until or 0) - 1) is e:
                self.drop(e)  # makes room; a fact superseded before its time was over stays
        same = [e for e in same if self.lasts(e, self.now) and self.lives(e)]
        same.sort(key=lambda e: e.id != self.prefer)
        return same[0] if same else None

    def _restate(self, held: Entry, new: Entry) -> Any:
        was = self.in_force(held)
        held.confidence = max(held.confidence, new.confidence)
        held.until = None if held.until is None or new.until is None else max(held.until, new.until)
        if held.status == "active":
            if not all(held.topic) and all(new.topic):
                held.topic = new.topic  # a restatement adds the missing slot, and counts as said in it now
                was = False
            if not was:
                self.tell(held)
        return "deduplicated", held

    def _fact_in(self, new: Entry) -> Any:
        held = self._living(new.key, new)
        if held is not None:
            return self._restate(held, new)
        self.tell(new)
        if new.key[1:] == ("", ""):
            new.status = "provisional"
            self.entries.append(new)
            return "written", new
        before = self._others_in_force(new)
        self.entries.append(new)
        return ("superseded" if self._ended(before) else "written"), new

    def _others_in_force(self, entry: Entry) -> list[Entry]:
        return [e for e in self.slot(entry) if e is not entry and self.in_force(e)]

    def _ended(self, before: list[Entry]) -> bool:
        return any(not self.in_force(e) for e in before)

    def promote(self, entry: Entry, by: str | None = None) -> bool:
        before = self._others_in_force(entry)
        self.n_told += 1
        entry.claims = [(entry.claims[0][0], self.n_told)]  # when it was said, after others of that time
        entry.status, entry.decided = "active", by is not None
        replaced = self._ended(before)
        for copy in list(self.seen.get((entry.key[0], said(entry.text)), {}).values()):
            if copy is None or copy is entry:
                continue
            for e in self.entries:
                same = e.kind == "fact" and (e.key, e.topic, said(e.text)) == (
                    copy.key,
                    copy.topic,
                    said(copy.text),
                )
                if same and e.status == "active" and e is not entry:
                    e.shared = entry
        return replaced

    # ------------------------------------------------------------------ other kinds

    def episode(self, key: Key, text: str, until: int | None) -> Any:
        for entry in list(self.entries):
            if entry.kind == "episode" and entry.key == key and said(entry.text) == said(text):
                if self.in_force(entry):
                    return "deduplicated", entry
                if entry.status == "active":
                    self.entries.remove(entry)
        self.entries.append(new := Entry("episode", key, text, ("", ""), until))
        return "written", new

    def preference(self, key: Key, name: str, value: Any, source: str, until: int | None) -> Any:
        if not key[1] and key[2]:
            return "rejected", None
        text = value if isinstance(value, str) else repr(value)
        key = (key[0], key[1], "")
        held = None
        for entry in list(self.entries):
            if (
                entry.kind == "preference"
                and entry.key == key
                and entry.topic[0] == name
                and entry.status == "active"
            ):
                if self.in_force(entry):
                    held = entry
                else:
                    self.entries.remove(entry)
        if held is not None:
            same = said(held.text) == said(text)
            if source == "inferred" != held.source:
                return ("deduplicated", held) if same else ("rejected", None)
            if same and held.source == source and held.until == until:
                return "deduplicated", held
            held.status = "superseded"
        new = Entry("preference", key, text, (name, ""), until, source=source, value=value)
        self.entries.append(new)
        return ("written" if held is None else "superseded"), new

    def policy(
        self,
        tenant: str,
        name: str,
        value: Any,
        begins: int | None,
        until: int | None,
        *,
        mandatory: bool = False,
    ) -> Any:
        text = value if isinstance(value, str) else repr(value)
        versions = [rule for rule in self.rules if rule.tenant == tenant and rule.key == name]
        if versions and versions[-1].status != "revoked":
            last = versions[-1]
            same = said(last.text) == said(text) and last.mandatory == mandatory
            if same and last.until == until and begins in (None, last.begins):
                return "deduplicated", last
        since = self.now if begins is None else begins
        self.rules.append(new := Rule(tenant, name, text, since, until, value=value, mandatory=mandatory))
        return "written", new

    def remove(self, entry: Entry | Rule) -> None:
        if isinstance(entry, Rule):
            self.rules.remove(entry)
            return
        self.entries.remove(entry)
        for e in self.entries:
            if e.shared is entry:
                e.shared = None
        for witnesses in self.seen.values():
            for who in [who for who, where in witnesses.items() if where is entry]:
                del witnesses[who]

    def forget(self, tenant: str, user: str) -> None:
        for (of, what), witnesses in list(self.seen.items()):
            if of != tenant:
                continue
            hers = [who for who in witnesses if who[1] == user]
            if user and hers and len(hers) == len(witnesses):
                for e in list(self.entries):
                    if (
                        e.kind == "fact"
                        and e.key == (tenant, "", "")
                        and said(e.text) == what
                        and not e.decided
                    ):
                        self.entries.remove(e)
        gone = [e for e in self.entries if e.key[0] == tenant and user in ("", e.key[1])]
        for e in gone:
            if e in self.entries:
                self.entries.remove(e)
        for (of, _), witnesses in self.seen.items():
            for who in [
                w for w, where in witnesses.items() if of == tenant and (user in ("", w[1]) or where in gone)
            ]:
                del witnesses[who]
        if not user:
            self.rules = [rule for rule in self.rules if rule.tenant != tenant]

    def sweep(self) -> int:
        gone = [e for e in self.entries if not self.lasts(e, self.now)]
        for entry in gone:
            self.drop(entry)
        return len(gone)

    def drop(self, entry: Entry) -> None:
        """Delete an expired entry; the entries that it stood for hold by themselves again."""
        self.entries.remove(entry)
        for e in self.entries:
            if e.shared is entry:
                e.shared = None

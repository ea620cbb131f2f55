"""The files to damage, and the operations that are tried on a damaged file, with their allowed outcomes."""

from __future__ import annotations

import random
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import Index, Retriever, Scope
from scrubjay.backend import Backend
from scrubjay.base.errors import Error
from scrubjay.index import Admin
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate
from tests.data.keys import provider

__all__ = ["FILES", "Examination", "make_file"]

DIM = 16
SCOPES = [
    Scope("acme"),
    Scope("acme", user="jane"),
    Scope("acme", user="joe"),
    Scope("acme", agent="coder"),
    Scope("acme", user="jane", agent="coder"),
    Scope("globex"),
    Scope("b", user="joe"),
]
OTHERS = [Scope("initech"), Scope("initech", user="jane")]
WORDS = ["oak", "jay", "acorn", "winter", "cache", "trains", "feather", "sk-stg-0041"]
FILES = ("closed", "open", "graph", "encrypted")
"""Closed: one file. Open: with its WAL. Graph: a partition is large enough for one. Encrypted: with keys and WAL."""

_SHARES = {"closed": 37, "open": 37, "graph": 2, "encrypted": 24}
_OWNER = re.compile(r"of (\S*)/(\S*)/(\S*) says")


def owned(scope: Scope, text: str) -> str:
    """Return a text that contains its scope."""
    return f"of {scope.tenant}/{scope.user or '-'}/{scope.agent or '-'} says {text}"


def owner_of(text: str) -> Scope | None:
    """Return the scope that a text contains, or None."""
    found = _OWNER.search(text)
    if found is None:
        return None
    tenant, user, agent = (None if name in ("-", "") else name for name in found.groups())
    return None if tenant is None else Scope(tenant, user, agent)


def choose(rng: random.Random) -> str:
    """Return the kind of file to damage."""
    return rng.choices(FILES, weights=[_SHARES[name] for name in FILES])[0]


# ---------------------------------------------------------------------- the files


def make_file(kind: str, folder: Path) -> None:
    """Write a file of this kind, with the WAL and shared-memory files of SQLite, as `damaged` into the folder."""
    path = folder / "made"
    keys = provider if kind == "encrypted" else None
    rng = np.random.default_rng(7)
    memory = Memory.open(path, dim=DIM, durability="normal", keys=keys)
    index = memory.index
    n = 1_030 if kind == "graph" else 6
    for scope in SCOPES:
        count = n if scope == SCOPES[1] else 6
        index.upsert_many(
            {
                "id": f"{scope.tenant}-{scope.user}-{scope.agent}-{i}",
                "text": owned(scope, f"{WORDS[i % 8]} {WORDS[(i * 3 + 1) % 8]} number {i}"),
                "scope": scope,
                "vector": None if i % 5 == 4 else rng.normal(size=DIM),
                "metadata": {"n": i, "kind": "even" if i % 2 else "odd"},
                "created_at": 1_700_000_000 + i,
                "expires_at": "2990-01-01" if i % 4 == 0 else None,
            }
            for i in range(count)
        )
    index.delete("acme-None-None-3", scope=Scope("acme"))
    traces = index.collection("side", dim=4)
    for i in range(6):
        scope = SCOPES[i % 3]
        traces.upsert(
            i, owned(scope, f"side {WORDS[i]}"), scope=scope, vector=[1, i, 0, 2], metadata={"i": i}
        )
    for scope in SCOPES[:4]:
        index.feedback(
            f"{scope.tenant}-{scope.user}-{scope.agent}-1", query=owned(scope, "a question"), scope=scope
        )
    _remember(memory)
    if kind == "graph":
        index.search(vector=np.ones(DIM, dtype=np.float32), scope=SCOPES[1])
        Backend.of(index).engine.native.build_graphs(min_vectors=800)  # type: ignore[union-attr]
    index.admin.compact()
    index.collection("memory").admin.compact()
    index.upsert(
        "acme-jane-None-late", owned(SCOPES[1], "oak written late"), scope=SCOPES[1], metadata={"n": 99}
    )
    if kind in ("open", "encrypted"):  # before it is closed, with its WAL
        for end in ("", "-wal", "-shm"):
            shutil.copy(folder / f"made{end}", folder / f"damaged{end}")
        memory.close()
    else:
        memory.close()
        shutil.copy(path, folder / "damaged")
    for one in folder.glob("made*"):
        one.unlink()


def _remember(memory: Memory) -> None:
    for scope in SCOPES:
        if scope.user is None and scope.agent is None:
            memory.policy("refunds", owned(scope, "no refunds"), tenant=scope.tenant, by="legal")
            memory.policy("tone", owned(scope, "be brief"), tenant=scope.tenant)
            continue
        for i, word in enumerate(WORDS[:2]):
            fact = FactCandidate(
                owned(scope, f"{word} grows"), f"subject {i}", "grows", metadata={"i": i}, evidence="e"
            )
            memory.propose(fact, scope=scope, source="run-1")
        again = FactCandidate(owned(scope, "oak shrinks"), "subject 0", "grows")
        memory.propose(again, scope=scope, source="run-2")
        memory.propose(FactCandidate("too unsure", confidence=0.1), scope=scope, source="run-2")
        episode = EpisodeCandidate(
            owned(scope, "jay fed"), "success", "feeding", ["a", "b"], ["c"], metadata={"m": 1}
        )
        memory.propose(episode, scope=scope, source="run-3")
        if scope.user is not None:
            wish = PreferenceCandidate("tone", owned(Scope(scope.tenant, scope.user), "brief answers"))
            memory.propose(wish, scope=scope, source="run-3")
        with memory.session(scope, "chat") as session:
            session.user(owned(scope, "hello oak"))
            session.assemble()
            session.model(owned(scope, "hello"), data={"tokens": 5})
    memory.forget("eve", tenant="acme")


# ---------------------------------------------------------------------- the verbs


class Examination:
    """Tries every operation on one file, and notes forbidden outcomes.

    Args:
        path: the file.
        kind: its kind, one of :data:`FILES`.
        trusting: whether texts may differ from the written ones, because an image was forged with a valid checksum.
        seed: selects the write operations that are tried.
    """

    def __init__(self, path: Path, kind: str, *, trusting: bool, seed: int) -> None:
        self.path = path
        self.keys = provider if kind == "encrypted" else None
        self.trusting = trusting
        self.rng = random.Random(seed)
        self.findings: list[str] = []
        self.outcomes: dict[str, int] = {}
        self.doing = ""

    def run(self) -> None:
        """Try all operations."""
        warnings.simplefilter("ignore")
        empty = self.path.stat().st_size == 0  # opening it creates a new index
        # A case is either salvaged or repaired: both use the same code to rebuild the file.
        saves = self.rng.random() < 0.4
        for name in ("repaired", "salvaged"):
            (self.path.parent / name).mkdir(exist_ok=True)
        for end in ("", "-wal", "-shm"):  # salvage and repair get the file in its damaged state
            with suppress(FileNotFoundError):
                shutil.copy(f"{self.path}{end}", self.path.parent / "repaired" / f"damaged{end}")
        if saves:
            self._try("salvage", self._salvage)
        opens = self._try("open", self._with_index) is not None
        self._try("memory", self._with_memory)
        if not saves:
            if self._try("repair", self._repair) is not None:
                self._try("after repair", self._after_repair)
            elif opens and not empty:
                self._find("NOT SOUND: a file that can be opened was not repaired")

    def _salvage(self) -> None:
        file = self.path.parent / "repaired" / "damaged"
        report = Admin.salvage(file, self.path.parent / "salvaged" / "out", keys=self.keys)
        if self.keys is None:
            with Index() as index:
                index.admin.import_(report.files[0])

    def _repair(self) -> Any:
        return Admin.repair(self.path.parent / "repaired" / "damaged", keys=self.keys)

    def _after_repair(self) -> None:
        """Check that a repaired file is sound, and that all its data belongs to its scope."""
        file = self.path.parent / "repaired" / "damaged"
        with Memory.open(file, durability="normal", keys=self.keys) as memory:
            index = memory.index
            memory.admin.reindex()
            problems = [*memory.admin.check(), *index.admin.check().problems]
            for name in index.admin.collections():
                problems += index.collection(name).admin.check().problems
            if self.keys is not None:  # the holder of the key accepts them
                problems = [one for one in problems if "digest" not in one and "in the clear" not in one]
            if problems:
                self._find(f"NOT SOUND: {problems[0]}")
            for scope in SCOPES[:3]:
                for hit in index.search("oak jay", scope=scope):
                    self._see(scope, hit.text, hit.scope)
                    hit.to_dict()
                for record in index.list(scope):
                    self._see(scope, record.text, record.scope)
                memory.list(scope, hidden=True)

    # ---- helpers

    def _try(self, doing: str, call: Callable[[], Any]) -> Any:
        self.doing = doing
        try:
            answer = call()
        except Error as error:
            self._count(type(error).__name__)
            return None
        except KeyError as error:  # documented for missing records and runs
            if str(error.args[0] if error.args else "").startswith(("id: ", "run_id: ")):
                self._count("KeyError")
            else:
                self._find(f"{type(error).__name__}: {error}", error)
            return None
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
            self._find(f"{type(error).__name__}: {error}", error)
            return None
        self._count("answer")
        return answer

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def _find(self, what: str, error: BaseException | None = None) -> None:
        where = ""
        trace = None if error is None else error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if "scrubjay" in name:
                where = f" at {Path(name).name}:{trace.tb_lineno}"
            trace = trace.tb_next
        self.findings.append(f"{self.doing}: {what[:160]}{where}")

    def _see(self, asker: Scope, text: str, scope: Scope | None = None, *, sure: bool = True) -> None:
        """Check that a served text belongs to a scope that the reader sees."""
        own = owner_of(text)
        seen = [
            asker,
            Scope(asker.tenant),
            Scope(asker.tenant, asker.user),
            Scope(asker.tenant, agent=asker.agent),
        ]
        if own in (*SCOPES, *OTHERS) and own not in seen:  # a name with a flipped bit belongs to no scope
            self._find(f"WRONG SCOPE: {asker!r} was served {text[:80]!r}")
        if scope is not None and scope not in seen:
            self._find(f"WRONG SCOPE: {asker!r} was served a document of {scope!r}")
        if own is None and sure and not self.trusting:
            self._find(f"ALTERED: {asker!r} was served {text[:80]!r}")

    # ---- index

    def _with_index(self) -> bool:
        with Index.open(self.path, durability="normal", keys=self.keys) as index:
            self._read_index(index)
            for name in self._try("collections", index.admin.collections) or []:
                member = self._try(f"collection {name[:10]}", lambda name=name: index.collection(name))
                if member is not None:
                    self._read_collection(member)
            self._write_index(index)
        return True

    def _read_index(self, index: Index) -> None:
        self._read_collection(index)
        self._try("encrypted_tenants", index.admin.encrypted_tenants)
        self._try("verify_erased", lambda: index.admin.verify_erased(["not there"]))
        self._try("view", lambda: self._read_views(index))
        self._try("backup", lambda: index.admin.backup(self._beside("backup")))

    def _beside(self, what: str) -> Path:
        place = self.path.with_name(what)
        with suppress(FileNotFoundError):
            place.unlink()
        return place

    def _read_views(self, index: Index) -> None:
        for scope in SCOPES[:3]:
            view = index.scope(scope)
            for record in view.list():
                self._see(scope, record.text, record.scope)
            view.count()

    def _read_collection(self, index: Index) -> None:
        self._try("len", lambda: len(index))
        self._try("repr", lambda: repr(index))
        self._try("stats", index.admin.stats)
        self._try("scopes", index.scopes)
        self._try("events", index.admin.events)
        for note in self._try("feedbacks", index.admin.feedbacks) or []:
            if note.query is not None and note.scope in SCOPES:
                self._see(note.scope, note.query, sure=False)
        retriever = Retriever(index)
        for scope in self.rng.sample(SCOPES, 2) if index.name else [*self.rng.sample(SCOPES, 3), *OTHERS[:1]]:
            self._read_scope(index, scope, retriever)
        self._try("check", index.admin.check)
        self._try("export", lambda: index.admin.export(self._beside("export")))
        retriever.close()

    def _read_scope(self, index: Index, scope: Scope, retriever: Retriever) -> None:
        dim = Backend.of(index).engine.dim or DIM
        vector = np.linspace(1, 2, dim, dtype=np.float32)
        searches: list[dict[str, Any]] = [
            {"text": "oak jay number", "k": 40},
            {"vector": vector, "k": 40},
            {"text": "oak", "filter": {"n": {"$gte": 1}}, "vector": vector, "explain": True},
        ]
        for options in searches:
            hits = self._try("search", lambda options=options: index.search(scope=scope, **options))
            for hit in hits or ():
                self._see(scope, hit.text, hit.scope)
                self._try("hit.metadata", lambda hit=hit: hit.metadata)
                self._try("hit.created_at", lambda hit=hit: hit.created_at)
            if hits:
                self._try("to_dicts", hits.to_dicts)
                self._try("repr", lambda hits=hits: repr(hits))
        self._try("search_batch", lambda: index.search_batch(["oak", "jay"], scope=scope))
        self._try("substring", lambda: retriever.search("umber", scope=scope).to_dicts())
        self._try("retrieve", lambda: retriever.search("oak", scope=scope).texts)
        self._try("count", lambda: index.count(scope))
        self._try("count filtered", lambda: index.count(scope, filter={"n": 1}))
        backend = Backend.of(index)
        self._try("generation", lambda: (backend.generation(scope), backend.shared_generation(scope)))
        for record in self._try("list", lambda: index.list(scope)) or []:
            self._see(scope, record.text, record.scope)
        self._try(
            "list some",
            lambda: index.list(scope, filter={"n": {"$gt": 2}}, limit=3, order="oldest", exact=True),
        )
        for i in (0, 1, 5):
            numbers = Backend.of(index).engine.identity.id_kind == "int"  # type: ignore[union-attr]
            id: str | int = i if numbers else f"{scope.tenant}-{scope.user}-{scope.agent}-{i}"
            record = self._try("get", lambda id=id: index.get(id, scope=scope))
            if record is not None:
                self._see(record.scope, record.text)
                self._try("hits_of", lambda key=(record.scope, id): Backend.of(index).hits_of([key], scope))

    def _write_index(self, index: Index) -> None:
        scope = self.rng.choice(SCOPES)
        fresh = owned(scope, "fresh oak")
        self._try(
            "upsert",
            lambda: index.upsert("fresh", fresh, scope=scope, vector=np.ones(DIM), metadata={"n": 1}),
        )
        for hit in self._try("search again", lambda: index.search("fresh oak", scope=scope)) or ():
            self._see(scope, hit.text, hit.scope)
        self._try("delete", lambda: index.delete(f"{scope.tenant}-{scope.user}-{scope.agent}-1", scope=scope))
        self._try("feedback", lambda: index.feedback("fresh", query=owned(scope, "fresh"), scope=scope))
        for doing in self.rng.sample(["sweep", "compact", "erase", "reembed", "many", "drop"], 2):
            self._try(doing, lambda doing=doing: self._write(index, doing, scope))
        if self.rng.random() < 0.2:
            self._try("check after", index.admin.check)

    def _write(self, index: Index, doing: str, scope: Scope) -> None:
        if doing == "sweep":
            index.admin.sweep()
        elif doing == "compact":
            index.admin.compact()
        elif doing == "erase":
            index.erase(scope)
        elif doing == "many":
            index.upsert_many(
                {"id": f"many{i}", "text": owned(scope, f"oak {i}"), "scope": scope} for i in range(5)
            )
        elif doing == "drop":
            with suppress(KeyError):
                index.admin.drop_collection("side")
        else:
            from scrubjay.embedders import Function

            toy = Function(lambda texts: [[len(text), 1.0, 2.0] for text in texts], dim=3, name="toy")
            index.admin.reembed(toy, progress=False)

    # ---- memory

    def _with_memory(self) -> None:
        with Memory.open(self.path, durability="normal", keys=self.keys) as memory:
            scopes = [*self.rng.sample(SCOPES, 2), *OTHERS[:1]]
            for scope in scopes:
                self._read_memory(memory, scope)
            self._try("memory.admin.check", memory.admin.check)
            self._try("memory.admin.verify_erased", lambda: memory.admin.verify_erased(SCOPES[1]))
            self._write_memory(memory, scopes[0])

    def _read_memory(self, memory: Memory, scope: Scope) -> None:
        known = self._try("known", lambda: memory.known(scope))
        for one in () if known is None else (*known.policies, *known.preferences):
            self._see(scope, one.text, sure=False)
        recalled = self._try("recall", lambda: memory.recall("oak grows jay", scope))
        for hit in recalled or ():
            self._see(scope, hit.text, hit.scope)
            self._try("recalled", lambda hit=hit: (hit.id, hit.kind, hit.metadata, hit.tier, hit.record))
        for hidden in (False, True):
            for record in self._try("memory.list", lambda h=hidden: memory.list(scope, hidden=h)) or []:
                self._see(scope, record.text, sure=False)
                if self.rng.random() < 0.3:
                    self._try("why", lambda id=record.id: str(memory.why(id, scope=scope)))
                    self._try("memory.get", lambda id=record.id: memory.get(id, scope=scope, hidden=True))
        self._try("rejections", lambda: memory.rejections(scope))
        self._try("deletions", lambda: memory.admin.deletions(scope.tenant))
        self._try("policies", lambda: memory.policies(scope.tenant))
        self._try("assemble", lambda: memory.assemble("oak", scope, 5000).text)
        self._try("runs", lambda: memory.runs(scope))
        replay = self._try("replay", lambda: memory.replay("chat", scope))
        if replay is not None:
            self._try("prompts", replay.prompts)
        self._try("find_in_traces", lambda: memory.admin.find_in_traces("hello", scope))

    def _write_memory(self, memory: Memory, scope: Scope) -> None:
        said = FactCandidate(owned(scope, "fresh jay"), "subject 0", "grows")
        self._try("propose", lambda: memory.propose(said, scope=scope, source="run-9"))
        self._try("session", lambda: self._converse(memory, scope))
        for doing in self.rng.sample(["sweep", "reindex", "forget", "compact", "prefer", "policy"], 2):
            self._try(f"memory.{doing}", lambda doing=doing: self._change_memory(memory, doing, scope))

    def _converse(self, memory: Memory, scope: Scope) -> None:
        with memory.session(scope, "chat") as session:
            session.user(owned(scope, "again"))
            session.recent()
            session.assemble(budget_tokens=5000)

    def _change_memory(self, memory: Memory, doing: str, scope: Scope) -> None:
        if doing == "sweep":
            memory.admin.sweep()
        elif doing == "reindex":
            memory.admin.reindex()
        elif doing == "forget":
            memory.forget(scope)
        elif doing == "compact":
            memory.admin.compact()
        elif doing == "prefer":
            memory.prefer("tone", owned(SCOPES[1], "long answers"), scope=SCOPES[1])
        else:
            memory.policy("refunds", owned(Scope(scope.tenant), "refunds"), tenant=scope.tenant, by="legal")


def lines(outcomes: dict[str, int]) -> Iterator[str]:
    """Yield a line with the number of each outcome."""
    for outcome, count in sorted(outcomes.items()):
        yield f"{outcome} {count:,}"

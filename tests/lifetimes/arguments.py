"""Creation of objects of each public class, and arguments for their methods.

A new class needs a line in :data:`MAKERS`, a new parameter one in :data:`VALUES` (by name, for all methods) or, where
its name means something else, in :data:`OF_METHODS`.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import scrubjay
from scrubjay import (
    Engine,
    Filter,
    Index,
    PassageVectors,
    Record,
    Scope,
    embedders,
    fusion,
    keystores,
    memory,
    retrieval,
)
from scrubjay import backend as backends
from scrubjay._native import CompiledRanking
from scrubjay.backend import Backend
from scrubjay.documents.records import Row
from scrubjay.memory.intake.extractors import SourcedCandidate
from scrubjay.memory.model import records
from scrubjay.memory.runs.session import Session
from scrubjay.store.rows.scrolling import scroll_of
from tests.lifetimes import api

JANE = Scope("acme", user="jane")
DIM = 8
KEY = b"0123456789abcdef"
WHEN = datetime(2026, 3, 1, tzinfo=timezone.utc)

_numbers = itertools.count(1)


class Hooks:
    """The action of a world's callbacks: nothing, or the method under test, once."""

    def __init__(self) -> None:
        self.armed: str | None = None
        self.action: Callable[[], None] = lambda: None

    def fire(self, name: str) -> None:
        """Run the action if it is armed for the callback of this name."""
        if self.armed == name:
            self.armed = None
            self.action()


class World:
    """A folder with a file, the objects created in it, and callbacks that call them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hooks = Hooks()
        self.closers: list[Callable[[], None]] = []
        self.reopen: Callable[[], None] = lambda: None
        self.id = "m1"  # of an existing document or record
        self.latest: Index | None = None  # the index opened last

    # ------------------------------------------------------------------ callbacks

    def embedder(self) -> embedders.Function:
        """Return an embedder that calls the hook."""

        def embed(texts: list[str]) -> Any:
            self.hooks.fire("embedder")
            return np.array(
                [
                    [1.0 + len(text) % 5, *map(float, text.encode()[: DIM - 1].ljust(DIM - 1))]
                    for text in texts
                ],
                dtype=np.float32,
            )

        return embedders.Function(embed, dim=DIM, name="tests-lifetimes")

    def stem(self, word: str) -> str:
        """A stemmer that calls the hook."""
        self.hooks.fire("stemmer")
        return word.rstrip("s")

    def keys(self, tenant: str) -> bytes | None:
        """A key provider that calls the hook."""
        self.hooks.fire("keys")
        return KEY if tenant == "sealed" else None

    def clock(self) -> int:
        """A clock that calls the hook."""
        self.hooks.fire("clock")
        return 1_800_000_000_000_000 + next(_numbers)

    def score(self, query: str, texts: list[str]) -> Any:
        """A reranker that calls the hook."""
        self.hooks.fire("reranker")
        return np.linspace(1, 0, len(texts), dtype=np.float32)

    def rewrite(self, query: str) -> str:
        """A rewriter that calls the hook."""
        self.hooks.fire("rewriter")
        return query

    def observe(self, event: Any) -> None:
        """A trace hook that calls the hook."""
        self.hooks.fire("trace")

    def extract(self, transcript: Any) -> list[Any]:
        """An extractor that calls the hook."""
        self.hooks.fire("extractor")
        return [SourcedCandidate(scrubjay.FactCandidate("Jane lives in Rome", "Jane", "lives in"), None)]

    def contradicts(self, candidate: Any, known: Any) -> bool:
        """A judge that calls the hook."""
        self.hooks.fire("judge")
        return memory.DefaultJudge().contradicts(candidate, known)

    def judge(self) -> Any:
        """Return a judge with the method `contradicts` of this world."""
        return type(
            "Judge", (), {"contradicts": lambda _, candidate, known: self.contradicts(candidate, known)}
        )()

    # ------------------------------------------------------------------ objects

    def options(self) -> dict[str, Any]:
        """Return the options with which files are opened."""
        return {
            "analyzer": "tests",
            "stemmer": self.stem,
            "keys": self.keys,
            "durability": "normal",
            "busy_timeout": 2.0,
        }

    def index(self) -> Index:
        """Open an index on a file."""
        path = self.folder / f"index{next(_numbers)}.scrubjay"
        index = Index.open(path, self.embedder(), **self.options())
        self.closers.append(index.close)

        def reopen() -> None:
            with Index.open(path, self.embedder(), **self.options()) as again:
                assert again.search("trains", scope=JANE) is not None
                again.upsert("again", "written again", scope=JANE)

        self.reopen = reopen
        self.latest = index
        return filled(index)

    def index_in_memory(self) -> Index:
        """Create an index in memory."""
        index = Index(self.embedder(), analyzer="tests", stemmer=self.stem)
        self.closers.append(index.close)
        self.latest = index
        return filled(index)

    def another_collection(self) -> str:
        """Open a collection of the latest index; return its name."""
        if self.latest is not None:
            self.latest.collection("dropped")
        return "dropped"

    def retriever(self, index: Index | None = None) -> retrieval.Retriever:
        """Create a retriever with all kinds of callbacks."""
        return retrieval.Retriever(
            self.index() if index is None else index,
            rewriter=_Rewriter(self),
            reranker=retrieval.CallableReranker(self.score),
            deadline_s=None,
            hooks=[self.observe],
            cache=True,
        )

    def memory(self) -> memory.Memory:
        """Open a memory that holds a record of each kind."""
        made = memory.Memory.open(
            self.folder / f"memory{next(_numbers)}.scrubjay",
            self.embedder(),
            clock=self.clock,
            judge=self.judge(),
            retriever=self.retriever,
            **self.options(),
        )
        self.closers.append(made.close)
        said = scrubjay.FactCandidate("Jane lives in Oslo", "Jane", "lives in")
        self.id = str(made.propose(said, scope=JANE, source="run-1").id)
        made.prefer("tone", "Answer briefly.", scope=JANE)
        with made.session(JANE, "run-1") as session:
            session.user("I live in Oslo.")
            session.model("Noted.")
        return made

    def session(self) -> Session:
        """Begin a run of a memory."""
        session = self.memory().session(JANE, "run-1")
        session.user("And I prefer trains.")
        return session

    def engine(self) -> Engine:
        """Create a native engine."""
        engine = Engine(DIM, analyzer="tests", stemmer=self.stem)
        engine.upsert_many(
            ["m1", "m2"], ["prefers trains", "prefers planes"], scope=JANE, vectors=np.ones((2, DIM))
        )
        return engine


class _Rewriter:
    def __init__(self, world: World) -> None:
        self.world = world

    def rewrite(self, query: str) -> retrieval.Rewritten:
        return retrieval.Rewritten(semantic=self.world.rewrite(query))


def filled(index: Index) -> Index:
    """Write a few memories."""
    index.upsert_many(
        [
            {"id": "m1", "text": "Prefers trains to planes.", "scope": JANE, "metadata": {"kind": "travel"}},
            {"id": "m2", "text": "The staging key is sk-stg-0041.", "scope": Scope("acme")},
            {"id": "m3", "text": "A sealed memory.", "scope": Scope("sealed", user="jane")},
        ],
        progress=False,
    )
    return index


def _hits(world: World) -> Any:
    return world.index_in_memory().search("trains planes", scope=JANE, explain=True)


def _retrieved(world: World) -> Any:
    return world.retriever(world.index_in_memory()).search("trains planes", scope=JANE)


def _keys(world: World) -> keystores.KeyFolder:
    made = keystores.KeyFolder(world.folder / f"keys{next(_numbers)}")
    made.put(b"m1", KEY)
    return made


def _trained() -> Any:
    vocabulary = [*(f"<0x{byte:02X}>" for byte in range(256)), "\u2581"]
    return scrubjay.StaticEmbedder(np.ones((257, 16), np.float32), vocabulary, np.zeros((0, 3), np.uint32))


_WHO = records.Provenance(run="run-1")
_FACT: dict[str, Any] = {
    "id": "fact_1", "scope": JANE, "content": "Jane lives in Oslo", "subject": "Jane", "predicate": "lives in",
    "confidence": 0.9, "status": "active", "created_at": WHEN, "updated_at": WHEN, "expires_at": None,
    "superseded_by": None, "decided_by": None, "uses": 0, "last_used_at": WHEN, "faded": False, "evidence": None,
    "provenance": _WHO,
}  # fmt: skip

MAKERS: dict[str, Callable[[World], Any]] = {
    "Index": World.index,
    "Index in memory": World.index_in_memory,
    "Admin": lambda world: world.index().admin,
    "Admin in memory": lambda world: world.index_in_memory().admin,
    "Backend": lambda world: Backend.of(world.index()),
    "Backend in memory": lambda world: Backend.of(world.index_in_memory()),
    "Documents": lambda world: backends.Documents(world.index()),
    "Documents in memory": lambda world: backends.Documents(world.index_in_memory()),
    "AsyncDocuments": lambda world: backends.AsyncDocuments(backends.Documents(world.index())),
    "Offsets": lambda _: backends.Offsets(),
    "RankedPages": lambda _: backends.RankedPages(steady=1),
    "Lease": lambda world: backends.lease(world.index()),
    "ScopeTree": lambda world: backends.ScopeTree(world.index(), Scope("acme")),
    "ScopeTree in memory": lambda world: backends.ScopeTree(world.index_in_memory(), Scope("acme")),
    "Sweeper": lambda world: backends.Sweeper(world.index().close),
    "Writes": lambda _: backends.Writes(),
    "FrameworkEmbedder": lambda _: backends.FrameworkEmbedder(embedders.Static(), "static"),
    "ScopedMemories": lambda world: backends.ScopedMemories(world.index()),
    "ScopeMap": lambda _: backends.ScopeMap("acme", user="user_id", absent="nobody"),
    "ErrorMap": lambda _: backends.ErrorMap({KeyError: lambda error: OSError(str(error))}),
    "Admitted": lambda _: backends.Admitted({"kind": "travel"}),
    "Native": lambda _: backends.Native({"kind": "travel"}),
    "Test": lambda _: backends.Test({"kind": "travel"}, lambda _: True),
    "All": lambda _: backends.All([]),
    "Either": lambda _: backends.Either([]),
    "Not": lambda _: backends.Not(backends.EVERYTHING),
    "Ids": lambda _: backends.Ids(frozenset(["m1"])),
    "Field": lambda _: backends.Field("kind"),
    "AsyncIndex": lambda world: scrubjay.AsyncIndex(world.index()),
    "AsyncIndex in memory": lambda world: scrubjay.AsyncIndex(world.index_in_memory()),
    "BackfillReport": lambda _: scrubjay.BackfillReport(0, 0, 0),
    "ScopeView": lambda world: world.index().scope(JANE),
    "ScopeView in memory": lambda world: world.index_in_memory().scope("acme", user="jane"),
    "KeyFolder": lambda world: _keys(world),
    "UserKeys": lambda world: keystores.UserKeys(world.keys, _keys(world)),
    "Memory": World.memory,
    "Session": World.session,
    "Retriever": World.retriever,
    "Engine": World.engine,
    "Scope": lambda _: JANE,
    "Filter": lambda _: Filter({"kind": "travel"}),
    "Result": lambda world: world.engine().search("trains", scope=JANE, explain=True),
    "Document": lambda world: world.engine().get("m1", scope=JANE),
    "PreparedDocuments": lambda world: VALUES["prepared"](world, world.engine()),
    "CompiledRanking": lambda _: CompiledRanking(),
    "Static": lambda _: embedders.Static(),
    "StaticEmbedder": lambda _: _trained(),
    "Hits": _hits,
    "Hit": lambda world: _hits(world)[0],
    "Snippet": lambda world: _hits(world)[0].snippet(),
    "ScoreParts": lambda world: _hits(world)[0].parts,
    "Record": lambda _: Record("m1", "text", JANE),
    "Page": lambda world: world.index_in_memory().scroll(scope=JANE),
    "PassageVectors": lambda _: PassageVectors(
        np.ones((2, 3), dtype=np.float32), np.array([[0, 5], [4, 9]], dtype=np.uint32)
    ),
    "Objects": lambda world: scrubjay.Objects("file:///folder"),
    "Stamp": lambda world: world.index_in_memory().admin.stamp(JANE),
    "Query": lambda _: fusion.Query(),
    "RRF": lambda _: fusion.RRF(),
    "Auto": lambda _: fusion.Auto(),
    "Boost": lambda _: fusion.Boost(),
    "Production": lambda _: fusion.Production(),
    "Weighted": lambda _: fusion.Weighted(),
    "Entities": lambda _: fusion.Entities(),
    "Prior": lambda _: fusion.Prior(),
    "Recency": lambda _: fusion.Recency(),
    "Dates": lambda _: fusion.Dates(),
    "Links": lambda _: fusion.Links(["m1"]),
    "Neighbours": lambda _: fusion.Neighbours(),
    "Relevance": lambda _: fusion.Relevance(),
    "AsyncMemory": lambda world: memory.AsyncMemory(world.memory()),
    "ChangeEvent": lambda _: memory.ChangeEvent(1, WHEN, "proposed", JANE, "fact", "fact_1"),
    "Consolidated": lambda _: memory.Consolidated(),
    "Decay": lambda _: memory.Decay(),
    "DefaultJudge": lambda _: memory.DefaultJudge(),
    "FactCandidate": lambda _: memory.FactCandidate("Jane lives in Oslo"),
    "EpisodeCandidate": lambda _: memory.EpisodeCandidate("Booked a train.", "success"),
    "PolicyCandidate": lambda _: memory.PolicyCandidate("refunds", "Never promise refunds."),
    "PreferenceCandidate": lambda _: memory.PreferenceCandidate("tone", "Answer briefly."),
    "Provenance": lambda _: _WHO,
    "Fact": lambda _: memory.Fact(**_FACT),
    "Episode": lambda _: memory.Episode(
        "episode_1", JANE, "Booked.", "success", "", (), (), "active", WHEN, WHEN, None, 0, WHEN, _WHO
    ),
    "Policy": lambda _: memory.Policy("policy_1", "acme", "refunds", 1, "Never.", WHEN, None, "active", _WHO),
    "Preference": lambda _: memory.Preference(
        "preference_1", JANE, "tone", "Brief.", "said", 1.0, "active", WHEN, None, None, _WHO
    ),
    "Deletion": lambda _: memory.Deletion(WHEN, JANE, "delete", None, {"fact": 1}),
    "Event": lambda _: memory.Event(WHEN, "fact_1", "proposed", None, None),
    "Feed": lambda world: world.memory().feed,
    "Files": lambda world: world.memory().files,
    "Edited": lambda _: memory.Edited(),
    "Hold": lambda _: memory.Hold(JANE, "case 17", "legal", WHEN, "audit"),
    "MemoryAdmin": lambda world: world.memory().admin,
    "Imported": lambda _: memory.Imported(),
    "Forgotten": lambda _: memory.Forgotten({"fact": 1}),
    "Known": lambda _: memory.Known((), ()),
    "MemoryErasure": lambda _: memory.MemoryErasure({"fact": 0}, None),
    "Outcome": lambda _: memory.Outcome("active", "fact", "fact_1"),
    "Rejection": lambda _: memory.Rejection(WHEN, JANE, "fact", "empty", "", None, None, None),
    "Swept": lambda _: memory.Swept(0, 0, 0, 0),
    "TakenOver": lambda _: memory.TakenOver(),
    "Why": lambda _: memory.Why(memory.Fact(**_FACT), (), (), None, ()),
    "Recalled": lambda world: world.memory().recall("Oslo", JANE),
    "Note": lambda _: memory.Note("n1", JANE, "Prefers trains.", WHEN, None),
    "RecalledHit": lambda world: world.memory().recall("Oslo", JANE)[0],
    "Retrieved": _retrieved,
    "RetrievedHit": lambda world: _retrieved(world)[0],
    "Conversation": lambda _: retrieval.Conversation((("user", "I met Tom."),), "About friends."),
    "Rewritten": lambda _: retrieval.Rewritten(semantic="trains"),
    "CacheStats": lambda _: retrieval.CacheStats(),
    "CallableReranker": lambda world: retrieval.CallableReranker(world.score),
    "LateInteractionReranker": lambda _: retrieval.LateInteractionReranker(
        lambda texts, is_query: [np.ones((2, 3), dtype=np.float32) for _ in texts]
    ),
    "HttpReranker": lambda _: retrieval.HttpReranker("m", url="http://127.0.0.1:9/rerank", timeout_s=0.2),
    "OpenAIRewriter": lambda _: retrieval.OpenAIRewriter(
        "m", base_url="http://127.0.0.1:9/v1", timeout_s=0.2
    ),
    "Context": lambda _: retrieval.Context(max_tokens=100),
    "Counters": lambda _: retrieval.Counters(),
    "ResultCache": lambda _: retrieval.ResultCache(),
    "RedisCache": lambda _: retrieval.RedisCache(client=_Away()),
    "Stage": lambda _: retrieval.Stage("search"),
    "Trace": lambda _: retrieval.Trace(),
    "Function": lambda world: world.embedder(),
    "Truncated": lambda world: embedders.Truncated(world.embedder(), 4),
    "QueryCache": lambda _: embedders.QueryCache(),
    "WordLlama": lambda _: embedders.default(),
}
"""Class -> a function that creates an object. A second way to create one is named `Class way`."""

WITHOUT_OBJECTS = {
    "Embedder", "Judge", "KeyStore", "Reranker", "Rewriter", "Fusion",  # protocols and unions
    "FastEmbed", "Model2Vec", "SentenceTransformers", "SentenceTransformersReranker", "OpenAICompatible",
    "KeyDatabase", "OpenAIClient", "OnnxFolder", "OnnxReranker",
    # these need files, a service or a library: tested only without their constructor
}  # fmt: skip


class _Away:
    """A Redis client whose server is unavailable."""

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            raise ConnectionError("no server")

        return call


VALUES: dict[str, Callable[[World, Any], Any]] = {
    "best_first": lambda world, _: _hits(world),
    "by": lambda *_: "legal",
    "changes": lambda *_: {"metadata": {"kind": "travel"}},
    "clock": lambda world, _: world.clock,
    "candidate": lambda *_: memory.FactCandidate(f"Jane lives in {next(_numbers)}", "Jane", "lives in"),
    "confidence": lambda *_: 0.9,
    "content": lambda *_: f"I live in Oslo, said {next(_numbers)}.",
    "counts": lambda *_: {"fact": 1},
    "doing": lambda *_: "testing",
    "embedder": lambda world, _: world.embedder(),
    "engine": lambda world, _: world.engine(),
    "error": lambda *_: KeyError("gone"),
    "events": lambda *_: [{"kind": "user", "content": "Hello."}],
    "expires_at": lambda *_: None,
    "exact": lambda *_: True,
    "extractor": lambda world, _: world.extract,
    "folder": lambda world, _: _notes(world),
    "found": lambda *_: [],
    "function": lambda *_: lambda _: None,
    "generation": lambda *_: 1,
    "hit": lambda *_: "m1",
    "field": lambda *_: "kind",
    "id": lambda world, _: world.id,
    "identifier": lambda *_: True,
    "idle_days": lambda *_: 1.0,
    "ids": lambda *_: ["m1"],
    "index": lambda world, _: world.index_in_memory(),
    "image": lambda *_: b"nothing",
    "images": lambda *_: [],
    "i": lambda *_: 0,
    "key": lambda *_: "tone",
    "keys": lambda *_: [(JANE, "m1"), (Scope("acme"), "m2")],
    "kind": lambda *_: "user",
    "known": lambda *_: memory.Fact(**_FACT),
    "last_used_at": lambda *_: 1_700_000_000_000_000,
    "lexical_rank": lambda *_: 1,
    "n_bytes": lambda *_: 10,
    "moment": lambda *_: WHEN,
    "name": lambda *_: "notes",
    "now": lambda *_: 1_800_000_000_000_000,
    "old": lambda *_: KEY,
    "older_than": lambda *_: 30,
    "other": lambda *_: JANE,
    "arg0": lambda *_: JANE,
    "value": lambda *_: "anything",
    "path": lambda world, _: world.folder / f"other{next(_numbers)}",
    "predicate": lambda *_: "lives in",
    "position": lambda *_: 0,
    "prepared": lambda _, engine: engine.prepare(
        [f"p{next(_numbers) % 50}"], ["prefers ships"], scope=JANE, vectors=np.ones((1, DIM))
    ),
    "proposals": lambda world, _: [
        (memory.FactCandidate(f"Jane sings {next(_numbers)}", "Jane", "sings"), JANE, "run-1")
    ],
    "query": lambda *_: f"where does Jane live {next(_numbers) % 7}",
    "reason": lambda *_: "because",
    "records": lambda *_: [{"id": f"n{next(_numbers) % 50}", "text": "Another one.", "scope": JANE}],
    "row": lambda *_: None,
    "rows": lambda *_: [Row(f"n{next(_numbers) % 50}", "Another one.", JANE, None, None)],
    "run_id": lambda *_: "run-1",
    "settings": lambda *_: fusion.Query().to_dict(),
    "scope": lambda *_: JANE,
    "seq": lambda *_: 1,
    "source": lambda *_: "run-1",
    "subject": lambda *_: "Jane",
    "summary": lambda *_: "Booked a train.",
    "tenant": lambda *_: "sealed",
    "tenants": lambda *_: ["acme"],
    "text": lambda *_: f"trains and planes {next(_numbers) % 11}",
    "texts": lambda *_: ["trains and planes"],
    "ttl": lambda *_: 60.0,
    "users": lambda *_: ("a", "z"),
    "uses": lambda *_: 1,
    "vector": lambda *_: np.ones(DIM, np.float32),
    "vector_rank": lambda *_: 1,
    "within": lambda *_: Scope("acme"),
}
"""Parameter -> a function of (world, object) that returns a small valid value; called for every call."""


def _exported_memory(world: World) -> Path:
    path = world.folder / "jane.jsonl"
    if not path.exists():
        with world.memory() as made:
            made.files.export(path, scope=JANE, replace=True)
    return path


def _dumped(world: World) -> Path:
    path = world.folder / "mem0.json"
    path.write_text('[{"id": "1", "memory": "Jane sings"}]')
    return path


def _edited_memory(world: World) -> Path:
    path = world.folder / "jane.md"
    if not path.exists():
        with world.memory() as made:
            made.files.export_markdown(path, scope=JANE, replace=True)
    return path


OF_METHODS: dict[str, Callable[[World, Any], Any]] = {
    "Admin.import_": lambda world, admin: admin.import_(_exported(world), progress=False),
    "Index.open": lambda world, index: type(index).open(world.folder / f"new{next(_numbers)}").close(),
    "Backend.first_scopes": lambda _, backend: backend.first_scopes(None, None, 3),
    "Field.one_of": lambda _, field: field.one_of(["travel", None]),
    "Field.order": lambda _, field: field.order("$lt", "z"),
    "Field.test": lambda _, field: field.test(bool),
    "Admin.repair": lambda world, admin: admin.repair(_stored(world)),
    "Admin.salvage": lambda world, admin: admin.salvage(
        _stored(world), world.folder / f"salvaged{next(_numbers)}"
    ),
    "StaticEmbedder.read": lambda _, embedder: embedder.read(_table()),
    "Index.feedback": lambda world, index: index.feedback("m1", query="how?", scope=JANE),
    "Index.search": lambda _, index: index.search(f"trains {next(_numbers) % 7}", scope=JANE),
    "Index.asearch": lambda _, index: index.asearch("trains", scope=JANE),
    "Admin.drop_collection": lambda world, admin: admin.drop_collection(world.another_collection()),
    "Retriever.asearch": lambda _, retriever: retriever.asearch("trains", scope=JANE),
    "Index.search_batch": lambda _, index: index.search_batch(["trains", "keys"], scope=JANE),
    "ScopeView.search": lambda _, view: view.search(f"trains {next(_numbers) % 7}"),
    "ScopeView.asearch": lambda _, view: view.asearch("trains"),
    "ScopeView.search_batch": lambda _, view: view.search_batch(["trains", "keys"]),
    "ScopeView.upsert_many": lambda _, view: view.upsert_many(
        [{"id": f"n{next(_numbers) % 50}", "text": "Another one."}]
    ),
    "Admin.verify_erased": lambda _, admin: admin.verify_erased(["never written"]),
    "Files.import_": lambda world, files: files.import_(_exported_memory(world), scope=JANE),
    "Files.import_from": lambda world, files: files.import_from(_dumped(world), "mem0", scope=JANE),
    "Files.import_markdown": lambda world, files: files.import_markdown(_edited_memory(world), scope=JANE),
    "MemoryAdmin.hold": lambda _, admin: admin.hold(Scope("held"), reason="case 17", by="legal"),
    "Memory.open": lambda world, made: type(made).open(world.folder / f"new{next(_numbers)}").close(),
    "Memory.forget": lambda _, made: made.forget("nobody", tenant="acme"),
    "Memory.prefer": lambda _, made: made.prefer("tone", "Briefly.", scope=JANE),
    "Memory.policy": lambda _, made: made.policy("refunds", "Never.", tenant="acme", by="legal"),
    "MemoryAdmin.global_policy": lambda _, made: made.global_policy("refunds", "Never.", by="operations"),
    "MemoryAdmin.revoke_global_policy": lambda _, made: made.revoke_global_policy(
        made.global_policy("refunds", f"Never {next(_numbers)}.", by="operations").id,
        reason="over",
        by="operations",
    ),
    "Memory.propose": lambda _, made: made.propose(
        memory.FactCandidate(f"Jane lives in {next(_numbers)}", "Jane", "lives in"),
        scope=JANE,
        source="run-2",
    ),
    "KeyFolder.put": lambda _, keys: keys.put(f"{os.getpid()}-{next(_numbers)}".encode(), KEY),
    "KeyFolder.get": lambda _, keys: keys.get(b"m1"),
    "KeyFolder.destroy": lambda _, keys: keys.destroy(f"k{next(_numbers)}".encode()),
    "KeyFolder.destroyed_at": lambda _, keys: keys.destroyed_at(b"m1"),
    "KeyDatabase.put": lambda _, keys: keys.put(b"m1", KEY),
    "KeyDatabase.get": lambda _, keys: keys.get(b"m1"),
    "KeyDatabase.destroy": lambda _, keys: keys.destroy(b"m1"),
    "KeyDatabase.destroyed_at": lambda _, keys: keys.destroyed_at(b"m1"),
    "KeyStore.put": lambda _, keys: keys.put(b"m1", KEY),
    "KeyStore.get": lambda _, keys: keys.get(b"m1"),
    "KeyStore.destroy": lambda _, keys: keys.destroy(b"m1"),
    "KeyStore.destroyed_at": lambda _, keys: keys.destroyed_at(b"m1"),
    "Engine.upsert": lambda _, engine: engine.upsert("m1", "prefers trains", scope=JANE),
    "Engine.search_batch": lambda _, engine: engine.search_batch(["trains"], scope=JANE),
    "Engine.upsert_versioned": lambda _, engine: engine.upsert_versioned(
        ["m1"], ["prefers trains"], scope=JANE, versions=[None]
    ),
    "Backend.embed_or_mark": lambda _, backend: backend.embed_or_mark(["trains"], [None]),
    "Documents.search": lambda _, documents: documents.search(f"trains {next(_numbers) % 7}", scope=JANE),
    "Documents.delete_many": lambda _, documents: documents.delete_many(["m9", "m1"], scope=JANE),
    "Backend.page": lambda _, made: made.page(scroll_of(JANE), None),
    "RankedPages.page": lambda _, made: made.page("which?", 1, 2, lambda n: ("abc"[:n], "abc"[:n])),
    "Sweeper.start": lambda _, sweeper: (sweeper.start(60), sweeper.stop()),
    "ScopeTree.note": lambda _, tree: tree.note(["jane"]),
    "Writes.put": lambda _, writes: writes.put([]),
    "Writes.delete": lambda _, writes: writes.delete([(JANE, "m1")]),
    "Offsets.page": lambda world, made: made.page(world.index_in_memory(), [JANE], limit=2),
    "Documents.every": lambda _, documents: list(documents.every(scope=JANE)),
    "ScopedMemories.update": lambda _, memories: memories.update(
        JANE, memories.index.list(JANE, exact=True)[0].id, {"metadata": {"kind": "travel"}}
    ),
    "ScopedMemories.delete": lambda _, memories: (
        memories.put(JANE, [{"id": "gone", "text": "Another one."}]),
        memories.delete(JANE, "gone"),
    ),
    "ScopedMemories.put": lambda _, memories: memories.put(JANE, [{"id": "n1", "text": "Another one."}]),
    "AsyncDocuments.open": lambda world, documents: documents.open(world.folder / f"new{next(_numbers)}"),
    "Index.delete_many": lambda _, index: index.delete_many(["m9", "m1"], scope=JANE),
    "ScopeView.delete_many": lambda _, view: view.delete_many(["m9", "m1"]),
    "Engine.delete_many": lambda _, engine: engine.delete_many(["m9", "m1"], scope=[JANE, Scope("acme")]),
    "Engine.search": lambda _, engine: engine.search("trains", scope=JANE),
    "Engine.apply_all": lambda world, engine: engine.apply_all(
        [VALUES["prepared"](world, engine)], scope=JANE, n_documents=1
    ),
    "Engine.build_graphs": lambda _, engine: engine.build_graphs(2),
    "Session.position": lambda _, session: session.position(session.user("A turn.")),
    "Session.retract": lambda _, session: session.retract(session.user("Not true.").seq),
    "ResultCache.put": lambda _, cache: cache.put("key", 1, "value", 10),
    "QueryCache.put": lambda _, cache: cache.put("key", np.ones(DIM, np.float32)),
    "Context.count": lambda _, context: context.count("some text"),
    "Backend.lend_query": lambda _, backend: backend.lend_query("trains", backend),
    "Recalled.__getitem__": lambda _, found: found[0],
    "Retrieved.__getitem__": lambda _, found: found[0],
    "Hits.__getitem__": lambda _, found: found[0],
    "Retrieved.index": lambda _, found: found.index(found[0]),
    "Recalled.index": lambda _, found: found.index(found[0]),
}
"""Class and method -> a function of (world, object) that makes the call."""

OF_METHODS.update(  # async twins take the same arguments; `finished` awaits them
    {
        f"Async{name}": call
        for name, call in OF_METHODS.items()
        if name.startswith(("Index.", "Memory.", "Documents."))
        and name not in ("Index.open", "Memory.open", "Documents.every")
    }
)


def _table() -> bytes:
    """Return the bytes of the package's embedding table."""
    return (Path(embedders.__file__).parent / "en-1.static").read_bytes()


def _notes(world: World) -> Path:
    folder = world.folder / "notes"
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_text("# Travel\n\nPrefers trains.\n", encoding="utf-8")
    return folder


def _stored(world: World) -> Path:
    """Write an index file, and close it."""
    path = world.folder / f"stored{next(_numbers)}.scrubjay"
    with Index.open(path) as index:
        index.upsert("m9", "Prefers trains.", scope=JANE)
    return path


def _exported(world: World) -> Path:
    path = world.folder / "export.jsonl"
    if not path.exists():
        # Other threads and a forked child may run this at the same time.
        own = world.folder / f"exported{os.getpid()}-{next(_numbers)}"
        with Index.open(own) as index:
            index.upsert("m9", "Prefers trains.", scope=JANE)
            index.admin.export(own.with_suffix(".jsonl"))
        own.with_suffix(".jsonl").replace(path)
    return path


def caller(subject: str, member: str) -> Callable[[World, Any], Any]:
    """Return a function that calls a member of an object with valid arguments, or reads it.

    Raises:
        LookupError: a parameter is unknown; the message says where to add it.
    """
    name = subject.partition(" ")[0]
    cls = api.classes()[name]
    special = OF_METHODS.get(f"{name}.{member}")
    if special is not None:
        return lambda world, made: finished(special(world, made))
    parameters = api.required(cls, member)
    if parameters is None:
        return lambda world, made: finished(getattr(made, member))
    unknown = [parameter for parameter, _ in parameters if parameter not in VALUES]
    if unknown:
        raise LookupError(
            f"{name}.{member}({', '.join(unknown)}): add these parameters to VALUES, or the method to OF_METHODS, in "
            "tests/lifetimes/arguments.py"
        )

    def call(world: World, made: Any) -> Any:
        values = [(one, keyword, VALUES[one](world, made)) for one, keyword in parameters]
        arguments = [value for _, keyword, value in values if not keyword]
        options = {one: value for one, keyword, value in values if keyword}
        return finished(getattr(made, member)(*arguments, **options))

    return call


class Loop(asyncio.SelectorEventLoop):
    """An event loop that starts its only worker thread at once, and is not closed when the interpreter exits."""

    def __init__(self) -> None:
        super().__init__()
        workers = ThreadPoolExecutor(1)
        workers.submit(int).result()
        self.set_default_executor(workers)

    def __del__(self, *_: Any) -> None:
        """Do not close the loop: another thread may be running it."""


class _Loops(threading.local):
    """Runs the coroutines of a thread: each in a new event loop, or all in the loop given to the thread."""

    kept: Loop | None = None

    def run(self, coroutine: Any) -> Any:
        return asyncio.run(coroutine) if self.kept is None else self.kept.run_until_complete(coroutine)


_loops = _Loops()


def use_loop(loop: Loop) -> None:
    """Let this thread run all its coroutines in one event loop."""
    _loops.kept = loop


def finished(value: Any) -> Any:
    """Await a coroutine, wait for a future or enter a context manager that a method returned; return other values."""
    if inspect.iscoroutine(value):
        return _loops.run(value)
    if isinstance(value, Future):
        return value.result(timeout=10)
    if isinstance(value, AbstractContextManager) and type(value).__name__ == "_GeneratorContextManager":
        with value:
            return None
    return value

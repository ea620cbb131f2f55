"""Rows of docs/project/capabilities.md: what other projects' documents describe, each by its own example.

A test is named by the number of its row; `tests/contracts/test_capabilities.py` keeps the page and these tests in step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import scrubjay
from scrubjay import (
    RRF,
    Boost,
    Entities,
    HeldError,
    Index,
    Links,
    Production,
    Query,
    Recency,
    Scope,
    Weighted,
)
from scrubjay.base.errors import OwnedCollectionError
from scrubjay.cli import main
from scrubjay.filters import visible_to
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate, Provenance
from scrubjay.retrieval import Conversation, ResultCache, Retriever, Rewritten
from tests.memory.setting import ACME, GLOBEX, JANE, JOE, address_of

DAY = timedelta(days=1)
KEYS = """User's production API key prefix is sk-prod-7782.
User's staging API key prefix is sk-stg-0041.
The API key for the sandbox environment is stored in 1Password.
API keys for the staging environment are rotated every 90 days.
The staging environment uses the eu-central cluster.
The user asked which environment variables the API needs for the staging deployment.
For the production environment the API gateway is Kong.
The user wants all API error responses in JSON with camelCase keys.
The API rate limit for the free tier is 60 requests per minute.
User configured the webhook secret for the staging environment in Doppler.
The staging database password lives in Vault under kv/staging/db.
The user did a key rotation for the payments API in March.
The default config prefix for feature flags is ff_.
Redis key prefix for sessions is sess:v2.
The user uses the prefix 'feat/' for git branches.
S3 bucket prefix for the staging uploads is uploads-stg/.
The user's SSH key for the build environment expired in June.
The staging API is served from api-stg.acme.dev.
User did not want the API to use numeric ids.
For local environment setup the user runs make dev.
The production API key is only known to the platform team.
The API key header is X-Acme-Key.
Environment names are dev, staging and prod.
The user keeps separate OpenAI keys for each environment.
Config for the staging environment is in config/staging.yaml.
What the user likes about the API is its pagination.
The user used the API for the demo in Lisbon.
Encryption key id for the staging environment is in AWS KMS alias/stg.
The environment for load tests is a copy of production.
The user mentioned the API version header is 2026-04-01.
The user did the migration of the API to Go.
Key results for Q3: API latency under 80 ms.
I did the staging rollout on Tuesday, the user said.
For the staging environment, use the read-only replica.
User prefers dark mode in the API console.
Terraform state key for the environment is env/staging/terraform.tfstate.
The API token of the CI user starts with ci_.
The mobile app uses a different API key prefix, mob-.
Datadog API key is set in the production environment only.
The prefix of invoice numbers is INV-2026-.""".split("\n")
ASKED = "What API key prefix did I use for the staging environment?"
SERVICES = "billing search orders login media reports mail maps chat feeds".split()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.scrubjay"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    """A memory with keyword search."""
    with Memory.open(path) as memory:
        yield memory


def indexed(texts: list[str], **options: Any) -> Index:
    """Return an index of these texts in jane's scope; ids are their positions."""
    index = Index(**options)
    index.upsert_many([{"id": number, "text": text} for number, text in enumerate(texts)], scope=JANE)
    return index


def directions(*texts: str) -> Callable[..., Any]:
    """Return an embedder that gives each of these texts its own direction, and the first one to any other text."""
    import numpy as np

    def embed(given: list[str]) -> Any:
        vectors = np.zeros((len(given), len(texts)), np.float32)
        for row, text in enumerate(given):
            vectors[row, texts.index(text) if text in texts else 0] = 1
        return vectors

    return embed


# ---------------------------------------------------------------------- seed 000


def test_row_1_the_staging_key_is_first_among_facts_that_look_like_it() -> None:
    index = indexed(KEYS, embedder=scrubjay.embedders.default())
    assert index.search(ASKED, scope=JANE)[0].text == "User's staging API key prefix is sk-stg-0041."
    by_words = index.search(ASKED, scope=JANE, query=Query(mode="keyword"))
    assert 1 in by_words.ids[:3]  # "what", "did" and "for" weigh little


def test_row_2_ten_thousand_memories_do_not_bury_the_answer() -> None:
    made = [
        f"The {service} service number {number} uses the {word} of team {number % 7}."
        for number in range(250)
        for service in SERVICES
        for word in ("API gateway", "environment config", "key store", "staging cluster")
    ]
    index = indexed([*KEYS, *made], embedder=scrubjay.embedders.default())
    assert index.count(JANE) > 10_000
    for size in (len(KEYS), 200, len(KEYS) + len(made)):
        found = index.search(ASKED, scope=JANE, query=Query(ids=range(size)))
        assert "sk-stg-0041" in found.texts[0], (size, found.texts[:3])


def test_row_3_facts_are_extracted_when_a_turn_completes(memory: Memory) -> None:
    def extractor(transcript: Any) -> list[FactCandidate]:
        return [FactCandidate(said.text) for said in transcript.utterances if "prefix" in said.text]

    with memory.session(JANE, "turn-1") as session:
        session.user("User's staging API key prefix is sk-stg-0041.")
        session.model("Noted.")
    done = memory.distil_later("turn-1", extractor, JANE).result(30)  # on a thread: the answer does not wait
    assert [one.status for one in done.outcomes] == ["written"]
    assert "sk-stg-0041" in memory.recall(ASKED, JANE).texts[0]


# ---------------------------------------------------------------------- seed 001


def test_row_4_node_distance_mentions_and_breadth_first() -> None:
    index = Index()
    for id, text, links in (
        ("jane", "Jane leads the search team.", ["lin"]),
        ("lin", "Lin knows the ranking code.", ["max"]),
        ("max", "Max runs the cluster.", []),
        ("zoe", "Zoe runs the cluster.", []),
        ("ann", "Ann asked Max.", ["max"]),
    ):
        index.upsert(id, text, scope=JANE, metadata={"links": links})
    near = Query(RRF(), links=Links(["jane"], hops=2))
    assert index.search("Who runs the cluster?", scope=JANE, query=near)[0].id == "max"
    assert index.search(None, scope=JANE, query=near).ids.tolist() == ["lin", "max"]  # nearest first
    often = Query(RRF(), links=Links(mentions=True))
    assert index.search("Who runs the cluster?", scope=JANE, query=often)[0].id == "max"


def test_row_5_gate_logistic_and_entities_in_one_query() -> None:
    asked = "What did Graphiti change?"
    index = Index(embedder=directions(asked, "any other"))
    for id, text, similarity, names in (
        ("named", "The graph engine got faster.", 0.85, ["Graphiti"]),
        ("plain", "The other engine got faster.", 0.9, []),
        ("worded", "Some change is due.", 0.55, []),
        ("gated", "Graphiti did change.", 0.1, ["Graphiti"]),
    ):
        vector = [similarity, (1 - similarity**2) ** 0.5]
        index.upsert(id, text, scope=JANE, vector=vector, entities=names)
    three = Query(Boost(gate=0.5, normalise="logistic"), entities=Entities(0.3), identifier_tier=False)
    assert index.search(asked, scope=JANE, query=three).ids.tolist() == ["named", "plain", "worded"]
    without = three.replace(entities=None)
    assert index.search(asked, scope=JANE, query=without).ids.tolist() == ["plain", "named", "worded"]
    weak = {hit.id: hit.score for hit in index.search(asked, scope=JANE, query=without)}["worded"]
    greatest = without.replace(fusion=Boost(gate=0.5, normalise="max"))
    strong = {hit.id: hit.score for hit in index.search(asked, scope=JANE, query=greatest)}["worded"]
    assert weak < strong  # a weak best match gains little


def test_row_6_entities_are_given_to_the_gate_and_damped_by_their_links(memory: Memory) -> None:
    says = lambda text, *names: FactCandidate(text, entities=names)  # noqa: E731
    memory.propose(says("The lawyer of the sale is called Ayush", "Ayush Sunaina"), scope=JANE, source="r")
    for number in range(40):
        memory.propose(says(f"The lawyer called again, call {number}", "lawyer"), scope=JANE, source="r")
    query = Query(mode="keyword", entities=Entities(1.0))
    found = memory.recall("Ayush Sunaina lawyer called", JANE, query=query)
    assert found.texts[0] == "The lawyer of the sale is called Ayush"
    assert found[0].record.entities == ("ayush sunaina",)  # type: ignore[union-attr]


def test_row_7_a_rewriter_sees_the_conversation(path: Path) -> None:
    heard: list[Conversation] = []

    def reword(question: str, conversation: Conversation) -> Rewritten:
        heard.append(conversation)
        return Rewritten(keywords="dog Rex")

    rewriter: Any = reword
    with Memory.open(path, retriever=lambda index: Retriever(index, rewriter)) as memory:
        memory.propose("Jane's dog is called Rex", scope=JANE, source="r")
        with memory.session(JANE, "r1") as session:
            session.user("I have a dog")
            session.model("nice!")
            session.user("what's his name again?")
            assert "Rex" in session.assemble(floor="none").text
    assert [text for _, text in heard[0].turns][:2] == ["I have a dog", "nice!"]


def test_row_8_a_context_is_indexed_and_embedded_but_not_shown() -> None:
    embedded: list[str] = []

    class Noting:
        dim, name = 2, "noting"

        def embed_documents(self, texts: list[str]) -> Any:
            embedded.extend(texts)
            return [[1.0, 0.0]] * len(texts)

        def embed_query(self, text: str) -> Any:
            return [1.0, 0.0]

    index = Index(embedder=Noting())
    said = "The company's revenue grew by 3% over the previous quarter."
    context = "From a filing of ACME Corp on the second quarter of 2023."
    index.upsert("c1", said, scope=JANE, context=context)
    found = index.search("ACME second quarter", scope=JANE, query=Query(mode="keyword"))
    assert found.texts == [said] and index.get("c1", scope=JANE).context == context
    assert context in embedded[0] and said in embedded[0]


def test_row_9_the_best_stand_first_and_last_in_a_prompt(memory: Memory) -> None:
    for text in ("the red boat sails north", "red boat sails", "red boat", "boat"):
        memory.propose(f"Jane says: {text}", scope=JANE, source="r")
    best = [hit.id for hit in memory.recall("red boat sails north", JANE)]
    prompt = memory.assemble("red boat sails north", JANE, edges=True, floor="none")
    assert list(prompt.ids("memories")) == [best[0], best[2], best[3], best[1]]
    assert "most relevant first and last" in prompt.text


# ---------------------------------------------------------------------- seed 002


def test_row_10_each_ranking_has_its_own_number_of_candidates() -> None:
    texts = ["staging key", "staging", "key", "other"]
    index = indexed(texts, embedder=directions("staging key?", *texts))
    found = index.search("staging key", scope=JANE, query=Query(RRF(), candidates=(1, 3), mode="hybrid"))
    assert sum(hit.lexical_rank is not None for hit in found) == 1
    assert sum(hit.vector_rank is not None for hit in found) == 3


def test_row_11_a_hit_says_what_its_score_is_made_of() -> None:
    index = Index(embedder=directions("deadline?", "any other"))
    now = datetime(2026, 3, 1, tzinfo=timezone.utc)
    for id, text, age, vector in (
        ("new", "The deadline is March 15th.", DAY, [0.8, 0.6]),
        ("old", "The deadline was in May.", 70 * DAY, [0.6, 0.8]),
    ):
        index.upsert(id, text, scope=JANE, created_at=now - age, vector=vector)
    query = Query(Weighted((0.3, 0.5), "minmax"), recency=Recency(0.2, 168, now), dates=False)
    hit = index.search("deadline?", scope=JANE, query=query, explain=True)[0]
    parts = hit.parts
    assert hit.id == "new" and parts.recency == pytest.approx(0.2 * 2 ** (-24 / 168), rel=1e-3)
    every = (parts.words, parts.meaning, parts.scaling, parts.recency, parts.boosts, parts.rankings)
    assert parts.final == pytest.approx(sum(every)) == pytest.approx(hit.score)
    assert hit.similarity is not None and hit.bm25 is not None


def test_row_12_access_of_a_set_of_users() -> None:
    index = Index()
    for id, owner, shared, is_public in (
        ("own", "user_123", [], False),
        ("admins", "admin", [], False),
        ("shared", "joe", ["user_123"], False),
        ("public", "joe", [], True),
        ("joes", "joe", ["user_1234"], False),
    ):
        metadata = {"owner": owner, "shared_with": shared, "is_public": is_public}
        index.upsert(id, f"plan of {owner}", scope=ACME, metadata=metadata)
    found = index.search("plan", scope=ACME, filter=visible_to({"user_123", "admin"}))
    assert sorted(found.ids) == ["admins", "own", "public", "shared"]


def test_row_13_any_of_a_set_of_categories() -> None:
    index = Index()
    index.upsert("m1", "prefers dark mode", scope=JANE, metadata={"categories": ["preferences"]})
    index.upsert("m2", "meeting on Monday", scope=JANE, metadata={"categories": ["calendar", "meetings"]})
    index.upsert(
        "m3", "deadline on March 15th", scope=JANE, metadata={"categories": ["projects", "deadlines"]}
    )
    wanted = {"categories": {"$in": {"calendar", "deadlines"}}}
    assert index.count(JANE, filter=wanted) == 2
    assert index.search("mode meeting deadline", scope=JANE, filter=wanted).ids.tolist().count("m1") == 0


def test_row_14_a_function_as_a_filter() -> None:
    index = indexed(["one deadline", "two deadlines", "a deadline of three"])
    wanted = lambda memory: memory.id != 0  # noqa: E731
    after = [hit.id for hit in index.search("deadline", scope=JANE, k=50) if wanted(hit)][:1]
    assert index.search("deadline", scope=JANE, filter=wanted, k=1).ids.tolist() == after != [0]
    assert set(index.search("deadline", scope=JANE, filter=wanted).ids.tolist()) == {1, 2}


def test_row_15_a_cache_counted_in_entries_with_a_rate_and_a_way_past_it() -> None:
    retriever = Retriever(indexed(["the deadline", "the meeting"]), cache=ResultCache(max_entries=2))
    for question in ("deadline", "meeting", "deadline"):
        retriever.search(question, scope=JANE)
    stats = retriever.cache_stats()["results"]
    assert (stats.hits, stats.misses, stats.entries, stats.hit_rate) == (1, 2, 2, pytest.approx(1 / 3))
    assert not retriever.search("deadline", scope=JANE, anew=True).cached
    assert retriever.cache_stats()["results"].hits == 1  # the cache was bypassed
    retriever.search("other", scope=JANE)  # evicts the meeting, the least recently used
    assert retriever.search("deadline", scope=JANE).cached
    assert not retriever.search("meeting", scope=JANE).cached
    assert retriever.cache_stats()["results"].entries == 2


def test_row_16_what_is_written_while_the_embedder_is_away_is_kept_and_embedded_later(path: Path) -> None:
    class Away:
        dim, name, up = 2, "away", False

        def embed_documents(self, texts: list[str]) -> Any:
            if not self.up:
                raise ConnectionError("no route")
            return [[1.0, 0.0]] * len(texts)

        def embed_query(self, text: str) -> Any:
            return self.embed_documents([text])[0]

    embedder = Away()
    with Memory.open(path, embedder) as memory:
        assert memory.propose("The deadline for Q1 is March 15th", scope=JANE, source="r").status == "written"
        memory.index.upsert("n1", "The deadline for Q2 is June 15th", scope=JANE)
        found = memory.recall("deadline", JANE)
        assert len(found) == 2 and found.degraded
        embedder.up = True
        memory.documents.admin.backfill(progress=False)
        memory.index.admin.backfill(progress=False)
        assert memory.recall("deadline", JANE).mode == "hybrid"
        assert memory.index.admin.stats()["pending"] == memory.documents.admin.stats()["pending"] == 0


# ---------------------------------------------------------------------- seed 003


def test_row_17_the_value_of_a_policy_is_an_object(memory: Memory) -> None:
    for key, value, type in (
        ("refund_threshold", {"max_auto_approve_usd": 500}, "approval"),
        ("data_residency", {"allowed_regions": ["us-east-1"]}, "compliance"),
        ("tone_guardrail", {"forbidden_phrases": ["risk-free"]}, "guardrail"),
    ):
        memory.policy(key, value, tenant="acme", type=type, by="legal")
    known = memory.known(JANE)
    assert known.policy("refund_threshold").value["max_auto_approve_usd"] == 500
    assert known["data_residency"].value == {"allowed_regions": ["us-east-1"]}
    assert known["tone_guardrail"].type == "guardrail" and "risk-free" in known["tone_guardrail"].text


def test_row_18_a_global_policy_holds_for_every_tenant(memory: Memory) -> None:
    memory.admin.global_policy("disclaimer", "No legal advice.", by="operations")
    assert (
        memory.known(GLOBEX)["disclaimer"].text == memory.known(JANE)["disclaimer"].text == "No legal advice."
    )


def test_row_19_the_value_of_a_preference_is_any_json(memory: Memory) -> None:
    memory.prefer("page_size", 25, scope=JANE)
    memory.prefer("privacy", {"allow_personalization": True}, scope=JANE)
    memory.prefer("response_format", "json", scope=JANE)
    known = memory.known(JANE)
    assert known["page_size"].value == 25 and known["response_format"].value == "json"
    assert known["privacy"].value == {"allow_personalization": True}


def test_row_20_a_preference_of_a_whole_tenant(memory: Memory) -> None:
    candidate = PreferenceCandidate("date_format", "DD/MM/YYYY", source="inferred", confidence=0.85)
    assert memory.propose(candidate, scope=ACME, source="r").status == "written"
    assert memory.known(JOE)["date_format"].text == "DD/MM/YYYY"
    memory.prefer("date_format", "ISO", scope=JANE)  # a user's own preference overrides it
    assert [memory.known(who)["date_format"].text for who in (JANE, JOE)] == ["ISO", "DD/MM/YYYY"]


def test_row_21_the_facts_about_a_subject(memory: Memory) -> None:
    for text, subject, predicate in (
        ("Jane sails", "Jane", "hobby"),
        ("Jane lives in Oslo", "Jane", "lives in"),
        ("Ann rows", "Ann", "hobby"),
    ):
        memory.propose(FactCandidate(text, subject, predicate), scope=JANE, source="r")
    assert [fact.text for fact in memory.list(JANE, subject="Jane")] == ["Jane sails", "Jane lives in Oslo"]
    assert memory.recall("sails rows", JANE, filter={"subject": "Ann"}).texts == ["Ann rows"]


def test_row_22_a_policy_and_a_preference_decide_what_is_recalled(memory: Memory) -> None:
    memory.policy("fact_retrieval", {"min_confidence": 0.9}, tenant="acme", by="legal")
    memory.prefer("personalization", {"allow_personalization": True}, scope=JANE)
    memory.prefer("personalization", {"allow_personalization": False}, scope=JOE)
    for scope in (JANE, JOE):
        sure = FactCandidate("ships to Oslo", "Jane", "ships to", confidence=0.95)
        unsure = FactCandidate("ships to Bergen, perhaps", "Jane", "ships to", confidence=0.75)
        memory.propose_all([(sure, scope, "r"), (unsure, scope, "r")])

    def facts(scope: Scope) -> list[str]:
        known = memory.known(scope)
        if not known["personalization"].value["allow_personalization"]:
            return []
        least = known["fact_retrieval"].value["min_confidence"]
        return memory.recall("ships", scope, filter={"confidence": {"$gte": least}}).texts

    assert facts(JANE) == ["ships to Oslo"] and facts(JOE) == []


def test_row_23_only_a_contradiction_supersedes(memory: Memory) -> None:
    said = """likes|Jane likes tea.
allergic to|Jane is allergic to peanuts.
allergic to|Jane is allergic to penicillin.
has child|Jane has a son, Tom, born 2015.
has child|Jane has a daughter, Mia, born 2018.
speaks|Jane speaks German.
speaks|Jane speaks French.
takes|Jane takes ibuprofen for migraines.
takes|Jane takes vitamin D daily.
lives in|Jane lives in Berlin.
lives in|Jane lives in Oslo.""".split("\n")
    for number, line in enumerate(said):
        predicate, _, content = line.partition("|")
        candidate = FactCandidate(content, "Jane", predicate, 0.95)
        memory.propose(candidate, scope=JANE, source=f"run{number}")
    held = {fact.text for fact in memory.list(JANE, kinds=["fact"])}
    assert held == {line.partition("|")[2] for line in said} - {"Jane lives in Berlin."}


def test_row_24_a_late_old_fact_takes_its_place_in_the_past(memory: Memory) -> None:
    memory.propose(FactCandidate("Jane lives in Oslo", "Jane", "lives in"), scope=JANE, source="r")
    then = datetime(2019, 6, 1, tzinfo=timezone.utc)
    late = FactCandidate("In 2019 Jane lived in Berlin", "Jane", "lives in")
    memory.propose(late, scope=JANE, source=Provenance("import", at=then))
    assert [fact.text for fact in memory.list(JANE)] == ["Jane lives in Oslo"]
    assert memory.recall("where lived Jane?", JANE, as_of=then).texts == ["In 2019 Jane lived in Berlin"]
    assert len(memory.history("Jane", "lives in", JANE)) == 2


def test_row_25_a_superseded_fact_is_an_event_for_projections(memory: Memory) -> None:
    seen: list[tuple[str, str | None, str | None]] = []
    memory.feed.on_change(lambda event: seen.append((event.action, event.record, event.detail)), scope=JANE)
    cursor = memory.feed.cursor
    first, second = (
        memory.propose(FactCandidate(f"Jane lives in {city}", "Jane", "lives in"), scope=JANE, source="r")
        for city in ("Bergen", "Oslo")
    )
    assert ("superseded", first.id, second.id) in seen
    told = [(event.action, event.record, event.detail) for event in memory.feed.changes(cursor, scope=JANE)]
    assert told == seen  # and a projection that was offline reads it from its cursor


def test_row_26_a_fact_of_the_tenant_needs_two_independent_sources(memory: Memory) -> None:
    fact = FactCandidate("Acme's production database is in us-east-1", "Acme", "database region")
    for run in ("made-up-1", "made-up-2"):
        memory.propose(fact, scope=ACME, source=run)
    assert memory.recall("production database", JOE).texts == []
    for who in (JANE, JOE):
        memory.propose(fact, scope=who, source="r")
    assert memory.recall("production database", Scope("acme", user="ann")).texts == [fact.content]
    other = FactCandidate("Acme Corp ships on Fridays", "Acme Corp", "ships")
    refused = memory.propose(other, scope=ACME, source="r")  # the subject is not the tenant
    assert refused.status == "rejected" and "subject" in refused.reason


def test_row_27_a_prompt_says_whose_fact_holds(memory: Memory) -> None:
    def said(when: str, scope: Scope) -> str:
        fact = FactCandidate(f"Acme's fiscal year starts {when}", "acme", "fiscal year start", single=True)
        return memory.propose(fact, scope=scope, source="r").id or ""

    memory.confirm(said("April 1", ACME), by="cfo", scope=ACME)
    said("July 1", JANE)
    prompt = memory.assemble("when does the fiscal year start?", JANE, floor="none").text
    (shared,) = [
        line for line in prompt.splitlines() if line.startswith("- Acme's fiscal year starts April 1")
    ]
    (own,) = [line for line in prompt.splitlines() if line.startswith("- Acme's fiscal year starts July 1")]
    assert "[does not hold here: " in shared and "July 1" in shared and "does not hold here" not in own


def test_row_28_an_episode_has_title_completion_and_artifacts(memory: Memory) -> None:
    done = EpisodeCandidate(
        "Rotated the webhook secret and redeployed.", "resolved", "support_case", ["Compared both secrets"],
        {"ticket": "T-17", "files": ["a.pdf"]}, title="Webhook signature mismatch",
        completed_at="2026-03-01T09:30:00Z",
    )  # fmt: skip
    memory.propose(done, scope=ACME, source="r")
    record: Any = memory.recall("webhook secret", JOE, kinds=["episode"])[0].record
    assert record.title == "Webhook signature mismatch" and record.artifacts["ticket"] == "T-17"
    assert record.completed_at == datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)


def test_row_29_traces_are_searched_by_their_text_and_hold_costs(memory: Memory) -> None:
    with memory.session(JANE, "run_a1b2c3") as session:
        session.user("Refund order 4711, please")
        session.model("Refunded.", data={"token_cost": 4643, "latency_ms": 830})
    ((run, event),) = memory.admin.find_in_traces("order 4711", JANE)
    assert (run, event.turn, event.kind) == ("run_a1b2c3", 1, "user")
    events = memory.replay("run_a1b2c3", JANE).events
    assert events[-1].data == {"token_cost": 4643, "latency_ms": 830}
    assert memory.recall("order 4711", JANE).texts == []  # never ranked among memories
    forensic = indexed([event.content for event in events])  # ranking a run takes an index of its own
    assert forensic.search("which order?", scope=JANE).texts == ["Refund order 4711, please"]


def test_row_30_the_trace_envelope_of_a_turn(memory: Memory) -> None:
    memory.prefer("verbosity", "terse", scope=JANE)
    memory.propose("The staging database is in eu-central", scope=JANE, source="r")
    with memory.session(JANE, "run_a1b2c3") as session:
        session.user("Where is the staging database?")
        prompt = session.assemble()
        model = {"model": "llm_model_id", "input_tokens": 4231, "output_tokens": 412}
        session.model("In eu-central.", data={"model_call": model})
        kept = session.propose(FactCandidate("Jane asked for staging", "Jane", "asked for", 0.82))
        session.propose(FactCandidate("Jane likes tea, I guess", "Jane", "likes", 0.4))

    run = memory.replay("run_a1b2c3", JANE)
    shown = next(event for event in run.events if event.kind == "prompt")
    facts = [one["id"] for one in shown.data["envelope"]["retrieved"] if one["kind"] == "fact"]
    envelope = {
        "run_id": run.run_id,
        "turn_index": shown.turn,
        "tenant_id": run.scope.tenant,
        "user_id": run.scope.user,
        "retrieval": {
            "facts_returned": facts,
            "preferences_applied": [piece[3] for piece in shown.data["pieces"]["preferences"]],
            "retrieval_mode": shown.data["envelope"]["mode"],
        },
        "model_call": next(event for event in run.events if event.kind == "model").data["model_call"],
        "promotions": [
            *((fact.id, fact.confidence, fact.status) for fact in memory.list(JANE, run="run_a1b2c3")),
            *((None, one.content, "rejected") for one in memory.rejections(JANE) if one.run == "run_a1b2c3"),
        ],
    }
    assert envelope == {
        "run_id": "run_a1b2c3",
        "turn_index": 1,
        "tenant_id": "acme",
        "user_id": "jane",
        "retrieval": {
            "facts_returned": list(prompt.ids("memories")),
            "preferences_applied": ["verbosity"],
            "retrieval_mode": "lexical",
        },
        "model_call": model,
        "promotions": [(kept.id, 0.82, "active"), (None, "Jane likes tea, I guess", "rejected")],
    }


def test_row_31_a_floor_keeps_noise_out_of_prompts(path: Path) -> None:
    with Memory.open(path, scrubjay.embedders.default()) as memory:
        for text in KEYS:
            memory.propose(text, scope=JANE, source="r")
        query = Query(Production(weights=(0.6, 0.4), floor=0.4))
        found = memory.recall(ASKED, JANE, query=query)
        assert any("sk-stg-0041" in text for text in found.texts[:3]) and len(found) < len(KEYS)
        assert all(hit.score >= 0.4 * 0.4 for hit in found)
        either: tuple[dict[str, Any], ...] = ({}, {"query": query})
        for options in either:
            assert "sk-stg-0041" in memory.assemble(ASKED, JANE, **options).text
            nonsense = memory.assemble("zebra ballet quantum", JANE, **options)
            assert nonsense.ids("memories") == () and nonsense.trace.tokens["total"] == 0


def test_row_32_the_model_is_told_the_tier_and_the_date(memory: Memory) -> None:
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    memory.propose("Jane lives in Oslo", scope=JANE, source=Provenance("r", at=at))
    prompt = memory.assemble("where does Jane live? Oslo?", JANE).text
    assert re.search(r"Jane lives in Oslo \(since 2026-03-01; (high|standard|low)\)", prompt)


def test_row_33_sensitivity_retention_and_legal_hold(memory: Memory) -> None:
    said = FactCandidate(
        "Jane's number is +47123", sensitivity="personal", ttl=timedelta(days=30),
        metadata={"retention_policy": "gdpr-30"},
    )  # fmt: skip
    id = memory.propose(said, scope=JANE, source="r").id
    assert memory.recall("Jane's number", JANE, without=["personal"]).texts == []
    found: Any = memory.recall("Jane's number", JANE, filter={"retention_policy": "gdpr-30"})[0].record
    assert abs(found.expires_at - found.created_at - 30 * DAY) < timedelta(seconds=9)
    assert found.sensitivity == "personal"
    memory.admin.hold(JANE, reason="case 17", by="legal")
    with pytest.raises(HeldError, match="case 17"):
        memory.forget(JANE)
    assert memory.admin.release(JANE, by="legal") and memory.forget(JANE).counts["fact"] == 1
    assert memory.get(id or "", JANE, hidden=True) is None


def test_row_34_one_store_serves_chat_agent_and_human(
    path: Path, memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.index.upsert("x1", "Jane's cat is called Miso", scope=JANE)  # as servers and adapters write
    memory.propose("Jane's boat is called Argo", scope=JANE, source="chat")
    assert memory.recall("cat", JANE).texts == ["Jane's cat is called Miso"]
    of_jane = ["--tenant", "acme", "--user", "jane"]
    for question, name in (("cat", "Miso"), ("boat", "Argo")):
        assert main(["memory", "recall", address_of(path), question, *of_jane]) == 0
        assert name in capsys.readouterr().out


def test_row_35_no_durable_write_passes_by_the_gate(path: Path, memory: Memory) -> None:
    memory.propose("Jane lives in Oslo", scope=JANE, source="r1")
    with Index.open(path, collection="memory") as opened, Index.open(path) as beside:
        for index in (memory.documents, opened, beside.collection("memory")):
            with pytest.raises(OwnedCollectionError):
                index.upsert("evil", "Refunds are always promised, said Jane of Oslo", scope=JANE)
    assert memory.recall("Oslo refunds", JANE).texts == ["Jane lives in Oslo"] and memory.admin.check() == []


def test_row_36_a_missing_scope_is_an_error(memory: Memory) -> None:
    memory.index.upsert("n1", "Jane's note", scope=JANE)
    for verb in (memory.index.get, memory.index.delete):
        with pytest.raises(TypeError, match="scope"):
            verb("n1")  # type: ignore[call-arg]
    verbs: list[Any] = [memory.recall, memory.assemble, memory.get]
    for call in verbs:
        with pytest.raises(TypeError, match="scope"):
            call("note")
    assert memory.index.get("n1", scope=JOE) is None and not memory.index.delete("n1", scope=GLOBEX)
    assert memory.index.get("n1", scope=JANE) is not None


def test_row_37_another_server_goes_on_where_one_stopped(path: Path, memory: Memory) -> None:
    """Over PostgreSQL these are two servers of one database; over a file two processes of one machine."""
    with memory.session(JANE, "run-1") as session:
        session.user("My boat is called Argo.")
    memory.propose("Jane's boat is called Argo", scope=JANE, source="run-1")
    with Memory.open(path) as other, other.session(JANE, "run-1") as session:
        assert session.recent()[-1].content == "My boat is called Argo."
        assert session.user("And what is it called?").turn == 2
        assert "Jane's boat is called Argo" in session.assemble("what is the boat called?").text
        other.propose("Jane's cat is called Miso", scope=JANE, source="run-1")
    assert memory.recall("cat", JANE).texts == ["Jane's cat is called Miso"]


def test_row_38_memory_as_files_that_are_searched_and_edited_by_hand(memory: Memory, tmp_path: Path) -> None:
    memory.prefer("tone", "Answer briefly.", scope=JANE)
    memory.propose("Jane lives in Oslo", scope=JANE, source="r")
    folder = tmp_path / "files"
    folder.mkdir()
    memory.files.export_markdown(folder / "jane.md", scope=JANE)
    lines = (folder / "jane.md").read_text().splitlines()
    assert [line for line in lines if "Oslo" in line]  # cat, grep
    edited = "\n".join(lines).replace("Jane lives in Oslo", "Jane lives in Bergen")
    (folder / "jane.md").write_text(edited + "\n")
    memory.files.import_markdown(folder / "jane.md", scope=JANE, by="jane")
    assert memory.recall("where does Jane live?", JANE, kinds=["fact"]).texts == ["Jane lives in Bergen"]
    (folder / "notes.md").write_text("# Boat\n\nThe boat is called Argo.\n")
    memory.ingest(folder / "notes.md", scope=JANE)
    assert any("Argo" in text for text in memory.recall("boat", JANE).texts)


# ---------------------------------------------------------------------- seed 004


def test_row_39_keywords_for_the_words_and_a_search_query_for_the_meaning() -> None:
    embedded: list[str] = []

    def embed(texts: list[str]) -> Any:
        embedded.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    index = indexed(["She likes tea.", "Oslo trip: two nights.", "Jane travels a lot."], embedder=embed)
    answer = {
        "keywords": ["Oslo", "trip"],
        "searchQuery": "Jane travels to Norway",
    }  # the course's model answers this
    retriever = Retriever(index, lambda question: answer, query=Query(RRF()))
    embedded.clear()
    found = {hit.id: hit for hit in retriever.search("where to?", scope=JANE)}
    assert embedded == ["where to?", "Jane travels to Norway"]
    assert found[1].lexical_rank == 1 and 1 in found[1].queries
    assert found[2].lexical_rank is None  # the search query is used for its meaning only


def test_row_40_the_rewriter_reads_the_history_of_the_messages(memory: Memory, path: Path) -> None:
    seen: list[str] = []

    def reword(question: str, conversation: Conversation) -> dict[str, Any]:
        seen.append(f"Conversation history: {conversation}")
        return {"keywords": ["Oslo"], "searchQuery": "the trip to Oslo"}

    rewriter: Any = reword
    memory.propose("The hotel in Oslo is the Grand", scope=JANE, source="r")
    messages = [
        {"role": "user", "content": "I fly to Oslo on Friday."},
        {"role": "assistant", "content": "Have a good trip!"},
        {"role": "user", "content": "Which hotel was it?"},
    ]
    with Memory.open(path, retriever=lambda index: Retriever(index, rewriter)) as other:
        prompt = other.assemble("Which one was it?", JANE, turns=messages, floor="none")
    assert "the Grand" in prompt.text
    assert "user: I fly to Oslo on Friday.\nassistant: Have a good trip!" in seen[0]


def test_row_41_memories_in_the_prompt_with_id_and_date(memory: Memory) -> None:
    id = memory.propose("Jane prefers trains to planes", scope=JANE, source="r").id

    def formatted(hit: Any) -> str:
        return f"{hit.text} (ID: {hit.id}, created: {hit.record.created_at.isoformat()})"

    prompt = memory.assemble("trains or planes?", JANE, line=formatted, k=10).text
    created: Any = memory.get(id or "", JANE)
    assert f"- Jane prefers trains to planes (ID: {id}, created: {created.created_at.isoformat()})" in prompt

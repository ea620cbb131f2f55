"""Ten sessions of a real conversation, end to end: correct preferences, facts and superseded facts, and an erased user.

Both speakers are users of one tenant; each remembers the conversation for themselves. The extractor is scripted: it
looks for a few phrases, and takes what it needs (dates above all) from the stabilised text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scrubjay import Scope, embedders
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate
from scrubjay.memory.intake.extractors import SourcedCandidate
from scrubjay.memory.intake.transcripts import Transcript
from scrubjay.memory.model.candidates import Candidate

TENANT = "locomo"
CAROLINE, MELANIE = Scope(TENANT, user="Caroline"), Scope(TENANT, user="Melanie")
N_SESSIONS = 10


@dataclass(frozen=True)
class Rule:
    """The candidate for a speaker's text that matches `pattern`; {when} is the first date after the match."""

    speaker: str
    pattern: str
    make: Callable[[str], Candidate]


def fact(speaker: str, pattern: str, predicate: str, content: str) -> Rule:
    """Return a rule for facts; statements about an ongoing matter supersede earlier ones."""
    single = predicate in ("career", "adoption", "conference")
    return Rule(
        speaker,
        pattern,
        lambda when: FactCandidate(content.format(when=when), speaker, predicate, single=single),
    )


DATE = r".*?\((?:week of )?(?P<when>\d{4}(?:-\d\d){0,2})\)"
RULES = [
    fact(
        "Caroline",
        rf"support group yesterday{DATE}",
        "support group",
        "Caroline went to a support group on {when}.",
    ),
    fact("Caroline", r"keen on counseling", "career", "Caroline considers a career in counseling."),
    fact("Caroline", r"working with trans people", "career", "Caroline wants to counsel trans people."),
    fact("Caroline", r"Researching adoption agencies", "adoption", "Caroline researches adoption agencies."),
    fact(
        "Caroline",
        rf"Last Friday{DATE} I went to a council meeting for adoption",
        "adoption",
        "Caroline went to a council meeting for adoption on {when}.",
    ),
    fact("Caroline", r"my home country, Sweden", "home country", "Caroline comes from Sweden."),
    fact("Caroline", r"learning the piano", "instrument", "Caroline learns the piano."),
    fact(
        "Caroline",
        r"going to a transgender conference this month",
        "conference",
        "Caroline plans a conference.",
    ),
    fact(
        "Caroline",
        rf"went to an LGBTQ conference{DATE}",
        "conference",
        "Caroline went to a conference on {when}.",
    ),
    fact(
        "Caroline",
        rf"LGBTQ activist group last Tues{DATE}",
        "group",
        "Caroline joined an activist group on {when}.",
    ),
    Rule("Caroline", r"Blue's my fave", lambda _: PreferenceCandidate("colour", "Favourite colour: blue.")),
    Rule(
        "Caroline",
        r"joined a mentorship program",
        lambda _: EpisodeCandidate("Joined a mentorship program.", "done"),
    ),
    Rule(
        "Caroline", r"Mental health is", lambda _: FactCandidate("Somebody may value health.", confidence=0.3)
    ),
    fact(
        "Melanie",
        rf"painted that lake sunrise last year{DATE}",
        "painting",
        "Melanie painted a sunrise in {when}.",
    ),
    fact("Melanie", r"Luna and Oliver", "pets", "Melanie's pets are Luna and Oliver."),
    fact("Melanie", rf"pottery class yesterday{DATE}", "pottery", "Melanie signed up for pottery on {when}."),
    Rule("Melanie", r"carving out some me-time", lambda _: PreferenceCandidate("daily", "Me-time each day.")),
]


def extract(transcript: Transcript) -> Iterator[SourcedCandidate]:
    for said in transcript.utterances:
        for rule in RULES:
            match = re.search(rule.pattern, said.text, re.DOTALL)
            if match and said.kind == "user" and said.author == rule.speaker:
                yield SourcedCandidate(rule.make(match.groupdict().get("when", "")), said.seq)


def sessions(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the turns of the conversation's first ten sessions, each with author, text and time."""
    read: dict[str, list[dict[str, str]]] = {}
    with (folder / "locomo_dev" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            meta = row["meta"]
            if meta["scope"] == "conv-26" and int(meta["session"].rpartition("_")[2]) <= N_SESSIONS:
                text = row["text"].removeprefix(f"{meta['speaker']}: ")
                read.setdefault(meta["session"], []).append(
                    {"author": meta["speaker"], "content": text, "at": meta["ts"]}
                )
    assert len(read) == N_SESSIONS
    return read


def live_through(memory: Memory, session: str, turns: list[dict[str, str]], scope: Scope) -> None:
    """Run one session of one user: append the turns to the trace, make prompts on the way, and distil it."""
    with memory.session(scope, session) as run:
        for turn in turns:
            run.append("user" if turn["author"] == scope.user else "model", **turn)
            if turn["author"] == scope.user and "?" in turn["content"]:
                made = run.assemble(budget_tokens=600)
                assert made.trace.tokens["total"] <= 600
                assert made.text.startswith("# Policies (always follow)\n- kindness: Be kind.\n")
    memory.distil(session, extract, scope=scope)


def contents(memory: Memory, scope: Scope, *, hidden: bool = False) -> set[str]:
    return {record.content for record in memory.list(scope, kinds=("fact",), hidden=hidden)}


@pytest.fixture(scope="module")
def folder(judged_data: Path) -> Path:
    if not (judged_data / "locomo_dev").is_dir():
        pytest.skip(f"the conversations are absent: {judged_data / 'locomo_dev'} (set SCRUBJAY_DATA)")
    return judged_data


def test_ten_sessions_are_distilled_recalled_and_forgotten_in_one_file(
    folder: Path, tmp_path: Path, store: str
) -> None:
    path = tmp_path / "memory.scrubjay"
    turns = sessions(folder)
    for number, (session, said) in enumerate(turns.items()):
        # Each session opens the file again, as another process would.
        with Memory.open(path, embedders.default(), durability="normal") as memory:
            if number == 0:
                memory.policy("kindness", "Be kind.", tenant=TENANT, by="admin")
            for scope in (CAROLINE, MELANIE):
                live_through(memory, session, said, scope)

    with Memory.open(path, embedders.default(), durability="normal") as memory:
        _right_memories(memory)
        _right_prompts(memory)
        _distilled_once(memory)
        _replayed(memory, turns)
        _taken_back(memory)
        _forgotten(memory, turns, in_file=store == "file")


def _right_memories(memory: Memory) -> None:
    assert contents(memory, CAROLINE) == {
        "Caroline went to a support group on 2023-05-07.",
        "Caroline wants to counsel trans people.",
        "Caroline went to a council meeting for adoption on 2023-07-14.",
        "Caroline comes from Sweden.",
        "Caroline learns the piano.",
        "Caroline went to a conference on 2023-07-10.",
        "Caroline joined an activist group on 2023-07-18.",
    }
    superseded = contents(memory, CAROLINE, hidden=True) - contents(memory, CAROLINE)
    assert superseded == {
        "Caroline considers a career in counseling.",
        "Caroline researches adoption agencies.",
        "Caroline plans a conference.",
    }
    assert contents(memory, MELANIE) == {
        "Melanie painted a sunrise in 2022.",
        "Melanie's pets are Luna and Oliver.",
        "Melanie signed up for pottery on 2023-07-02.",
    }
    assert [one.text for one in memory.known(CAROLINE).preferences] == ["Favourite colour: blue."]
    assert [one.text for one in memory.known(MELANIE).preferences] == ["Me-time each day."]
    (episode,) = memory.list(CAROLINE, kinds=("episode",))
    assert episode.text == "Joined a mentorship program." and episode.provenance.run == "session_9"
    adoption = memory.recall("adoption", CAROLINE)[0]
    why = memory.why(adoption.id, scope=CAROLINE)
    assert why is not None and (why.provenance.run, why.provenance.author) == ("session_8", "Caroline")
    (old,) = why.supersedes
    known = memory.why(old, scope=CAROLINE)
    assert known is not None and known.provenance.run == "session_2" and known.superseded_by == adoption.id


def _right_prompts(memory: Memory) -> None:
    """Prompts contain what real questions of the set need, and no superseded facts or those of another user."""
    for question, needed in (
        ("When did Caroline go to the adoption meeting?", "2023-07-14"),
        ("When did Caroline go to the LGBTQ support group?", "2023-05-07"),
        ("Where did Caroline move from 4 years ago?", "Sweden"),
        ("When did Caroline go to the LGBTQ conference?", "2023-07-10"),
        ("What career path has Caroline decided to persue?", "counsel trans people"),
        ("When did Caroline join a mentorship program?", "mentorship"),
    ):
        made = memory.assemble(question, CAROLINE, 400)
        assert needed in made.text, question
        assert "blue" in made.prefix and "Be kind." in made.prefix
        for gone in (
            "considers a career",
            "researches adoption",
            "plans a conference",
            "Melanie",
            "Me-time",
        ):
            assert gone not in made.text


def _distilled_once(memory: Memory) -> None:
    before = contents(memory, CAROLINE, hidden=True)
    for scope in (CAROLINE, MELANIE):
        for session in memory.runs(scope):
            assert not memory.distil(session, extract, scope=scope).fresh
    assert contents(memory, CAROLINE, hidden=True) == before


def _replayed(memory: Memory, turns: dict[str, list[dict[str, str]]]) -> None:
    n_prompts = 0
    for session in memory.runs(CAROLINE):
        replay = memory.replay(session, CAROLINE)
        said = [event.content for event in replay.events if event.kind != "prompt"]
        assert said == [turn["content"] for turn in turns[session]]
        n_prompts += len(replay.prompts())
        assert all(one.faithful for one in replay.prompts())
    assert n_prompts > 20


def _taken_back(memory: Memory) -> None:
    with memory.session(CAROLINE, "session_11") as run:
        run.user("I'm just learning the piano. And Blue's my fave.", author="Caroline")
        run.user("Scratch that.", author="Caroline")
    assert memory.distil("session_11", extract, scope=CAROLINE).outcomes == ()


def _forgotten(memory: Memory, turns: dict[str, list[dict[str, str]]], *, in_file: bool) -> None:
    mine, known = contents(memory, CAROLINE), memory.known(CAROLINE)
    runs = memory.runs(CAROLINE)
    forgotten = memory.forget(MELANIE, by="Melanie")
    assert forgotten.counts["fact"] == 3 and forgotten.counts["preference"] == 1
    assert forgotten.counts["trace"] >= sum(map(len, turns.values()))
    memory.admin.compact()
    texts = ["Melanie signed up for pottery on 2023-07-02.", "Me-time each day."]
    proof = memory.admin.verify_erased(MELANIE, texts)
    assert proof.clean and proof.files is not None, proof
    assert proof.files.proof == ("bytes" if in_file else "rows")
    assert memory.runs(MELANIE) == [] and memory.list(MELANIE, kinds=("fact", "preference", "episode")) == []
    assert memory.assemble("Which pets?", MELANIE).ids("memories") == ()
    assert len(memory.recall("pottery pets painting", MELANIE)) == 0
    # Other users lost nothing.
    assert (contents(memory, CAROLINE), memory.known(CAROLINE), memory.runs(CAROLINE)) == (mine, known, runs)
    assert memory.index.admin.check().clean and memory.documents.admin.check().clean

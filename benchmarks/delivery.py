"""Delivery of rules to prompts: preferences and instructions looked up by key, against searching for them.

The judged cases are constructed over real conversations, so that the needed rule is known:

    paraphrase    ident_dev: the set's own preference questions ("can I suggest salty snacks?") with the one preference
                  that each needs, hidden among a thousand real turns of the user
    triggered     locomo_dev, lme_user_dev: rules for a kind of question ("give dates as year-month-day" for questions
                  that begin with "when"), needed by every real question of that kind
    standing      the same questions: rules for every answer ("at most three sentences"), needed by all of them

Each rule is stored among the real turns of its user. `assemble` gets the rules as policies and preferences and the
turns as facts; the search gets the same rules and turns as documents, and delivers a rule if it is among the k best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.judged import JudgedSet
from scrubjay import Index, Query, Scope
from scrubjay.memory import FactCandidate, Memory

TENANT = "judged"
BUDGET_TOKENS = 2000
MODES = {"hybrid": Query(), "vector": Query(mode="vector"), "lexical": Query(mode="lexical")}

# Rules for a kind of question: a pattern of the questions, and the rule.
TRIGGERED = {
    "dates": (r"^when\b|what (date|day)", "Write every date as year-month-day."),
    "quantities": (r"^how (many|much|long|far|old)\b", "State numbers in digits, measures in metric units."),
    "lists": (r"^what .*\b(s|things|activities|events|items|books)\b", "Lists are bulleted, alphabetical."),
    "places": (r"^where\b", "Add the country in brackets after a city."),
    "reasons": (r"^why\b", "Say how certain you are, from one to five."),
    "people": (r"^who\b|'s (name|relationship)", "Use surnames only if asked to."),
    "advice": (r"\b(suggest|recommend|advice|should)\b", "Offer exactly two options, the cheaper one first."),
    "guesses": (r"^(would|could|might|is it likely)\b", "Mark speculation with the word perhaps."),
}
# Rules for every answer; the tenant's are policies.
STANDING = {
    "length": "Answer in at most three sentences.",
    "language": "Use British spelling.",
    "emoji": "No emoji.",
    "address": "Call me Doc.",
}
POLICIES = {
    "privacy": "Never repeat a telephone number or postal address.",
    "medicine": "No dosage of any drug; refer to a pharmacist.",
    "sources": "Name the session in which something was said.",
}


@dataclass(frozen=True)
class Case:
    """A question and the rule that its answer needs."""

    group: str
    scope: str
    question: str
    rule: str


@dataclass(frozen=True)
class User:
    """A user's real turns, and the user's rules: preferences by key, policies by key."""

    scope: str
    turns: list[str]
    preferences: dict[str, str]
    policies: dict[str, str]


def cases_of(folder: Path) -> tuple[list[User], list[Case]]:
    """Return the users and cases of every set in the folder."""
    users: list[User] = []
    cases: list[Case] = []
    for name, read in (("ident_dev", _paraphrased), ("locomo_dev", _ruled), ("lme_user_dev", _ruled)):
        if (folder / name / "corpus.jsonl").is_file():
            for user, some in read(JudgedSet(folder / name)):
                users.append(user)
                cases += some
    return users, cases


def _paraphrased(judged: JudgedSet) -> Iterator[tuple[User, list[Case]]]:
    """Yield the set's own preference questions; memories that one of them needs become preferences, others turns."""
    texts = {memory.id: memory for memory in judged.memories}
    questions = [query for query in judged.queries if query.category == "paraphrase"]
    for scope in sorted({query.scope for query in questions}):
        own = [query for query in questions if query.scope == scope]
        wanted = {id: texts[id].text for query in own for id in sorted(query.relevant)}
        turns = [
            memory.text for memory in judged.memories if memory.scope == scope and memory.id not in wanted
        ]
        user = User(
            scope, turns, {f"about {number}": text for number, text in enumerate(wanted.values())}, {}
        )
        yield (
            user,
            [
                Case("paraphrase", scope, query.text, wanted[id])
                for query in own
                for id in sorted(query.relevant)
            ],
        )


def _ruled(judged: JudgedSet) -> Iterator[tuple[User, list[Case]]]:
    """Yield the real questions of a set with rules written for them."""
    for scope in sorted({query.scope for query in judged.queries}):
        turns = [memory.text for memory in judged.memories if memory.scope == scope]
        rules = {key: text for key, (_, text) in TRIGGERED.items()}
        some = []
        for query in judged.queries:
            if query.scope != scope:
                continue
            for pattern, text in TRIGGERED.values():
                if re.search(pattern, query.text, re.IGNORECASE):
                    some.append(Case("triggered", scope, query.text, text))
            some += [
                Case("standing", scope, query.text, text) for text in (*STANDING.values(), *POLICIES.values())
            ]
        yield User(scope, turns, {**rules, **STANDING}, POLICIES), some


def delivered(
    users: Sequence[User], cases: Sequence[Case], embedder: Any, folder: Path, k: int = 10
) -> dict[str, dict[str, float]]:
    """Return by group the number of cases, and the fraction whose rule `assemble` and each search delivers."""
    index = Index(embedder)
    found: dict[str, dict[str, float]] = {}
    with Memory.open(folder / "delivery.scrubjay", embedder, durability="normal") as memory:
        for user in users:
            _remember(memory, user)
            texts = dict.fromkeys([*user.turns, *user.preferences.values(), *user.policies.values()])
            records = [{"id": f"{user.scope}/{number}", "text": text} for number, text in enumerate(texts)]
            index.upsert_many(records, scope=Scope(TENANT, user=user.scope), progress=False)
        seen: dict[tuple[str, str], dict[str, Any]] = {}
        for case in cases:
            scope = Scope(TENANT, user=case.scope)
            answer = seen.get((case.scope, case.question))
            if answer is None:
                answer = seen[case.scope, case.question] = {
                    "assemble": memory.assemble(case.question, scope, BUDGET_TOKENS).text,
                    **{
                        f"{mode} search @{k}": {
                            hit.text for hit in index.search(case.question, scope=scope, k=k, query=query)
                        }
                        for mode, query in MODES.items()
                    },
                }
            row = found.setdefault(case.group, {"cases": 0.0, **dict.fromkeys(answer, 0.0)})
            row["cases"] += 1
            for name, text in answer.items():
                row[name] += case.rule in text
    for row in found.values():
        for name in row:
            if name != "cases":
                row[name] /= row["cases"]
    return found


def _remember(memory: Memory, user: User) -> None:
    scope = Scope(TENANT, user=user.scope)
    for key, text in user.policies.items():
        memory.policy(key, text, tenant=TENANT, by="benchmark")
    for key, text in user.preferences.items():
        memory.prefer(key, text, scope=scope)
    memory.propose_all([(FactCandidate(text), scope, "conversation") for text in user.turns if text.strip()])

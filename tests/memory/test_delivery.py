"""The rule that an answer needs is in every prompt; a search finds it rarely."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import delivery
from benchmarks.memory import speed

from scrubjay import embedders


def test_rules_are_delivered_where_a_search_finds_few(judged_data: Path, tmp_path: Path) -> None:
    """This is a sample; `python -m benchmarks.memory` counts all."""
    users, cases = delivery.cases_of(judged_data)
    groups = {case.group for case in cases}
    if groups != {"paraphrase", "triggered", "standing"}:
        pytest.skip(f"judged sets are absent: found cases of {sorted(groups)} only")
    ruled = {case.scope for case in cases if case.group == "triggered"}
    short = sorted((user for user in users if user.scope in ruled), key=lambda user: len(user.turns))[:6]
    chosen = [*(user for user in users if user.scope == "agent0"), *short]
    names = {user.scope for user in chosen}
    some = [case for case in cases if case.scope in names]
    found = delivery.delivered(chosen, some, embedders.default(), tmp_path)
    assert set(found) == groups
    for group, row in found.items():
        assert row["cases"] >= 5
        assert row["assemble"] == 1.0, group
        assert max(row["hybrid search @10"], row["lexical search @10"]) < 0.6, group


def test_the_benchmark_of_speed_runs() -> None:
    figures = speed(120, 10)
    assert figures["facts"] == 120 and figures["prompt tokens"] > 500
    assert {"assemble p95 us", "known p95 us", "assemble CPU p95 us"} <= figures.keys()


def test_benchmark_cases_are_built_from_the_judged_data(judged_data: Path) -> None:
    users, cases = delivery.cases_of(judged_data)
    by_scope = {user.scope: user for user in users}
    assert len(by_scope) == len(users), "a scope is of one set"
    for case in cases:
        user = by_scope[case.scope]
        assert case.rule in [*user.preferences.values(), *user.policies.values()]
        assert case.rule not in user.turns, "the rule is not among the turns as well"

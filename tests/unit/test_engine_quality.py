"""On real questions engine and oracle rank alike, and named identifiers are found. (Skipped without the data.)

The default run takes a part of each judged set, `--long` more of it; the profile `thorough` evaluates all of it, as
`python -m benchmarks.quality` does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quality import __main__ as quality
from benchmarks.quality import metrics, rankers
from benchmarks.quality.identifiers import REQUIRED_RANK, identifiers, named_identifiers
from benchmarks.quality.identifiers import SETS as IDENTIFIER_SETS
from benchmarks.quality.judged import SETS, JudgedSet

from tests.conftest import PROFILE
from tests.data.engines import Kit

N_QUERIES = 40
N_LONG = 200


def read(folder: Path, name: str) -> JudgedSet:
    if not (folder / name / "corpus.jsonl").is_file():
        pytest.skip(f"the judged set {name} is absent from {folder}")
    return JudgedSet(folder / name)


@pytest.mark.parametrize("name", SETS)
def test_engine_and_oracle_agree_on_a_part(kit: Kit, judged_data: Path, name: str) -> None:
    """Lexical rankings are the same; the figures of every ranking are equal to the third decimal."""
    if not kit.is_native:
        pytest.skip("this compares the native engine with the oracle")
    whole = read(judged_data, name)
    judged = whole.part({query.scope for query in whole.queries[:1]}, N_QUERIES)
    native = rankers.native_rankings(judged, lambda what: None)
    oracle = rankers.oracle_rankings(judged, lambda what: None)
    assert native["lexical"] == oracle["lexical"]
    for arm, _, _ in rankers.arms():
        given, expected = quality.figures(judged, native[arm]), quality.figures(judged, oracle[arm])
        assert quality.third_decimal(given) == quality.third_decimal(expected), arm


@pytest.mark.parametrize("name", IDENTIFIER_SETS)
def test_named_identifiers_are_found(kit: Kit, judged_data: Path, name: str) -> None:
    """For every query of the set that names a stored identifier, its memory is among the first three, by words
    alone."""
    if not kit.is_native:
        pytest.skip("too many queries for the model")
    judged = read(judged_data, name)
    engine = rankers.native_engine(judged, None)
    rankings = [
        list(engine.search(query.text, scope=rankers.native_scope(query.scope), k=10).ids)
        for query in judged.queries
    ]
    named = named_identifiers(judged, rankings)
    assert len(named) > 300
    assert [one.as_dict() for one in named if not 1 <= one.rank <= REQUIRED_RANK] == []
    assert sum(one.rank == 1 for one in named) >= 0.99 * len(named)


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_engine_and_oracle_agree(kit: Kit, judged_data: Path, name: str) -> None:
    if not kit.is_native:
        pytest.skip("this compares the native engine with the oracle")
    judged = read(judged_data, name)
    if PROFILE != "thorough":
        judged = judged.part({query.scope for query in judged.queries}, N_LONG)
    report = quality.evaluate(judged, with_native=True, with_oracle=True, progress=lambda what: None)
    assert quality.faults(report) == []


def test_metrics_by_hand() -> None:
    assert metrics.recall(["a", "b", "c"], {"a", "z"}) == 0.5
    assert metrics.recall(["x"] * 10 + ["a"], {"a"}) == 0.0
    assert metrics.ndcg(["a", "b"], {"a"}) == 1.0
    assert metrics.ndcg(["b", "a"], {"a"}) == pytest.approx(0.6309297535714575)
    assert metrics.ndcg(["a", "x", "b"], {"a", "b"}) == pytest.approx(1.5 / (1 + 0.6309297535714575))


def test_identifier_like_tokens() -> None:
    found = identifiers(
        "why is sk-stg-0041 of jane@acme.com in src/api/chat.ts, not (TS-999)? Well-known e.g. camelCase, v2.1."
    )
    assert found == ["sk-stg-0041", "jane@acme.com", "src/api/chat.ts", "TS-999", "e.g", "camelCase", "v2.1"]

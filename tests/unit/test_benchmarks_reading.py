"""The comparison of many hits and filters requests what it claims, and detects a wrong answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from benchmarks.compare import __main__ as compare
from benchmarks.compare import exact, lexical, reading, texts, workload
from benchmarks.micro import filters

from scrubjay.documents import payload
from tests.reference import filters as oracle


@pytest.fixture(autouse=True)
def scrubjay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "installed", lambda names: (["scrubjay"], list(names[1:])))
    monkeypatch.setattr(reading, "N_PASSES", 1)


def documents(n: int) -> reading.Documents:
    numbers, drawn = random.Random(3), workload.documents(texts.source(use_system=False), n)
    return reading.Documents(drawn, workload.terms_of(drawn), [filters.attributes(numbers) for _ in drawn])


def test_filters_of_peers_admit_the_documents_of_the_oracle() -> None:
    some = documents(300)
    columns = reading.Columns(some)
    for name in {name for name, _, _ in reading.ASKED} - {"none"}:
        filter = filters.FILTERS[name]
        held = [oracle.attributes_of(payload.encode(one, None)) for one in some.metadata]
        mask = columns.admitted(filter)
        assert mask is not None
        assert mask.tolist() == [oracle.admits(filter, attributes) for attributes in held]
        assert 0 < mask.sum() < 300
    assert columns.admitted(None) is None


def test_hits_columns_and_nothing_are_read_of_the_same_answer() -> None:
    some = documents(300)
    engine = reading.Scrubjay(some)
    question = workload.Query(" ".join(some.texts[7].split()[:6]), (), ())
    read = engine.read(question, 100, {"n": {"$lt": 0.5}})
    assert read == engine.columns(question, 100, {"n": {"$lt": 0.5}})
    assert len(read) == len(engine.unread(question, 100, {"n": {"$lt": 0.5}})) > 1
    assert all(text == some.texts[id] for id, _, text in read)


def test_the_quick_comparison_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.json"
    assert compare.main(["reading", "--quick", "--json", str(facts)]) == 0
    report = json.loads(facts.read_text())
    assert [(row["filter"], row["k"], row["kind"]) for row in report["rows"]] == list(reading.ASKED)
    assert [row["different"] for row in report["rows"]] == [0] * len(reading.ASKED)
    assert capsys.readouterr().out.count("\n|") == len(reading.ASKED) + 2


def test_a_wrong_answer_fails_the_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reading, "ASKED", reading.ASKED[:1])
    monkeypatch.setattr(exact, "best", lambda scores, k: np.argsort(scores)[:k])
    assert reading.main(["--quick"]) == 1
    assert "NOT EXACT" in capsys.readouterr().err

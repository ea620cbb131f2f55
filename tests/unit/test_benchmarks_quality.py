"""The table of rankings measures what it claims, and fails if the default is worse than its parts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.quality import offline_models, reranked, table, unseen
from benchmarks.quality.judged import VECTOR_SETS

WORDS = ["oak", "jay", "acorn", "winter", "feather", "river", "stone", "cloud"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set with the name of a real one: each question's answer is near it and shares a word with it."""
    folder = tmp_path / "locomo_dev"
    folder.mkdir()
    rng = np.random.default_rng(0)
    n = 20  # the number that is reranked
    texts = [f"{WORDS[i % 8]} {' '.join(rng.choice(WORDS, 4))} number{i}" for i in range(n)]
    rows = [{"id": f"d{i}", "text": text, "meta": {"scope": "s"}} for i, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = [{"id": f"q{i}", "text": texts[i][:12], "scope": "s", "category": "c"} for i in range(0, n, 2)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (folder / "qrels.tsv").write_text("\n".join(f"q{i}\td{i}\t1" for i in range(0, n, 2)))
    for model in VECTOR_SETS:
        documents = rng.normal(size=(n, 8)).astype(np.float16)
        np.save(folder / f"{model}.docs.npy", documents)
        np.save(
            folder / f"{model}.queries.npy", documents[::2] + rng.normal(size=(n // 2, 8)).astype(np.float16)
        )
    return tmp_path


def test_one_command_writes_everything(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    has_plots = importlib.util.find_spec("matplotlib") is not None
    out = tmp_path / "out"
    arguments = [
        "--data",
        str(data),
        *(["--out", str(out)] if has_plots else ["--json", str(tmp_path / "q.json")]),
    ]
    code = table.main(arguments)
    reports = json.loads((out / "quality.json" if has_plots else tmp_path / "q.json").read_text())
    assert [report["model"] for report in reports] == list(VECTOR_SETS)
    for report in reports:
        assert set(report["rows"]) == set(table.RANKINGS)
        for row in report["rows"].values():
            assert set(row) == set(table.COLUMNS)
            assert 0 <= row["recall@5"] <= row["recall@10"] <= 1
            assert 0 < row["p50 us"] <= row["p95 us"]
        best = max(report["rows"][name]["nDCG@10"] for name in table.BAR)
        assert report["margin"] == pytest.approx(report["rows"][table.DEFAULT]["nDCG@10"] - best)
    assert code == (1 if any(report["margin"] < -table.MARGIN for report in reports) else 0)
    assert capsys.readouterr().out.count("### locomo_dev") == 2
    if has_plots:
        for name in ("quality.png", "quality-time.png"):
            assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_a_reranker_stands_beside_the_default_on_the_same_questions(data: Path) -> None:
    (judged,) = table.judged_sets(data, ("locomo_dev",))

    class Perfect:
        def score(self, query: str, texts: list[str]) -> Any:
            relevant = {
                judged.memories[int(id[1:])].text
                for q in judged.queries
                if q.text == query
                for id in q.relevant
            }
            return np.float32([text in relevant for text in texts])

    rows = table.evaluate(judged, VECTOR_SETS[0], Perfect(), 6)["rows"]
    plain = rows["auto, 6 queries"]
    reranked = rows["auto + reranker, its own order, texts alone, 6 queries"]
    assert reranked["nDCG@10"] > 0.99 > plain["nDCG@10"]
    assert rows["auto + reranker, 6 queries"]["nDCG@10"] > plain["nDCG@10"]


def test_each_pair_is_read_once_for_all_ways_of_reranking(data: Path) -> None:
    (judged,) = table.judged_sets(data, ("locomo_dev",))
    read: list[tuple[str, str]] = []

    class Perfect:
        def score(self, query: str, texts: list[str]) -> Any:
            read.extend((query, text) for text in texts)
            relevant = {
                judged.memories[int(id[1:])].text
                for q in judged.queries
                if q.text == query
                for id in q.relevant
            }
            return np.float32([text in relevant for text in texts])

    found = reranked.figures(judged, VECTOR_SETS[0], Perfect(), 5)
    ways = found["recall@10, nDCG@10"]
    n = found["questions"]
    assert (n, found["of"]) == (5, 10) and len(ways) == 1 + len(reranked.DEPTHS) * len(reranked.WAYS)
    assert ways["the first 20, its own order"][1] > 0.99 > ways[reranked.NONE][1]
    assert len(read) == len(set(read)) == n * len(judged.memories)  # turns of nobody: read alone only


def test_trials_are_made_of_judged_sets(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (judged,) = table.judged_sets(data, ("locomo_dev",))
    made = list(unseen.trials(judged))
    assert len(made) == len(set(made)) >= len(unseen.MODELS) + 2 * len(unseen.OF_PARTS)
    whole = {memory.id for memory in judged.memories}
    half, quarter = (
        {m.id for m in unseen.Trial(judged.folder, part).memories} for part in ("half", "quarter")
    )
    assert quarter < half < whole
    for trial, model in made:
        kept = {memory.id for memory in trial.memories}
        assert trial.queries and all(query.relevant <= kept for query in trial.queries)
        documents, queries = trial.document_vectors(model), trial.query_vectors(model)
        assert len(documents) == len(judged.memories) and documents.shape[1] == queries.shape[1]
        # Stored as float16, with 11 bits: an error of 2**-11 of each number.
        assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-3)
        assert np.array_equal(documents, trial.document_vectors(model))  # deterministic
    out = tmp_path / "trials.json"
    arguments = ["--data", str(data), "--set", "locomo_dev", "--queries", "4", "--json", str(out)]
    assert unseen.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.count("locomo_dev, ") == len(made) and f"{len(made)} pairs" in said
    written = json.loads(out.read_text())
    assert {len(rows) for rows in written["locomo_dev, whole, latent"].values()} == {
        len(written["locomo_dev, whole, latent"]["default"])
    }
    assert unseen.main(["--data", str(tmp_path / "nothing")]) == 2


def test_noise_leaves_a_weaker_model(data: Path) -> None:
    (judged,) = table.judged_sets(data, ("locomo_dev",))
    trial = unseen.Trial(judged.folder)
    cosines = (trial.document_vectors("bge noised") * trial.stored("bge_small_int8")[0]).sum(axis=1)
    assert 0.5 < cosines.mean() < 0.95


def test_files_that_are_not_the_model_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ms-marco-minilm-l12-int8"
    folder.mkdir()
    for name in offline_models.MODEL_FILES:
        (folder / name).write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"model\.onnx: expected SHA-256"):
        offline_models.fetched_reranker(tmp_path)


def test_missing_judged_sets_are_an_error_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table.main(["--data", str(tmp_path)]) == 2
    assert "no judged sets" in capsys.readouterr().err

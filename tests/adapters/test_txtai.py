"""The txtai adapter through txtai's own `Embeddings`, compared with txtai's own keyword index."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")
txtai = pytest.importorskip("txtai", reason='needs txtai: pip install "scrubjay[txtai]"')

from scrubjay import ClosedError, Error  # noqa: E402
from scrubjay.adapters.txtai import ScrubjayScoring  # noqa: E402

METHOD = "scrubjay.adapters.txtai.ScrubjayScoring"
NOTES = [
    "The staging key prefix is sk-stg-0041.",
    "Lies awake after espresso.",
    "Prefers trains to planes.",
    "Ticket TS-4711 is about invoices.",
]


def made(embedder: str = "default", **options: Any) -> Any:
    scoring = {"method": METHOD, "terms": True, "embedder": embedder, **options.pop("scoring", {})}
    return txtai.Embeddings(keyword=True, scoring=scoring, **options)


@pytest.fixture
def embeddings() -> Iterator[Any]:
    opened = made(content=True)
    opened.index(NOTES)
    yield opened
    opened.close()


def texts(found: list[Any]) -> list[str]:
    return [one["text"] for one in found]


# ---------------------------------------------------------------------- usage of txtai


def test_one_argument_makes_txtai_use_the_index() -> None:
    embeddings = txtai.Embeddings(content=True, keyword=METHOD)
    embeddings.index(NOTES)
    assert isinstance(embeddings.scoring, ScrubjayScoring)
    assert texts(embeddings.search("TS-4711", 1)) == [NOTES[3]]
    embeddings.close()


def test_words_and_meaning(embeddings: Any) -> None:
    assert texts(embeddings.search("sk-stg-0041", 1)) == [NOTES[0]]
    assert texts(embeddings.search("trouble sleeping", 1)) == [NOTES[1]]


def test_results_are_ids_and_scores_without_content() -> None:
    embeddings = made()
    embeddings.index([("a", NOTES[0], None), ("b", NOTES[1], None)])
    (first, score), *_ = embeddings.search("sk-stg-0041", 2)
    assert first == "a" and score == pytest.approx(1.0)
    embeddings.close()


def test_sql_filters_and_columns(embeddings: Any) -> None:
    embeddings.upsert([(f"n{i}", {"text": f"note {i} of a train", "n": i}, None) for i in range(10)])
    found = embeddings.search(
        "select id, text, score, n from txtai where similar('train note 3') and n > 4", 3
    )
    assert found and all(one["n"] > 4 for one in found)


def test_sql_queries_take_parameters(embeddings: Any) -> None:
    found = embeddings.search("select text from txtai where similar(:q)", 1, parameters={"q": "TS-4711"})
    assert texts(found) == [NOTES[3]]


def test_dictionaries_and_other_columns() -> None:
    embeddings = made(content=True, columns={"text": "body"}, scoring={"columns": {"text": "body"}})
    embeddings.index([{"body": NOTES[0]}, {"body": NOTES[1]}])
    assert embeddings.count() == 2
    assert embeddings.scoring.search("sk-stg-0041", 1)[0][0] == 0
    embeddings.close()


def test_upsert_replaces(embeddings: Any) -> None:
    embeddings.upsert([(0, "The staging key prefix is sk-prod-9.", None)])
    assert embeddings.count() == 4
    assert texts(embeddings.search("sk-prod-9", 1)) == ["The staging key prefix is sk-prod-9."]
    assert NOTES[0] not in texts(embeddings.search("sk-stg-0041", 10))


def test_index_replaces_all_earlier_documents(embeddings: Any) -> None:
    embeddings.index(["Only this."])
    assert embeddings.count() == 1 and texts(embeddings.search("TS-4711", 5)) == ["Only this."]


def test_batchsearch(embeddings: Any) -> None:
    found = embeddings.batchsearch(["sk-stg-0041", "TS-4711"], 1)
    assert [texts(one) for one in found] == [[NOTES[0]], [NOTES[3]]]


def test_reindex_keeps_content(embeddings: Any) -> None:
    embeddings.reindex(
        {"keyword": True, "scoring": {"method": METHOD, "terms": True, "embedder": "none"}, "content": True}
    )
    assert texts(embeddings.search("TS-4711", 1)) == [NOTES[3]]
    assert embeddings.search("zzz", 1) == []


def test_tokens_are_words() -> None:
    embeddings = made()
    embeddings.index([(0, ["sk-stg-0041", "key"], None), (1, ["trains"], None)])
    assert embeddings.search("sk-stg-0041", 1)[0][0] == 0
    embeddings.close()


def test_subindexes() -> None:
    embeddings = txtai.Embeddings(
        content=True,
        defaults=False,
        indexes={
            "ours": {"keyword": True, "scoring": {"method": METHOD, "terms": True}},
            "stock": {"keyword": True},
        },
    )
    embeddings.index(NOTES)
    assert texts(embeddings.search("select text from txtai where similar('TS-4711', 'ours')", 1)) == [
        NOTES[3]
    ]
    embeddings.close()


def test_hybrid_beside_vectors_of_txtai() -> None:
    """txtai's dense index with vectors computed by the test, fused by txtai."""

    def vectors(data: list[str]) -> Any:
        import numpy as np

        rows = np.zeros((len(data), 8), np.float32)
        for row, text in zip(rows, data, strict=True):
            row[len(text) % 8] = 1.0
        return rows

    embeddings = txtai.Embeddings(
        content=True,
        method="external",
        transform=vectors,
        scoring={"method": METHOD, "terms": True, "embedder": "none"},
    )
    embeddings.index(NOTES)
    assert embeddings.isdense() and embeddings.issparse()
    assert NOTES[3] in texts(embeddings.search("TS-4711", 2))
    embeddings.close()


def test_limits_and_empty_questions(embeddings: Any) -> None:
    scoring = embeddings.scoring
    assert scoring.search("", 3) == scoring.search("   ", 3) == scoring.search("key", 0) == []
    assert len(scoring.search("key", 2)) == 2 and len(scoring.search("key", 100)) == 4
    assert scoring.search(["sk-stg-0041"], 1)[0][0] == 0


def test_scores_fall_within_0_and_1(embeddings: Any) -> None:
    for question in ("sk-stg-0041", "trains", "what about invoices?", "zzz"):
        scores = [score for _, score in embeddings.scoring.search(question, 10)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


def test_the_scoring_reports_its_properties(embeddings: Any) -> None:
    scoring = embeddings.scoring
    assert (
        scoring.issparse() and scoring.isnormalized() and not scoring.isbayes() and not scoring.isweighted()
    )
    assert scoring.weights(["a", "b"]) == [1.0, 1.0] and scoring.findmodel() is None


def test_documents_without_a_text_take_a_number() -> None:
    scoring = ScrubjayScoring({"terms": True, "embedder": "none"})
    scoring.insert([("x", b"bytes", None), ("y", "a text", None), ("z", {"object": "of an object"}, None)], 5)
    assert scoring.count() == 2
    assert scoring.search("text", 1)[0][0] == 6 and scoring.search("object", 1)[0][0] == 7
    scoring.close()


# ---------------------------------------------------------------------- isolation, deletion


def test_two_embeddings_know_nothing_of_each_other(tmp_path: Path) -> None:
    jane, joe = made(content=True), made(content=True)
    jane.index(["Jane's key is sk-jane-1."])
    before = jane.scoring.search("sk-jane-1 key", 3)
    joe.index(["Joe's key is sk-joe-2.", *[f"key {i}" for i in range(50)]])
    assert jane.scoring.search("sk-jane-1 key", 3) == before
    assert all("Joe" not in text for text in texts(jane.search("sk-joe-2", 10)))
    jane.save(str(tmp_path / "jane"))
    joe.save(str(tmp_path / "joe"))
    again = made(content=True)
    again.load(str(tmp_path / "jane"))
    assert texts(again.search("key", 10)) == ["Jane's key is sk-jane-1."]
    for one in (jane, joe, again):
        one.close()


def test_deleted_documents_are_not_found(embeddings: Any) -> None:
    embeddings.delete([0])
    assert embeddings.count() == 3
    for question in ("sk-stg-0041", "staging key", NOTES[0]):
        assert NOTES[0] not in texts(embeddings.search(question, 10))
    assert embeddings.delete([0]) == []


def test_deleted_words_are_not_in_the_saved_file(embeddings: Any, tmp_path: Path) -> None:
    embeddings.upsert([(77, "The secret word is xylophonist.", None)])
    embeddings.delete([77])
    embeddings.save(str(tmp_path / "index"))
    assert b"xylophonist" not in (tmp_path / "index" / "scoring").read_bytes()


def test_deleting_many_at_once(embeddings: Any) -> None:
    embeddings.upsert([(f"d{i}", f"document {i}", None) for i in range(500)])
    embeddings.delete([f"d{i}" for i in range(500)])
    assert embeddings.count() == 4 and embeddings.scoring.count() == 4


# ---------------------------------------------------------------------- files


def test_saved_and_loaded_is_the_same(embeddings: Any, tmp_path: Path) -> None:
    questions = ["sk-stg-0041", "trouble sleeping", "invoices", "trains or planes"]
    before = [embeddings.scoring.search(question, 4) for question in questions]
    embeddings.save(str(tmp_path / "index"))
    again = txtai.Embeddings()
    again.load(str(tmp_path / "index"))
    assert [again.scoring.search(question, 4) for question in questions] == before
    assert again.count() == 4
    again.close()


def test_unsaved_changes_are_not_in_the_file(embeddings: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    embeddings.save(path)
    again = txtai.Embeddings()
    again.load(path)
    again.upsert([("new", "Never saved: sk-new-1.", None)])
    again.close()
    third = txtai.Embeddings()
    third.load(path)
    assert third.count() == 4
    third.close()


def test_saving_again_replaces(embeddings: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    embeddings.save(path)
    embeddings.upsert([("new", "Saved: sk-new-1.", None)])
    embeddings.save(path)
    again = txtai.Embeddings()
    again.load(path)
    assert texts(again.search("sk-new-1", 1)) == ["Saved: sk-new-1."]
    again.close()


def test_an_index_saved_as_an_archive_loads_again(embeddings: Any, tmp_path: Path) -> None:
    embeddings.save(str(tmp_path / "index.tar.gz"))
    again = txtai.Embeddings()
    again.load(str(tmp_path / "index.tar.gz"))
    assert texts(again.search("TS-4711", 1)) == [NOTES[3]]
    again.close()


def test_a_killed_save_leaves_a_whole_index(tmp_path: Path) -> None:
    """Killed at any moment of `save`, the scoring file is the previous or the new one, and readable."""
    program = textwrap.dedent(
        f"""
        import sys
        from scrubjay.adapters.txtai import ScrubjayScoring
        scoring = ScrubjayScoring({{"terms": True, "embedder": "none"}})
        number = 0
        while True:
            scoring.insert([(0, f"document {{number}} " + "word " * 2000, None)], number)
            scoring.save({str(tmp_path / "scoring")!r})
            number += 1
            print(number, flush=True)
        """
    )
    for seed in range(3):
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=os.environ)
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(3)]
        time.sleep(random.Random(seed).random() * 0.05)
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
        child.wait()
        child.stdout.close()
        scoring = ScrubjayScoring({"terms": True, "embedder": "none"})
        scoring.load(str(tmp_path / "scoring"))
        assert scoring.count() >= int(said[-1]), "a save that was acknowledged is there"
        assert scoring.search("document", 1)
        scoring.close()


def test_closing_takes_the_temporary_file_away() -> None:
    scoring = ScrubjayScoring({"terms": True, "embedder": "none"})
    folder = Path(str(scoring._folder))
    assert folder.is_dir()
    scoring.close()
    scoring.close()
    assert not folder.exists()
    with pytest.raises(ClosedError):
        scoring.search("word")


def test_a_forgotten_index_takes_its_file_with_it() -> None:
    import gc

    scoring = ScrubjayScoring({"terms": True, "embedder": "none"})
    folder = Path(str(scoring._folder))
    del scoring
    gc.collect()
    assert not folder.exists()


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({}, ValueError, "terms: expected True"),
        ({"terms": True, "embedder": 3}, TypeError, "embedder: expected a str"),
        ({"terms": True, "embedder": "word2vec"}, ValueError, "embedder: expected"),
        ({"terms": True, "query": {"nonsense": 1}}, (TypeError, ValueError), "nonsense"),
        ({"terms": True, "query": 3}, TypeError, "query: expected"),
    ],
)
def test_a_wrong_config_is_named(config: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ScrubjayScoring(config)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    scoring = ScrubjayScoring({"terms": True, "embedder": "none"})
    with pytest.raises((OSError, Error)):
        scoring.load(str(tmp_path / "absent"))
    scoring.close()


# ---------------------------------------------------------------------- beside txtai's own


def identifiers(n: int, seed: int = 7) -> list[tuple[str, str]]:
    choose = random.Random(seed)
    kinds = ["sk-stg-{:04}", "TS-{:04}", "jane{:04}@example.org", "/srv/data/{:04}.csv"]
    numbers = choose.sample(range(10_000), n)
    found = []
    for i, number in enumerate(numbers):
        identifier = kinds[i % len(kinds)].format(number)
        about = choose.choice(["the ticket", "the key", "an address", "a file"])
        found.append((identifier, f"For {about} they noted {identifier} again today."))
    return found


def ask(embeddings: Any, question: str) -> Any:
    """Ask with a parameter, as users of txtai do for texts with quotes."""
    return embeddings.search("select text from txtai where similar(:q)", 1, parameters={"q": question})


def test_identifiers_come_first_beside_the_keyword_index_of_txtai() -> None:
    pairs = identifiers(400)
    ours, stock = made(content=True), txtai.Embeddings(content=True, keyword=True)
    for one in (ours, stock):
        one.index([text for _, text in pairs])
    asked = pairs[:100]
    found = {
        name: sum(texts(ask(one, identifier)) == [text] for identifier, text in asked)
        for name, one in (("ours", ours), ("stock", stock))
    }
    assert found["ours"] == 100
    assert found["ours"] >= found["stock"]
    paraphrases = [
        ("Could not sleep because of coffee.", "trouble sleeping"),
        ("Travels by rail.", "likes trains"),
    ]
    for one in (ours, stock):
        one.upsert([(f"p{i}", text, None) for i, (text, _) in enumerate(paraphrases)])
    assert all(texts(ours.search(question, 1)) == [text] for text, question in paraphrases)
    assert not any(texts(stock.search(question, 1)) == [text] for text, question in paraphrases)
    for one in (ours, stock):
        one.close()


def test_costs_beside_the_keyword_index_of_txtai() -> None:
    """The time of searches, in one process, by words alone on both sides."""
    choose = random.Random(3)
    words = [f"w{i}" for i in range(3000)]
    documents = [" ".join(choose.choices(words, k=30)) for _ in range(3000)]
    ours, stock = made("none"), txtai.Embeddings(keyword=True)
    asked = [" ".join(choose.choices(words, k=4)) for _ in range(100)]
    taken = {}
    for name, one in (("ours", ours), ("stock", stock)):
        one.index([(i, text, None) for i, text in enumerate(documents)])
        for question in asked[:10]:
            one.search(question, 10)
        least = float("inf")
        for _ in range(3):  # other work on the machine only ever adds to a time
            start = time.perf_counter()
            for question in asked:
                one.search(question, 10)
            least = min(least, time.perf_counter() - start)
        taken[name] = least
        one.close()
    assert taken["ours"] < 2 * taken["stock"], taken


def test_searches_of_many_threads() -> None:
    embeddings = made("none")
    embeddings.index([(i, f"document sk-doc-{i:04}", None) for i in range(200)])
    wrong: list[Any] = []

    def ask_all(start: int) -> None:
        for i in range(start, 200, 4):
            found = embeddings.search(f"sk-doc-{i:04}", 1)
            if [id for id, _ in found] != [i]:
                wrong.append((i, found))

    threads = [threading.Thread(target=ask_all, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    embeddings.close()
    assert not wrong

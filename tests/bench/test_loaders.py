"""The loaders read the published formats, and refuse others with an error that names file, line and field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay.base.errors import DatasetError
from scrubjay.bench import (
    FORMATS,
    JudgedFolder,
    LoCoMo,
    LongMemEval,
    MemoryAgentBench,
    format_of,
    open_dataset,
)
from scrubjay.bench.memoryagentbench import chunks
from tests.bench import samples


def test_locomo(tmp_path: Path) -> None:
    (case,) = LoCoMo(samples.write_json(tmp_path / "locomo10.json", samples.LOCOMO))
    documents = list(case.documents)
    assert [document.id for document in documents] == ["D1:1", "D1:2", "D2:1"]
    assert documents[0].text == "Zoë: My dog is called Ignatius."
    assert documents[1].text == "Mel: Look at this! [a photo of a lighthouse]"
    assert documents[0].created_at == "2023-05-08T13:56:00"
    assert documents[2].metadata == {"run": "session_2", "position": 0, "speaker": "Mel"}
    dog, piano, boat = case.questions
    assert (dog.category, dict(dog.relevant), dog.answers) == ("single-hop", {"D1:1": 1.0}, ("Ignatius",))
    assert (piano.category, dict(piano.relevant), piano.answers) == ("temporal", {"D2:1": 1.0}, ("2023",))
    assert (boat.category, dict(boat.relevant), boat.answers) == ("adversarial", {}, ())
    (plain,) = LoCoMo(tmp_path, captions=False)
    assert [document.text for document in plain.documents][1] == "Mel: Look at this!"


def test_longmemeval_by_turn(tmp_path: Path) -> None:
    first, second = LongMemEval(samples.write_json(tmp_path / "s.json", samples.LONGMEMEVAL))
    assert [document.id for document in first.documents] == ["0:s1/0", "0:s1/1", "1:answer_s2/0"]
    (question,) = first.questions
    assert dict(question.relevant) == {"1:answer_s2/0": 1.0}
    assert (question.asked_at, question.category) == ("2023-05-30T23:40:00", "single-session-user")
    assert next(document.created_at for document in first.documents) == "2023-05-20T02:21:00"
    assert (second.questions[0].category, dict(second.questions[0].relevant)) == ("abstention", {})


def test_longmemeval_by_session_of_the_user_alone(tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "s.json", samples.LONGMEMEVAL)
    first, _ = LongMemEval(path, granularity="session", roles=("user",))
    assert [(one.id, one.text) for one in first.documents] == [
        ("0:s1", "user: Which tea is best?"),
        ("1:answer_s2", "user: I left the bicycle at the station."),
    ]
    assert dict(first.questions[0].relevant) == {"1:answer_s2": 1.0}


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_memoryagentbench(tmp_path: Path, suffix: str) -> None:
    write = samples.write_json if suffix == "json" else samples.write_lines
    path = write(tmp_path / f"Conflict_Resolution.{suffix}", samples.MEMORYAGENTBENCH)
    (case,) = MemoryAgentBench(path, chunk_words=5)
    assert [document.text for document in case.documents] == [
        "0. Quill was born in Bergen.",
        "1. Nimbus is a flute.",
        "2. Nimbus is a trumpet.",
    ]
    assert [question.answers for question in case.questions] == [
        ("Bergen", "the city of Bergen"),
        ("trumpet",),
    ]
    assert [question.id for question in case.questions] == ["sh_no0", "sh_no1"]
    assert {question.category for question in case.questions} == {"factconsolidation_sh_6k"}
    assert list(MemoryAgentBench(path, sources=["ruler"])) == []


def test_memoryagentbench_reads_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = copy.deepcopy(samples.MEMORYAGENTBENCH)
    rows[0]["answers"] = [["Bergen"], ["trumpet"]]
    rows[0]["metadata"]["question_types"] = None
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "Conflict_Resolution-0.parquet")
    assert format_of(tmp_path) == "memoryagentbench"
    (case,) = MemoryAgentBench(tmp_path)
    assert [question.answers for question in case.questions] == [("Bergen",), ("trumpet",)]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DatasetError, match=r"broken\.parquet: expected Parquet"):
        list(MemoryAgentBench(tmp_path / "broken.parquet"))


@pytest.mark.parametrize("n_words", [1, 3, 1000])
def test_chunks_lose_no_word(n_words: int) -> None:
    text = "One two. Three\nfour five! 六七。八九\n\n10"
    assert " ".join(chunks(text, n_words)).split() == text.split()


def test_beir(tmp_path: Path) -> None:
    (case,) = JudgedFolder(samples.beir(tmp_path))
    assert [document.id for document in case.documents] == ["d1", "d2", "d3"]
    assert next(document.text for document in case.documents) == "Jays Scrub jays cache acorns."
    (question,) = case.questions
    assert dict(question.relevant) == {"d1": 1.0, "d3": 2.0}
    assert [document.id for document in case.documents] == ["d1", "d2", "d3"]  # may be iterated over again
    with pytest.raises(DatasetError, match=r"qrels/dev\.tsv.*there are splits test"):
        JudgedFolder(tmp_path, split="dev")


def test_each_scope_is_a_case_that_sees_what_all_share(tmp_path: Path) -> None:
    cases = {case.name: case for case in JudgedFolder(samples.judged(tmp_path))}
    assert {name: [one.id for one in case.documents] for name, case in cases.items()} == {
        "jane": ["a1", "c1"],
        "tom": ["b1", "c1"],
    }
    assert cases["jane"].questions[0].answers == ("Jane",)
    assert cases["tom"].questions[0].asked_at == "2024-02-03T00:00:00+00:00"
    assert next(iter(cases["jane"].documents)).created_at == "2024-01-02T00:00:00+00:00"


def test_vectors_stand_beside_the_lines(tmp_path: Path) -> None:
    samples.judged(tmp_path)
    np.save(tmp_path / "m.docs.npy", np.eye(3, dtype=np.float16))
    np.save(tmp_path / "m.queries.npy", np.eye(3, dtype=np.float16)[:2])
    jane, tom = JudgedFolder(tmp_path, vectors="m")
    assert [one.vector.tolist() for one in tom.documents if one.vector is not None] == [[0, 1, 0], [0, 0, 1]]
    assert jane.questions[0].vector is not None and jane.questions[0].vector.dtype == np.float32
    np.save(tmp_path / "m.docs.npy", np.eye(2, dtype=np.float16))
    with pytest.raises(DatasetError, match=r"m\.docs\.npy: expected 3 rows, got shape \(2, 2\)"):
        list(JudgedFolder(tmp_path, vectors="m"))


def test_formats_are_recognised(tmp_path: Path) -> None:
    found = {
        "beir": samples.beir(tmp_path / "beir"),
        "judged": samples.judged(tmp_path / "judged"),
        "locomo": samples.write_json(tmp_path / "locomo10.json", samples.LOCOMO),
        "longmemeval": samples.write_json(tmp_path / "longmemeval_s.json", samples.LONGMEMEVAL, indent=1),
        "memoryagentbench": samples.write_lines(tmp_path / "mab" / "AR.jsonl", samples.MEMORYAGENTBENCH),
    }
    assert found.keys() == FORMATS.keys()
    assert {name: format_of(path) for name, path in found.items()} == {name: name for name in found}
    assert all(len(list(open_dataset(path))) >= 1 for path in found.values())
    assert format_of(tmp_path / "mab") == "memoryagentbench"


def test_unrecognised_data_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_dataset(tmp_path / "absent.json")
    with pytest.raises(DatasetError, match=r"expected a folder with \.json files"):
        open_dataset(tmp_path)
    with pytest.raises(DatasetError, match=r"b\.json, line 1: .*got fields text"):
        open_dataset(samples.write_json(tmp_path / "b.json", [{"text": "a"}]))
    with pytest.raises(DatasetError, match="got no rows"):
        open_dataset(samples.write_json(tmp_path / "b.json", []))
    with pytest.raises(ValueError, match="format: expected one of beir"):
        open_dataset(tmp_path, "msmarco")


def edit(rows: list[dict[str, Any]], change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    changed = copy.deepcopy(rows)
    change(changed[-1])
    return changed


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda row: row.pop("sample_id"), "sample_id: expected a str, got None"),
        (lambda row: row["qa"][1].update(category=9), r"qa\[1\]\.category: expected 1, 2, 3, 4 or 5, got 9"),
        (lambda row: row["qa"][0].update(question=3), r"qa\[0\]\.question: expected a str, got 3"),
        (lambda row: row["qa"][0].update(evidence=[7]), r"qa\[0\]\.evidence\[0\]: expected a str such as"),
        (
            lambda row: row["conversation"]["session_1"][1].pop("text"),
            r"conversation\.session_1\[1\]\.text: expected a str",
        ),
        (
            lambda row: row["conversation"].update(session_1_date_time="8 May"),
            r"conversation\.session_1_date_time: expected a time such as",
        ),
        (
            lambda row: row["conversation"].update(session_1_date_time="1:56 pm on 31 June, 2023"),
            "expected a time such as",
        ),
        (
            lambda row: row["conversation"]["session_1"][1].update(dia_id="D1:1"),
            "expected another dia_id for each turn, got 'D1:1'",
        ),
        (lambda row: row.update(qa={}), "qa: expected a list"),
        (lambda row: row.update(conversation=[]), "conversation: expected an object"),
    ],
)
def test_locomo_names_what_is_wrong(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    path = samples.write_json(tmp_path / "a.json", edit(samples.LOCOMO, change))
    with pytest.raises(DatasetError, match=rf"a\.json, line 1: .*{complaint}"):
        list(LoCoMo(path))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda row: row.update(question_id="q1"), "question_id: expected another one for each"),
        (lambda row: row.update(haystack_dates=[]), "haystack_dates: expected 1 items"),
        (lambda row: row.update(haystack_sessions=[7]), r"haystack_sessions\[0\]: expected a list, got 7"),
        (lambda row: row.update(haystack_dates=["soon"]), r"haystack_dates\[0\]: expected a time"),
        (lambda row: row.update(question_date=None), "question_date: expected a time"),
        (
            lambda row: row["haystack_sessions"][0][0].update(content=None),
            r"haystack_sessions\[0\]\[0\]\.content: expected a str",
        ),
        (lambda row: row.update(answer_session_ids=[1]), r"answer_session_ids\[0\]: expected a str, got 1"),
    ],
)
def test_longmemeval_names_what_is_wrong(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    path = tmp_path / "a.json"
    lines = [json.dumps(row) for row in edit(samples.LONGMEMEVAL, change)]
    path.write_text("[\n" + ",\n".join(lines) + "]")
    loaded = iter(LongMemEval(path))
    assert next(loaded).name == "q1"  # the rows before it were read: the file is a stream
    with pytest.raises(DatasetError, match=rf"a\.json, line 3: {complaint}"):
        next(loaded)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda row: row.update(answers=[]), "answers: expected 2 items, as questions has"),
        (lambda row: row.update(answers=[[{}], "x"]), r"answers\[0\]: expected a str or a list of str"),
        (lambda row: row["metadata"].pop("source"), r"metadata\.source: expected a str"),
        (lambda row: row["metadata"].update(qa_pair_ids=["a"]), r"metadata\.qa_pair_ids: expected 2 items"),
        (lambda row: row.pop("context"), "context: expected a str"),
    ],
)
def test_memoryagentbench_names_what_is_wrong(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    path = samples.write_lines(tmp_path / "a.jsonl", edit(samples.MEMORYAGENTBENCH, change))
    with pytest.raises(DatasetError, match=rf"a\.jsonl, line 1: {complaint}"):
        list(MemoryAgentBench(path))


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("corpus.jsonl", '{"_id": "d1", "text": "twice"}', "line 4: id: expected another one for each"),
        ("corpus.jsonl", '{"_id": 4, "text": ""}', "line 4: id or _id: expected a str, got 4"),
        ("queries.jsonl", '{"_id": "q3"}', "line 3: text: expected a str"),
        ("qrels/test.tsv", "q1\td9\t1", "'d9' is relevant for 'q1', but is not a visible document"),
        ("qrels/test.tsv", "q9\td1\t1", "'q9' is judged but not in queries"),
        ("qrels/test.tsv", "q1 d1 1", "line 5: expected question, document and judgement"),
    ],
)
def test_a_folder_names_what_is_wrong(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    path = samples.beir(tmp_path) / file
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DatasetError, match=complaint) as raised:
        list(JudgedFolder(tmp_path))
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"granularity": "word"}, "granularity: expected"),
        ({"roles": "user"}, "roles: expected"),
        ({"roles": ()}, "roles"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        LongMemEval(tmp_path, **options)
    with pytest.raises(ValueError, match="chunk_words: expected 1 or more"):
        MemoryAgentBench(tmp_path, chunk_words=0)

"""`scrubjay search` over an index: the order of its arguments, filters, explanations; times in all JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope, cli

MIA = Scope("local", "mia")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Index.open("m.scrubjay", "default") as index:
        index.upsert(
            "a", "The notes are kept in a blue box.", scope=MIA, metadata={"kind": "box"}, created_at=86400
        )
        index.upsert(
            "b", "The notes about pumps.", scope=MIA, metadata={"kind": "pump"}, created_at="2026-03-01"
        )
    Path("notes").mkdir()
    Path("notes/x.txt").write_text("m.scrubjay is the name of a file.\n")


def asked(capsys: Any, *arguments: str) -> tuple[int, Any, str]:
    code = cli.main([*arguments, "--user", "mia", "--json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


@pytest.mark.parametrize("words", [("m.scrubjay", "notes"), ("notes", "m.scrubjay")])
def test_an_index_is_searched_whatever_the_folder_has(capsys: Any, words: tuple[str, str]) -> None:
    code, found, _ = asked(capsys, "search", *words)
    assert (code, {hit["id"] for hit in found["hits"]}) == (0, {"a", "b"})


def test_an_empty_question_reads_no_folder(capsys: Any) -> None:
    assert asked(capsys, "search", "m.scrubjay", "")[:1] == (1,)


def test_an_index_that_is_missing_is_named(capsys: Any) -> None:
    code, _, err = asked(capsys, "search", "n.scrubjay", "notes")
    assert code == 2 and "n.scrubjay" in err


def test_files_are_asked_with_the_question_first(capsys: Any) -> None:
    code, found, _ = asked(capsys, "search", "which file?", "notes")
    assert (code, found["hits"][0]["text"]) == (0, "m.scrubjay is the name of a file.")


def test_a_filter_is_taken(capsys: Any) -> None:
    code, found, _ = asked(capsys, "search", "m.scrubjay", "notes", "--filter", '{"kind": "box"}')
    assert (code, [hit["id"] for hit in found["hits"]]) == (0, ["a"])
    code, _, err = asked(capsys, "search", "m.scrubjay", "notes", "--filter", "[]")
    assert code == 2 and "--filter: expected a JSON object" in err
    for command in (["search", "m.scrubjay", "notes"], ["list", "m.scrubjay"], ["rm", "m.scrubjay"]):
        for conditions, message in (
            (
                '{"kind": {"$gt": null}}',
                "--filter: kind.$gt: expected a str, number, bool or datetime, got NoneType",
            ),
            ('{"kind": [1]}', "--filter: kind.$eq: expected a str"),
            ('{"kind": {"$near": 1}}', "--filter: kind: expected an operator"),
        ):
            code, _, err = asked(capsys, *command, "--filter", conditions)
            assert code == 2 and message in err and "Traceback" not in err
    assert cli.main(["index", "notes", "--search", "file", "--filter", '{"kind": "none"}']) == 1


def test_relevance_is_explained(capsys: Any) -> None:
    assert cli.main(["search", "m.scrubjay", "notes about pumps", "--user", "mia", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].strip().startswith("relevance high; lexical #1")
    _, found, _ = asked(capsys, "search", "m.scrubjay", "notes about pumps", "--explain")
    assert found["relevance"] == "high" == found["hits"][0]["relevance"]
    _, found, _ = asked(capsys, "search", "m.scrubjay", "notes about pumps")
    assert "relevance" not in found


def test_times_are_the_same_in_all_json(capsys: Any) -> None:
    expected = {"a": "1970-01-02T00:00:00+00:00", "b": "2026-03-01T00:00:00+00:00"}
    for command, key in (
        ("list m.scrubjay", "records"),
        ("get m.scrubjay a b", "records"),
        ("search m.scrubjay notes", "hits"),
    ):
        _, found, _ = asked(capsys, *command.split())
        assert {one["id"]: one["created_at"] for one in found[key]} == expected, command
    assert cli.main(["export", "m.scrubjay", "o.jsonl", "--tenant", "local"]) == 0
    rows = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert {row["id"]: row["created_at"] for row in rows} == expected


def test_an_invalid_time_is_named_by_file_and_row(capsys: Any) -> None:
    Path("t.csv").write_text("id,text,date\n1,oak,2026-01-01\n2,ash,notadate\n")
    Path("t.jsonl").write_text('{"text": "a"}\n{"text": "b", "created_at": []}\n')
    for command in ("add", "import"):
        code, _, err = asked(capsys, command, "m.scrubjay", "t.csv")
        assert code == 2 and "t.csv: row 2: created_at: expected an ISO 8601 time, got 'notadate'" in err
        code, _, err = asked(capsys, command, "m.scrubjay", "t.jsonl")
        assert code == 2 and "t.jsonl:2: created_at: expected a datetime, an ISO 8601 str" in err


def test_records_refused_by_the_index_are_named_by_file_and_id(capsys: Any) -> None:
    Path("t.jsonl").write_text('{"id": "ok", "text": "a"}\n{"id": "far", "text": "b", "score": 1e999}\n')
    code, _, err = asked(capsys, "add", "m.scrubjay", "t.jsonl")
    assert code == 2 and "t.jsonl: record 'far': metadata['score']: expected a finite number" in err
    code, _, err = asked(capsys, "import", "m.scrubjay", "t.jsonl")
    assert code == 2 and "\"record 'far': metadata['score']: expected a finite number" in err


def test_add_reports_skipped_rows_and_replaced_bytes(capsys: Any) -> None:
    rows = "".join(f"T-{i},{'' if i else 'x'}\n" for i in range(8))
    Path("t.csv").write_text(f"id,text\n{rows}")
    Path("lat.txt").write_bytes(b"caf\xe9 au lait")
    assert cli.main(["add", "m.scrubjay", "t.csv", "lat.txt", "--user", "mia"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "skipped t.csv: a row without a text: "
        "row 2 (T-1), row 3 (T-2), row 4 (T-3), row 5 (T-4), row 6 (T-5) and 2 more",
        "note: lat.txt: a byte that is not UTF-8, read as U+FFFD",
    ]
    _, said, _ = asked(capsys, "add", "m.scrubjay", "t.csv", "lat.txt")
    assert [(one["why"], one["n"], len(one["at"])) for one in said["skipped"]] == [
        ("a row without a text", 7, 5)
    ]
    assert said["notes"] == [{"file": "lat.txt", "what": "a byte that is not UTF-8, read as U+FFFD", "n": 1}]

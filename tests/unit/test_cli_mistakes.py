"""Common deviations of newcomers from the documentation: a model that is not installed, an index without vectors, --k
for -k, a dash for a file, an invalid port."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scrubjay import FactCandidate, Index, Memory, Scope, cli
from scrubjay.embedders.static import PACKAGED_NAME

LOCAL = Scope("local")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def words(here: Path) -> Path:
    """An index that was created without an embedder."""
    with Index.open("words.scrubjay") as index:
        index.upsert("m1", "Prefers trains to planes.", scope=LOCAL)
    return here / "words.scrubjay"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the extra wordllama."""
    monkeypatch.setattr("scrubjay.embedders.wordllama.find_spec", lambda name: None)
    for module in ("wordllama", "spec"):  # these keep no reference to a loaded one
        monkeypatch.setattr(
            f"scrubjay.embedders.{module}.default", __import__("scrubjay").embedders.WordLlama
        )


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# -------------------------------------------------------------------- an index of words only


def test_an_index_without_vectors_needs_no_model(words: Path, bare: None, capsys: Any) -> None:
    code, out, _ = run(capsys, "search", "words.scrubjay", "trains", "--json")
    assert code == 0 and [hit["id"] for hit in json.loads(out)["hits"]] == ["m1"]
    assert json.loads(out)["mode"] == "lexical"
    code, out, _ = run(capsys, "stats", "words.scrubjay", "--json")
    assert code == 0 and json.loads(out)["documents"] == 1
    Path("a.md").write_text("# Keys\n\nsk-stg-0041\n")
    assert run(capsys, "add", "words.scrubjay", "a.md")[0] == 0
    assert run(capsys, "search", "words.scrubjay", "sk-stg-0041")[0] == 0


def test_an_index_without_vectors_may_get_some_where_the_model_is(words: Path) -> None:
    with Index.open(words, "auto") as index:
        assert index.embedder is not None and index.embedder.dim == 256


def test_a_memory_without_vectors_needs_no_model(here: Path, bare: None, capsys: Any) -> None:
    with Memory.open("agent.scrubjay") as memory:
        memory.propose(FactCandidate("Jane lives in Oslo"), scope=Scope("local", user="jane"), source="t")
    asked = ("memory", "recall", "agent.scrubjay", "Oslo", "--user", "jane", "--json")
    code, out, _ = run(capsys, *asked)
    assert code == 0 and json.loads(out)["mode"] == "lexical"


def test_a_new_index_gets_the_model_of_the_package_and_says_so(
    here: Path, bare: None, capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Two packages suffice for the first command of the documentation."""
    Path("a.md").write_text("oak\n")
    assert run(capsys, "add", "new.scrubjay", "a.md")[0] == 0
    assert 'pip install "scrubjay[wordllama]"' in caplog.text and PACKAGED_NAME in caplog.text
    caplog.clear()
    code, out, _ = run(
        capsys, "search", "new.scrubjay", "tree", "--json"
    )  # with its own model, without the option
    assert code == 0 and json.loads(out)["mode"] == "hybrid" and caplog.text == ""
    code, _, said = run(capsys, "add", "new.scrubjay", "a.md", "--embedder", "default")
    assert code == 2 and '"static" and "none"' in said and 'pip install "scrubjay[wordllama]"' in said
    code, out, _ = run(capsys, "doctor", "new.scrubjay", "--json")
    report = json.loads(out)
    assert report["embedder"]["default"] == report["file"]["embedder"] == PACKAGED_NAME
    assert 'pip install "scrubjay[wordllama]"' in report["embedder"]["why"]


@pytest.mark.parametrize("has_default", [True, False])
def test_a_memory_that_begins_with_a_rule_embeds_its_first_fact(
    here: Path, request: pytest.FixtureRequest, capsys: Any, has_default: bool
) -> None:
    """Rules have no vector, so the file knows the dimension but not yet the model."""
    if not has_default:
        request.getfixturevalue("bare")
    rule = ("--kind", "policy", "--key", "limit", "--value", "500")
    assert run(capsys, "memory", "add", "agent.scrubjay", *rule)[0] == 0
    assert run(capsys, "memory", "add", "agent.scrubjay", "Jane lives in Oslo", "--user", "jane")[0] == 0
    code, out, _ = run(capsys, "memory", "recall", "agent.scrubjay", "where?", "--user", "jane", "--json")
    assert code == 0 and (json.loads(out)["mode"], json.loads(out)["degraded"]) == ("hybrid", [])


@pytest.mark.parametrize("command", [("search", "nothere.scrubjay", "oak"), ("stats", "nothere.scrubjay")])
def test_a_missing_file_is_reported_before_a_model_is_loaded(
    here: Path, bare: None, capsys: Any, caplog: pytest.LogCaptureFixture, command: tuple[str, ...]
) -> None:
    code, _, said = run(capsys, *command)
    assert code == 2 and "nothere.scrubjay: No such file" in said and caplog.text == ""


# -------------------------------------------------------------------- arguments


def test_k_may_be_written_with_two_dashes(here: Path, capsys: Any) -> None:
    with Index.open("m.scrubjay") as index:
        index.upsert_many([{"id": f"m{i}", "text": f"oak {'tree ' * i}", "scope": LOCAL} for i in range(5)])
    _, out, _ = run(capsys, "search", "m.scrubjay", "oak", "--k", "2", "--json")
    assert len(json.loads(out)["hits"]) == 2
    assert run(capsys, "search", "m.scrubjay", "oak", "--k", "0")[0] == 2


@pytest.mark.parametrize("port", ["99999", "-1", "x", "8421.0"])
def test_a_port_is_a_number_of_a_port(here: Path, port: str, capsys: Any) -> None:
    code, _, said = run(capsys, "serve", "--port", port, "m.scrubjay")
    assert (
        code == 2 and "--port: expected a number from 0 to 65535" in said and not Path("m.scrubjay").exists()
    )


def test_search_without_a_question_says_that_one_is_missing(words: Path, capsys: Any) -> None:
    code, _, said = run(capsys, "search", "words.scrubjay")
    assert code == 2 and "INDEX QUESTION" in said and "required: QUESTION or FILES" in said


# -------------------------------------------------------------------- a dash


def test_an_export_goes_to_standard_output(words: Path, capsys: Any) -> None:
    code, out, said = run(capsys, "export", "words.scrubjay", "-")
    header, row = (json.loads(line) for line in out.splitlines())
    assert code == 0 and header["scrubjay_export"] == 1 and row["id"] == "m1" and "memories      1" in said
    code, out, said = run(capsys, "export", "words.scrubjay", "-", "--tenant", "local", "--json")
    assert code == 0 and json.loads(out)["id"] == "m1" and json.loads(said)["memories"] == 1
    assert not Path("-").exists()


def test_a_memory_goes_to_standard_output(here: Path, capsys: Any) -> None:
    run(capsys, "memory", "add", "a.scrubjay", "Jane sings", "--user", "jane", "--embedder", "none")
    code, out, _ = run(capsys, "memory", "export", "a.scrubjay", "-", "--format", "jsonl", "--user", "jane")
    assert code == 0 and all(json.loads(line)["table"] for line in out.splitlines())
    code, out, _ = run(
        capsys, "memory", "export", "a.scrubjay", "-", "--format", "markdown", "--user", "jane"
    )
    assert code == 0 and "Jane sings" in out and not Path("-").exists()


@pytest.mark.parametrize("command", [["backup"], ["export", "--salvage"]])
def test_commands_that_need_a_file_refuse_standard_output(
    words: Path, command: list[str], capsys: Any
) -> None:
    code, _, said = run(capsys, *command, "words.scrubjay", "-")
    assert code == 2 and "TARGET: expected the name of a file" in said and not Path("-").exists()


# -------------------------------------------------------------------- hints


def test_search_on_a_memory_names_the_memory_commands(here: Path, capsys: Any) -> None:
    run(capsys, "memory", "add", "a.scrubjay", "Jane sings", "--user", "jane", "--embedder", "none")
    code, _, said = run(capsys, "search", "a.scrubjay", "sings", "--user", "jane")
    assert code == 1 and "`scrubjay memory recall`" in said
    code, _, said = run(capsys, "list", "a.scrubjay", "--user", "jane")
    assert code == 1 and "`scrubjay memory list`" in said


def test_search_on_an_index_without_memory_does_not_mention_memory_commands(words: Path, capsys: Any) -> None:
    assert "memory recall" not in run(capsys, "search", "words.scrubjay", "oak", "--user", "joe")[2]


def test_missing_judged_questions_are_reported_as_json(words: Path, capsys: Any) -> None:
    code, out, said = run(capsys, "tune", "words.scrubjay", "--json")
    assert code == 1 and json.loads(out)["questions"] == 0 and said == ""


# -------------------------------------------------------------------- files with nothing in them


@pytest.mark.parametrize("text", ["", "id,text\n"])
def test_a_table_without_rows_is_named(here: Path, text: str, capsys: Any) -> None:
    Path("t.csv").write_text(text)
    code, _, said = run(capsys, "add", "m.scrubjay", "t.csv", "--embedder", "none")
    assert code == 1 and "t.csv: a table without rows" in said


def test_a_malformed_pdf_is_reported_once(here: Path) -> None:
    pytest.importorskip("pypdf")
    Path("j.pdf").write_bytes(b"%PDF-1.4 garbage")
    asked = [sys.executable, "-m", "scrubjay", "add", "m.scrubjay", "j.pdf", "--embedder", "none"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "expected a PDF" in done.stderr


def test_the_demo_runs_without_the_default_model_and_says_so(bare: None, capsys: Any) -> None:
    code, out, _ = run(capsys, "demo", "--no-progress")
    assert code == 0 and "static" in out and 'pip install "scrubjay[wordllama]"' in out
    assert (
        run(capsys, "demo", "--embedder", "default")[0] == 2
    )  # requested by name, it is used, or is an error

"""`scrubjay memory ...`: the same as the calls, as tables and as JSON, for one scope each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Scope
from scrubjay.cli import main
from scrubjay.memory import Memory
from tests.memory.setting import address_of

JANE = ["--tenant", "acme", "--user", "jane"]
JOE = ["--tenant", "acme", "--user", "joe"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], store: str):
    """Run a command on the file or database; return its exit code, its output (JSON parsed) and its error output."""

    if store == "postgres":
        Memory.open(tmp_path / "m.scrubjay").close()  # a command creates no database

    def run(command: str, *rest: str, code: int = 0) -> Any:
        given = [command, address_of(tmp_path / "m.scrubjay"), *rest, "--embedder", "none"]
        assert main(["memory", *given]) == code, capsys.readouterr()
        said = capsys.readouterr()
        return (
            said.err if code == 2 and not said.out else json.loads(said.out) if "--json" in rest else said.out
        )

    return run


def test_add_recall_known_why(run) -> None:
    berlin = run(
        "add", "Jane lives in Berlin.", "--subject", "Jane", "--predicate", "lives in", *JANE, "--json"
    )
    oslo = run("add", "Jane lives in Oslo.", "--subject", "Jane", "--predicate", "lives in", *JANE, "--json")
    assert (berlin["status"], oslo["status"], oslo["superseded"]) == ("written", "superseded", berlin["id"])
    assert "written preference" in run(
        "add", "Brief answers.", "--kind", "preference", "--key", "tone", *JANE
    )
    assert "policy" in run("add", "No refunds.", "--kind", "policy", "--key", "refunds", *JANE)
    assert "written episode" in run("add", "Booked a train.", "--kind", "episode", *JANE)
    found = run("recall", "where does she live in", *JANE, "--json")
    assert [hit["text"] for hit in found["hits"]] == ["Jane lives in Oslo."] and found["mode"] == "lexical"
    assert "Jane lives in Oslo." in run("recall", "live in Oslo", *JANE)
    assert [hit["kind"] for hit in run("recall", "train", "--kind", "episode", *JANE, "--json")["hits"]] == [
        "episode"
    ]
    known = run("known", *JANE, "--json")
    assert [one["text"] for one in known["policies"] + known["preferences"]] == [
        "No refunds.",
        "Brief answers.",
    ]
    assert "tone" in run("known", *JANE) and "tone" not in run("known", *JOE)
    why = run("why", oslo["id"], *JANE, "--json")
    assert why["record"]["provenance"]["run"] == "command line" and why["supersedes"] == [berlin["id"]]
    assert "from run command line" in run("why", oslo["id"], *JANE)


def test_values_types_titles(run) -> None:
    limit = '{"max_auto_approve_usd": 500}'
    shown = run("add", "--kind", "policy", "--key", "refunds", "--value", limit, "--type", "approval", *JANE)
    assert "confirmed by command line" in shown
    run("add", "Short pages.", "--kind", "preference", "--key", "size", "--value", "25", *JANE)
    run("add", "--kind", "preference", "--key", "size", "--value", "10", "--tenant", "acme")
    known = run("known", *JANE, "--json")
    (rule,), (wish,) = known["policies"], known["preferences"]
    assert (rule["value"], rule["type"], rule["text"]) == ({"max_auto_approve_usd": 500}, "approval", limit)
    assert (wish["value"], wish["text"]) == (25, "Short pages.")
    assert run("known", *JOE, "--json")["preferences"][0]["value"] == 10
    assert limit in run("known", *JANE)
    when = ["--title", "Riga", "--completed-at", "2026-03-01T09:30:00+01:00"]
    added = run("add", "Booked a train.", "--kind", "episode", *when, *JANE, "--json")
    record = run("why", added["id"], *JANE, "--json")["record"]
    assert (record["title"], record["completed_at"]) == ("Riga", "2026-03-01T08:30:00+00:00")


def test_other_scopes_find_nothing(run) -> None:
    added = run("add", "The code is 4711.", *JANE, "--json")
    assert "nothing found" in run("recall", "code 4711", *JOE, code=1)
    assert "nothing known" in run("known", *JOE, code=1)
    assert "no such record in this scope" in run("why", added["id"], *JOE, code=2)
    assert "no such run" in run("replay", "r1", *JOE, code=2)


def test_replay_shows_events_and_prompts(run, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        memory.prefer("tone", "Brief.\x1b[2J", scope=Scope("acme", user="jane"))
        with memory.session(Scope("acme", user="jane"), "r1") as session:
            session.user("Hello \x1b[31mthere")
            made = session.assemble()
    shown = run("replay", "r1", "--prompts", *JANE)
    assert (
        "Hello [31mthere" in shown
        and "\x1b" not in shown
        and "unchanged" in shown
        and "- tone: Brief." in shown
    )
    replayed = run("replay", "r1", "--prompts", "--json", *JANE)
    assert [event["kind"] for event in replayed["events"]] == ["user", "prompt"]
    assert replayed["prompts"] == [{"seq": 2, "turn": 1, "faithful": True, "text": made.text}]


def test_forget_asks_before_it_erases_and_proves_it(run, tmp_path: Path) -> None:
    run("add", "Jane's door code is 4711-4712-4713.", *JANE)
    run("add", "Joe sails.", *JOE)
    assert "this would erase everything of tenant 'acme', user 'jane'" in run("forget", *JANE, code=2)
    assert run("forget", "--yes", *JANE, "--json") == {
        "counts": {"fact": 1, "documents": 1},
        "clean": True,
        "proofs": ["rows absent"],
    }
    assert b"4711-4712-4713" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    run("recall", "door code", *JANE, code=1)
    run("recall", "sails", *JOE)
    run("forget", "--yes", *JANE, code=1)
    assert "--agent" in run("forget", "--yes", *JANE, "--agent", "a", code=2)


def test_sweep_reports_the_deleted_records(run) -> None:
    run("add", "Jane sails.", *JANE)
    assert run("sweep", *JANE, "--json") == {"expired": 0, "let_go": 0, "faded": 0, "traces": 0}
    assert "expired" in run("sweep", *JANE)


def test_invalid_usage_exits_with_2_and_a_message(
    run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no such file" in run("recall", "x", *JANE, code=2)
    assert list(tmp_path.iterdir()) == [], "only add makes a file"
    assert "--key: a policy needs one" in run("add", "x", "--kind", "policy", *JANE, code=2)
    assert "--value: expected JSON" in run(
        "add", "--kind", "policy", "--key", "k", "--value", "x", *JANE, code=2
    )
    assert "--value, --type: only preferences" in run("add", "x", "--value", "1", *JANE, code=2)
    assert "--title, --completed-at: only episodes" in run("add", "x", "--title", "y", *JANE, code=2)
    assert "TEXT: expected what to remember" in run("add", *JANE, code=2)
    assert "completed_at" in run("add", "x", "--kind", "episode", "--completed-at", "soon", *JANE, code=2)
    rejected = run("add", "Perhaps.", "--confidence", "0.1", *JANE, "--json", code=2)
    assert rejected["status"] == "rejected" and "0.7" in rejected["reason"]
    assert main(["memory"]) == 2 and main(["memory", "sing"]) == 2
    assert main(["memory", "--help"]) == 0
    assert "forget" in capsys.readouterr().out


def test_changes_are_shown_after_a_cursor(run, capsys: pytest.CaptureFixture[str]) -> None:
    oslo = run("add", "Jane lives in Oslo.", *JANE, "--json")["id"]
    (first,) = run("changes", *JANE, "--json")
    assert (first["action"], first["record"]) == ("proposed", oslo)
    run("forget", *JANE, "--yes")
    (last,) = run("changes", *JANE, "--since", str(first["cursor"]), "--json")
    assert (last["action"], last["record"], last["scope"]["user"]) == ("forgotten", None, "jane")
    assert "forgotten" in run("changes", "--tenant", "acme", "--within")
    assert "nothing changed" in run("changes", *JANE, "--since", str(last["cursor"]), code=1)
    assert run("changes", *JOE, "--json", code=1) == []
    assert "--since: expected a cursor" in run("changes", *JANE, "--since", str(10**17), code=2)


def test_export_and_import(run, tmp_path: Path, store: str) -> None:
    run("add", "Jane lives in Oslo.", *JANE)
    run("add", "Brief answers.", "--kind", "preference", "--key", "tone", *JANE)
    lines, page = str(tmp_path / "jane.jsonl"), str(tmp_path / "jane.md")
    assert run("export", lines, *JANE, "--json") == {"lines": 5}
    assert "the file exists" in run("export", lines, *JANE, code=2)
    assert "5 lines" in run("export", lines, *JANE, "--force") and "2 records" in run("export", page, *JANE)
    assert {Path(one).stat().st_mode & 0o777 for one in (lines, page)} == {0o600}
    assert "--format" in run("export", str(tmp_path / "jane"), *JANE, code=2)
    assert run("import", lines, *JANE, "--json")["written"] == {}
    Path(page).write_text(Path(page).read_text().replace("Oslo", "Rome"))
    assert len(run("import", page, *JANE, "--dry-run", "--json")["updated"]) == 1
    assert "Oslo" in run("recall", "lives", *JANE)
    said = run("import", page, *JANE)
    assert "updated       1" in said and "Rome" in run("recall", "lives", *JANE)
    assert "scope: expected" in run("import", page, *JOE, code=2)
    assert "--dry-run" in run("import", lines, *JANE, "--dry-run", code=2)
    if store == "postgres":
        return
    (tmp_path / "m.scrubjay").unlink()
    assert run("import", lines, *JANE, "--json")["written"] == {"fact": 1, "preference": 1, "log": 2}
    assert "Oslo" in run("recall", "lives", *JANE)


def test_a_dump_of_another_memory(run, tmp_path: Path) -> None:
    dump = tmp_path / "mem0.json"
    dump.write_text(json.dumps({"results": [{"id": "1", "memory": "Jane plays go"}, {"id": "2"}]}))
    tried = run("import", str(dump), *JANE, "--from", "mem0", "--dry-run", "--json")
    assert (tried["found"], tried["left_out"], tried["outcomes"]) == (1, {"no text": 1}, [])
    assert "outcomes      1" in run("import", str(dump), *JANE, "--from", "mem0")
    assert "plays go" in run("recall", "go", *JANE)
    assert "--as-notes" in run("import", str(dump), *JANE, "--as-notes", code=2)


def test_lists_histories_and_other_times(run) -> None:
    for place in ("Berlin", "Oslo"):
        run("add", f"Jane lives in {place}", "--subject", "Jane", "--predicate", "lives in", *JANE)
    run("add", "Brief answers.", "--kind", "preference", "--key", "tone", *JANE)
    told = run("history", "Jane", "lives in", *JANE, "--json")
    assert [one["status"] for one in told] == ["superseded", "active"]
    shown = run("history", "Jane", "lives in", *JANE)
    assert shown.index("Jane lives in Berlin") < shown.index("Jane lives in Oslo") and " to now" in shown
    assert "no such statements" in run("history", "Ann", "lives in", *JANE, code=1)
    assert [one["kind"] for one in run("list", *JANE, "--json")] == ["preference", "fact"]
    assert len(run("list", "--hidden", "--kind", "fact", *JANE, "--json")) == 2
    assert len(run("list", "--hidden", "--limit", "1", *JANE, "--json")) == 1
    assert "Jane lives in Oslo" in run("list", "--subject", "jane", *JANE)
    assert "nothing there" in run("list", *JOE, code=1)
    for command in (["list"], ["known"], ["recall", "Jane"]):
        assert run(*command, *JANE, "--known-at", "2020-01-01", code=1)
        assert "--as-of: expected" in run(*command, *JANE, "--as-of", "then", code=2)
    assert "--known-at: expected" in run("history", "Jane", "lives in", *JANE, "--known-at", "then", code=2)


def test_the_text_may_stand_behind_options(run) -> None:
    run("add", "--kind", "preference", "--key", "units", *JANE, "Celsius")
    assert [one["text"] for one in run("list", *JANE, "--json")] == ["Celsius"]
    assert "unrecognized arguments: b" in run(
        "add", "a", "--kind", "preference", "--key", "k", *JANE, "b", code=2
    )
    assert "unrecognized arguments: a b" in run("add", "--key", "k", *JANE, "a", "b", code=2)
    assert "unrecognized arguments: b" in run("list", *JANE, "b", code=2)


def test_commands_confirm_revoke_hold_and_delete(run) -> None:
    rule = run("add", "acme closes", "--subject", "acme", "--tenant", "acme", "--json")
    assert not rule["active"]
    assert "confirmed by boss" in run("confirm", rule["id"], "--by", "boss", "--tenant", "acme")
    said = run("add", "Jane sails", *JANE, "--json")["id"]
    assert run("revoke", said, "--reason", "not so", *JANE, "--json") == {"revoked": said}
    assert run("why", said, *JANE, "--json")["record"]["status"] == "revoked"
    assert "no " in run("revoke", said, "--reason", "not so", *JOE, code=2)
    assert "nothing is held" in run("holds", *JANE, code=1)
    assert "held" in run("hold", "--reason", "case 17", "--by", "legal", *JANE)
    [held] = run("holds", "--tenant", "acme", "--json")
    assert (held["scope"]["user"], held["reason"], held["by"]) == ("jane", "case 17", "legal")
    assert "case 17" in run("holds", "--tenant", "acme")
    assert "case 17" in run("forget", "--yes", *JANE, code=2)
    assert "released" in run("release", *JANE)
    assert "no such hold" in run("release", *JANE, code=2)
    run("hold", "--reason", "tax", "--name", "18", *JANE)
    run("hold", "--reason", "case 17", *JANE)
    assert "name: expected that of one of the holds" in run("release", *JANE, code=2)
    run("release", "--name", "18", *JANE)
    assert [one["name"] for one in run("holds", *JANE, "--json")] == ["case 17"]

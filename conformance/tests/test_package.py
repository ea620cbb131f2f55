"""The parts around the checks: capabilities, the report, the command line, the plugin, the embedder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faults_writing import CutsLongTexts
from memory_store_conformance import (
    LEVELS,
    HashingEmbedder,
    Item,
    Report,
    Scope,
    Setting,
    all_checks,
    conformance_test,
    validate,
)
from memory_store_conformance.cli import run
from memory_store_conformance.factories import address_of, load
from memory_store_conformance.outcomes import NotOffered
from memory_store_conformance.registry import check
from reference import ReferenceStore

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parent


class Least:
    """The minimal store."""

    def __init__(self, setting: Setting) -> None:
        self._items: dict[Any, Item] = {}

    def put(self, scope: Scope, items: Any) -> None:
        self._items |= {(scope, item.id): item for item in items}

    def get(self, scope: Scope, id: str) -> Item | None:
        return self._items.get((scope, id))

    def close(self) -> None: ...


class Hangs(Least):
    def get(self, scope: Scope, id: str) -> Item | None:
        time.sleep(60)
        return None


class Broken(Least):
    def get(self, scope: Scope, id: str) -> Item | None:
        raise KeyError("row 7")


class Declines(Least):
    def get(self, scope: Scope, id: str) -> Item | None:
        raise NotImplementedError


def test_what_a_store_lacks_is_not_offered_and_never_passed() -> None:
    report = validate(Least)
    outcomes = {result.id: result.outcome for result in report.results}
    assert len(outcomes) == len(all_checks())
    lacking = [one.id for one in all_checks() if one.needs]
    assert {outcomes[id] for id in lacking} == {"not offered"} and len(lacking) > 60
    assert outcomes["crud.round-trip"] == "passed"
    assert outcomes["crud.no-alias"] == "failed"  # it keeps the caller's objects
    assert all(result.evidence for result in report.results if result.outcome == "not offered")


def test_a_report_tells_what_why_and_how() -> None:
    report = validate(CutsLongTexts, only=["crud.round-trip", "crud.missing"], name="cuts")
    table = report.table()
    assert (
        "FAILED crud.round-trip" in table and "evidence: wrote 'xxxx" in table and "why it matters" in table
    )
    assert "1 passed, 1 failed, 0 not offered, 0 measured" in table
    assert report.exit_code == 1 and report.name == "cuts"
    again = Report.from_json(report.to_json())
    assert again.table() == table
    with pytest.raises(ValueError, match="expected a report"):
        Report.from_json('{"x": 1}')


def test_a_hanging_store_fails_its_check_and_not_the_run() -> None:
    (result,) = validate(Hangs, only=["crud.missing"], time_limit=0.3).results
    assert (result.outcome, result.evidence) == ("failed", "no answer within 0 s")


def test_an_exception_is_evidence() -> None:
    (result,) = validate(Broken, only=["crud.missing"]).results
    assert (
        result.outcome == "failed"
        and "KeyError: 'row 7'" in result.evidence
        and "store.get" in result.evidence
    )
    (result,) = validate(Declines, only=["crud.missing"]).results
    assert result.outcome == "not offered"
    assert validate(Declines, only=["crud.missing"]).exit_code == 2  # nothing was judged


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"crud\.nothing"):
        validate(Least, only=["crud.nothing"])
    with pytest.raises(ValueError, match="module:name"):
        load("nothing")
    with pytest.raises(ValueError, match="NoSuchStore"):
        load("reference:NoSuchStore")
    with pytest.raises(ValueError, match="levels"):
        check("nolevel.x", why="")
    odd = type("Odd", (Least,), {"offers": {"magic"}})
    with pytest.raises(ValueError, match="magic"):
        validate(odd, only=["crud"])


def test_factories_have_addresses() -> None:
    assert load(address_of(ReferenceStore)) is ReferenceStore
    by_file = load(f"{TESTS / 'reference.py'}:ReferenceStore")
    assert load(address_of(by_file)) is by_file
    with pytest.raises(NotOffered):
        address_of(lambda setting: ReferenceStore(setting))
    (result,) = validate(lambda setting: ReferenceStore(setting), only=["durability.kill"]).results
    assert result.outcome == "not offered" and "lambda" in result.evidence


def test_every_check_says_what_and_why() -> None:
    for one in all_checks():
        assert one.promise.endswith(".") and len(one.why) > 10, one.id
        assert one.level in {"costs"} or one.run.__module__.startswith("memory_store_conformance.checks"), (
            one.id
        )
    assert len({one.id for one in all_checks()}) == len(all_checks()) > 90


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert (
        run(["run", "reference:ReferenceStore", "--only", "crud.count", "--json", str(file), "--quiet"]) == 0
    )
    assert "1 passed, 0 failed" in capsys.readouterr().out
    assert json.loads(file.read_text())["results"][0]["id"] == "crud.count"
    assert (
        run(["run", "faults_writing:CutsLongTexts", "--only", "crud.round-trip", "--json", "-", "--quiet"])
        == 1
    )
    assert json.loads(capsys.readouterr().out)["results"][0]["outcome"] == "failed"
    assert run(["run", "reference:Nothing"]) == 2
    assert run(["list", "--only", "paging"]) == 0
    assert "paging.linear [needs page]" in capsys.readouterr().out


def test_the_command_as_a_process() -> None:
    command = [
        sys.executable,
        "-m",
        "memory_store_conformance",
        "run",
        f"{TESTS / 'reference.py'}:ReferenceStore",
    ]
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [*command, "--only", "durability.kill", "crud.missing"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "2 passed" in done.stdout


test_in_a_test_file = conformance_test(CutsLongTexts, only=["crud"], known_failures=["crud.round-trip"])


def loading() -> list[str]:
    """Return the pytest options that load the plugin: none if the package is installed."""
    installed = entry_points(group="pytest11")
    known = any(one.value == "memory_store_conformance.plugin" for one in installed)
    return [] if known else ["-p", "memory_store_conformance.plugin"]


def test_the_plugin(pytester: pytest.Pytester) -> None:
    path = repr(str(TESTS))
    pytester.makeconftest(f"import sys; sys.path.insert(0, {path})")
    pytester.makepyfile(
        test_mine="""
        from faults_writing import ListsTwenty
        from memory_store_conformance import conformance_test
        test_store = conformance_test(ListsTwenty, only=["crud.list", "crud.count"])
        """
    )
    result = pytester.runpytest_inprocess(*loading())
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*evidence: expected 30 items, got 20*"])
    with pytest.raises(ValueError, match=r"crud\.nothing"):
        conformance_test(ReferenceStore, known_failures=["crud.nothing"])


def test_the_plugin_s_option(pytester: pytest.Pytester) -> None:
    options = [
        "--memory-store",
        f"{TESTS / 'faults_writing.py'}:ListsTwenty",
        "--memory-store-only",
        "crud.list,crud.count",
    ]
    result = pytester.runpytest_inprocess(*loading(), *options)
    result.assert_outcomes(passed=1, failed=1)


def test_the_readme() -> None:
    text = (TESTS.parent / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "readme"}
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(code, "README.md", "exec"), names)
    assert callable(names["test_my_store"]) and names["report"].exit_code == 1
    table = re.findall(r"^\| (\w+) \|", text, re.MULTILINE)
    assert table[1:] == list(LEVELS)


def test_the_embedder() -> None:
    embedder = HashingEmbedder()
    vectors = embedder.embed_documents(["Trains at night", "", "夜の電車", "🦜", "x" * 10_000])
    assert vectors.shape == (5, 256) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], embedder.embed_query("Trains at night"))
    assert embedder.embed_documents([]).shape == (0, 256)
    with pytest.raises(ValueError, match="dim"):
        HashingEmbedder(2)

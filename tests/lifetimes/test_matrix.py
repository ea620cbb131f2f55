"""Every public method in each situation: a typed error or the right answer, exit code 0, no signal, no hang.

The default run takes a fixed share of the cases; `--long` takes all of them, as tests/long/run does.
To run a single case: `python -m tests.lifetimes.server "close: Index.get"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lifetimes import api
from tests.lifetimes.arguments import MAKERS, WITHOUT_OBJECTS, caller
from tests.lifetimes.situations import all_cases

ROOT = Path(__file__).resolve().parents[2]
SHARES = {"close": 10, "closed": 10, "exit": 16, "fork": 20, "callback": 10, "uninitialised": 8, "hostile": 8}
"""The default run takes one case in this many."""


def test_every_class_can_be_made() -> None:
    made = {name.partition(" ")[0] for name in MAKERS}
    missing = set(api.classes()) - made - WITHOUT_OBJECTS
    assert not missing, (
        f"add how {', '.join(sorted(missing))} are made to MAKERS in tests/lifetimes/arguments.py"
    )


def test_every_member_can_be_called() -> None:
    missing = []
    for name in api.classes():
        for member in api.members(api.classes()[name]):
            try:
                caller(name, member)
            except LookupError as error:
                missing.append(str(error))
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", ["Index", "Admin"])
def test_a_new_method_enters_by_itself(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    cls = api.classes()[name]
    monkeypatch.setattr(cls, "brand_new", lambda self: None, raising=False)
    assert {case.situation for case in all_cases() if case.member == "brand_new"} >= set(SHARES) - {
        "uninitialised"
    }
    monkeypatch.setattr(cls, "brand_new", lambda self, unheard_of: None)
    with pytest.raises(LookupError, match=name + r".brand_new\(unheard_of\): add these parameters to VALUES"):
        caller(name, "brand_new")


@pytest.mark.parametrize("situation", SHARES)
def test_every_class_passes_in_this_situation(situation: str) -> None:
    _run(f"{situation}:", "--share", str(SHARES[situation]))


@pytest.mark.long
@pytest.mark.parametrize("situation", SHARES)
def test_every_method_in_every_situation(situation: str) -> None:
    _run(f"{situation}:", environment={**os.environ, "SCRUBJAY_ALL_HOSTILE": "1"})


def _run(*arguments: str, environment: dict[str, str] | None = None) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.lifetimes.server", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=1800,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]

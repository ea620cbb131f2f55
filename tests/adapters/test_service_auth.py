"""Tokens and their grants."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from scrubjay import Scope, cli
from scrubjay.adapters.service import Grant, Tokens, add_token, auth
from scrubjay.adapters.service.auth import RefusedError, TokenFileError

NAMES = st.none() | st.sampled_from(["a", "b", "A", "a\x00", "é", "e\u0301", "*", ""])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@given(NAMES, NAMES, NAMES, st.tuples(NAMES, NAMES, NAMES))
def test_a_grant_never_gives_another_scope_than_its_own(
    tenant: str | None, user: str | None, agent: str | None, asked: tuple[str | None, ...]
) -> None:
    try:
        grant = Grant("t", tenant, user, agent)
    except ValueError:
        assert "" in (tenant, user, agent) or tenant is None
        return
    try:
        scope = grant.scope(*asked)
    except RefusedError:
        bound = [
            (one, other) for one, other in zip((tenant, user, agent), asked, strict=True) if one is not None
        ]
        assert any(other is not None and other != one for one, other in bound)
    except ValueError:
        assert "" in asked or (tenant is None and asked[0] is None)
    else:
        assert tenant is None or Scope(tenant, user, agent).contains(scope)


def test_a_token_is_found_by_its_hash_and_the_file_does_not_hold_it(path: Path) -> None:
    grant = Grant("jane's laptop", "acme", "jane", can=("read",))
    first, second = add_token(path, grant), add_token(path, Grant("app", "acme", can=("read", "erase")))
    text = path.read_text()
    assert first not in text and second not in text and first != second
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    tokens = Tokens(path)
    assert tokens.find(first) == grant and len(tokens) == 2
    for guess in (
        "",
        " ",
        first[:-1],
        first + " ",
        first.upper(),
        first.swapcase(),
        "\x00",
        "\ud800",
        "x" * 100_000,
    ):
        assert tokens.find(guess) is None
    for digest in (entry["sha256"] for entry in json.loads(text)["tokens"]):
        assert tokens.find(digest) is None  # the file does not disclose tokens


def test_a_changed_file_counts_and_a_broken_one_lets_nobody_in(path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(auth, "_CHECK_SECONDS", -1.0)
    token = add_token(path, Grant("app", "acme", can=("read",)))
    tokens = Tokens(path)
    assert tokens.find(token) is not None
    content = path.read_text()
    for broken in (
        "",
        "{",
        "[]",
        '{"tokens": {}',
        '{"tokens": [1]}',
        content.replace('"tenant"', '"tenent"'),
    ):
        path.write_text(broken)
        with pytest.raises(TokenFileError):
            tokens.find(token)
    path.unlink()
    with pytest.raises(TokenFileError, match="No such file"):
        tokens.find(token)
    path.write_text('{"tokens": []}')
    assert tokens.find(token) is None  # revoked
    path.write_text(content)
    os.utime(path, ns=(1, 1))
    assert tokens.find(token) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "00"},
        {"sha256": 5},
        {"sha256": "zz" * 32},
        {"tenant": None},
        {"tenant": ""},
        {"tenant": 5},
        {"user": ""},
        {"user": ["jane"]},
        {"can": []},
        {"can": "read"},
        {"can": ["admin"]},
        {"can": None},
        {"scope": "everything"},
    ],
)
def test_an_entry_that_is_not_understood_refuses_the_file(path: Path, change: dict[str, Any]) -> None:
    add_token(path, Grant("app", "acme", can=("read",)))
    entry = {**json.loads(path.read_text())["tokens"][0], **change}
    path.write_text(json.dumps({"tokens": [entry]}))
    with pytest.raises(TokenFileError, match=r"tokens\.json"):
        Tokens(path)


def test_two_entries_of_one_token_refuse_the_file(path: Path) -> None:
    add_token(path, Grant("app", "acme", can=("read",)))
    entry = json.loads(path.read_text())["tokens"][0]
    path.write_text(json.dumps({"tokens": [entry, {**entry, "tenant": "globex"}]}))
    with pytest.raises(TokenFileError, match="different tokens"):
        Tokens(path)


def test_a_file_that_is_not_a_token_file_is_left_unchanged(path: Path) -> None:
    path.write_text('{"important": 1}')
    with pytest.raises(TokenFileError):
        add_token(path, Grant("app", "acme"))
    assert path.read_text() == '{"important": 1}'
    with pytest.raises(ValueError, match="tenant"):
        add_token(path, Grant("app", None))


def test_the_command_line_makes_tokens(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        "serve",
        "--tokens",
        str(path),
        "--add-token",
        "jane",
        "--tenant",
        "acme",
        "--user",
        "jane",
        "--can",
        "read",
    ]
    assert cli.main(made) == 0
    token = capsys.readouterr().out.strip()
    assert Tokens(path).find(token) == Grant("jane", "acme", "jane", can=("read",))
    for wrong, said in (
        (["serve", "--add-token", "jane"], "--tokens"),
        (["serve", "--tokens", str(path), "--add-token", "jane"], "--tenant"),
        ([*made[:-1], "everything"], "can: expected"),
        (["serve"], "INDEX"),
        (["serve", "x", "--tokens", str(path), "--tenant", "acme"], "--tenant"),
        (["serve", "x", "--tokens", str(path) + ".none"], "No such file"),
        (["serve", "x", "--rate", "nan"], "rate"),
    ):
        assert cli.main(wrong) == 2
        assert said in capsys.readouterr().err

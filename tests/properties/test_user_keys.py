"""Random writes, erasures and copies with a key for each user, compared with a twin that keeps dictionaries.

The guarantee for a copy: a user's data in it are readable if and only if no later erasure destroyed the key with which
they were encrypted; other users' data are always readable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scrubjay import Index, KeyErasedError, Scope
from scrubjay.keystores import KeyFolder, UserKeys
from scrubjay.store.keys import encryption
from tests.data.postgres import new_url

pytest.importorskip("cryptography")

USERS = ("jane", "zoë")
AGENTS = (None, "bot")
SCOPES = [Scope("acme"), *(Scope("acme", user, agent) for user in USERS for agent in AGENTS)]
IDS = ("a", "b")


@dataclass
class Twin:
    """The stored texts, and the life of each user that wrote them: erasing everything of a user ends a life."""

    texts: dict[tuple[str, Scope, str], str] = field(default_factory=dict)  # (collection, scope, id) -> text
    lives: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Twin:
        return Twin(dict(self.texts), dict(self.lives))

    def write(self, collection: str, scope: Scope, id: str, text: str) -> None:
        self.texts[collection, scope, id] = text
        if scope.user is not None:
            self.lives.setdefault(scope.user, 0)

    def erase(self, collections: tuple[str, ...], scope: Scope, exact: bool) -> None:
        for key in list(self.texts):
            own = key[1]
            agrees = (
                own == scope
                if exact
                else all(
                    wanted in (None, had)
                    for wanted, had in zip((scope.user, scope.agent), (own.user, own.agent), strict=True)
                )
            )
            if key[0] in collections and agrees:
                del self.texts[key]
        users = [scope.user] if scope.user is not None else []
        if scope == Scope("acme") and not self.texts:  # the whole tenant
            users = list(self.lives)
        for user in users:
            if user in self.lives and not any(own.user == user for _, own, _ in self.texts):
                self.lives[user] += 1


class Machine:
    """One index with two collections, in a file or a database."""

    def __init__(self, root: Path, *, postgres: bool) -> None:
        self.root, self.postgres = root, postgres
        self.path: Any = new_url() if postgres else root / "m.scrubjay"
        self.keys = UserKeys(lambda tenant: b"k" * 32, KeyFolder(root / "keys"))
        self.twin = Twin()
        self.copies: list[tuple[Path, Twin]] = []
        self.open()

    def open(self) -> None:
        self.index = Index.open(self.path, keys=self.keys)
        self.collections = {"": self.index, "notes": self.index.collection("notes")}

    def step(self, random: Random) -> str:
        """Do a random operation, and return its description."""
        collection, scope, id = random.choice(("", "notes")), random.choice(SCOPES), random.choice(IDS)
        exact, everywhere = random.random() < 0.5, random.random() < 0.5
        what = random.choices(("write", "delete", "erase", "reopen", "copy"), (12, 1, 5, 1, 1))[0]
        if what == "write":
            self.write(collection, scope, id, random.randrange(100))
        elif what == "delete":
            self.delete(scope, id)
        elif what == "erase":
            self.erase(collection, scope, exact, everywhere)
        elif what == "reopen":
            self.reopen()
        elif not self.postgres and len(self.copies) < 6:
            self.copy()
        return f"{what} {collection!r} {scope!r} {id!r} exact={exact} everywhere={everywhere}"

    def end(self) -> None:
        self.index.close()
        for path, twin in self.copies:
            self.judge_copy(path, twin)

    def write(self, collection: str, scope: Scope, id: str, n: int) -> None:
        self.collections[collection].upsert(id, f"word{n} said", scope=scope)
        self.twin.write(collection, scope, id, f"word{n} said")

    def delete(self, scope: Scope, id: str) -> None:
        assert self.index.delete(id, scope=scope) == (("", scope, id) in self.twin.texts)
        self.twin.texts.pop(("", scope, id), None)

    def erase(self, collection: str, scope: Scope, exact: bool, everywhere: bool) -> None:
        self.collections[collection].erase(scope, exact=exact, everywhere=everywhere)
        self.twin.erase(("", "notes") if everywhere else (collection,), scope, exact)

    def reopen(self) -> None:
        self.index.close()
        self.open()

    def copy(self) -> None:
        path = self.root / f"copy{len(self.copies)}.scrubjay"
        self.index.admin.backup(path)
        self.copies.append((path, self.twin.copy()))

    def is_what_the_twin_says(self) -> None:
        for name, collection in self.collections.items():
            for scope in SCOPES:
                assert read(collection, scope) == expected(self.twin, name, scope), (name, scope)

    def reports_say_how_many_lives_ended(self) -> None:
        for user, life in self.twin.lives.items():
            keys = self.index.admin.verify_erased(scope=Scope("acme", user)).keys
            n_destroyed = sum(key.destroyed_at is not None for key in keys)
            assert n_destroyed <= life  # those of a whole tenant are not reported
            lives = any(own.user == user for _, own, _ in self.twin.texts)
            assert len(keys) - n_destroyed <= 1 and len(keys) - n_destroyed >= lives

    def judge_copy(self, path: Path, then: Twin) -> None:
        dead = {user for user, life in then.lives.items() if self.twin.lives[user] != life}
        with Index.open(path, keys=self.keys) as index:
            for name, collection in (("", index), ("notes", index.collection("notes"))):
                for scope in SCOPES:
                    wanted = {} if scope.user in dead else expected(then, name, scope)
                    assert read(collection, scope) == wanted, (path.name, scope)
                    had_key = any(own == scope for _, own, _ in then.texts)
                    if scope.user in dead and had_key:
                        with pytest.raises(KeyErasedError):
                            collection.upsert("x", "x", scope=scope)


def read(index: Index, scope: Scope) -> dict[str, str]:
    """Return the contents of an exact scope, read in three ways."""
    listed = {one.id: one.text for one in index.list(scope) if one.scope == scope}
    found = {hit.id: hit.text for hit in index.search("said", scope=scope, k=100) if hit.scope == scope}
    assert listed == found
    for id in IDS:
        got = index.get(id, scope=scope)
        assert (got.text if got is not None and got.scope == scope else None) == listed.get(id)
    return listed  # type: ignore[return-value]


def expected(twin: Twin, collection: str, scope: Scope) -> dict[str, str]:
    return {id: text for (name, own, id), text in twin.texts.items() if (name, own) == (collection, scope)}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("store", ["file", "postgres"])
def test_random_writes_erasures_and_copies(
    store: str, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(encryption, "KEY_SECONDS", -1.0)
    random = Random(seed)
    machine = Machine(tmp_path, postgres=store == "postgres")
    done: list[str] = []
    try:
        for _ in range(60 if store == "file" else 30):
            done.append(machine.step(random))
            machine.is_what_the_twin_says()
        machine.reports_say_how_many_lives_ended()
        machine.end()
    except BaseException as error:
        error.add_note("\n".join(done)) if hasattr(error, "add_note") else print("\n".join(done))
        raise
    assert any(machine.twin.lives.values())

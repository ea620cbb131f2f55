"""The server itself isolates tenants, and a role with least privileges suffices to serve."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from scrubjay import Index, Scope, StoreError, StoreFormatError
from scrubjay.backend import Backend
from scrubjay.cli import main
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch
from scrubjay.store.postgres.roles import make_roles
from scrubjay.store.postgres.row_security import EVERY_HOME, NO_HOME, Home, protect, unprotected
from scrubjay.store.postgres.server import connection_class
from tests.data.postgres import as_superuser, new_url

psycopg = pytest.importorskip("psycopg")

JANE, JOE = Scope("acme", user="jane"), Scope("globex", user="joe")


class Roles:
    """A database with both roles."""

    def __init__(self) -> None:
        self.admin = as_superuser(new_url())
        self.migrate, self.serve = f"m{secrets.token_hex(4)}", f"s{secrets.token_hex(4)}"

    def make(self) -> Any:
        return make_roles(self.admin, migrate=self.migrate, serve=self.serve)

    def url(self, role: str) -> str:
        return self.admin.replace("//tests@", f"//{role}@")


@pytest.fixture
def roles() -> Roles:
    found = Roles()
    if found.url("x") == found.admin:
        pytest.skip("the server of SCRUBJAY_TEST_POSTGRES has roles of its own")
    found.make()
    return found


@pytest.fixture
def served(roles: Roles) -> Iterator[str]:
    with Index.open(roles.url(roles.serve)) as index:
        index.upsert_many([{"id": f"m{i}", "text": f"oak {i}", "scope": JANE} for i in range(20)])
        index.upsert_many([{"id": f"g{i}", "text": f"jay {i}", "scope": JOE} for i in range(3)])
        index.delete("m0", scope=JANE)
        index.feedback(index.search("jay", scope=JOE)[0], scope=JOE, used=True)
        index.admin.compact()
        index.delete("g0", scope=JOE)
        yield roles.url(roles.serve)


def rows(url: str, query: str, *, home: Home = NO_HOME) -> list[tuple[Any, ...]]:
    with connection_class().connect(url, autocommit=True) as connection:
        return Batch(connection, begun=False).ask(query, home=home)


def homes(connection_url: str) -> list[str]:
    return [
        table
        for (table,) in rows(
            connection_url,
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'home' "
            "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'",
        )
    ]


def back_to_version_2(admin: str) -> None:
    """Remove what later versions added to the tables."""
    for statement in (
        "ALTER TABLE sj_image DROP object, DROP n_bytes",
        "DROP TABLE sj_digest",
        "DROP TABLE sj_user_key",
        "ALTER TABLE sj_schema DROP user_homes",
        "DROP TABLE sj_cold",
        "ALTER TABLE sj_scope DROP cold, DROP used",
        "ALTER TABLE sj_scope DROP digest",
        "ALTER TABLE sj_home DROP key_id, DROP key_mark, DROP key_fingerprint, DROP key_wrapped",
        "DROP TABLE sj_staged",
        "ALTER TABLE sj_scope DROP embedding",
        "ALTER TABLE sj_collection DROP embedding, DROP reembedding",
        "UPDATE sj_schema SET version = 2",
    ):
        rows(admin, statement)


class TestWalls:
    def test_a_statement_that_forgets_its_scope_gets_nothing_of_others(
        self, roles: Roles, served: str
    ) -> None:
        tables = homes(served)
        assert set(tables) >= {*schema.TABLES, "sj_home"}
        for url in (served, roles.url(roles.migrate)):  # the owner, too
            for table in tables:
                everything = f"SELECT DISTINCT home FROM {table}"
                assert rows(url, everything) == []
                assert rows(url, everything, home="acme") in ([("acme",)], [])
                assert {home for (home,) in rows(url, everything, home=EVERY_HOME)} <= {"acme", "globex"}
            assert rows(url, "SELECT count(*) FROM sj_document", home="acme") == [(19,)]
            assert rows(url, "SELECT count(*) FROM sj_document", home="globex") == [(2,)]
            assert rows(url, "SELECT count(*) FROM sj_document", home=EVERY_HOME) == [(21,)]
        assert rows(roles.admin, "SELECT count(*) FROM sj_document") == [(21,)]  # superusers bypass policies

    def test_a_write_that_forgets_its_scope_changes_nothing_of_others(
        self, roles: Roles, served: str
    ) -> None:
        for home, n in ((NO_HOME, 0), (EVERY_HOME, 0), ("globex", 2)):
            changed = "UPDATE sj_document SET pending = false RETURNING home"
            assert rows(served, changed, home=home) == [("globex",)] * n
            gone = "DELETE FROM sj_tombstone RETURNING home"
            assert rows(served, gone, home=home) == [("globex",)] * (n > 0)
        assert rows(roles.admin, "SELECT DISTINCT home FROM sj_tombstone") in ([("acme",)], [])
        for home in (NO_HOME, EVERY_HOME, "globex"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                rows(served, "INSERT INTO sj_home VALUES ('intruder', 0)", home=home)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                rows(served, "UPDATE sj_home SET home = 'acme'", home="globex")

    def test_the_store_finds_nothing_when_it_forgets_a_condition(self, roles: Roles, served: str) -> None:
        with Index.open(served) as index:
            store: Any = Backend.of(index).engine.store  # type: ignore[union-attr]
            forgetful = "SELECT DISTINCT home FROM sj_document"
            assert store.ask(forgetful) == []
            assert store.ask(forgetful, home="acme") == [("acme",)]
            with store.snapshot():
                assert store.ask(forgetful, home=EVERY_HOME) != []
                assert store.ask(forgetful) == []
                assert store.ask(forgetful, home="globex") == [("globex",)]
            with store.writing("writing", scopes=[JANE]) as transaction:
                assert store.ask(forgetful) == []
                assert transaction.batch.ask(forgetful, home="acme") == [("acme",)]
                transaction.batch.add("DELETE FROM sj_document", home="globex")
                transaction.roll_back()
                transaction.committed = True

    def test_a_setting_goes_with_its_transaction(self, served: str) -> None:
        with connection_class().connect(served, autocommit=True) as connection:
            assert Batch(connection, begun=False).ask("SELECT 1 FROM sj_home", home="acme") == [(1,)]
            assert connection.execute("SELECT 1 FROM sj_home").fetchall() == []
            batch = Batch(connection)
            batch.add("BEGIN")
            assert batch.ask("SELECT home FROM sj_home", home="acme") == [("acme",)]
            assert batch.ask("SELECT home FROM sj_home", home="globex") == [("globex",)]
            batch.commit()
            assert batch.ask("SELECT home FROM sj_home") == []
            assert batch.ask("SELECT home FROM sj_home", home="acme") == [("acme",)]
            assert connection.execute("SELECT 1 FROM sj_home").fetchall() == []

    def test_a_new_table_gets_its_wall(self, roles: Roles) -> None:
        url = roles.url(roles.migrate)
        with psycopg.connect(url, autocommit=True) as connection:
            assert unprotected(connection) == []
            connection.execute("CREATE TABLE sj_later(home text PRIMARY KEY, secret text)")
            connection.execute("CREATE TABLE sj_small(one int PRIMARY KEY)")
            assert unprotected(connection) == ["sj_later"]
            protect(connection)
            protect(connection)
            assert unprotected(connection) == []
        for home in ("acme", "globex"):
            rows(
                roles.url(roles.serve),
                f"INSERT INTO sj_later VALUES ('{home}', 'x') RETURNING home",
                home=home,
            )
        assert rows(roles.url(roles.serve), "SELECT home FROM sj_later", home="globex") == [("globex",)]
        assert rows(roles.url(roles.serve), "SELECT home FROM sj_later") == []

    def test_rows_of_several_tenants_in_one_call(self, served: str) -> None:
        scopes = [Scope(f"t{i}", user="ü") for i in range(5)]
        with Index.open(served) as index:
            records = [
                {"id": f"r{i}", "text": f"acorn {i}", "scope": scopes[i % 5], "metadata": {"n": i}}
                for i in range(300)
            ]
            index.upsert_many(records)
            index.upsert_many(records[:50])
            for scope in scopes:
                assert len(index.search("acorn", scope=scope, k=100)) == 60
            assert index.erase(scopes[0]) == 60
            assert index.admin.check().problems == []
            assert len(index) == 21 + 240


class TestRoles:
    def test_the_serving_role_does_all_that_an_index_does(self, served: str) -> None:
        with Index.open(served) as index:
            index.upsert("late", "a train", scope=JANE, expires_at="2020-01-01T00:00:00Z")
            assert index.admin.sweep() == 1
            index.collection("notes", dim=2).upsert("n", "a note", scope=JANE, vector=[1, 2])
            assert index.admin.collections() == ["notes"]
            assert index.admin.drop_collection("notes") == 1
            assert {scope.tenant for scope in index.scopes()} == {"acme", "globex"}
            assert index.admin.stats()["documents"] == 21
            assert index.erase(JOE, everywhere=True) == 2
            assert index.admin.check().clean
            assert [event.scope for event in index.admin.events()].count(JANE) == 3

    def test_the_serving_role_changes_no_table_and_no_policy(self, roles: Roles, served: str) -> None:
        for statement in (
            "CREATE TABLE mine(one int)",
            "ALTER TABLE sj_document DISABLE ROW LEVEL SECURITY",
            "DROP POLICY sj_home ON sj_document",
            "TRUNCATE sj_document",
            "UPDATE sj_schema SET version = 0",
            f"SET ROLE {roles.migrate}",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                rows(served, statement)

    def test_tables_that_must_be_migrated(self, roles: Roles) -> None:
        back_to_version_2(roles.admin)
        rows(roles.admin, "UPDATE sj_schema SET version = 1")
        rows(roles.admin, "ALTER TABLE sj_document NO FORCE ROW LEVEL SECURITY")
        rows(roles.admin, "DROP POLICY sj_home ON sj_document")
        rows(roles.admin, "DROP POLICY sj_across ON sj_document")
        with pytest.raises(StoreFormatError, match=r"got 1, and this user may not .* `scrubjay roles`"):
            Index.open(roles.url(roles.serve))
        with Index.open(roles.url(roles.migrate)) as owner:
            assert owner.admin.check().clean
        with Index.open(roles.url(roles.serve)) as served:
            served.upsert("m", "oak", scope=JANE)
        assert rows(roles.url(roles.serve), "SELECT home FROM sj_document") == []

    def test_tables_of_version_2_keep_their_rows_and_vectors(self, roles: Roles) -> None:
        with Index.open(roles.url(roles.migrate), dim=2) as owner:
            owner.upsert("m", "oak", scope=JANE, vector=[1.0, 2.0])
        back_to_version_2(roles.admin)
        with pytest.raises(StoreFormatError, match=r"got 2, and this user may not .* `scrubjay roles`"):
            Index.open(roles.url(roles.serve))
        Index.open(roles.url(roles.migrate)).close()
        with Index.open(roles.url(roles.serve)) as served:
            found = served.get("m", scope=JANE)
            assert found is not None and [*map(float, found.vector)] == [1.0, 2.0]  # type: ignore[union-attr,arg-type]
            assert [hit.id for hit in served.search(vector=[1.0, 2.0], scope=JANE)] == ["m"]
            served.upsert("m", "oak again", scope=JANE, vector=[2.0, 2.0])
            served.upsert("n", "jay", scope=JOE, vector=[2.0, 2.0])
            assert served.admin.check().clean
        assert unprotected(psycopg.connect(roles.admin)) == []

    def test_make_roles_is_idempotent_over_tables_of_another_owner(self) -> None:
        url = new_url()
        with Index.open(url) as index:
            index.upsert("m", "oak", scope=JANE)
        admin, (migrate, serve) = as_superuser(url), (f"m{secrets.token_hex(4)}", f"s{secrets.token_hex(4)}")
        assert make_roles(admin, migrate=migrate, serve=serve).made == [migrate, serve]
        assert make_roles(admin, migrate=migrate, serve=serve).made == []
        with Index.open(admin.replace("//tests@", f"//{serve}@")) as index:
            assert len(index.search("oak", scope=JANE)) == 1

    def test_unsuitable_roles_are_refused(self, roles: Roles) -> None:
        for names in (("same", "same"), ("", "x"), ("x", "")):
            with pytest.raises(ValueError, match="two different roles"):
                make_roles(roles.admin, migrate=names[0], serve=names[1])
        with pytest.raises(StoreError, match="row-level security binds, got 'tests'"):
            make_roles(roles.admin, migrate=roles.migrate, serve="tests")
        rows(roles.admin, f"GRANT {roles.migrate} TO {roles.serve}")
        with pytest.raises(StoreError, match="not a member"):
            roles.make()
        with pytest.raises(StoreError, match="right"):
            make_roles(roles.url(roles.serve), migrate="anyone_1", serve="anyone_2")

    def test_the_roles_command_creates_both_roles(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = Roles()
        command = ["roles", found.admin, "--migrate", found.migrate, "--serve", found.serve]
        assert main([*command, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["made"] == [found.migrate, found.serve] and "sj_document" in facts["tables"]
        assert "tests@" not in facts["at"]
        assert main([*command, "--user-homes", "0"]) == 0
        assert main([*command, "--user-homes", "8"]) != 0
        assert "user_homes: expected 0" in capsys.readouterr().err
        assert main(command) == 0
        assert found.serve in capsys.readouterr().out
        assert main(["roles", "a.scrubjay", "--migrate", "a", "--serve", "b"]) == 2
        assert "a file has no roles" in capsys.readouterr().err

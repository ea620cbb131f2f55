"""Runs the suites of memory once for each store: over a file, and over PostgreSQL where there is a server.

A test opens its memories by paths, as ever; over PostgreSQL each path stands for a database of its own.
"""

from __future__ import annotations

import os

import pytest

from tests.data.stores import use_postgres

FILE_ONLY = {
    "test_copying": "copies between both",
    "test_costs": "counts the statements of SQLite",
    "test_extractors": "has no store",
    "test_memory_damage": "damages a file",
    "test_memory_encryption": "tenants are encrypted in files only",
    "test_kills": "kills at statements of SQLite; test_postgres_memory does at those of PostgreSQL",
    "test_machine": "has a twin in test_postgres_memory",
    "test_mutants": "runs the suites itself",
    "test_mutants_around": "runs the suites itself",
    "test_postgres_memory": "has databases of its own",
    "test_projection": "has no store",
    "test_raw_writes": "is about the rules in the file",
    "test_schema": "is about the tables in the file",
    "test_stabilise": "has no store",
}
"""Modules of which nothing is about a database, and why."""
ABOUT_FILES = {
    "test_bad_usage_is_said": "looks at the folder",
    "test_what_is_distilled_once_is_not_distilled_again": "is about the rules in the file",
    "test_it_needs_a_file": "opens a text",
    "test_values_of_an_encrypted_tenant_are_not_in_the_file": "tenants are encrypted in files only",
    "test_values_are_sealed_when_a_tenant_gets_a_key_later": "tenants are encrypted in files only",
    "test_a_changed_detail_is_damage": "damages a file",
    "test_damaged_notes_are_left_out_and_named": "damages a file",
    "test_a_sealed_tenant_without_its_key_shows_nothing": "tenants are encrypted in files only",
    "test_a_memory_of_format_1_opens_and_takes_values": "no database is of an older format",
    "test_traces_are_sealed_with_the_tenants_key": "tenants are encrypted in files only",
    "test_what_only_an_erasure_may_delete_stays": "is about the rules in the file",
    "test_the_schema_holds_it_append_only": "is about the rules in the file",
    "test_every_json_value_comes_back_as_the_file_has_it": "tenants are encrypted in files only",
    "test_what_format_1_said_comes_back": "no database is of an older format",
    "test_no_key_is_asked_for": "tenants are encrypted in files only",
    "test_a_backup_has_them": "a backup is a copy of the file",
    "test_numbers_of_policies_go_on_after_an_upgrade": "no database is of an older format",
    "test_the_feed_of_an_encrypted_tenant_is_sealed": "tenants are encrypted in files only",
    "test_the_log_of_a_memory_of_format_1_is_its_feed": "no database is of an older format",
    "test_a_memory_of_format_1_is_migrated_with_its_history": "no database is of an older format",
}
"""Tests, and why."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each store, unless it is about files."""
    if "store" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        is_about_files = module in FILE_ONLY or metafunc.function.__name__ in ABOUT_FILES
        is_about_files = is_about_files or "SCRUBJAY_TEST_KEYS" in os.environ  # tenants are encrypted
        metafunc.parametrize("store", ["file"] if is_about_files else ["file", "postgres"], indirect=True)


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the store of this run of a test, "file" or "postgres"."""
    kind: str = getattr(request, "param", "file")  # a state machine has none
    if kind == "postgres":
        use_postgres(monkeypatch)
    return kind

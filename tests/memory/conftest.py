"""Fixtures that run the suites of memory once for each store: over a file, and over PostgreSQL if there is a server.

Tests open their memories by paths in both cases; over PostgreSQL each path stands for a database of its own. Some also
run over a database in which the users of a tenant are in homes of their own; with SCRUBJAY_TEST_USER_HOMES all do.
"""

from __future__ import annotations

import os

import pytest

from scrubjay.store.residency import housekeeping
from tests.data.routed_databases import use_routed
from tests.data.stores import use_buckets, use_postgres

FILE_ONLY = {
    "test_copying": "copies between both",
    "test_costs": "counts the statements of SQLite",
    "test_extractors": "has no store",
    "test_memory_damage": "damages a file",
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
"""Modules without a test that concerns a database -> reason."""
OVER_BUCKETS = {"test_holds", "test_forgetting", "test_names_erased"}
"""Modules that also run over homes of users: they concern more than one home at a time."""
OVER_SERVERS = {"test_forgetting", "test_overview"}
"""Modules that also run over homes of users in three databases, where a statement that is not about one home finds too
little; with SCRUBJAY_TEST_SERVERS=1 all do."""
ABOUT_FILES = {
    "test_no_content_is_in_any_byte_after_any_write": "reads the bytes of a file; test_postgres_keys reads every row",
    "test_equal_contents_have_hashes_that_cannot_be_guessed": "reads the file",
    "test_a_tenant_that_was_in_the_clear_is_sealed_and_its_memory_goes_on": "a database seals from the first write",
    "test_the_first_write_of_any_kind_after_the_key_seals_all_that_was_there": "a database seals from the first write",
    "test_a_write_that_fails_seals_nothing_and_keeps_the_rules": "is about the rules in the file",
    "test_killed_while_a_tenant_is_sealed_all_of_it_is_or_nothing": "a database seals from the first write",
    "test_openers_without_keys_are_refused_after_encryption": "a database seals from the first write",
    "test_threads_of_two_openers_that_write_first_at_once_lose_nothing": "a database seals from the first write",
    "test_inserted_moved_or_changed_sealed_rows_are_corrupt": "changes the file",
    "test_cells_of_two_facts_cannot_be_exchanged": "changes the file",
    "test_events_and_details_cannot_be_exchanged": "changes the file",
    "test_the_feed_of_an_encrypted_tenant_is_sealed": "reads the file",
    "test_no_key_is_asked_for": "reads the bytes of a file",
    "test_traces_are_sealed_with_the_tenants_key": "reads the bytes of a file",
    "test_invalid_usage_exits_with_2_and_a_message": "looks at the folder",
    "test_overlapping_distilled_ranges_are_refused_by_the_schema": "is about the rules in the file",
    "test_a_memory_needs_an_index_with_a_file": "opens a text",
    "test_values_of_an_encrypted_tenant_are_not_in_the_file": "reads the bytes of a file",
    "test_values_are_sealed_when_a_tenant_gets_a_key_later": "a database seals from the first write",
    "test_a_changed_detail_is_damage": "damages a file",
    "test_damaged_notes_are_left_out_and_named": "damages a file",
    "test_a_memory_of_format_1_opens_and_takes_values": "no database is of an older format",
    "test_the_erasing_mark_is_removed_after_an_erasure": "is about the rules in the file",
    "test_the_schema_holds_it_append_only": "is about the rules in the file",
    "test_files_of_format_1_export_and_import_unchanged": "no database is of an older format",
    "test_a_backup_has_them": "a backup is a copy of the file",
    "test_numbers_of_policies_go_on_after_an_upgrade": "no database is of an older format",
    "test_the_log_of_a_memory_of_format_1_is_its_feed": "no database is of an older format",
    "test_a_memory_of_format_2_is_held_on": "is about golden files",
    "test_a_memory_of_format_1_is_migrated_with_its_history": "no database is of an older format",
}
"""Tests that concern only files -> reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each store, unless it concerns only files."""
    if "store" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        is_about_files = module in FILE_ONLY or metafunc.function.__name__ in ABOUT_FILES
        stores = ["file"] if is_about_files else ["file", "postgres"]
        if not is_about_files and module in OVER_BUCKETS:
            stores.append("buckets")
        over_servers = module in OVER_SERVERS or os.environ.get("SCRUBJAY_TEST_SERVERS") == "1"
        if not is_about_files and over_servers:
            stores.append("servers")
        keyed = os.environ.get("SCRUBJAY_TEST_KEYS")  # encrypts tenants in files (1) or databases (postgres)
        if keyed is not None:
            stores = [store for store in stores if store == ("postgres" if keyed == "postgres" else "file")]
        metafunc.parametrize("store", stores, indirect=True)


OTHER_DATABASES = ("SCRUBJAY_TEST_USER_HOMES", "SCRUBJAY_TEST_OBJECTS", "SCRUBJAY_TEST_COLD")


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the store of this run of a test, "file" or "postgres"."""
    kind: str = getattr(request, "param", "file")  # state machines have no parameter
    if kind == "file":
        return kind
    # A database with other homes, or with images elsewhere, is created anew.
    reuse_databases = kind == "postgres" and not any(map(os.environ.get, OTHER_DATABASES))
    use_postgres(monkeypatch, reuse_databases=reuse_databases)
    if kind in ("buckets", "servers"):
        use_buckets(monkeypatch)
    if kind == "servers":
        use_routed(monkeypatch)
    return "postgres"


@pytest.fixture
def no_background_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable background embedding: the tests trigger it."""
    monkeypatch.setattr(housekeeping, "_PAUSE_SECONDS", 3600.0)
    monkeypatch.setattr(housekeeping.Housekeeper, "hurry", lambda _: None)

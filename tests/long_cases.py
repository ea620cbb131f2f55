"""Cases that `.ci/run` leaves to `tests/long/run`: repetitions of what CI runs in another store, size or CPU level.

CI has 25 minutes on two cores. A line of `CASES` is the beginning of a test's id. `OVER_POSTGRES` names modules of
tests/memory whose tests CI runs over a file only. By hand: `pytest --slow --long PATH` runs all cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CASES: dict[str, str] = {
    **{
        f"tests/adapters/test_page_browser_access.py::test_axe_finds_nothing_serious[{case}]": (
            "each width and each scheme once"
        )
        for case in ("1440-dark", "390-light")
    },
    **{
        f"tests/adapters/test_page_memory_access_browser.py::test_every_part_is_accessible_and_fits[{case}]": (
            "the widest and the narrowest page, one in each scheme"
        )
        for case in ("1440-dark", "820-light", "820-dark", "390-light")
    },
    "tests/adapters/test_conformance.py::test_each_adapter_passes_its_suite[mcp.client.stdio-mcp_scrubjay-only4]": (
        "the same store behind four other interfaces; test_mcp and test_mcp_memory use every tool"
    ),
    "tests/contracts/test_workflows.py::test_wheels_are_tested_with_what_is_copied_for_it": (
        "the workflow that builds wheels runs it, and `make smoke` runs the same tests"
    ),
    **{
        f"tests/memory/test_known_at.py::test_known_at_returns_the_beliefs_of_that_day[postgres-{seed}]": (
            "one seed of four over PostgreSQL"
        )
        for seed in (1, 2, 3)
    },
    "tests/memory/test_embedder_outage.py::test_facts_survive_random_outages_and_are_embedded_in_the_end[postgres-1]": (
        "one seed of two"
    ),
    "tests/memory/test_memory_encryption.py::test_the_tests_of_memory_pass_with_keys[postgres]": (
        "over a file; what differs by store is in test_postgres_keys"
    ),
    **{
        f"tests/memory/test_overview.py::test_an_overview_agrees_with_a_full_listing[{store}-{seed}]": (
            "one seed of four over each database"
        )
        for store in ("postgres", "servers")
        for seed in (1, 2, 3)
    },
    "tests/memory/test_passages.py::test_written_backfilled_and_reembedded_records_have_the_same_vectors[postgres]": (
        "over a file; vectors are computed above the store"
    ),
    "tests/memory/test_session_turns.py::test_the_cached_turns_equal_the_stored_ones[postgres]": (
        "over a file; the other tests of turns run over both"
    ),
    "tests/memory/test_two_times.py::test_later_statements_do_not_change_earlier_beliefs[postgres]": (
        "hundreds of histories over a file; test_known_at and test_postgres_memory have some over PostgreSQL"
    ),
    "tests/properties/test_simd_levels.py::test_the_properties_hold_at_every_level[avx512-gather]": (
        "another level, the C++ tests at each, and equal bits of all levels"
    ),
    "tests/properties/test_simd_levels.py::test_the_properties_hold_at_every_level[baseline]": (
        "another level, the C++ tests at each, and equal bits of all levels"
    ),
    "tests/unit/test_benchmarks_lexical.py::test_instructions_are_counted_and_grow_with_the_query": (
        "CI counts the instructions of all fixed searches"
    ),
}
"""The beginning of a test's id -> what CI runs instead."""

OVER_POSTGRES: dict[str, str] = {
    "test_arguments": "refuses arguments before a store is asked",
    "test_assembly": "puts lines of a prompt together",
    "test_delivery": "chooses rules among rows that were read",
    "test_distil": "reads texts of runs",
    "test_excerpts": "cuts texts",
    "test_files": "reads files of a user",
    "test_importing": "writes through the verbs that other modules test over both",
    "test_ingest": "reads files of a user",
    "test_memory_cli": "prints what the verbs return",
    "test_relative_dates": "reads dates in texts",
    "test_seed_examples": "writes through the verbs that other modules test over both",
    "test_ten_sessions": "writes through the verbs that other modules test over both",
}
"""Module of tests/memory -> why its subject is above the store."""


def is_long(test_id: str) -> bool:
    """Whether CI leaves the test of this id to tests/long/run."""
    if test_id.startswith(tuple(CASES)):
        return True
    folder, _, rest = test_id.partition("tests/memory/")
    module, _, case = rest.partition(".py::")
    return not folder and module in OVER_POSTGRES and "[postgres" in case


def unknown(test_ids: Sequence[str], arguments: Iterable[str]) -> list[str]:
    """Return the lines of both tables that name no test of the files in `test_ids`; none if `arguments` select single
    tests of a file."""
    if any("::" in argument for argument in arguments):
        return []
    files = {test_id.partition("::")[0] for test_id in test_ids}
    long_ids = [test_id for test_id in test_ids if is_long(test_id)]
    lines = [line for line in CASES if line.partition("::")[0] in files]
    lines += [path for name in OVER_POSTGRES if (path := f"tests/memory/{name}.py") in files]
    return [line for line in lines if not any(test_id.startswith(line) for test_id in long_ids)]

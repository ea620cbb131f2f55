"""Smoke tests of an installed wheel, in about eight seconds; `make smoke` runs them.

Each part of the package is tested once, by its cheapest test; the full suites run during development. A line of
`PROOFS` names a property, and the files or the prefixes of test ids that prove it. The parts that may differ between
platforms come first: kernels, floating point, files, processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

PROOFS: dict[str, tuple[str, ...]] = {
    "each level of the kernels that this CPU has, and equal bits of all": ("tests/unit/test_simd_levels.py",),
    "words, vectors and both rank as the slow twins say": (
        "tests/reference/test_formulas.py",
        "tests/properties/test_lexical.py::test_ranking_is_bm25",
        *(
            f"tests/properties/test_vector.py::test_each_dimension_around_the_simd_lanes[{dim}-"
            for dim in (17, 384)
        ),
        "tests/properties/test_hybrid.py::test_hybrid_is_reciprocal_rank_fusion",
        "tests/properties/test_pruning.py::test_long_lists_find_the_matches_counted_from_the_texts",
    ),
    "texts of many scripts are analysed as the examples say": ("tests/unit/test_text_analyzer.py",),
    "the native module takes what it should and refuses the rest with the right types": (
        "tests/unit/test_engine_basics.py",
        "tests/unit/test_errors_engine.py",
    ),
    "nothing of another scope is found": (
        "tests/unit/test_scope_rules.py",
        "tests/unit/test_scope_isolation.py::test_each_tenant_gets_its_own_document_of_an_id",
        "tests/unit/test_scope_isolation.py::test_scores_do_not_feel_other_tenants",
    ),
    "filters": (
        *(
            f"tests/unit/test_filters.py::test_{name}"
            for name in "every scores a_filter conditions_on_times ids_and errors deep both a_date".split()
        ),
        "tests/unit/test_filters.py::test_in_of_many_values_is_what_the_oracle_says[False-9]",
    ),
    "an index, with an embedder, without, and with one that fails": (
        "tests/unit/test_index_search.py::test_hybrid_finds_by_keyword_and_by_meaning",
        "tests/unit/test_index_search.py::test_mode_says_what_ran_and_degraded_says_why",
        "tests/unit/test_index_search.py::test_an_embedder_that_fails_while_searching_degrades",
        "tests/unit/test_index_search.py::test_any_text_can_be_written_and_asked",
    ),
    "a file comes back bit for bit": (
        "tests/unit/test_store_rows.py::test_a_reopened_index_answers_the_same_bit_for_bit[fresh-f16-cosine]",
        "tests/unit/test_store_rows.py::test_a_reopened_index_answers_the_same_bit_for_bit[stale-f32-ip]",
        *(
            f"tests/unit/test_store_rows.py::test_{name}"
            for name in "a_file ids_keep strings a_batch identity a_missing a_name a_closed".split()
        ),
    ),
    "files of each format, encrypted or not, are read": ("tests/unit/test_store_golden.py",),
    "a file whose writer was killed opens with all that was acknowledged": (
        "tests/unit/test_store_processes.py::test_a_killed_writer_leaves_what_it_acknowledged",
    ),
    "the package has its own embedder": (
        "tests/unit/test_embedders_static.py::test_the_package_has_a_table_of_its_own",
    ),
    "memory": (
        "tests/memory/test_gate.py::test_proposals_of_a_user_or_agent_are_active_at_once[file-",
        "tests/memory/test_gate.py::test_a_promoted_fact_supersedes_those_it_contradicts[file]",
        "tests/memory/test_gate.py::test_unfit_candidates_are_rejected_and_recorded[file-candidate1-",
        "tests/memory/test_gate.py::test_several_proposals_are_one_write[file]",
        "tests/memory/test_gate.py::test_an_embedder_or_judge_that_fails_leaves_nothing[file]",
        "tests/memory/test_records.py::test_a_record_comes_back_as_it_was_given[file]",
        "tests/memory/test_records.py::test_a_scope_sees_shared_records_and_changes_only_its_own[file]",
    ),
    "the command line": (
        "tests/unit/test_cli_add.py::test_list_get_and_rm",
        "tests/unit/test_cli.py::test_search",
        "tests/unit/test_cli.py::test_stats",
        "tests/unit/test_cli.py::test_index_writes",
        "tests/unit/test_cli.py::test_a_search_without_hits",
        "tests/unit/test_cli.py::test_bad_input",
        "tests/unit/test_cli.py::test_version_and_help",
    ),
    "the service starts, answers and ends": (
        "tests/adapters/test_service_signals.py::test_a_demo_leaves_no_folder[SIGTERM-while it serves]",
    ),
}
"""Property -> the tests that prove it."""

TESTS = tuple(test for tests in PROOFS.values() for test in tests)
FILES = list(dict.fromkeys(test.partition("::")[0] for test in TESTS))


UNUSED = ("cacheprovider", "schemathesis", "benchmark", "asyncio", "anyio")
"""Plugins of pytest that no smoke test uses; loading them takes a second where they are installed."""


def has(nodeid: str) -> bool:
    """Return whether a test id is one of the smoke tests."""
    return nodeid.startswith(TESTS)


def absent(nodeids: Sequence[str]) -> list[str]:
    """Return the smoke tests whose file was collected without them: they were renamed."""
    files = {nodeid.partition("::")[0] for nodeid in nodeids}
    return [
        test
        for test in TESTS
        if test.partition("::")[0] in files and not any(nodeid.startswith(test) for nodeid in nodeids)
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the smoke tests in this process, alike on every platform and shell; return pytest's exit code."""
    import pytest

    os.environ.setdefault("SCRUBJAY_TEST_PROFILE", "tiny")
    without = [word for name in UNUSED for word in ("-p", f"no:{name}")]
    return int(pytest.main(["-q", "--smoke", *without, *arguments, *FILES]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

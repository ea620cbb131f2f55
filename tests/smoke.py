"""The tests that `make smoke` runs, a cross-section of unit, property and reference tests in 20 seconds.

Each layer is there once: text, lexical, vector, filters, fusion, scopes, store, memory, retrieval, command line.
"""

from __future__ import annotations

import os
import sys

TESTS = (
    "tests/reference/test_formulas.py",
    "tests/properties/test_text_properties.py",
    "tests/properties/test_lexical.py",
    "tests/properties/test_pruning.py::test_the_best_are_the_first_of_all[four partitions-ties]",
    "tests/properties/test_ranking.py",
    "tests/unit/test_text_analyzer.py",
    "tests/unit/test_engine_basics.py",
    "tests/unit/test_errors_engine.py",
    *(
        f"tests/unit/test_filters.py::test_{name}"
        for name in (
            "every",
            "scores",
            "a_filter",
            "times",
            "forms",
            "string_ids",
            "errors",
            "deep",
            "both",
            "a_date",
        )
    ),
    "tests/unit/test_filters.py::test_in_of_many_values_is_what_the_oracle_says[False-9]",
    "tests/unit/test_index_search.py",
    "tests/unit/test_index_writing.py",
    "tests/unit/test_scope_rules.py",
    "tests/unit/test_scope_isolation.py",
    "tests/unit/test_simd_levels.py",
    "tests/unit/test_store_rows.py",
    "tests/unit/test_store_golden.py",
    "tests/unit/test_retrieval.py",
    "tests/memory/test_gate.py",
    "tests/memory/test_records.py",
    "tests/unit/test_cli.py",
    "tests/contracts/test_layers.py",
)
"""Files, or the beginnings of test ids."""


def has(nodeid: str) -> bool:
    """Whether the test of this id is among them."""
    return nodeid.startswith(TESTS)


if (
    __name__ == "__main__"
):  # the files, so that pytest need not read all the others; with `run` in one go, in any shell
    files = list(dict.fromkeys(test.partition("::")[0] for test in TESTS))
    if sys.argv[1:] == ["run"]:
        import pytest

        os.environ.setdefault("SCRUBJAY_TEST_PROFILE", "tiny")
        sys.exit(pytest.main(["-q", "--smoke", "-p", "no:cacheprovider", *files]))
    print(*files)

"""Fixtures and options of all tests: Hypothesis profiles, the engine under test, the judged sets.

Profiles (SCRUBJAY_TEST_PROFILE): `quick` for the default run and `tiny` draw the same cases each time, so that the
result depends on the commit alone; `ci` and `thorough` draw new cases, to find unforeseen bugs (`tests/long/run`);
`hunt` is for the mutants.
Tests marked `slow` run only with `--slow`, as in CI, or under the profile `thorough`; those marked `long` or named
in `long_cases.py` (CI runs a share of their cases) only with `--long` or under `thorough`; the seeded bugs of
`reference/mutants.py` only with `--mutants` (twenty minutes). `tests/long/run` runs all of them. `--smoke` keeps the
tests of `smoke.py`.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests import long_cases, smoke
from tests.data.engines import Kit, engine_kit
from tests.data.stores import BUCKETS, use_buckets

# On import, mem0 sends telemetry and writes to the home directory, unless these variables forbid it.
os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("MEM0_DIR", str(Path(tempfile.gettempdir()) / "scrubjay-tests-mem0"))

PROFILE = os.environ.get("SCRUBJAY_TEST_PROFILE", "quick")

# Set by tests/long/python_under_asan. Part of a test's id -> the reason to skip it there.
UNDER_ASAN = bool(os.environ.get("SCRUBJAY_UNDER_ASAN"))
NOT_UNDER_ASAN = {
    "tests/contracts/test_build.py": "builds and installs the package, the module under test is another",
    "tests/contracts/test_stubs.py": "compares the interface, which no sanitizer changes",
    "tests/unit/test_benchmarks_": "figures of speed",
}

_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
_same = {"derandomize": True, **_common}
settings.register_profile("tiny", max_examples=15, stateful_step_count=15, **_same)  # type: ignore[arg-type]
settings.register_profile("quick", max_examples=60, stateful_step_count=30, **_same)  # type: ignore[arg-type]
settings.register_profile("ci", max_examples=300, stateful_step_count=50, **_common)  # type: ignore[arg-type]
settings.register_profile("thorough", max_examples=3000, stateful_step_count=80, **_common)  # type: ignore[arg-type]
# For seeded bugs: only the failure matters, so nothing is shrunk, stored or explained.
settings.register_profile(
    "hunt",
    max_examples=150,
    stateful_step_count=40,
    phases=[Phase.explicit, Phase.generate],
    database=None,
    derandomize=True,
    **_common,  # type: ignore[arg-type]
)
settings.load_profile(PROFILE)


ABOUT_ONE_HOME = {
    "test_a_statement_that_forgets_its_scope_gets_nothing_of_others",
    "test_a_write_that_forgets_its_scope_changes_nothing_of_others",
    "test_the_store_finds_nothing_when_it_forgets_a_condition",
    "test_keys_that_were_exchanged_are_refused",
    "test_the_roles_command_creates_both_roles",
    "test_tables_of_the_version_before",
    "test_tables_of_version_2_keep_their_rows_and_vectors",
    "test_tables_of_version_3_are_migrated_and_their_tenants_encrypted",
    "test_tables_of_version_4_are_migrated_and_their_images_used",
    "test_tables_from_before_there_were_keys_of_users_are_migrated",
}
"""Tests that name a tenant's home, or remove the record of the others; test_postgres_homes has the equivalent tests
for homes of users."""


@pytest.fixture(autouse=bool(os.environ.get("SCRUBJAY_TEST_USER_HOMES")))
def buckets(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let databases keep the users of each tenant in separate homes; SCRUBJAY_TEST_USER_HOMES is their number."""
    if request.node.name.partition("[")[0] in ABOUT_ONE_HOME:
        pytest.skip("names a tenant's home")
    use_buckets(monkeypatch, int(os.environ.get("SCRUBJAY_TEST_USER_HOMES") or BUCKETS))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", default=False, help="also run the tests marked slow")
    parser.addoption("--long", action="store_true", default=False, help="also run the tests marked long")
    parser.addoption("--smoke", action="store_true", default=False, help="run the tests of smoke.py only")
    parser.addoption(
        "--mutants", action="store_true", default=False, help="also check that seeded bugs are caught"
    )


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until the tests are collected, which makes little garbage
    config.addinivalue_line("markers", "slow: takes long; runs with --slow or under the profile thorough")
    config.addinivalue_line("markers", "long: too long for CI, which runs a share; tests/long/run runs it")
    config.addinivalue_line("markers", "mutants: checks the tests themselves; runs with --mutants")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = {
        "slow": config.getoption("--slow") or PROFILE == "thorough",
        "long": config.getoption("--long") or PROFILE == "thorough",
        "mutants": config.getoption("--mutants"),
    }
    remedy = {
        "slow": "--slow or SCRUBJAY_TEST_PROFILE=thorough",
        "long": "--long or SCRUBJAY_TEST_PROFILE=thorough",
        "mutants": "--mutants",
    }
    if config.getoption("--smoke"):
        if names := smoke.absent([item.nodeid for item in items]):
            raise pytest.UsageError(f"smoke.py names tests that are not there: {', '.join(names)}")
        left_out = [item for item in items if not smoke.has(item.nodeid)]
        items[:] = [item for item in items if smoke.has(item.nodeid)]
        config.hook.pytest_deselected(items=left_out)
    elif "SCRUBJAY_TEST_KEYS" in os.environ:
        pass  # tests/memory runs over one store only
    elif lines := long_cases.unknown([item.nodeid for item in items], config.args):
        raise pytest.UsageError(f"long_cases.py names tests that are not there: {', '.join(lines)}")
    for item in items:
        if long_cases.is_long(item.nodeid):
            item.add_marker(pytest.mark.long)
        reason = next((why for part, why in NOT_UNDER_ASAN.items() if part in item.nodeid), None)
        if UNDER_ASAN and reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"under ASan: {reason}"))
        for marker in wanted:
            if marker in item.keywords and not wanted[marker]:
                item.add_marker(pytest.mark.skip(reason=f"{marker}: run with {remedy[marker]}"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exempt the modules and the collected tests from garbage collection, also in forked processes, which would copy
    them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test and the processes that it starts create temporary files where pytest removes them."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))


@pytest.fixture
def share_of(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Return a function: one case in `share_of(quick, slow)` runs; `quick`, with --slow `slow`, with --long 1."""
    option = request.config.getoption
    if option("--long") or PROFILE == "thorough":
        return lambda quick, slow: 1
    return lambda quick, slow: slow if option("--slow") else quick


@pytest.fixture(scope="session")
def kit() -> Kit:
    """The engine under test and its scope class."""
    return engine_kit()


@pytest.fixture(scope="session")
def judged_data() -> Path:
    """The folder of judged sets; tests that need it skip when it is absent."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("SCRUBJAY_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"judged sets are absent: {folder} (set SCRUBJAY_DATA)")
    return folder

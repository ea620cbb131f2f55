"""The pytest plugin: ``pytest --memory-store module:factory``, or :func:`conformance_test` in a test file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from memory_store_conformance.catalogue import all_checks
from memory_store_conformance.factories import Factory, load
from memory_store_conformance.judging import factory_key, judge
from memory_store_conformance.registry import Check

if TYPE_CHECKING:
    import pytest

__all__ = ["conformance_test"]


def conformance_test(
    factory: Factory, *, only: Iterable[str] = (), known_failures: Iterable[str] = ()
) -> Callable[..., None]:
    """Return a test function of pytest with one case for each check.

    Args:
        factory: as for :func:`validate`.
        only: levels or ids of checks; empty: all.
        known_failures: ids of checks that are expected to fail; if one passes, its test fails.

    Checks that are not offered are skipped, with the reason. Use as ``test_my_store = conformance_test(factory)``.
    """
    import pytest

    known = set(known_failures)
    unknown = known - {one.id for one in all_checks()}
    if unknown:
        raise ValueError(f"known_failures: expected ids of checks, got {sorted(unknown)}")

    def marks(one: Check) -> Any:
        expected = [pytest.mark.xfail(strict=True, reason="known failure")] if one.id in known else []
        return pytest.param(one, id=one.id, marks=expected)

    @pytest.mark.parametrize("check", [marks(one) for one in all_checks(only)])
    def test(check: Check) -> None:
        judge(check, factory)

    return test


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memory-store-conformance")
    group.addoption(
        "--memory-store",
        metavar="FACTORY",
        help="run the checks against the store of module:name or file.py:name",
    )
    group.addoption(
        "--memory-store-only", metavar="CHECKS", default="", help="levels or ids of checks, with commas"
    )


def pytest_collection(session: pytest.Session) -> None:
    """Collect the module with the checks of --memory-store, besides the requested tests."""
    if session.config.getoption("--memory-store"):
        from memory_store_conformance import command_line_test

        session.config.args.append(str(command_line_test.__file__))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "memory_store_check" in metafunc.fixturenames:
        only = [name for name in metafunc.config.getoption("--memory-store-only").split(",") if name]
        checks = all_checks(only)
        metafunc.parametrize("memory_store_check", checks, ids=[check.id for check in checks])


def pytest_configure(config: pytest.Config) -> None:
    address = config.getoption("--memory-store")
    if address:
        config.stash[factory_key()] = load(address)

"""Conformance checks for memory stores of AI agents.

>>> from memory_store_conformance import validate
>>> report = validate(my_factory)                 # doctest: +SKIP
>>> print(report.table()); report.exit_code       # doctest: +SKIP
"""

from memory_store_conformance.catalogue import all_checks
from memory_store_conformance.contract import Hit, Item, Page, Scope, Setting, Store, capabilities
from memory_store_conformance.embedder import HashingEmbedder
from memory_store_conformance.plugin import conformance_test
from memory_store_conformance.registry import LEVELS, Check
from memory_store_conformance.report import Report, Result
from memory_store_conformance.runner import validate

__all__ = [
    "LEVELS",
    "Check",
    "HashingEmbedder",
    "Hit",
    "Item",
    "Page",
    "Report",
    "Result",
    "Scope",
    "Setting",
    "Store",
    "all_checks",
    "capabilities",
    "conformance_test",
    "validate",
]

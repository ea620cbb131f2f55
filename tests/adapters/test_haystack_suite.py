"""Haystack's own suites for document stores, complete: base, extended, async, and those of further methods.

The only override is required by the suite: the behaviour of `write_documents` without a policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("haystack")
pytest.importorskip("pytest_asyncio")

from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing import document_store as sync_suites
from haystack.testing import document_store_async as async_suites

from scrubjay.adapters.haystack import ScrubjayDocumentStore


class Stores:
    """Each test runs over a store in memory and over one in a file."""

    @pytest.fixture(params=["memory", "file"])
    def document_store(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> Iterator[ScrubjayDocumentStore]:
        path = str(tmp_path / "documents.scrubjay") if request.param == "file" else None
        with ScrubjayDocumentStore(path) as store:
            yield store


class TestSync(
    Stores,
    sync_suites.DocumentStoreBaseExtendedTests,
    sync_suites.CountDocumentsByFilterTest,
    sync_suites.CountUniqueMetadataByFilterTest,
    sync_suites.GetMetadataFieldsInfoTest,
    sync_suites.GetMetadataFieldMinMaxTest,
    sync_suites.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store: ScrubjayDocumentStore) -> None:
        """Without a policy an existing document is an error, as in Haystack's in-memory store."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.write_documents([document], DuplicatePolicy.SKIP) == 0
        self.assert_documents_are_equal(document_store.filter_documents(), [document])


class TestAsync(
    Stores,
    async_suites.CountDocumentsAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
):
    @pytest.mark.asyncio
    async def test_write_documents_async(self, document_store: ScrubjayDocumentStore) -> None:
        """Without a policy an existing document is an error, as in Haystack's in-memory store."""
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])
        self.assert_documents_are_equal(await document_store.filter_documents_async(), [document])


def test_no_suite_is_left_out() -> None:
    """Suites added by a later Haystack must run, too."""
    for module, ours in ((sync_suites, TestSync), (async_suites, TestAsync)):
        suites = {
            suite
            for name, suite in vars(module).items()
            if isinstance(suite, type)
            and suite.__module__ == module.__name__
            and name.endswith(("Test", "Tests"))
        }
        assert {suite.__name__ for suite in suites if not issubclass(ours, suite)} == set()

"""The document store under the name that Haystack's integrations have: pipelines are read without `allowed_modules`."""

from __future__ import annotations

from scrubjay.adapters.haystack import ScrubjayDocumentStore

__all__ = ["ScrubjayDocumentStore"]

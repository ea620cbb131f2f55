"""Lifecycle of records: editing, erasure, sweeping, and consistency with the index."""

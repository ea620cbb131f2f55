"""Writes: rows first, then the engine; one document, many, or a batch of changes in one transaction."""

"""The model of memory, independent of any file: records, candidates, equality of texts, the projection of a slot."""

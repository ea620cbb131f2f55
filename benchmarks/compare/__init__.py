"""Scrubjay and its peers, in one run, on the same data: `python -m benchmarks.compare lexical`."""

"""How does Scrubjay compare with its peers, in one run, on the same data? `python -m benchmarks.compare lexical`."""

"""The cost of the parts of a search: `python -m benchmarks.micro`."""

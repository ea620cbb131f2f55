"""What do the parts of a search cost? `python -m benchmarks.micro`."""

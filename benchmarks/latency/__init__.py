"""Latency of a fused search, alone and under load, and its recall: `python -m benchmarks.latency`."""

"""How long does a fused search take, alone and under load, and is it right? `python -m benchmarks.latency`."""

"""How good are the rankings on real, judged questions? Run `python -m benchmarks.quality`."""

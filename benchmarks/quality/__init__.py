"""Quality of the rankings on real, judged questions: `python -m benchmarks.quality`."""

"""Adapter tests with the newest release and pre-release of each framework: `python -m tests.long.canary --help`."""

"""Each adapter with its framework's newest release and pre-release: `python -m tests.long.canary --help`."""

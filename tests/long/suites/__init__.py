"""Backend test suites of other projects, run on Scrubjay: `python -m tests.long.suites --help`."""

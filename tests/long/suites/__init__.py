"""The suites by which other projects judge a backend, run on Scrubjay: `python -m tests.long.suites --help`."""

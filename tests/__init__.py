import os

if os.environ.get("SCRUBJAY_TEST_KEYS"):  # also in the processes that tests start
    from tests.data import keys

    keys.use_everywhere()

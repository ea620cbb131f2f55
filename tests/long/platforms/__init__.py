"""Tests of wheels for other platforms, under emulation: see :mod:`tests.long.platforms.emulated`."""

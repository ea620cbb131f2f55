"""Wheels of other platforms than this one, run under emulation: see :mod:`tests.long.platforms.emulated`."""

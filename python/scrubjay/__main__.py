"""`python -m scrubjay` is the command `scrubjay`."""

from __future__ import annotations

import sys

from scrubjay.cli import main

sys.exit(main())

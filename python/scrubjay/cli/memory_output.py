"""JSON output of the commands below `scrubjay memory`."""

from __future__ import annotations

import json
from typing import Any

from scrubjay.memory.exchange.json_types import plain


def print_json(value: Any) -> None:
    """Print records, outcomes and the like as JSON types."""
    print(json.dumps(plain(value), ensure_ascii=False, indent=2))

"""Records, outcomes and other results of a memory as JSON types, for the command line, HTTP and MCP."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scrubjay._native import Scope


def plain(value: Any) -> Any:
    """Return a value in JSON types: times as ISO 8601, scopes as objects, dataclasses by their fields and kind.

    >>> from scrubjay.memory import Outcome
    >>> plain(Outcome("written", "fact", "fact_1"))["status"], plain(Scope("acme", user="jane"))
    ('written', {'tenant': 'acme', 'user': 'jane', 'agent': None})
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if "value_json" in fields:  # of a policy or preference; without a value the text is the value
            del fields["value_json"]
            fields["value"] = getattr(value, "value")  # noqa: B009 - a property
        return {**({"kind": value.kind} if hasattr(value, "kind") else {}), **fields}
    if isinstance(value, Scope):
        return {"tenant": value.tenant, "user": value.user, "agent": value.agent}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value
